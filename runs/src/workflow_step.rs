//! Steps of a workflow's run: the grammar of their names, and their state once they have ended.
//!
//! `draft`, `draft/try-2`, `draft/pause-1`, `draft/fallback`, `send/3/post`, `undo/draft`, `time-limit`.

use serde_json::Value;

use crate::{DelegationResult, Shortfall, StepId, StepResult, redact};

/// The skill of agents that carry workflows out, and the type of such tasks.
pub const RUN: &str = "workflow_run";

/// Beginning of the names of steps that take others back.
const UNDO: &str = "undo/";

/// Beginning of the last part of the name of a further attempt.
const TRY: &str = "try-";

/// Beginning of the last part of the name of a pause between attempts.
const PAUSE: &str = "pause-";

/// Last part of the name of the work that stands in for a step that failed.
pub const FALLBACK: &str = "fallback";

/// Last parts of the names of notes on a step.
pub mod note {
    /// The result of an earlier run stands for that of the step.
    pub const REUSED: &str = "reused";
    /// The number of items of a loop.
    pub const COUNT: &str = "count";
    /// The step was left out.
    pub const SKIPPED: &str = "skipped";
    /// The step failed before it began.
    pub const HAS_FAILED: &str = "has-failed";
    /// The branch that the step took.
    pub const DECIDED: &str = "decided";
    /// The step ended, with what came of its parts.
    pub const ENDED: &str = "ended";
}

/// Name of the wait for the end of the whole run's time.
pub const TIME_LIMIT: &str = "time-limit";

/// Name of the note that a run is given up: what it did is taken back, for the reason in the field `why`. No step of a file has a name that
/// begins with that of the time limit.
pub const GIVEN_UP: &str = "time-limit/given-up";

/// True if a step of a file cannot have a name, as names of a run's steps are made with it.
pub fn is_reserved(name: &str) -> bool {
    let is_made = name.starts_with(TRY) || name.starts_with(PAUSE);
    is_made || name == TIME_LIMIT || name == UNDO.trim_end_matches('/')
}

/// Name of an attempt at a step, from 1.
pub fn attempt_of(step: &str, attempt: u32) -> String {
    match attempt {
        1 => step.to_owned(),
        attempt => format!("{step}/{TRY}{attempt}"),
    }
}

/// Name of the pause behind an attempt at a step.
pub fn pause_of(step: &str, attempt: u32) -> String {
    format!("{step}/{PAUSE}{attempt}")
}

/// Name of the step that takes a step back.
pub fn undo_of(step: &str) -> String {
    format!("{UNDO}{step}")
}

/// Name of the work that stands in for a step that failed.
pub fn fallback_of(step: &str) -> String {
    format!("{step}/{FALLBACK}")
}

/// Name of a note on a step; `kind` is of [`note`].
pub fn note_of(step: &str, kind: &str) -> String {
    format!("{step}/{kind}")
}

/// Name of the note that the result of an earlier run stands for that of a step.
pub fn reuse_note_of(step: &str) -> String {
    note_of(step, note::REUSED)
}

/// The step that such a note is about.
pub fn reused_in(id: &StepId) -> Option<&str> {
    id.as_str().strip_suffix(note::REUSED)?.strip_suffix('/')
}

/// Name of the note on how many items a loop has.
pub fn count_note_of(step: &str) -> String {
    note_of(step, note::COUNT)
}

/// The loop that such a note is about.
pub fn counted_in(id: &StepId) -> Option<&str> {
    id.as_str().strip_suffix(note::COUNT)?.strip_suffix('/')
}

/// True if a step takes another one back, or is a pause on the way to that.
pub fn is_undo(step: &StepId) -> bool {
    step.as_str().starts_with(UNDO)
}

/// The step that a step takes back, or waits to take back.
pub fn undone_by(step: &StepId) -> Option<&str> {
    let undone = step.as_str().strip_prefix(UNDO)?;
    Some(match undone.rsplit_once('/') {
        Some((before, last)) if number(last, TRY).or(number(last, PAUSE)).is_some() => before,
        _ => undone,
    })
}

