//! Checks a workflow against the agents that are known: that they are there, have the skills, and that values fit from step to step.

mod kinds;
mod offers;
mod translating;
mod visible;

use agenthub_sdk::runs::plan::Offer;
use serde_json::{Map, Value};

use self::{
    translating::{translated, words},
    visible::Visible,
};
use crate::{
    expression::Expression,
    finding::{At, Finding, within},
    input_fields::InputFields,
    input_presence::{Presence, presence},
    model::{Call, Graph, Step, SubPlan, Work, Workflow},
    reference::{Reference, Source},
    template::{Insert, Template},
};

pub(crate) use self::offers::Offers;
pub(crate) use self::{offers::unknown_agents, visible::own_output};

/// Values that are not there, or do not fit what takes them. Without offers, what agents take and give is not restricted.
pub(crate) fn misfits(workflow: &Workflow, offers: &Offers) -> Vec<Finding> {
    Checking::of(workflow, offers).findings
}

/// Values of the input that steps read, and that may not be given though the workflow can be carried out, and those that may be given though no
/// step reads them: whoever starts it has to know. Each is told once.
pub(crate) fn doubtful_inputs(workflow: &Workflow) -> Vec<Finding> {
    Checking::of(workflow, &Offers::default()).doubts
}

/// The types that a workflow in a step takes. Fields that it needs, or does not know, are told as it is read.
fn types_of(plan: &SubPlan) -> Offer {
    let mut input = plan.input.clone();
    if let Some(schema) = input.as_object_mut() {
        schema.remove("required");
        schema.remove("additionalProperties");
    }
    Offer {
        input: Some(input),
        ..Offer::default()
    }
}

struct Checking<'w> {
    workflow: &'w Workflow,
    offers: &'w Offers,
    findings: Vec<Finding>,
    doubts: Vec<Finding>,
}

impl<'w> Checking<'w> {
    fn of(workflow: &'w Workflow, offers: &'w Offers) -> Self {
        let mut checking = Self {
            workflow,
            offers,
            findings: Vec::new(),
            doubts: Vec::new(),
        };
        checking.graph(&workflow.graph, &[], None);
        if let Some(output) = &workflow.output {
            let visible = Visible::of(workflow, offers, &workflow.graph, &[], None);
            checking.references(output, &vec!["output".to_owned()], &visible);
        }
        checking.unread_inputs();
        checking
    }

    fn unread_inputs(&mut self) {
        for field in InputFields::of(self.workflow).unread() {
            let at = ["input", "properties", field].map(str::to_owned).to_vec();
            let message = format!("no step reads `{field}`");
            let help = "read it in a step or in the output, or take it out: who gives it is told that it reached nobody";
            self.doubts.push(Finding::at(at, message, help).key());
        }
    }

