//! Errors of Kafka as errors of a bus.

use rdkafka::{error::KafkaError, types::RDKafkaErrorCode as Code};

use crate::BusError;

/// The error of a bus that an error of Kafka is.
pub(super) fn failure(error: KafkaError) -> BusError {
    let lasts = match &error {
        KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) | KafkaError::Nul(_) => true,
        error => error.rdkafka_error_code().is_some_and(lasts),
    };
    let why = error.to_string();
    match lasts {
        true => BusError::Refused(why),
        false => BusError::Unavailable(why),
    }
}

/// True for errors that come again however often the same is tried.
pub(super) fn lasts(code: Code) -> bool {
    matches!(
        code,
        Code::Authentication
            | Code::ClusterAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::InvalidMessageSize
            | Code::InvalidRecord
            | Code::InvalidTopic
            | Code::MessageSizeTooLarge
            | Code::PolicyViolation
            | Code::SaslAuthenticationFailed
            | Code::TopicAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::UnsupportedSASLMechanism
    )
}
