//! Gives each delivery to its handler, in the order of delivery, and lets those of one task wait for each other.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use agenthub_proto::agenthub::agent_event::Payload;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    AgentType, FollowUps, InFlight, Slots, StopReason,
    handlers::Handlers,
    intake::{QueuedRun, conversation},
    own_runs::Start,
    questions::{Answer, Answered, Questions},
    recovery::Orphan,
    runs::Runs,
};
use crate::{
    Client,
    connection::{Delivered, Lease},
};

/// Time for a task or run to end after it was told to.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The loop of an agent at work: it takes deliveries in, and hands them to handlers and runs.
pub(super) struct Dispatcher {
    pub(super) handlers: Handlers,
    pub(super) client: Client,
    pub(super) agent_type: AgentType,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) slots: Arc<Slots>,
    /// The handlers that wait for answers of their requesters.
    pub(super) questions: Arc<Questions>,
    pub(super) drain_timeout: Duration,
    /// For each task at work, what waits for it.
    pub(super) waiting: HashMap<String, Arc<FollowUps>>,
    /// For each conversation of which the journal is asked for a run, what waits for that.
    pub(super) reading: HashMap<String, VecDeque<Delivered>>,
    pub(super) working: JoinSet<Done>,
    pub(super) runs: Arc<Runs>,
    /// The runs that were left behind.
    pub(super) orphans: mpsc::Receiver<Orphan>,
    /// The runs that the agent is to begin by itself.
    pub(super) starts: mpsc::Receiver<Start>,
    /// The tasks that look for orphans, and whether what is in hand is still wanted.
    pub(super) looking: JoinSet<()>,
    /// Changes of the agent, such as another card.
    pub(super) changes: mpsc::Receiver<Change>,
    /// Number of those at work, and its limit.
    pub(super) adopted: u32,
    pub(super) concurrency: u32,
}

/// The handlers for the messages that come from here on.
pub(super) struct Change {
    pub(super) handlers: Handlers,
    pub(super) agent_type: AgentType,
}

/// Something that is over.
pub(super) enum Done {
    /// A handling.
    Handled {
        task_id: String,
        /// To be given back for others.
        unhandled: Option<Lease>,
        /// No delivery brought it.
        is_adopted: bool,
    },
    /// The look into the journal for the run of a message.
    Read {
        conversation: String,
        found: Box<QueuedRun>,
    },
    /// The look into a task's history for the handling that a message answers.
    LookedBack {
        conversation: String,
        delivered: Box<Delivered>,
        answered: Answered,
    },
    /// The question whether a task has ended for which messages wait.
    Asked { task_id: String, has_ended: bool },
}

