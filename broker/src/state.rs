//! State of the hub: the fold of its log.

use agenthub_proto::agenthub::{AgentEvent, AgentEventMetadata, agent_event::Payload};
use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    access,
    bodies::Bodies,
    dead_letters::{DeadLetter, DeadLetters},
    dedupe::{self, Dedupe, PublishOutcome},
    id::{AgentId, MailboxId, OrderKey, Version},
    log::{Again, Entry, Position, Published, Record},
    mailbox::{Bounds, Mail, Undelivered},
    mailboxes::{Lifetime, Mailboxes, Post},
    registry::Registry,
    routing::Route,
    sealed::Sealed,
    segment::Segment,
    settings::Settings,
    superseded::Superseded,
    tasks::{self, Tasks},
    traits::Traits,
};

/// Registry, tasks, mailboxes and recent publishes.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) registry: Registry,
    pub(crate) tasks: Tasks,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) dedupe: Dedupe,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) superseded: Superseded,
}

/// Context of an event's delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivering {
    /// Position in the log.
    pub(crate) position: Option<Position>,
    /// Time of its record in this process.
    pub(crate) since: Instant,
    /// Number of mailboxes ever opened when it happened: later ones saw a directory that includes it.
    pub(crate) mailboxes: u64,
    /// Number of directory changes then, this one included.
    pub(crate) changes: u64,
    /// Age of the event.
    pub(crate) age: Duration,
    /// True for an event replayed from the log.
    pub(crate) is_replayed: bool,
}

impl Delivering {
    /// Context of a logged event for one mailbox.
    pub(crate) fn again(position: Position) -> Self {
        Self {
            position: Some(position),
            since: Instant::now(),
            mailboxes: 0,
            changes: 0,
            age: Duration::ZERO,
            is_replayed: false,
        }
    }
}

