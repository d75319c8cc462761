//! What the hub knows in parts that outlive the process, and back. What later releases read: fields are added, never changed.
//!
//! Mail is in a snapshot as positions only: the log keeps those records as long as the snapshot names them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{
    a2a::Task,
    agenthub::{AgentEvent, Concern, agent_event::Payload},
    event::system_time,
};
use prost::Message;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    dead_letters::DeadLetter,
    dedupe::{Key, Seen},
    id::{AgentId, OrderKey},
    log::{Entry, Found, LogId, Position, Record, Registration, codec},
    mailbox::{Mail, Timing},
    mailboxes::Lifetime,
    routing::Route,
    settings::Settings,
    state::State,
    tasks,
};

/// Letters or publishes in one part.
const CHUNK: usize = 1000;

/// One moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) time: SystemTime,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    fn micros_at(self, instant: Instant) -> i64 {
        let micros = |d: Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
        let ahead = micros(instant.saturating_duration_since(self.instant));
        let behind = micros(self.instant.saturating_duration_since(instant));
        micros(since_epoch(self.time))
            .saturating_add(ahead)
            .saturating_sub(behind)
    }

    fn instant_at(self, micros: i64) -> Instant {
        let time = time(micros);
        let ahead = time.duration_since(self.time).unwrap_or_default();
        let behind = self.time.duration_since(time).unwrap_or_default();
        let instant = self.instant.checked_sub(behind).unwrap_or(self.instant);
        instant.checked_add(ahead).unwrap_or(instant)
    }
}

/// The positions of all mail that waits: their records have to be kept.
pub(crate) fn kept(state: &State, moment: Moment) -> BTreeSet<Position> {
    let boxes = state.mailboxes.saved().into_iter().flat_map(|m| m.mail);
    let piles = state.mailboxes.unclaimed.piles();
    let piles = piles
        .filter(|(_, until, _)| !is_over(*until, moment))
        .flat_map(|(_, _, mail)| mail);
    let piles = piles.chain(overdue(state, moment));
    let all = boxes.chain(piles).filter(|m| !m.is_copy);
    all.filter_map(|m| m.position).collect()
}

/// Hands over what the state knows, part by part, until `each` says no.
pub(crate) fn write<E>(
    state: &State,
    moment: Moment,
    each: &mut impl FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut part = |what: What| {
        let part = PartRecord { what: Some(what) };
        each(part.encode_to_vec())
    };
    for (_, agent) in state.registry.iter() {
        for (_, card) in &agent.versions {
            let registration = Registration {
                card: card.clone(),
                ..agent.registration.clone()
            };
            let registered = Entry::Registered(registration);
            part(happened(micros(agent.registered_at), &registered))?;
        }
    }
    for mailbox in state.mailboxes.saved() {
        let opened = Entry::Subscribed {
            agent: mailbox.agent.clone(),
            name: mailbox.name.to_owned(),
            filter: mailbox.filter.clone(),
            claims: Vec::new(),
            ordered: mailbox.ordered,
        };
        part(happened(mailbox.used.map_or(0, micros), &opened))?;
        for chunk in mailbox.mail.chunks(CHUNK) {
            let letters = chunk.iter().filter_map(|m| letter(m, moment)).collect();
            part(What::Mail(MailRecord {
                agent: mailbox.agent.to_string(),
                name: mailbox.name.to_owned(),
                until_us: 0,
                letters,
            }))?;
        }
        for tries in mailbox.tries.chunks(CHUNK) {
            let tried = Entry::Tried {
                agent: mailbox.agent.clone(),
                name: mailbox.name.to_owned(),
                tries: tries.to_vec(),
            };
            part(happened(0, &tried))?;
        }
    }
    for (task, agent, instances) in state.superseded.iter() {
        let lost = Entry::Superseded {
            agent: agent.clone(),
            task: task.clone(),
            instances,
        };
        part(happened(0, &lost))?;
    }
    for (agent, until, mail) in state.mailboxes.unclaimed.piles() {
        let is_over = is_over(until, moment);
        let mail: Vec<&Mail> = mail
            .iter()
            .filter(|m| !is_over || is_owed(m, state))
            .collect();
        for chunk in mail.chunks(CHUNK) {
            part(What::Mail(MailRecord {
                agent: agent.to_string(),
                name: String::new(),
                until_us: until.map_or(0, |until| moment.micros_at(until)),
                letters: chunk.iter().filter_map(|m| letter(m, moment)).collect(),
            }))?;
        }
    }
    for (id, letter) in state.dead_letters.iter() {
        part(What::DeadLetter(DeadLetterRecord {
            id: id.0,
            time_us: micros(letter.time),
            entry: codec::encode(&Entry::GivenUp(letter.given_up.clone())),
        }))?;
    }
    for saved in state.tasks.saved() {
        part(What::Task(saved.into()))?;
    }
    part(What::Changes(state.tasks.changes()))?;
    let seen: Vec<SeenRecord> = state
        .dedupe
        .iter()
        .map(|(key, at, seen)| SeenRecord::of(key, seen, moment.micros_at(at)))
        .collect();
    for chunk in seen.chunks(CHUNK) {
        let publishes = chunk.to_vec();
        part(What::Seen(SeenList { publishes }))?;
    }
    Ok(())
}

