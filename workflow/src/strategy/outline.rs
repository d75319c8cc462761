//! The steps of a workflow as a plan, for those who watch a run of it.

use serde_json::{Map, Value, json};

use crate::model::{Call, Graph, Step, Work, Workflow};

/// The steps by their names: what each does, by whom, and behind which others.
pub(crate) fn outline(workflow: &Workflow) -> Value {
    json!({ "steps": steps(&workflow.graph) })
}

fn steps(graph: &Graph) -> Map<String, Value> {
    let steps = graph.steps.iter();
    steps
        .map(|step| (step.name.clone(), outlined(step)))
        .collect()
}

fn outlined(step: &Step) -> Value {
    let needs = step.needs.iter().map(|need| need.step.as_str());
    let after: Vec<&str> = needs.chain(step.reads.iter().map(String::as_str)).collect();
    let (what, agent) = match &step.work {
        Work::Call(Call {
            plan: Some(plan), ..
        }) => (format!("workflow {}", plan.name), ""),
        Work::Call(call) => (call.skill.clone(), call.agent.as_str()),
        Work::Wait(_) => ("wait".to_owned(), ""),
        Work::Event { event, .. } => (format!("wait for {event}"), ""),
        Work::Approve { .. } => ("approval".to_owned(), ""),
        Work::Decide { .. } => ("decision".to_owned(), ""),
        Work::Join(_) => ("join".to_owned(), ""),
        Work::Steps(inner) => (format!("{} steps", inner.steps.len()), ""),
    };
    let what = match step.each {
        Some(_) => format!("for each {what}"),
        None => what,
    };
    json!({ "capability": what.trim_end(), "agent": agent, "dependsOn": after })
}
