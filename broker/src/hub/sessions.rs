//! Open streams: the mailboxes that each drains, and its messages ahead of their order.

use std::{collections::VecDeque, sync::Arc};

use agenthub_proto::agenthub::Cancel;
use tokio::sync::Notify;

use super::{backlog::Backlog, claiming::Claiming, core::Core, outgoing::End};
use crate::{
    id::{AgentId, InstanceId, MailboxId, SessionId, Version},
    log::Position,
    mailbox::Reclaiming,
    table::Table,
};

/// Maximum queued cancellations of a stream; a stream with more has stopped reading.
const CANCELS: usize = 10_000;

/// Kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An agent's lifeline: the instance outlives it.
    Connect,
    /// A lifeline of a part of this process. Not counted against the limit on streams.
    OwnConnect,
    /// A stream of an older client: everything ends with it.
    ServerStream,
}

impl Kind {
    fn is_lifeline(self) -> bool {
        self != Self::ServerStream
    }
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) kind: Kind,
    pub(super) agent: AgentId,
    pub(super) instance: InstanceId,
    pub(super) version: Option<Version>,
    pub(super) mailboxes: Vec<MailboxId>,
    wake: Arc<Notify>,
    pub(super) cancels: Vec<Cancel>,
    pub(super) end: Option<End>,
    /// True if it counts for the presence of its instance. False for an agent that was unregistered.
    pub(super) is_present: bool,
    /// The subscription that is next in turn.
    pub(super) turn: usize,
}

impl Open {
    /// True if another stream has taken its place, or its agent was unregistered: later frames of its peer are ignored.
    pub(super) fn was_superseded(&self) -> bool {
        matches!(self.end, Some(End::Superseded(_)))
    }
}

/// The streams of one agent.
#[derive(Debug, Default)]
struct Streams {
    /// Ascending.
    ids: Vec<SessionId>,
    lifelines: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Table<SessionId, Open>,
    by_agent: Table<AgentId, Streams>,
    /// Number of those of this process's own parts.
    own: usize,
    next: u64,
}

/// A newly opened stream.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentId,
    pub(crate) wake: Arc<Notify>,
    /// Events to reread first.
    // Boxed: agents' streams have none.
    pub(super) backlog: Option<Box<Backlog>>,
    /// Position up to which everything was delivered before it.
    pub(super) begins_after: Position,
    /// Number of deliveries before the backlog, besides a directory snapshot.
    pub(super) first: usize,
    /// Subscriptions that are being opened, in order.
    pub(super) claiming: Vec<Claiming>,
    /// Mailboxes with deliveries that its instance claims, in order.
    pub(super) reclaiming: VecDeque<(MailboxId, Reclaiming)>,
}

impl Opened {
    /// True if the opening is not complete.
    pub(super) fn is_under_way(&self) -> bool {
        !self.claiming.is_empty() || !self.reclaiming.is_empty()
    }

    /// Counts waiting events of the agent that may also be part of the backlog.
    pub(super) fn count_first(&mut self, claims: &[Position]) {
        let after = self.backlog.as_ref().map(|backlog| backlog.after);
        let is_before = |position: &&Position| after.is_some_and(|after| **position <= after);
        self.first += claims.iter().filter(is_before).count();
    }
}

impl Sessions {
    /// Number of open streams.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Number of open streams that count for the limit.
    pub(crate) fn of_peers(&self) -> usize {
        self.open.len() - self.own
    }

    /// True if an agent can be reached outside its mailbox's order.
    pub(crate) fn has_lifeline(&self, agent: &AgentId) -> bool {
        self.by_agent.get(agent).is_some_and(|s| s.lifelines > 0)
    }

    /// Tells every lifeline of an agent that a task has ended, or is to end.
    pub(crate) fn cancel(&mut self, agent: &AgentId, cancel: &Cancel) {
        self.each_of(agent, |open| {
            if !open.kind.is_lifeline() {
                return;
            }
            if open.cancels.len() >= CANCELS {
                open.end = Some(End::Overflow);
            } else {
                open.cancels.push(cancel.clone());
            }
            open.wake.notify_one();
        });
    }

    /// Ends every stream of an agent.
    pub(crate) fn end_all_of(&mut self, agent: &AgentId, reason: &str) {
        self.each_of(agent, |open| {
            open.end = Some(End::Superseded(reason.to_owned()));
            open.is_present = false;
            open.wake.notify_one();
        });
    }

    /// Ends every stream.
    pub(crate) fn drain(&mut self) {
        for open in self.open.values_mut() {
            open.end = Some(End::Drain);
            open.wake.notify_one();
        }
    }

    /// Replaces the first stream of an instance by a second one.
    pub(super) fn supersede(&mut self, agent: &AgentId, instance: &InstanceId) {
        self.each_of(agent, |open| {
            if open.instance != *instance {
                return;
            }
            open.end = Some(End::Superseded(format!(
                "another stream of agent \"{agent}\", instance \"{instance}\" has taken this one's place"
            )));
            open.wake.notify_one();
        });
    }

    /// Agent and instance of a stream.
    pub(super) fn peer(&self, session: SessionId) -> Option<(&AgentId, &InstanceId)> {
        let open = self.open.get(&session)?;
        Some((&open.agent, &open.instance))
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<Open> {
        let open = self.open.remove(&session)?;
        self.own -= usize::from(open.kind == Kind::OwnConnect);
        if let Some(streams) = self.by_agent.get_mut(&open.agent) {
            if let Ok(index) = streams.ids.binary_search(&session) {
                streams.ids.remove(index);
            }
            streams.lifelines -= usize::from(open.kind.is_lifeline());
            if streams.ids.is_empty() {
                self.by_agent.remove(&open.agent);
            }
        }
        Some(open)
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Open> {
        self.open.get(&session)
    }

    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Open> {
        self.open.get_mut(&session)
    }

    fn each_of(&mut self, agent: &AgentId, mut act: impl FnMut(&mut Open)) {
        for id in self.by_agent.get(agent).into_iter().flat_map(|s| &s.ids) {
            if let Some(open) = self.open.get_mut(id) {
                act(open);
            }
        }
    }

    fn insert(&mut self, open: Open) -> SessionId {
        self.next += 1;
        let id = SessionId(self.next);
        let streams = self.by_agent.entry(open.agent.clone()).or_default();
        streams.ids.push(id);
        streams.lifelines += usize::from(open.kind.is_lifeline());
        self.own += usize::from(open.kind == Kind::OwnConnect);
        self.open.insert(id, open);
        id
    }
}

impl Core {
    pub(super) fn insert_session(
        &mut self,
        kind: Kind,
        agent: AgentId,
        instance: InstanceId,
        version: Option<Version>,
        mailboxes: Vec<MailboxId>,
    ) -> Opened {
        let wake = Arc::new(Notify::new());
        let id = self.sessions.insert(Open {
            kind,
            agent: agent.clone(),
            instance,
            version,
            mailboxes: mailboxes.clone(),
            wake: wake.clone(),
            cancels: Vec::new(),
            end: None,
            is_present: true,
            turn: 0,
        });
        for mailbox in mailboxes {
            self.state.mailboxes.listen(mailbox, id, &wake);
        }
        wake.notify_one();
        Opened {
            id,
            agent,
            wake,
            backlog: None,
            begins_after: Position(0),
            first: 0,
            claiming: Vec::new(),
            reclaiming: VecDeque::new(),
        }
    }
}
