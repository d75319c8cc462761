//! Metrics of the hub for Prometheus.

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) events: Counter,
    pub(crate) deliveries: Counter,
    pub(crate) refused: Counter,
    pub(crate) undelivered: Counter,
    pub(crate) cut_off: Counter,
}

/// Current values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    pub(crate) agents: usize,
    pub(crate) tasks: usize,
    pub(crate) mailboxes: usize,
    pub(crate) streams: usize,
    pub(crate) bodies: usize,
    pub(crate) accepts: bool,
}

/// Renders both as OpenMetrics text.
pub(crate) fn render(counters: &Counters, gauges: Gauges) -> String {
    let mut registry = Registry::with_prefix("agenthub");
    let counted = [
        ("events", "Events published", &counters.events),
        (
            "deliveries",
            "Events handed to streams",
            &counters.deliveries,
        ),
        (
            "publishes_refused",
            "Publishes that were refused",
            &counters.refused,
        ),
        (
            "undelivered",
            "Deliveries that were given up",
            &counters.undelivered,
        ),
        (
            "streams_cut_off",
            "Streams that were ended for not being read",
            &counters.cut_off,
        ),
    ];
    for (name, help, counter) in counted {
        registry.register(name, help, counter.clone());
    }
    let measured = [
        ("agents", "Agents in the directory", gauges.agents),
        ("tasks", "Tasks known", gauges.tasks),
        ("mailboxes", "Subscriptions", gauges.mailboxes),
        ("streams", "Open streams", gauges.streams),
        (
            "bodies_bytes",
            "Bytes of events in mailboxes that are in memory",
            gauges.bodies,
        ),
        (
            "log_accepts",
            "Whether the log takes records: 0 on a full disk, and once it has failed",
            usize::from(gauges.accepts),
        ),
    ];
    for (name, help, value) in measured {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing into a string does not fail");
    text
}
