//! Errors of A2A, and what each is in every binding (specification §3.3.2, §5.4).

use std::{collections::BTreeMap, time::Duration};

use agenthub_sdk::Error as HubError;
use http::StatusCode;
use serde_json::{Value, json};
use tonic::Code;

use crate::json::Malformed;

/// Domain of the errors that A2A defines.
pub const DOMAIN: &str = "a2a-protocol.org";

/// The fault of a page token that no page has given out.
pub(crate) const UNKNOWN_TOKEN: &str =
    "pageToken is not one of this list: send the nextPageToken of the page before";

/// Type URLs of error details.
pub(crate) const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
pub(crate) const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
pub(crate) const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    /// A parameter is missing or wrong.
    InvalidParams,
    /// No agent has this slug or tenant.
    AgentNotFound,
    /// The caller has to say who it is.
    Unauthenticated,
    /// The caller may not do this.
    PermissionDenied,
    /// There are as many as there may be. A limit is one of the system errors (§3.3.2): the request itself is right.
    ResourceExhausted,
    /// The hub cannot do it at present.
    Unavailable,
    Internal,
}

impl Kind {
    /// Code, gRPC status, HTTP status and reason. A2A defines no reasons for the errors of JSON-RPC: these have those by which its SDKs tell them
    /// apart in all bindings. Limits and what passes are neither: their reasons are the names of their statuses, in the hub's [domain](Self::domain).
    const fn table(self) -> (i32, Code, StatusCode, &'static str) {
        use StatusCode as S;
        let precondition = Code::FailedPrecondition;
        match self {
            Self::TaskNotFound => (-32001, Code::NotFound, S::NOT_FOUND, "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => {
                (-32002, precondition, S::BAD_REQUEST, "TASK_NOT_CANCELABLE")
            }
            Self::PushNotificationNotSupported => (
                -32003,
                precondition,
                S::BAD_REQUEST,
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
            ),
            Self::UnsupportedOperation => (
                -32004,
                precondition,
                S::BAD_REQUEST,
                "UNSUPPORTED_OPERATION",
            ),
            Self::ContentTypeNotSupported => (
                -32005,
                Code::InvalidArgument,
                S::BAD_REQUEST,
                "CONTENT_TYPE_NOT_SUPPORTED",
            ),
            Self::InvalidAgentResponse => (
                -32006,
                Code::Internal,
                S::INTERNAL_SERVER_ERROR,
                "INVALID_AGENT_RESPONSE",
            ),
            Self::ExtendedAgentCardNotConfigured => (
                -32007,
                precondition,
                S::BAD_REQUEST,
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            ),
            Self::ExtensionSupportRequired => (
                -32008,
                precondition,
                S::BAD_REQUEST,
                "EXTENSION_SUPPORT_REQUIRED",
            ),
            Self::VersionNotSupported => (
                -32009,
                precondition,
                S::BAD_REQUEST,
                "VERSION_NOT_SUPPORTED",
            ),
            Self::InvalidParams => (
                -32602,
                Code::InvalidArgument,
                S::BAD_REQUEST,
                "INVALID_PARAMS",
            ),
            Self::AgentNotFound => (-32602, Code::NotFound, S::NOT_FOUND, "INVALID_PARAMS"),
            Self::Unauthenticated => (-32000, Code::Unauthenticated, S::UNAUTHORIZED, ""),
            Self::PermissionDenied => (-32000, Code::PermissionDenied, S::FORBIDDEN, ""),
            Self::ResourceExhausted => (
                -32603,
                Code::ResourceExhausted,
                S::TOO_MANY_REQUESTS,
                "RESOURCE_EXHAUSTED",
            ),
            Self::Unavailable => (
                -32603,
                Code::Unavailable,
                S::SERVICE_UNAVAILABLE,
                "UNAVAILABLE",
            ),
            Self::Internal => (
                -32603,
                Code::Internal,
                S::INTERNAL_SERVER_ERROR,
                "INTERNAL_ERROR",
            ),
        }
    }

