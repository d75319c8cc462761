//! Checks a workflow against the agents that are known: that they are there, have the skills, and that values fit from step to step.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_documents::{choice, meant};
use agenthub_sdk::{
    internal::contracts,
    proto::a2a::AgentCard,
    runs::plan::{
        self, Fault, Limits, Offer, Plan, PlanStep, Recovery, StepName, Terms, leads_nowhere,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    file::OnFailure,
    finding::{At, Finding, within},
    model::{Call, Graph, Join, Step, Work, Workflow},
    reference::{Field, Reference, Source},
    template::{Insert, Piece, Template},
};

/// Skills of the agents that are known.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    /// Each agent's skills.
    skills: BTreeMap<String, Vec<Offer>>,
}

impl Offers {
    /// Offers of these cards.
    pub fn of<'c>(cards: impl IntoIterator<Item = &'c AgentCard>) -> Self {
        let skills = cards.into_iter().map(|card| {
            let offers = contracts(card).into_iter().map(|(skill, contract)| Offer {
                agent: card.name.clone(),
                capability: skill,
                input: contract.input,
                output: contract.output,
                phase: String::new(),
            });
            (card.name.clone(), offers.collect())
        });
        Self {
            skills: skills.collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Offer> {
        self.skills.values().flatten()
    }

    /// The offers that a question may go to.
    fn meant(&self, agent: &str, skill: &str) -> Vec<Offer> {
        let own = self.skills.get(agent);
        match (own, skill) {
            // Which of its skills is meant, the agent decides.
            (Some(own), "") if own.len() == 1 => own.clone(),
            (Some(_), "") => Vec::new(),
            (Some(own), skill) => own
                .iter()
                .filter(|o| o.capability == skill)
                .cloned()
                .collect(),
            (None, skill) if agent.is_empty() => self
                .all()
                .filter(|o| o.capability == skill)
                .cloned()
                .collect(),
            (None, _) => Vec::new(),
        }
    }
}

/// Agents and skills that nobody knows.
pub(crate) fn unknown_agents(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in workflow.graph.all() {
        let work = match &step.work {
            Work::Call(call) => Some(call),
            _ => None,
        };
        for call in work.into_iter().chain(&step.compensate) {
            findings.extend(unknown_agent(call, offers));
        }
        if let (Some(fallback), Some(call)) = (&step.fallback, work) {
            let at = within(&step.at, "fallback");
            findings.extend(not_offered(fallback, &call.skill, &at, &at, offers));
        }
    }
    findings
}

fn unknown_agent(call: &Call, offers: &Offers) -> Option<Finding> {
    let skill_at = within(&call.at, "skill");
    if !call.agent.is_empty() {
        return not_offered(&call.agent, &call.skill, &call.agent_at, &skill_at, offers);
    }
    if call.skill.is_empty() || offers.all().any(|offer| offer.capability == call.skill) {
        return None;
    }
    let skills: BTreeSet<&str> = offers
        .all()
        .map(|offer| offer.capability.as_str())
        .collect();
    let message = format!("no agent that is known has the skill `{}`", call.skill);
    Some(Finding::at(skill_at, message, known(&call.skill, &skills)))
}

fn not_offered(
    agent: &str,
    skill: &str,
    agent_at: &At,
    skill_at: &At,
    offers: &Offers,
) -> Option<Finding> {
    let Some(own) = offers.skills.get(agent) else {
        let agents: BTreeSet<&str> = offers.skills.keys().map(String::as_str).collect();
        let message = format!("no agent `{agent}` is known");
        return Some(Finding::at(
            agent_at.clone(),
            message,
            known(agent, &agents),
        ));
    };
    if skill.is_empty() || own.iter().any(|offer| offer.capability == skill) {
        return None;
    }
    let skills: BTreeSet<&str> = own.iter().map(|offer| offer.capability.as_str()).collect();
    let message = format!("the agent `{agent}` has no skill `{skill}`");
    Some(Finding::at(
        skill_at.clone(),
        message,
        known(skill, &skills),
    ))
}

fn known(word: &str, known: &BTreeSet<&str>) -> String {
    match meant(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "none is known".to_owned(),
        None => {
            let some: Vec<&str> = known.iter().take(16).copied().collect();
            format!("known: {}", choice(&some))
        }
    }
}

/// Values that are not there, or do not fit what takes them. Without offers, what agents take and give is not restricted.
pub(crate) fn misfits(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    let mut checking = Checking {
        workflow,
        offers,
        findings: Vec::new(),
    };
    checking.graph(&workflow.graph, &[]);
    if let Some(output) = &workflow.output {
        let world = checking.world(&workflow.graph, &[], None);
        checking.references(output, &vec!["output".to_owned()], &world);
    }
    checking.findings
}

struct Checking<'w> {
    workflow: &'w Workflow,
    offers: &'w Offers,
    findings: Vec<Finding>,
}

