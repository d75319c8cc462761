//! The latest changes of the directory, for who asks for the latest events: the log has none of them.

use std::{collections::VecDeque, sync::Arc};

use agenthub_proto::agenthub::Concern;

use super::backlog::Reread;
use crate::{
    filter::Filter, id::AgentId, log::Position, mailboxes::Observed, sealed::Sealed, traits::Traits,
};

/// The most changes that are kept.
const MOST: usize = 256;

/// The most bytes of them.
const MOST_BYTES: usize = 1 << 20;

/// The changes since the hub was started, oldest first.
#[derive(Debug, Default)]
pub(super) struct LatestCards {
    changes: VecDeque<Change>,
    bytes: usize,
}

#[derive(Debug)]
struct Change {
    agent: AgentId,
    /// The last record before it.
    behind: Position,
    event: Arc<Sealed>,
}

impl LatestCards {
    /// Keeps a change that happened behind a record, in the place of the oldest ones where there is no more room.
    pub(super) fn note(&mut self, agent: &AgentId, behind: Position, event: Arc<Sealed>) {
        self.bytes += event.size();
        self.changes.push_back(Change {
            agent: agent.clone(),
            behind,
            event,
        });
        while (self.changes.len() > MOST || self.bytes > MOST_BYTES)
            && let Some(oldest) = self.changes.pop_front()
        {
            self.bytes -= oldest.event.size();
        }
    }

    /// The changes that a stream takes which rereads the log up to a position: those after a record, or all. None has the place of a record
    /// that is not reread.
    pub(super) fn taken(
        &self,
        filter: &Filter,
        observed: Option<&Observed>,
        (after, upto): (Option<Position>, Position),
    ) -> VecDeque<Reread> {
        let is_wanted = |change: &&Change| {
            after.is_none_or(|after| change.behind >= after)
                && observed.is_none_or(|observed| observed.is_about(&change.agent))
                && filter.accepts(&Traits::of(&change.event), Concern::Unspecified)
        };
        let taken = self.changes.iter().filter(is_wanted);
        taken
            .map(|change| (change.behind.min(upto), change.event.clone()))
            .collect()
    }
}

/// The events of a page of the log up to a position, with the changes that happened among them; at the end of the log, with all that are left.
pub(super) fn merged(
    events: Vec<Reread>,
    changes: &mut VecDeque<Reread>,
    upto: Position,
    is_last: bool,
) -> Vec<Reread> {
    let mut merged = Vec::with_capacity(events.len());
    for (position, event) in events {
        while let Some(change) = changes.pop_front_if(|(behind, _)| *behind < position) {
            merged.push(change);
        }
        merged.push((position, event));
    }
    while let Some(change) = changes.pop_front_if(|(behind, _)| is_last || *behind < upto) {
        merged.push(change);
    }
    merged
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        agenthub::{AgentEvent, EventKind},
        event::card_change,
    };

    use super::*;
    use crate::hub::{cards, core::Now};

    fn change(agent: &str) -> Arc<Sealed> {
        let card = cards::change(&agent.into(), Default::default(), card_change::ONLINE, true);
        cards::sealed(card, Now::read())
    }

    fn agents(events: &[Reread]) -> Vec<String> {
        let names = events.iter().map(|(_, event)| {
            let event: &AgentEvent = event;
            match &event.payload {
                Some(agenthub_proto::agenthub::agent_event::Payload::AgentCard(card)) => {
                    card.agent_id.clone()
                }
                _ => event.event_id.clone(),
            }
        });
        names.collect()
    }

    fn logged(id: &str, position: u64) -> Reread {
        let event = AgentEvent {
            event_id: id.to_owned(),
            ..AgentEvent::default()
        };
        (Position(position), Arc::new(event.into()))
    }

    /// Issue 26, events: agents that come and go are among the latest events, where they happened.
    #[test]
    fn changes_stand_among_the_events_of_the_log_as_they_happened() {
        let mut latest = LatestCards::default();
        for (agent, behind) in [("early", 2), ("between", 5), ("late", 9)] {
            latest.note(&agent.into(), Position(behind), change(agent));
        }
        let all = Filter::kinds(&[EventKind::Message, EventKind::AgentCard]);
        let mut changes = latest.taken(&all, None, (None, Position(9)));
        let page = vec![logged("five", 5), logged("six", 6)];
        let first = merged(page, &mut changes, Position(6), false);
        assert_eq!(agents(&first), ["early", "five", "between", "six"]);
        let rest = merged(vec![logged("nine", 9)], &mut changes, Position(9), true);
        assert_eq!(agents(&rest), ["nine", "late"]);
        assert!(changes.is_empty());
    }

    #[test]
    fn a_stream_takes_changes_of_its_kind_about_its_agent_and_behind_its_place() {
        let mut latest = LatestCards::default();
        for (agent, behind) in [("a", 1), ("b", 2), ("a", 3)] {
            latest.note(&agent.into(), Position(behind), change(agent));
        }
        let cards = Filter::kinds(&[EventKind::AgentCard]);
        let taken = |filter: &Filter, observed, after| {
            let taken = latest.taken(filter, observed, (after, Position(9)));
            taken.iter().map(|(at, _)| at.0).collect::<Vec<_>>()
        };
        assert_eq!(taken(&cards, None, None), [1, 2, 3]);
        let of_a = Observed::Agent("a".into());
        assert_eq!(taken(&cards, Some(&of_a), None), [1, 3]);
        assert_eq!(
            taken(&cards, Some(&Observed::All), Some(Position(2))),
            [2, 3],
            "a change is behind its record"
        );
        let messages = Filter::kinds(&[EventKind::Message]);
        assert_eq!(taken(&messages, None, None), [0; 0]);
    }

    /// A stream is sent each record behind its backlog once, by its place.
    #[test]
    fn no_change_takes_the_place_of_a_record_that_comes_later() {
        let mut latest = LatestCards::default();
        latest.note(&"a".into(), Position(9), change("a"));
        let cards = Filter::kinds(&[EventKind::AgentCard]);
        let taken = latest.taken(&cards, None, (None, Position(5)));
        assert_eq!(taken[0].0, Position(5));
    }

    #[test]
    fn the_oldest_changes_make_room() {
        let mut latest = LatestCards::default();
        for n in 0..300 {
            latest.note(&"a".into(), Position(n), change("a"));
        }
        assert_eq!(latest.changes.len(), MOST);
        assert_eq!(latest.changes[0].behind, Position(300 - MOST as u64));
        let large = "x".repeat(MOST_BYTES);
        latest.note(&"b".into(), Position(300), change(&large));
        assert!(latest.changes.is_empty() && latest.bytes == 0);
    }
}
