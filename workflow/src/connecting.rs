//! Checks a workflow against the agents that are known: that they are there, have the skills, and that values fit from step to step.

mod offers;
mod translating;
mod visible;

use agenthub_sdk::runs::plan::leads_nowhere;
use serde_json::{Map, Value};

use self::{
    translating::{translated, translated_reference, words},
    visible::{NoFacts, Visible},
};
use crate::{
    finding::{At, Finding, within},
    model::{Call, Graph, Step, Work, Workflow},
    reference::{Reference, Source},
    template::{Insert, Template},
};

pub use self::offers::Offers;
pub(crate) use self::offers::unknown_agents;

/// Values that are not there, or do not fit what takes them. Without offers, what agents take and give is not restricted.
pub(crate) fn misfits(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    let mut checking = Checking {
        workflow,
        offers,
        findings: Vec::new(),
    };
    checking.graph(&workflow.graph, &[]);
    if let Some(output) = &workflow.output {
        let visible = Visible::of(workflow, offers, &workflow.graph, &[], None);
        checking.references(output, &vec!["output".to_owned()], &visible);
    }
    checking.findings
}

struct Checking<'w> {
    workflow: &'w Workflow,
    offers: &'w Offers,
    findings: Vec<Finding>,
}

impl<'w> Checking<'w> {
    fn graph(&mut self, graph: &'w Graph, outer: &[&'w Step]) {
        for step in &graph.steps {
            let items = step.each.as_ref().map(|each| &each.items);
            let visible = Visible::of(self.workflow, self.offers, graph, outer, items);
            if let Some(each) = &step.each {
                self.references(&each.items, &each.at, &visible);
            }
            match &step.work {
                Work::Call(call) => {
                    self.call(call, &visible);
                    if let Some(agent) = &step.fallback {
                        let fallback = Call {
                            agent: agent.clone(),
                            ..call.clone()
                        };
                        self.call(&fallback, &visible);
                    }
                }
                Work::Approve {
                    text,
                    input,
                    input_at,
                } => {
                    self.references(text, &within(&step.at, "approve"), &visible);
                    self.references(input, input_at, &visible);
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
                self.call(call, &visible);
            }
        }
    }

    fn call(&mut self, call: &Call, visible: &Visible) {
        if let Some(text) = &call.text {
            self.references(text, &within(&call.at, "text"), visible);
        }
        let before = self.findings.len();
        if let Some(input) = &call.input {
            self.references(input, &call.input_at, visible);
        }
        if self.findings.len() > before {
            return;
        }
        let payload = call
            .input
            .as_ref()
            .map_or_else(|| Value::Object(Map::new()), translated);
        let mut nearest: Option<Vec<String>> = None;
        for offer in self.offers.meant(&call.agent, &call.skill) {
            let whys = visible.unfit(&payload, &offer);
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

    fn references(&mut self, template: &Template, at: &At, visible: &Visible) {
        let nothing = NoFacts::default();
        let terms = visible.terms(&nothing);
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
            if let Some(why) = leads_nowhere(&visible.plan, &translated, &terms) {
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
}
