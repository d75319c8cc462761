//! State that all conversations share: the settings, the agents at hand, and the conversations themselves.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_sdk::{
    Client,
    hub::Directory,
    runs::{Journal, journal::MemoryJournal},
};
use tokio::time::{Instant, timeout_at};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    Settings,
    chat::{
        conversation::{Conversation, Key, Turn},
        prompt::Present,
    },
    live::{LiveRuns, WatchedJournal},
    orchestrator::Past,
    origin::CORTEX,
    principal::{may_send, sees_all_runs},
    roster::Roster,
};

/// Requests of one conversation that wait or are at work; further ones are refused.
const MAX_OPEN: usize = 32;

/// Everything that outlives a conversation.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) roster: Roster,
    journal: Arc<dyn Journal>,
    live: LiveRuns,
    past: Past,
    begun: Instant,
    conversations: Mutex<Conversations>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct Conversations {
    by_key: HashMap<Key, CachedConversation>,
    /// Rises with every request.
    clock: u64,
}

#[derive(Debug)]
struct CachedConversation {
    conversation: Arc<Conversation>,
    last_used: u64,
}

/// The reason why a request is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "{MAX_OPEN} of your messages in this conversation wait for answers; wait for one of them"
    )]
    Conversation,
    #[error("Cortex is in as many conversations as it can hold; try again in a while")]
    Full,
    #[error("Cortex is about to stop; try again in a while")]
    Closing,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        let live = LiveRuns::default();
        let in_memory = || Arc::new(MemoryJournal::default()) as _;
        let journal = WatchedJournal {
            journal: settings.journal.clone().unwrap_or_else(in_memory),
            live: live.clone(),
        };
        let journal: Arc<dyn Journal> = Arc::new(journal);
        Self {
            settings,
            roster: Roster::default(),
            past: Past::new(Arc::clone(&journal)),
            begun: Instant::now(),
            journal,
            live,
            conversations: Mutex::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    /// Waits while agents are missing, shortly after the start, as they may be about to come back with Cortex. Then they count as away.
    pub(crate) async fn wait_for_missing(
        &self,
        directory: &Directory,
        is_missing: impl Fn() -> bool,
    ) {
        let mut changed = directory.changed();
        let returned = async {
            while directory.get(CORTEX).is_none() || is_missing() {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout_at(self.begun + self.settings.returning, returned).await;
    }

    /// The journal of runs; in memory without a journal in the settings.
    pub(crate) fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// The runs that are live in this process.
    pub(crate) fn live(&self) -> &LiveRuns {
        &self.live
    }

    /// Outcomes of earlier runs.
    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    /// Checks whether a request has room in its conversation, and that among the others.
    pub(crate) fn has_room(&self, key: &Key) -> Result<(), Refused> {
        if self.closing.is_cancelled() {
            return Err(Refused::Closing);
        }
        let mut conversations = self.conversations();
        let open = conversations.by_key.get(key);
        match open.map(|known| known.conversation.open()) {
            Some(MAX_OPEN..) => Err(Refused::Conversation),
            Some(_) => Ok(()),
            None if conversations.make_room(self.settings.max_conversations) => Ok(()),
            None => Err(Refused::Full),
        }
    }

    /// Takes a request in. Requests of one conversation decide in the order of these calls.
    pub(crate) fn join(&self, key: Key, words: &str) -> Turn {
        let mut conversations = self.conversations();
        conversations.clock += 1;
        let now = conversations.clock;
        let budget = self.settings.history_tokens;
        let known = conversations
            .by_key
            .entry(key)
            .or_insert_with_key(|key| CachedConversation {
                conversation: Arc::new(Conversation::new(key.clone(), budget)),
                last_used: now,
            });
        known.last_used = now;
        known.conversation.join(words)
    }

    /// True if work may be handed to the agent on behalf of the principal, as far as is known here.
    pub(crate) fn may_send(&self, principal: &str, agent: &str) -> bool {
        may_send(self.settings.identities.as_ref(), principal, agent)
    }

    /// True if the principal may see the runs of others.
    pub(crate) fn sees_all_runs(&self, principal: &str) -> bool {
        sees_all_runs(self.settings.identities.as_ref(), principal)
    }

    /// The agents that are here and that the principal may send to, Cortex not among them.
    pub(crate) fn present(&self, client: &Client, principal: &str) -> Vec<Present> {
        let cards = client.directory().present().into_iter();
        cards
            .filter(|card| card.name != CORTEX && self.may_send(principal, &card.name))
            .map(|card| Present {
                topics: self.roster.topics(&card.name),
                card,
            })
            .collect()
    }

    /// Keeps a task until it ends or everything stops.
    pub(crate) fn keep(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = task => {}
                () = closing.cancelled() => {}
            }
        });
    }

    /// Ends everything when it is dropped.
    pub(crate) fn broken_off(&self) -> DropGuard {
        self.closing.clone().drop_guard()
    }

    /// Cancelled when everything ends.
    pub(crate) fn closed(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Ends everything, however far it is, and waits for it.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn conversations(&self) -> MutexGuard<'_, Conversations> {
        self.conversations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversations {
    /// Lets the conversation go that was used least recently and has nothing to do, if there is no room for another one.
    fn make_room(&mut self, max: usize) -> bool {
        if self.by_key.len() < max {
            return true;
        }
        let idle = self.by_key.iter();
        let idle = idle.filter(|(_, known)| known.conversation.open() == 0);
        let oldest = idle
            .min_by_key(|(_, known)| known.last_used)
            .map(|(key, _)| key.clone());
        oldest.is_some_and(|key| self.by_key.remove(&key).is_some())
    }
}