    /// Checks the steps of a workflow or of a loop, with the steps around it and the schema of its items.
    fn graph(&mut self, graph: &'w Graph, outer: &[&'w Step], item: Option<&Value>) {
        let visible = Visible::of(self.workflow, self.offers, graph, outer, item);
        for step in &graph.steps {
            if let Some(when) = &step.when {
                self.expression(when, &within(&step.at, "when"), None, &visible);
            }
            let within_each;
            let (visible, item) = match &step.each {
                Some(each) => {
                    self.references(&each.items, &each.at, &visible);
                    self.findings.extend(visible.no_list(each));
                    let item = visible.element(&each.items);
                    let item = item.as_ref();
                    within_each = Visible::of(self.workflow, self.offers, graph, outer, item);
                    (&within_each, item.cloned())
                }
                None => (&visible, item.cloned()),
            };
            match &step.work {
                Work::Call(call) => {
                    self.call(call, visible);
                    if let Some(agent) = &step.fallback {
                        let fallback = Call {
                            agent: agent.clone(),
                            ..call.clone()
                        };
                        self.call(&fallback, visible);
                    }
                }
                Work::Approve {
                    text,
                    input,
                    input_at,
                } => {
                    self.references(text, &within(&step.at, "approve"), visible);
                    self.references(input, input_at, visible);
                }
                Work::Event {
                    matching,
                    matching_at,
                    ..
                } => self.references(matching, matching_at, visible),
                Work::Steps(inner) => {
                    let around: Vec<&Step> = outer.iter().copied().chain(&graph.steps).collect();
                    let around: Vec<&Step> = around
                        .into_iter()
                        .filter(|other| other.name != step.name)
                        .collect();
                    self.graph(inner, &around, item.as_ref());
                }
                Work::Decide { condition, at } => self.expression(condition, at, None, visible),
                Work::Wait(_) | Work::Join(_) => {}
            }
            if let Some(call) = &step.compensate {
                self.call(call, visible);
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
        let offers = match &call.plan {
            Some(plan) => vec![types_of(plan)],
            None => self.offers.meant(&call.agent, &call.skill),
        };
        for offer in offers {
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
                _ if let Some(plan) = &call.plan => format!("the workflow `{}`", plan.name),
                ("", skill) => format!("the skill `{skill}`"),
                (agent, "") => format!("`{agent}`"),
                (agent, skill) => format!("`{skill}` of `{agent}`"),
            };
            let help = format!("look at what {who} takes");
            self.findings.push(Finding::at(at, why, help));
        }
    }

    fn references(&mut self, template: &Template, at: &At, visible: &Visible) {
        for (path, insert) in template.inserts() {
            let at: At = at.iter().chain(&path).cloned().collect();
            match insert {
                Insert::Reference(reference) => {
                    let snippet = reference.to_string();
                    self.reference(reference, &at, Some(&snippet), visible);
                }
                Insert::Expression(expression) => {
                    let snippet = expression.to_string();
                    self.expression(expression, &at, Some(&snippet), visible);
                }
            }
        }
    }

    /// Checks the values that an expression reads, unless it provides for those that are not there.
    fn expression(
        &mut self,
        expression: &Expression,
        at: &At,
        snippet: Option<&str>,
        visible: &Visible,
    ) {
        for (message, help) in kinds::unmet(expression, visible) {
            self.findings.push(finding(at, snippet, (message, help)));
        }
        if expression.may_lack_values() {
            return;
        }
        let names = expression.names();
        // A name with its fields, not the shorter ones that it begins with.
        let is_whole = |name: &&String| {
            let begins = format!("{name}.");
            !names.iter().any(|other| other.starts_with(&begins))
        };
        for name in names.iter().filter(is_whole) {
            if let Some(reference) = Reference::of(name) {
                self.reference(&reference, at, snippet, visible);
            }
        }
    }

    fn reference(
        &mut self,
        reference: &Reference,
        at: &At,
        snippet: Option<&str>,
        visible: &Visible,
    ) {
        if let Source::Secret(_) = reference.source {
            return;
        }
        let presence = match reference.source {
            Source::Input => presence(&self.workflow.input, &reference.path),
            _ => Presence::Given,
        };
        let mend = format!(
            "add it to `required` of the input, or give it a `default`, as `{reference}` reads it"
        );
        let first = reference.path.first().map_or("", String::as_str);
        let found = match presence {
            Presence::Optional => Some((format!("`{first}` may not be given"), mend)),
            Presence::Given => visible.leads_nowhere(reference),
            Presence::OptionalWithin => {
                let path = reference.path.join(".");
                self.doubt(at, snippet, (format!("`{path}` may not be given"), mend));
                visible.leads_nowhere(reference)
            }
            Presence::Unnamed => {
                let message =
                    format!("`{first}` may not be given: the workflow's `input` does not name it");
                self.doubt(at, snippet, (message, mend));
                visible.leads_nowhere(reference)
            }
        };
        if let Some(found) = found {
            let finding = finding(at, snippet, found);
            self.findings.push(finding);
        }
    }

    fn doubt(&mut self, at: &At, snippet: Option<&str>, told: (String, String)) {
        let finding = finding(at, snippet, told);
        let mut known = self.doubts.iter();
        if !known.any(|doubt| doubt.message == finding.message) {
            self.doubts.push(finding);
        }
    }
}

fn finding(at: &At, snippet: Option<&str>, (message, help): (String, String)) -> Finding {
    let finding = Finding::at(at.clone(), message, help);
    match snippet {
        Some(snippet) => finding.snippet(snippet),
        None => finding,
    }
}
