//! Walks over the settled tasks of an agent or a context, by the links of their rows.

use std::num::NonZeroU32;

use agenthub_proto::a2a::TaskState;

use super::{super::states::ENDED, Row, Settled};
use crate::id::AgentId;

/// No row.
pub(super) const NONE: u64 = u64::MAX;

/// Links to the rows before a row.
#[derive(Debug)]
pub(super) struct Before {
    /// Distances for its requester, and for its assignee.
    pub(super) of_parties: [Distances; 2],
    /// Previous row of its context.
    pub(super) of_context: u64,
}

/// Distances in rows, back to the last row of an agent in each state of [`ENDED`].
pub(super) type Distances = [Option<NonZeroU32>; ENDED.len()];

/// Place of a state in [`Distances`].
pub(super) fn slot(state: TaskState) -> usize {
    ENDED.iter().position(|ended| *ended == state).unwrap_or(0)
}

/// Distance from a row back to an earlier one; `None` if there is none. Fewer than 2^32 rows are kept.
pub(super) fn distance(row: u64, from: u64) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(from.checked_sub(row)?).ok()?)
}

impl Settled {
    /// Tasks that changed before that, latest first: of an agent those in these states, or in any if there are none. Skips others, or most of
    /// them where a walk begins elsewhere than at the end of another.
    pub(in super::super) fn walk<'a>(
        &'a self,
        agent: Option<&'a AgentId>,
        context: Option<&'a str>,
        states: &[TaskState],
        before: u64,
    ) -> Walk<'a> {
        let chosen = ENDED.map(|state| states.is_empty() || states.contains(&state));
        let last = match (context, agent) {
            (Some(context), _) => self.contexts.get(context, |n| {
                self.rows.get(n).is_some_and(|r| r.context() == context)
            }),
            (None, Some(agent)) => self.agents.get(agent).and_then(|last| {
                let last = last.iter().zip(chosen);
                let last = last.filter(|(last, is_chosen)| *is_chosen && **last != NONE);
                last.map(|(last, _)| *last).max()
            }),
            (None, None) => self.rows.next().checked_sub(1),
        };
        let end = self.rows.partition_point(|row| row.changed < before);
        let mut walk = Walk {
            settled: self,
            agent,
            context,
            chosen,
            next: last,
            later: None,
        };
        if last.is_none_or(|last| last < end) {
            return walk;
        }
        // Most pages begin at the last task of the previous one, whose links lead on.
        let is_at = |row: &&Row| row.changed == before;
        let link = self.rows.get(end).filter(is_at);
        match link.and_then(|row| walk.link(end, row)) {
            Some(link) => walk.next = Some(link),
            None => {
                walk.next = end.checked_sub(1);
                walk.later = last.filter(|_| agent.is_some() || context.is_some());
            }
        }
        walk
    }
}

/// Iterator of [`Settled::walk`].
#[derive(Debug)]
pub(in super::super) struct Walk<'a> {
    settled: &'a Settled,
    agent: Option<&'a AgentId>,
    context: Option<&'a str>,
    /// States of [`ENDED`] that are wanted.
    chosen: [bool; ENDED.len()],
    next: Option<u64>,
    /// A row of the agent or context behind the beginning of the walk, whose links are followed until they are before it, if it began at a row of
    /// others.
    later: Option<u64>,
}

impl Walk<'_> {
    /// The row of the agent or context before this one; `None` for a row of others.
    fn link(&self, number: u64, row: &Row) -> Option<u64> {
        let Before {
            of_parties: [of_requester, of_assignee],
            of_context,
        } = &row.before;
        match (self.context, self.agent) {
            (Some(wanted), _) => (row.context() == wanted).then_some(*of_context),
            (None, Some(wanted)) if row.requester == *wanted => {
                Some(self.nearest(number, of_requester))
            }
            (None, Some(wanted)) => {
                let is_its = row.assignee.as_ref() == Some(wanted);
                is_its.then(|| self.nearest(number, of_assignee))
            }
            (None, None) => None,
        }
    }

    /// The nearest row before this one in a wanted state.
    fn nearest(&self, number: u64, distances: &Distances) -> u64 {
        let wanted = distances.iter().zip(self.chosen);
        let wanted = wanted.filter_map(|(distance, is_chosen)| distance.filter(|_| is_chosen));
        let nearest = wanted
            .min()
            .and_then(|d| number.checked_sub(d.get().into()));
        nearest.unwrap_or(NONE)
    }

    /// The next row, behind one of others: the row before it, or an earlier one if the links of a later row lead there.
    fn behind_others(&mut self, number: u64) -> Option<u64> {
        let Some(later) = self.later else {
            return number.checked_sub(1);
        };
        let row = self.settled.rows.get(later)?;
        let link = self.link(later, row)?;
        // None is left.
        self.settled.rows.get(link)?;
        let is_before = link < number;
        self.later = Some(link).filter(|_| !is_before);
        match is_before {
            true => Some(link),
            false => number.checked_sub(1),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = &'a Row;

    fn next(&mut self) -> Option<&'a Row> {
        loop {
            let number = self.next?;
            let row = self.settled.rows.get(number)?;
            self.next = match self.link(number, row) {
                Some(link) => {
                    self.later = None;
                    Some(link)
                }
                None => self.behind_others(number),
            };
            if !row.is_replaced {
                return Some(row);
            }
        }
    }
}
