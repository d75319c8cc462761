//! Settled tasks: they have ended, and nothing is accepted for them any more. Ordered by their last change, which is
//! final. Each is one compact row; its content is dropped from memory once it is in a segment of the log.

mod index;
mod initiators;
mod walk;

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use agenthub_proto::{a2a::TaskState, agenthub::TaskExtent};

use self::{
    index::Index,
    initiators::Initiators,
    walk::{Before, NONE, slot},
};
use super::{
    entry::MadeBy,
    known::Content,
    rows::Rows,
    states::{Class, Counts, ENDED, RowsByState},
    status_order::{Nanos, Place, StatusOrder},
};
use crate::{id::AgentId, steps::step};

/// The settled tasks, see the module.
#[derive(Debug, Default)]
pub(super) struct Settled {
    rows: Rows<Row>,
    ids: Index,
    /// Last row of each agent in each state, and of each context; each row links to the ones before it.
    agents: HashMap<AgentId, [u64; ENDED.len()]>,
    contexts: Index,
    initiators: Initiators,
    /// Numbers of rows, by the time of their status.
    order: StatusOrder<u64>,
    by_state: RowsByState,
    /// Bytes of rows and contents in memory.
    bytes: usize,
    /// Bytes of all contents.
    content: u64,
    /// Contents of changes up to this are in the log.
    stored: u64,
    /// First row whose content may be in memory.
    loaded: u64,
    /// Change of the last added row.
    last: u64,
}

/// A settled task.
#[derive(Debug)]
pub(crate) struct Row {
    /// Id, context, type and initiator, concatenated.
    texts: Box<str>,
    /// Ends of id, context and type in them.
    ends: [u32; 3],
    pub(super) requester: AgentId,
    pub(super) assignee: Option<AgentId>,
    pub(super) state: TaskState,
    pub(super) extent: TaskExtent,
    /// Bytes of history and artifacts.
    pub(super) bytes: u32,
    pub(super) changed: u64,
    pub(super) ended_at: SystemTime,
    /// Time of its status.
    status_at: Nanos,
    pub(super) made_by: Option<MadeBy>,
    content: Stored,
    before: Before,
    /// True if another task has its id.
    is_replaced: bool,
}

#[derive(Debug)]
enum Stored {
    /// The encoded task.
    Here(Box<[u8]>),
    /// In the log, with this size.
    InLog(u32),
}

/// A settled task, unpacked from a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) task_type: String,
    /// Principal on whose behalf it was asked for; empty if nobody is known.
    pub(crate) initiator: String,
    pub(crate) requester: AgentId,
    pub(crate) assignee: Option<AgentId>,
    pub(crate) state: TaskState,
    pub(crate) bytes: u32,
    pub(crate) changed: u64,
    pub(crate) ended_at: SystemTime,
    /// Time of its status.
    pub(crate) status_at: Nanos,
    /// Extent of its result.
    pub(crate) extent: TaskExtent,
    pub(crate) made_by: Option<MadeBy>,
    /// The encoded task, or its size in the log.
    pub(crate) content: Result<Box<[u8]>, u32>,
}

impl Row {
    pub(super) fn id(&self) -> &str {
        &self.texts[..self.ends[0] as usize]
    }

    pub(super) fn context(&self) -> &str {
        &self.texts[self.ends[0] as usize..self.ends[1] as usize]
    }

    pub(super) fn task_type(&self) -> &str {
        &self.texts[self.ends[1] as usize..self.ends[2] as usize]
    }

    /// Principal on whose behalf it was asked for; empty if nobody is known.
    pub(super) fn initiator(&self) -> &str {
        &self.texts[self.ends[2] as usize..]
    }

    fn class(&self) -> Class {
        Class::of(self.state, self.extent)
    }

    pub(super) fn content(&self) -> Content {
        match &self.content {
            Stored::Here(bytes) => Content::Encoded(bytes.clone()),
            Stored::InLog(_) => Content::Stored(self.changed),
        }
    }

    pub(super) fn content_len(&self) -> usize {
        match &self.content {
            Stored::Here(bytes) => bytes.len(),
            Stored::InLog(len) => *len as usize,
        }
    }

    /// Its place among the tasks of its assignee.
    pub(super) fn place(&self) -> Place {
        Place::new(self.status_at, self.id())
    }

