//! Statuses of gRPC for the errors of runs.

use agenthub_sdk::proto::INVALID_FIELD;
use tonic::{Code, Status};

use crate::runs::Error;

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let mut status = Self::new(code(&error), error.to_string());
        let fields: Vec<&String> = match &error {
            Error::Invalid { at, .. } => vec![at],
            Error::Faulty(faults) => faults.iter().map(|fault| &fault.at).collect(),
            _ => Vec::new(),
        };
        for field in fields.into_iter().filter_map(|at| at.parse().ok()) {
            status.metadata_mut().append(INVALID_FIELD, field);
        }
        status
    }
}

fn code(error: &Error) -> Code {
    match error {
        Error::NotFound { .. } => Code::NotFound,
        Error::Invalid { .. } | Error::Faulty(_) => Code::InvalidArgument,
        Error::KeyReused { .. } => Code::AlreadyExists,
        Error::ThreadBusy { .. }
        | Error::NotPending { .. }
        | Error::Active { .. }
        | Error::NotActive { .. }
        | Error::Unsuitable(_)
        | Error::Refused(_) => Code::FailedPrecondition,
        Error::Unavailable(_) => Code::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_request_names_its_field() {
        let field = |error: Error| {
            let status = Status::from(error);
            let field = status.metadata().get(INVALID_FIELD)?;
            field.to_str().ok().map(str::to_owned)
        };
        let at = "constraints.acceptanceCriteria[1]";
        let invalid = Error::Invalid {
            at: at.to_owned(),
            why: "is empty".to_owned(),
        };
        assert_eq!(field(invalid).as_deref(), Some(at));
        assert_eq!(field(Error::Refused("`mode` is odd".to_owned())), None);
    }
}
