//! Metrics as text: OpenMetrics 1.0, with exemplars, and Prometheus' own format for who does not ask for it.

use std::{
    fmt::{self, Write},
    time::SystemTime,
};

use crate::{Exemplar, Kind, Seen, Snapshot, Unit, Value};

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The format that the header `Accept` of a request asks for.
    pub fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(accept) if accept.contains("application/openmetrics-text") => Self::OpenMetrics,
            Some(_) | None => Self::Prometheus,
        }
    }

    /// The content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The metrics as text.
pub fn encode(metrics: &Snapshot, format: Format) -> String {
    let mut text = String::new();
    write(&mut text, metrics, format).expect("writing into a string does not fail");
    text
}

fn write(text: &mut String, metrics: &Snapshot, format: Format) -> fmt::Result {
    for series in metrics.series() {
        let metric = series.metric;
        let name = match format {
            Format::Prometheus => metric.name,
            Format::OpenMetrics => metric.base(),
        };
        writeln!(text, "# HELP {name} {}", escaped(metric.help, false))?;
        writeln!(text, "# TYPE {name} {}", kind(metric.kind))?;
        let unit = match metric.unit() {
            Unit::Seconds => Some("seconds"),
            Unit::Bytes => Some("bytes"),
            Unit::None | Unit::Tokens => None,
        };
        if let (Format::OpenMetrics, Some(unit)) = (format, unit) {
            writeln!(text, "# UNIT {name} {unit}")?;
        }
        for point in &series.points {
            match &point.value {
                Value::Number(number) => {
                    text.push_str(metric.name);
                    labels(text, &point.labels, None)?;
                    writeln!(text, " {number}")?;
                }
                Value::Seen(seen) => histogram(text, metric.name, &point.labels, seen, format)?,
            }
        }
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    Ok(())
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

fn histogram(
    text: &mut String,
    name: &str,
    of: &[(&'static str, String)],
    seen: &Seen,
    format: Format,
) -> fmt::Result {
    let mut count = 0;
    let bounds = seen.bounds.iter().map(|bound| format!("{bound:?}"));
    let bounds = bounds.chain(["+Inf".to_owned()]);
    for (n, (bound, in_bucket)) in bounds.zip(&seen.buckets).enumerate() {
        count += in_bucket;
        write!(text, "{name}_bucket")?;
        labels(text, of, Some(&bound))?;
        write!(text, " {count}")?;
        if format == Format::OpenMetrics
            && let Some(Some(exemplar)) = seen.exemplars.get(n)
        {
            write_exemplar(text, exemplar)?;
        }
        text.push('\n');
    }
    write!(text, "{name}_sum")?;
    labels(text, of, None)?;
    writeln!(text, " {}", seen.sum)?;
    write!(text, "{name}_count")?;
    labels(text, of, None)?;
    writeln!(text, " {count}")
}

fn write_exemplar(text: &mut String, exemplar: &Exemplar) -> fmt::Result {
    let Exemplar {
        trace_id,
        value,
        at,
    } = exemplar;
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    let at = since.unwrap_or_default().as_secs_f64();
    write!(text, " # {{trace_id=\"{trace_id:032x}\"}} {value} {at:.3}")
}

fn labels(
    text: &mut String,
    labels: &[(&'static str, String)],
    bound: Option<&str>,
) -> fmt::Result {
    let bound = bound.map(|bound| ("le", bound));
    let all = labels.iter().map(|(name, value)| (*name, value.as_str()));
    let mut before = '{';
    for (name, value) in all.chain(bound) {
        write!(text, "{before}{name}=\"{}\"", escaped(value, true))?;
        before = ',';
    }
    if before == ',' {
        text.push('}');
    }
    Ok(())
}

/// A text on one line; in quotation marks if it is a label's.
fn escaped(text: &str, is_label: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if is_label => escaped.push_str("\\\""),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Counter, Descriptor, Histogram, bounds};

    static CALLS: Descriptor =
        Descriptor::counter("calls_total", "Calls\nof all").by(&["method", "code"]);
    static TOOK: Descriptor = Descriptor::histogram("took_seconds", "Time of calls");
    static HERE: Descriptor = Descriptor::gauge("here", "Who is here").by(&["agent"]);

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        let counter = Counter::default();
        counter.inc_by(12);
        snapshot.labelled(&CALLS, &["Publish", "OK"], counter.get());
        let took = Histogram::new(&bounds::REQUESTS);
        took.observe_traced(Duration::from_micros(700), 0xab);
        took.observe_time(Duration::from_secs(3));
        snapshot.histogram(&TOOK, &[], &took);
        snapshot.labelled(&HERE, &["a\"b\\c\nd"], 1_u64);
        snapshot
    }

    #[test]
    fn prometheus_gets_its_own_format() {
        let text = encode(&snapshot(), Format::accepted(None));
        for line in [
            "# HELP calls_total Calls\\nof all",
            "# TYPE calls_total counter",
            "calls_total{method=\"Publish\",code=\"OK\"} 12",
            "here{agent=\"a\\\"b\\\\c\\nd\"} 1",
            "took_seconds_bucket{le=\"0.0005\"} 0",
            "took_seconds_bucket{le=\"0.001\"} 1",
            "took_seconds_bucket{le=\"30.0\"} 2",
            "took_seconds_bucket{le=\"+Inf\"} 2",
            "took_seconds_sum 3.0007",
            "took_seconds_count 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        assert!(
            !text.contains("trace_id") && !text.contains("EOF"),
            "{text}"
        );
    }

    #[test]
    fn open_metrics_has_the_traces_of_requests() {
        let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        let text = encode(&snapshot(), Format::accepted(Some(accept)));
        for line in [
            "# TYPE calls counter",
            "# UNIT took_seconds seconds",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        let traced = text.lines().find(|line| line.contains("trace_id"));
        let traced = traced.expect("an exemplar");
        let begins = "took_seconds_bucket{le=\"0.001\"} 1 # {trace_id=\"000000000000000000000000000000ab\"} 0.0007 1";
        assert!(traced.starts_with(begins), "{traced}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn a_world_is_a_label_of_all_that_is_in_it() {
        let mut snapshot = Snapshot::default();
        for world in ["default", "shop"] {
            snapshot.within("namespace", world, |snapshot| {
                snapshot.labelled(&HERE, &["echo"], true);
            });
        }
        let text = encode(&snapshot, Format::Prometheus);
        assert!(
            text.contains("here{namespace=\"shop\",agent=\"echo\"} 1\n"),
            "{text}"
        );
        assert_eq!(text.matches("# HELP here ").count(), 1, "{text}");
    }
}
