//! Listings of an agent's tasks by the time of their status, latest first. A task that changes while pages are read moves
//! to the front, and takes none of the others from their pages.

use std::cmp::Reverse;

use agenthub_proto::a2a::TaskState;

use super::{
    Tasks,
    by_change::Of,
    known::Known,
    listing::{LOOKS, Page, count_of, merge, page_of},
    settled::Row,
    status_order::{Nanos, Place},
};
use crate::{id::AgentId, steps::step};

/// Filters of a listing. All given ones must match.
#[derive(Clone, Debug)]
pub(crate) struct StatusQuery {
    /// The assignee.
    pub(crate) agent: AgentId,
    pub(crate) context: Option<String>,
    /// Principal on whose behalf they were asked for.
    pub(crate) initiator: Option<String>,
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
            && self
                .initiator
                .as_ref()
                .is_none_or(|p| task.initiator() == *p)
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
        match self.of_few(query) {
            Some(tasks) => page_of(tasks.into_iter(), query.limit, takes),
            None => page_of(self.by_status(query), query.limit, takes),
        }
    }

    /// The number of tasks that match after the query's place, as far as the walk gets under one hold of the lock, and
    /// where it goes on. Without a context, an initiator and a time it visits no task.
    pub(crate) fn count_by_status(&self, query: &StatusQuery) -> (u32, Option<Place>) {
        let is_of_states = query.context.is_none()
            && query.initiator.is_none()
            && query.since.is_none()
            && query.before.is_none();
        if is_of_states {
            let live = self.order.count(&query.agent, &query.states);
            let settled = self.settled.order().count(&query.agent, &query.states);
            let count = u32::try_from(live + settled).unwrap_or(u32::MAX);
            return (count, None);
        }
        let takes = |task: Known<'_>| query.takes(task);
        match self.of_few(query) {
            Some(tasks) => count_of(tasks.into_iter(), takes),
            None => count_of(self.by_status(query), takes),
        }
    }

    /// The agent's tasks after the query's place, latest status first.
    fn by_status<'a>(
        &'a self,
        query: &'a StatusQuery,
    ) -> impl Iterator<Item = (Place, Known<'a>)> + 'a {
        let states = &query.states;
        let live = self.order.before(&query.agent, states, query.before);
        let live = live.filter_map(|(place, id)| Some((place, Known::Live(self.live.get(id)?))));
        let settled = self.settled.order();
        let settled = settled.before(&query.agent, states, query.before);
        let settled =
            settled.filter_map(|(place, n)| Some((place, Known::Settled(self.settled.row(*n)?))));
        merge(live, settled, |(place, _)| Reverse(*place))
            .take_while(|(place, _)| query.reaches(*place))
    }

    /// The same of the query's context or initiator, if it has few tasks, whatever number the agent has.
    fn of_few<'a>(&'a self, query: &'a StatusQuery) -> Option<Vec<(Place, Known<'a>)>> {
        let (of, settled): (Of<'_>, Box<dyn Iterator<Item = &Row>>) =
            match (&query.context, &query.initiator) {
                (Some(context), _) => (
                    Of::Context(context),
                    Box::new(self.settled.walk(None, Some(context), &[], u64::MAX)),
                ),
                (None, Some(principal)) => (
                    Of::Initiator(principal),
                    Box::new(
                        self.settled
                            .of_initiator(principal, &query.states, u64::MAX),
                    ),
                ),
                (None, None) => return None,
            };
        let live = self.by_change.before(of, (&[], &[]), u64::MAX);
        let live = live.filter_map(|(_, id)| Some((id, self.live.get(id)?)));
        let live = live.map(|(id, entry)| (Place::new(entry.status_at, id), Known::Live(entry)));
        let all = settled.map(|row| (row.place(), Known::Settled(row)));
        let mut found = Vec::new();
        for (looks, (place, task)) in all.chain(live).enumerate() {
            if looks == LOOKS {
                return None;
            }
            step();
            // The walks may visit others on their way.
            if task.assignee() == Some(&query.agent) && query.takes(task) {
                found.push((place, task));
            }
        }
        found.retain(|(place, _)| {
            query.reaches(*place) && query.before.is_none_or(|before| *place < before)
        });
        found.sort_by_key(|(place, _)| Reverse(*place));
        Some(found)
    }
}
