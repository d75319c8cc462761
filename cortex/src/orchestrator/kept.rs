//! What journals hold of app runs. Later releases read it back: fields are added, never renamed.

use std::collections::BTreeMap;

use agenthub_sdk::{
    model::Message,
    runs::plan::{AdmittedPlan, Offer, Plan, StepState},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::brief::Brief;

/// What an app run begins with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Input {
    /// What is asked for.
    pub(crate) brief: Brief,
    /// The run's id, which its frames carry.
    pub(crate) run: String,
    /// The run that this one goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// The time for a handoff whose step gives none, in milliseconds.
    pub(crate) handoff_ms: u64,
}

/// What a look asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Query {
    /// Also what stays the same for the whole run.
    pub(crate) begins: bool,
    /// Whose plan and results it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// Whose results it learns from.
    pub(crate) series: String,
}

/// What a look sees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Seen {
    /// What the agents that are here offer, for each capability the agent first that is to be preferred.
    pub(crate) offers: Vec<Offered>,
    /// What earlier runs of the thread made, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) thread: Map<String, Value>,
    /// What was said in the thread before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) history: Vec<Message>,
    /// What earlier runs of the series led to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) performance: Vec<Value>,
    /// Why the run that this one goes on from cannot be gone on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// Where the run that this one goes on from stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reached: Option<Reached>,
}

/// A capability of an agent that is here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Offered {
    /// Who, what, and the contract.
    #[serde(flatten)]
    pub(crate) offer: Offer,
    /// What the card says of it.
    pub(crate) description: String,
    /// The tasks that the agent has in hand.
    pub(crate) open_tasks: u32,
    /// The mean score of what it made in earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reached {
    /// The plan.
    pub plan: Plan,
    /// Counts the plan's changes.
    pub version: u64,
    /// The steps that have begun.
    pub steps: BTreeMap<String, Work>,
    /// What the steps that are done have given.
    pub(crate) outputs: BTreeMap<String, Value>,
    /// The reviews, oldest first.
    pub(crate) reviews: Vec<Review>,
    /// How often something was made, a review that asked for more between two times.
    pub depth: u32,
}

impl Reached {
    /// How far a step is, as plans see it.
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
    /// Who has it, or had it.
    pub(crate) agent: String,
    /// What for.
    pub(crate) capability: String,
    /// In which phase.
    pub(crate) phase: String,
    /// How far it is.
    pub state: WorkState,
    /// Why it came to nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
    /// In which round.
    pub(crate) depth: u32,
    /// Whether a person refused it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_refused: bool,
    /// Whether a stand-in for a model did it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stand_in: bool,
    /// The digest of what a person was asked to allow.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) approval: String,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkState {
    /// A person has to allow it.
    AwaitingApproval,
    /// An agent has it.
    #[default]
    Working,
    /// It has an output.
    Completed,
    /// It came to nothing.
    Failed,
    /// It came to nothing, and the plan goes on without it.
    Skipped,
}

/// What a review found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Review {
    /// The step.
    pub(crate) step: String,
    /// Who reviewed.
    pub(crate) agent: String,
    /// The steps whose outputs were reviewed.
    pub(crate) of: Vec<String>,
    /// From 0 to 1.
    pub(crate) score: Option<f64>,
    /// Whether the reviewer lets it pass.
    pub(crate) pass: bool,
    /// What is to be mended.
    pub(crate) issues: Vec<String>,
    /// Each check with verdict and evidence.
    pub(crate) checks: Vec<Value>,
    /// In which round it was.
    pub(crate) depth: u32,
    /// Whether the reviewer was given every acceptance criterion.
    pub(crate) knew_criteria: bool,
}

impl Review {
    /// What a review's output says: the first object in it that has a score or a verdict.
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

    /// Whether it lets nothing pass only because what was asked for could not be checked. Another round would not change that.
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

/// Whether somebody judged what this is a check of.
pub(super) fn is_verdict(check: &Value) -> bool {
    matches!(check["verdict"].as_str(), Some("pass" | "fail"))
}

/// Whether this is a check of a rule that the request sets, other than a criterion.
pub(super) fn is_rule(check: &Value) -> bool {
    (check["hard"] == true || check["rule"] == true) && check["criterion"].is_null()
}
