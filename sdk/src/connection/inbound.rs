//! Router of what comes from the hub.

use std::{collections::BTreeMap, fmt, sync::Arc};

use agenthub_proto::agenthub::{
    AgentEvent, Concern, Credit, Delivery, EventKind, Filter, Lifetime, Refusal, Subscription,
    agent_event::Payload,
};
use tokio::sync::mpsc::{self, error::TrySendError};

use super::{
    Lease,
    leases::{Arrival, Leases},
};
use crate::{
    Directory,
    agent::{InFlight, InFlightGuard},
    approvals,
    deadline::{self, Clock},
    pending::Table,
};

/// The replies and directory changes that may be under way.
const CREDIT: u32 = 1024;

/// Work for a handler.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) event: AgentEvent,
    /// `None` if the event is not in the log: then there is nothing to acknowledge.
    pub(crate) lease: Option<Lease>,
    /// 1 on the first delivery.
    pub(crate) attempt: u32,
    pub(crate) epoch: u64,
    pub(crate) guard: InFlightGuard,
}

/// The inbox of an agent.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) deliveries: mpsc::Sender<Delivered>,
    pub(crate) in_flight: Arc<InFlight>,
    /// The deliveries that may come.
    pub(crate) credit: u32,
    /// The conversation of the one run that this peer executes, if it is an executor: of the agent's messages it gets the decisions of people
    /// alone, and of its replies those in this conversation.
    pub(crate) conversation: Option<String>,
}

/// Purpose of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Inbox,
    Replies,
    Directory,
}

/// Hook for each reply.
#[derive(Clone)]
pub(crate) struct OnReply(pub(crate) Arc<dyn Fn(&AgentEvent) + Send + Sync>);

impl fmt::Debug for OnReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnReply")
    }
}

/// The receivers of one peer. Nothing here blocks: pushing back is done with credit.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) work: Option<Work>,
    pub(crate) replies: Arc<Table>,
    pub(crate) on_reply: Option<OnReply>,
    pub(crate) directory: Option<Directory>,
    pub(crate) clock: Clock,
}

/// Notes for the next frame to the hub.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) acks: Vec<Lease>,
    pub(super) refusals: Vec<Refusal>,
    credit: BTreeMap<u32, u32>,
}

impl Notes {
    pub(super) fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.refusals.is_empty() && self.credit.is_empty()
    }

    pub(super) fn take_credit(&mut self) -> Vec<Credit> {
        std::mem::take(&mut self.credit)
            .into_iter()
            .map(|(subscription, messages)| Credit {
                subscription,
                messages,
            })
            .collect()
    }
}

impl Inbound {
    fn purposes(&self) -> impl Iterator<Item = Purpose> {
        let inbox = self.work.as_ref().map(|_| Purpose::Inbox);
        let directory = self.directory.as_ref().map(|_| Purpose::Directory);
        inbox.into_iter().chain([Purpose::Replies]).chain(directory)
    }

    fn index_of(&self, purpose: Purpose) -> u32 {
        let place = self.purposes().position(|p| p == purpose);
        u32::try_from(place.unwrap_or_default()).unwrap_or_default()
    }

    /// The subscriptions of a stream that begins.
    pub(super) fn subscriptions(&self, instance_id: &str) -> Vec<Subscription> {
        let filter = |kinds: &[EventKind], concern: Concern| Filter {
            kinds: kinds.iter().map(|k| (*k).into()).collect(),
            concern: concern.into(),
            ..Default::default()
        };
        let conversation = self.work.as_ref().and_then(|w| w.conversation.as_ref());
        let subscription = |purpose| match purpose {
            Purpose::Inbox if conversation.is_some() => Subscription {
                name: format!("decisions/{instance_id}"),
                lifetime: Lifetime::Instance.into(),
                filter: Some(Filter {
                    types: vec![approvals::DECISION.to_owned()],
                    ..filter(&[EventKind::Message], Concern::Work)
                }),
                credit: self.work.as_ref().map_or(0, |w| w.credit),
                ordered: false,
            },
            Purpose::Inbox => Subscription {
                name: "inbox".to_owned(),
                lifetime: Lifetime::Durable.into(),
                filter: Some(filter(&[EventKind::Message], Concern::Work)),
                credit: self.work.as_ref().map_or(0, |w| w.credit),
                ordered: false,
            },
            Purpose::Replies => {
                let kinds = [
                    EventKind::Message,
                    EventKind::StatusUpdate,
                    EventKind::ArtifactUpdate,
                ];
                Subscription {
                    name: format!("replies/{instance_id}"),
                    lifetime: Lifetime::Instance.into(),
                    filter: Some(Filter {
                        contexts: conversation
                            .filter(|conversation| !conversation.is_empty())
                            .cloned()
                            .into_iter()
                            .collect(),
                        ..filter(&kinds, Concern::Replies)
                    }),
                    credit: CREDIT,
                    ordered: false,
                }
            }
            Purpose::Directory => Subscription {
                name: format!("directory/{instance_id}"),
                lifetime: Lifetime::Instance.into(),
                filter: Some(filter(&[EventKind::AgentCard], Concern::Unspecified)),
                credit: CREDIT,
                ordered: false,
            },
        };
        self.purposes().map(subscription).collect()
    }