fn happened(time_us: i64, entry: &Entry) -> What {
    let entry = codec::encode(entry);
    What::Happened(HappenedRecord { time_us, entry })
}

/// A state that is read back: what has to be kept first, then the parts in their order.
#[derive(Debug)]
pub(crate) struct Reading {
    state: State,
    moment: Moment,
    kept: HashMap<Position, (Arc<AgentEvent>, OrderKey, bool)>,
}

impl Reading {
    pub(crate) fn new(settings: &Settings, log: LogId, moment: Moment) -> Self {
        Self {
            state: State::new(settings, log),
            moment,
            kept: HashMap::new(),
        }
    }

    /// A record that parts refer to.
    ///
    /// # Errors
    ///
    /// It is not one of an event.
    pub(crate) fn keep(&mut self, record: &Record) -> Result<(), String> {
        let Entry::Published(published) = &record.entry else {
            return Err(format!("record {} is no event", record.position.0));
        };
        let is_directed = matches!(published.route, Route::To(_));
        let kept = (published.event.clone(), record.order.clone(), is_directed);
        self.kept.insert(record.position, kept);
        Ok(())
    }

    /// A part.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> Result<(), String> {
        let part = PartRecord::decode(bytes).map_err(|e| e.to_string())?;
        match part.what.ok_or("a part holds nothing that is known")? {
            What::Happened(happened) => {
                let entry = codec::decode(&happened.entry).map_err(|e| e.to_string())?;
                let record = Record {
                    position: Position(0),
                    time: time(happened.time_us),
                    namespace: String::new(),
                    principal: String::new(),
                    order: entry.order(),
                    entry,
                };
                self.state.apply(&record, self.moment.instant);
            }
            What::Mail(mail) => self.mail(mail)?,
            What::DeadLetter(letter) => {
                let entry = codec::decode(&letter.entry).map_err(|e| e.to_string())?;
                let Entry::GivenUp(given_up) = entry else {
                    return Err("a dead letter is none".to_owned());
                };
                let time = time(letter.time_us);
                let dead = DeadLetter { time, given_up };
                self.state.dead_letters.add(Position(letter.id), dead);
            }
            What::Task(task) => self.state.tasks.restore(task.read()?),
            What::Changes(changes) => self.state.tasks.restore_changes(changes),
            What::Seen(list) => {
                for seen in list.publishes {
                    let at = self.moment.instant_at(seen.time_us);
                    let (key, seen) = seen.read()?;
                    self.state.dedupe.remember(key, seen, at);
                }
            }
        }
        Ok(())
    }

    /// The state, when all parts are read.
    pub(crate) fn finish(self) -> State {
        self.state
    }

    fn mail(&mut self, record: MailRecord) -> Result<(), String> {
        let agent = AgentId::from(record.agent.as_str());
        let letters = record.letters.into_iter().map(|l| self.letter(l, &agent));
        let letters = letters.collect::<Result<Vec<Mail>, String>>()?;
        let mailboxes = &mut self.state.mailboxes;
        if record.name.is_empty() {
            let until = (record.until_us != 0).then(|| self.moment.instant_at(record.until_us));
            mailboxes.unclaimed.restore(&agent, until, letters);
            return Ok(());
        }
        let id = mailboxes
            .find(&agent, &record.name, &Lifetime::Durable)
            .ok_or_else(|| format!("there is mail for \"{agent}\", which has no such mailbox"))?;
        for letter in letters {
            mailboxes.put(id, letter, self.moment.instant);
        }
        Ok(())
    }

    fn letter(&self, letter: LetterRecord, recipient: &AgentId) -> Result<Mail, String> {
        let position = Position(letter.position);
        let is_copy = letter.copy.is_some();
        let (event, order, is_directed, timing) = match letter.copy {
            Some(copy) => {
                let event = copy.event.ok_or("a copy is empty")?;
                let order = OrderKey::of(event.context_id(), event.task_id(), event.sender());
                let timing = Timing {
                    due: None,
                    expires: self.moment.instant_at(copy.expires_us),
                };
                (Arc::new(event), order, copy.is_directed, timing)
            }
            None => {
                let kept = self.kept.get(&position);
                let (event, order, is_directed) = kept
                    .cloned()
                    .ok_or_else(|| format!("the event of mail at {} was not kept", position.0))?;
                let sent = event.timestamp.as_ref().and_then(system_time);
                let age = sent.and_then(|sent| self.moment.time.duration_since(sent).ok());
                let age = age.unwrap_or_default();
                let mailboxes = &self.state.mailboxes;
                let timing = mailboxes.timing(&event, age, self.moment.instant);
                (event, order, is_directed, timing)
            }
        };
        Ok(Mail {
            event,
            recipient: recipient.clone(),
            position: Some(position),
            order,
            concern: Concern::try_from(letter.concern).unwrap_or_default(),
            version: Some(letter.version.as_str())
                .filter(|v| !v.is_empty())
                .map(Into::into),
            is_directed,
            is_copy,
            timing,
        })
    }
}

