//! A step that carries another workflow out.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    RUN, file,
    finding::{At, Finding, within},
    input_fields::InputFields,
    loading,
    model::{Call, SubPlan, Workflow},
    output_schema::output_schema,
    template::template,
};

/// Advice on a file that is named where none can be read.
const UNREAD: &str = "put the workflow itself here: only a file can name another file";

/// True for the fault of a file that is named where none was read.
pub(crate) fn is_unread(finding: &Finding) -> bool {
    finding.help == UNREAD
}

/// The request for a run of the workflow in a step. Files that steps name were read before.
pub(super) fn call(
    step: &file::Step,
    input: Option<(&str, &Map<String, Value>)>,
    at: &At,
    findings: &mut Vec<Finding>,
) -> Call {
    let document_at = within(at, "workflow");
    let plan = match &step.workflow {
        Some(file::Nested::Inline(fields)) => {
            let document = Value::Object(fields.clone());
            plan(&document, &step_name(step), &document_at, findings)
        }
        Some(file::Nested::File(file)) => {
            let message = format!("the file `{file}` is not read here");
            findings.push(Finding::at(document_at.clone(), message, UNREAD));
            None
        }
        None => None,
    };
    let input_at = within(at, input.map_or("input", |(field, _)| field));
    if let Some((_, workflow)) = &plan {
        check_input(workflow, input.map(|(_, input)| input), &input_at, findings);
    }
    Call {
        agent: String::new(),
        skill: RUN.to_owned(),
        text: None,
        input: input.map(|(_, input)| template(&Value::Object(input.clone()), &input_at, findings)),
        plan: Some(Arc::new(match plan {
            Some((plan, _)) => plan,
            None => SubPlan::unread(step_name(step)),
        })),
        at: at.clone(),
        agent_at: document_at,
        input_at,
    }
}

fn step_name(step: &file::Step) -> String {
    step.id.clone().unwrap_or_else(|| "workflow".to_owned())
}

fn plan(
    document: &Value,
    name: &str,
    at: &At,
    findings: &mut Vec<Finding>,
) -> Option<(SubPlan, Workflow)> {
    let workflow = match loading::checked(document, name, None) {
        Ok(workflow) => workflow,
        Err(inner) => {
            findings.extend(inner.into_iter().map(|finding| Finding {
                at: at.iter().chain(&finding.at).cloned().collect(),
                ..finding
            }));
            return None;
        }
    };
    let plan = SubPlan {
        name: workflow.name.clone(),
        document: Arc::new(document.clone()),
        secrets: workflow.secrets(),
        input: workflow.input.clone(),
        output: output_schema(&workflow),
    };
    Some((plan, workflow))
}

/// The fields that the workflow needs are given, and no others than those that it knows.
fn check_input(
    workflow: &Workflow,
    input: Option<&Map<String, Value>>,
    at: &At,
    findings: &mut Vec<Finding>,
) {
    let required = workflow.input["required"].as_array();
    for field in required.into_iter().flatten().filter_map(Value::as_str) {
        let is_given = input.is_some_and(|input| input.contains_key(field));
        let has_default = workflow.input["properties"][field].get("default").is_some();
        if !is_given && !has_default {
            let message = format!("the workflow `{}` needs `{field}`", workflow.name);
            let help = format!("add `{field}: …` to the input of this step");
            findings.push(Finding::at(at.clone(), message, help).key());
        }
    }
    let unread = input.map(|input| InputFields::of(workflow).faults(input));
    for fault in unread.into_iter().flatten() {
        let (field, name) = (fault.at.join("."), &workflow.name);
        let message = format!("the workflow `{name}` has no use for `{field}`");
        findings.push(Finding::at(within(at, &field), message, fault.why).key());
    }
}
