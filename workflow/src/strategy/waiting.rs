//! Work without an agent: waits for a time, for events of the hub, and for a person's decision.

use std::collections::HashMap;

use agenthub_sdk::{
    model::ToolCall,
    runs::{self, Approval, Effect, Facts, StepId, StepResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::evaluating::{Evaluation, WorkState};
use crate::{scope::Scope, template::Template};

/// Name of the call that waits for an event of the hub.
pub(crate) const EVENT: &str = "wait_for_event";

/// An event of the hub that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EventQuery {
    /// Its type.
    pub(crate) event: String,
    /// Its sender; empty for anybody.
    pub(crate) from: String,
    /// Fields that its data has.
    pub(crate) matching: Value,
    /// The position in the hub's log behind which it comes.
    pub(crate) after: String,
}

/// Ending of the name of the note that says for which event a step waits.
const AFTER: &str = "/after";

/// Steps that wait for events, in one line for each event: its query without a position.
#[derive(Debug)]
pub(super) struct EventLines(HashMap<EventQuery, Line>);

/// Steps that wait for the same event, one after the other.
#[derive(Debug, Default)]
struct Line {
    /// A step waits.
    is_taken: bool,
    /// The last event that one of them took: when the step ended, and where in the hub's log the event came.
    last: Option<(u64, String)>,
    /// The note of the step that is about to wait, and its place among the steps that are wanted. It may be withdrawn there.
    wanted: Option<(usize, StepId)>,
}

impl EventLines {
    /// Of the notes of a run, each of which is read once.
    fn of(facts: &Facts) -> Self {
        let mut lines = Self(HashMap::new());
        for (note, noted) in facts.notes() {
            #[cfg(test)]
            super::tests::NOTES_READ.set(super::tests::NOTES_READ.get() + 1);
            let Some(name) = note.as_str().strip_suffix(AFTER) else {
                continue;
            };
            if let Ok(noted) = EventQuery::deserialize(noted) {
                lines.add(name, noted, facts);
            }
        }
        lines
    }

    fn add(&mut self, name: &str, noted: EventQuery, facts: &Facts) {
        let step = waiting(name, &noted);
        let query = EventQuery {
            after: String::new(),
            ..noted
        };
        let line = self.0.entry(query).or_default();
        let Some(ended_ms) = facts.ended_ms(&step) else {
            line.is_taken = true;
            return;
        };
        if let Some(StepResult::ToolReturned(output)) = facts.result(&step)
            && let Some(position) = output.value["position"].as_str()
        {
            let took = Some((ended_ms, position.to_owned()));
            line.last = line.last.take().max(took);
        }
    }
}

impl Evaluation<'_> {
    /// Time for work that begins at a time: its own, or what is left to its branch. With nothing left, it has failed.
    pub(super) fn time_left(
        &self,
        timeout_ms: Option<u64>,
        begun_ms: u64,
    ) -> Result<Option<u64>, WorkState> {
        let Some(deadline_ms) = self.deadline_ms else {
            return Ok(timeout_ms);
        };
        match deadline_ms.saturating_sub(begun_ms) {
            0 => Err(branch_over(deadline_ms)),
            left_ms => Ok(Some(timeout_ms.map_or(left_ms, |own| own.min(left_ms)))),
        }
    }

    /// Waits until a time, if its branch lasts so long.
    pub(super) fn wait_in_branch(&mut self, name: &str, until_ms: u64) -> WorkState {
        match self.deadline_ms {
            Some(deadline_ms) if deadline_ms < until_ms => match self.wait(name, deadline_ms) {
                WorkState::Completed { .. } => branch_over(deadline_ms),
                waiting => waiting,
            },
            _ => self.wait(name, until_ms),
        }
    }

    /// Waits until a time.
    fn wait(&mut self, name: &str, until_ms: u64) -> WorkState {
        let step = runs::Step::new(name, Effect::Wait(until_ms));
        self.awaited(step, until_ms, |_| Ok(json!({})))
    }

    /// Waits for an event of the hub that came since the run was asked for. Of steps that wait for the same, one waits after the other, each for
    /// the events behind that of the one before it.
    pub(super) fn event(
        &mut self,
        name: &str,
        (event, from, matching): (&str, &str, &Template),
        timeout_ms: Option<u64>,
        scope: &Scope<'_>,
        at_ms: u64,
    ) -> WorkState {
        let matching = match matching.value(scope) {
            Ok(matching) => matching.unwrap_or_else(|| json!({})),
            Err(error) => {
                let error = format!("`match`: {error}");
                return WorkState::Failed { error, at_ms };
            }
        };
        let query = EventQuery {
            event: event.to_owned(),
            from: from.to_owned(),
            matching,
            after: String::new(),
        };
        let note = StepId::new(format!("{name}{AFTER}"));
        let noted = self.facts.noted(&note);
        let query = match noted.and_then(|noted| EventQuery::deserialize(noted).ok()) {
            Some(noted) => noted,
            // What an earlier run took stands, wherever in the log it came.
            None if self.result(&waiting(name, &query)).is_some() => query,
            None => {
                self.line_up(&note, query);
                return WorkState::Working;
            }
        };
        let mut step = waiting(name, &query);
        step.timeout_ms = match self.time_left(timeout_ms, at_ms) {
            Ok(left_ms) => left_ms,
            Err(over) => return over,
        };
        let waited = self.awaited(step, at_ms, |result| match result {
            StepResult::ToolReturned(output) if !output.is_error => {
                Ok(output.value["message"].clone())
            }
            StepResult::ToolReturned(output) => Err(output.value.to_string()),
            _ => Err(another_kind()),
        });
        match waited {
            WorkState::Failed { error, at_ms } => WorkState::Failed {
                error: format!("no event `{event}` came: {error}"),
                at_ms,
            },
            waited => waited,
        }
    }

    /// Has a step wait for an event, behind that of the step before it, unless another step waits for the same, or is about to.
    fn line_up(&mut self, note: &StepId, query: EventQuery) {
        let facts = self.facts;
        let lines = self.lines.get_or_insert_with(|| EventLines::of(facts));
        let line = lines.0.entry(query.clone()).or_default();
        let is_wanted = line
            .wanted
            .as_ref()
            .is_some_and(|(at, note)| self.wanted.get(*at).is_some_and(|step| step.id == *note));
        if line.is_taken || is_wanted {
            return;
        }
        let last = line.last.as_ref().map(|(_, position)| position.clone());
        let after = last.unwrap_or_else(|| self.since.to_owned());
        line.wanted = Some((self.wanted.len(), note.clone()));
        let query = json!(EventQuery { after, ..query });
        let noted = runs::Step::new(note.as_str(), Effect::Note(query));
        self.wanted.push(noted);
    }

    /// Asks a person.
    pub(super) fn approve(
        &mut self,
        name: &str,
        (text, input): (&Template, &Template),
        timeout_ms: Option<u64>,
        scope: &Scope<'_>,
        at_ms: u64,
    ) -> WorkState {
        let shown = match shown(text, input, scope) {
            Ok(shown) => shown,
            Err(error) => return WorkState::Failed { error, at_ms },
        };
        let approval = Approval::new(self.run, name, "", "", shown);
        let mut step = runs::Step::new(name, Effect::Approve(approval));
        step.timeout_ms = match self.time_left(timeout_ms, at_ms) {
            Ok(left_ms) => left_ms,
            Err(over) => return over,
        };
        self.awaited(step, at_ms, |result| match result {
            StepResult::Decided(decision) if decision.approved => Ok(json!({
                "approved": true,
                "by": decision.by,
                "comment": decision.comment,
            })),
            StepResult::Decided(decision) => Err(match &*decision.comment {
                "" => format!("{} refused it", decision.by),
                comment => format!("{} refused it: {comment}", decision.by),
            }),
            _ => Err(another_kind()),
        })
    }

    /// State of a step that is waited for. `output` makes its output, or its error, of a result that is neither a failure nor a cancellation;
    /// without a time of its end, it ended at `at_ms`.
    fn awaited(
        &mut self,
        step: runs::Step,
        at_ms: u64,
        output: impl FnOnce(&StepResult) -> Result<Value, String>,
    ) -> WorkState {
        let at_ms = self.ended_ms(&step).unwrap_or(at_ms);
        let output = match self.result(&step) {
            None => {
                self.wanted.push(step);
                return WorkState::Working;
            }
            Some(StepResult::Cancelled) => return WorkState::Cancelled { at_ms },
            Some(StepResult::Failed(failure)) => Err(failure.message.clone()),
            Some(result) => output(result),
        };
        match output {
            Ok(output) => WorkState::Completed { output, at_ms },
            Err(error) => WorkState::Failed { error, at_ms },
        }
    }
}

/// The step of the run that waits for an event.
fn waiting(name: &str, query: &EventQuery) -> runs::Step {
    let call = ToolCall {
        id: name.to_owned(),
        name: EVENT.to_owned(),
        arguments: json!(query),
    };
    runs::Step::new(name, Effect::Call(call))
}

/// A question to a person, as it is shown.
fn shown(text: &Template, input: &Template, scope: &Scope<'_>) -> Result<Value, String> {
    let text = text.value(scope).map_err(|error| error.to_string())?;
    let input = input.value(scope).map_err(|error| error.to_string())?;
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let input = input.filter(|input| !is_empty(input));
    let mut shown = Map::new();
    shown.extend(text.map(|text| ("question".to_owned(), text)));
    shown.extend(input.map(|input| ("input".to_owned(), input)));
    Ok(Value::Object(shown))
}

fn branch_over(at_ms: u64) -> WorkState {
    WorkState::Failed {
        error: "the time of its branch is over".to_owned(),
        at_ms,
    }
}

/// Error of a step whose journal has a result that it cannot have.
pub(super) fn another_kind() -> String {
    "the step has a result of another kind".to_owned()
}