/// A step of a workflow's run, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowStep<'a> {
    /// The step of the workflow's file that it is part of.
    pub step: &'a str,
    /// Its name without the attempt.
    pub name: &'a str,
    /// The attempt that its name says, from 1.
    pub attempt: u32,
}

impl<'a> WorkflowStep<'a> {
    /// The step with this name. Nothing for what is no step of the workflow: pauses between attempts, and the time limit.
    pub fn of(id: &'a StepId) -> Option<Self> {
        let id = id.as_str();
        let (name, attempt) = match id.rsplit_once('/') {
            Some((_, last)) if number(last, PAUSE).is_some() => return None,
            Some((before, last)) => match number(last, TRY) {
                Some(attempt) => (before, attempt),
                None => (id, 1),
            },
            None if id == TIME_LIMIT => return None,
            None => (id, 1),
        };
        let whole = name.strip_prefix(UNDO).unwrap_or(name);
        Some(Self {
            step: whole.split('/').next().unwrap_or_default(),
            name,
            attempt,
        })
    }
}

/// The attempt that follows a pause, by the name of the pause; nothing for what is no pause between attempts.
pub fn attempt_behind(pause: &StepId) -> Option<WorkflowStep<'_>> {
    let (name, last) = pause.as_str().rsplit_once('/')?;
    let failed = number(last, PAUSE)?;
    let whole = name.strip_prefix(UNDO).unwrap_or(name);
    Some(WorkflowStep {
        step: whole.split('/').next().unwrap_or_default(),
        name,
        attempt: failed.saturating_add(1),
    })
}

fn number(part: &str, kind: &str) -> Option<u32> {
    part.strip_prefix(kind)?.parse().ok()
}

/// State of a step that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// Ended with a result.
    Completed,
    /// Ended without one, for this reason: without secrets, and at most 500 characters.
    Failed(String),
    /// Called back.
    Cancelled,
}

impl StepEnd {
    /// The state that a result is.
    pub fn of(result: &StepResult) -> Self {
        let failed = |reason: &str| Self::Failed(redact::error(reason));
        match result {
            StepResult::DelegationEnded(ended) => match (&*ended.state, &*ended.error) {
                ("completed", _) => match did_nothing(ended) {
                    Some(why) => failed(&why),
                    None => Self::Completed,
                },
                ("cancelled", _) => Self::Cancelled,
                (state, "") => failed(state),
                (_, error) => failed(error),
            },
            StepResult::Decided(decision) if !decision.approved => {
                failed(&match &*decision.comment {
                    "" => format!("{} refused it", decision.by),
                    comment => format!("{} refused it: {comment}", decision.by),
                })
            }
            StepResult::ToolReturned(output) if output.is_error => match &output.value {
                Value::String(why) => failed(why),
                value => failed(&redact::value(value).to_string()),
            },
            StepResult::Failed(failure) => failed(&failure.message),
            StepResult::Cancelled => Self::Cancelled,
            _ => Self::Completed,
        }
    }
}

