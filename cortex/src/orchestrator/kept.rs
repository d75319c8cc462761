//! Data of app runs in journals. Later releases read it back: fields are added, never renamed.

use std::collections::BTreeMap;

use agenthub_sdk::{
    model::PromptMessage,
    runs::plan::{AdmittedPlan, Offer, Plan, StepState},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::brief::Brief;

/// Input of an app run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Input {
    /// The request.
    pub(crate) brief: Brief,
    /// True if files came with the request. They stay in its message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_files: bool,
    /// The run's id, which its frames carry.
    pub(crate) run: String,
    /// The run that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// The time for a handoff whose step gives none, in milliseconds.
    pub(crate) handoff_ms: u64,
}

/// Input of a look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Query {
    /// Also what stays the same for the whole run.
    pub(crate) begins: bool,
    /// Run whose plan and results it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// Series whose results it learns from.
    pub(crate) series: String,
}

/// Result of a look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PlanningContext {
    /// Offers of the agents that are here; for each capability the preferred agent first.
    pub(crate) offers: Vec<Offered>,
    /// True if a stand-in for a model plans.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stand_in: bool,
    /// Offers of the agents that are known and away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) away: Vec<Away>,
    /// Artifacts that earlier runs of the thread made, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) thread: Map<String, Value>,
    /// Earlier messages of the thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) history: Vec<PromptMessage>,
    /// Results of earlier runs of the series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) performance: Vec<Value>,
    /// The reason why the run that this one goes on from cannot be gone on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// The state of the run that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reached: Option<Reached>,
}

/// A capability of an agent that is away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Away {
    /// The agent.
    pub(crate) agent: String,
    /// The capability.
    pub(crate) capability: String,
    /// Phase of the run.
    pub(crate) phase: String,
}

/// A capability of an agent that is here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Offered {
    /// The agent, the capability, and its contract.
    #[serde(flatten)]
    pub(crate) offer: Offer,
    /// Its description, from the card.
    pub(crate) description: String,
    /// The tasks that the agent has in hand.
    pub(crate) open_tasks: u32,
    /// The mean score of what it made in earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reached {
    /// The plan.
    pub plan: Plan,
    /// Counts the plan's changes.
    pub version: u64,
    /// The steps that have begun.
    pub steps: BTreeMap<String, Work>,
    /// Outputs of the steps that are done.
    pub(crate) outputs: BTreeMap<String, Value>,
    /// The reviews, oldest first.
    pub(crate) reviews: Vec<Review>,
    /// Number of rounds: times that something was made, a review that asked for more between two of them.
    pub depth: u32,
}

impl Reached {
    /// State of a step, as plans see it.
    pub(crate) fn state(&self, step: &str) -> StepState {
        match self.steps.get(step).map(|work| work.state) {
            None => StepState::Waiting,
            Some(WorkState::Working | WorkState::AwaitingApproval) => StepState::Out,
            Some(WorkState::Completed) => StepState::Done,
            Some(WorkState::Failed) => StepState::Failed,
            Some(WorkState::Skipped) => StepState::Skipped,
        }
    }

    /// The steps that can go out, in the order of the plan.
    pub fn ready(&self) -> Vec<String> {
        let admitted = AdmittedPlan::trusted(self.plan.clone());
        let ready = admitted.ready(|step| self.state(step));
        ready.into_iter().map(str::to_owned).collect()
    }
}

/// A step that has begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Work {
    /// The agent that has it, or had it.
    pub(crate) agent: String,
    /// The capability.
    pub(crate) capability: String,
    /// Phase of the run.
    pub(crate) phase: String,
    /// Its state.
    pub state: WorkState,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
    /// Round.
    pub(crate) depth: u32,
    /// True if a person refused it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
    /// True if a stand-in for a model did it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stand_in: bool,
    /// The digest of what a person was asked to allow.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) approval: String,
    /// The parts of the run's payload that it was handed, as paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) handed: Vec<Vec<String>>,
    /// The agent's own account of what it left aside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_aside: Vec<String>,
}

