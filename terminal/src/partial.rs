//! Answers that are not all that was asked for: what they had to do without, and the exit code for it.

use std::process::ExitCode;

use agenthub_proto::a2a::{Artifact, Message, Part};
use agenthub_sdk::{
    Outcome,
    runs::{Missing, Shortfall},
};
use serde_json::Value;

use crate::output;

/// The exit code of such an answer: it is the best there is.
pub const EXIT_CODE: u8 = 3;

/// The longest reason in a warning, in characters.
const MAX_WHY: usize = 300;

/// Extent of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// As far as anybody says, all of what was asked for.
    #[default]
    Whole,
    /// The best there is: something is missing.
    Part,
    /// No part of it.
    Nothing,
}

impl Extent {
    /// The extent of an answer with this shortfall.
    pub fn of(shortfall: Option<&Shortfall>) -> Self {
        match shortfall {
            None => Self::Whole,
            Some(shortfall) if shortfall.is_nothing() => Self::Nothing,
            Some(_) => Self::Part,
        }
    }

    /// The exit code.
    pub fn code(self) -> ExitCode {
        match self {
            Self::Whole => ExitCode::SUCCESS,
            Self::Part => ExitCode::from(EXIT_CODE),
            Self::Nothing => ExitCode::FAILURE,
        }
    }
}

/// Warns that an answer is without what this agent or tool, which failed or could not start, would have given.
pub fn warn(name: &str, what: &str, why: &str) {
    let why = output::cut(why, MAX_WHY);
    output::aside(format!(
        "warning: the answer is without {name}, which {what}: {why}"
    ));
}

/// Warns of what an answer is made without: a result that failed, or the rest of one of which there is a part.
pub fn warn_missing(missing: &Missing) {
    let Missing {
        name,
        why,
        has_failed,
    } = missing;
    match has_failed {
        true => warn(name, "failed", why),
        false => output::aside(format!("warning: {name}: {}", output::cut(why, MAX_WHY))),
    }
}

/// Says what an answer of this agent lacks.
pub fn tell(agent: &str, shortfall: &Shortfall) {
    let missing = shortfall.missing();
    missing.iter().for_each(warn_missing);
    if missing.is_empty() {
        output::aside(in_a_line(agent, shortfall));
    }
}

/// The shortfall of an answer of which no result is missing, with the agent's own reasons.
fn in_a_line(agent: &str, shortfall: &Shortfall) -> String {
    let reasons = match &*shortfall.lacks {
        [] => String::new(),
        lacks => format!(": {}", lacks.join("; ")),
    };
    let line = format!("{agent}: {}{reasons}", shortfall.in_words());
    output::plain(&line).into_owned()
}

/// The shortfall of an answer, as the data of its message or of an artifact say it.
pub fn shortfall(outcome: &Outcome) -> Option<Shortfall> {
    Shortfall::of(&data(outcome.message.as_ref(), &outcome.artifacts))
}

/// The structured parts of an answer: those of its message, then those of the artifacts.
pub(crate) fn data(message: Option<&Message>, artifacts: &[Artifact]) -> Vec<Value> {
    let message = message.into_iter().flat_map(|message| &message.content);
    let artifacts = artifacts.iter().flat_map(|artifact| &artifact.parts);
    message.chain(artifacts).filter_map(Part::as_data).collect()
}

/// The agents and tools without which an answer had to do, and why.
pub fn missing(shortfall: Option<&Shortfall>) -> Vec<Missing> {
    shortfall.map(Shortfall::missing).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use agenthub_proto::a2a::{Role, TaskState};
    use serde_json::json;

    use super::*;

    fn outcome(data: &Value) -> Outcome {
        let mut message = Message::new(Role::Agent, "so far");
        message.content.push(Part::data(data));
        Outcome {
            task_id: String::new(),
            agent: String::new(),
            state: TaskState::Completed,
            text: String::new(),
            artifacts: Vec::new(),
            message: Some(message),
            error: String::new(),
            spent: None,
            model: String::new(),
        }
    }

    /// spec: SOP-8.7
    #[test]
    fn an_answer_in_part_is_told_with_the_reasons_of_its_agent() {
        let part = Shortfall::new(None, Vec::new());
        assert_eq!(in_a_line("echo", &part), "echo: it did it in part");
        let lacks = ["the data is not looked at", "a \u{1b}[2Jb"].map(str::to_owned);
        assert_eq!(
            in_a_line("echo", &part.lacking(lacks.to_vec())),
            "echo: it did it in part: the data is not looked at; a [2Jb"
        );
    }

    /// spec: SOP-8.7
    #[test]
    fn an_answer_has_the_exit_code_of_its_extent() {
        let extent = |data: Value| Extent::of(shortfall(&outcome(&data)).as_ref());
        assert_eq!(extent(json!({"partial": false})), Extent::Whole);
        let failed = json!({"agent": "b", "state": "failed", "error": "no model"});
        let partial = json!({"partial": true, "results": [failed]});
        assert_eq!(extent(partial.clone()), Extent::Part);
        let read = shortfall(&outcome(&partial));
        let expected = Missing {
            name: "b".to_owned(),
            why: "no model".to_owned(),
            has_failed: true,
        };
        assert_eq!(missing(read.as_ref()), [expected]);
        for (undone, expected) in [("part", Extent::Part), ("all", Extent::Nothing)] {
            let data = json!({"partial": true, "undone": undone, "results": []});
            assert_eq!(extent(data), expected);
        }
        let mut in_a_form = outcome(&json!({"score": 1}));
        let marks = Part::data(&json!({"partial": true, "results": []}));
        in_a_form.artifacts.push(Artifact {
            parts: vec![marks],
            ..Artifact::default()
        });
        let found = shortfall(&in_a_form);
        assert_eq!(Extent::of(found.as_ref()), Extent::Part);
        assert!(Extent::Nothing > Extent::Part && Extent::Part > Extent::Whole);
    }
}
