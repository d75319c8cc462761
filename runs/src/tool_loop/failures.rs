//! Failures of called agents, in each error mode.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    effect::{DelegationResult, Handoff},
    event::{RunOutcome, StepResult},
    model::{ToolCall, Undone},
    shortfall::{AgentEnd, Shortfall},
};

/// Maximum bytes of a text in an outcome's results: all of them together stay well below a message's limit.
const MAX_RESULTS: usize = 256 * 1024;

/// Maximum characters of an error in an outcome's text.
const MAX_ERROR: usize = 500;

/// Handling of failed agents. Failures of the agent's own tools are always returned to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorMode {
    /// Returns the failure to the model, which decides.
    #[default]
    Tell,
    /// Ends the run at once with that agent's name and error; other agents are recalled.
    FailFast,
    /// Returns the failure to the model and continues. The outcome's text names the failures, and its data has the
    /// agents' results: `{"partial": true, "results": [{"agent", "tool", "task", "state", "text"?, "data"?,
    /// "error"?}]}`. If the model itself fails in the end, or the budget is used up, the agents' results, if any, are
    /// the outcome. An answer with a [`AnswerForm`](super::AnswerForm) keeps its data, and a run with a form fails if there is no
    /// answer.
    Continue,
}

impl ErrorMode {
    pub(super) fn is_tell(&self) -> bool {
        *self == Self::Tell
    }
}

/// Report on the work of a called agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    agent: String,
    tool: String,
    /// The request, as text.
    task: String,
    state: String,
    text: String,
    data: Vec<Value>,
    /// Empty on success.
    error: String,
    /// Shortfall of a result, as its data say it.
    shortfall: Option<Shortfall>,
}

impl Report {
    /// The report for this result.
    pub(super) fn of(handoff: &Handoff, result: &StepResult) -> Self {
        let without = |state: &str, error: &str| DelegationResult {
            agent: handoff.agent.clone(),
            state: state.to_owned(),
            error: error.to_owned(),
            ..DelegationResult::default()
        };
        let came = match result {
            StepResult::DelegationEnded(delegated) => delegated.clone(),
            StepResult::Failed(failure) => without("failed", &failure.message),
            _ => without("cancelled", "it was called back"),
        };
        let agent = [came.agent, handoff.agent.clone()];
        let tool = [handoff.tool.clone(), handoff.agent.clone()];
        let first = |names: [String; 2]| names.into_iter().find(|n| !n.is_empty());
        let is_error = came.state != "completed";
        Self {
            error: match is_error {
                true => why(&came.state, &came.error),
                false => String::new(),
            },
            // The agent's final message about a failure is not a result.
            text: match is_error && came.text == came.error {
                true => String::new(),
                false => came.text,
            },
            agent: first(agent).unwrap_or_default(),
            tool: first(tool).unwrap_or_default(),
            task: handoff.text.clone(),
            state: came.state,
            shortfall: Shortfall::of(&came.data),
            data: came.data,
        }
    }

    /// The report of work without a result when the run ends.
    pub(super) fn without_result(handoff: &Handoff, is_out: bool, error: &str) -> Self {
        let before = if is_out { "called back" } else { "not asked" };
        let delegated = DelegationResult {
            agent: handoff.agent.clone(),
            state: "cancelled".to_owned(),
            error: format!("{before}: {error}"),
            ..DelegationResult::default()
        };
        Self::of(handoff, &StepResult::DelegationEnded(delegated))
    }

    pub(super) fn is_failed(&self) -> bool {
        self.state != "completed"
    }

    fn end(&self) -> AgentEnd<'_> {
        AgentEnd {
            agent: &self.agent,
            is_completed: !self.is_failed(),
            shortfall: self.shortfall.as_ref(),
        }
    }

    /// The failure in one line.
    pub(super) fn failure(&self) -> String {
        format!("{} failed: {}", self.tool, self.error)
    }

    /// Tool result for a handoff that could not be dispatched.
    pub(super) fn for_model(&self) -> Value {
        json!({ "agent": self.agent, "state": self.state, "error": self.error })
    }

    fn json(&self, max_bytes: usize) -> Value {
        let mut told = json!({
            "agent": self.agent,
            "tool": self.tool,
            "task": head(&self.task, max_bytes),
            "state": self.state,
        });
        if !self.text.is_empty() {
            told["text"] = head(&self.text, max_bytes).into();
        }
        let data = Value::from(self.data.clone());
        if !self.data.is_empty() && data.to_string().len() <= max_bytes {
            told["data"] = data;
        }
        if !self.error.is_empty() {
            told["error"] = head(&self.error, max_bytes).into();
        }
        if let Some(shortfall) = self.shortfall.as_ref().filter(|_| !self.is_failed()) {
            told["lacks"] = line(&shortfall.in_words()).into();
        }
        told
    }
}

/// End of a call of one of the agent's own tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolEnd {
    tool: String,
    /// `None` on success.
    error: Option<String>,
}

impl ToolEnd {
    pub(super) fn of(call: &ToolCall, result: &StepResult) -> Self {
        let error = match result {
            StepResult::ToolReturned(output) if !output.is_error => None,
            StepResult::ToolReturned(output) => Some(match &output.value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            }),
            StepResult::Failed(failure) => Some(failure.message.clone()),
            _ => Some("it did not come to its end".to_owned()),
        };
        Self {
            tool: call.name.clone(),
            error,
        }
    }
}

