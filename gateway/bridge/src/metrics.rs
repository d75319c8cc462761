//! Metrics of a bridge: tasks by their results, calls of agents, breakers, and what waits.

use std::{sync::Arc, time::Instant};

use agenthub_a2a::client::Failure;
use agenthub_metrics::{Counter, Descriptor, Family, Gauge, Histogram, Snapshot, bounds};
use agenthub_sdk::proto::trace::TraceContext;

/// The most series of a metric whose labels name agents.
const SERIES: usize = 200;

/// The most agents that are named for being left alone.
const NAMED: usize = 50;

static TASKS: Descriptor = Descriptor::histogram(
    "agenthub_bridge_task_seconds",
    "Time from taking a task up until its result is published; `repeated` had its result already",
)
.by(&["agent", "result"]);

static CALLS: Descriptor = Descriptor::histogram(
    "agenthub_bridge_call_seconds",
    "Duration of calls of agents over A2A, all tries included; error is empty for those that were answered",
)
.by(&["agent", "error"]);

static IN_HAND: Descriptor = Descriptor::gauge("agenthub_bridge_tasks", "Tasks that are in hand");

static WAITING: Descriptor = Descriptor::gauge(
    "agenthub_bridge_outbox",
    "Results and parts of streams that are on their way to the bus",
);

static AGAIN: Descriptor = Descriptor::counter(
    "agenthub_bridge_retries_total",
    "Times that the bus, the store of claim checks, or the directory of agents had to be asked again",
)
.by(&["of"]);

static LEFT_ALONE: Descriptor = Descriptor::counter(
    "agenthub_bridge_breaker_refusals_total",
    "Tasks that failed at once, as their agent had not answered too often",
)
.by(&["agent"]);

static OPEN: Descriptor = Descriptor::gauge(
    "agenthub_bridge_breaker_open",
    "Agents that are not asked for a while, at most fifty: 1 for each",
)
.by(&["agent"]);

/// Figures that have to be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The bus.
    Bus,
    /// The store of claim checks.
    Store,
    /// The hub or the agent, for where the agent is.
    Directory,
}

/// Metrics of a bridge, see the module.
#[derive(Debug)]
pub(crate) struct Metrics {
    tasks: Family<Histogram>,
    calls: Family<Histogram>,
    in_hand: Gauge,
    waiting: Gauge,
    again: [Counter; 3],
    left_alone: Family<Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let work = || Histogram::new(&bounds::WORK);
        Self {
            tasks: Family::new(SERIES, work),
            calls: Family::new(SERIES, work),
            in_hand: Gauge::default(),
            waiting: Gauge::default(),
            again: Default::default(),
            left_alone: Family::new(SERIES, Counter::default),
        }
    }
}

impl Metrics {
    /// A task is in hand until what this returns is dropped.
    pub(crate) fn in_hand(self: &Arc<Self>) -> Held {
        Held::new(self, |metrics| &metrics.in_hand)
    }

    /// A message is on its way to the bus until what this returns is dropped.
    pub(crate) fn outgoing(self: &Arc<Self>) -> Held {
        Held::new(self, |metrics| &metrics.waiting)
    }

    /// Something has to be asked again.
    pub(crate) fn again(&self, asked: Asked) {
        self.again[asked as usize].inc();
    }

    /// A task has a result since it was taken up.
    pub(crate) fn task_ended(
        &self,
        agent: &str,
        result: &str,
        since: Instant,
        trace: Option<&str>,
    ) {
        let tasks = self.tasks.of(&[agent, result]);
        tasks.observe_traced(since.elapsed(), trace_id(trace));
    }

    /// A call of an agent is over since it began.
    pub(crate) fn called(
        &self,
        agent: &str,
        called: &Result<(), Failure>,
        since: Instant,
        trace: Option<&str>,
    ) {
        let error = called.as_ref().map_or_else(error_of, |()| "");
        let calls = self.calls.of(&[agent, error]);
        calls.observe_traced(since.elapsed(), trace_id(trace));
    }

    /// A task fails, as its agent is left alone.
    pub(crate) fn left_alone(&self, agent: &str) {
        self.left_alone.of(&[agent]).inc();
    }