    /// The errors that A2A defines (§5.4).
    pub(crate) const OF_A2A: [Self; 9] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
    ];

    /// The error with this code in JSON-RPC.
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        let more = [Self::InvalidParams, Self::Internal];
        let mut all = Self::OF_A2A.into_iter().chain(more);
        all.find(|kind| kind.code() == code)
    }

    /// The error with this reason in its details.
    pub(crate) fn of_reason(domain: &str, reason: &str) -> Option<Self> {
        let more = [Self::ResourceExhausted, Self::Unavailable];
        let mut all = Self::OF_A2A.into_iter().chain(more);
        all.find(|kind| kind.domain() == domain && kind.reason() == reason)
    }

    /// Error code in JSON-RPC.
    pub fn code(self) -> i32 {
        self.table().0
    }

    /// Status in gRPC.
    pub fn grpc(self) -> Code {
        self.table().1
    }

    /// Status in HTTP+JSON.
    pub fn http(self) -> StatusCode {
        self.table().2
    }

    /// Reason of the `ErrorInfo`; empty if there is none.
    pub fn reason(self) -> &'static str {
        self.table().3
    }

    /// Domain of the reason.
    pub fn domain(self) -> &'static str {
        match self {
            Self::ResourceExhausted | Self::Unavailable => agenthub_sdk::proto::reason::DOMAIN,
            _ => DOMAIN,
        }
    }

    /// The error with this text.
    pub fn with(self, message: impl Into<String>) -> Error {
        Error {
            kind: self,
            message: message.into(),
            field: String::new(),
            metadata: BTreeMap::new(),
            retry_after: None,
        }
    }
}

/// An error as callers get it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Its kind.
    pub kind: Kind,
    /// The text for people.
    pub message: String,
    /// The field that is wrong, such as `message.parts[0]`; of [`Kind::InvalidParams`] only.
    pub field: String,
    /// Further details by name.
    pub metadata: BTreeMap<String, String>,
    /// Time after which the same may be tried again, if that is known.
    pub retry_after: Option<Duration>,
}

impl Error {
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            ..Kind::InvalidParams.with(message)
        }
    }

    /// A fault that the hub finds with a message, with the names that A2A has for its fields.
    pub(crate) fn of_message(why: &str) -> Self {
        const NAMES: [(&str, &str); 4] = [
            ("message.message_id", "message.messageId"),
            ("message.context_id", "message.contextId"),
            ("message.task_id", "message.taskId"),
            ("message.content", "message.parts"),
        ];
        for (of_hub, ours) in NAMES {
            if let Some(rest) = why.strip_prefix(of_hub) {
                return Self::field(ours, format!("{ours}{rest}"));
            }
        }
        Self::field("message", why)
    }

    pub(crate) fn task_not_found(id: &str) -> Self {
        Kind::TaskNotFound
            .with(format!("task \"{id}\" is not known here"))
            .about("taskId", id)
    }

    /// The refusal by a quota.
    pub(crate) fn over_quota(reason: impl Into<String>, retry_after: Option<Duration>) -> Self {
        Self {
            retry_after,
            ..Kind::ResourceExhausted.with(reason)
        }
    }

    /// Adds a detail.
    pub(crate) fn about(mut self, key: &str, value: &str) -> Self {
        self.metadata.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Error details in the JSON form of `Any`.
    pub(crate) fn details(&self) -> Vec<Value> {
        let mut details = Vec::new();
        if !self.field.is_empty() {
            let violation = json!({"field": self.field, "description": self.message});
            details.push(json!({"@type": BAD_REQUEST, "fieldViolations": [violation]}));
        }
        if !self.kind.reason().is_empty() {
            let mut info = json!({
                "@type": ERROR_INFO,
                "reason": self.kind.reason(),
                "domain": self.kind.domain(),
            });
            if !self.metadata.is_empty() {
                info["metadata"] = json!(self.metadata);
            }
            details.push(info);
        }
        if let Some(after) = self.retry_after {
            let delay = format!("{}.{:09}s", after.as_secs(), after.subsec_nanos());
            details.push(json!({"@type": RETRY_INFO, "retryDelay": delay}));
        }
        details
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        let message = malformed.to_string();
        Self::field(&malformed.field, message)
    }
}

