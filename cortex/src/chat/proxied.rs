//! Conversations with an agent by name: what is said goes to it as it is, and what it answers comes back. Data goes to the skill that takes it.

use std::sync::Arc;

use agenthub_sdk::{
    Failure, TaskContext,
    durable::{Beginning, Conductor, ForkChanges},
    runs::{
        DelegationResult, Effect, Facts, Handoff, Next, RunId, RunOutcome, Shortfall, Step, StepId,
        StepResult, Strategy, World, plan::Offer,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{lacking::lacking, outcome::without_result};
use crate::{
    brief::Mode,
    orchestrator::{
        Input, RunWorld, asked, beginning,
        kept::{Offered, PlanningContext, Query},
        misfit, of_fork,
    },
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
        let mut handoff = Handoff {
            agent,
            text: input.brief.objective,
            files: input.has_files,
            ..Handoff::default()
        };
        let look = Step::new("look", Effect::Look(json!(Query::default())));
        let Some(seen) = facts.observed(&look.id) else {
            return Next::Steps(vec![look]);
        };
        let offers = PlanningContext::deserialize(seen)
            .unwrap_or_default()
            .offers;
        let given = input.brief.payload;
        if !given.is_empty() {
            let payload = Value::Object(given.clone());
            match skill_for(&payload, &offers, &handoff.agent) {
                Ok(skill) => handoff.capability = skill.unwrap_or_default(),
                Err(error) => return Next::Finish(RunOutcome::Failed { error }),
            }
            handoff.payload = Some(payload);
        }
        let (agent, skill) = (handoff.agent.clone(), handoff.capability.clone());
        let step = Step::new("turn", Effect::Delegate(handoff)).timeout_ms(input.handoff_ms);
        let Some(result) = facts.result(&step) else {
            return Next::Steps(vec![step]);
        };
        let (text, answered) = match answer(result) {
            Ok(answer) => answer,
            Err(error) => return Next::Finish(RunOutcome::Failed { error }),
        };
        let skill = Some(&*skill).filter(|skill| !skill.is_empty());
        let own = offers.iter().map(|offered| &offered.offer);
        let own: Vec<&Offer> = own.filter(|offer| offer.agent == agent).collect();
        let lacking = lacking(&agent, &given, &own, skill, answered);
        let shortfall = match (Shortfall::of(answered), lacking.is_empty()) {
            (said, true) => said,
            (None, false) => Some(Shortfall::new(None, lacking)),
            (Some(mut said), false) => {
                said.results.extend(lacking);
                Some(said)
            }
        };
        let message = json!({"type": "message", "message": text});
        let data = shortfall.map_or(Value::Null, |shortfall| shortfall.to_json());
        let answered = RunOutcome::with_data(text, data);
        note("message", message).unwrap_or_else(|| Next::Finish(answered))
    }
}

/// The skill of the agent that the data is for: of those whose schema it fits, the one that names most of its keys. Where there is none, or
/// no single one, the data is part of what is said.
///
/// # Errors
///
/// The agent has no skill that goes without data, and this fits none: what each lacks.
fn skill_for(payload: &Value, offers: &[Offered], agent: &str) -> Result<Option<String>, String> {
    let offers = offers.iter().map(|offered| &offered.offer);
    let own: Vec<&Offer> = offers.filter(|offer| offer.agent == agent).collect();
    let mut fitting = Vec::new();
    let mut faults = Vec::new();
    for offer in &own {
        let schema = offer.input.as_ref();
        match misfit(schema, payload) {
            None => {
                let is_named = |key: &&String| {
                    schema.is_some_and(|schema| schema["properties"].get(key.as_str()).is_some())
                };
                let keys = payload
                    .as_object()
                    .into_iter()
                    .flat_map(|fields| fields.keys());
                fitting.push((keys.filter(is_named).count(), &offer.capability));
            }
            Some(fault) => faults.push(format!("for {}: {fault}", offer.capability)),
        }
    }
    if fitting.is_empty() && !faults.is_empty() {
        let faults = faults.join("; ");
        return Err(format!(
            "{agent} has nothing to work on: it takes data, and the payload is not what it takes ({faults})"
        ));
    }
    let most = fitting.iter().map(|(named, _)| *named).max().unwrap_or(0);
    fitting.retain(|(named, _)| *named == most && most > 0);
    Ok(match *fitting {
        [(_, skill)] => Some(skill.clone()),
        _ => None,
    })
}

/// The agent's answer, in words and as data, or the reason why there is none.
fn answer(result: &StepResult) -> Result<(String, &[Value]), String> {
    match result {
        StepResult::DelegationEnded(DelegationResult {
            state, text, data, ..
        }) if state == "completed" => {
            let text = match (text.is_empty(), data.first()) {
                (true, Some(data)) => data.to_string(),
                _ => text.clone(),
            };
            Ok((text, data))
        }
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

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        of_fork(recorded, changes)
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

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::{Budget, RunEvent, RunStarted};

    use super::*;

    fn offer(agent: &str, capability: &str, input: Option<Value>) -> Offered {
        Offered {
            offer: Offer {
                agent: agent.into(),
                capability: capability.into(),
                input,
                ..Offer::default()
            },
            ..Offered::default()
        }
    }

    fn takes(required: &str, more: &[&str]) -> Option<Value> {
        let names = more.iter().chain([&required]);
        let properties: serde_json::Map<String, Value> =
            names.map(|name| ((*name).to_owned(), json!({}))).collect();
        Some(json!({"type": "object", "properties": properties, "required": [required]}))
    }

    /// The answer of the strategy to a payload for an agent that judges drafts.
    fn decided(payload: Value) -> Next {
        let input = json!({"brief": {"objective": "Is it good?", "mode": "chat", "agent": "judge", "payload": payload}, "handoffMs": 1});
        let seen = PlanningContext {
            offers: vec![offer("judge", "review", takes("draft", &[]))],
            ..PlanningContext::default()
        };
        let noted = RunEvent::Noted {
            step: StepId::new("phase"),
            value: Value::Null,
            at_ms: 0,
        };
        let started = RunEvent::Started(RunStarted {
            strategy: PROXIED_CHAT.into(),
            input,
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            thread: String::new(),
            at_ms: 0,
        });
        let observed = RunEvent::Observed {
            step: StepId::new("look"),
            value: Some(json!(seen)),
            same_as: None,
            at_ms: 0,
        };
        let first = ProxiedChat.next(&Facts::of(&[started.clone(), noted.clone()]));
        assert!(
            matches!(&first, Next::Steps(steps) if matches!(steps[0].effect, Effect::Look(_))),
            "{first:?}"
        );
        ProxiedChat.next(&Facts::of(&[started, noted, observed]))
    }

    /// spec: ORC-2.1
    #[test]
    fn a_reviewer_is_given_the_draft_or_there_is_nothing_to_judge() {
        let Next::Steps(steps) = decided(json!({"draft": "A text"})) else {
            panic!("it is judged");
        };
        let Effect::Delegate(handoff) = &steps[0].effect else {
            panic!("{steps:?}");
        };
        assert_eq!(handoff.capability, "review");
        assert_eq!(handoff.payload, Some(json!({"draft": "A text"})));
        let Next::Finish(RunOutcome::Failed { error }) = decided(json!({"language": "en"})) else {
            panic!("there is no draft");
        };
        assert!(error.contains("nothing to work on"), "{error}");
    }

    /// spec: ORC-2.3
    #[test]
    fn data_goes_to_the_skill_that_takes_it() {
        let offers = [
            offer("judge", "review", takes("draft", &["language"])),
            offer("other", "write", takes("brief", &[])),
            offer("both", "review", takes("draft", &["language"])),
            offer("both", "shorten", takes("draft", &[])),
            offer("talker", "talk", None),
        ];
        let draft = json!({"draft": "a", "language": "en"});
        let skill = |agent: &str, payload: &Value| skill_for(payload, &offers, agent);
        let is = |name: &str| Ok(Some(name.to_owned()));
        assert_eq!(skill("judge", &draft), is("review"));
        assert_eq!(skill("both", &draft), is("review"), "it takes more of it");
        let alone = json!({"draft": "a"});
        assert_eq!(skill("both", &alone), Ok(None), "either would do");
        assert_eq!(skill("talker", &draft), Ok(None));
        assert_eq!(skill("unknown", &draft), Ok(None));
        let why = skill("judge", &json!({"language": "en"})).expect_err("there is no draft");
        assert!(
            why.starts_with("judge has nothing to work on") && why.contains("draft"),
            "{why}"
        );
    }
}
