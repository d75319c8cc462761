//! Handling of given-up mail: it becomes a dead letter, and the work that it requested fails.
//!
//! A bounded number of events is processed per acquisition of the lock. The rest is queued; until then the log has it
//! in its mailbox.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    agenthub::{Concern, agent_event::Payload},
};

use tokio::sync::Notify;

use super::{
    core::{Core, Now, hub},
    delivering::READ_BYTES,
};
use crate::{
    dead_letters::GivenUp,
    id::{AgentId, TaskId},
    log::{Again, Entry, Position},
    mailbox::{Mail, Undelivered},
    sealed::Sealed,
};

/// Events that become dead letters per acquisition of the lock.
pub(super) const AT_ONCE: usize = 128;
/// Maximum queue; beyond it events are processed at once.
const QUEUED: usize = 10_000;

/// Given-up mail that is no dead letter yet.
#[derive(Debug)]
pub(super) struct GivingUp {
    queue: VecDeque<Piece>,
    /// Events whose bodies must be read from the log first.
    stored: VecDeque<Piece>,
    /// Wakes the reader of bodies.
    wanted: Arc<Notify>,
    /// Events that may still be processed under the current lock.
    left: usize,
    summary: Option<Summary>,
}

#[derive(Debug)]
struct Piece {
    undelivered: Undelivered,
    /// Agent and name of the mailbox in the log. The mailbox may be closed before the event is processed.
    mailbox: Option<(AgentId, String)>,
}

/// Counts of undelivered events since the last summary, for the operator's log.
#[derive(Debug)]
pub(super) struct Summary {
    count: usize,
    event_id: String,
    trace_id: String,
    task_id: String,
    recipient: AgentId,
    reason: String,
}

impl Default for GivingUp {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            stored: VecDeque::new(),
            wanted: Arc::default(),
            left: AT_ONCE,
            summary: None,
        }
    }
}

impl GivingUp {
    /// True if events wait for another acquisition of the lock.
    pub(super) fn is_under_way(&self) -> bool {
        !self.queue.is_empty()
    }

    /// True if everything given up is in the log.
    pub(super) fn is_done(&self) -> bool {
        self.queue.is_empty() && self.stored.is_empty()
    }

    /// Wakes the reader of bodies when there is [something to read](Self::to_read).
    pub(super) fn wanted(&self) -> Arc<Notify> {
        self.wanted.clone()
    }

    /// Positions of the events to read next.
    pub(super) fn to_read(&self) -> Vec<Position> {
        let mut bytes = 0;
        let pieces = self.stored.iter().take(AT_ONCE).take_while(|piece| {
            let is_in = bytes < READ_BYTES;
            bytes += piece.undelivered.mail.bytes();
            is_in
        });
        pieces
            .filter_map(|piece| piece.undelivered.mail.position)
            .collect()
    }

    /// Begins another acquisition of the lock. Returns whether events of earlier ones are queued.
    pub(super) fn may_go_on(&mut self) -> bool {
        self.left = AT_ONCE;
        !self.queue.is_empty()
    }

    /// True if the queue of reads is so long that nothing more should be given up.
    pub(super) fn is_behind(&self) -> bool {
        self.stored.len() > QUEUED
    }

    /// The summary since the last call.
    pub(super) fn take_summary(&mut self) -> Option<Summary> {
        self.summary.take()
    }

    /// Adds an event to the summary.
    fn count(&mut self, undelivered: &Undelivered) {
        let mail = &undelivered.mail;
        let summary = self.summary.get_or_insert_with(|| Summary {
            count: 0,
            event_id: mail.event.event_id.clone(),
            trace_id: mail.event.trace_id.clone(),
            task_id: mail.event.task_id().to_owned(),
            recipient: mail.recipient.clone(),
            reason: undelivered.reason.clone(),
        });
        summary.count += 1;
    }
}

impl Summary {
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Warns of undelivered events in one line, whatever their number. Do not call under the lock: writing to the
    /// operator's log may be slow.
    pub(super) fn warn(&self) {
        let Self {
            count,
            event_id,
            trace_id,
            task_id,
            recipient,
            reason,
        } = self;
        match count {
            1 => {
                tracing::warn!(event_id, trace_id, task_id, %recipient, reason, "event was not delivered");
            }
            _ => {
                tracing::warn!(count, first_event_id = event_id, trace_id, first_task_id = task_id, first_recipient = %recipient, first_reason = reason, "events were not delivered");
            }
        }
    }
}

