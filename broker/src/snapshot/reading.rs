//! Reading of a snapshot and the records after it.

use std::{collections::HashMap, sync::Arc};

use agenthub_proto::{agenthub::Concern, event::system_time};
use prost::Message;

use super::{
    ended,
    moment::{Moment, time},
    records::{LetterRecord, MailRecord, PartKind, PartRecord, SpentRecord, TaskRecord},
    seen,
};
use crate::{
    bodies::{Bodies, Delivered},
    dead_letters::DeadLetter,
    id::{AgentId, OrderKey},
    log::{Entry, LogPart, Position, Record, codec},
    mailbox::{Mail, Timing},
    mailboxes::Lifetime,
    routing::Route,
    sealed::Sealed,
    settings::Settings,
    state::State,
    tasks::Spent,
};

/// State in progress: first the kept records, then the parts in their order.
#[derive(Debug)]
pub(crate) struct Reading {
    state: State,
    moment: Moment,
    kept: HashMap<Position, (Arc<Sealed>, OrderKey, bool)>,
}

impl Reading {
    pub(crate) fn new(settings: &Settings, moment: Moment) -> Self {
        Self {
            state: State::new(settings),
            moment,
            kept: HashMap::new(),
        }
    }

    /// Sets the memory limit for bodies.
    pub(crate) fn bound_bodies(&mut self, bytes: usize) {
        self.state.mailboxes.bodies = Bodies::new(bytes);
    }

    /// Adds a record that parts refer to.
    ///
    /// # Errors
    ///
    /// It has no event.
    pub(crate) fn keep(&mut self, record: &Record) -> Result<(), String> {
        let Entry::Published(published) = &record.entry else {
            return Err(format!("record {} is no event", record.position.0));
        };
        let is_directed = matches!(published.route, Route::To(_));
        let bodies = &self.state.mailboxes.bodies;
        let event = bodies.shelve_event(&published.event, Delivered::Later);
        let kept = (event, record.order.clone(), is_directed);
        self.kept.insert(record.position, kept);
        Ok(())
    }