/// The reason why a step has failed though its agent completed the task: the answer says that nothing of it was done.
pub fn did_nothing(ended: &DelegationResult) -> Option<String> {
    let shortfall = Shortfall::of(&ended.data).filter(Shortfall::is_nothing);
    shortfall.filter(|_| ended.state == "completed").map(|_| {
        let who = match &*ended.agent {
            "" => "an agent",
            agent => agent,
        };
        let said = ended.text.lines().next().unwrap_or_default();
        format!("{who} did nothing of it: {said}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Decision, EffectFailure, ToolOutput};

    #[test]
    fn names_say_which_step_of_the_file_and_which_attempt() {
        let named = |id: &str| {
            let id = StepId::new(id);
            WorkflowStep::of(&id)
                .map(|named| format!("{} {} {}", named.step, named.name, named.attempt))
        };
        for (id, expected) in [
            ("draft", Some("draft draft 1")),
            ("draft/try-2", Some("draft draft 2")),
            ("draft/fallback/try-3", Some("draft draft/fallback 3")),
            ("send/3/post", Some("send send/3/post 1")),
            ("undo/draft", Some("draft undo/draft 1")),
            ("undo/send/3/try-2", Some("send undo/send/3 2")),
            // Files of earlier releases can have such names.
            (
                "pause-for-review",
                Some("pause-for-review pause-for-review 1"),
            ),
            ("try-2", Some("try-2 try-2 1")),
            ("send/3/pause-here", Some("send send/3/pause-here 1")),
            ("draft/pause-1", None),
            ("time-limit", None),
        ] {
            assert_eq!(named(id).as_deref(), expected, "{id}");
        }
    }

    #[test]
    fn names_that_are_made_are_read_back() {
        let read = |id: String| {
            let id = StepId::new(id);
            WorkflowStep::of(&id).map(|step| (step.name.to_owned(), step.attempt))
        };
        assert_eq!(read(attempt_of("a", 1)), Some(("a".to_owned(), 1)));
        assert_eq!(read(attempt_of("a", 3)), Some(("a".to_owned(), 3)));
        assert_eq!(read(pause_of("a", 3)), None);
        let pause = StepId::new(pause_of("send/3", 2));
        let follows = attempt_behind(&pause).map(|next| (next.step, next.name, next.attempt));
        assert_eq!(follows, Some(("send", "send/3", 3)));
        assert_eq!(attempt_behind(&StepId::new("send/3")), None);
        for id in [
            undo_of("a/1"),
            attempt_of(&undo_of("a/1"), 2),
            pause_of(&undo_of("a/1"), 2),
        ] {
            let id = StepId::new(id);
            assert!(is_undo(&id), "{id}");
            assert_eq!(undone_by(&id), Some("a/1"), "{id}");
        }
        assert_eq!(undone_by(&StepId::new("a")), None);
        assert_eq!(reused_in(&StepId::new(reuse_note_of("a/1"))), Some("a/1"));
        assert_eq!(reused_in(&StepId::new("a/joined")), None);
    }

    #[test]
    fn names_that_are_made_are_reserved() {
        for name in ["undo", "time-limit", "try-2", "try-it", "pause-for-review"] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["undone", "retry", "pause", "try", "time-limits"] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn an_end_is_completed_failed_without_secrets_or_cancelled() {
        let agent = |state: &str, error: &str, data: Vec<Value>| {
            StepEnd::of(&StepResult::DelegationEnded(DelegationResult {
                agent: "a".to_owned(),
                state: state.to_owned(),
                text: "I found no tool\nat all".to_owned(),
                error: error.to_owned(),
                data,
                ..DelegationResult::default()
            }))
        };
        let failed = |why: &str| StepEnd::Failed(why.to_owned());
        let lacks = |undone: &str| json!({"partial": true, "undone": undone, "results": []});
        assert_eq!(agent("completed", "", Vec::new()), StepEnd::Completed);
        let part = agent("completed", "", vec![lacks("part")]);
        assert_eq!(part, StepEnd::Completed);
        let nothing = agent("completed", "", vec![lacks("all")]);
        assert_eq!(nothing, failed("a did nothing of it: I found no tool"));
        assert_eq!(agent("cancelled", "", Vec::new()), StepEnd::Cancelled);
        assert_eq!(agent("away", "", Vec::new()), failed("away"));
        let secret = agent("failed", "password=hunter22", Vec::new());
        assert_eq!(secret, failed("password=[redacted]"));

        let refused = StepEnd::of(&StepResult::Decided(Decision {
            approved: false,
            by: "ann".to_owned(),
            comment: "too long".to_owned(),
        }));
        assert_eq!(refused, failed("ann refused it: too long"));
        let tool = StepEnd::of(&StepResult::ToolReturned(ToolOutput {
            value: json!({"why": "closed", "token": "hunter22"}),
            is_error: true,
        }));
        assert_eq!(tool, failed(r#"{"why":"closed","token":"[redacted]"}"#));
        let late = EffectFailure::lasting("api_key=hunter22 is no key");
        let late = StepEnd::of(&StepResult::Failed(late));
        assert_eq!(late, failed("api_key=[redacted] is no key"));
        assert_eq!(StepEnd::of(&StepResult::Cancelled), StepEnd::Cancelled);
        assert_eq!(StepEnd::of(&StepResult::Woke), StepEnd::Completed);
    }
}
