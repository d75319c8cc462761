//! Errors of a model.

use std::time::Duration;

use agenthub_runs::model::EmptyRequest;
use serde::{Deserialize, Serialize};

/// Failure of a model, by what the caller can do about it. Messages carry no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// The settings name no model that can be asked; the message says what to set, and where.
    #[error("{0}")]
    Misconfigured(String),
    /// The provider cannot be reached or is broken for the moment.
    #[error("the model is unavailable: {0}")]
    Unavailable(String),
    /// Too many requests, or the quota is used up.
    #[error("the model takes no more requests for the moment: {message}")]
    RateLimited {
        /// The provider's message.
        message: String,
        /// Time after which the provider wants to be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// No answer within the deadline.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    /// The key or token is missing, wrong or not allowed to use this model.
    #[error("not authorised to use the model: {0}")]
    Unauthorized(String),
    /// The request or the settings are wrong: no such model, too long, a schema that the provider does not take.
    #[error("the model cannot take the request: {0}")]
    InvalidRequest(String),
    /// The model, or a filter before it, declined to answer.
    #[error("the model declined to answer: {0}")]
    Refused(String),
    /// The response is no answer.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
    /// A recording has no answer to the request; the message says which prompt is another one, and how.
    #[error("{0}")]
    NotRecorded(String),
}

impl ModelError {
    /// True if the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::RateLimited { .. } | Self::Timeout(_) => true,
            Self::Misconfigured(_)
            | Self::Unauthorized(_)
            | Self::InvalidRequest(_)
            | Self::Refused(_)
            | Self::Malformed(_)
            | Self::NotRecorded(_) => false,
        }
    }
}

impl From<EmptyRequest> for ModelError {
    fn from(empty: EmptyRequest) -> Self {
        Self::InvalidRequest(empty.to_string())
    }
}
