//! Listings of tasks, latest change first. The number of tasks visited per acquisition of the lock is bounded: a
//! listing with few matches continues with a token.

use std::{cmp::Reverse, collections::BTreeSet};

use agenthub_proto::{a2a::TaskState, agenthub::TaskExtent};

use super::{
    Tasks,
    by_change::Of,
    known::{Content, Known},
    latest::latest,
    settled::Row,
    states::is_of,
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
    /// Principal on whose behalf they were asked for.
    pub(crate) initiator: Option<String>,
    /// Tasks that the listing is for, unless a context chooses them.
    pub(crate) own: Option<Own>,
    pub(crate) states: Vec<TaskState>,
    /// Of completed tasks only those with a result of these extents; empty is all.
    pub(crate) extents: Vec<TaskExtent>,
    /// Only tasks changed before this: the token of the previous page.
    pub(crate) before: Option<u64>,
    pub(crate) limit: usize,
}

/// Tasks of a principal: those on its behalf, and those of agents that it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) principal: String,
    pub(crate) agents: BTreeSet<AgentId>,
}

impl Own {
    fn holds(&self, task: Known<'_>) -> bool {
        let mut parties = task.assignee().into_iter().chain([task.requester()]);
        task.initiator() == self.principal || parties.any(|agent| self.agents.contains(agent))
    }
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
    /// True if nothing but states chooses the tasks of all pages.
    fn is_of_states(&self) -> bool {
        let Self {
            agent,
            context,
            initiator,
            own,
            before,
            ..
        } = self;
        agent.is_none()
            && context.is_none()
            && initiator.is_none()
            && own.is_none()
            && before.is_none()
    }

    fn takes(&self, task: Known<'_>) -> bool {
        let is_party =
            |a: &AgentId| task.assignee() == Some(a) || !self.assigned && task.requester() == a;
        let own = self.own.as_ref().filter(|_| self.context.is_none());
        self.agent.as_ref().is_none_or(is_party)
            && own.is_none_or(|own| own.holds(task))
            && self.context.as_ref().is_none_or(|c| task.context() == *c)
            && self
                .initiator
                .as_ref()
                .is_none_or(|p| task.initiator() == *p)
            && (self.states.is_empty() || self.states.contains(&task.state()))
            && is_of(&self.extents, task.state(), task.extent())
    }
}

impl Tasks {
    /// Matching tasks, latest change first.
    pub(crate) fn list(&self, query: &Query) -> Page {
        page_of(self.by_change_from(query), query.limit, |task| {
            query.takes(task)
        })
    }

    /// The number of tasks that match, as far as the walk gets under one hold of the lock, and where it goes on. By states alone it visits no
    /// task.
    pub(crate) fn count(&self, query: &Query) -> (u32, Option<u64>) {
        if query.is_of_states() {
            let settled = self.settled.states().of(&query.states, &query.extents);
            let live = self.by_change.count(&query.states, &query.extents);
            let count = u32::try_from(live)
                .unwrap_or(u32::MAX)
                .saturating_add(settled);
            return (count, None);
        }
        count_of(self.by_change_from(query), |t| query.takes(t))
    }

    /// Tasks that changed before the query's limit, latest first. Few others than those that match are among them.
    fn by_change_from<'a>(&'a self, query: &'a Query) -> Walk<'a> {
        let of = match query {
            Query {
                context: Some(context),
                ..
            } => Of::Context(context),
            Query { own: Some(own), .. } => return self.own_by_change(own, query),
            Query {
                initiator: Some(principal),
                ..
            } => Of::Initiator(principal),
            Query {
                agent: Some(agent), ..
            } => Of::Agent(agent),
            _ => Of::All,
        };
        self.by_change_of(of, query)
    }

    fn by_change_of<'a>(&'a self, of: Of<'a>, query: &Query) -> Walk<'a> {
        let (states, before) = (&query.states, query.before.unwrap_or(u64::MAX));
        let extents = &query.extents;
        let live = self.by_change.before(of, (states, extents), before);
        let live =
            live.filter_map(|(changed, id)| Some((changed, Known::Live(self.live.get(id)?))));
        let settled = &self.settled;
        let settled: Box<dyn Iterator<Item = &Row>> = match of {
            Of::All if states.is_empty() && extents.is_empty() => {
                Box::new(settled.walk(None, None, states, before))
            }
            Of::All => Box::new(settled.in_states(states, extents, before)),
            Of::Agent(agent) => Box::new(settled.walk(Some(agent), None, states, before)),
            Of::Context(context) => Box::new(settled.walk(None, Some(context), states, before)),
            Of::Initiator(principal) => Box::new(settled.of_initiator(principal, states, before)),
        };
        let settled = settled.map(|row| (row.changed, Known::Settled(row)));
        Box::new(merge(live, settled, |(changed, _)| Reverse(*changed)))
    }

    /// Tasks of a principal, each once. Few others are among them.
    fn own_by_change<'a>(&'a self, own: &'a Own, query: &Query) -> Walk<'a> {
        let of_agents = own.agents.iter().map(Of::Agent);
        let all = [Of::Initiator(&own.principal)].into_iter().chain(of_agents);
        let walks: Vec<Walk<'a>> = all.map(|of| self.by_change_of(of, query)).collect();
        let mut last = None;
        let each =
            latest(walks).filter(move |(changed, _)| last.replace(*changed) != Some(*changed));
        Box::new(each)
    }
}

/// Tasks with the numbers of their last changes, latest first.
type Walk<'a> = Box<dyn Iterator<Item = (u64, Known<'a>)> + 'a>;

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
