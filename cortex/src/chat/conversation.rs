//! One user's conversation: what was said, whose turn it is to decide, and what its requests wait for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use agenthub_sdk::{
    Client,
    model::PromptMessage,
    runs::{RunOutcome, StepId},
};
use tokio::sync::{OnceCell, watch};

use super::{floor::Floor, history::History, prompt::Running, recall};

/// Key of a conversation. The same context of two users is two conversations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) user: String,
    pub(crate) context_id: String,
}

/// The conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) key: Key,
    history: Mutex<History>,
    recalled: OnceCell<()>,
    floor: watch::Sender<Floor>,
    turns: AtomicU64,
    /// The requests that wait or are at work.
    open: AtomicUsize,
    /// The tasks that they wait for, by request and step.
    running: Mutex<BTreeMap<(u64, StepId), Running>>,
}

impl Conversation {
    pub(crate) fn new(key: Key, history_tokens: usize) -> Self {
        Self {
            key,
            history: Mutex::new(History::new(history_tokens)),
            recalled: OnceCell::new(),
            floor: watch::Sender::default(),
            turns: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            running: Mutex::default(),
        }
    }

    /// The requests that wait or are at work.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Takes a request in. Requests decide in the order of these calls.
    pub(crate) fn join(self: &Arc<Self>, words: &str) -> Turn {
        self.open.fetch_add(1, Ordering::AcqRel);
        // 0 is what was said before.
        let number = 1 + self.turns.fetch_add(1, Ordering::AcqRel);
        self.floor.send_modify(|floor| floor.want(number));
        Turn {
            conversation: Arc::clone(self),
            number,
            words: words.to_owned(),
            is_heard: AtomicBool::new(false),
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<(u64, StepId), Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in its conversation. Dropping it lets the next one go ahead.
#[derive(Debug)]
pub(crate) struct Turn {
    conversation: Arc<Conversation>,
    /// From 1, in this process.
    pub(crate) number: u64,
    words: String,
    is_heard: AtomicBool,
}

impl Turn {
    /// The conversation.
    pub(crate) fn key(&self) -> &Key {
        &self.conversation.key
    }

    /// Waits until it is this request's turn to decide, which it is until it [gives way](Self::give_way). Cancel-safe.
    pub(crate) async fn take(&self) {
        let floor = &self.conversation.floor;
        floor.send_modify(|floor| floor.want(self.number));
        // The sender lives as long as this does.
        let _ = floor.subscribe().wait_for(|f| f.is_of(self.number)).await;
    }

    /// Puts the request's words into the conversation, behind all that was said before.
    pub(crate) async fn be_heard(&self, client: &Client) {
        let conversation = &self.conversation;
        let recall = async {
            let past = recall::recall(client, &conversation.key).await;
            conversation.history().begin_with(past);
        };
        conversation.recalled.get_or_init(|| recall).await;
        if !self.is_heard.swap(true, Ordering::AcqRel) {
            conversation.history().heard(self.number, &self.words);
        }
    }

    /// Lets the next request decide.
    pub(crate) fn give_way(&self) {
        let floor = &self.conversation.floor;
        floor.send_modify(|floor| floor.leave(self.number));
    }

    /// The conversation as this request sees it.
    pub(crate) fn before(&self) -> Vec<PromptMessage> {
        self.conversation.history().before(self.number)
    }

    /// Notes what was answered.
    pub(crate) fn said(&self, text: &str) {
        self.conversation.history().said(self.number, text);
    }

    /// Notes how the request ended, if it was part of the conversation.
    pub(crate) fn ended(&self, outcome: &RunOutcome) {
        if !self.is_heard.load(Ordering::Acquire) {
            return;
        }
        match outcome {
            RunOutcome::Completed { text, .. } => self.said(text),
            RunOutcome::Failed { error } => self.said(error),
            RunOutcome::Cancelled { .. } => self.said("[cancelled by the user]"),
        }
    }

    /// Notes a task that the request waits for.
    pub(crate) fn waits_for(&self, step: &StepId, task: Running) {
        let place = (self.number, step.clone());
        self.conversation.running().insert(place, task);
    }

    /// Notes that a task is back.
    pub(crate) fn has_back(&self, step: &StepId) {
        let place = (self.number, step.clone());
        self.conversation.running().remove(&place);
    }

    /// The tasks that the other requests wait for.
    pub(crate) fn others_wait_for(&self) -> Vec<Running> {
        let running = self.conversation.running();
        let others = running.iter().filter(|((turn, _), _)| *turn != self.number);
        others.map(|(_, task)| task.clone()).collect()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.give_way();
        let conversation = &self.conversation;
        conversation
            .running()
            .retain(|(turn, _), _| *turn != self.number);
        conversation.open.fetch_sub(1, Ordering::AcqRel);
    }
}
