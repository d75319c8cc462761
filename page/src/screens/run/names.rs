//! Names of steps as people say them. The run's own names, such as `handoff-3` or `send/4/try-2`, stand in the details.

use agenthub_proto::cortex::{RunEvent, StepAttempt};
use agenthub_sdk::runs::{
    StepId,
    workflow_step::{TIME_LIMIT, WorkflowStep, attempt_behind, undone_by},
};

/// A step by what it is.
#[derive(Clone, Copy, Debug)]
pub(in crate::screens) struct StepName<'a> {
    /// Its name in the run.
    step: &'a str,
    /// Its step of the plan.
    plan_step: &'a str,
    kind: &'a str,
    agent: &'a str,
}

impl<'a> StepName<'a> {
    pub(in crate::screens) fn of(attempt: &'a StepAttempt) -> Self {
        Self {
            step: &attempt.step,
            plan_step: &attempt.plan_step,
            kind: &attempt.kind,
            agent: &attempt.agent,
        }
    }

    pub(in crate::screens) fn of_event(event: &'a RunEvent) -> Self {
        Self {
            step: &event.step,
            plan_step: &event.plan_step,
            kind: &event.step_kind,
            agent: &event.agent,
        }
    }

    /// It in words, such as `send, item 5`, or `a question to the model`.
    pub(in crate::screens) fn in_words(self) -> String {
        if !self.plan_step.is_empty() {
            return self.part();
        }
        let id = StepId::new(self.step);
        if let Some(undone) = undone_by(&id) {
            return format!("taking back {}", parts_of(undone));
        }
        if self.step == TIME_LIMIT {
            return "the time limit of the run".to_owned();
        }
        match (self.kind, self.agent) {
            ("model", _) => "a question to the model".to_owned(),
            ("tool", "") => "a call of a tool".to_owned(),
            ("tool", tool) => format!("a call of {tool}"),
            ("person", _) => "a question to a person".to_owned(),
            ("agent", "") => "work for an agent".to_owned(),
            ("agent", agent) => format!("work for {agent}"),
            ("wait", _) => match attempt_behind(&id) {
                Some(next) => format!("a pause before {} is tried again", parts_of(next.name)),
                None => "a wait".to_owned(),
            },
            ("message", _) => "a message".to_owned(),
            _ => parts_of(self.step),
        }
    }

    /// The part alone that it is of its step of the plan, such as `item 5`; the same as [`in_words`](Self::in_words) of what is all of it.
    pub(in crate::screens) fn within_its_step(self) -> String {
        let words = self.in_words();
        let part = words.strip_prefix(self.plan_step);
        let part = part.and_then(|rest| rest.strip_prefix(", "));
        part.map(str::to_owned).unwrap_or(words)
    }

    /// A step of the plan, with the part of it that this is.
    fn part(self) -> String {
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with('/');
        match self.step.strip_prefix(self.plan_step) {
            Some(rest) if is_part(rest) => parts_of(self.step),
            _ => self.plan_step.to_owned(),
        }
    }
}

/// An attempt at a step as people call it.
pub(in crate::screens) fn called(attempt: &StepAttempt) -> String {
    StepName::of(attempt).in_words()
}

/// The parts of a name: `send/4/try-2` is the second attempt at the fifth item of `send`.
pub(in crate::screens) fn parts_of(name: &str) -> String {
    let id = StepId::new(name);
    let (name, attempt) = match WorkflowStep::of(&id) {
        Some(step) => (step.name, step.attempt),
        None => (name, 1),
    };
    let mut parts = name.split('/');
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        words += &match part.parse::<u64>() {
            Ok(item) => format!(", item {}", item.saturating_add(1)),
            Err(_) => format!(", {part}"),
        };
    }
    if attempt > 1 {
        words += &format!(", attempt {attempt}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 26: people read what happened, and no names that the run makes for itself.
    #[test]
    fn steps_are_called_as_people_say_it() {
        for (step, plan_step, kind, agent, words) in [
            ("send", "send", "agent", "echo", "send"),
            ("send/4", "send", "agent", "echo", "send, item 5"),
            (
                "send/4/try-2",
                "send",
                "agent",
                "echo",
                "send, item 5, attempt 2",
            ),
            ("pack/0/wrap", "pack", "agent", "echo", "pack, item 1, wrap"),
            ("handoff-3", "write", "agent", "writer", "write"),
            ("writer-1", "write", "agent", "writer", "write"),
            ("look-10", "", "tool", "look", "a call of look"),
            ("turn-1", "", "model", "", "a question to the model"),
            (
                "undo/send/4",
                "",
                "agent",
                "echo",
                "taking back send, item 5",
            ),
            (
                "draft/pause-1",
                "",
                "wait",
                "",
                "a pause before draft is tried again",
            ),
            (
                "send/4/pause-1",
                "",
                "wait",
                "",
                "a pause before send, item 5 is tried again",
            ),
            ("time-limit", "", "wait", "", "the time limit of the run"),
        ] {
            let name = StepName {
                step,
                plan_step,
                kind,
                agent,
            };
            assert_eq!(name.in_words(), words);
            let part = words.strip_prefix("send, ").unwrap_or(words);
            assert!(
                name.within_its_step() == part || plan_step == "pack",
                "{words}"
            );
        }
    }
}
