//! Listings of an agent's tasks by the time of their status, latest first. A task that changes while pages are read moves
//! to the front, and takes none of the others from their pages.

use std::cmp::Reverse;

use agenthub_proto::a2a::TaskState;

use super::{
    Tasks,
    known::Known,
    listing::{LOOKS, Page, count_of, merge, page_of},
    status_order::{Nanos, Place},
};
use crate::{id::AgentId, steps::step};

/// Filters of a listing. All given ones must match.
#[derive(Clone, Debug)]
pub(crate) struct StatusQuery {
    /// The assignee.
    pub(crate) agent: AgentId,
    pub(crate) context: Option<String>,
    pub(crate) states: Vec<TaskState>,
    /// Only tasks whose status is of this time or later.
    pub(crate) since: Option<Nanos>,
    /// Only tasks after this place: the token of the previous page.
    pub(crate) before: Option<Place>,
    pub(crate) limit: usize,
}

impl StatusQuery {
    fn takes(&self, task: Known<'_>) -> bool {
        self.context.as_ref().is_none_or(|c| task.context() == *c)
            && (self.states.is_empty() || self.states.contains(&task.state()))
    }

    /// True if a place is of the page, or of one that follows it.
    fn reaches(&self, place: Place) -> bool {
        self.since.is_none_or(|since| place.at >= since)
    }
}

impl Tasks {
    /// Matching tasks, latest status first.
    pub(crate) fn list_by_status(&self, query: &StatusQuery) -> Page<Place> {
        let takes = |task: Known<'_>| query.takes(task);
        match self.of_context(query) {
            Some(tasks) => page_of(tasks.into_iter(), query.limit, takes),
            None => page_of(self.by_status(query), query.limit, takes),
        }
    }

    /// The number of tasks that match after the query's place, as far as the walk gets under one hold of the lock, and
    /// where it goes on. Without a context and a time it visits no task.
    pub(crate) fn count_by_status(&self, query: &StatusQuery) -> (u32, Option<Place>) {
        if query.context.is_none() && query.since.is_none() && query.before.is_none() {
            let live = self.order.count(&query.agent, &query.states);
            let settled = self.settled.order().count(&query.agent, &query.states);
            return (live + settled, None);
        }
        let takes = |task: Known<'_>| query.takes(task);
        match self.of_context(query) {
            Some(tasks) => count_of(tasks.into_iter(), takes),
            None => count_of(self.by_status(query), takes),
        }
    }

    /// The agent's tasks after the query's place, latest status first.
    fn by_status<'a>(
        &'a self,
        query: &'a StatusQuery,
    ) -> impl Iterator<Item = (Place, Known<'a>)> + 'a {
        let live = self.order.before(&query.agent, query.before);
        let live = live.filter_map(|(place, id)| Some((place, Known::Live(self.live.get(id)?))));
        let settled = self.settled.order().before(&query.agent, query.before);
        let settled =
            settled.filter_map(|(place, n)| Some((place, Known::Settled(self.settled.row(*n)?))));
        merge(live, settled, |(place, _)| Reverse(*place))
            .take_while(|(place, _)| query.reaches(*place))
    }

    /// The same of the query's context, if it has few tasks, whatever number the agent has.
    fn of_context<'a>(&'a self, query: &'a StatusQuery) -> Option<Vec<(Place, Known<'a>)>> {
        let context = query.context.as_deref()?;
        let mut found = Vec::new();
        let mut looks = 0;
        for row in self.settled.walk(None, Some(context), u64::MAX) {
            looks += 1;
            if looks > LOOKS {
                return None;
            }
            step();
            // The walk may visit others on its way.
            if row.assignee.as_ref() == Some(&query.agent) && row.context() == context {
                found.push((row.place(), Known::Settled(row)));
            }
        }
        for (place, id) in self.order.before(&query.agent, None) {
            looks += 1;
            if looks > LOOKS {
                return None;
            }
            step();
            found.extend(self.live.get(id).map(|entry| (place, Known::Live(entry))));
        }
        found.retain(|(place, _)| {
            query.reaches(*place) && query.before.is_none_or(|before| *place < before)
        });
        found.sort_by_key(|(place, _)| Reverse(*place));
        Some(found)
    }
}
