//! Callers who were let in, each by the token that it showed. The hub says who they are, and when they are nobody any more.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    Error,
    internal::{Identity, NotIdentified, WhoIs},
};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::Semaphore,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{refusal::Refusal, sessions::Sessions, shown::Shown};
use crate::server::{
    Settings,
    caller::Caller,
    hub::{Hub, Shows},
};

/// Callers at a time; each has a connection to the hub.
const MOST: usize = 1_000;

/// Tokens of one principal at a time.
const MOST_OF_ONE: usize = 32;

/// Requests at a time for which the hub is asked who sends them.
const MOST_ASKED: usize = 64;

/// Time after which a caller that asks nothing leaves the hub. It is let in again by its next request.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Interval of looking for those.
const SWEEP: Duration = Duration::from_secs(30);

/// Callers who were let in.
pub(super) struct Callers {
    settings: Settings,
    config: StreamableHttpServerConfig,
    needs_identity: bool,
    who: Arc<WhoIs>,
    asking: Semaphore,
    registry: Arc<Mutex<Registry>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Registry {
    by_key: HashMap<Key, Entry>,
    sessions: HashMap<Identity, Weak<Sessions>>,
}

/// The credential of a caller, as it is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// None, on a hub that needs no identities.
    Nobody,
    /// SHA-256 of a token.
    Token([u8; 32]),
}

impl Key {
    fn of(token: Option<&str>) -> Self {
        token.map_or(Self::Nobody, |token| {
            Self::Token(Sha256::digest(token).into())
        })
    }
}

#[derive(Clone)]
struct Entry {
    identity: Identity,
    caller: Arc<Caller>,
    sessions: Arc<Sessions>,
    /// Requests that are being served.
    uses: Arc<AtomicUsize>,
    last_use: Instant,
}

/// The caller of a request, let in.
pub(super) struct Admitted {
    pub(super) caller: Arc<Caller>,
    pub(super) sessions: Arc<Sessions>,
    /// The caller is in use until this is dropped.
    pub(super) in_use: InUse,
}

/// A request that is being served.
pub(super) struct InUse(Arc<AtomicUsize>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callers")
    }
}

impl Callers {
    /// Nobody yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`].
    pub(super) fn open(
        settings: Settings,
        config: StreamableHttpServerConfig,
        needs_identity: bool,
        stop: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let registry = Arc::new(Mutex::default());
        tasks.spawn(
            stop.clone()
                .run_until_cancelled_owned(sweep(Arc::clone(&registry))),
        );
        Ok(Self {
            who: Arc::new(WhoIs::at(&settings.hub)?),
            settings,
            config,
            needs_identity,
            asking: Semaphore::new(MOST_ASKED),
            registry,
            stop: stop.clone(),
            tasks: tasks.clone(),
        })
    }

    /// The hub that says who callers are.
    pub(super) fn who(&self) -> &WhoIs {
        &self.who
    }

    /// Lets in who sends a request.
    ///
    /// # Errors
    ///
    /// The hub knows nobody by what is shown, the caller has not the rights that a client needs, or there is no room.
    pub(super) async fn admit(&self, shown: Shown) -> Result<Admitted, Refusal> {
        let token = match shown {
            Shown::Nothing => None,
            Shown::Token(token) => Some(token),
            Shown::Malformed => return Err(Refusal::Malformed),
        };
        if let Some(admitted) = locked(&self.registry).find(Key::of(token.as_deref())) {
            return Ok(admitted);
        }
        let Ok(_asking) = self.asking.try_acquire() else {
            return Err(Refusal::TooManyCallers);
        };
        let identity = self.who.shows(token.as_deref()).await;
        let identity = admitted(identity, token.is_some(), self.needs_identity)?;
        // Where everybody is the same, a token says nothing; once it does, everybody is asked anew.
        let token = token.filter(|_| !identity.is_anonymous);
        let key = Key::of(token.as_deref());
        if let Some(admitted) = locked(&self.registry).find(key) {
            return Ok(admitted);
        }
        let shows = Shows::Caller {
            who: Arc::clone(&self.who),
            identity: identity.clone(),
            token,
        };
        let hub = Hub::look(&self.settings.hub, shows).await;
        let hub = hub.map_err(|error| Refusal::Unavailable(error.to_string()))?;
        self.enter(key, identity, hub)
    }

    /// Remembers a caller, unless another request has let it in meanwhile.
    fn enter(&self, key: Key, identity: Identity, hub: Hub) -> Result<Admitted, Refusal> {
        let mut registry = locked(&self.registry);
        if let Some(admitted) = registry.find(key) {
            return Ok(admitted);
        }
        if !registry.has_room_for(&identity) || self.stop.is_cancelled() {
            return Err(Refusal::TooManyCallers);
        }
        let sessions = registry.sessions.get(&identity).and_then(Weak::upgrade);
        let sessions = sessions.unwrap_or_else(|| {
            let (config, timeout) = (self.config.clone(), self.settings.timeout);
            let is_anonymous = identity.is_anonymous;
            Arc::new(Sessions::new(config, timeout, is_anonymous, &self.stop))
        });
        registry
            .sessions
            .insert(identity.clone(), Arc::downgrade(&sessions));
        let (of, principal) = (Arc::downgrade(&self.registry), identity.principal.clone());
        let left = move |why: String| {
            tracing::info!(principal, why, "a caller is not served any more");
            if let Some(registry) = of.upgrade() {
                locked(&registry).forget_ended(key);
            }
        };
        let caller = Caller::start(&self.settings, hub, &self.stop, &self.tasks, left);
        let entry = Entry {
            identity,
            caller,
            sessions,
            uses: Arc::default(),
            last_use: Instant::now(),
        };
        registry.by_key.insert(key, entry);
        let admitted = registry.find(key);
        admitted.ok_or(Refusal::Ended)
    }

