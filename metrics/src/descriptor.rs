//! Name, kind and meaning of a metric.

/// A metric, the same wherever it is exported.
#[derive(Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Name for Prometheus: counters end with `_total`, times with `_seconds`, sizes with `_bytes`.
    pub name: &'static str,
    /// Meaning, in a sentence without a full stop.
    pub help: &'static str,
    /// Kind.
    pub kind: Kind,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Name in OpenTelemetry's semantic conventions, if they have one.
    convention: Option<&'static str>,
}

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the process ends.
    Counter,
    /// Current value.
    Gauge,
    /// Distribution of values.
    Histogram,
}

/// Unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None: a number of things.
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Tokens of a language model.
    Tokens,
}

impl Descriptor {
    /// A counter.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Counter)
    }

    /// A gauge.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Gauge)
    }

    /// A histogram.
    pub const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Histogram)
    }

    const fn new(name: &'static str, help: &'static str, kind: Kind) -> Self {
        Self {
            name,
            help,
            kind,
            labels: &[],
            convention: None,
        }
    }

    /// The same with labels.
    #[must_use]
    pub const fn by(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    /// The same with its name in OpenTelemetry's semantic conventions.
    #[must_use]
    pub const fn convention(self, name: &'static str) -> Self {
        Self {
            convention: Some(name),
            ..self
        }
    }

    /// The unit, by the name.
    pub fn unit(&self) -> Unit {
        let name = self.base();
        match () {
            () if name.ends_with("_seconds") => Unit::Seconds,
            () if name.ends_with("_bytes") => Unit::Bytes,
            () if name.ends_with("_token_usage") => Unit::Tokens,
            () => Unit::None,
        }
    }

    /// The name without the ending of counters.
    pub fn base(&self) -> &'static str {
        match self.kind {
            Kind::Counter => self.name.trim_end_matches("_total"),
            Kind::Gauge | Kind::Histogram => self.name,
        }
    }

    /// Name for OpenTelemetry. What has none in its conventions has dots between its parts, and no unit:
    /// `agenthub_log_sync_seconds` is `agenthub.log_sync`.
    pub fn otlp_name(&self) -> String {
        if let Some(name) = self.convention {
            return name.to_owned();
        }
        let name = self.base();
        let name = name.strip_suffix("_seconds").unwrap_or(name);
        let name = name.strip_suffix("_bytes").unwrap_or(name);
        name.replacen('_', ".", 1)
    }

    /// Name of a label for OpenTelemetry: those of its conventions have dots.
    pub fn otlp_label(label: &str) -> String {
        match label.strip_prefix("gen_ai_") {
            Some(rest) => format!("gen_ai.{}", rest.replacen('_', ".", 1)),
            None if label == "error_type" => "error.type".to_owned(),
            None => label.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_opentelemetry_are_those_of_its_conventions_or_have_a_dot_and_no_unit() {
        for (metric, name) in [
            (
                Descriptor::histogram("agenthub_log_sync_seconds", ""),
                "agenthub.log_sync",
            ),
            (
                Descriptor::counter("agenthub_events_total", ""),
                "agenthub.events",
            ),
            (
                Descriptor::histogram("gen_ai_client_token_usage", "")
                    .convention("gen_ai.client.token.usage"),
                "gen_ai.client.token.usage",
            ),
        ] {
            assert_eq!(metric.otlp_name(), name);
        }
        for (label, name) in [
            ("gen_ai_token_type", "gen_ai.token.type"),
            ("gen_ai_request_model", "gen_ai.request.model"),
            ("gen_ai_agent_name", "gen_ai.agent.name"),
            ("error_type", "error.type"),
            ("method", "method"),
        ] {
            assert_eq!(Descriptor::otlp_label(label), name);
        }
    }
}