impl Core {
    /// Gives mail up. If it was work for a task's assignee, the task fails.
    pub(crate) fn give_up(&mut self, undelivered: Vec<Undelivered>, now: Now) {
        let came = undelivered.len();
        let pieces = undelivered.into_iter().map(|undelivered| Piece {
            mailbox: match undelivered.mailbox {
                Some(id) => self.state.mailboxes.name_in_log(id),
                None => Some((&undelivered.mail.recipient, "")),
            }
            .map(|(agent, name)| (agent.clone(), name.to_owned())),
            undelivered,
        });
        self.giving_up.queue.extend(pieces);
        if self.giving_up.queue.len() > QUEUED {
            self.giving_up.left = self.giving_up.left.max(came);
        }
        while self.giving_up.left > 0
            && let Some(piece) = self.giving_up.queue.pop_front()
        {
            self.giving_up.left -= 1;
            if self.is_answer_to_nobody(&piece) {
                let Undelivered { mail, reason, .. } = &piece.undelivered;
                tracing::debug!(recipient = %mail.recipient, reason, "an answer was let go of");
                self.let_go(&piece, now);
                continue;
            }
            if piece.undelivered.mail.event.is_head() {
                self.giving_up.stored.push_back(piece);
                self.giving_up.wanted.notify_one();
                continue;
            }
            self.giving_up.count(&piece.undelivered);
            let Undelivered { mail, reason, .. } = &piece.undelivered;
            self.bury(&piece, now);
            self.fail_work(mail, reason, now);
        }
    }

    /// True for an answer that waited for a subscription of a client outside the directory: such clients ask and leave.
    fn is_answer_to_nobody(&self, piece: &Piece) -> bool {
        let mail = &piece.undelivered.mail;
        let is_answer = match &mail.event.payload {
            Some(Payload::Message(message)) => {
                message.role() == Role::Agent || mail.concern == Concern::Replies
            }
            _ => mail.concern == Concern::Replies,
        };
        let waited = matches!(&piece.mailbox, Some((_, name)) if name.is_empty());
        is_answer && waited && self.state.registry.get(&mail.recipient).is_none()
    }

    /// Drops an event without a dead letter.
    fn let_go(&mut self, piece: &Piece, now: Now) {
        if let Some((agent, name)) = piece.mailbox.clone() {
            let positions = piece.undelivered.mail.position.into_iter().collect();
            let entry = Entry::Acknowledged {
                agent,
                name,
                positions,
            };
            self.record(&hub(), entry, now);
        }
    }

    /// Processes the events that were [read](GivingUp::to_read). Those missing from the log are lost.
    pub(super) fn bury_read(
        &mut self,
        positions: &[Position],
        found: &HashMap<Position, Arc<Sealed>>,
        now: Now,
    ) {
        for position in positions {
            let Some(mut piece) = self.giving_up.stored.pop_front() else {
                return;
            };
            match found.get(position) {
                Some(event) => {
                    piece.undelivered.mail.event = event.clone();
                    self.giving_up.queue.push_back(piece);
                }
                None => self.write_off_piece(&piece, now),
            }
        }
        self.give_up(Vec::new(), now);
    }

    /// Drops an event that is missing from the log.
    fn write_off_piece(&mut self, piece: &Piece, now: Now) {
        let Undelivered { mail, reason, .. } = &piece.undelivered;
        let (position, recipient) = (mail.position, &mail.recipient);
        tracing::error!(?position, %recipient, reason, "event was not delivered, and the log no longer has it");
        self.metrics.undelivered.inc();
        self.let_go(piece, now);
        self.fail_work(mail, reason, now);
    }

    /// Processes the queue of earlier acquisitions of the lock.
    pub(super) fn go_on_giving_up(&mut self, now: impl FnOnce() -> Now) {
        if self.giving_up.may_go_on() {
            self.give_up(Vec::new(), now());
        }
    }

    /// Records a dead letter.
    fn bury(&mut self, piece: &Piece, now: Now) {
        let Undelivered {
            mail,
            attempts,
            reason,
            ..
        } = &piece.undelivered;
        self.metrics.undelivered.inc();
        tracing::debug!(event_id = mail.event.event_id, trace_id = mail.event.trace_id, recipient = %mail.recipient, %reason, "event was not delivered");
        let (Some((agent, name)), Some(position)) = (&piece.mailbox, mail.position) else {
            return;
        };
        let entry = Entry::GivenUp(GivenUp {
            agent: agent.clone(),
            name: name.clone(),
            reason: reason.clone(),
            attempts: *attempts,
            mail: Again {
                event: mail.event.clone(),
                position,
                concern: mail.concern,
                version: mail.version.clone(),
                is_directed: mail.is_directed,
            },
        });
        self.record(&hub(), entry, now);
    }

    /// Fails the task that mail was work for, and tells its requester.
    pub(super) fn fail_work(&mut self, mail: &Mail, reason: &str, now: Now) {
        let Some(Payload::Message(message)) = &mail.event.payload else {
            return;
        };
        let task = TaskId::from(message.task_id.as_str());
        let entry = self.state.tasks.get(&task);
        let Some(entry) = entry.filter(|t| t.assignee() == Some(&mail.recipient)) else {
            return;
        };
        if mail.concern == Concern::Work {
            // The assignee does not take its mail: a status for it would only displace more.
            let requester = entry.requester();
            let to = Vec::from_iter((*requester != mail.recipient).then(|| requester.clone()));
            let said = Message::new(Role::Agent, reason);
            self.complete_and_tell(&task, TaskState::Failed, said, to, now);
            self.stop_work(&task, reason);
        }
    }
}
