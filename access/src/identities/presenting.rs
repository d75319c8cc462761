//! People who log in, and the issuers that they and programs may come from.

use super::{Admitted, Identities, Issuer, now};
use crate::{SessionCookies, SessionId, sessions::NoSession};

impl Identities {
    /// The issuers elsewhere whose tokens are taken, for who keeps their keys up to date.
    pub fn issuers(&self) -> &[Issuer] {
        &self.0.issuers
    }

    /// Begins a session of who was let in with a token. It ends with the token, when it is left, or after 12 hours.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn begin_session(&self, admitted: &Admitted) -> Result<SessionId, NoSession> {
        self.0.sessions.begin(admitted, now())
    }

    /// The cookies of its sessions.
    pub fn cookies(&self) -> SessionCookies {
        self.0.sources.cookies
    }

    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.0.verified.len()
    }

    /// Ends a session, and its streams.
    pub fn end_session(&self, id: &str) {
        self.0.sessions.end(id);
        self.end_streams();
    }
}
