//! The trace of a request, as lines of the log name it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use agenthub_proto::trace::TraceContext;
use tonic::codegen::http::HeaderMap;

/// Interval between two lines of a kind that an overload would make without end.
const INTERVAL: Duration = Duration::from_secs(1);

/// The trace that a request names (W3C Trace Context).
pub(super) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let traceparent = headers.get("traceparent")?.to_str().ok()?;
    traceparent.parse().ok()
}

/// Trace id and span id as fields of a line.
pub(super) fn ids(trace: Option<TraceContext>) -> (Option<String>, Option<String>) {
    trace
        .map(|trace| (trace.trace_id(), trace.span_id()))
        .unzip()
}

/// Time of the last line of a kind.
#[derive(Debug, Default)]
pub(super) struct Said(Mutex<Option<Instant>>);

impl Said {
    /// True if a line may come about something at this time; the next one may a second later.
    pub(super) fn is_next(&self, at: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_next = last.is_none_or(|last| at.saturating_duration_since(last) >= INTERVAL);
        if is_next {
            *last = Some(at);
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_is_enough() {
        let said = Said::default();
        let now = Instant::now();
        let lines = [0, 10, 999, 1_000, 1_500, 2_100]
            .map(|ms| said.is_next(now + Duration::from_millis(ms)));
        assert_eq!(lines, [true, false, false, true, false, true]);
    }
}