    /// Approximate memory.
    pub(super) fn weight(&self) -> usize {
        /// Of indexes.
        const OVERHEAD: usize = 112;
        let content = match &self.content {
            Stored::Here(bytes) => bytes.len(),
            Stored::InLog(_) => 0,
        };
        let initiator = match self.initiator() {
            "" => 0,
            _ => initiators::PLACE,
        };
        OVERHEAD + size_of::<Self>() + self.texts.len() + initiator + content
    }

    /// The unpacked row.
    fn ended(&self) -> Ended {
        Ended {
            id: self.id().to_owned(),
            context: self.context().to_owned(),
            task_type: self.task_type().to_owned(),
            initiator: self.initiator().to_owned(),
            requester: self.requester.clone(),
            assignee: self.assignee.clone(),
            state: self.state,
            bytes: self.bytes,
            changed: self.changed,
            ended_at: self.ended_at,
            status_at: self.status_at,
            extent: self.extent,
            made_by: self.made_by,
            content: match &self.content {
                Stored::Here(bytes) => Ok(bytes.clone()),
                Stored::InLog(len) => Err(*len),
            },
        }
    }
}

impl Settled {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of all contents, in memory or in the log.
    pub(super) fn content(&self) -> u64 {
        self.content
    }

    pub(super) fn get(&self, id: &str) -> Option<&Row> {
        let number = self.ids.get(id, |n| self.is_of(n, id))?;
        self.rows.get(number)
    }

    /// Adds a task whose last change is after all others.
    pub(super) fn push(&mut self, ended: Ended) {
        let number = self.rows.next();
        let Ended { id, context, .. } = &ended;
        let rows = &self.rows;
        let has_id = |n: u64| rows.get(n).is_some_and(|r| r.id() == id);
        let replaced = self.ids.set(id, number, has_id);
        let has_context = |n: u64| rows.get(n).is_some_and(|r| r.context() == context);
        let before = match context.is_empty() {
            true => None,
            false => self.contexts.set(context, number, has_context),
        };
        if let Some(replaced) = replaced {
            self.mark_replaced(replaced);
        }
        let (requester, of_requester) = self.last_of(&ended.requester, ended.state, number);
        let assignee = ended.assignee.as_ref().filter(|a| **a != requester);
        let other = assignee.map(|assignee| self.last_of(assignee, ended.state, number));
        let of_assignee = other
            .as_ref()
            .map_or_else(Default::default, |(_, before)| *before);
        let other = other.map(|(assignee, _)| assignee);
        let assignee = other.or_else(|| ended.assignee.is_some().then(|| requester.clone()));
        let len = |text: &str| u32::try_from(text.len()).expect("ids are bounded");
        let row = Row {
            ends: [
                len(id),
                len(id) + len(context),
                len(id) + len(context) + len(&ended.task_type),
            ],
            texts: [id, context, &*ended.task_type, &*ended.initiator]
                .concat()
                .into(),
            requester,
            assignee,
            state: ended.state,
            extent: ended.extent,
            bytes: ended.bytes,
            changed: ended.changed,
            ended_at: ended.ended_at,
            status_at: ended.status_at,
            made_by: ended.made_by,
            content: match ended.content {
                Ok(bytes) => Stored::Here(bytes),
                Err(len) => Stored::InLog(len),
            },
            before: Before {
                of_parties: [of_requester, of_assignee],
                of_context: before.unwrap_or(NONE),
            },
            is_replaced: false,
        };
        self.bytes += row.weight();
        self.content += row.content_len() as u64;
        self.last = row.changed;
        if let Some(assignee) = &row.assignee {
            self.order.insert(assignee, row.place(), row.state, number);
        }
        self.by_state.push(row.class(), number);
        self.initiators.insert(row.initiator(), row.state, number);
        self.rows.push(row);
    }

    /// The shared name of an agent, and how far before this row its last ones are.
    fn last_of(
        &mut self,
        agent: &AgentId,
        state: TaskState,
        number: u64,
    ) -> (AgentId, walk::Distances) {
        if !self.agents.contains_key(agent) {
            self.agents.insert(agent.clone(), [NONE; ENDED.len()]);
        }
        let distances = self.agents.get_mut(agent).map(|last| {
            let distances = last.map(|last| walk::distance(last, number));
            last[slot(state)] = number;
            distances
        });
        let name = self.agents.get_key_value(agent);
        (
            name.map_or_else(|| agent.clone(), |(name, _)| name.clone()),
            distances.unwrap_or_default(),
        )
    }

