//! Events of a run's journal in words.

use agenthub_proto::cortex::RunEvent;
use agenthub_sdk::runs::workflow_step::note;
use maud::{Markup, html};

use super::names::{StepName, parts_of};
use crate::{
    elements::{agent, line},
    words,
};

/// Characters of the words of a note.
const NOTE: usize = 120;

/// An event as people tell it. Its number and the run's name of its step are left to the details.
pub(in crate::screens) fn happened(event: &RunEvent) -> Markup {
    let step = StepName::of_event(event).in_words();
    let again = match event.attempt {
        0 | 1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    };
    html! {
        @match (&*event.kind, &*event.step_kind, &*event.agent) {
            ("step-begun", "agent", "") => { b { (step) } " was handed out" (again) },
            ("step-begun", "agent", to) => { b { (step) } " was handed to " (agent(to)) (again) },
            ("step-ended", "agent", "") => { b { (step) } " ended" (again) },
            ("step-ended", "agent", by) => { (agent(by)) " is done with " b { (step) } (again) },
            ("step-begun", "tool", tool) => { "The tool " b { (tool) } " was called" (again) },
            ("step-ended", "tool", tool) => { "The tool " b { (tool) } " answered" (again) },
            ("step-begun", "model", _) => { "The model was asked" (again) },
            ("step-ended", "model", _) => { "The model answered" (again) },
            ("step-begun", "person", _) => { "A person was asked about " b { (step) } },
            ("step-ended", "person", _) => { b { (step) } " was decided by a person" },
            ("step-begun", "message", _) => "The run said something",
            ("step-begun", _, _) => { "It began: " (step) },
            ("step-ended", _, _) => { "It ended: " (step) },
            ("noted", _, _) => (noted(event)),
            (kind, _, _) => (words::journal(kind)),
        }
    }
}

/// A note: its own words, else what its name says.
fn noted(event: &RunEvent) -> Markup {
    let (step, what) = event.step.rsplit_once('/').unwrap_or_default();
    let step = parts_of(step);
    html! {
        @match what {
            note::COUNT => { "The items of " b { (step) } " were counted" },
            note::REUSED => { "The earlier result of " b { (step) } " stands" },
            note::SKIPPED => { b { (step) } " was skipped" },
            note::DECIDED => { b { (step) } " was decided" },
            note::HAS_FAILED => { b { (step) } " could not begin" },
            note::ENDED => { b { (step) } " ended" },
            _ if !event.words.is_empty() => { "Noted: " (line(&event.words, NOTE)) },
            _ => (words::journal("noted")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, step: &str, (step_kind, agent): (&str, &str), words: &str) -> String {
        let event = RunEvent {
            kind: kind.into(),
            step: step.into(),
            step_kind: step_kind.into(),
            agent: agent.into(),
            words: words.into(),
            attempt: 1,
            ..RunEvent::default()
        };
        happened(&event).into_string()
    }

    /// Issue 26, runs: what happened is told in words. No name that the run made for itself is among them.
    #[test]
    fn events_are_told_by_what_happened() {
        let tool = ("tool", "look");
        assert_eq!(
            told("step-begun", "look-10", tool, ""),
            "The tool <b>look</b> was called"
        );
        assert_eq!(
            told("step-ended", "turn-3", ("model", ""), ""),
            "The model answered"
        );
        let handed = told("step-begun", "handoff-8", ("agent", "<w>"), "");
        assert!(
            !handed.contains("<w>") && !handed.contains("handoff-8"),
            "{handed}"
        );
        assert_eq!(
            told("noted", "note-1", ("", ""), "a <plan>"),
            "Noted: a &lt;plan&gt;"
        );
        assert_eq!(
            told("noted", "send/skipped", ("", ""), "SKIPPED"),
            "<b>send</b> was skipped"
        );
        assert_eq!(
            told("noted", "send/4/reused", ("", ""), ""),
            "The earlier result of <b>send, item 5</b> stands"
        );
        assert_eq!(
            told("noted", "pack/1/ended", ("", ""), ""),
            "<b>pack, item 2</b> ended"
        );
        assert_eq!(told("noted", "note-2", ("", ""), ""), "A note");
        assert_eq!(told("started", "", ("", ""), ""), "The run began");
    }
}