/// The fold of a log that is read: its snapshot, if there is one, and what happened after that.
#[derive(Debug)]
pub(crate) struct Folding<'a> {
    settings: &'a Settings,
    moment: Moment,
    reading: Option<Reading>,
}

impl<'a> Folding<'a> {
    /// Nothing is read yet. Ages are counted up to `moment`.
    pub(crate) fn new(settings: &'a Settings, moment: Moment) -> Self {
        Self {
            settings,
            moment,
            reading: None,
        }
    }

    /// Takes in what was read next.
    ///
    /// # Errors
    ///
    /// Why a part of a snapshot cannot be read.
    pub(crate) fn take(&mut self, log: LogId, found: Found<'_>) -> Result<(), String> {
        let reading = self
            .reading
            .get_or_insert_with(|| Reading::new(self.settings, log, self.moment));
        match found {
            Found::Kept(record) => reading.keep(record),
            Found::Part(bytes) => reading.part(bytes),
            Found::Record(record) => {
                let age = self.moment.time.duration_since(record.time);
                let age = age.unwrap_or_default();
                reading.state.replay(record, age, self.moment.instant);
                Ok(())
            }
        }
    }

    /// What is known by all that.
    pub(crate) fn finish(self, log: LogId) -> State {
        let reading = self.reading;
        reading.map_or_else(|| State::new(self.settings, log), Reading::finish)
    }
}

fn is_over(until: Option<Instant>, moment: Moment) -> bool {
    until.is_some_and(|until| until <= moment.instant)
}

/// Mail that nobody came for, as far as somebody has to be told so.
fn overdue(state: &State, moment: Moment) -> impl Iterator<Item = &Mail> {
    let piles = state.mailboxes.unclaimed.piles();
    let over = piles.filter(move |(_, until, _)| is_over(*until, moment));
    over.flat_map(|(_, _, mail)| mail)
        .filter(|mail| is_owed(mail, state))
}

/// Whether a task waits for the outcome of mail.
fn is_owed(mail: &Mail, state: &State) -> bool {
    matches!(&mail.event.payload, Some(Payload::Message(m))
        if state.tasks.get(&m.task_id).is_some_and(|t| !t.is_terminal()))
}