    /// Drops the task with the oldest last change.
    pub(super) fn pop_front(&mut self) -> bool {
        let number = self.rows.first();
        let Some(row) = self.rows.pop_front() else {
            return false;
        };
        self.bytes -= row.weight();
        self.content -= row.content_len() as u64;
        self.ids.remove(row.id(), number);
        self.contexts.remove(row.context(), number);
        self.by_state.pop_front(row.class());
        self.initiators.remove(row.initiator(), row.state, number);
        if !row.is_replaced {
            self.by_state.uncount(row.class());
        }
        if let (Some(assignee), false) = (&row.assignee, row.is_replaced) {
            self.order.remove(assignee, row.place(), row.state);
        }
        for agent in [Some(&row.requester), row.assignee.as_ref()]
            .into_iter()
            .flatten()
        {
            let is_last = |last: &u64| *last == NONE || *last <= number;
            if self
                .agents
                .get(agent)
                .is_some_and(|last| last.iter().all(is_last))
            {
                self.agents.remove(agent);
            }
        }
        true
    }

    /// Drops a task whose id another one has taken.
    pub(super) fn replace(&mut self, id: &str) {
        if let Some(number) = self.ids.get(id, |n| self.is_of(n, id)) {
            self.ids.remove(id, number);
            self.mark_replaced(number);
        }
    }

    fn mark_replaced(&mut self, number: u64) {
        let Some(row) = self.rows.get_mut(number) else {
            return;
        };
        row.is_replaced = true;
        self.by_state.uncount(row.class());
        if let Some(assignee) = &row.assignee {
            self.order.remove(assignee, row.place(), row.state);
        }
    }

    /// Numbers of rows, by the time of their status.
    pub(super) fn order(&self) -> &StatusOrder<u64> {
        &self.order
    }

    /// Number of tasks of each class.
    pub(super) fn states(&self) -> &Counts {
        self.by_state.counts()
    }

    /// Tasks of these [classes](Class::chosen) that changed before that, latest first.
    pub(super) fn in_states<'a>(
        &'a self,
        states: &[TaskState],
        extents: &[TaskExtent],
        before: u64,
    ) -> impl Iterator<Item = &'a Row> + use<'a> {
        let end = self.rows.partition_point(|row| row.changed < before);
        let rows = self.by_state.before(states, extents, end);
        let rows = rows.filter_map(|number| self.rows.get(number));
        rows.filter(|row| !row.is_replaced)
    }

    /// Tasks in these states, or in any if there are none, that were asked for on behalf of a principal and changed before that, latest first.
    pub(super) fn of_initiator<'a>(
        &'a self,
        principal: &str,
        states: &[TaskState],
        before: u64,
    ) -> impl Iterator<Item = &'a Row> + use<'a> {
        let end = self.rows.partition_point(|row| row.changed < before);
        let rows = self.initiators.before(principal, states, end);
        let rows = rows.filter_map(|number| self.rows.get(number));
        rows.filter(|row| !row.is_replaced)
    }

    /// The row with this number.
    pub(super) fn row(&self, number: u64) -> Option<&Row> {
        self.rows.get(number)
    }

    /// True if the oldest one ended longer ago than `age`.
    pub(super) fn is_old(&self, age: Duration, now: SystemTime) -> bool {
        let oldest = self.rows.get(self.rows.first());
        let ago = oldest.and_then(|row| now.duration_since(row.ended_at).ok());
        ago.is_some_and(|ago| ago > age)
    }

    /// Last change of the last added task; 0 if there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The change up to which contents are in the log.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// Sets the change up to which contents are in the log.
    pub(super) fn set_stored(&mut self, changed: u64) {
        self.stored = self.stored.max(changed);
    }

    /// Drops at most `limit` contents that the log has.
    pub(super) fn unload(&mut self, limit: usize) {
        self.loaded = self.loaded.max(self.rows.first());
        for _ in 0..limit {
            let stored = self.stored;
            let Some(row) = self.rows.get_mut(self.loaded) else {
                return;
            };
            if row.changed > stored {
                return;
            }
            step();
            self.loaded += 1;
            self.bytes -= row.weight();
            if let Ok(len) = u32::try_from(row.content_len()) {
                row.content = Stored::InLog(len);
            }
            self.bytes += row.weight();
        }
    }

    /// All tasks, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Ended> {
        let numbers = self.rows.first()..self.rows.next();
        let rows = numbers.filter_map(|n| self.rows.get(n));
        rows.filter(|row| !row.is_replaced).map(Row::ended)
    }

    fn is_of(&self, number: u64, id: &str) -> bool {
        self.rows.get(number).is_some_and(|row| row.id() == id)
    }
}
