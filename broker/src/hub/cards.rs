//! Cards as events, and the paged snapshot of the directory for a watcher.

use std::sync::Arc;

use agenthub_proto::{
    a2a::AgentCard,
    agenthub::{AgentCardEvent, AgentEventMetadata, Concern, agent_event::Payload},
    event::card_change,
    json,
};

use super::core::{Now, event};
use crate::{
    id::{AgentId, MailboxId},
    mailbox::{Batch, Mail},
    mailboxes::Reach,
    presence::Presence,
    sealed::Sealed,
    state::State,
    traits::Traits,
};

/// Maximum cards of a page, and their bytes, unless the first alone is larger.
const PAGE_CARDS: usize = 256;
/// See [`PAGE_CARDS`].
const PAGE_BYTES: usize = 256 * 1024;

/// Takes the next page of a watcher's snapshot from the current directory, at most `limit` cards. Empty if no snapshot
/// is in progress.
pub(super) fn take(
    state: &mut State,
    presence: &Presence,
    mailbox: MailboxId,
    most: usize,
    now: Now,
) -> Vec<Arc<Sealed>> {
    let Some(cursor) = state.mailboxes.snapshots.cursor(mailbox).cloned() else {
        return Vec::new();
    };
    let filter = state.mailboxes.filter(mailbox).cloned().unwrap_or_default();
    let most = most.min(PAGE_CARDS);
    let mut looked_at = 0;
    let mut agents = state.registry.after(&cursor).peekable();
    let (mut cards, mut bytes, mut last) = (Vec::new(), 0, None);
    while cards.len() < most
        && looked_at < PAGE_CARDS
        && bytes < PAGE_BYTES
        && let Some((id, agent)) = agents.next()
    {
        let is_online = presence.is_online(id);
        let card = agent.latest().clone();
        let shown = change(id, card, card_change::REGISTERED, is_online);
        let card = sealed(in_snapshot(shown), now);
        if filter.accepts(&Traits::of(&card), Concern::Unspecified) {
            bytes += card.size();
            cards.push(card);
        }
        looked_at += 1;
        last = Some(id);
    }
    let upto = match (agents.peek(), last) {
        (None, _) => Reach::End,
        (Some(_), Some(last)) => Reach::Agent(last.clone()),
        (Some(_), None) => return cards,
    };
    state.mailboxes.snapshots.took(mailbox, upto);
    cards
}

/// A card of a snapshot as a delivery.
pub(super) fn delivery(card: Arc<Sealed>, to: &AgentId, state: &State, now: Now) -> Batch {
    Batch::by_the_way(&Mail {
        event: card,
        recipient: to.clone(),
        position: None,
        order: "".into(),
        concern: Default::default(),
        version: None,
        is_directed: true,
        is_copy: false,
        timing: state.mailboxes.timing_again(now.instant),
    })
}

/// A change of the directory.
pub(super) fn change(
    agent: &AgentId,
    card: AgentCard,
    event_type: &str,
    is_online: bool,
) -> AgentCardEvent {
    AgentCardEvent {
        agent_id: agent.to_string(),
        agent_card: Some(card),
        event_type: event_type.to_owned(),
        metadata: Some(json::to_struct(&serde_json::json!({ "online": is_online }))),
    }
}

fn in_snapshot(card: AgentCardEvent) -> AgentCardEvent {
    let mut metadata = card.metadata.unwrap_or_default();
    let is_snapshot = json::to_value(&true.into());
    metadata.fields.insert("snapshot".to_owned(), is_snapshot);
    AgentCardEvent {
        metadata: Some(metadata),
        ..card
    }
}

/// The event of a card change.
pub(super) fn sealed(card: AgentCardEvent, now: Now) -> Arc<Sealed> {
    let routing = AgentEventMetadata {
        event_type: format!("agent.{}", card.event_type),
        ..Default::default()
    };
    let event = event(Payload::AgentCard(card), Some(routing), now);
    Arc::new(event.into())
}
