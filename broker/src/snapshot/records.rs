//! The parts of a snapshot as they are written.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use agenthub_proto::{a2a::Task, agenthub::AgentEvent};
use prost::Message;
use uuid::Uuid;

use super::moment::{micros, nanos, time};
use crate::{
    dedupe::{Key, Seen},
    tasks,
};

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartRecord {
    #[prost(oneof = "What", tags = "1, 2, 3, 4, 5, 6")]
    pub(super) what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
#[allow(clippy::large_enum_variant)]
pub(super) enum What {
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
pub(super) struct HappenedRecord {
    #[prost(int64, tag = "1")]
    pub(super) time_us: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) entry: Vec<u8>,
}

/// Mail in the mailbox of that name, or mail that waits for a first subscription.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MailRecord {
    #[prost(string, tag = "1")]
    pub(super) agent: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int64, tag = "3")]
    pub(super) until_us: i64,
    #[prost(message, repeated, tag = "4")]
    pub(super) letters: Vec<LetterRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LetterRecord {
    #[prost(uint64, tag = "1")]
    pub(super) position: u64,
    #[prost(int32, tag = "2")]
    pub(super) concern: i32,
    #[prost(string, tag = "3")]
    pub(super) version: String,
    /// The event itself, where its record need not be there any more.
    #[prost(message, optional, tag = "4")]
    pub(super) copy: Option<CopyRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CopyRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) event: Option<AgentEvent>,
    #[prost(bool, tag = "2")]
    pub(super) is_directed: bool,
    #[prost(int64, tag = "3")]
    pub(super) expires_us: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeadLetterRecord {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) time_us: i64,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) entry: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskRecord {
    #[prost(message, optional, tag = "1")]
    pub(super) task: Option<Task>,
    #[prost(string, tag = "2")]
    pub(super) requester: String,
    #[prost(string, optional, tag = "3")]
    pub(super) assignee: Option<String>,
    #[prost(string, tag = "4")]
    pub(super) task_type: String,
    #[prost(int64, optional, tag = "5")]
    pub(super) deadline_ns: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub(super) ended_us: Option<i64>,
    #[prost(uint64, tag = "8")]
    pub(super) bytes: u64,
    #[prost(uint64, tag = "7")]
    pub(super) changed: u64,
    #[prost(message, optional, tag = "9")]
    pub(super) made_by: Option<SeenRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SeenList {
    #[prost(message, repeated, tag = "1")]
    pub(super) publishes: Vec<SeenRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SeenRecord {
    #[prost(string, tag = "1")]
    pub(super) sender: String,
    #[prost(string, tag = "2")]
    pub(super) order: String,
    #[prost(string, tag = "3")]
    pub(super) id: String,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) digest: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) event_id: String,
    #[prost(string, tag = "6")]
    pub(super) position: String,
    #[prost(int64, tag = "7")]
    pub(super) time_us: i64,
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
    pub(super) fn read(self) -> Result<tasks::Saved, String> {
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
    pub(super) fn of(key: &Key, seen: &Seen, time_us: i64) -> Self {
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

    pub(super) fn read(self) -> Result<(Arc<Key>, Seen), String> {
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
        Ok((Arc::new(key), seen))
    }
}
