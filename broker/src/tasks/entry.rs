//! A live task.

use std::time::{Duration, SystemTime};

use agenthub_proto::{
    a2a::{Task, TaskState, TaskStatus},
    agenthub::{TaskExtent, TaskStatusUpdateEvent},
    json,
};
use prost::Message as _;

use super::{known::Content, states::Class, status_order::Nanos};
use crate::{
    behalf::Behalf,
    dedupe::{Fingerprint, PublishOutcome},
    id::{AgentId, TaskId},
    log::Position,
};

/// The publish that created a task.
pub(crate) type MadeBy = (Fingerprint, PublishOutcome);

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(super) body: Body,
    pub(super) parties: (AgentId, Option<AgentId>),
    pub(super) task_type: String,
    /// The parent task.
    pub(super) parent: Option<TaskId>,
    /// On whose behalf it was asked for, if known.
    pub(super) behalf: Option<Box<Behalf>>,
    pub(super) deadline: Option<SystemTime>,
    pub(super) ended_at: Option<SystemTime>,
    /// Time of its status.
    pub(super) status_at: Nanos,
    /// Extent of its result.
    pub(super) extent: TaskExtent,
    /// Kept as long as the task.
    pub(super) made_by: Option<MadeBy>,
    /// Bytes of its history and artifacts.
    pub(super) bytes: usize,
    /// Number of its last change, counted over all tasks.
    pub(super) changed: u64,
    /// Position of that in the log; 0 if it was there before the start of the process.
    pub(super) changed_at: Position,
}

/// The task itself. An ended one takes a tenth of the memory when encoded.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Open(Box<Task>),
    Ended(Ended),
}

/// An ended task, with the frequently needed fields.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) context: Box<str>,
    pub(super) state: TaskState,
    /// The encoded [`Task`].
    pub(super) encoded: Box<[u8]>,
}

/// The parent with this id, if the id is not empty.
pub(super) fn parent(id: &str) -> Option<TaskId> {
    (!id.is_empty()).then(|| id.into())
}

/// The behalf that the metadata of a task tell.
pub(super) fn behalf(task: &Task) -> Option<Box<Behalf>> {
    known(Behalf {
        principal: task.on_behalf_of().to_owned(),
        chain: task.chain(),
    })
}

/// The behalf, if anything is known of it.
pub(super) fn known(behalf: Behalf) -> Option<Box<Behalf>> {
    (behalf != Behalf::default()).then(|| Box::new(behalf))
}

impl Entry {
    pub(super) fn state(&self) -> TaskState {
        match &self.body {
            Body::Open(task) => task.state(),
            Body::Ended(ended) => ended.state,
        }
    }

    pub(super) fn class(&self) -> Class {
        Class::of(self.state(), self.extent)
    }

    pub(super) fn context(&self) -> &str {
        match &self.body {
            Body::Open(task) => &task.context_id,
            Body::Ended(ended) => &ended.context,
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.state().is_terminal()
    }

    pub(super) fn content(&self) -> Content {
        match &self.body {
            Body::Open(task) => Content::Task(task.clone()),
            Body::Ended(ended) => Content::Encoded(ended.encoded.clone()),
        }
    }

    /// The task, for a change. Decodes an encoded one.
    pub(super) fn task_mut(&mut self) -> &mut Task {
        if let Body::Ended(ended) = &self.body {
            let task = Task::decode(&*ended.encoded).expect("it was encoded here");
            self.body = Body::Open(Box::new(task));
        }
        match &mut self.body {
            Body::Open(task) => task,
            Body::Ended(_) => unreachable!("it was decoded above"),
        }
    }

    /// Encodes an ended task.
    pub(super) fn encode(&mut self) {
        if let Body::Open(task) = &mut self.body {
            self.body = Body::Ended(Ended {
                encoded: task.encode_to_vec().into(),
                state: task.state(),
                context: std::mem::take(&mut task.context_id).into(),
            });
        }
    }

    /// Its bytes for the limit on all tasks.
    pub(super) fn weight(&self) -> usize {
        /// Overhead of ids and indexes.
        const OVERHEAD: usize = 512;
        OVERHEAD
            + match &self.body {
                Body::Open(task) => {
                    self.bytes + task.status.as_ref().map_or(0, TaskStatus::encoded_len)
                }
                Body::Ended(ended) => ended.encoded.len(),
            }
    }

    /// True if its assignee may still send after the end.
    pub(super) fn is_fresh(&self, now: SystemTime, late_artifacts: Duration) -> bool {
        self.ended_at
            .is_some_and(|at| now.duration_since(at).unwrap_or_default() <= late_artifacts)
    }

    /// Stores the usage and the model of its last status, for later queries.
    pub(super) fn note_usage(&mut self, last: &TaskStatusUpdateEvent) {
        /// Upper bound for a few numbers and the name of a model, in bytes.
        const LONGEST: usize = 256;
        for key in ["usage", "model"] {
            let told = last.metadata.as_ref().and_then(|m| m.fields.get(key));
            if let Some(told) = told.filter(|told| told.encoded_len() <= LONGEST) {
                let metadata = self.task_mut().metadata.get_or_insert_default();
                metadata.fields.insert(key.to_owned(), told.clone());
            }
        }
    }

    /// The principal who asked first; empty if nobody is known.
    pub(super) fn initiator(&self) -> &str {
        self.behalf.as_ref().map_or("", |behalf| &behalf.principal)
    }

    /// Shows on whose behalf it was asked for.
    pub(super) fn show_behalf(&mut self) {
        let Some(behalf) = self.behalf.clone() else {
            return;
        };
        self.set_metadata("on_behalf_of", &behalf.principal);
        if !behalf.chain.is_empty() {
            let metadata = self.task_mut().metadata.get_or_insert_default();
            let chain = json::to_value(&behalf.chain.into());
            metadata.fields.insert("chain".to_owned(), chain);
        }
    }

    pub(super) fn set_metadata(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let metadata = self.task_mut().metadata.get_or_insert_default();
        metadata
            .fields
            .insert(key.to_owned(), json::to_value(&value.into()));
    }
}
