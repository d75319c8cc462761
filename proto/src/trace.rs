//! W3C Trace Context: the `traceparent` of every event.

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// A position in a trace. `Display` and `FromStr` use the `traceparent` header of version 00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    sampled: bool,
}

/// Error: the text is no `traceparent` of W3C Trace Context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a W3C traceparent (00-<32 hex digits>-<16 hex digits>-<2 hex digits>)")
    }
}

impl std::error::Error for Invalid {}

impl TraceContext {
    /// Starts a trace. Its position belongs to no span, see [`is_start`](Self::is_start).
    pub fn start() -> Self {
        let trace_id = Uuid::new_v4().as_u128();
        Self {
            trace_id,
            span_id: first(trace_id),
            sampled: true,
        }
    }

    /// True at the [start](Self::start) of a trace: spans below it have no parent.
    pub fn is_start(self) -> bool {
        self.span_id == first(self.trace_id)
    }

    /// True if the trace is sampled.
    pub fn is_sampled(self) -> bool {
        self.sampled
    }

    /// Trace id and span id. Neither is 0.
    pub fn ids(self) -> (u128, u64) {
        (self.trace_id, self.span_id)
    }

    /// The span with this id in this trace. Gives a recreated span, such as that of a redispatched step, the same id.
    #[must_use]
    pub fn at_span(self, span_id: u64) -> Self {
        Self {
            span_id: span_id.max(1),
            ..self
        }
    }

    /// Context of the span with this id, in the trace with this id.
    pub fn of(trace_id: u128, span_id: u64) -> Self {
        Self {
            trace_id: trace_id.max(1),
            span_id: span_id.max(1),
            sampled: true,
        }
    }

    /// A span below this one.
    #[must_use]
    pub fn child(self) -> Self {
        Self {
            span_id: span_id(),
            ..self
        }
    }

    /// Parses a `traceparent`, or starts a trace if it is invalid.
    pub fn parse_or_start(traceparent: &str) -> Self {
        traceparent.parse().unwrap_or_else(|_| Self::start())
    }

    /// 32 hex digits.
    pub fn trace_id(self) -> String {
        String::from_utf8_lossy(&self.trace_digits()).into_owned()
    }

    /// 16 hex digits.
    pub fn span_id(self) -> String {
        String::from_utf8_lossy(&self.span_digits()).into_owned()
    }

    /// Trace id as ASCII hex digits.
    pub fn trace_digits(self) -> [u8; 32] {
        digits(self.trace_id)
    }

    /// Span id as ASCII hex digits.
    pub fn span_digits(self) -> [u8; 16] {
        let mut lower = [0; 16];
        lower.copy_from_slice(&digits(self.span_id.into())[16..]);
        lower
    }
}

/// Hex digits, in ASCII.
fn digits(number: u128) -> [u8; 32] {
    let mut digits = [0; 32];
    Uuid::from_u128(number).simple().encode_lower(&mut digits);
    digits
}

/// Span id at the start of a trace: the lower half of the trace id.
fn first(trace_id: u128) -> u64 {
    let (_, low) = Uuid::from_u128(trace_id).as_u64_pair();
    low.max(1)
}

fn span_id() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    (high ^ low).max(1)
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace_id,
            self.span_id,
            u8::from(self.sampled)
        )
    }
}

impl FromStr for TraceContext {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut fields = text.split('-');
        let mut field = |len: usize| {
            fields
                .next()
                .filter(|f| {
                    f.len() == len
                        && f.bytes()
                            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
                })
                .ok_or(Invalid)
        };
        let (version, trace_id, span_id, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        if version == "ff" || (version == "00" && fields.next().is_some()) {
            return Err(Invalid);
        }
        let parsed = Self {
            trace_id: u128::from_str_radix(trace_id, 16).map_err(|_| Invalid)?,
            span_id: u64::from_str_radix(span_id, 16).map_err(|_| Invalid)?,
            sampled: u8::from_str_radix(flags, 16).map_err(|_| Invalid)? & 1 == 1,
        };
        if parsed.trace_id == 0 || parsed.span_id == 0 {
            return Err(Invalid);
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_comes_back() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context: TraceContext = text.parse().expect("the example of the recommendation");
        assert_eq!(context.to_string(), text);
        assert_eq!(context.child().trace_id(), context.trace_id());
        assert_ne!(context.child().span_id(), context.span_id());
    }

    #[test]
    fn where_a_trace_starts_is_known_wherever_it_goes() {
        let start = TraceContext::start();
        assert!(start.is_start());
        let sent: TraceContext = start.to_string().parse().expect("it was written so");
        assert!(sent.is_start());
        assert!(!sent.child().is_start());
        assert_ne!(TraceContext::start(), TraceContext::start());
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "00-0-0-0",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(text.parse::<TraceContext>(), Err(Invalid), "{text}");
        }
    }
}
