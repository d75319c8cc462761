//! The steps that can be read at one place of a workflow, as a plan of runs: the workflow's input and the loop are steps of their own.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::runs::plan::{
    self, Fault, Limits, Offer, Plan, PlanStep, Recovery, StepName, Terms,
};
use serde_json::{Map, Value, json};

use super::{
    Offers,
    translating::{translated, translated_reference, words},
};
use crate::{
    file::OnFailure,
    finding::Finding,
    model::{Call, Each, Graph, Step, Work, Workflow},
    reference::{Field, Reference, Source},
    template::{Insert, Template},
};

/// Name of the step whose payload is checked, which no step of a workflow may have.
const PROBE: &str = "undo";

/// The steps that can be read at a place, as a plan of runs.
pub(super) struct Visible {
    plan: Plan,
    offers: Vec<Offer>,
}

impl Visible {
    /// The steps of a graph and those around it. `item` is the schema of the items of the loop that the place is in.
    pub(super) fn of(
        workflow: &Workflow,
        known: &Offers,
        graph: &Graph,
        outer: &[&Step],
        item: Option<&Value>,
    ) -> Self {
        let mut visible = Self {
            plan: Plan::default(),
            offers: Vec::new(),
        };
        let input = json!({
            "type": "object",
            "properties": { "input": workflow.input },
            "required": ["input"],
        });
        visible.add_own("workflow", Some(input), false);
        visible.add_own("steps", None, false);
        for step in outer.iter().copied().chain(&graph.steps) {
            visible.add_step(step, known);
        }
        let loop_shown = json!({
            "type": "object",
            "properties": {
                "item": item.unwrap_or(&Value::Bool(true)),
                "index": { "type": "integer" },
                "count": { "type": "integer" },
                "total": { "type": "integer" },
                "is_first": { "type": "boolean" },
                "is_last": { "type": "boolean" },
            },
        });
        visible.add_own("loop", Some(loop_shown), false);
        visible
    }

    fn add_step(&mut self, step: &Step, known: &Offers) {
        let asked = match (&step.work, &step.each) {
            (Work::Call(call), None) if call.plan.is_none() => {
                Some((call, known.meant(&call.agent, &call.skill)))
            }
            _ => None,
        };
        match asked.filter(|(_, offers)| !offers.is_empty()) {
            None => self.add_own(&step.name, own_output(step, known), may_be_absent(step)),
            Some((call, offers)) => {
                let capability = match &*call.skill {
                    "" => offers[0].capability.clone(),
                    skill => skill.to_owned(),
                };
                let agent = (!call.agent.is_empty()).then(|| call.agent.clone());
                let offers = offers.into_iter().map(|offer| Offer {
                    output: offer.output.map(with_text),
                    ..offer
                });
                let step_of_plan = PlanStep {
                    agent,
                    ..PlanStep::new(capability, empty())
                };
                self.add(&step.name, step_of_plan, offers, may_be_absent(step));
            }
        }
    }

    /// Adds a value that no agent gives.
    fn add_own(&mut self, name: &str, output: Option<Value>, may_be_absent: bool) {
        let capability = format!("own:{name}");
        let step = PlanStep::new(capability.clone(), empty());
        let offer = Offer {
            capability,
            output,
            ..Offer::default()
        };
        self.add(name, step, [offer], may_be_absent);
    }

    fn add(
        &mut self,
        name: &str,
        step: PlanStep,
        offers: impl IntoIterator<Item = Offer>,
        may_be_absent: bool,
    ) {
        // A name that is none for plans is none for workflows, which is told elsewhere.
        let Ok(name) = name.parse::<StepName>() else {
            return;
        };
        for offer in offers {
            if !self.offers.contains(&offer) {
                self.offers.push(offer);
            }
        }
        let recovery = match may_be_absent {
            true => Recovery::Skip,
            false => Recovery::Fail,
        };
        self.plan.steps.insert(name, PlanStep { recovery, ..step });
    }

    /// Reasons why a payload does not fit what an offer takes.
    pub(super) fn unfit(&self, payload: &Value, offer: &Offer) -> Vec<String> {
        let Ok(name) = PROBE.parse::<StepName>() else {
            return Vec::new();
        };
        let mut plan = self.plan.clone();
        let step = PlanStep::new(offer.capability.clone(), payload.clone());
        plan.steps.insert(name.clone(), step);
        let nothing = NoFacts::default();
        match plan::fits(&plan, name.as_str(), offer, &self.terms(&nothing)) {
            Ok(()) => Vec::new(),
            Err(faults) => faults
                .into_iter()
                .map(|fault| match fault {
                    Fault::Unfit { why, .. } => why,
                    other => other.to_string(),
                })
                .collect(),
        }
    }

    /// The schema of a list's items, as far as it is known.
    pub(super) fn element(&self, items: &Template) -> Option<Value> {
        let Template::Whole(Insert::Reference(reference)) = items else {
            return None;
        };
        self.schema(reference)?.get("items").cloned()
    }

