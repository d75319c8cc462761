//! Tasks by state, and completed ones by the extent of their result as well: their numbers, and the settled rows of each such class in order.

use std::num::NonZeroU64;

use agenthub_proto::{a2a::TaskState, agenthub::TaskExtent};

use super::{latest::latest, rows::Rows};
use crate::metrics::STATES;

/// States of tasks that have ended.
pub(super) const ENDED: [TaskState; 4] = [
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Cancelled,
    TaskState::Rejected,
];

/// Classes of tasks: one for each state, that of completed ones for whole results, and behind them those for parts and for nothing.
pub(super) const CLASSES: usize = STATES + 2;

/// Class of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(pub(super) usize);

impl Class {
    pub(super) fn of(state: TaskState, extent: TaskExtent) -> Self {
        Self(match (state, extent) {
            (TaskState::Completed, TaskExtent::Part) => STATES,
            (TaskState::Completed, TaskExtent::Nothing) => STATES + 1,
            (state, _) => index(state),
        })
    }

    /// The classes of these states, or of all if there are none; of completed tasks only those of these extents, or all if there are none.
    pub(super) fn chosen(
        states: &[TaskState],
        extents: &[TaskExtent],
    ) -> impl Iterator<Item = Self> + use<> {
        let mut classes = [false; CLASSES];
        for state in chosen(states) {
            classes[state] = true;
        }
        let is_completed = std::mem::take(&mut classes[index(TaskState::Completed)]);
        for extent in [TaskExtent::Whole, TaskExtent::Part, TaskExtent::Nothing] {
            let is_chosen = is_completed && (extents.is_empty() || extents.contains(&extent));
            classes[Self::of(TaskState::Completed, extent).0] = is_chosen;
        }
        (0..CLASSES).filter(move |n| classes[*n]).map(Self)
    }
}

/// True if a task of this state and extent is among those of these extents.
pub(super) fn is_of(extents: &[TaskExtent], state: TaskState, extent: TaskExtent) -> bool {
    let extent = match extent {
        TaskExtent::Unspecified => TaskExtent::Whole,
        extent => extent,
    };
    state != TaskState::Completed || extents.is_empty() || extents.contains(&extent)
}

/// Number of tasks of each class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts([u32; CLASSES]);

impl Counts {
    pub(super) fn add(&mut self, class: Class) {
        self.0[class.0] += 1;
    }

    pub(super) fn remove(&mut self, class: Class) {
        let count = &mut self.0[class.0];
        *count = count.saturating_sub(1);
    }

    /// Number of tasks of these [classes](Class::chosen).
    pub(super) fn of(&self, states: &[TaskState], extents: &[TaskExtent]) -> u32 {
        Class::chosen(states, extents)
            .map(|class| self.0[class.0])
            .sum()
    }
}

/// Numbers of settled rows, ascending, by class.
#[derive(Debug, Default)]
pub(super) struct RowsByState {
    rows: [Rows<NonZeroU64>; CLASSES],
    counts: Counts,
}

impl RowsByState {
    /// Adds a row behind all others.
    pub(super) fn push(&mut self, class: Class, row: u64) {
        // One more, so that none is 0.
        if let Some(row) = NonZeroU64::new(row + 1) {
            self.rows[class.0].push(row);
            self.counts.add(class);
        }
    }

    /// Counts a row no longer, whose task's id another one has taken.
    pub(super) fn uncount(&mut self, class: Class) {
        self.counts.remove(class);
    }

    /// Drops the first row of all, which is of this class.
    pub(super) fn pop_front(&mut self, class: Class) {
        self.rows[class.0].pop_front();
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Rows of these [classes](Class::chosen) before a number, the last first.
    pub(super) fn before<'a>(
        &'a self,
        states: &[TaskState],
        extents: &[TaskExtent],
        number: u64,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let walks = Class::chosen(states, extents).map(move |class| {
            let rows = &self.rows[class.0];
            let end = rows.partition_point(|row| row.get() <= number);
            let walk = (rows.first()..end).rev().filter_map(|n| rows.get(n));
            walk.map(|row| (row.get() - 1, ()))
        });
        latest(walks).map(|(row, ())| row)
    }
}

/// Indexes of these states, or of all if there are none.
pub(super) fn chosen(states: &[TaskState]) -> impl Iterator<Item = usize> + use<> {
    let mut chosen = [states.is_empty(); STATES];
    for state in states {
        chosen[index(*state)] = true;
    }
    (0..STATES).filter(move |n| chosen[*n])
}

/// Place of a state in an array of all.
pub(super) fn index(state: TaskState) -> usize {
    usize::try_from(i32::from(state)).unwrap_or_default() % STATES
}