fn letter(mail: &Mail, moment: Moment) -> Option<LetterRecord> {
    let copy = mail.is_copy.then(|| CopyRecord {
        event: Some(AgentEvent::clone(&mail.event)),
        is_directed: mail.is_directed,
        expires_us: moment.micros_at(mail.timing.expires),
    });
    Some(LetterRecord {
        copy,
        position: mail.position?.0,
        concern: mail.concern.into(),
        version: mail
            .version
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    })
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

fn micros(time: SystemTime) -> i64 {
    i64::try_from(since_epoch(time).as_micros()).unwrap_or(i64::MAX)
}

fn nanos(time: SystemTime) -> i64 {
    i64::try_from(since_epoch(time).as_nanos()).unwrap_or(i64::MAX)
}

fn time(micros: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[derive(Clone, PartialEq, Message)]
struct PartRecord {
    #[prost(oneof = "What", tags = "1, 2, 3, 4, 5, 6")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
#[allow(clippy::large_enum_variant)]
enum What {
    #[prost(message, tag = "1")]
    Happened(HappenedRecord),
    #[prost(message, tag = "2")]
    Mail(MailRecord),
    #[prost(message, tag = "3")]
    Task(TaskRecord),
    #[prost(uint64, tag = "4")]
    Changes(u64),
    #[prost(message, tag = "5")]
    Seen(SeenList),
    #[prost(message, tag = "6")]
    DeadLetter(DeadLetterRecord),
}

/// An entry of the log that leads to the same.
#[derive(Clone, PartialEq, Message)]
struct HappenedRecord {
    #[prost(int64, tag = "1")]
    time_us: i64,
    #[prost(bytes = "vec", tag = "2")]
    entry: Vec<u8>,
}

/// Mail in the mailbox of that name, or mail that waits for a first subscription.
#[derive(Clone, PartialEq, Message)]
struct MailRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int64, tag = "3")]
    until_us: i64,
    #[prost(message, repeated, tag = "4")]
    letters: Vec<LetterRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct LetterRecord {
    #[prost(uint64, tag = "1")]
    position: u64,
    #[prost(int32, tag = "2")]
    concern: i32,
    #[prost(string, tag = "3")]
    version: String,
    /// The event itself, where its record need not be there any more.
    #[prost(message, optional, tag = "4")]
    copy: Option<CopyRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct CopyRecord {
    #[prost(message, optional, tag = "1")]
    event: Option<AgentEvent>,
    #[prost(bool, tag = "2")]
    is_directed: bool,
    #[prost(int64, tag = "3")]
    expires_us: i64,
}

#[derive(Clone, PartialEq, Message)]
struct DeadLetterRecord {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    time_us: i64,
    #[prost(bytes = "vec", tag = "3")]
    entry: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct TaskRecord {
    #[prost(message, optional, tag = "1")]
    task: Option<Task>,
    #[prost(string, tag = "2")]
    requester: String,
    #[prost(string, optional, tag = "3")]
    assignee: Option<String>,
    #[prost(string, tag = "4")]
    task_type: String,
    #[prost(int64, optional, tag = "5")]
    deadline_ns: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    ended_us: Option<i64>,
    #[prost(uint64, tag = "8")]
    bytes: u64,
    #[prost(uint64, tag = "7")]
    changed: u64,
    #[prost(message, optional, tag = "9")]
    made_by: Option<SeenRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct SeenList {
    #[prost(message, repeated, tag = "1")]
    publishes: Vec<SeenRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct SeenRecord {
    #[prost(string, tag = "1")]
    sender: String,
    #[prost(string, tag = "2")]
    order: String,
    #[prost(string, tag = "3")]
    id: String,
    #[prost(bytes = "vec", tag = "4")]
    digest: Vec<u8>,
    #[prost(string, tag = "5")]
    event_id: String,
    #[prost(string, tag = "6")]
    position: String,
    #[prost(int64, tag = "7")]
    time_us: i64,
}

impl From<tasks::Saved> for TaskRecord {
    fn from(saved: tasks::Saved) -> Self {
        Self {
            task: Some(saved.task),
            requester: saved.requester.to_string(),
            assignee: saved.assignee.map(|a| a.to_string()),
            task_type: saved.task_type,
            deadline_ns: saved.deadline.map(nanos),
            bytes: saved.bytes as u64,
            ended_us: saved.ended_at.map(micros),
            changed: saved.changed,
            made_by: saved
                .made_by
                .map(|(key, seen)| SeenRecord::of(&key, &seen, 0)),
        }
    }
}

impl TaskRecord {
    fn read(self) -> Result<tasks::Saved, String> {
        Ok(tasks::Saved {
            task: self.task.ok_or("a task is empty")?,
            requester: self.requester.into(),
            assignee: self.assignee.map(Into::into),
            task_type: self.task_type,
            deadline: self.deadline_ns.map(|ns| {
                SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).unwrap_or(0))
            }),
            bytes: usize::try_from(self.bytes).map_err(|e| e.to_string())?,
            ended_at: self.ended_us.map(time),
            changed: self.changed,
            made_by: self.made_by.map(SeenRecord::read).transpose()?,
        })
    }
}

impl SeenRecord {
    fn of(key: &Key, seen: &Seen, time_us: i64) -> Self {
        Self {
            sender: key.sender.to_string(),
            order: key.order.to_string(),
            id: key.id.clone(),
            digest: seen.digest.as_bytes().to_vec(),
            event_id: seen.event_id.clone(),
            position: seen.position.clone(),
            time_us,
        }
    }

    fn read(self) -> Result<(Key, Seen), String> {
        let key = Key {
            sender: self.sender.into(),
            order: self.order.into(),
            id: self.id,
        };
        let seen = Seen {
            digest: Uuid::from_slice(&self.digest).map_err(|e| e.to_string())?,
            event_id: self.event_id,
            position: self.position,
        };
        Ok((key, seen))
    }
}