    /// Leaves the hub for all of them.
    pub(super) async fn close(&self) {
        let entries: Vec<Entry> = {
            let mut registry = locked(&self.registry);
            registry.by_key.drain().map(|(_, entry)| entry).collect()
        };
        let closing = entries.iter().map(|entry| entry.caller.close());
        futures_util::future::join_all(closing).await;
    }
}

/// Callers that are let in, by what the hub says.
///
/// # Errors
///
/// The hub knows nobody by what is shown, the caller has not the rights that a client needs, or nobody may be let in without an identity.
fn admitted(
    said: Result<Identity, NotIdentified>,
    has_token: bool,
    needs_identity: bool,
) -> Result<Identity, Refusal> {
    match said {
        Ok(identity) if identity.is_anonymous && needs_identity => Err(Refusal::OpenHub),
        Ok(identity) => Ok(identity),
        Err(NotIdentified::Unknown(why)) if has_token => Err(Refusal::InvalidToken(why)),
        Err(NotIdentified::Unknown(why)) => Err(Refusal::NoToken(why)),
        Err(NotIdentified::Denied(why)) => Err(Refusal::Insufficient(why)),
        Err(NotIdentified::Unavailable(why)) => Err(Refusal::Unavailable(why)),
    }
}

impl Registry {
    /// The caller with this credential, in use from here on.
    fn find(&mut self, key: Key) -> Option<Admitted> {
        self.forget_ended(key);
        let entry = self.by_key.get_mut(&key)?;
        entry.last_use = Instant::now();
        entry.uses.fetch_add(1, Ordering::AcqRel);
        Some(Admitted {
            caller: Arc::clone(&entry.caller),
            sessions: Arc::clone(&entry.sessions),
            in_use: InUse(Arc::clone(&entry.uses)),
        })
    }

    /// Takes the caller with this credential out if it has ended. One that was let in since then stays.
    fn forget_ended(&mut self, key: Key) {
        let entry = self.by_key.get(&key);
        if entry.is_some_and(|entry| entry.caller.has_ended()) {
            self.by_key.remove(&key);
        }
    }

    fn has_room_for(&self, identity: &Identity) -> bool {
        let entries = self.by_key.values();
        let of_one = entries.filter(|entry| entry.identity == *identity).count();
        self.by_key.len() < MOST && of_one < MOST_OF_ONE
    }

    /// Takes out who has ended, and who has asked nothing for long and has no session that would end with it.
    fn idle(&mut self, now: Instant) -> Vec<Arc<Caller>> {
        let mut idle = Vec::new();
        self.by_key.retain(|_, entry| {
            let is_idle = entry.uses.load(Ordering::Acquire) == 0
                && now.duration_since(entry.last_use) >= IDLE
                && (entry.sessions.is_empty() || Arc::strong_count(&entry.sessions) > 1);
            let leaves = is_idle || entry.caller.has_ended();
            if leaves {
                idle.push(Arc::clone(&entry.caller));
            }
            !leaves
        });
        self.sessions
            .retain(|_, sessions| sessions.strong_count() > 0);
        idle
    }
}

/// Has those leave the hub who ask nothing any more.
async fn sweep(registry: Arc<Mutex<Registry>>) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let idle = locked(&registry).idle(Instant::now());
        for caller in idle {
            caller.close().await;
        }
    }
}

fn locked(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(principal: &str, is_anonymous: bool) -> Identity {
        Identity {
            principal: principal.to_owned(),
            namespace: "default".to_owned(),
            is_anonymous,
        }
    }

    /// Issue 25, other doors: denied by default, and everybody alike only where that is wanted.
    #[test]
    fn who_is_let_in_the_hub_says() {
        let why = || "why".to_owned();
        let unknown = || Err(NotIdentified::Unknown(why()));
        let (alice, anyone) = (named("alice", false), named("anonymous", true));
        for (said, has_token, needs_identity, expected) in [
            (Ok(alice.clone()), true, true, Ok(alice)),
            (Ok(anyone.clone()), false, false, Ok(anyone.clone())),
            (Ok(anyone.clone()), false, true, Err(Refusal::OpenHub)),
            (Ok(anyone), true, true, Err(Refusal::OpenHub)),
            (unknown(), true, false, Err(Refusal::InvalidToken(why()))),
            (unknown(), false, false, Err(Refusal::NoToken(why()))),
            (
                Err(NotIdentified::Denied(why())),
                true,
                false,
                Err(Refusal::Insufficient(why())),
            ),
            (
                Err(NotIdentified::Unavailable(why())),
                true,
                false,
                Err(Refusal::Unavailable(why())),
            ),
        ] {
            assert_eq!(admitted(said, has_token, needs_identity), expected);
        }
    }

    #[test]
    fn a_token_is_remembered_by_its_hash() {
        assert!(Key::of(None) == Key::Nobody);
        assert!(Key::of(Some("a")) == Key::of(Some("a")));
        assert!(Key::of(Some("a")) != Key::of(Some("b")));
    }
}
