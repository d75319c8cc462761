//! Failures of a call.

use std::{error::Error as StdError, net::IpAddr};

use crate::reachable::Refusal;

/// Failure of a call. None of them has the path or the query of the address, as these may hold keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is none that can be called.
    #[error("no address to call: {0}")]
    Url(String),
    /// All addresses of the host are ones that may not be reached.
    #[error(
        "{}is not reached: {refusal}; allow it in [outbound] of the settings, if it is to be",
        subject(host, *address)
    )]
    Refused {
        /// Host as it was named.
        host: String,
        /// An address of it.
        address: IpAddr,
        /// Reason.
        refusal: Refusal,
    },
    /// The host has no address.
    #[error("{host} has no address: {why}")]
    Unresolved {
        /// Host as it was named.
        host: String,
        /// Reason.
        why: String,
    },
    /// No connection, so that nothing was sent.
    #[error("cannot connect to {host}: {why}")]
    Unreachable {
        /// Host as it was named.
        host: String,
        /// Reason.
        why: String,
    },
    /// The connection broke while a request or an answer was on its way.
    #[error("the connection to {host} broke: {why}")]
    Broken {
        /// Host as it was named.
        host: String,
        /// Reason.
        why: String,
    },
    /// Time is up.
    #[error("{host} took too long: {what} did not come within {seconds} s")]
    Deadline {
        /// Host as it was named.
        host: String,
        /// Part that did not come.
        what: &'static str,
        /// Time that it had.
        seconds: u64,
    },
    /// The body is larger than wanted.
    #[error("{host} answers with more than {limit} bytes")]
    TooLarge {
        /// Host as it was named.
        host: String,
        /// Bound in bytes.
        limit: usize,
    },
}

impl Error {
    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Broken { .. }
            | Self::Deadline { .. } => true,
            Self::Url(_) | Self::Refused { .. } | Self::TooLarge { .. } => false,
        }
    }

    /// True if nothing of the request was sent.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Broken { .. } | Self::TooLarge { .. } => false,
            Self::Deadline { what, .. } => *what == CONNECTION,
            _ => true,
        }
    }

    /// The first error of this kind among an error and its causes, such as those of a gRPC call.
    pub fn within<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(ours) = error.downcast_ref() {
                return Some(ours);
            }
            next = error.source();
        }
        None
    }
}

/// The host, with its address where that says more.
fn subject(host: &str, address: IpAddr) -> String {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    match literal.parse() == Ok(address) {
        true => format!("{host} "),
        false => format!("{host} is {address}, which "),
    }
}

/// Part of an exchange that has a deadline of its own.
pub(crate) const CONNECTION: &str = "a connection";

/// The last cause of an error, in one line.
pub(crate) fn root(error: &(dyn StdError + 'static)) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string().replace('\n', " ")
}
