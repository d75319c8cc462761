//! Conversations with an agent by name: what is said goes to it as it is, and what it answers comes back.

use std::sync::Arc;

use agenthub_sdk::{
    Beginning, Conductor, Failure, TaskContext,
    runs::{
        DelegationResult, Effect, Facts, Handoff, Next, RunId, RunOutcome, Step, StepId,
        StepResult, Strategy, World,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::outcome::without_result;
use crate::{
    brief::Mode,
    orchestrator::{Input, RunWorld, asked, beginning},
    shared::Shared,
};

/// The task type of what is said to an agent by name, as a brief in chat mode.
pub(crate) const PROXIED_CHAT: &str = "proxied_chat";

/// The strategy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProxiedChat;

impl Strategy for ProxiedChat {
    fn name(&self) -> &'static str {
        PROXIED_CHAT
    }

    fn next(&self, facts: &Facts) -> Next {
        let input = match Input::deserialize(facts.input()) {
            Ok(input) => input,
            Err(error) => {
                let error = format!("the run's input cannot be read: {error}");
                return Next::Finish(RunOutcome::failed(error));
            }
        };
        let note = |name: &str, value: Value| match facts.noted(&StepId::new(name)) {
            Some(_) => None,
            None => Some(Next::Steps(vec![Step::new(name, Effect::Note(value))])),
        };
        let agent = input.brief.agent.unwrap_or_default();
        let phase =
            json!({"type": "phase", "message": format!("{agent} is asked"), "phase": "analysis"});
        if let Some(next) = note("phase", phase) {
            return next;
        }
        let payload = Value::Object(input.brief.payload);
        let handoff = Handoff {
            agent,
            text: input.brief.objective,
            payload: Some(payload)
                .filter(|payload| payload.as_object().is_some_and(|fields| !fields.is_empty())),
            ..Handoff::default()
        };
        let step = Step::new("turn", Effect::Delegate(handoff)).timeout_ms(input.handoff_ms);
        let Some(result) = facts.result(&step) else {
            return Next::Steps(vec![step]);
        };
        let answer = match answer(result) {
            Ok(answer) => answer,
            Err(error) => return Next::Finish(RunOutcome::Failed { error }),
        };
        let message = json!({"type": "message", "message": answer});
        note("message", message).unwrap_or_else(|| Next::Finish(RunOutcome::completed(answer)))
    }
}

/// What the agent says, or why it says nothing.
fn answer(result: &StepResult) -> Result<String, String> {
    match result {
        StepResult::DelegationEnded(DelegationResult {
            state, text, data, ..
        }) if state == "completed" => Ok(match (text.is_empty(), data.first()) {
            (true, Some(data)) => data.to_string(),
            _ => text.clone(),
        }),
        StepResult::DelegationEnded(delegated) => Err(without_result(delegated)),
        StepResult::Failed(failure) => Err(failure.message.clone()),
        _ => Err("it was called back".to_owned()),
    }
}

/// Makes a run of what is said to an agent by name.
#[derive(Debug)]
pub(crate) struct ProxiedChats(pub(crate) Arc<Shared>);

impl Conductor for ProxiedChats {
    fn strategy(&self) -> &dyn Strategy {
        &ProxiedChat
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        let input = asked(&self.0, task, Mode::Chat)?;
        if input.brief.agent.is_none() {
            return Err(Failure::rejected("the brief names no agent to talk with"));
        }
        Ok(beginning(&input))
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        Arc::new(RunWorld::new(
            Arc::clone(&self.0),
            task.clone(),
            run.clone(),
            Mode::Chat,
        ))
    }
}
