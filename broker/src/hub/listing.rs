//! Listing of agents that match a request, a few at a time.

use agenthub_proto::{
    a2a::AgentSkill,
    agenthub::{AgentEntry, AgentState, ListAgentsRequest},
};
use prost::Message;

use super::{core::Core, mailboxes_admin::page_size, task_calls::unknown_token};
use crate::{Error, id::AgentId, limits, registry::Agent};

/// Prefix of the tokens of pages.
const AFTER: &str = "after:";

/// Agents checked per acquisition of the lock.
const AT_ONCE: usize = 32;

/// A page in progress, ordered by id.
#[derive(Debug)]
pub(super) struct Listing {
    request: ListAgentsRequest,
    /// The words that cards have to contain, in small letters.
    words: Vec<String>,
    state: AgentState,
    limit: usize,
    /// Last agent of the page before.
    begins_after: String,
    /// Last checked agent.
    after: String,
    pub(super) page: Vec<AgentEntry>,
    bytes: usize,
    /// Token of the next page, if any.
    pub(super) next: String,
    /// Number of agents of all pages, if that was asked for.
    pub(super) total: u32,
}

impl Listing {
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an invalid request.
    pub(super) fn new(request: ListAgentsRequest) -> Result<Self, Error> {
        for (what, value) in [
            ("text", &request.text),
            ("skill", &request.skill),
            ("tag", &request.tag),
            ("mode", &request.mode),
            ("capability", &request.capability),
        ] {
            limits::id(what, value)?;
        }
        let state = AgentState::try_from(request.state).map_err(|_| {
            Error::InvalidArgument(format!("state: {} is no known value", request.state))
        })?;
        Ok(Self {
            state,
            limit: page_size(request.page_size)?,
            begins_after: place_of(&request.page_token)?,
            after: String::new(),
            page: Vec::new(),
            bytes: 0,
            next: String::new(),
            total: 0,
            words: request
                .text
                .split_whitespace()
                .map(str::to_lowercase)
                .collect(),
            request,
        }
        .begun())
    }

    /// At its first agent: that of the page, or the first of all where they are counted.
    fn begun(mut self) -> Self {
        if !self.counts_on() {
            self.after.clone_from(&self.begins_after);
        }
        self
    }

    /// True if presence alone chooses the agents, so that their number is known without a look at them.
    fn is_of_presence(&self) -> bool {
        let ListAgentsRequest {
            text,
            skill,
            tag,
            mode,
            capability,
            ..
        } = &self.request;
        [text, skill, tag, mode, capability]
            .iter()
            .all(|filter| filter.is_empty())
    }

    /// True if agents are looked at beyond the page, before it and after it, to count them.
    fn counts_on(&self) -> bool {
        self.request.count && !self.is_of_presence()
    }
}

impl Core {
    /// Checks the next agents. Returns whether the page is complete.
    pub(super) fn list_some(&self, listing: &mut Listing) -> bool {
        if listing.request.count && listing.is_of_presence() {
            listing.total = u32::try_from(self.number_of(listing.state)).unwrap_or(u32::MAX);
        }
        let (mut looked_at, mut last) = (0, None);
        for (id, agent) in self.agents_after(listing).take(AT_ONCE) {
            looked_at += 1;
            let is_in = matches(agent, &listing.request)
                && holds(agent, &listing.words)
                && [AgentState::Unspecified, self.agent_state(id)].contains(&listing.state);
            if is_in && listing.counts_on() {
                listing.total += 1;
            }
            let is_of_page = **id > *listing.begins_after && listing.next.is_empty();
            if is_in && is_of_page {
                let entry = self.entry(id, agent);
                listing.bytes += entry.encoded_len();
                let is_full =
                    listing.page.len() == listing.limit || listing.bytes > limits::PAGE_BYTES;
                match listing.page.last().filter(|_| is_full) {
                    None => listing.page.push(entry),
                    Some(last) => {
                        listing.next = token_of(&last.agent_id);
                        if !listing.counts_on() {
                            return true;
                        }
                    }
                }
            }
            last = Some(id);
        }
        if let Some(last) = last {
            listing.after = last.to_string();
        }
        looked_at < AT_ONCE
    }

    /// Agents that a listing may choose, after the last that it looked at.
    fn agents_after<'a>(
        &'a self,
        listing: &Listing,
    ) -> impl Iterator<Item = (&'a AgentId, &'a Agent)> + use<'a> {
        let registry = &self.state.registry;
        let (online, all) = match listing.state {
            AgentState::Online => (Some(self.online.after(&listing.after)), None),
            _ => (None, Some(registry.after(&listing.after))),
        };
        let online = online.into_iter().flatten();
        let online = online.filter_map(|id| Some((id, registry.get(id)?)));
        online.chain(all.into_iter().flatten())
    }

    /// Number of agents with this presence.
    fn number_of(&self, state: AgentState) -> usize {
        let (all, online) = (self.state.registry.len(), self.online.len());
        match state {
            AgentState::Unspecified => all,
            AgentState::Online => online,
            AgentState::Offline => all.saturating_sub(online),
        }
    }
}

/// Token of the page after an agent. The prefix tells it from what no page has given out.
fn token_of(agent: &str) -> String {
    format!("{AFTER}{agent}")
}

/// The agent after which a page begins; empty for the first page.
///
/// # Errors
///
/// [`Error::InvalidArgument`] for a token that no page has given out.
fn place_of(token: &str) -> Result<String, Error> {
    match token.strip_prefix(AFTER) {
        Some(agent) => Ok(agent.to_owned()),
        None if token.is_empty() => Ok(String::new()),
        None => Err(unknown_token(token)),
    }
}

fn matches(agent: &Agent, request: &ListAgentsRequest) -> bool {
    let card = agent.latest();
    let has_capability = |wanted: &str| match (&card.capabilities, wanted) {
        (None, _) => false,
        (Some(has), "streaming") => has.streaming,
        (Some(has), "push_notifications") => has.push_notifications,
        (Some(has), uri) => has.extensions.iter().any(|e| e.uri == uri),
    };
    let any_skill = |test: &dyn Fn(&AgentSkill) -> bool| card.skills.iter().any(test);
    (request.skill.is_empty() || card.has_skill(&request.skill))
        && (request.tag.is_empty() || any_skill(&|s| s.tags.contains(&request.tag)))
        && (request.mode.is_empty()
            || any_skill(&|s| {
                s.input_modes.contains(&request.mode) || s.output_modes.contains(&request.mode)
            }))
        && (request.capability.is_empty() || has_capability(&request.capability))
}

/// True if an agent's card contains all of these words.
fn holds(agent: &Agent, words: &[String]) -> bool {
    words.is_empty() || {
        let held = agent.search_text();
        words.iter().all(|word| held.contains(&**word))
    }
}
