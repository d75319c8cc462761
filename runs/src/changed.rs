//! Detection of changed programs: compares a step that is requested now with what the journal recorded under its name.
//!
//! The wording of a question to a model may change between two versions of a program, and the recorded answer still
//! holds. So may messages, durations of waits, notes and queries. Tool calls and handoffs are identified by their
//! arguments: a result of other arguments does not apply. An approval's decision is found by the approval's digest
//! ([`Approval`](crate::Approval)).

use serde_json::{Map, Value};

use crate::{
    effect::{Effect, Handoff, Step},
    event::StepRequest,
    facts::Facts,
    id::StepId,
    model::ToolCall,
    redact,
};

/// Maximum characters of a value in an error.
const MAX_SHOWN: usize = 160;

/// Characters of context shown before the first difference of two texts.
const SHOWN_BEFORE: usize = 20;

/// The journal's record of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordedStep<'a> {
    Look,
    Note,
    Begun(&'a StepRequest),
}

/// Error: a step was dispatched as something else than is requested now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the program has changed while the run was under way: step {step} is recorded as {recorded}, and is now asked for as {asked}; begin the \
     run again, and let runs that are under way end with the version of the program that began them"
)]
pub(crate) struct ChangedStep {
    pub(crate) step: StepId,
    pub(crate) recorded: String,
    pub(crate) asked: String,
}

/// The first of these steps that was dispatched as something else.
pub(crate) fn first_changed(facts: &Facts, steps: &[Step]) -> Option<ChangedStep> {
    let changed = |step: &Step| {
        let recorded = facts.recorded(step).filter(|r| !fits(*r, &step.effect))?;
        let (recorded, asked) = describe(recorded, &step.effect);
        Some(ChangedStep {
            step: step.id.clone(),
            recorded,
            asked,
        })
    };
    steps.iter().find_map(changed)
}

/// True if the recorded dispatch matches the requested effect.
pub(crate) fn fits(recorded: RecordedStep<'_>, asked: &Effect) -> bool {
    use RecordedStep::Begun as Is;
    match (recorded, asked) {
        (RecordedStep::Look, Effect::Look(_))
        | (RecordedStep::Note, Effect::Note(_))
        | (Is(StepRequest::ModelAsked { .. }), Effect::Ask(_))
        | (Is(StepRequest::Said { .. }), Effect::Say(_))
        | (Is(StepRequest::Waiting { .. }), Effect::Wait(_))
        | (Is(StepRequest::ApprovalAsked(_)), Effect::Approve(_)) => true,
        (Is(StepRequest::ToolCalled(before)), Effect::Call(now)) => {
            (&before.name, &before.arguments) == (&now.name, &now.arguments)
        }
        (Is(StepRequest::Delegated(sent)), Effect::Delegate(now)) => {
            work(&sent.handoff) == work(now)
        }
        _ => false,
    }
}

/// The parts of a handoff that identify its work. Metadata and the model's name for the agent are ignored.
fn work(handoff: &Handoff) -> (&str, &str, &str, Option<&Value>) {
    (
        &handoff.agent,
        &handoff.capability,
        &handoff.text,
        handoff.payload.as_ref(),
    )
}

/// Describes both, with their differences.
fn describe(recorded: RecordedStep<'_>, asked: &Effect) -> (String, String) {
    match (recorded, asked) {
        (RecordedStep::Begun(StepRequest::ToolCalled(before)), Effect::Call(now)) => {
            calls(before, now)
        }
        (RecordedStep::Begun(StepRequest::Delegated(sent)), Effect::Delegate(now)) => {
            handoffs(&sent.handoff, now)
        }
        _ => (recorded_kind(recorded), effect_kind(asked)),
    }
}

fn calls(before: &ToolCall, now: &ToolCall) -> (String, String) {
    if before.name != now.name {
        return (call(&before.name), call(&now.name));
    }
    let (was, is) = differing(&before.arguments, &now.arguments);
    let with = |arguments: &Value| format!("{} with {}", call(&now.name), excerpt(arguments));
    (with(&was), with(&is))
}

fn handoffs(before: &Handoff, now: &Handoff) -> (String, String) {
    if (&before.agent, &before.capability) != (&now.agent, &now.capability) {
        return (handoff(before), handoff(now));
    }
    let of = |what: &Value| format!("{} with {}", handoff(now), excerpt(what));
    let request = |handoff: &Handoff| {
        let data = handoff.payload.clone().unwrap_or_default();
        Value::from_iter([("text", handoff.text.clone().into()), ("data", data)])
    };
    let (was, is) = differing(&request(before), &request(now));
    (of(&was), of(&is))
}

fn recorded_kind(recorded: RecordedStep<'_>) -> String {
    let kind = match recorded {
        RecordedStep::Look => "a look",
        RecordedStep::Note => "a note",
        RecordedStep::Begun(begun) => match begun {
            StepRequest::ModelAsked { .. } => "a question to the model",
            StepRequest::ToolCalled(before) => return call(&before.name),
            StepRequest::Delegated(sent) => return handoff(&sent.handoff),
            StepRequest::Said { .. } => "words for who waits",
            StepRequest::Waiting { .. } => "a wait",
            StepRequest::ApprovalAsked(_) => "a question to a person",
        },
    };
    kind.to_owned()
}

fn effect_kind(asked: &Effect) -> String {
    let kind = match asked {
        Effect::Look(_) => "a look",
        Effect::Note(_) => "a note",
        Effect::Ask(_) => "a question to the model",
        Effect::Call(now) => return call(&now.name),
        Effect::Delegate(now) => return handoff(now),
        Effect::Say(_) => "words for who waits",
        Effect::Wait(_) => "a wait",
        Effect::Approve(_) => "a question to a person",
    };
    kind.to_owned()
}

fn call(tool: &str) -> String {
    format!("a call of the tool {tool}")
}

fn handoff(handoff: &Handoff) -> String {
    let agent = match &*handoff.agent {
        "" => "any agent",
        agent => agent,
    };
    match &*handoff.capability {
        "" => format!("work for {agent}"),
        skill => format!("work for {agent} ({skill})"),
    }
}

/// The differing members of two objects, recursively; the differing part of two texts; both values whole otherwise.
fn differing(before: &Value, now: &Value) -> (Value, Value) {
    let (before, now) = match (before, now) {
        (Value::Object(before), Value::Object(now)) => (before, now),
        (Value::String(before), Value::String(now)) => {
            let same = before.chars().zip(now.chars());
            let same = same.take_while(|(before, now)| before == now).count();
            let place = |text: &String| match same.checked_sub(SHOWN_BEFORE).filter(|n| *n > 0) {
                None => Value::from(&**text),
                Some(n) => format!("…{}", text.chars().skip(n).collect::<String>()).into(),
            };
            return (place(before), place(now));
        }
        (before, now) => return (before.clone(), now.clone()),
    };
    let (mut was, mut is) = (Map::new(), Map::new());
    let added = now.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(added) {
        match (before.get(key), now.get(key)) {
            (Some(before), Some(now)) if before == now => {}
            (Some(before), Some(now)) => {
                let (before, now) = differing(before, now);
                was.insert(key.clone(), before);
                is.insert(key.clone(), now);
            }
            (before, now) => {
                was.extend(before.map(|value| (key.clone(), value.clone())));
                is.extend(now.map(|value| (key.clone(), value.clone())));
            }
        }
    }
    (was.into(), is.into())
}

/// The value's beginning, with secrets redacted.
fn excerpt(value: &Value) -> String {
    let text = redact::value(value).to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
