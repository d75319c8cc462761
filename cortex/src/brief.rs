//! Request for a run.
//!
//! A brief is checked where it enters: what [`Brief::check`] takes keeps to every bound that is named here.

mod constraints;
mod criterion;
mod faults;
mod file;
mod material;

use agenthub_sdk::proto::files::{MAX_FILE_BYTES, MAX_FILES};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use constraints::Constraints;
use constraints::are_criteria;
pub use faults::{Fault, Faults};
pub use file::File;
pub(crate) use material::{Taken, meant};

use crate::origin::CORTEX;

/// The longest objective, in bytes.
pub(crate) const MAX_OBJECTIVE_BYTES: usize = 64 << 10;
/// The largest payload, in bytes of JSON.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 512 << 10;
/// The largest payload beside files, in bytes of JSON: a message of the hub has room for both.
pub(crate) const MAX_PAYLOAD_BESIDE_FILES: usize = 128 << 10;
/// The longest media type, in bytes.
pub(crate) const MAX_MIME_BYTES: usize = 256;
/// The deepest payload, in levels of objects and arrays.
pub(crate) const MAX_PAYLOAD_DEPTH: usize = 20;
/// The most acceptance criteria.
pub(crate) const MAX_CRITERIA: usize = 64;
/// The longest acceptance criterion, in bytes of JSON.
pub(crate) const MAX_CRITERION_BYTES: usize = 4 << 10;
/// The longest id of a thread or a series, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 256;
/// The longest id of an agent, in bytes.
pub(crate) const MAX_AGENT_BYTES: usize = 128;
/// The largest execution depth.
pub(crate) const MAX_DEPTH: u32 = 20;
/// The most turns of the orchestrator.
pub(crate) const MAX_TURNS: u32 = 200;

/// Names under which the payload tells reviewers of the constraints.
pub(crate) const ACCEPTANCE_CRITERIA: &str = "acceptanceCriteria";
pub(crate) const QUALITY_THRESHOLD: &str = "qualityThreshold";

/// Objective of a run, its material and its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Brief {
    /// Objective, in the user's words. 1 byte to 64 KiB.
    pub objective: String,
    /// `app` unless it is given.
    #[serde(default)]
    pub mode: Mode,
    /// In chat mode the agent to talk with; Cortex if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Material for the agents. At most 512 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// Files for the agents, in chat mode. At most 8, and 640 KiB in all of them; beside them the payload has at most 128 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Constraints on the result.
    #[serde(default, skip_serializing_if = "Constraints::is_empty")]
    pub constraints: Constraints,
    /// The most that may be used.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The thread that the run belongs to; it starts one if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Runs of one series learn from each other's results; the thread if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
}

/// Mode of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Plans, hands off, checks quality, and ends with a bundle.
    #[default]
    App,
    /// One turn of a conversation; it ends with a message.
    Chat,
}

impl Mode {
    /// The word for it.
    pub fn label(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Chat => "chat",
        }
    }
}

