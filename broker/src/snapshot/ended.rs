//! Segments of ended tasks. They are written once, beside the snapshots, because an ended task does not change any
//! more. Each holds some tasks in the order of their last change, split into a head that a hub reads when it starts and
//! contents that it reads on demand.

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::TaskExtent,
};
use prost::Message;

use super::{
    moment::{micros, time},
    seen,
};
use crate::{
    log::Segment,
    steps::step,
    tasks::{Ended, Nanos},
};

/// Maximum bytes of contents per segment, unless one task alone is larger.
const BYTES: usize = 64 * 1024;

#[derive(Clone, PartialEq, Message)]
struct HeadsRecord {
    #[prost(message, repeated, tag = "1")]
    heads: Vec<HeadRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct HeadRecord {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    context: String,
    #[prost(string, tag = "3")]
    task_type: String,
    #[prost(string, tag = "4")]
    requester: String,
    #[prost(string, optional, tag = "5")]
    assignee: Option<String>,
    #[prost(int32, tag = "6")]
    state: i32,
    #[prost(uint32, tag = "7")]
    bytes: u32,
    #[prost(uint64, tag = "8")]
    changed: u64,
    #[prost(int64, tag = "9")]
    ended_us: i64,
    #[prost(uint32, tag = "10")]
    content_bytes: u32,
    #[prost(bytes = "vec", tag = "11")]
    made_by: Vec<u8>,
    /// Time of the status, in nanoseconds after `ended_us`.
    #[prost(sint64, tag = "12")]
    status_after_ns: i64,
    #[prost(string, tag = "13")]
    initiator: String,
    /// Extent of a result that is less than the whole; most have none.
    #[prost(int32, tag = "14")]
    extent: i32,
}

#[derive(Clone, PartialEq, Message)]
struct ContentsRecord {
    #[prost(message, repeated, tag = "1")]
    contents: Vec<ContentRecord>,
}

#[derive(Clone, PartialEq, Message)]
struct ContentRecord {
    #[prost(uint64, tag = "1")]
    changed: u64,
    /// The encoded task.
    #[prost(bytes = "vec", tag = "2")]
    task: Vec<u8>,
}

/// Passes tasks in segments to `each` until it returns an error. Tasks whose content is elsewhere are left out.
pub(crate) fn write<E>(
    tasks: impl IntoIterator<Item = Ended>,
    each: &mut impl FnMut(Segment) -> Result<(), E>,
) -> Result<(), E> {
    let mut heads = HeadsRecord::default();
    let mut contents = ContentsRecord::default();
    let mut bytes = 0;
    for ended in tasks {
        let Ok(content) = &ended.content else {
            continue;
        };
        step();
        bytes += content.len();
        contents.contents.push(ContentRecord {
            changed: ended.changed,
            task: content.to_vec(),
        });
        heads.heads.push(head(ended));
        if bytes >= BYTES {
            bytes = 0;
            each(segment(&mut heads, &mut contents))?;
        }
    }
    match heads.heads.is_empty() {
        true => Ok(()),
        false => each(segment(&mut heads, &mut contents)),
    }
}

fn segment(heads: &mut HeadsRecord, contents: &mut ContentsRecord) -> Segment {
    let (heads, contents) = (std::mem::take(heads), std::mem::take(contents));
    let changes = || heads.heads.iter().map(|head| head.changed);
    let bytes = |head: &HeadRecord| u64::from(head.content_bytes);
    Segment {
        first: changes().next().unwrap_or_default(),
        last: changes().next_back().unwrap_or_default(),
        tasks: heads.heads.len() as u64,
        bytes: heads.heads.iter().map(bytes).sum(),
        ended_us: heads
            .heads
            .iter()
            .map(|h| h.ended_us)
            .max()
            .unwrap_or_default(),
        heads: heads.encode_to_vec(),
        contents: contents.encode_to_vec(),
    }
}

fn head(ended: Ended) -> HeadRecord {
    let mut made_by = Vec::new();
    if let Some((publish, seen)) = ended.made_by {
        seen::pack(publish, &seen, &mut made_by);
    }
    HeadRecord {
        content_bytes: match &ended.content {
            Ok(content) => u32::try_from(content.len()).unwrap_or(u32::MAX),
            Err(bytes) => *bytes,
        },
        id: ended.id,
        context: ended.context,
        task_type: ended.task_type,
        initiator: ended.initiator,
        requester: ended.requester.to_string(),
        assignee: ended.assignee.map(|a| a.to_string()),
        state: ended.state.into(),
        bytes: ended.bytes,
        changed: ended.changed,
        extent: match ended.extent {
            less @ (TaskExtent::Part | TaskExtent::Nothing) => less.into(),
            TaskExtent::Whole | TaskExtent::Unspecified => 0,
        },
        ended_us: micros(ended.ended_at),
        status_after_ns: ended
            .status_at
            .0
            .wrapping_sub(nanos(micros(ended.ended_at))),
        made_by,
    }
}

fn nanos(us: i64) -> i64 {
    us.wrapping_mul(1_000)
}

/// Decodes the heads of a segment.
///
/// # Errors
///
/// The damage.
pub(crate) fn heads(bytes: &[u8]) -> Result<impl Iterator<Item = Result<Ended, String>>, String> {
    let record = HeadsRecord::decode(bytes).map_err(|e| e.to_string())?;
    Ok(record.heads.into_iter().map(|head| {
        Ok(Ended {
            state: TaskState::try_from(head.state).map_err(|e| e.to_string())?,
            id: head.id,
            context: head.context,
            task_type: head.task_type,
            initiator: head.initiator,
            requester: head.requester.into(),
            assignee: head.assignee.map(Into::into),
            bytes: head.bytes,
            changed: head.changed,
            extent: TaskExtent::try_from(head.extent).map_err(|e| e.to_string())?,
            ended_at: time(head.ended_us),
            status_at: Nanos(nanos(head.ended_us).wrapping_add(head.status_after_ns)),
            made_by: match head.made_by.is_empty() {
                true => None,
                false => Some(seen::unpack(&mut &*head.made_by).map_err(|e| e.to_string())?),
            },
            content: Err(head.content_bytes),
        })
    }))
}

/// Decodes some contents of a segment, by the numbers of their last changes.
///
/// # Errors
///
/// The damage.
pub(crate) fn contents(bytes: &[u8], wanted: &[u64]) -> Result<Vec<(u64, Task)>, String> {
    let record = ContentsRecord::decode(bytes).map_err(|e| e.to_string())?;
    let contents = record.contents.into_iter();
    contents
        .filter(|content| wanted.contains(&content.changed))
        .map(|content| {
            let task = Task::decode(&*content.task).map_err(|e| e.to_string())?;
            Ok((content.changed, task))
        })
        .collect()
}