    /// The schema of a reference's value, as far as it is known.
    pub(super) fn schema(&self, reference: &Reference) -> Option<Value> {
        let (name, before) = match &reference.source {
            Source::Input => ("workflow", Some("input")),
            Source::Loop => ("loop", None),
            Source::Step(step, Field::Output) => (step.as_str(), None),
            Source::Step(_, Field::State) => return Some(json!({ "type": "string" })),
            Source::Step(_, Field::Error) | Source::Secret(_) => return None,
        };
        let step = self.plan.steps.get(name)?;
        let is_asked = |offer: &&Offer| {
            let agent = step.agent.as_ref();
            offer.capability == step.capability && agent.is_none_or(|agent| *agent == offer.agent)
        };
        let mut schemas = self.offers.iter().filter(is_asked).map(|offer| {
            let path = before
                .into_iter()
                .chain(reference.path.iter().map(String::as_str));
            let mut schema = offer.output.as_ref();
            for part in path {
                schema = schema.and_then(|schema| match part.parse::<usize>() {
                    Ok(_) => schema.get("items"),
                    Err(_) => schema["properties"].get(part),
                });
            }
            schema
        });
        let first = schemas.next()??;
        // Of agents that give values of other types, none is known.
        schemas
            .all(|other| other == Some(first))
            .then(|| first.clone())
    }

    /// The fault of a loop whose items are no list.
    pub(super) fn no_list(&self, each: &Each) -> Option<Finding> {
        let Template::Whole(Insert::Reference(_)) = &each.items else {
            return None;
        };
        let offer = Offer {
            input: Some(json!({ "properties": { "for_each": { "type": "array" } } })),
            ..Offer::default()
        };
        let payload = json!({ "for_each": translated(&each.items) });
        let why = self.unfit(&payload, &offer).into_iter().next()?;
        let help = "write a reference to a list, or a list";
        Some(Finding::at(each.at.clone(), words(&why), help))
    }

    /// The reason why a reference can have no value, and the advice. One to a step that is not visible is for others to tell.
    pub(super) fn leads_nowhere(&self, reference: &Reference) -> Option<(String, String)> {
        if let Source::Step(step, _) = &reference.source
            && !self.plan.steps.contains_key(step.as_str())
        {
            return None;
        }
        let translated = translated_reference(reference).parse().ok()?;
        let nothing = NoFacts::default();
        let why = plan::leads_nowhere(&self.plan, &translated, &self.terms(&nothing))?;
        let why = words(&why);
        Some(match why.split_once("; ") {
            Some((message, help)) => (message.to_owned(), help.to_owned()),
            None => (why, String::new()),
        })
    }

    /// The terms on which plans are checked.
    fn terms<'t>(&'t self, nothing: &'t NoFacts) -> Terms<'t> {
        Terms {
            offers: &self.offers,
            input: &nothing.value,
            thread: &nothing.value,
            begun: &nothing.names,
            failed: &nothing.names,
            outputs: &nothing.outputs,
            limits: Limits::default(),
        }
    }
}

/// Facts of a run that has not begun.
#[derive(Default)]
struct NoFacts {
    value: Value,
    names: BTreeSet<String>,
    outputs: BTreeMap<String, Value>,
}

/// The output of a step that no agent gives.
pub(crate) fn own_output(step: &Step, known: &Offers) -> Option<Value> {
    let text = json!({ "type": "string" });
    if step.each.is_some() {
        let item = match &step.work {
            Work::Call(Call {
                plan: Some(plan), ..
            }) => plan.output.clone(),
            Work::Call(call) => match known.meant(&call.agent, &call.skill).as_slice() {
                [only] => only.output.clone().map(with_text),
                _ => None,
            },
            _ => None,
        };
        return Some(json!({
            "type": "object",
            "properties": {
                "iterations": { "type": "array", "items": item.unwrap_or(Value::Bool(true)) },
                "total_count": { "type": "integer" },
                "failed": { "type": "array" },
            },
        }));
    }
    match &step.work {
        Work::Call(call) => call.plan.as_ref().and_then(|plan| plan.output.clone()),
        Work::Approve { .. } => Some(json!({
            "type": "object",
            "properties": { "approved": { "type": "boolean" }, "by": text, "comment": text },
        })),
        Work::Join(names) if !names.is_empty() => {
            let names = names.values().map(|name| (name.clone(), Value::Bool(true)));
            Some(json!({ "type": "object", "properties": names.collect::<Map<_, _>>() }))
        }
        Work::Decide { .. } => Some(json!({
            "type": "object",
            "properties": { "decision": { "type": "boolean" } },
        })),
        _ => None,
    }
}

/// True if there may be no output of a step, though the run goes on.
fn may_be_absent(step: &Step) -> bool {
    step.when.is_some()
        || step.on_failure == OnFailure::Continue
        || step.is_contained
        || step.needs.iter().any(|need| need.branch.is_some())
        || step.join.is_count()
}

/// An agent's output has its words as `text` as well.
fn with_text(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties
            .entry("text")
            .or_insert_with(|| json!({ "type": "string" }));
    }
    schema
}

fn empty() -> Value {
    Value::Object(Map::new())
}
