//! Calls of agents: attempts, with pauses between them, and the fallback.

use std::collections::BTreeSet;

use agenthub_sdk::runs::{
    self, DelegationResult, Effect, Handoff, Shortfall, StepResult,
    workflow_step::{attempt_of, did_nothing, fallback_of, pause_of},
};
use serde_json::{Map, Value, json};

use super::{
    compensating::Undo,
    evaluating::{Evaluation, WorkState},
    waiting::another_kind,
};
use crate::{
    model::{Call, Retry, Step},
    scope::Scope,
    template::Template,
};

/// Field of a handoff's metadata with the names of the secrets in it.
pub(crate) const SECRETS: &str = "secrets";

/// Field of a handoff's metadata with the position in the hub's log since which events count for a workflow in a step.
pub(crate) const SINCE: &str = "events_since";

/// Deadline of a workflow in a step that says none: 30 days, as people may be asked in it.
const PLAN_MS: u64 = 30 * 24 * 3_600_000;

/// A call of an agent, with its values filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResolvedCall {
    pub(super) agent: String,
    pub(super) skill: String,
    pub(super) text: String,
    pub(super) input: Option<Value>,
    /// Names of the secrets that the agent gets.
    pub(super) secrets: BTreeSet<String>,
    /// True if it is a workflow that is carried out.
    pub(super) is_plan: bool,
}

/// Result of an attempt.
enum Attempt {
    Open,
    Completed(Value),
    /// Another attempt may succeed, if that is true.
    Failed(String, bool),
    Cancelled,
}

impl ResolvedCall {
    /// Fills in the values of a question.
    pub(super) fn of(call: &Call, scope: &Scope<'_>) -> Result<Self, String> {
        let value = |template: &Option<Template>, field: &str| match template {
            None => Ok(None),
            Some(template) => {
                let value = template.value(scope);
                value.map_err(|error| format!("`{field}`: {error}"))
            }
        };
        let text = match value(&call.text, "text")? {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        let input = value(&call.input, "input")?;
        let (text, input) = match &call.plan {
            None => (text, input),
            Some(plan) => {
                let input = input.unwrap_or_else(|| json!({}));
                let request = json!({ "workflow": *plan.document, "input": input });
                (plan.name.clone(), Some(request))
            }
        };
        Ok(Self {
            agent: call.agent.clone(),
            skill: call.skill.clone(),
            text,
            input,
            secrets: call.secrets(),
            is_plan: call.plan.is_some(),
        })
    }

    fn handoff(&self, agent: &str, since: &str) -> Handoff {
        let mut metadata = Map::new();
        if !self.secrets.is_empty() {
            metadata.insert(SECRETS.to_owned(), json!(self.secrets));
        }
        if self.is_plan && !since.is_empty() {
            metadata.insert(SINCE.to_owned(), since.into());
        }
        Handoff {
            agent: agent.to_owned(),
            capability: self.skill.clone(),
            text: self.text.clone(),
            payload: self.input.clone(),
            metadata,
            ..Handoff::default()
        }
    }
}

impl Evaluation<'_> {
    /// Asks the agent of a step, and its fallback where that fails.
    pub(super) fn call_of(
        &mut self,
        step: &Step,
        call: &Call,
        scope: &Scope<'_>,
        name: &str,
        at_ms: u64,
    ) -> WorkState {
        let asked = match ResolvedCall::of(call, scope) {
            Ok(asked) => asked,
            Err(error) => return WorkState::Failed { error, at_ms },
        };
        let terms = (&step.retry, step.timeout_ms);
        let first = self.attempts(name, &asked, &call.agent, terms, at_ms);
        let work = match (first, &step.fallback) {
            (WorkState::Failed { error, at_ms }, Some(fallback)) => {
                let name = fallback_of(name);
                match self.attempts(&name, &asked, fallback, terms, at_ms) {
                    WorkState::Failed {
                        error: second,
                        at_ms,
                    } => WorkState::Failed {
                        error: format!("{error}; {fallback}: {second}"),
                        at_ms,
                    },
                    work => work,
                }
            }
            (work, _) => work,
        };
        if let (WorkState::Completed { output, at_ms }, Some(undo)) = (&work, &step.compensate) {
            self.undo
                .push(Undo::of(name, *at_ms, undo, (&step.name, output), scope));
        }
        work
    }