    /// Takes the events of one frame, each with the note that the hub made on it.
    pub(super) fn events(
        &mut self,
        events: Vec<AgentEvent>,
        mut deliveries: Vec<Delivery>,
        epoch: u64,
        leases: &mut Leases,
        notes: &mut Notes,
    ) {
        for mut event in events {
            let note = deliveries
                .iter()
                .position(|d| d.position == event.position && self.fits(d.subscription, &event))
                .map(|n| deliveries.remove(n));
            let subscription = note.as_ref().map_or(0, |n| n.subscription);
            let attempt = note.as_ref().map_or(1, |n| n.attempt.max(1));
            if let Some(routing) = &mut event.routing {
                let waited = note.as_ref().and_then(|n| n.waited.as_ref());
                deadline::by_own_clock(routing, waited, (self.clock)());
            }
            self.event(event, subscription, attempt, epoch, leases, notes);
        }
    }

    fn event(
        &mut self,
        event: AgentEvent,
        subscription: u32,
        attempt: u32,
        epoch: u64,
        leases: &mut Leases,
        notes: &mut Notes,
    ) {
        let lease = (!event.position.is_empty()).then(|| Lease {
            subscription,
            position: event.position.clone(),
            epoch,
        });
        let is_work = self.work.is_some() && subscription == self.index_of(Purpose::Inbox);
        let arrival = lease.as_ref().map_or(Arrival::New, |l| leases.arrive(l));
        match (arrival, is_work) {
            (Arrival::New, true) => {
                if !self.deliver(event, lease.clone(), attempt, epoch) {
                    lease.iter().for_each(|l| leases.release(l));
                }
                return;
            }
            (Arrival::New, false) => self.take(&event),
            // The handler at work will acknowledge it.
            (Arrival::Held, _) => {
                *notes.credit.entry(subscription).or_default() += 1;
                return;
            }
            (Arrival::Settled, _) => {}
        }
        if let Some(lease) = lease {
            leases.settle(lease.clone());
            notes.acks.push(lease);
        }
        *notes.credit.entry(subscription).or_default() += 1;
    }

    /// True if the event can come from that subscription. Events without a position are told apart by this.
    fn fits(&self, subscription: u32, event: &AgentEvent) -> bool {
        let is_card = event.kind() == EventKind::AgentCard;
        match self.purposes().nth(subscription as usize) {
            Some(Purpose::Inbox) => event.kind() == EventKind::Message,
            Some(Purpose::Replies) => !is_card,
            Some(Purpose::Directory) => is_card,
            None => false,
        }
    }

    fn take(&self, event: &AgentEvent) {
        match (&event.payload, &self.directory) {
            (Some(Payload::AgentCard(change)), Some(directory)) => directory.apply(change),
            _ => {
                if let Some(OnReply(hook)) = &self.on_reply {
                    hook(event);
                }
                self.replies.apply(event);
            }
        }
    }

    /// Returns whether somebody will take care of it.
    fn deliver(
        &mut self,
        event: AgentEvent,
        lease: Option<Lease>,
        attempt: u32,
        epoch: u64,
    ) -> bool {
        let Some(work) = &mut self.work else {
            return false;
        };
        work.credit = work.credit.saturating_sub(1);
        let delivered = Delivered {
            guard: InFlight::take(&work.in_flight, event.task_id()),
            event,
            lease,
            attempt,
            epoch,
        };
        match work.deliveries.try_send(delivered) {
            Ok(()) => true,
            Err(error) => {
                // It will come again: when the goodbye ends its lease, or when that runs out.
                if let TrySendError::Full(_) = error {
                    tracing::warn!("a delivery without credit was left out");
                }
                false
            }
        }
    }

    /// Allows this many more deliveries of the inbox.
    pub(super) fn more_work(&mut self, messages: u32, notes: &mut Notes) {
        let inbox = self.index_of(Purpose::Inbox);
        if let Some(work) = &mut self.work {
            work.credit += messages;
            *notes.credit.entry(inbox).or_default() += messages;
        }
    }
}
