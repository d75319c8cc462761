//! Failures of a call to an agent elsewhere.

use std::time::Duration;

use agenthub_outbound::Error as Outbound;
use serde_json::Value;
use tonic::Code;

use crate::{error::Kind, json::Malformed};

/// Failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The agent answers with an error.
    #[error("{message}")]
    Refused {
        /// Error of A2A, if it is one.
        kind: Option<Kind>,
        /// Its code in JSON-RPC, HTTP status or gRPC status.
        code: i32,
        /// Text of the agent.
        message: String,
        /// The agent says that it is over soon.
        is_transient: bool,
        /// Pause that the agent asks for before the next try.
        retry_after: Option<Duration>,
    },
    /// The agent does not accept these credentials, or wants some.
    #[error("{0}")]
    Unauthorized(String),
    /// The agent cannot be reached, or breaks off.
    #[error(transparent)]
    Outbound(#[from] Outbound),
    /// The answer is none of A2A.
    #[error("the agent's answer is none of A2A: {0}")]
    Malformed(String),
    /// The card is wrong, or names no interface that is spoken here.
    #[error("{0}")]
    Card(String),
    /// Credentials that are wrong or missing here.
    #[error("{0}")]
    Credentials(String),
    /// The answer did not come in time.
    #[error("the agent did not answer within {0} s")]
    Deadline(u64),
}

impl Failure {
    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused { is_transient, .. } => *is_transient,
            Self::Outbound(error) => error.is_retryable(),
            Self::Deadline(_) => true,
            _ => false,
        }
    }

    /// True if it says that the agent, or its server, is not well: not reached, too slow, too busy, broken.
    pub fn is_of_health(&self) -> bool {
        self.is_retryable() || self.is_break() || self.is_of_server()
    }

    /// True if the agent cannot have acted on the request.
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Outbound(error) => error.is_unsent(),
            Self::Deadline(_) | Self::Malformed(_) => false,
            // Those say that they have not begun; what stands in front of the agent may not know.
            Self::Refused {
                is_transient: true,
                kind,
                code,
                ..
            } => {
                matches!(code, 429 | 503)
                    || *code == Code::ResourceExhausted as i32
                    || *kind == Some(Kind::ResourceExhausted)
            }
            Self::Refused { .. } => !self.is_internal(),
            _ => true,
        }
    }

    /// True if the agent had the request, and broke off before it said anything of it.
    pub(crate) fn is_break(&self) -> bool {
        matches!(self, Self::Outbound(Outbound::Broken { .. }))
    }

    /// True if something answers that may be no agent of A2A any more: the card may say where the agent is now.
    pub(crate) fn may_have_moved(&self) -> bool {
        match self {
            Self::Malformed(_) => true,
            Self::Refused {
                kind: None, code, ..
            } => matches!(code, 300..400 | 404 | 405 | 410),
            Self::Refused { kind, code, .. } => {
                *kind == Some(Kind::UnsupportedOperation) && *code == Code::Unimplemented as i32
            }
            Self::Outbound(error) => !error.is_retryable(),
            _ => false,
        }
    }

    /// True if the agent says no more than that something is wrong with it.
    pub(super) fn is_internal(&self) -> bool {
        let codes = [Kind::Internal.code(), 500, Code::Internal as i32];
        matches!(self, Self::Refused { kind: None | Some(Kind::Internal), code, .. } if codes.contains(code))
    }

    /// True if the server of the agent failed (HTTP 5xx). The agent may have acted on the request.
    pub(super) fn is_of_server(&self) -> bool {
        matches!(self, Self::Refused { code: 500..600, .. })
    }

    /// Pause that the agent asks for before the next try.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same failure, with the pause that the agent asks for.
    pub(super) fn after(mut self, pause: Option<Duration>) -> Self {
        if let Self::Refused { retry_after, .. } = &mut self {
            *retry_after = pause;
        }
        self
    }

    /// True if it is this error of A2A.
    pub fn is(&self, wanted: Kind) -> bool {
        matches!(self, Self::Refused { kind: Some(kind), .. } if *kind == wanted)
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed.to_string())
    }
}

/// The error object of JSON-RPC (specification §9.5).
pub(super) fn of_json_rpc(error: &Value) -> Failure {
    let code = error["code"].as_i64().and_then(|c| i32::try_from(c).ok());
    let code = code.unwrap_or_default();
    let kind = kind(&error["data"]).or_else(|| Kind::of_code(code));
    Failure::Refused {
        kind,
        code,
        message: text(&error["message"]),
        is_transient: matches!(kind, Some(Kind::ResourceExhausted | Kind::Unavailable)),
        retry_after: None,
    }
}

