//! Encoding of records for durable logs. Every later release reads it: fields are added, never changed.

mod mail;
mod omitted;
mod published;
mod tries;

use agenthub_proto::{a2a::AgentCard, agenthub};
use prost::Message;

use self::{
    mail::{GivenUpRecord, MailRecord, RereadRecord, SettledRecord},
    published::PublishedRecord,
    tries::{SupersededRecord, TriedRecord, TryRecord},
};
use super::{Entry, Position, Registration, Try};
use crate::{filter::Filter, tasks::Spent};

/// The newest format version that can be read.
pub(crate) const FORMAT: u32 = 4;

/// Format version of records that earlier releases read, too.
const COMMON: u32 = 3;

/// Error: the bytes are not a record that this release can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("its bytes are no record: {0}")]
    Malformed(String),
    #[error("it has format {0}, and this hub reads up to {FORMAT}: use a newer agenthub")]
    Newer(u32),
}

/// Kind of an event's record.
pub(crate) const PUBLISHED: i64 = 1;

/// Stable number of an entry's kind.
pub(crate) fn kind(entry: &Entry) -> i64 {
    match entry {
        Entry::Published(_) => PUBLISHED,
        Entry::Registered(_) => 2,
        Entry::Unregistered { .. } => 3,
        Entry::Subscribed { .. } => 4,
        Entry::Acknowledged { .. } => 5,
        Entry::GivenUp(_) => 6,
        Entry::Settled { .. } => 7,
        Entry::Reread { .. } => 8,
        Entry::Tried { .. } => 9,
        Entry::Superseded { .. } => 10,
        Entry::Unsubscribed { .. } => 11,
        Entry::Present { .. } => 12,
        Entry::Charged { .. } => 13,
    }
}

/// Encodes an entry.
pub(crate) fn encode(entry: &Entry) -> Vec<u8> {
    let what = match entry {
        Entry::Published(published) => return published::encode(published),
        Entry::Registered(registration) => EntryKind::Registered(RegisteredRecord {
            card: Some(registration.card.clone()),
            topics: registration.topics.clone(),
            health_check_url: registration.health_check_url.clone(),
        }),
        Entry::Unregistered { agent } => EntryKind::Unregistered(UnregisteredRecord {
            agent: agent.to_string(),
        }),
        Entry::Present { agent } => EntryKind::Present(PresentRecord {
            agent: agent.to_string(),
        }),
        Entry::Subscribed {
            agent,
            name,
            filter,
            claims,
            ordered,
        } => EntryKind::Subscribed(SubscribedRecord {
            agent: agent.to_string(),
            name: name.clone(),
            filter: Some(filter.to_wire()),
            claims: claims.iter().map(|p| p.0).collect(),
            ordered: *ordered,
        }),
        Entry::Unsubscribed { agent, name } => EntryKind::Unsubscribed(UnsubscribedRecord {
            agent: agent.to_string(),
            name: name.clone(),
        }),
        Entry::Acknowledged {
            agent,
            name,
            positions,
        } => EntryKind::Acknowledged(AcknowledgedRecord {
            agent: agent.to_string(),
            name: name.clone(),
            positions: positions.iter().map(|p| p.0).collect(),
        }),
        Entry::GivenUp(given_up) => EntryKind::GivenUp(given_up.into()),
        Entry::Settled { letter, again } => EntryKind::Settled(SettledRecord {
            letter: letter.0,
            again: *again,
        }),
        Entry::Reread { agent, name, mail } => EntryKind::Reread(RereadRecord {
            agent: agent.to_string(),
            name: name.clone(),
            mail: mail.iter().map(MailRecord::from).collect(),
        }),
        Entry::Tried { agent, name, tries } => EntryKind::Tried(TriedRecord {
            agent: agent.to_string(),
            name: name.clone(),
            tries: tries.iter().map(TryRecord::from).collect(),
        }),
        Entry::Superseded {
            agent,
            task,
            instances,
        } => EntryKind::Superseded(SupersededRecord {
            agent: agent.to_string(),
            task: task.to_string(),
            instances: instances.iter().map(ToString::to_string).collect(),
        }),
        Entry::Charged { principal, spent } => EntryKind::Charged(ChargedRecord {
            principal: principal.clone(),
            tokens: spent.tokens,
            cost_micros: spent.cost_micros,
        }),
    };
    let format = match entry {
        Entry::Charged { .. } => FORMAT,
        _ => COMMON,
    };
    EntryRecord {
        format,
        what: Some(what),
    }
    .encode_to_vec()
}