/// The most that a run and everything that it leads to may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Tokens of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls of models, tools and agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Milliseconds, waiting included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl Brief {
    /// # Errors
    ///
    /// Every field that does not keep to its bounds.
    pub fn check(&self) -> Result<(), Faults> {
        let payload = Value::Object(self.payload.clone());
        let most = match self.files.is_empty() {
            true => MAX_PAYLOAD_BYTES,
            false => MAX_PAYLOAD_BESIDE_FILES,
        };
        let name = |field: &str, name: &Option<String>| match name {
            None => Ok(()),
            Some(name) => is_name(field, name, MAX_NAME_BYTES),
        };
        let of_chat = match self.mode {
            Mode::App => Vec::new(),
            Mode::Chat => self.constraints.suits_a_chat(),
        };
        let checks = [
            self.has_an_objective(),
            self.may_talk_with_the_agent(),
            is_short("payload", payload.to_string().len(), most),
            is_flat("payload", &payload),
            name("threadId", &self.thread_id),
            name("series", &self.series),
        ];
        let checks = checks.into_iter().chain(self.constraints.checks());
        let checks = checks.chain(self.payload_is_held_to()).chain(of_chat);
        let checks = checks.chain(self.files_fit());
        Faults::of(checks.chain(self.budget.checks()))
    }

    fn has_an_objective(&self) -> Result<(), Fault> {
        match self.objective.trim().is_empty() {
            true => Err(Fault::new("objective", "is empty: say what you want")),
            false => is_short("objective", self.objective.len(), MAX_OBJECTIVE_BYTES),
        }
    }

    fn may_talk_with_the_agent(&self) -> Result<(), Fault> {
        match self.agent.as_deref() {
            None => Ok(()),
            Some(_) if self.mode == Mode::App => Err(Fault::new(
                "agent",
                "names who to talk with, which is for the mode `chat`",
            )),
            Some(CORTEX) => Err(Fault::new(
                "agent",
                "is cortex, who would wait for itself: leave it out to talk with Cortex",
            )),
            Some(agent) => is_name("agent", agent, MAX_AGENT_BYTES),
        }
    }

    /// The checks of the constraints among the payload.
    fn payload_is_held_to(&self) -> Vec<Result<(), Fault>> {
        let given = |field: &str| self.payload.get(field).filter(|value| !value.is_null());
        let is_one = |number: f64| (0.0..=1.0).contains(&number);
        let mut checks = Vec::new();
        if let Some(threshold) = given(QUALITY_THRESHOLD)
            && !threshold.as_f64().is_some_and(is_one)
        {
            let why = format!("is {threshold}; it is a number from 0 to 1");
            checks.push(Err(Fault::new(format!("payload.{QUALITY_THRESHOLD}"), why)));
        }
        let Some(criteria) = given(ACCEPTANCE_CRITERIA) else {
            return checks;
        };
        let at = format!("payload.{ACCEPTANCE_CRITERIA}");
        let Some(criteria) = criteria.as_array() else {
            checks.push(Err(Fault::new(at, "takes a list of texts and checks")));
            return checks;
        };
        checks.extend(are_criteria(&at, criteria));
        let all = self.clone().with_payload_held_to();
        let count = all.constraints.acceptance_criteria.len();
        if criteria.len() <= MAX_CRITERIA && count > MAX_CRITERIA {
            let why = format!(
                "makes {count} with constraints.{ACCEPTANCE_CRITERIA}; at most {MAX_CRITERIA}"
            );
            checks.push(Err(Fault::new(at, why)));
        }
        checks
    }

    /// The same brief whose constraints have what the payload holds the result to: its criteria behind those of the constraints, and the
    /// higher of the two thresholds.
    pub fn with_payload_held_to(mut self) -> Self {
        let criteria = self.payload.shift_remove(ACCEPTANCE_CRITERIA);
        let all = &mut self.constraints.acceptance_criteria;
        for criterion in criteria
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if !all.contains(criterion) {
                all.push(criterion.clone());
            }
        }
        let threshold = self.payload.shift_remove(QUALITY_THRESHOLD);
        let threshold = threshold.as_ref().and_then(Value::as_f64);
        let known = self.constraints.quality_threshold;
        self.constraints.quality_threshold = known.into_iter().chain(threshold).reduce(f64::max);
        self
    }
}

impl Budget {
    /// Takes from the other what is not given here.
    pub fn over(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.or(other.tokens),
            calls: self.calls.or(other.calls),
            time_ms: self.time_ms.or(other.time_ms),
        }
    }

    /// The checks of its limits: with one of nothing at all no run can begin.
    fn checks(&self) -> impl Iterator<Item = Result<(), Fault>> {
        let Self {
            tokens,
            calls,
            time_ms,
        } = *self;
        let limits = [("tokens", tokens), ("calls", calls), ("timeMs", time_ms)];
        limits.into_iter().map(|(at, limit)| match limit {
            Some(0) => Err(Fault::new(format!("budget.{at}"), "is 0: give at least 1")),
            _ => Ok(()),
        })
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_short(at: &str, bytes: usize, most: usize) -> Result<(), Fault> {
    match bytes > most {
        true => Err(Fault::new(
            at,
            format!("has {bytes} bytes; at most {most} are taken"),
        )),
        false => Ok(()),
    }
}

fn is_name(at: &str, name: &str, most: usize) -> Result<(), Fault> {
    if name.trim().is_empty() {
        return Err(Fault::new(at, "is empty: leave it out or name one"));
    }
    if name.chars().any(char::is_control) {
        return Err(Fault::new(at, "has control characters"));
    }
    is_short(at, name.len(), most)
}

fn is_within(at: &str, number: u32, most: u32) -> Result<(), Fault> {
    match (1..=most).contains(&number) {
        true => Ok(()),
        false => Err(Fault::new(
            at,
            format!("is {number}; it is a number from 1 to {most}"),
        )),
    }
}

/// The recursion is bounded by that of whatever has read the value.
fn is_flat(at: &str, value: &Value) -> Result<(), Fault> {
    match depth(value) > MAX_PAYLOAD_DEPTH {
        true => Err(Fault::new(
            at,
            format!("is nested more than {MAX_PAYLOAD_DEPTH} levels deep"),
        )),
        false => Ok(()),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
