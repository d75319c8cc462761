//! What all conversations share: the settings, the agents at hand, and the conversations themselves.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use agenthub_sdk::Client;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Settings,
    conversation::{Conversation, Key},
    exchange::Ask,
    origin::CORTEX,
    prompt::Present,
    roster::Roster,
};

/// Requests of one conversation that wait or are at work; further ones are refused.
const MAX_ASKS: usize = 32;

/// Everything that outlives a conversation.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) roster: Roster,
    conversations: Mutex<Conversations>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct Conversations {
    by_key: HashMap<Key, Open>,
    /// Rises with every request.
    clock: u64,
}

#[derive(Debug)]
struct Open {
    asks: mpsc::Sender<Ask>,
    /// The requests that wait or are at work.
    busy: Arc<AtomicUsize>,
    last_used: u64,
}

/// Counts a request for as long as it lives.
#[derive(Debug)]
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why a request is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "{MAX_ASKS} of your messages in this conversation wait for answers; wait for one of them"
    )]
    Conversation,
    #[error("Cortex is in as many conversations as it can hold; try again in a while")]
    Full,
    #[error("Cortex is about to stop; try again in a while")]
    Closing,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            roster: Roster::default(),
            conversations: Mutex::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    /// Gives a request to its conversation, which begins if there is none. Requests of one conversation keep the order of these
    /// calls. Hold what is returned until the request has ended.
    pub(crate) fn submit(self: &Arc<Self>, key: Key, ask: Ask) -> Result<Busy, Refused> {
        if self.closing.is_cancelled() {
            return Err(Refused::Closing);
        }
        let mut conversations = self.conversations();
        conversations.clock += 1;
        let now = conversations.clock;
        let is_alive = |open: &Open| !open.asks.is_closed();
        if !conversations.by_key.get(&key).is_some_and(is_alive) {
            conversations.by_key.remove(&key);
            if !conversations.make_room(self.settings.max_conversations) {
                return Err(Refused::Full);
            }
            let open = self.open(key.clone());
            conversations.by_key.insert(key.clone(), open);
        }
        let Some(open) = conversations.by_key.get_mut(&key) else {
            return Err(Refused::Full);
        };
        open.last_used = now;
        if open.busy.load(Ordering::Acquire) >= MAX_ASKS {
            return Err(Refused::Conversation);
        }
        open.asks.try_send(ask).map_err(|_| Refused::Conversation)?;
        open.busy.fetch_add(1, Ordering::AcqRel);
        Ok(Busy(Arc::clone(&open.busy)))
    }

    fn open(self: &Arc<Self>, key: Key) -> Open {
        let (asks, receiver) = mpsc::channel(MAX_ASKS);
        let conversation = Conversation::new(Arc::clone(self), key);
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = conversation.run(receiver) => {}
                () = closing.cancelled() => {}
            }
        });
        Open {
            asks,
            busy: Arc::default(),
            last_used: 0,
        }
    }

    /// The agents that are here, Cortex not among them.
    pub(crate) fn present(&self, client: &Client) -> Vec<Present> {
        let cards = client.directory().present().into_iter();
        cards
            .filter(|card| card.name != CORTEX)
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

    /// Ends all conversations, wherever they are, and waits for them.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.conversations().by_key.clear();
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
        let idle = self
            .by_key
            .iter()
            .filter(|(_, open)| open.busy.load(Ordering::Acquire) == 0);
        let oldest = idle
            .min_by_key(|(_, open)| open.last_used)
            .map(|(key, _)| key.clone());
        oldest.is_some_and(|key| self.by_key.remove(&key).is_some())
    }
}
