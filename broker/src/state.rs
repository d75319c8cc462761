//! What the hub knows: the fold of its log.

use agenthub_proto::agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload};
use std::time::Duration;

use tokio::time::Instant;

use crate::{
    dedupe::{Dedupe, Seen},
    id::{AgentId, OrderKey},
    log::{Entry, LogId, Position, Published, Record},
    mailbox::{Bounds, Undelivered},
    mailboxes::{Lifetime, Mailboxes, Post, own_type},
    registry::Registry,
    settings::Settings,
    tasks::{self, Tasks},
};

/// Registry, tasks, mailboxes and what was published lately.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) tasks: Tasks,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) dedupe: Dedupe,
    log: LogId,
}

/// How an event is delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivering {
    /// Where it stands in the log.
    pub(crate) position: Option<Position>,
    /// How many mailboxes had been opened when it happened: later ones saw a directory that has it.
    pub(crate) mailboxes: u64,
    /// How long ago it happened.
    pub(crate) age: Duration,
}

impl State {
    /// What a hub knows before anything has happened.
    pub(crate) fn new(settings: &Settings, log: LogId) -> Self {
        let bounds = Bounds {
            events: settings.mailbox_events,
            bytes: settings.mailbox_bytes,
            ack_deadline: settings.ack_deadline,
            max_attempts: settings.max_attempts,
        };
        Self {
            registry: Registry::default(),
            tasks: Tasks::new(tasks::Bounds {
                open: settings.open_tasks,
                ended: settings.ended_tasks,
                bytes: settings.tasks_bytes,
            }),
            mailboxes: Mailboxes::new(bounds, settings.unknown_recipient),
            dedupe: Dedupe::new(settings.dedupe_window),
            log,
        }
    }

    /// Takes in what happened, but for the delivery of events.
    pub(crate) fn apply(&mut self, record: &Record, now: Instant) {
        match &record.entry {
            Entry::Registered(registration) => {
                self.registry.register(registration, record.time);
                self.mailboxes
                    .unclaimed
                    .is_known(&registration.card.name.as_str().into());
            }
            Entry::Unregistered { agent } => {
                self.registry.unregister(agent);
                for id in self.mailboxes.of_agent(agent) {
                    self.mailboxes.close(id);
                }
            }
            Entry::Subscribed {
                agent,
                name,
                filter,
                claims,
            } => {
                let lifetime = Lifetime::Durable;
                let id = self
                    .mailboxes
                    .open(agent, name, lifetime, filter.clone(), false, now);
                let claimed = self.mailboxes.unclaimed.claim(agent, |mail| {
                    mail.position.is_some_and(|p| claims.contains(&p))
                });
                for mail in claimed {
                    self.mailboxes.put(id, mail, now);
                }
            }
            Entry::Acknowledged {
                agent,
                name,
                positions,
            } => {
                if name.is_empty() {
                    self.mailboxes.unclaimed.claim(agent, |mail| {
                        mail.position.is_some_and(|p| positions.contains(&p))
                    });
                } else if let Some(id) = self.mailboxes.find(agent, name, &Lifetime::Durable) {
                    for position in positions {
                        self.mailboxes.acknowledge(id, *position);
                    }
                }
            }
            Entry::Published(published) => {
                self.apply_to_task(published, record);
                if let Some((key, digest)) = &published.key {
                    let seen = Seen {
                        digest: *digest,
                        event_id: published.event.event_id.clone(),
                        position: self.log.token(record.position),
                    };
                    self.dedupe.remember(key.clone(), seen, now);
                }
            }
        }
    }

    /// Takes in a record that was in the log before the process began, delivery included. It is so old.
    pub(crate) fn replay(&mut self, record: &Record, age: Duration, now: Instant) {
        // As if it happened when it did, for what lasts a time from there on.
        self.apply(record, now.checked_sub(age).unwrap_or(now));
        match &record.entry {
            Entry::Published(published) => {
                let how = Delivering {
                    position: Some(record.position),
                    mailboxes: self.mailboxes.count(),
                    age,
                };
                // What a full mailbox lost then, it loses again; its task has failed in a later record.
                self.deliver(published, how, now);
            }
            Entry::Unregistered { agent } => self.mailboxes.unclaimed.drop_all_of(agent),
            Entry::Registered(_) | Entry::Subscribed { .. } | Entry::Acknowledged { .. } => {}
        }
    }

    /// Puts an event into the mailboxes that it is for. Returns the mail that full mailboxes lost by that.
    pub(crate) fn deliver(
        &mut self,
        published: &Published,
        how: Delivering,
        now: Instant,
    ) -> Vec<Undelivered> {
        let event = &published.event;
        let sender = AgentId::from(event.sender());
        let order = OrderKey::of(event.context_id(), event.task_id(), event.sender());
        // Borrows the stores one by one: the mailboxes change below.
        let task = self.tasks.get(event.task_id());
        let post = Post {
            event,
            position: how.position,
            order: &order,
            mailboxes: how.mailboxes,
            age: how.age,
            route: &published.route,
            sender: &sender,
            requester: task.map(crate::tasks::Entry::requester),
            task_type: task.map_or_else(|| own_type(event), crate::tasks::Entry::task_type),
        };
        let registry = &self.registry;
        self.mailboxes
            .deliver(&post, |agent| registry.get(agent).is_some(), now)
    }

    /// The type of an event's task, or of the event itself where it has none.
    pub(crate) fn task_type<'a>(&'a self, event: &'a AgentEvent) -> &'a str {
        let task = self.tasks.get(event.task_id());
        task.map_or_else(|| own_type(event), crate::tasks::Entry::task_type)
    }

    fn apply_to_task(&mut self, published: &Published, record: &Record) {
        let none = AgentEventMetadata::default();
        let routing = published.event.routing.as_ref().unwrap_or(&none);
        let assignee = published.assignee.as_ref();
        match &published.event.payload {
            Some(Payload::Message(m)) if !m.task_id.is_empty() && !published.passes_by => {
                self.tasks.apply_message(m, routing, assignee, record.time);
            }
            Some(Payload::StatusUpdate(u)) => self.tasks.apply_status(u, assignee, record.time),
            Some(Payload::ArtifactUpdate(u)) => self.tasks.apply_artifact(u, assignee),
            _ => {}
        }
    }
}
