//! Snapshots: the hub's state in encoded parts, and back. Later releases read it: fields are added, never changed.
//!
//! Mail is in a snapshot as positions only: the log keeps those records while the snapshot refers to them.

pub(crate) mod ended;
mod moment;
mod reading;
mod records;
pub(crate) mod seen;

use std::collections::BTreeSet;

use agenthub_proto::agenthub::{AgentEvent, agent_event::Payload};
use prost::Message;
use tokio::time::Instant;

pub(crate) use self::moment::micros;
#[cfg(test)]
pub(crate) use self::reading::Reading;
pub(crate) use self::{moment::Moment, reading::Folding};
use self::{
    records::{
        CopyRecord, DeadLetterRecord, HappenedRecord, LetterRecord, MailRecord, PartKind,
        PartRecord, SpentRecord, TaskList, TaskRecord,
    },
    seen::SeenList,
};
use crate::{
    log::{Entry, Position, Registration, codec},
    mailbox::Mail,
    state::State,
};

/// Dead letters per part.
const CHUNK: usize = 1000;
/// Maximum bytes of tasks per part, unless one task alone is larger.
const TASK_BYTES: usize = 64 * 1024;

/// Positions of all waiting mail, whose records have to be kept.
pub(crate) fn kept(state: &State, moment: Moment) -> BTreeSet<Position> {
    let is_own = |mail: &Mail| !mail.is_copy;
    let boxes = state.mailboxes.saved().into_iter().flat_map(|m| m.mail);
    let boxes = boxes.filter(is_own).filter_map(|m| m.position);
    let piles = state.mailboxes.unclaimed.piles();
    let piles = piles
        .filter(|(_, until, _)| !is_over(*until, moment))
        .flat_map(|(_, _, mail)| mail);
    let piles = piles.chain(overdue(state, moment));
    let piles = piles.filter(|mail| is_own(mail));
    boxes.chain(piles.filter_map(|m| m.position)).collect()
}

/// Passes the state, without the deduplicated publishes ([`seen`]), part by part to `each`, until it returns an error.
pub(crate) fn write<E>(
    state: &State,
    moment: Moment,
    each: &mut impl FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut part = |what: PartKind| {
        let part = PartRecord { what: Some(what) };
        each(part.encode_to_vec())
    };
    part(PartKind::Seen(SeenList::of_secret(state.dedupe.secret())))?;
    for (id, agent) in state.registry.iter() {
        for (_, card) in &agent.versions {
            let registration = Registration {
                card: card.clone(),
                topics: agent.topics.clone(),
                health_check_url: agent.health_check_url.clone(),
            };
            let registered = Entry::Registered(registration);
            let mut registered = happened_record(micros(agent.registered_at), &registered);
            registered.principal = agent.owner.clone().unwrap_or_default();
            part(PartKind::Happened(registered))?;
        }
        if let Some(seen) = agent.seen {
            let present = Entry::Present { agent: id.clone() };
            part(happened(micros(seen), &present))?;
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
            part(PartKind::Mail(MailRecord {
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
        let mail: Vec<&Mail> = mail.filter(|m| !is_over || is_owed(m, state)).collect();
        for chunk in mail.chunks(CHUNK) {
            part(PartKind::Mail(MailRecord {
                agent: agent.to_string(),
                name: String::new(),
                until_us: until.map_or(0, |until| moment.micros_at(until)),
                letters: chunk.iter().filter_map(|m| letter(m, moment)).collect(),
            }))?;
        }
    }
    for (id, letter) in state.dead_letters.iter() {
        part(PartKind::DeadLetter(DeadLetterRecord {
            id: id.0,
            time_us: micros(letter.time),
            entry: codec::encode(&Entry::GivenUp(letter.given_up.clone())),
        }))?;
    }
    let mut list = TaskList::default();
    let mut bytes = 0;
    for saved in state.tasks.saved() {
        let task = TaskRecord::from(saved);
        bytes += task.encoded_len();
        list.tasks.push(task);
        if bytes >= TASK_BYTES {
            bytes = 0;
            part(PartKind::Tasks(std::mem::take(&mut list)))?;
        }
    }
    part(PartKind::Tasks(list))?;
    part(PartKind::Changes(state.tasks.changes()))?;
    let (day, spent) = state.tasks.used().saved();
    for (principal, spent) in spent {
        part(PartKind::Spent(SpentRecord {
            day,
            principal: principal.to_owned(),
            tokens: spent.tokens,
            cost_micros: spent.cost_micros,
        }))?;
    }
    part(PartKind::Ended(state.tasks.stored()))?;
    Ok(())
}

fn happened(time_us: i64, entry: &Entry) -> PartKind {
    PartKind::Happened(happened_record(time_us, entry))
}

fn happened_record(time_us: i64, entry: &Entry) -> HappenedRecord {
    HappenedRecord {
        time_us,
        entry: codec::encode(entry),
        principal: String::new(),
    }
}

fn is_over(until: Option<Instant>, moment: Moment) -> bool {
    until.is_some_and(|until| until <= moment.instant)
}

/// Expired mail whose task's parties have to be told.
fn overdue(state: &State, moment: Moment) -> impl Iterator<Item = &Mail> {
    let piles = state.mailboxes.unclaimed.piles();
    let over = piles.filter(move |(_, until, _)| is_over(*until, moment));
    over.flat_map(|(_, _, mail)| mail)
        .filter(|mail| is_owed(mail, state))
}

/// True if a task waits for the outcome of mail.
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