/// The steps around a place, as a plan of runs.
struct World {
    plan: Plan,
    offers: Vec<Offer>,
}

impl World {
    fn terms<'t>(&'t self, nothing: &'t Nothing) -> Terms<'t> {
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

#[derive(Default)]
struct Nothing {
    value: Value,
    names: BTreeSet<String>,
    outputs: BTreeMap<String, Value>,
}

impl<'w> Checking<'w> {
    fn graph(&mut self, graph: &'w Graph, outer: &[&'w Step]) {
        for step in &graph.steps {
            let items = step.each.as_ref().map(|each| &each.items);
            let world = self.world(graph, outer, items);
            if let Some(each) = &step.each {
                self.references(&each.items, &each.at, &world);
            }
            match &step.work {
                Work::Call(call) => {
                    self.call(call, &world);
                    if let Some(agent) = &step.fallback {
                        let fallback = Call {
                            agent: agent.clone(),
                            ..call.clone()
                        };
                        self.call(&fallback, &world);
                    }
                }
                Work::Approve {
                    text,
                    input,
                    input_at,
                } => {
                    self.references(text, &within(&step.at, "approve"), &world);
                    self.references(input, input_at, &world);
                }
                Work::Steps(inner) => {
                    let around: Vec<&Step> = outer.iter().copied().chain(&graph.steps).collect();
                    let around: Vec<&Step> = around
                        .into_iter()
                        .filter(|other| other.name != step.name)
                        .collect();
                    self.graph(inner, &around);
                }
                Work::Wait(_) | Work::Decide { .. } | Work::Join => {}
            }
            if let Some(call) = &step.compensate {
                self.call(call, &world);
            }
        }
    }

    fn call(&mut self, call: &Call, world: &World) {
        if let Some(text) = &call.text {
            self.references(text, &within(&call.at, "text"), world);
        }
        let before = self.findings.len();
        if let Some(input) = &call.input {
            self.references(input, &call.input_at, world);
        }
        if self.findings.len() > before {
            return;
        }
        let payload = call.input.as_ref().map_or_else(empty, translated);
        let mut nearest: Option<Vec<String>> = None;
        for offer in self.offers.meant(&call.agent, &call.skill) {
            let whys = unfit(&payload, &offer, world);
            if whys.is_empty() || (call.input.is_none() && call.text.is_some()) {
                return;
            }
            if nearest
                .as_ref()
                .is_none_or(|before| whys.len() < before.len())
            {
                nearest = Some(whys);
            }
        }
        for why in nearest.into_iter().flatten() {
            let mut why = words(&why).replace("the payload", "the input");
            if why.contains(" needs \"") {
                why = why.replace('"', "`");
            }
            let field = why
                .strip_prefix('`')
                .and_then(|rest| rest.split('`').next());
            let at = field.map_or_else(
                || call.input_at.clone(),
                |field| {
                    field
                        .split('.')
                        .fold(call.input_at.clone(), |at, part| within(&at, part))
                },
            );
            let who = match (&*call.agent, &*call.skill) {
                ("", skill) => format!("the skill `{skill}`"),
                (agent, "") => format!("`{agent}`"),
                (agent, skill) => format!("`{skill}` of `{agent}`"),
            };
            let help = format!("look at what {who} takes");
            self.findings.push(Finding::at(at, why, help));
        }
    }

    fn references(&mut self, template: &Template, at: &At, world: &World) {
        let nothing = Nothing::default();
        let terms = world.terms(&nothing);
        for (path, insert) in template.inserts() {
            let Insert::Reference(reference) = insert else {
                continue;
            };
            let at: At = at.iter().chain(&path).cloned().collect();
            let snippet = reference.to_string();
            if let Some(field) = self.may_be_missing(reference) {
                let message = format!("`{field}` may not be given");
                let help = format!(
                    "add it to `required` of the input, or give it a `default`, as `{snippet}` reads it"
                );
                self.findings
                    .push(Finding::at(at, message, help).snippet(&snippet));
                continue;
            }
            let Ok(translated) = translated_reference(reference).parse() else {
                continue;
            };
            if let Some(why) = leads_nowhere(&world.plan, &translated, &terms) {
                let why = words(&why);
                let (message, help) = match why.split_once("; ") {
                    Some((message, help)) => (message.to_owned(), help.to_owned()),
                    None => (why, String::new()),
                };
                self.findings
                    .push(Finding::at(at, message, help).snippet(&snippet));
            }
        }
    }

    /// The field of the input that a reference reads and that need not be there.
    fn may_be_missing(&self, reference: &Reference) -> Option<String> {
        let field = reference
            .path
            .first()
            .filter(|_| reference.source == Source::Input)?;
        let schema = &self.workflow.input;
        let property = schema["properties"].get(field)?;
        let required = schema["required"].as_array();
        let is_required = required.is_some_and(|required| required.iter().any(|r| r == field));
        (!is_required && property.get("default").is_none()).then(|| field.clone())
    }

    /// The steps that can be read at a place, with the workflow's input and the loop as steps of their own.
    fn world(&self, graph: &Graph, outer: &[&Step], items: Option<&Template>) -> World {
        let mut world = World {
            plan: Plan::default(),
            offers: Vec::new(),
        };
        let input = json!({
            "type": "object",
            "properties": { "input": self.workflow.input },
            "required": ["input"],
        });
        let anything = |name: &str, world: &mut World, output: Option<Value>| {
            world.add(name, "", Vec::new(), output, false);
        };
        anything("workflow", &mut world, Some(input));
        anything("steps", &mut world, None);
        for step in outer.iter().copied().chain(&graph.steps) {
            let (agent, capability, offers) = match (&step.work, &step.each) {
                (Work::Call(call), None) => {
                    let offers = self.offers.meant(&call.agent, &call.skill);
                    (call.agent.as_str(), call.skill.as_str(), offers)
                }
                _ => ("", "", Vec::new()),
            };
            let output = self.own_output(step);
            let is_own = step.each.is_some() || !matches!(step.work, Work::Call(_));
            let offers: Vec<Offer> = offers
                .into_iter()
                .map(|offer| Offer {
                    output: offer.output.map(with_text),
                    ..offer
                })
                .collect();
            match is_own || offers.is_empty() {
                true => world.add(&step.name, "", Vec::new(), output, may_be_absent(step)),
                false => {
                    let capability = match (capability, offers.first()) {
                        ("", Some(only)) => only.capability.clone(),
                        (capability, _) => capability.to_owned(),
                    };
                    let named = (!agent.is_empty()).then(|| agent.to_owned());
                    world.add_call(&step.name, named, &capability, offers, may_be_absent(step));
                }
            }
        }
        let item = items.and_then(|items| element(items, &world));
        let loop_shown = json!({
            "type": "object",
            "properties": {
                "item": item.unwrap_or(Value::Bool(true)),
                "index": { "type": "integer" },
                "count": { "type": "integer" },
                "is_first": { "type": "boolean" },
                "is_last": { "type": "boolean" },
            },
        });
        world.add("loop", "", Vec::new(), Some(loop_shown), false);
        world
    }

    /// The output of a step that no agent gives.
    fn own_output(&self, step: &Step) -> Option<Value> {
        let text = json!({ "type": "string" });
        if step.each.is_some() {
            let item = match &step.work {
                Work::Call(call) => match self.offers.meant(&call.agent, &call.skill).as_slice() {
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
            Work::Approve { .. } => Some(json!({
                "type": "object",
                "properties": { "approved": { "type": "boolean" }, "by": text, "comment": text },
            })),
            Work::Decide { .. } => Some(json!({
                "type": "object",
                "properties": { "decision": { "type": "boolean" } },
            })),
            _ => None,
        }
    }
}

impl World {
    fn add(
        &mut self,
        name: &str,
        agent: &str,
        offers: Vec<Offer>,
        output: Option<Value>,
        may_be_absent: bool,
    ) {
        let capability = format!("own:{name}");
        let own = Offer {
            agent: agent.to_owned(),
            capability: capability.clone(),
            output,
            ..Offer::default()
        };
        let offers = offers.into_iter().chain([own]).collect();
        self.add_call(name, None, &capability, offers, may_be_absent);
    }

    fn add_call(
        &mut self,
        name: &str,
        agent: Option<String>,
        capability: &str,
        offers: Vec<Offer>,
        may_be_absent: bool,
    ) {
        let name = match name {
            // Reserved in plans, and a name that no step of a workflow has.
            "input" | "thread" | "objective" => return,
            name => name.parse::<StepName>(),
        };
        let Ok(name) = name else { return };
        for offer in offers {
            if !self.offers.contains(&offer) {
                self.offers.push(offer);
            }
        }
        let step = PlanStep {
            agent,
            recovery: match may_be_absent {
                true => Recovery::Skip,
                false => Recovery::Fail,
            },
            ..PlanStep::new(capability, empty())
        };
        self.plan.steps.insert(name, step);
    }
}

/// True if there may be no output of a step, though the run goes on.
fn may_be_absent(step: &Step) -> bool {
    step.when.is_some()
        || step.on_failure == OnFailure::Continue
        || step.is_contained
        || step.needs.iter().any(|need| need.branch.is_some())
        || step.join != Join::All
}

/// The schema of a list's items, as far as it is known.
fn element(items: &Template, world: &World) -> Option<Value> {
    let Template::Whole(Insert::Reference(reference)) = items else {
        return None;
    };
    let (name, path) = match &reference.source {
        Source::Input => (
            "workflow",
            ["input".to_owned()]
                .into_iter()
                .chain(reference.path.iter().cloned())
                .collect(),
        ),
        Source::Step(step, Field::Output) => (step.as_str(), reference.path.clone()),
        _ => return None,
    };
    let step = world.plan.steps.get(name)?;
    let mut offers = world
        .offers
        .iter()
        .filter(|o| o.capability == step.capability);
    let schema = offers.next()?.output.as_ref()?;
    let at = path.iter().try_fold(schema, |schema, part: &String| {
        schema["properties"].get(part)
    })?;
    at.get("items").cloned()
}

fn unfit(payload: &Value, offer: &Offer, world: &World) -> Vec<String> {
    let name: StepName = match "steps-here".parse() {
        Ok(name) => name,
        Err(_) => return Vec::new(),
    };
    let mut plan = world.plan.clone();
    let step = PlanStep::new(offer.capability.clone(), payload.clone());
    plan.steps.insert(name.clone(), step);
    let nothing = Nothing::default();
    match plan::fits(&plan, name.as_str(), offer, &world.terms(&nothing)) {
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

/// A template with references as plans of runs have them.
fn translated(template: &Template) -> Value {
    match template {
        Template::Plain(Value::String(text)) => Value::String(text.replace("${", "$${")),
        Template::Plain(value) => value.clone(),
        Template::Whole(insert) => Value::String(translated_insert(insert)),
        Template::Text(pieces) => {
            let pieces = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.replace("${", "$${"),
                Piece::Insert(insert) => translated_insert(insert),
            });
            Value::String(pieces.collect())
        }
        Template::List(items) => items.iter().map(translated).collect(),
        Template::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (key.clone(), translated(value)));
            Value::Object(fields.collect())
        }
    }
}

fn translated_insert(insert: &Insert) -> String {
    match insert {
        Insert::Reference(reference) => translated_reference(reference),
        Insert::Expression(_) => "${steps.output}".to_owned(),
    }
}

fn translated_reference(reference: &Reference) -> String {
    let path: String = reference
        .path
        .iter()
        .map(|part| format!(".{part}"))
        .collect();
    match &reference.source {
        Source::Input => format!("${{workflow.output.input{path}}}"),
        Source::Loop => format!("${{loop.output{path}}}"),
        Source::Step(step, Field::Output) => format!("${{{step}.output{path}}}"),
        Source::Step(..) => "${steps.output}".to_owned(),
    }
}

/// A fault of a plan in the words of a workflow.
fn words(why: &str) -> String {
    why.replace("${workflow.output.input", "${workflow.input")
        .replace("`workflow` gives no", "the input has no")
        .replace("${loop.output.", "${loop.")
        .replace("`${steps.output}`", "the expression")
}
