//! Token with which a process calls a hub.

use std::{
    fmt,
    sync::{LazyLock, PoisonError, RwLock},
};

use tonic::codegen::http::HeaderValue;

/// Variable that holds the token of a process.
pub const TOKEN_VARIABLE: &str = "AGENTHUB_TOKEN";

/// The value of an `authorization` header. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer(HeaderValue);

/// Error of a token that cannot be sent. It does not quote the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that is no token: it has to be one line of printable characters")]
pub struct InvalidBearer;

/// Token of this process; that of the environment until another one is set.
static OF_PROCESS: LazyLock<RwLock<Option<Bearer>>> = LazyLock::new(|| {
    let token = std::env::var(TOKEN_VARIABLE).ok();
    RwLock::new(token.and_then(|token| Bearer::new(&token).ok()))
});

impl Bearer {
    /// The header for a token. White space around it is not part of it.
    ///
    /// # Errors
    ///
    /// It is empty, or a header cannot hold it.
    pub fn new(token: &str) -> Result<Self, InvalidBearer> {
        let token = token.trim();
        let is_token = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        match (is_token, value) {
            (true, Ok(mut value)) => {
                value.set_sensitive(true);
                Ok(Self(value))
            }
            _ => Err(InvalidBearer),
        }
    }

    /// The token with which this process calls hubs if nothing else is said: that of `AGENTHUB_TOKEN`, or another one that was set.
    pub fn of_process() -> Option<Self> {
        OF_PROCESS
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes this the token of the process, for connections that are made from now on.
    pub fn set_for_process(self) {
        *OF_PROCESS.write().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    /// The header's value.
    pub fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_and_is_not_shown() {
        let bearer = Bearer::new(" ah_x\n").expect("a token");
        assert_eq!(bearer.header(), "Bearer ah_x");
        assert!(bearer.header().is_sensitive());
        assert_eq!(format!("{bearer:?}"), "Bearer(…)");
        for wrong in ["", " ", "a b", "a\nb", "é"] {
            assert_eq!(Bearer::new(wrong), Err(InvalidBearer), "{wrong}");
        }
    }
}