impl Dispatcher {
    /// Works until `stop`, then waits for the handlers at work. Returns the deliveries that were not handled.
    pub(super) async fn run(
        mut self,
        mut deliveries: mpsc::Receiver<Delivered>,
        stop: CancellationToken,
    ) -> Vec<Lease> {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                done = self.working.join_next(), if !self.working.is_empty() => {
                    if let Some(Ok(done)) = done {
                        self.done(done).await;
                    }
                }
                Some(change) = self.changes.recv() => {
                    self.handlers = change.handlers;
                    self.agent_type = change.agent_type;
                }
                delivered = deliveries.recv() => match delivered {
                    Some(delivered) => self.take(delivered).await,
                    None => break,
                },
                Some(start) = self.starts.recv(), if self.adopted < self.concurrency => {
                    self.begin_own(start);
                }
                Some(orphan) = self.orphans.recv(), if self.adopted < self.concurrency => {
                    self.adopt(orphan).await;
                }
            }
        }
        deliveries.close();
        self.orphans.close();
        self.starts.close();
        self.drain(deliveries).await
    }

    async fn take(&mut self, delivered: Delivered) {
        if delivered.event.sender() == self.client.agent_id() {
            // The run that the agent began with it, if it is such a message, waits for nothing.
            return self.skip(delivered.lease, "it is the agent's own").await;
        }
        if let Some(Payload::Message(message)) = &delivered.event.payload
            && let Some(waiting) = self.reading.get_mut(conversation(message))
        {
            waiting.push_back(delivered);
            return;
        }
        let Some(delivered) = self.answer(delivered).await else {
            return;
        };
        let task_id = delivered.event.task_id();
        if let Some(waiting) = self.waiting.get(task_id) {
            waiting.push(delivered);
            return;
        }
        self.begin(delivered).await;
    }

    /// Acknowledges an ignored message.
    pub(super) async fn skip(&self, lease: Option<Lease>, why: &'static str) {
        tracing::debug!(why, "a message was left alone");
        if let Some(lease) = lease {
            // An error says that the connection is closed.
            let _ = self.client.link().ack(lease).await;
        }
        self.slots.free().await;
    }

    async fn done(&mut self, done: Done) {
        match done {
            Done::Handled {
                task_id,
                is_adopted,
                ..
            } => {
                self.slots.free().await;
                self.adopted -= u32::from(is_adopted);
                match self.waiting.get(&task_id) {
                    Some(waiting) if !waiting.is_empty() => self.ask(task_id),
                    _ => _ = self.waiting.remove(&task_id),
                }
            }
            Done::Read {
                conversation,
                found,
            } => {
                self.go_on(*found).await;
                self.take_behind(&conversation).await;
            }
            Done::LookedBack {
                conversation,
                delivered,
                answered,
            } => {
                self.begin_with(*delivered, answered).await;
                self.take_behind(&conversation).await;
            }
            Done::Asked { task_id, has_ended } => {
                let waiting = self.waiting.remove(&task_id);
                let waiting = waiting.map_or_else(VecDeque::new, |waiting| waiting.take_all());
                match has_ended {
                    true => {
                        for delivered in waiting {
                            self.skip(delivered.lease, "its task has ended").await;
                        }
                    }
                    false => self.go_ahead(&task_id, waiting).await,
                }
            }
        }
    }

    /// Takes what waited for a look into a journal or history.
    async fn take_behind(&mut self, conversation: &str) {
        let behind = self.reading.remove(conversation).unwrap_or_default();
        for delivered in behind {
            // The first of them that has to be looked for keeps the others waiting.
            Box::pin(self.take(delivered)).await;
        }
    }

    /// Hands an answer to the handler that waits for it here. Returns what is none.
    async fn answer(&mut self, mut delivered: Delivered) -> Option<Delivered> {
        let task_id = delivered.event.task_id().to_owned();
        let is_answer = delivered
            .event
            .routing
            .as_ref()
            .is_some_and(|r| r.is_answer);
        if !is_answer || !self.questions.has(&task_id) {
            return Some(delivered);
        }
        let Some(Payload::Message(message)) = delivered.event.payload.take() else {
            return Some(delivered);
        };
        let answer = Answer {
            message,
            lease: delivered.lease.take(),
        };
        match self.questions.answer(&task_id, answer) {
            Ok(()) => {
                // The handler has a slot of its own.
                self.slots.free().await;
                None
            }
            Err(answer) => {
                let Answer { message, lease } = *answer;
                delivered.event.payload = Some(Payload::Message(message));
                delivered.lease = lease;
                Some(delivered)
            }
        }
    }

    /// Asks whether a task has ended; what waits for it goes on waiting meanwhile. A hub that does not answer is none that ended it.
    fn ask(&mut self, task_id: String) {
        let client = self.client.clone();
        self.working.spawn(async move {
            let task = client.task(&task_id, -1).await;
            let has_ended = task.is_ok_and(|task| task.state().is_terminal());
            Done::Asked { task_id, has_ended }
        });
    }

    /// Lets the next message of a task go ahead.
    async fn go_ahead(&mut self, task_id: &str, mut waiting: VecDeque<Delivered>) {
        while let Some(next) = waiting.pop_front() {
            self.begin(next).await;
            // Unless it was left alone, the rest waits for it.
            if let Some(rest) = self.waiting.get(task_id) {
                rest.extend(waiting);
                return;
            }
        }
    }

    /// Waits for the handlers at work, stops those that take too long, and collects what was not handled.
    async fn drain(mut self, mut deliveries: mpsc::Receiver<Delivered>) -> Vec<Lease> {
        let mut unhandled: Vec<Lease> = Vec::new();
        self.questions.let_go();
        let waiting = std::mem::take(&mut self.waiting);
        let reading = std::mem::take(&mut self.reading);
        unhandled.extend(reading.into_values().flatten().filter_map(|d| d.lease));
        let until = Instant::now() + self.drain_timeout;
        let mut last = until + LAST_WORDS;
        let mut is_patient = true;
        loop {
            tokio::select! {
                done = self.working.join_next() => match done {
                    Some(Ok(Done::Handled { unhandled: lease, .. })) => unhandled.extend(lease),
                    Some(Ok(Done::Read { found, .. })) => {
                        unhandled.extend(found.conducted.into_job().lease);
                    }
                    Some(Ok(Done::LookedBack { delivered, .. })) => {
                        unhandled.extend(delivered.lease);
                    }
                    Some(Ok(Done::Asked { .. })) => {}
                    Some(Err(error)) => tracing::warn!(%error, "a handling was broken off"),
                    None => break,
                },
                () = sleep_until(until), if is_patient => {
                    is_patient = false;
                    self.in_flight.stop_all(&StopReason::Stopping);
                }
                () = sleep_until(last) => {
                    // Results that the hub does not take, or handlers that block. The goodbye gives them back.
                    self.working.abort_all();
                    last += self.drain_timeout + LAST_WORDS;
                }
            }
        }
        self.looking.shutdown().await;
        // Once no handler can take or give back any of them.
        let behind = waiting.into_values().flat_map(|waiting| waiting.take_all());
        unhandled.extend(behind.filter_map(|d| d.lease));
        while let Ok(delivered) = deliveries.try_recv() {
            unhandled.extend(delivered.lease);
        }
        unhandled
    }
}
