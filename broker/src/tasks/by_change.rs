//! Live tasks by their last change: those of a state and an extent, and of them those of an agent, a context or a principal. A walk visits no others.

use std::{cmp::Reverse, collections::BTreeMap, hash::BuildHasher};

use agenthub_proto::{a2a::TaskState, agenthub::TaskExtent};

use super::{
    entry::Entry,
    latest::latest,
    states::{CLASSES, Class, ENDED, index},
};
use crate::{
    id::{AgentId, TaskId},
    metrics::STATES,
    table::Keyed,
};

/// The tasks, see the module.
#[derive(Debug, Default)]
pub(super) struct ByChange {
    classes: [BTreeMap<u64, TaskId>; CLASSES],
    /// Tasks of an agent, a context or a principal in a class, under a hash of these, which others may have as well.
    groups: BTreeMap<(u64, u64), TaskId>,
    hasher: Keyed,
}

/// Tasks that a walk visits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of<'a> {
    All,
    /// Requester or assignee.
    Agent(&'a AgentId),
    Context(&'a str),
    /// Principal on whose behalf they were asked for.
    Initiator(&'a str),
}

impl ByChange {
    /// Adds a task, under the number of its last change.
    pub(super) fn insert(&mut self, id: &TaskId, entry: &Entry) {
        let changed = entry.changed;
        for group in self.groups_of(entry).into_iter().flatten() {
            self.groups.insert((group, changed), id.clone());
        }
        self.classes[entry.class().0].insert(changed, id.clone());
    }

    /// Removes a task, before its state or its last change is another one.
    pub(super) fn remove(&mut self, entry: &Entry) {
        let changed = entry.changed;
        for group in self.groups_of(entry).into_iter().flatten() {
            self.groups.remove(&(group, changed));
        }
        self.classes[entry.class().0].remove(&changed);
    }

    /// Hashes of the requester, the assignee, the context and the initiator, each with the class.
    fn groups_of(&self, entry: &Entry) -> [Option<u64>; 4] {
        let class = entry.class();
        let (requester, assignee) = &entry.parties;
        let context = Some(entry.context()).filter(|context| !context.is_empty());
        let initiator = Some(entry.initiator()).filter(|principal| !principal.is_empty());
        [
            Some(self.group(Of::Agent(requester), class)),
            assignee
                .as_ref()
                .map(|agent| self.group(Of::Agent(agent), class)),
            context.map(|context| self.group(Of::Context(context), class)),
            initiator.map(|principal| self.group(Of::Initiator(principal), class)),
        ]
    }

    fn group(&self, of: Of<'_>, class: Class) -> u64 {
        let (kind, name) = match of {
            Of::All => (0_u8, ""),
            Of::Agent(agent) => (1, &**agent),
            Of::Context(context) => (2, context),
            Of::Initiator(principal) => (3, principal),
        };
        self.hasher.hash_one((kind, class.0, name))
    }

    /// Tasks of these [classes](Class::chosen) that changed before that, latest first. Few of others are among them.
    pub(super) fn before<'a>(
        &'a self,
        of: Of<'_>,
        (states, extents): (&[TaskState], &[TaskExtent]),
        before: u64,
    ) -> impl Iterator<Item = (u64, &'a TaskId)> + use<'a> {
        let walks = Class::chosen(states, extents).map(
            |class| -> Box<dyn Iterator<Item = (u64, &TaskId)>> {
                match of {
                    Of::All => {
                        let walk = self.classes[class.0].range(..before).rev();
                        Box::new(walk.map(|(changed, id)| (*changed, id)))
                    }
                    of => {
                        let group = self.group(of, class);
                        let walk = self.groups.range((group, 0)..(group, before)).rev();
                        Box::new(walk.map(|((_, changed), id)| (*changed, id)))
                    }
                }
            },
        );
        latest(walks.collect::<Vec<_>>())
    }

    /// All tasks, the one that changed first before all others.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = &TaskId> {
        let walks = self.classes.iter().map(|tasks| {
            let walk = tasks.iter();
            walk.map(|(changed, id)| (Reverse(*changed), id))
        });
        latest(walks).map(|(_, id)| id)
    }

    /// The ended task that changed before all others.
    pub(super) fn first_ended(&self) -> Option<(u64, &TaskId)> {
        let firsts = Class::chosen(&ENDED, &[]).filter_map(|class| {
            let (changed, id) = self.classes[class.0].first_key_value()?;
            Some((*changed, id))
        });
        firsts.min_by_key(|(changed, _)| *changed)
    }

    /// Number of tasks of these [classes](Class::chosen).
    pub(super) fn count(&self, states: &[TaskState], extents: &[TaskExtent]) -> usize {
        let classes = Class::chosen(states, extents);
        classes.map(|class| self.classes[class.0].len()).sum()
    }

    /// Number of tasks that have ended.
    pub(super) fn ended(&self) -> usize {
        self.count(&ENDED, &[])
    }

    /// Number of open tasks in each state.
    pub(super) fn open(&self) -> [u32; STATES] {
        let mut counts = [0; STATES];
        // Behind the states are classes of ended tasks alone.
        for (count, tasks) in counts.iter_mut().zip(&self.classes) {
            *count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        }
        for state in ENDED {
            counts[index(state)] = 0;
        }
        counts
    }
}