/// Shortfall of an answer; `None` if it is whole. An answer lacks what the model declares undone, what an agent that was
/// asked did not give and was not asked again for with success, and what tools did not give if all calls failed: whatever
/// the model answered then, it is not based on them. It lacks everything if agents were asked and none gave anything. Tools may fail as long as one call gives a result.
pub(super) fn shortfall(
    undone: Option<Undone>,
    tools: &[ToolEnd],
    reports: &[Report],
) -> Option<Shortfall> {
    let ends: Vec<AgentEnd<'_>> = reports.iter().map(Report::end).collect();
    let has_any =
        tools.iter().any(|tool| tool.error.is_none()) || ends.iter().any(|end| !end.gave_nothing());
    let failed = match has_any {
        true => Vec::new(),
        false => failed(tools),
    };
    if undone.is_none() && !AgentEnd::is_any_missing(&ends) && failed.is_empty() {
        return None;
    }
    let mut results = failed;
    results.extend(self::results(reports));
    let is_nothing = !has_any && !reports.is_empty();
    let undone = match is_nothing {
        true => Some(Undone::All),
        false => undone,
    };
    Some(Shortfall::new(undone, results))
}

/// Results of the tools that failed.
fn failed(tools: &[ToolEnd]) -> Vec<Value> {
    let failed = tools.iter().filter_map(|end| {
        let error = line(end.error.as_deref()?);
        Some(json!({ "tool": end.tool, "state": "failed", "error": error }))
    });
    failed.collect()
}

/// Reason for a missing result, in words.
fn why(state: &str, error: &str) -> String {
    match (state, error) {
        ("input-required", "") => "it asked back, and nobody can answer".to_owned(),
        ("input-required", question) => {
            format!("it asked back, and nobody can answer: {question}")
        }
        (state, "") => format!("the task is {state}"),
        (_, error) => error.to_owned(),
    }
}

/// Outcome of failing fast: the first agent that failed, in the order of the calls.
pub(super) fn fail_fast(reports: &[Report]) -> Option<RunOutcome> {
    let first = reports.iter().find(|report| report.is_failed())?;
    Some(RunOutcome::failed(first.failure()))
}

/// The model's answer, followed by the failures.
pub(super) fn answered(
    text: String,
    data: Value,
    shortfall: Option<Shortfall>,
    reports: &[Report],
) -> RunOutcome {
    let Some(missing) = missing(reports) else {
        return with(text, data, shortfall);
    };
    // The answer stays a prefix, as it was shown while it grew.
    let between = match () {
        () if text.ends_with("\n\n") => "",
        () if text.ends_with('\n') => "\n",
        () => "\n\n",
    };
    let shortfall = shortfall.unwrap_or_else(|| Shortfall::new(None, results(reports)));
    let text = format!("{text}{between}{missing}");
    with(text, data, Some(shortfall))
}

/// An answer with its data, or where it has none, with its shortfall in their place.
pub(super) fn with(text: String, data: Value, shortfall: Option<Shortfall>) -> RunOutcome {
    match shortfall {
        Some(shortfall) if data.is_null() => RunOutcome::with_data(text, shortfall.to_json()),
        lacks => RunOutcome::Completed {
            text,
            data,
            lacks: lacks.map(Box::new),
        },
    }
}

/// Outcome without an answer: the agents' results.
pub(super) fn unanswered(error: &str, reports: &[Report]) -> RunOutcome {
    let given: Vec<String> = reports.iter().filter_map(given).collect();
    if given.is_empty() {
        return unusable(error, reports);
    }
    let mut texts = given;
    texts.push(format!(
        "This is all there is: nothing was made of it, because {}.",
        line(error)
    ));
    texts.extend(missing(reports));
    let data = json!({ "partial": true, "error": error, "results": results(reports) });
    RunOutcome::with_data(texts.join("\n\n"), data)
}

/// A failure that also names the agents that failed before.
pub(super) fn unusable(error: &str, reports: &[Report]) -> RunOutcome {
    let failures = reports.iter().filter(|report| report.is_failed());
    let failures = failures.map(|report| line(&report.failure()));
    let all: Vec<String> = [error.to_owned()].into_iter().chain(failures).collect();
    RunOutcome::failed(all.join("; "))
}

/// One agent's result, under its name.
fn given(report: &Report) -> Option<String> {
    if report.is_failed() {
        return None;
    }
    let text = match report.text.trim() {
        "" if report.data.is_empty() => return None,
        "" => Value::from(report.data.clone()).to_string(),
        text => text.to_owned(),
    };
    let text = head(&text, MAX_RESULTS / 16);
    Some(format!("{}:\n{text}", report.agent))
}

/// The paragraph that names the failures.
fn missing(reports: &[Report]) -> Option<String> {
    let failed: Vec<&Report> = reports.iter().filter(|r| r.is_failed()).collect();
    if failed.is_empty() {
        return None;
    }
    let mut text =
        "This answer is partial, because not everyone who was asked gave a result:".to_owned();
    let mut said = HashSet::new();
    for report in failed {
        let error = line(&report.error);
        let since = reports.iter().skip_while(|r| !std::ptr::eq(*r, report));
        let again = since
            .filter(|r| r.agent == report.agent)
            .any(|r| !r.is_failed());
        let again = if again {
            " (asked again, it gave one)"
        } else {
            ""
        };
        let told = format!("\n- {}: {error}{again}", report.agent);
        if said.insert(told.clone()) {
            text.push_str(&told);
        }
    }
    Some(text)
}

fn results(reports: &[Report]) -> Vec<Value> {
    let share = MAX_RESULTS / reports.len().max(1) / 4;
    reports.iter().map(|report| report.json(share)).collect()
}

/// The text on one line, truncated to 500 characters.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(MAX_ERROR) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The first `max_bytes` bytes of a text.
fn head(text: &str, max_bytes: usize) -> String {
    match text.len() <= max_bytes {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(max_bytes)]),
    }
}
