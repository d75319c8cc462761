//! Work without an agent: waits for a time, for events of the hub, and for a person's decision.

use agenthub_sdk::{
    model::ToolCall,
    runs::{self, Approval, Effect, StepId, StepResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::evaluating::{Evaluation, WorkState};
use crate::{scope::Scope, template::Template};

/// Name of the call that waits for an event of the hub.
pub(crate) const EVENT: &str = "wait_for_event";

/// An event of the hub that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
        let note = StepId::new(format!("{name}/after"));
        let noted = self.facts.noted(&note);
        let query = match noted.and_then(|noted| EventQuery::deserialize(noted).ok()) {
            Some(noted) => noted,
            // What an earlier run took stands, wherever in the log it came.
            None if self.result(&waiting(name, &query)).is_some() => query,
            None => {
                if let Some(after) = self.free_from(&query) {
                    let query = json!(EventQuery { after, ..query });
                    self.wanted
                        .push(runs::Step::new(note.as_str(), Effect::Note(query)));
                }
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

    /// The position behind which the next step may wait for an event; none while another step waits for the same, or is about to.
    fn free_from(&self, query: &EventQuery) -> Option<String> {
        let is_same = |noted: &Value| {
            noted["event"] == *query.event
                && noted["from"] == *query.from
                && noted["matching"] == query.matching
        };
        let is_about_to = self.wanted.iter().any(|step| match &step.effect {
            Effect::Note(noted) => is_same(noted),
            _ => false,
        });
        if is_about_to {
            return None;
        }
        let mut last: Option<(u64, &str)> = None;
        for (note, noted) in self.facts.notes() {
            let Some(name) = note.as_str().strip_suffix("/after") else {
                continue;
            };
            if !is_same(noted) {
                continue;
            }
            let noted = EventQuery::deserialize(noted).ok()?;
            let step = waiting(name, &noted);
            let ended_ms = self.facts.ended_ms(&step)?;
            if let Some(StepResult::ToolReturned(output)) = self.facts.result(&step)
                && let Some(position) = output.value["position"].as_str()
            {
                last = last.max(Some((ended_ms, position)));
            }
        }
        Some(last.map_or(self.since, |(_, position)| position).to_owned())
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
