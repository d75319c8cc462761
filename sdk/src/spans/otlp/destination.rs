//! Destination and interval of metrics, by OpenTelemetry's variables.

use std::time::Duration;

use tonic::codegen::http::{HeaderMap, HeaderName, HeaderValue};

/// Deadline of an export, unless the environment says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of exports, unless the environment says otherwise.
const INTERVAL: Duration = Duration::from_secs(60);

/// Path of metrics at a collector's HTTP address.
const PATH: &str = "v1/metrics";

/// A collector of metrics.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Destination {
    /// The variable that names it.
    pub(super) variable: &'static str,
    pub(super) url: String,
    pub(super) protocol: Protocol,
    pub(super) headers: HeaderMap,
    /// Deadline of an export.
    pub(super) timeout: Duration,
    pub(super) interval: Duration,
}

/// Protocol of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Protobuf over HTTP.
    Http,
    /// gRPC.
    Grpc,
}

impl Destination {
    /// The collector that the variables name, if they name one.
    ///
    /// # Errors
    ///
    /// The variable with a value that is none, and what it may be.
    pub(super) fn read(
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, (&'static str, &'static str)> {
        let is = |name: &str, value: &str| env(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_METRICS_EXPORTER", "none") {
            return Ok(None);
        }
        const OWN: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
        const SHARED: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let (variable, url) = match (env(OWN), env(SHARED)) {
            (Some(url), _) => (OWN, url),
            (None, Some(url)) => (SHARED, url),
            (None, None) => return Ok(None),
        };
        let either = |own: &'static str, shared: &'static str| match env(own) {
            Some(value) => Some((own, value)),
            None => env(shared).map(|value| (shared, value)),
        };
        let protocol = either(
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        );
        let protocol = match &protocol {
            None => Protocol::Http,
            Some((_, name)) if name == "http/protobuf" => Protocol::Http,
            Some((_, name)) if name == "grpc" => Protocol::Grpc,
            Some((variable, _)) => return Err((variable, "`http/protobuf` or `grpc`")),
        };
        let url = match (protocol, variable) {
            // The variable for all signals is a base; that for metrics is taken as it is.
            (Protocol::Http, SHARED) => format!("{}/{PATH}", url.trim_end_matches('/')),
            _ => url,
        };
        let headers = either(
            "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
            "OTEL_EXPORTER_OTLP_HEADERS",
        );
        let headers = match headers {
            None => HeaderMap::new(),
            Some((variable, text)) => headers_of(&text).ok_or((
                variable,
                "pairs `name=value` with commas between them, percent-encoded",
            ))?,
        };
        let timeout = either(
            "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
        );
        let interval =
            env("OTEL_METRIC_EXPORT_INTERVAL").map(|value| ("OTEL_METRIC_EXPORT_INTERVAL", value));
        Ok(Some(Self {
            variable,
            url,
            protocol,
            headers,
            timeout: millis(timeout)?.unwrap_or(TIMEOUT),
            interval: millis(interval)?.unwrap_or(INTERVAL),
        }))
    }
}

fn millis(
    of: Option<(&'static str, String)>,
) -> Result<Option<Duration>, (&'static str, &'static str)> {
    let Some((variable, text)) = of else {
        return Ok(None);
    };
    match text.parse() {
        Ok(millis) if millis > 0 => Ok(Some(Duration::from_millis(millis))),
        _ => Err((variable, "a number of milliseconds, at least 1")),
    }
}

/// `name=value,other=value`, percent-encoded. `None` if it is not that.
fn headers_of(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let name: HeaderName = name.trim().to_ascii_lowercase().parse().ok()?;
        let value = percent_encoding::percent_decode_str(value.trim());
        let mut value: HeaderValue = value.decode_utf8().ok()?.parse().ok()?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        variables: &[(&str, &str)],
    ) -> Result<Option<Destination>, (&'static str, &'static str)> {
        Destination::read(&|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_variables_are_those_of_opentelemetry() {
        assert_eq!(read(&[]), Ok(None));
        let shared = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let both = read(&[shared]).expect("good").expect("a collector");
        assert_eq!(both.url, "http://c:4318/v1/metrics");
        assert_eq!((both.protocol, both.timeout), (Protocol::Http, TIMEOUT));
        let own = read(&[
            shared,
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, other = c"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "500"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
        ]);
        let own = own.expect("good").expect("a collector");
        assert_eq!(
            (own.url.as_str(), own.protocol),
            ("http://m:4317", Protocol::Grpc)
        );
        assert_eq!(own.headers["x-key"], "a b");
        assert_eq!(own.headers["other"], "c");
        assert_eq!(own.timeout, Duration::from_millis(500));
        assert_eq!(own.interval, Duration::from_secs(1));
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ] {
            assert_eq!(read(&[shared, off]), Ok(None), "{off:?}");
        }
    }

    #[test]
    fn a_value_that_is_none_is_named() {
        let shared = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        for wrong in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "no pair"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ] {
            let error = read(&[shared, wrong]).expect_err("it is none");
            assert_eq!(error.0, wrong.0);
        }
    }
}
