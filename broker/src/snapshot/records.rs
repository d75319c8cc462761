//! Encoded parts of a snapshot.

use std::time::{Duration, SystemTime};

use agenthub_proto::{a2a::Task, agenthub::AgentEvent};
use prost::Message;

use super::{
    moment::{micros, nanos, time},
    seen::{self, SeenList, SeenRecord},
};
use crate::{dedupe::Secret, tasks};

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartRecord {
    #[prost(oneof = "PartKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9")]
    pub(super) what: Option<PartKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
#[allow(clippy::large_enum_variant)]
pub(super) enum PartKind {
    #[prost(message, tag = "1")]
    Happened(HappenedRecord),
    #[prost(message, tag = "2")]
    Mail(MailRecord),
    /// Written by earlier releases.
    #[prost(message, tag = "3")]
    Task(TaskRecord),
    #[prost(uint64, tag = "4")]
    Changes(u64),
    /// The secret of fingerprints; in earlier releases also the deduplicated publishes.
    #[prost(message, tag = "5")]
    Seen(SeenList),
    #[prost(message, tag = "6")]
    DeadLetter(DeadLetterRecord),
    /// The change up to which ended tasks are in segments.
    #[prost(uint64, tag = "7")]
    Ended(u64),
    #[prost(message, tag = "8")]
    Tasks(TaskList),
    #[prost(message, tag = "9")]
    Spent(SpentRecord),
}

/// Use of models by a principal in a day; by all together, if it has no name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SpentRecord {
    #[prost(uint64, tag = "1")]
    pub(super) day: u64,
    #[prost(string, tag = "2")]
    pub(super) principal: String,
    #[prost(uint64, tag = "3")]
    pub(super) tokens: u64,
    #[prost(uint64, tag = "4")]
    pub(super) cost_micros: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskList {
    #[prost(message, repeated, tag = "1")]
    pub(super) tasks: Vec<TaskRecord>,
}

/// A log entry that leads to the same state.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HappenedRecord {
    #[prost(int64, tag = "1")]
    pub(super) time_us: i64,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) entry: Vec<u8>,
    /// Of a registration: the principal that the agent belongs to.
    #[prost(string, tag = "3")]
    pub(super) principal: String,
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
    /// The event itself, if the log may no longer have its record.
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
    /// Written by earlier releases.
    #[prost(message, optional, tag = "9")]
    pub(super) made_by_name: Option<SeenRecord>,
    #[prost(bytes = "vec", tag = "10")]
    pub(super) made_by: Vec<u8>,
}

impl From<tasks::Saved> for TaskRecord {
    fn from(saved: tasks::Saved) -> Self {
        let mut made_by = Vec::new();
        if let Some((publish, seen)) = saved.made_by {
            seen::pack(publish, &seen, &mut made_by);
        }
        Self {
            task: Some(saved.task),
            requester: saved.requester.to_string(),
            assignee: saved.assignee.map(|a| a.to_string()),
            task_type: saved.task_type,
            deadline_ns: saved.deadline.map(nanos),
            bytes: saved.bytes as u64,
            ended_us: saved.ended_at.map(micros),
            changed: saved.changed,
            made_by_name: None,
            made_by,
        }
    }
}

impl TaskRecord {
    pub(super) fn read(self, secret: Secret) -> Result<tasks::Saved, String> {
        let made_by = match self.made_by_name {
            Some(named) => {
                let publish = named.fingerprint(secret);
                Some((publish, named.seen()?))
            }
            None if self.made_by.is_empty() => None,
            None => Some(seen::unpack(&mut &*self.made_by).map_err(|e| e.to_string())?),
        };
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
            made_by,
        })
    }
}