/// An answer over HTTP that is no success (§11.6), or the status of one that has no error in it.
pub(super) fn of_http(status: u16, body: &Value) -> Failure {
    let error = &body["error"];
    let said = text(&error["message"]);
    let message = match said.is_empty() {
        true => format!("the agent answers with HTTP {status}"),
        false => said,
    };
    match status {
        401 | 403 => Failure::Unauthorized(match status {
            401 => {
                format!(
                    "the agent wants to know who asks, or does not accept who does (HTTP 401): {message}"
                )
            }
            _ => format!("whoever asks may not (HTTP 403): {message}"),
        }),
        _ => Failure::Refused {
            kind: kind(&error["details"]).or(match status {
                404 if !error.is_null() => Some(Kind::TaskNotFound),
                _ => None,
            }),
            code: status.into(),
            message,
            is_transient: matches!(status, 408 | 429 | 502 | 503 | 504),
            retry_after: None,
        },
    }
}

/// The status of a gRPC call, with the error that its details name.
pub(super) fn of_grpc(code: Code, message: &str, kind: Option<Kind>) -> Failure {
    match (code, kind) {
        (Code::Unauthenticated | Code::PermissionDenied, _) => {
            Failure::Unauthorized(format!("the agent does not accept who asks: {message}"))
        }
        (code, kind) => Failure::Refused {
            kind: kind.or(match code {
                Code::NotFound => Some(Kind::TaskNotFound),
                Code::InvalidArgument => Some(Kind::InvalidParams),
                Code::Unimplemented => Some(Kind::UnsupportedOperation),
                _ => None,
            }),
            code: code as i32,
            message: message.to_owned(),
            is_transient: matches!(code, Code::Unavailable | Code::ResourceExhausted),
            retry_after: None,
        },
    }
}

/// The error that details name.
fn kind(details: &Value) -> Option<Kind> {
    let mut details = details.as_array()?.iter();
    details.find_map(|d| Kind::of_reason(d["domain"].as_str()?, d["reason"].as_str()?))
}

/// The longest text of an agent in an error, in characters.
const MAX_TEXT: usize = 2_000;

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(MAX_TEXT)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind_of(failure: &Failure) -> Option<Kind> {
        match failure {
            Failure::Refused { kind, .. } => *kind,
            _ => None,
        }
    }

    /// spec: A2A 1.0.1 §5.4
    #[test]
    fn every_error_is_known_again_in_each_binding() {
        for expected in Kind::OF_A2A {
            let error = expected.with("why");
            let rpc = json!({"code": expected.code(), "message": "why", "data": error.details()});
            assert_eq!(kind_of(&of_json_rpc(&rpc)), Some(expected));
            let bare = json!({"code": expected.code(), "message": "why"});
            assert_eq!(kind_of(&of_json_rpc(&bare)), Some(expected));
            let http = json!({"error": {"message": "why", "details": error.details()}});
            let failure = of_http(expected.http().as_u16(), &http);
            assert_eq!(
                (kind_of(&failure), failure.to_string()),
                (Some(expected), "why".into())
            );
            let grpc = of_grpc(expected.grpc(), "why", Some(expected));
            assert_eq!(kind_of(&grpc), Some(expected));
            assert!(!grpc.is_retryable() && grpc.is_unsent());
        }
    }

    /// spec: A2A 1.0.1 §3.3.2: over JSON-RPC the code of a limit is that of any error of the system.
    #[test]
    fn a_limit_is_known_again_in_each_binding() {
        for expected in [Kind::ResourceExhausted, Kind::Unavailable] {
            let error = expected.with("full");
            let rpc = json!({"code": -32603, "message": "full", "data": error.details()});
            let rpc = of_json_rpc(&rpc);
            let http = json!({"error": {"message": "full", "details": error.details()}});
            let http = of_http(expected.http().as_u16(), &http);
            let grpc = of_grpc(expected.grpc(), "full", Some(expected));
            for failure in [rpc, http, grpc] {
                assert_eq!(kind_of(&failure), Some(expected));
                assert!(failure.is_retryable());
                assert!(failure.is_unsent() || expected == Kind::Unavailable);
            }
        }
        let others = json!([{"domain": "else.example", "reason": "RESOURCE_EXHAUSTED"}]);
        let rpc = json!({"code": -32603, "message": "full", "data": others});
        assert!(!of_json_rpc(&rpc).is_retryable());
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        for (status, transient) in [
            (400, false),
            (404, false),
            (429, true),
            (500, false),
            (503, true),
        ] {
            assert_eq!(
                of_http(status, &Value::Null).is_retryable(),
                transient,
                "{status}"
            );
        }
        assert!(matches!(
            of_http(401, &Value::Null),
            Failure::Unauthorized(_)
        ));
        assert!(!of_http(500, &Value::Null).is_unsent());
        assert!(of_http(404, &Value::Null).is_unsent());
        assert!(of_grpc(Code::Unavailable, "", None).is_retryable());
        assert!(matches!(
            of_grpc(Code::Unauthenticated, "", None),
            Failure::Unauthorized(_)
        ));
        assert!(Failure::Deadline(1).is_retryable() && !Failure::Deadline(1).is_unsent());
    }
}