    /// Adds a part.
    ///
    /// # Errors
    ///
    /// The damage.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> Result<(), String> {
        let part = PartRecord::decode(bytes).map_err(|e| e.to_string())?;
        match part.what.ok_or("a part holds nothing that is known")? {
            PartKind::Happened(happened) => {
                let entry = codec::decode(&happened.entry).map_err(|e| e.to_string())?;
                let record = Record {
                    position: Position(0),
                    time: time(happened.time_us),
                    namespace: String::new(),
                    principal: happened.principal,
                    order: entry.order(),
                    entry,
                };
                self.state.apply(&record, self.moment.instant);
            }
            PartKind::Mail(mail) => self.mail(mail)?,
            PartKind::DeadLetter(letter) => {
                let entry = codec::decode(&letter.entry).map_err(|e| e.to_string())?;
                let Entry::GivenUp(given_up) = entry else {
                    return Err("a dead letter is none".to_owned());
                };
                let time = time(letter.time_us);
                let dead = DeadLetter { time, given_up };
                self.state.dead_letters.add(Position(letter.id), dead);
            }
            PartKind::Task(task) => self.task(task)?,
            PartKind::Tasks(list) => {
                for task in list.tasks {
                    self.task(task)?;
                }
            }
            PartKind::Ended(changed) => self.state.tasks.set_stored(changed),
            PartKind::Changes(changes) => self.state.tasks.restore_changes(changes),
            PartKind::Spent(SpentRecord {
                day,
                principal,
                tokens,
                cost_micros,
            }) => {
                let spent = Spent {
                    tokens,
                    cost_micros,
                };
                self.state.tasks.restore_spent(day, principal, spent);
            }
            PartKind::Seen(list) => list.read(&mut self.state.dedupe, self.moment)?,
        }
        Ok(())
    }

    /// Adds deduplicated publishes.
    ///
    /// # Errors
    ///
    /// The damage.
    pub(crate) fn seen(&mut self, publishes: &[u8]) -> Result<(), String> {
        seen::read(publishes, &mut self.state.dedupe, self.moment)
    }

    /// Adds ended tasks of a segment. Those that the snapshot does not cover are known by its records.
    ///
    /// # Errors
    ///
    /// The damage.
    pub(crate) fn ended(&mut self, heads: &[u8]) -> Result<(), String> {
        let tasks = &mut self.state.tasks;
        for ended in ended::heads(heads)? {
            let ended = ended?;
            if ended.changed <= tasks.stored() {
                tasks.restore_ended(ended);
            }
        }
        Ok(())
    }

    /// The state, when all parts are read.
    pub(crate) fn finish(self) -> State {
        self.state
    }

    fn task(&mut self, record: TaskRecord) -> Result<(), String> {
        let task = record.read(self.state.dedupe.secret())?;
        self.state.tasks.restore(task);
        Ok(())
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
                    since: self.moment.instant,
                    due: None,
                    expires: self.moment.instant_at(copy.expires_us),
                };
                (Arc::new(event.into()), order, copy.is_directed, timing)
            }
            None => {
                let kept = self.kept.get(&position);
                let (event, order, is_directed) = kept
                    .cloned()
                    .ok_or_else(|| format!("the event of mail at {} was not kept", position.0))?;
                let event = event.look();
                let sent = event.timestamp.as_ref().and_then(system_time);
                let age = sent.and_then(|sent| self.moment.time.duration_since(sent).ok());
                let age = age.unwrap_or_default();
                let mailboxes = &self.state.mailboxes;
                let timing = mailboxes.timing(&event, age, self.moment.instant);
                (event, order, is_directed, timing)
            }
        };
        let mut mail = Mail {
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
        };
        self.state
            .mailboxes
            .bodies
            .shelve(&mut mail, Delivered::Later);
        Ok(mail)
    }
}

/// Fold of a log: its snapshot, if any, and the records after it.
#[derive(Debug)]
pub(crate) struct Folding<'a> {
    settings: &'a Settings,
    bodies: usize,
    moment: Moment,
    reading: Option<Reading>,
}

impl<'a> Folding<'a> {
    /// A fold before anything is read. Ages are counted up to `moment`.
    pub(crate) fn new(settings: &'a Settings, moment: Moment) -> Self {
        Self {
            settings,
            bodies: settings.bodies(),
            moment,
            reading: None,
        }
    }

    /// Leaves bodies in the log, for a state that delivers nothing.
    pub(crate) fn without_bodies(self) -> Self {
        Self { bodies: 0, ..self }
    }

    /// Adds the next part of the log.
    ///
    /// # Errors
    ///
    /// The damage of a snapshot's part.
    pub(crate) fn take(&mut self, found: LogPart<'_>) -> Result<(), String> {
        let reading = self.reading.get_or_insert_with(|| {
            let mut reading = Reading::new(self.settings, self.moment);
            reading.bound_bodies(self.bodies);
            reading
        });
        match found {
            LogPart::Kept(record) => reading.keep(record),
            LogPart::Part(bytes) => reading.part(bytes),
            LogPart::Ended(heads) => reading.ended(heads),
            LogPart::Seen(publishes) => reading.seen(publishes),
            LogPart::Record(record) => {
                let age = self.moment.time.duration_since(record.time);
                let age = age.unwrap_or_default();
                reading.state.replay(record, age, self.moment.instant);
                Ok(())
            }
        }
    }

    /// The resulting state.
    pub(crate) fn finish(self) -> State {
        let reading = self.reading;
        let mut state = reading.map_or_else(|| State::new(self.settings), Reading::finish);
        let State {
            superseded, tasks, ..
        } = &mut state;
        superseded.retain(|task| tasks.get(task).is_some());
        state
    }
}