/// Decodes an entry.
///
/// # Errors
///
/// [`Unreadable`] with the reason.
pub(crate) fn decode(bytes: &[u8]) -> Result<Entry, Unreadable> {
    let malformed = |what: &str| Unreadable::Malformed(what.to_owned());
    let record = EntryRecord::decode(bytes).map_err(|e| Unreadable::Malformed(e.to_string()))?;
    if record.format > FORMAT {
        return Err(Unreadable::Newer(record.format));
    }
    Ok(
        match record.what.ok_or_else(|| malformed("nothing is in it"))? {
            EntryKind::Published(published) => Entry::Published(published.read()?),
            EntryKind::Registered(r) => Entry::Registered(Registration {
                card: r.card.ok_or_else(|| malformed("it has no card"))?,
                topics: r.topics,
                health_check_url: r.health_check_url,
            }),
            EntryKind::Unregistered(r) => Entry::Unregistered {
                agent: r.agent.into(),
            },
            EntryKind::Present(r) => Entry::Present {
                agent: r.agent.into(),
            },
            EntryKind::Subscribed(r) => Entry::Subscribed {
                agent: r.agent.into(),
                name: r.name,
                filter: Filter::from_wire(&r.filter.unwrap_or_default())
                    .map_err(|e| Unreadable::Malformed(e.to_string()))?,
                claims: r.claims.into_iter().map(Position).collect(),
                ordered: r.ordered,
            },
            EntryKind::Unsubscribed(r) => Entry::Unsubscribed {
                agent: r.agent.into(),
                name: r.name,
            },
            EntryKind::Acknowledged(r) => Entry::Acknowledged {
                agent: r.agent.into(),
                name: r.name,
                positions: r.positions.into_iter().map(Position).collect(),
            },
            EntryKind::GivenUp(r) => Entry::GivenUp(r.read()?),
            EntryKind::Settled(r) => Entry::Settled {
                letter: Position(r.letter),
                again: r.again,
            },
            EntryKind::Reread(r) => Entry::Reread {
                agent: r.agent.into(),
                name: r.name,
                mail: r
                    .mail
                    .into_iter()
                    .map(MailRecord::read)
                    .collect::<Result<_, _>>()?,
            },
            EntryKind::Tried(r) => Entry::Tried {
                agent: r.agent.into(),
                name: r.name,
                tries: r.tries.into_iter().map(Try::from).collect(),
            },
            EntryKind::Charged(r) => Entry::Charged {
                principal: r.principal,
                spent: Spent {
                    tokens: r.tokens,
                    cost_micros: r.cost_micros,
                },
            },
            EntryKind::Superseded(r) => Entry::Superseded {
                agent: r.agent.into(),
                task: r.task.into(),
                instances: r.instances.into_iter().map(Into::into).collect(),
            },
        },
    )
}

#[derive(Clone, PartialEq, Message)]
struct EntryRecord {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(
        oneof = "EntryKind",
        tags = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14"
    )]
    what: Option<EntryKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
#[allow(clippy::large_enum_variant)]
enum EntryKind {
    #[prost(message, tag = "2")]
    Published(PublishedRecord),
    #[prost(message, tag = "3")]
    Registered(RegisteredRecord),
    #[prost(message, tag = "4")]
    Unregistered(UnregisteredRecord),
    #[prost(message, tag = "5")]
    Subscribed(SubscribedRecord),
    #[prost(message, tag = "6")]
    Acknowledged(AcknowledgedRecord),
    #[prost(message, tag = "7")]
    GivenUp(GivenUpRecord),
    #[prost(message, tag = "8")]
    Settled(SettledRecord),
    #[prost(message, tag = "9")]
    Reread(RereadRecord),
    #[prost(message, tag = "10")]
    Tried(TriedRecord),
    #[prost(message, tag = "11")]
    Superseded(SupersededRecord),
    #[prost(message, tag = "12")]
    Unsubscribed(UnsubscribedRecord),
    #[prost(message, tag = "13")]
    Present(PresentRecord),
    #[prost(message, tag = "14")]
    Charged(ChargedRecord),
}

#[derive(Clone, PartialEq, Message)]
struct ChargedRecord {
    #[prost(string, tag = "1")]
    principal: String,
    #[prost(uint64, tag = "2")]
    tokens: u64,
    #[prost(uint64, tag = "3")]
    cost_micros: u64,
}

#[derive(Clone, PartialEq, Message)]
struct RegisteredRecord {
    #[prost(message, optional, tag = "1")]
    card: Option<AgentCard>,
    #[prost(string, repeated, tag = "2")]
    topics: Vec<String>,
    #[prost(string, tag = "3")]
    health_check_url: String,
}

#[derive(Clone, PartialEq, Message)]
struct UnregisteredRecord {
    #[prost(string, tag = "1")]
    agent: String,
}

#[derive(Clone, PartialEq, Message)]
struct PresentRecord {
    #[prost(string, tag = "1")]
    agent: String,
}

#[derive(Clone, PartialEq, Message)]
struct SubscribedRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    filter: Option<agenthub::Filter>,
    #[prost(uint64, repeated, tag = "4")]
    claims: Vec<u64>,
    #[prost(bool, tag = "5")]
    ordered: bool,
}

#[derive(Clone, PartialEq, Message)]
struct UnsubscribedRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct AcknowledgedRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, repeated, tag = "3")]
    positions: Vec<u64>,
}
