//! Listing of agents that match a request, a few at a time.

use agenthub_proto::{
    a2a::{AgentCard, AgentSkill},
    agenthub::{AgentEntry, AgentState, ListAgentsRequest},
};
use prost::Message;

use super::{core::Core, mailboxes_admin::page_size, task_calls::unknown_token};
use crate::{Error, limits, registry::Agent, steps::step};

/// Prefix of the tokens of pages.
const AFTER: &str = "after:";

/// Agents checked per acquisition of the lock.
const AT_ONCE: usize = 32;

/// A page in progress, ordered by id.
#[derive(Debug)]
pub(super) struct Listing {
    request: ListAgentsRequest,
    state: AgentState,
    limit: usize,
    /// Last checked agent.
    after: String,
    pub(super) page: Vec<AgentEntry>,
    bytes: usize,
    /// Token of the next page, if any.
    pub(super) next: String,
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
            after: place_of(&request.page_token)?,
            page: Vec::new(),
            bytes: 0,
            next: String::new(),
            request,
        })
    }
}

impl Core {
    /// Checks the next agents. Returns whether the page is complete.
    pub(super) fn list_some(&self, listing: &mut Listing) -> bool {
        let (mut looked_at, mut last) = (0, None);
        for (id, agent) in self.state.registry.after(&listing.after).take(AT_ONCE) {
            looked_at += 1;
            let is_in = matches(agent, &listing.request)
                && [AgentState::Unspecified, self.agent_state(id)].contains(&listing.state);
            if is_in {
                let entry = self.entry(id, agent);
                listing.bytes += entry.encoded_len();
                let is_full =
                    listing.page.len() == listing.limit || listing.bytes > limits::PAGE_BYTES;
                if let Some(last) = listing.page.last().filter(|_| is_full) {
                    listing.next = token_of(&last.agent_id);
                    return true;
                }
                listing.page.push(entry);
            }
            last = Some(id);
        }
        if let Some(last) = last {
            listing.after = last.to_string();
        }
        looked_at < AT_ONCE
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
        && holds_words(card, &request.text)
}

/// True if a card contains all words of a text.
fn holds_words(card: &AgentCard, text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    if words.peek().is_none() {
        return true;
    }
    step();
    let held = card.search_text();
    words.all(|word| held.contains(&word.to_lowercase()))
}
