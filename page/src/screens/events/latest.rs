//! The events that a page shows: the latest. When more come at once than somebody reads, the earlier of them are counted instead of drawn.

use std::collections::VecDeque;

use agenthub_proto::{agenthub::AgentEvent, wkt::Timestamp};
use bytes::Bytes;
use maud::{Markup, html};
use prost::Message as _;

use super::row;
use crate::elements::time;

/// The most events that are shown.
const SHOWN: usize = 100;

/// The most events that are drawn anew at a look, which comes about once a second.
const AT_ONCE: usize = 50;

/// The events, see the module.
#[derive(Debug, Default)]
pub(super) struct Latest {
    /// Encoded events since the last look, those that will be drawn.
    coming: VecDeque<Bytes>,
    /// Number of earlier ones since then, which will not.
    passed: u64,
    /// Latest first.
    rows: VecDeque<Row>,
}

#[derive(Debug)]
enum Row {
    Event {
        id: String,
        time: Option<Timestamp>,
        position: String,
        drawn: Markup,
    },
    /// Number of events that were not drawn.
    Passed(u64),
}

impl Latest {
    /// Takes an event as it came, without a look into it.
    pub(super) fn take(&mut self, event: Bytes) {
        self.coming.push_back(event);
        if self.coming.len() > AT_ONCE {
            self.coming.pop_front();
            self.passed += 1;
        }
    }

    /// Forgets how many passed: they are from before somebody looked.
    pub(super) fn forget_passed(&mut self) {
        self.passed = 0;
    }

    /// Position of the latest event that has one; empty of none.
    pub(super) fn last(&self) -> String {
        let coming = self.coming.iter().rev();
        let coming = coming.filter_map(|event| AgentEvent::decode(&**event).ok());
        let coming = coming.map(|event| event.position);
        let drawn = self.rows.iter().filter_map(Row::position);
        let mut all = coming.chain(drawn.map(str::to_owned));
        all.find(|position| !position.is_empty())
            .unwrap_or_default()
    }

    /// Position of the earliest event that is shown and has one; empty of none.
    pub(super) fn first(&self) -> &str {
        let mut drawn = self.rows.iter().rev().filter_map(Row::position);
        drawn
            .find(|position| !position.is_empty())
            .unwrap_or_default()
    }

    /// Draws what came.
    pub(super) fn draw(&mut self) -> Markup {
        let passed = std::mem::take(&mut self.passed);
        if passed > 0 {
            self.rows.push_front(Row::Passed(passed));
        }
        for event in self.coming.drain(..) {
            // A change of the directory may come again with a stream that does.
            if let Ok(event) = AgentEvent::decode(event)
                && !self.rows.iter().any(|row| row.is(&event.event_id))
            {
                self.rows.push_front(Row::of(event));
            }
        }
        self.rows.truncate(SHOWN);
        html! {
            ol.events { @for row in &self.rows { (row.drawn()) } }
        }
    }

    /// True if nothing is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.coming.is_empty()
    }
}

impl Row {
    fn of(event: AgentEvent) -> Self {
        Self::Event {
            drawn: row::drawn(&event),
            id: event.event_id,
            time: event.timestamp,
            position: event.position,
        }
    }

    fn is(&self, event: &str) -> bool {
        matches!(self, Self::Event { id, .. } if id == event)
    }

    fn position(&self) -> Option<&str> {
        match self {
            Self::Event { position, .. } => Some(position),
            Self::Passed(_) => None,
        }
    }

    fn drawn(&self) -> Markup {
        match self {
            Self::Event {
                id,
                time: at,
                drawn,
                ..
            } => html! {
                li id={ "event-" (id) } { (time(at.as_ref())) " " (drawn) }
            },
            Self::Passed(1) => {
                html! { li.passed { "One more came and is not shown." } }
            }
            Self::Passed(number) => {
                html! { li.passed { (number) " more came and are not shown." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Role},
        agenthub::agent_event::Payload,
    };

    use super::*;

    fn event(number: usize, position: &str) -> Bytes {
        let event = AgentEvent {
            event_id: format!("e{number}"),
            position: position.to_owned(),
            payload: Some(Payload::Message(Message::new(
                Role::User,
                format!("<{number}>"),
            ))),
            ..AgentEvent::default()
        };
        event.encode_to_vec().into()
    }

    fn take(latest: &mut Latest, numbers: std::ops::Range<usize>) {
        for number in numbers {
            latest.take(event(number, &number.to_string()));
        }
    }

    /// Ids of the events that are shown, and the numbers of those that are not.
    fn shown(markup: &str) -> Vec<String> {
        let rows = markup.split("<li").skip(1);
        let shown = rows.map(|row| match row.split_once("id=\"event-") {
            Some((_, rest)) => rest.split('"').next().unwrap_or_default().to_owned(),
            None => row.split(['>', ' ']).nth(2).unwrap_or_default().to_owned(),
        });
        shown.collect()
    }

    /// Issue 26, cost: a page of events costs what it shows, however many there are.
    #[test]
    fn what_nobody_could_read_is_counted_and_never_decoded() {
        let mut latest = Latest::default();
        take(&mut latest, 0..2);
        assert_eq!(shown(&latest.draw().into_string()), ["e1", "e0"]);
        // Were these looked into, they would be shown as nothing.
        for _ in 0..950 {
            latest.take(Bytes::from_static(b"no event"));
        }
        take(&mut latest, 2..52);
        assert_eq!(latest.coming.len(), AT_ONCE);
        let drawn = shown(&latest.draw().into_string());
        let expected: Vec<String> = (2..52).rev().map(|n| format!("e{n}")).collect();
        assert_eq!(drawn[..50], expected);
        assert_eq!(drawn[50..], ["950", "e1", "e0"]);
        take(&mut latest, 52..152);
        latest.draw();
        assert_eq!(latest.rows.len(), SHOWN);
        assert_eq!((latest.last(), latest.first()), ("151".to_owned(), "3"));
    }

    #[test]
    fn events_that_the_log_has_not_leave_the_positions_to_others() {
        let mut latest = Latest::default();
        latest.take(event(0, ""));
        latest.take(event(1, "p1"));
        latest.take(event(2, "p2"));
        latest.take(event(3, ""));
        assert_eq!(latest.last(), "p2");
        latest.draw();
        assert_eq!((latest.last(), latest.first()), ("p2".to_owned(), "p1"));
    }

    #[test]
    fn what_was_there_before_somebody_came_is_not_counted_as_passed() {
        let mut latest = Latest::default();
        take(&mut latest, 0..60);
        latest.forget_passed();
        assert_eq!(shown(&latest.draw().into_string()).len(), AT_ONCE);
    }
}