    /// Adds the values; `open` are the agents that are not asked.
    pub(crate) fn collect(&self, mut open: Vec<String>, into: &mut Snapshot) {
        into.histograms(&TASKS, &self.tasks);
        into.histograms(&CALLS, &self.calls);
        into.number(&IN_HAND, self.in_hand.get());
        into.number(&WAITING, self.waiting.get());
        for asked in [Asked::Bus, Asked::Store, Asked::Directory] {
            let of = match asked {
                Asked::Bus => "bus",
                Asked::Store => "store",
                Asked::Directory => "directory",
            };
            into.labelled(&AGAIN, &[of], self.again[asked as usize].get());
        }
        into.counters(&LEFT_ALONE, &self.left_alone);
        into.known(&OPEN);
        open.sort();
        for agent in open.iter().take(NAMED) {
            into.labelled(&OPEN, &[agent], 1_u64);
        }
    }
}

/// Something that is counted while it is there.
#[derive(Debug)]
pub(crate) struct Held {
    metrics: Arc<Metrics>,
    gauge: fn(&Metrics) -> &Gauge,
}

impl Held {
    fn new(metrics: &Arc<Metrics>, gauge: fn(&Metrics) -> &Gauge) -> Self {
        gauge(metrics).add(1);
        Self {
            metrics: Arc::clone(metrics),
            gauge,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.gauge)(&self.metrics).add(-1);
    }
}

/// The kind of a failure, in a word.
fn error_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::Refused { .. } => "refused",
        Failure::Unauthorized(_) | Failure::Credentials(_) => "unauthorized",
        Failure::Outbound(_) => "unreachable",
        Failure::Malformed(_) | Failure::Card(_) => "malformed",
        Failure::Deadline(_) => "deadline",
        _ => "other",
    }
}

fn trace_id(traceparent: Option<&str>) -> u128 {
    let trace = traceparent.and_then(|text| text.parse::<TraceContext>().ok());
    trace.map_or(0, |trace| trace.ids().0)
}

#[cfg(test)]
mod tests {
    use agenthub_metrics::{
        testing::assert_documented,
        text::{Format, encode},
    };

    use super::*;

    fn text(metrics: &Metrics, open: &[&str]) -> String {
        let mut snapshot = Snapshot::default();
        let open = open.iter().map(|agent| (*agent).to_owned()).collect();
        metrics.collect(open, &mut snapshot);
        encode(&snapshot, Format::OpenMetrics)
    }

    #[test]
    fn tasks_and_calls_are_counted_by_agent_and_result_with_their_traces() {
        let metrics = Arc::new(Metrics::default());
        let trace = Some("00-000000000000000000000000000000ab-00000000000000cd-01");
        let held = (metrics.in_hand(), metrics.outgoing());
        metrics.called("writer", &Err(Failure::Deadline(3)), Instant::now(), trace);
        metrics.called("writer", &Ok(()), Instant::now(), None);
        metrics.task_ended("writer", "completed", Instant::now(), trace);
        metrics.again(Asked::Bus);
        metrics.left_alone("writer");
        let said = text(&metrics, &["writer"]);
        for line in [
            "agenthub_bridge_tasks 1",
            "agenthub_bridge_outbox 1",
            "agenthub_bridge_call_seconds_count{agent=\"writer\",error=\"deadline\"} 1",
            "agenthub_bridge_call_seconds_count{agent=\"writer\",error=\"\"} 1",
            "agenthub_bridge_task_seconds_count{agent=\"writer\",result=\"completed\"} 1",
            "agenthub_bridge_retries_total{of=\"bus\"} 1",
            "agenthub_bridge_retries_total{of=\"store\"} 0",
            "agenthub_bridge_breaker_refusals_total{agent=\"writer\"} 1",
            "agenthub_bridge_breaker_open{agent=\"writer\"} 1",
        ] {
            assert!(said.lines().any(|l| l == line), "{line} in\n{said}");
        }
        assert!(
            said.contains("# {trace_id=\"000000000000000000000000000000ab\"}"),
            "{said}"
        );
        drop(held);
        assert!(text(&metrics, &[]).contains("agenthub_bridge_tasks 0\n"));
    }

    #[test]
    fn they_are_in_the_documentation() {
        let mut snapshot = Snapshot::default();
        Metrics::default().collect(Vec::new(), &mut snapshot);
        assert_documented(&snapshot);
    }
}