/// Errors of the hub that have no meaning of their own in the operation at hand.
impl From<HubError> for Error {
    fn from(error: HubError) -> Self {
        if let HubError::OverQuota { .. } | HubError::Busy(_) = &error {
            return Self::over_quota(error.to_string(), error.retry_after());
        }
        let kind = match &error {
            HubError::Invalid(_) | HubError::Conflict(_) => Kind::InvalidParams,
            HubError::NotFound(_) => Kind::AgentNotFound,
            HubError::Denied(_) => Kind::PermissionDenied,
            error if error.is_retryable() => Kind::Unavailable,
            HubError::Closed(_) => Kind::Unavailable,
            _ => Kind::Internal,
        };
        kind.with(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 25: a right that is missing on behalf of somebody is as any other that is missing.
    #[test]
    fn what_the_hub_denies_is_denied() {
        let error = Error::from(HubError::Denied("alice may not".to_owned()));
        assert_eq!(error.kind, Kind::PermissionDenied);
    }

    /// spec: A2A 1.0.1 §3.3.2, §9.5, §11.6: a limit is no internal error, and no error that A2A defines.
    #[test]
    fn a_limit_and_what_passes_say_so() {
        let after = Some(Duration::from_millis(1500));
        let limit = Error::over_quota("full", after);
        let details = json!([
            {"@type": ERROR_INFO, "reason": "RESOURCE_EXHAUSTED", "domain": "agenthub"},
            {"@type": RETRY_INFO, "retryDelay": "1.500000000s"},
        ]);
        assert_eq!(json!(limit.details()), details);
        let away = Kind::Unavailable.with("away");
        assert_eq!(
            json!(away.details()),
            json!([{"@type": ERROR_INFO, "reason": "UNAVAILABLE", "domain": "agenthub"}])
        );
    }

    /// spec: A2A 1.0.1 §5.4
    #[test]
    fn every_error_has_its_place_in_each_binding() {
        let table = [
            (Kind::TaskNotFound, -32001, Code::NotFound, 404),
            (
                Kind::TaskNotCancelable,
                -32002,
                Code::FailedPrecondition,
                400,
            ),
            (
                Kind::PushNotificationNotSupported,
                -32003,
                Code::FailedPrecondition,
                400,
            ),
            (
                Kind::UnsupportedOperation,
                -32004,
                Code::FailedPrecondition,
                400,
            ),
            (
                Kind::ContentTypeNotSupported,
                -32005,
                Code::InvalidArgument,
                400,
            ),
            (Kind::InvalidAgentResponse, -32006, Code::Internal, 500),
            (
                Kind::ExtendedAgentCardNotConfigured,
                -32007,
                Code::FailedPrecondition,
                400,
            ),
            (
                Kind::ExtensionSupportRequired,
                -32008,
                Code::FailedPrecondition,
                400,
            ),
            (
                Kind::VersionNotSupported,
                -32009,
                Code::FailedPrecondition,
                400,
            ),
        ];
        for (kind, code, grpc, http) in table {
            assert_eq!(
                (kind.code(), kind.grpc(), kind.http().as_u16()),
                (code, grpc, http),
                "{kind:?}"
            );
            let camel: String = kind
                .reason()
                .split('_')
                .map(|word| format!("{}{}", &word[..1], word[1..].to_lowercase()))
                .collect();
            assert_eq!(camel, format!("{kind:?}"));
        }
    }
}
