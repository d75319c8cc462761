//! Listings of tasks, latest change first. The number of tasks visited per acquisition of the lock is bounded: a
//! listing with few matches continues with a token.

use std::cmp::Reverse;

use agenthub_proto::a2a::TaskState;

use super::{
    Tasks,
    known::{Content, Known},
};
use crate::{id::AgentId, limits::PAGE_BYTES, steps::step};

/// Tasks visited per page.
pub(super) const LOOKS: usize = 4_096;

/// Filters of a listing. All given ones must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(crate) agent: Option<AgentId>,
    /// The agent is the assignee; otherwise it may be the requester as well.
    pub(crate) assigned: bool,
    pub(crate) context: Option<String>,
    pub(crate) states: Vec<TaskState>,
    /// Only tasks changed before this: the token of the previous page.
    pub(crate) before: Option<u64>,
    pub(crate) limit: usize,
}

/// A page of a listing in an order of which tokens are places.
#[derive(Clone, Debug)]
pub(crate) struct Page<Token = u64> {
    pub(crate) tasks: Vec<Content>,
    /// Token to continue; `None` at the end.
    pub(crate) next: Option<Token>,
    /// True if no more fit into one answer; false if the limit of visited tasks was reached.
    pub(crate) is_full: bool,
}

impl Query {
    fn takes(&self, task: Known<'_>) -> bool {
        let is_party =
            |a: &AgentId| task.assignee() == Some(a) || !self.assigned && task.requester() == a;
        self.agent.as_ref().is_none_or(is_party)
            && self.context.as_ref().is_none_or(|c| task.context() == *c)
            && (self.states.is_empty() || self.states.contains(&task.state()))
    }
}

impl Tasks {
    /// Matching tasks, latest change first.
    pub(crate) fn list(&self, query: &Query) -> Page {
        page_of(self.by_change_from(query), query.limit, |t| query.takes(t))
    }

    /// The number of tasks that match, as far as the walk gets under one hold of the lock, and where it goes on.
    pub(crate) fn count(&self, query: &Query) -> (u32, Option<u64>) {
        count_of(self.by_change_from(query), |t| query.takes(t))
    }

    /// Tasks that changed before the query's limit, latest first. Skips most that cannot match.
    fn by_change_from<'a>(
        &'a self,
        query: &'a Query,
    ) -> impl Iterator<Item = (u64, Known<'a>)> + 'a {
        let before = query.before.unwrap_or(u64::MAX);
        let live = self.by_change.range(..before).rev();
        let live =
            live.filter_map(|(changed, id)| Some((*changed, Known::Live(self.live.get(id)?))));
        let settled = self
            .settled
            .walk(query.agent.as_ref(), query.context.as_deref(), before)
            .map(|row| (row.changed, Known::Settled(row)));
        merge(live, settled, |(changed, _)| Reverse(*changed))
    }
}

/// The tasks of a walk that match, until the page is full or enough were visited.
pub(super) fn page_of<'a, Token: Copy>(
    walk: impl Iterator<Item = (Token, Known<'a>)>,
    limit: usize,
    takes: impl Fn(Known<'a>) -> bool,
) -> Page<Token> {
    let mut page = Page {
        tasks: Vec::new(),
        next: None,
        is_full: false,
    };
    let mut bytes = 0;
    let mut last = None;
    for (looks, (token, task)) in walk.enumerate() {
        if looks == LOOKS {
            page.next = last;
            return page;
        }
        step();
        if takes(task) {
            bytes += task.size();
            let is_full = bytes > PAGE_BYTES && !page.tasks.is_empty();
            if page.tasks.len() == limit || is_full {
                page.next = last;
                page.is_full = true;
                return page;
            }
            page.tasks.push(task.content());
        }
        last = Some(token);
    }
    page
}

/// The number of tasks of a walk that match, until enough were visited, and where it goes on.
pub(super) fn count_of<'a, Token>(
    walk: impl Iterator<Item = (Token, Known<'a>)>,
    takes: impl Fn(Known<'a>) -> bool,
) -> (u32, Option<Token>) {
    let (mut count, mut last) = (0, None);
    for (looks, (token, task)) in walk.enumerate() {
        if looks == LOOKS {
            return (count, last);
        }
        step();
        count += u32::from(takes(task));
        last = Some(token);
    }
    (count, None)
}

/// Merges two sorted iterators.
pub(super) fn merge<T, K: Ord>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(first), Some(second)) if key(first) > key(second) => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}