    /// Asks an agent as often as that is allowed, for the first time at `begun_ms`.
    pub(super) fn attempts(
        &mut self,
        name: &str,
        asked: &ResolvedCall,
        agent: &str,
        (retry, timeout_ms): (&Retry, Option<u64>),
        begun_ms: u64,
    ) -> WorkState {
        let mut begun_ms = begun_ms;
        for attempt in 1.. {
            let id = attempt_of(name, attempt);
            let mut step = runs::Step::new(id, Effect::Delegate(asked.handoff(agent, self.since)));
            let timeout_ms = match asked.is_plan {
                true => Some(timeout_ms.unwrap_or(PLAN_MS)),
                false => timeout_ms,
            };
            step.timeout_ms = match self.time_left(timeout_ms, begun_ms) {
                Ok(left_ms) => left_ms,
                Err(over) => return over,
            };
            let result = self.attempt(&step, asked.is_plan);
            let at_ms = self.ended_ms(&step).unwrap_or_default();
            let (error, may_succeed) = match result {
                Attempt::Open => {
                    self.wanted.push(step);
                    return WorkState::Working;
                }
                Attempt::Completed(output) => return WorkState::Completed { output, at_ms },
                Attempt::Cancelled => return WorkState::Cancelled { at_ms },
                Attempt::Failed(error, may_succeed) => (error, may_succeed),
            };
            if !may_succeed || attempt >= retry.attempts {
                return WorkState::Failed { error, at_ms };
            }
            let pause_ms = pause_ms(retry, attempt, at_ms, name);
            begun_ms = at_ms;
            if pause_ms > 0 {
                let pause = pause_of(name, attempt);
                match self.wait_in_branch(&pause, at_ms.saturating_add(pause_ms)) {
                    WorkState::Completed { at_ms, .. } => begun_ms = at_ms,
                    waiting => return waiting,
                }
            }
        }
        unreachable!("the attempts are bounded")
    }

    fn attempt(&mut self, step: &runs::Step, is_plan: bool) -> Attempt {
        match self.result(step) {
            None => Attempt::Open,
            Some(StepResult::DelegationEnded(ended)) => match &*ended.state {
                "completed" => match self.lacking(ended) {
                    Some(why) => Attempt::Failed(why, false),
                    None if is_plan => {
                        let output = ended.data.first().map(|data| data["output"].clone());
                        Attempt::Completed(output.unwrap_or_default())
                    }
                    None => Attempt::Completed(output(ended)),
                },
                state => {
                    let error = match &*ended.error {
                        "" => format!("the task of {} is {state}", who(ended)),
                        error => format!("{}: {error}", who(ended)),
                    };
                    let may_succeed = matches!(state, "failed" | "timed-out" | "away" | "lost");
                    Attempt::Failed(error, may_succeed)
                }
            },
            Some(StepResult::Failed(failure)) => {
                Attempt::Failed(failure.message.clone(), failure.is_retryable)
            }
            Some(StepResult::Cancelled) => Attempt::Cancelled,
            Some(_) => Attempt::Failed(another_kind(), false),
        }
    }

    /// The reason why a completed task counts as failed: it did nothing. What a result lacks is remembered.
    fn lacking(&mut self, ended: &DelegationResult) -> Option<String> {
        let nothing = did_nothing(ended);
        if nothing.is_none()
            && let Some(shortfall) = Shortfall::of(&ended.data)
        {
            let why = shortfall.in_words();
            let lacks = json!({"agent": who(ended), "state": "completed", "lacks": why});
            if !self.lacks.contains(&lacks) {
                self.lacks.push(lacks);
            }
        }
        nothing
    }
}

fn who(ended: &DelegationResult) -> &str {
    match &*ended.agent {
        "" => "an agent",
        agent => agent,
    }
}

/// The output of an agent: its first data, with its words as `text`; the words alone where it gave no data.
fn output(ended: &DelegationResult) -> Value {
    match ended.data.first() {
        Some(Value::Object(fields)) => {
            let mut fields = fields.clone();
            if !ended.text.is_empty() {
                fields
                    .entry("text")
                    .or_insert_with(|| ended.text.clone().into());
            }
            Value::Object(fields)
        }
        Some(data) => json!({ "data": data, "text": ended.text }),
        None => json!({ "text": ended.text }),
    }
}

/// Pause behind a failed attempt, in milliseconds. Its random part follows from the step and the time of the failure, so that each process
/// that decides finds the same.
fn pause_ms(retry: &Retry, attempt: u32, failed_ms: u64, name: &str) -> u64 {
    let factor = retry.backoff.powi(attempt.saturating_sub(1) as i32);
    let pause = (retry.pause_ms as f64 * factor).min(retry.max_pause_ms as f64);
    let seed = name.bytes().chain(failed_ms.to_be_bytes());
    // FNV-1a, with its bits mixed once more as the end of the seed hardly reaches the upper ones.
    let hash = seed.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let chance = (hash >> 11) as f64 / (1_u64 << 53) as f64;
    (pause * (1.0 - retry.jitter * chance)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_leave_their_part_to_chance() {
        let retry = Retry {
            pause_ms: 1_000,
            backoff: 2.0,
            max_pause_ms: 5_000,
            ..Retry::default()
        };
        let pauses = |retry: &Retry| [1, 2, 3, 4].map(|n| pause_ms(retry, n, 7, "a"));
        assert_eq!(pauses(&retry), [1_000, 2_000, 4_000, 5_000]);
        let jitter = Retry {
            jitter: 0.5,
            ..retry
        };
        let first: Vec<u64> = (0..50).map(|at| pause_ms(&jitter, 1, at, "a")).collect();
        assert!(
            first.iter().all(|ms| (500..=1_000).contains(ms)),
            "{first:?}"
        );
        assert!(first.iter().max() > first.iter().min(), "{first:?}");
        assert_eq!(pauses(&jitter), pauses(&jitter));
    }
}