impl State {
    /// An empty state.
    pub(crate) fn new(settings: &Settings) -> Self {
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
                ended_age: settings.ended_tasks_age,
                ended_bytes: settings.ended_tasks_bytes,
                bytes: settings.tasks_bytes,
            }),
            mailboxes: Mailboxes::new(
                bounds,
                Bodies::new(settings.bodies()),
                settings.mailbox_age,
                settings.unknown_recipient,
            ),
            dedupe: Dedupe::new(dedupe::Bounds {
                window: settings.dedupe_window,
                per_sender: settings.dedupe_per_sender,
                total: settings.dedupe_total,
            }),
            dead_letters: DeadLetters::new(settings.dead_letters, settings.dead_letters_bytes),
            superseded: Superseded::default(),
        }
    }

    /// Applies a record, without the delivery of its event.
    pub(crate) fn apply(&mut self, record: &Record, now: Instant) {
        self.apply_later(record, Duration::ZERO, now);
    }

    /// Applies a record of this age.
    fn apply_later(&mut self, record: &Record, age: Duration, now: Instant) {
        match &record.entry {
            Entry::Registered(registration) => {
                let principal = access::owner(&record.principal);
                self.registry.register(registration, principal, record.time);
                let agent = AgentId::from(registration.card.name.as_str());
                self.mailboxes.unclaimed.is_known(&agent);
                let owner = self.registry.owner(&agent);
                self.mailboxes.set_owner(&agent, owner);
            }
            Entry::Unregistered { agent } => {
                self.registry.unregister(agent);
                for id in self.mailboxes.of_agent(agent) {
                    self.mailboxes.close(id);
                }
                self.mailboxes.set_owner(agent, None);
            }
            Entry::Present { agent } => self.registry.set_seen(agent, record.time),
            Entry::Subscribed {
                agent,
                name,
                filter,
                claims,
                ordered,
            } => {
                let lifetime = Lifetime::Durable;
                let id = self
                    .mailboxes
                    .open(agent, name, lifetime, filter.clone(), *ordered, now);
                for mail in self.mailboxes.unclaimed.claim(agent, claims) {
                    self.mailboxes.put(id, mail, now);
                }
                self.mailboxes.set_used(id, record.time);
            }
            Entry::Unsubscribed { agent, name } => {
                if let Some(id) = self.mailboxes.find(agent, name, &Lifetime::Durable) {
                    self.mailboxes.close(id);
                }
            }
            Entry::Acknowledged {
                agent,
                name,
                positions,
            } => {
                self.forget(agent, name, positions);
            }
            Entry::GivenUp(given_up) => {
                self.forget(&given_up.agent, &given_up.name, &[given_up.mail.position]);
                let letter = DeadLetter {
                    time: record.time,
                    given_up: given_up.clone(),
                };
                self.dead_letters.add(record.position, letter);
            }
            Entry::Settled { letter, again } => {
                let letter = self.dead_letters.remove(*letter).filter(|_| *again);
                if let Some(DeadLetter { given_up, .. }) = letter {
                    let mail = self.again(&given_up.agent, &given_up.mail, now);
                    let is_known = self.registry.get(&given_up.agent).is_some();
                    self.mailboxes
                        .put_again(&given_up.name, mail, is_known, now);
                }
            }
            Entry::Reread { agent, name, mail } => {
                let id = self.mailboxes.find(agent, name, &Lifetime::Durable);
                for (id, mail) in id
                    .into_iter()
                    .flat_map(|id| mail.iter().map(move |m| (id, m)))
                {
                    let mail = self.again(agent, mail, now);
                    self.mailboxes.put(id, mail, now);
                }
            }
            Entry::Charged { principal, spent } => {
                self.tasks.charge(principal, *spent, record.time);
            }
            Entry::Tried { agent, name, tries } => {
                self.mailboxes.set_tried(agent, name, tries);
            }
            Entry::Superseded {
                agent,
                task,
                instances,
            } => self.superseded.set(task, agent, instances),
            Entry::Published(published) => {
                let task = published.event.task_id();
                let is_new = !task.is_empty() && self.tasks.get(task).is_none();
                self.apply_to_task(published, record);
                let is_recent = self.dedupe.remembers(age);
                if let Some((key, digest)) = published.key.as_ref().filter(|_| is_new || is_recent)
                {
                    let fingerprint = self.dedupe.fingerprint(key);
                    let seen = PublishOutcome {
                        digest: dedupe::short(digest),
                        position: record.position,
                        stamp: dedupe::stamp(&published.event.event_id).unwrap_or_default(),
                    };
                    if is_new {
                        self.tasks.set_made_by(task, (fingerprint, seen));
                    }
                    if is_recent {
                        self.dedupe.remember(&key.sender, fingerprint, seen, now);
                    }
                }
            }
        }
    }

    /// Applies a record from before the start of the process, delivery included.
    pub(crate) fn replay(&mut self, record: &Record, age: Duration, now: Instant) {
        // With the time when it happened, for everything that expires from there on.
        self.apply_later(record, age, now.checked_sub(age).unwrap_or(now));
        match &record.entry {
            Entry::Published(published) => {
                let how = Delivering {
                    position: Some(record.position),
                    since: now,
                    mailboxes: self.mailboxes.count(),
                    changes: 0,
                    age,
                    is_replayed: true,
                };
                // A later record has the mail that was given up for lack of room.
                self.deliver(published, how, now);
            }
            Entry::Unregistered { agent } => self.mailboxes.drop_waiting(agent),
            _ => {}
        }
    }

    /// Delivers an event to its mailboxes. Returns the mail that full mailboxes lost.
    pub(crate) fn deliver(
        &mut self,
        published: &Published,
        how: Delivering,
        now: Instant,
    ) -> Vec<Undelivered> {
        let event = published.event.clone();
        let segment = match how.position {
            Some(position) => Segment::logged(vec![(position, event)]),
            None => Segment::of(event),
        };
        self.pass(&segment.into(), &published.route, how, now)
    }

    /// Delivers events that arrived together to their mailboxes. Their traits are equal. Returns the mail that full
    /// mailboxes lost.
    pub(crate) fn pass(
        &mut self,
        segment: &Arc<Segment>,
        route: &Route,
        how: Delivering,
        now: Instant,
    ) -> Vec<Undelivered> {
        let event = &segment.first();
        let sender = AgentId::from(event.sender());
        let order = OrderKey::of(event.context_id(), event.task_id(), event.sender());
        // Borrows the stores one by one, since the mailboxes change below.
        let post = post(&self.tasks, event, route, &sender, &order, how);
        debug_assert!(
            segment
                .each()
                .all(|(e, _)| Traits::of(&e) == Traits::of(event)),
            "the events of a segment are alike"
        );
        let registry = &self.registry;
        self.mailboxes
            .deliver(&post, segment, |agent| registry.get(agent).is_some(), now)
    }

    /// The traits of an event, for filters.
    pub(crate) fn traits<'a>(&'a self, event: &'a AgentEvent) -> Traits<'a> {
        traits(event, self.tasks.get(event.task_id()))
    }

    /// An event of this age as mail for a durable mailbox, if that takes it.
    pub(crate) fn mail_for(
        &self,
        id: MailboxId,
        published: &Published,
        how: Delivering,
        version: Option<&Version>,
        now: Instant,
    ) -> Option<Mail> {
        let event = &published.event;
        let sender = AgentId::from(event.sender());
        let order = OrderKey::of(event.context_id(), event.task_id(), event.sender());
        let post = post(&self.tasks, event, &published.route, &sender, &order, how);
        self.mailboxes.mail_for(id, &post, version, now)
    }

    /// Removes mail from a mailbox or, without a name, from the mail that waits for a subscription.
    fn forget(&mut self, agent: &AgentId, name: &str, positions: &[Position]) {
        if name.is_empty() {
            self.mailboxes.unclaimed.claim(agent, positions);
            self.mailboxes.handled(agent, positions);
        } else if let Some(id) = self.mailboxes.find(agent, name, &Lifetime::Durable) {
            self.mailboxes.acknowledge(id, positions);
        }
    }

    /// Mail for an event that returns to a mailbox, where it may wait as long as a new one.
    fn again(&self, agent: &AgentId, again: &Again, now: Instant) -> Mail {
        let event = &again.event;
        Mail {
            recipient: agent.clone(),
            position: Some(again.position),
            order: OrderKey::of(event.context_id(), event.task_id(), event.sender()),
            concern: again.concern,
            version: again.version.clone(),
            is_directed: again.is_directed,
            is_copy: true,
            timing: self.mailboxes.timing_again(now),
            event: event.clone(),
        }
    }

    /// Removes the waiting message that created a task which has ended.
    fn forget_request(&mut self, task: &str) {
        let ended = self.tasks.get(task).filter(|task| task.is_terminal());
        let made = ended.and_then(|task| task.assignee().cloned().zip(task.made_at()));
        if let Some((assignee, position)) = made {
            self.mailboxes.unclaimed.claim(&assignee, &[position]);
        }
    }

    fn apply_to_task(&mut self, published: &Published, record: &Record) {
        let none = AgentEventMetadata::default();
        let routing = published.event.routing.as_ref().unwrap_or(&none);
        let assignee = published.assignee.as_ref();
        match &published.event.payload {
            Some(Payload::Message(m)) if !m.task_id.is_empty() && !published.passes_by => {
                self.tasks.apply_message(m, routing, assignee, record.time);
            }
            Some(Payload::StatusUpdate(u)) => {
                self.tasks.apply_status(u, assignee, record.time);
                self.forget_request(&u.task_id);
            }
            Some(Payload::ArtifactUpdate(u)) => self.tasks.apply_artifact(u, assignee),
            _ => return,
        }
        let task = published.event.task_id();
        self.tasks.set_changed_at(task, record.position);
    }
}

fn post<'a>(
    tasks: &'a Tasks,
    event: &'a Arc<Sealed>,
    route: &'a Route,
    sender: &'a AgentId,
    order: &'a OrderKey,
    how: Delivering,
) -> Post<'a> {
    let task = tasks.get(event.task_id());
    Post {
        event,
        position: how.position,
        order,
        mailboxes: how.mailboxes,
        changes: how.changes,
        age: how.age,
        is_replayed: how.is_replayed,
        route,
        sender,
        requester: task.map(tasks::Known::requester),
        traits: traits(event, task),
    }
}

/// Traits with the type of the event's task.
fn traits<'a>(event: &'a AgentEvent, task: Option<tasks::Known<'a>>) -> Traits<'a> {
    let own = Traits::of(event);
    task.map_or(own, |task| own.with_task_type(task.task_type()))
}