/// State of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkState {
    /// A person has to allow it.
    AwaitingApproval,
    /// An agent has it.
    #[default]
    Working,
    /// Ended with an output.
    Completed,
    /// Ended without one.
    Failed,
    /// Ended without one, and the plan goes on.
    Skipped,
}

/// Findings of a review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Review {
    /// The step.
    pub(crate) step: String,
    /// The reviewer.
    pub(crate) agent: String,
    /// The steps whose outputs were reviewed.
    pub(crate) of: Vec<String>,
    /// From 0 to 1.
    pub(crate) score: Option<f64>,
    /// True if the reviewer lets it pass.
    pub(crate) pass: bool,
    /// Changes that the reviewer asks for.
    pub(crate) issues: Vec<String>,
    /// Each check with verdict and evidence.
    pub(crate) checks: Vec<Value>,
    /// Round.
    pub(crate) depth: u32,
    /// True if the reviewer was given every acceptance criterion.
    pub(crate) knew_criteria: bool,
}

impl Review {
    /// The review in the data of an answer that nobody planned; `None` where they have no verdict.
    pub(crate) fn found(agent: &str, data: &Value) -> Option<Self> {
        let has_verdict = |value: &Value| value["pass"].is_boolean();
        let nested = || {
            data.as_object()
                .is_some_and(|fields| fields.values().any(has_verdict))
        };
        (has_verdict(data) || nested()).then(|| Self::of("", agent, Vec::new(), data, 0, true))
    }

    /// The content of a review's output: the first object in it that has a score or a verdict.
    pub(crate) fn of(
        step: &str,
        agent: &str,
        reviewed: Vec<String>,
        output: &Value,
        depth: u32,
        knew_criteria: bool,
    ) -> Self {
        let is_verdict =
            |value: &&Value| value.get("score").is_some() || value.get("pass").is_some();
        let nested = || output.as_object()?.values().find(is_verdict);
        let verdict = Some(output)
            .filter(is_verdict)
            .or_else(nested)
            .unwrap_or(&Value::Null);
        let texts = |field: &str| -> Vec<String> {
            let items = verdict[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let score = verdict["score"].as_f64().filter(|s| s.is_finite());
        Self {
            step: step.to_owned(),
            agent: agent.to_owned(),
            of: reviewed,
            score: score.map(|s| s.clamp(0.0, 1.0)),
            pass: verdict["pass"].as_bool().unwrap_or(false),
            issues: texts("issues"),
            checks: verdict["checks"].as_array().cloned().unwrap_or_default(),
            depth,
            knew_criteria,
        }
    }

    /// True if it lets nothing pass only because what was asked for could not be checked. Another round would not change that.
    pub(super) fn is_open(&self) -> bool {
        let is_asked = |check: &&Value| is_rule(check) || check["criterion"].is_string();
        let has_failed = self.checks.iter().any(|check| check["verdict"] == "fail");
        let mut asked = self.checks.iter().filter(is_asked);
        !self.pass && self.issues.is_empty() && !has_failed && asked.any(|check| !is_verdict(check))
    }

    /// As the model is told.
    pub(crate) fn told(&self) -> Value {
        json!({
            "step": self.step,
            "of": self.of,
            "score": self.score,
            "pass": self.pass,
            "issues": self.issues,
            "round": self.depth,
        })
    }
}

/// True if somebody judged what this is a check of.
pub(super) fn is_verdict(check: &Value) -> bool {
    matches!(check["verdict"].as_str(), Some("pass" | "fail"))
}

/// True if this is a check of a rule that the request sets, other than a criterion.
pub(super) fn is_rule(check: &Value) -> bool {
    (check["hard"] == true || check["rule"] == true) && check["criterion"].is_null()
}
