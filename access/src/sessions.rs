//! Sessions of people who have logged in with a browser. The browser has a random id; what it stands for is here, in memory.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

use crate::Admitted;

/// Time after which a session ends, whatever happens in it, in seconds.
const LASTS_SECONDS: u64 = 12 * 60 * 60;

/// Maximum number of sessions. With more, the oldest ends.
const MAX: usize = 10_000;

/// Maximum number of sessions of one principal. With more, its oldest ends, so that nobody ends those of others.
const MAX_OF_ONE: usize = 20;

/// Hash of a session's id, under which it is kept.
pub(crate) type SessionKey = [u8; 32];

/// Secret by which a browser names its session. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId(String);

impl SessionId {
    /// The text, for the cookie alone.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(…)")
    }
}

/// Error of a system without randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no session can begin: the system gives no random bytes")]
pub struct NoSession;

/// All sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_key: HashMap<SessionKey, Session>,
}

#[derive(Debug)]
struct Session {
    number: u64,
    ends: u64,
    admitted: Admitted,
}

impl Sessions {
    /// Begins a session at this time, in seconds since 1970.
    pub(crate) fn begin(&self, admitted: &Admitted, now: u64) -> Result<SessionId, NoSession> {
        let mut bytes = [0; 32];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| NoSession)?;
        let id = SessionId(URL_SAFE_NO_PAD.encode(bytes));
        let key = key(id.secret());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_key.retain(|_, session| session.ends > now);
        let principal = &admitted.caller.principal;
        let is_same = |session: &&Session| session.admitted.caller.principal == *principal;
        if open.by_key.values().filter(is_same).count() >= MAX_OF_ONE {
            open.end_oldest(|session| is_same(&session));
        }
        if open.by_key.len() >= MAX {
            open.end_oldest(|_| true);
        }
        open.next += 1;
        let session = Session {
            number: open.next,
            ends: now.saturating_add(LASTS_SECONDS),
            admitted: Admitted {
                session: Some(key),
                ..admitted.clone()
            },
        };
        open.by_key.insert(key, session);
        Ok(id)
    }

    /// The caller whose session this is.
    pub(crate) fn find(&self, id: &str, now: u64) -> Option<Admitted> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.by_key.get(&key(id)).filter(|s| s.ends > now)?;
        Some(session.admitted.clone())
    }

    /// True while the session lasts.
    pub(crate) fn has(&self, key: &SessionKey, now: u64) -> bool {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_key.get(key).is_some_and(|s| s.ends > now)
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.by_key.remove(&key(id));
    }
}

impl Open {
    fn end_oldest(&mut self, may_end: impl Fn(&Session) -> bool) {
        let sessions = self.by_key.iter().filter(|(_, session)| may_end(session));
        let oldest = sessions.min_by_key(|(_, session)| session.number);
        if let Some(key) = oldest.map(|(key, _)| *key) {
            self.by_key.remove(&key);
        }
    }
}

fn key(id: &str) -> SessionKey {
    let mut key = [0; 32];
    key.copy_from_slice(digest(&SHA256, id.as_bytes()).as_ref());
    key
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Caller, Grants};

    fn admitted(name: &str) -> Admitted {
        let mut admitted = Admitted::nobody();
        admitted.caller = Arc::new(Caller::with(name, "default", Grants::default()));
        admitted
    }

    #[test]
    fn a_session_ends_by_time_and_when_it_is_left() {
        let sessions = Sessions::default();
        let id = sessions.begin(&admitted("alice"), 100).expect("random");
        assert_eq!(format!("{id:?}"), "SessionId(…)");
        assert_eq!(id.secret().len(), 43);
        let found = sessions.find(id.secret(), 100).expect("it lasts");
        assert_eq!(found.caller.principal, "alice");
        assert!(sessions.has(&found.session.expect("of a session"), 101));
        assert!(sessions.find(id.secret(), 100 + LASTS_SECONDS).is_none());
        assert!(sessions.find("", 100).is_none());
        sessions.end(id.secret());
        assert!(sessions.find(id.secret(), 100).is_none());
    }

    #[test]
    fn nobody_ends_the_sessions_of_others_by_logging_in_often() {
        let sessions = Sessions::default();
        let other = sessions.begin(&admitted("bob"), 0).expect("random");
        let first = sessions.begin(&admitted("alice"), 0).expect("random");
        for _ in 0..MAX_OF_ONE {
            sessions.begin(&admitted("alice"), 0).expect("random");
        }
        assert!(sessions.find(first.secret(), 1).is_none());
        assert!(sessions.find(other.secret(), 1).is_some());
        let count = sessions.0.lock().expect("no panic").by_key.len();
        assert_eq!(count, MAX_OF_ONE + 1);
    }
}
