//! Plans: steps for agents, what they are given, and in which order.
//!
//! A plan is data that a model or a person proposes. [`admit`] and [`admit_patch`] say whether it can be carried out: everything that it
//! needs is offered, what goes into a step fits what the agent takes, no step waits for itself, and limits are kept. What is
//! [`Admitted`] can't get stuck: as long as steps come back, one more is [ready](Admitted::ready), or all are over.
//!
//! Everything here is pure.

mod admit;
mod admitted;
mod bounds;
mod checked_references;
mod faults;
mod filled;
mod fitting;
mod name;
mod offered;
mod order;
mod patch;
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
pub use admitted::{Admitted, StepState};
pub use faults::Fault;
pub use fitting::fits;
pub use name::{InvalidName, StepName};
pub use patch::patched;
pub use references::{InvalidReference, Reference, Source, references};
pub use resolving::{Missing, Scope, resolve};
pub use schemas::violations;

/// What is to be done: steps by name, and what their outputs are put together to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The steps. Their order says nothing about the order of work, but what could go out together goes out in it.
    #[serde(default)]
    pub steps: IndexMap<StepName, PlanStep>,
    /// The shape of the result: objects, arrays, and texts that contain [references](Reference).
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

/// A step: who shall do what, with what, and what happens if that fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanStep {
    /// What is to be done: a skill that an agent offers.
    pub capability: String,
    /// Who shall do it; any agent that offers it, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the agent is given: an object, whose texts can contain [references](Reference).
    #[serde(default = "nothing")]
    pub payload: Value,
    /// Steps that must be over before, besides those that the payload refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepName>,
    /// How often it is tried.
    #[serde(default, with = "RetryForm", skip_serializing_if = "is_default")]
    pub retry: Retry,
    /// The time for one attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What happens when all attempts have failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recovery: Recovery,
    /// Whether a person must say yes before it goes out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: bool,
    /// Why it is there, for those who read the plan.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl PlanStep {
    /// A step for any agent that offers this, tried once, without a limit of its own.
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

/// What happens when all attempts at a step have failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Recovery {
    /// The run has failed.
    #[default]
    Fail,
    /// The run goes on without it; what refers to its output is left out.
    Skip,
    /// Another agent is tried; if that fails too, the run has failed.
    Fallback {
        /// Who is tried.
        agent: String,
    },
}

/// What one agent offers: a skill of its card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Offer {
    /// Who offers it.
    pub agent: String,
    /// The skill's id.
    pub capability: String,
    /// The JSON Schema of what it takes; anything, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The JSON Schema of what it gives; anything, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The phase of a run in which it works.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
}

/// On which terms a plan is admitted: what is there when it is proposed.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What agents offer.
    pub offers: &'a [Offer],
    /// The run's payload.
    pub input: &'a Value,
    /// What earlier runs of the thread left, by name.
    pub thread: &'a Value,
    /// The steps that are begun or over. They may not change.
    pub begun: &'a BTreeSet<String>,
    /// Those of them that have failed for good, though the run goes on. No step that is not begun may need one.
    pub failed: &'a BTreeSet<String>,
    /// What the steps that are done have given.
    pub outputs: &'a BTreeMap<String, Value>,
    /// What the plan must keep within.
    pub limits: Limits,
}

/// What a plan must keep within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most steps, those that are over included.
    pub max_steps: usize,
    /// The most steps that wait for one another in a row.
    pub max_chain: usize,
    /// The calls that the budget still allows: one at least for each step that is not begun. Not limited if not given.
    pub max_calls: Option<u64>,
    /// Whether the depth of delegation allows to hand anything to anyone.
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

/// How a [`Retry`] is written in plans.
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
