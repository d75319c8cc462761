//! What is wrong, as gRPC says it.

use tonic::{Code, Status};

use crate::runs::Error;

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::new(code(&error), error.to_string())
    }
}

fn code(error: &Error) -> Code {
    match error {
        Error::NotFound { .. } => Code::NotFound,
        Error::Invalid { .. } => Code::InvalidArgument,
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
