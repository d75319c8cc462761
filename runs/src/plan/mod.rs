//! Plans: steps for agents, their payloads and their order.
//!
//! A plan is data that a model or a person proposes. [`admit`] and [`admit_patch`] check that it can be carried out:
//! all capabilities are offered, payloads fit the agents' input, dependencies have no cycle, and limits are kept. An
//! [`AdmittedPlan`] plan cannot deadlock: as long as steps return, another one is [ready](AdmittedPlan::ready), or all have
//! ended.
//!
//! Everything here is pure.

mod admit;
mod admitted;
mod bounds;
mod faults;
mod fitting;
mod name;
mod offers;
mod order;
mod partial_payload;
mod patch;
mod reference_faults;
mod references;
mod resolving;
mod schemas;
mod shape;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::effect::Retry;

pub use admit::{admit, admit_patch};
pub use admitted::{AdmittedPlan, StepState};
pub use faults::Fault;
pub use fitting::fits;
pub use name::{InvalidName, StepName};
pub use patch::patched;
pub use reference_faults::leads_nowhere;
pub use references::{InvalidReference, Reference, Source, references};
pub use resolving::{ResolveError, Scope, resolve};
pub use schemas::violations;

/// A plan: named steps, and the result made from their outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The steps. Their order does not imply a dependency, but steps that are ready together begin in this order.
    #[serde(default)]
    pub steps: IndexMap<StepName, PlanStep>,
    /// Template of the result: objects, arrays, and texts that contain [references](Reference).
    #[serde(default = "nothing")]
    pub result: Value,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            steps: IndexMap::new(),
            result: nothing(),
        }
    }
}

/// A step: capability, agent, payload, and recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanStep {
    /// Skill id that an agent offers.
    pub capability: String,
    /// The agent; any agent that offers the capability if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Input of the agent: an object, whose texts can contain [references](Reference).
    #[serde(default = "nothing")]
    pub payload: Value,
    /// Dependencies besides those that the payload references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepName>,
    /// Retry policy.
    #[serde(default, with = "RetryForm", skip_serializing_if = "is_default")]
    pub retry: Retry,
    /// Timeout of one attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Recovery after the last failed attempt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recovery: Recovery,
    /// True if a person must approve the step first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: bool,
    /// Purpose of the step, for readers of the plan.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl PlanStep {
    /// A step for any agent with this capability, with one attempt and no timeout.
    pub fn new(capability: impl Into<String>, payload: Value) -> Self {
        Self {
            capability: capability.into(),
            agent: None,
            payload,
            depends_on: Vec::new(),
            retry: Retry::default(),
            timeout_ms: None,
            recovery: Recovery::default(),
            approval: false,
            note: String::new(),
        }
    }
}

/// Recovery after the last failed attempt at a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Recovery {
    /// Fails the run.
    #[default]
    Fail,
    /// Skips the step; fields that reference its output are omitted.
    Skip,
    /// Tries another agent; if that fails too, the run fails.
    Fallback {
        /// The other agent.
        agent: String,
    },
}

/// A skill that an agent offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Offer {
    /// The agent.
    pub agent: String,
    /// Skill id.
    pub capability: String,
    /// JSON Schema of the input; any input if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// JSON Schema of the output; any output if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Phase of a run in which the skill is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
}

/// Context in which a plan is admitted.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Offers of agents.
    pub offers: &'a [Offer],
    /// Payload of the run.
    pub input: &'a Value,
    /// Results of earlier runs of the thread, by name.
    pub thread: &'a Value,
    /// Steps that have begun or ended. They must not change.
    pub begun: &'a BTreeSet<String>,
    /// Steps that have failed for good, though the run continues. No waiting step may depend on one.
    pub failed: &'a BTreeSet<String>,
    /// Outputs of the steps that are done.
    pub outputs: &'a BTreeMap<String, Value>,
    /// Limits of the plan.
    pub limits: Limits,
}

/// Limits of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum steps, ended ones included.
    pub max_steps: usize,
    /// Maximum length of a chain of dependent steps.
    pub max_chain: usize,
    /// Calls left in the budget: at least one is needed for each waiting step. Unlimited if `None`.
    pub max_calls: Option<u64>,
    /// True if the depth of delegation permits another one.
    pub may_delegate: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 64,
            max_chain: 32,
            max_calls: None,
            may_delegate: true,
        }
    }
}

/// Serialized form of a [`Retry`] in plans.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Retry", rename_all = "camelCase", deny_unknown_fields)]
struct RetryForm {
    #[serde(default = "once")]
    attempts: u32,
    #[serde(default)]
    pause_ms: u64,
}

fn once() -> u32 {
    Retry::default().attempts
}

fn nothing() -> Value {
    Value::Object(Map::new())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;
