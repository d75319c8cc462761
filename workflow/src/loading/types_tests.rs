//! Values of the wrong type, and references where none is read.

use std::fs;

use agenthub_sdk::{Card, Skill, schemars};

use super::{
    tests::{faults, right},
    *,
};
use crate::model::RUN;

/// As the agent that carries workflows out takes it.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "it has a schema")]
struct Start {
    workflow: Value,
    input: Option<Value>,
}

/// An agent that takes words, and the one that carries workflows out.
fn with_runner() -> Offers {
    let run = Skill::typed::<Start, Value>(RUN, "Run", "Runs");
    let echo = Skill::new("echo", "Echo", "Says it again");
    Offers::of(&[
        Card::new("workflows", "Runs").skill(&run).into(),
        Card::new("agent_echo", "Echoes").skill(&echo).into(),
    ])
}

/// One fault, with these words.
fn only(text: &str, parts: &[&str]) {
    let told = faults(text);
    assert_eq!(told.lines().count(), 1, "{text}: {told}");
    for part in parts {
        assert!(told.contains(part), "{text}: {told}");
    }
}

fn with_input(step: &str) -> String {
    format!(
        "
input:
  type: object
  required: [s, n, l, b]
  properties: {{ s: {{ type: string }}, n: {{ type: integer }}, l: {{ type: array }}, b: {{ type: boolean }} }}
steps:
  write: {{ agent: writer, input: {{ topic: x, words: 3 }} }}
  a: {{ {step} }}
  then: {{ agent: agent_echo, text: x }}
"
    )
}

#[test]
fn comparisons_that_have_no_answer_are_told_where_the_types_are_known() {
    for (condition, parts) in [
        (
            "workflow.input.s > 5",
            ["`workflow.input.s` is a text", "`workflow.input.s | float`"],
        ),
        (
            "5 <= workflow.input.s",
            ["they have no order", "`workflow.input.s | float`"],
        ),
        (
            "workflow.input.l > 5",
            ["is a list; only two numbers or two texts", "| length"],
        ),
        (
            "write.output.score >= \\\"0.8\\\"",
            ["`write.output.score` is a number", "without quotes"],
        ),
        (
            "write.output.draft > 3 or true",
            ["`write.output.draft` is a text", "| float"],
        ),
        ("write.state == 3", ["they are never equal", "of one type"]),
        (
            "workflow.input.n == '3'",
            ["never equal", "`workflow.input.n` is a number"],
        ),
        (
            "'false'",
            ["`'false'` is a text", "a condition is true or false"],
        ),
        (
            "workflow.input.s and true",
            ["`workflow.input.s` is a text", "== \"yes\""],
        ),
        (
            "not workflow.input.l",
            ["`workflow.input.l` is a list", "| length > 0`"],
        ),
        ("${workflow.input.n}", ["is a number; a condition", "> 0"]),
    ] {
        for step in ["agent: agent_echo, text: x, when", "then: then, if"] {
            only(&with_input(&format!("{step}: \"{condition}\"")), &parts);
        }
    }
    only(
        &with_input("agent: agent_echo, text: 'x ${workflow.input.s > 5}'"),
        &["have no order"],
    );
    for condition in [
        "workflow.input.n > 5 and workflow.input.b",
        "workflow.input.s > 'a'",
        "workflow.input.s | float > 5",
        "write.output.score == none",
        "write.output.score == 3",
        "not workflow.input.b or workflow.input.l | length > 2",
        "write.output.score >= 0.8",
    ] {
        right(&with_input(&format!("then: then, if: \"{condition}\"")));
    }
}

#[test]
fn references_in_texts_that_take_none_are_told() {
    for (step, parts) in [
        (
            "wait_for: { event: 'order-${workflow.input.s}' }",
            ["`event` takes no", "`match`"],
        ),
        (
            "wait_for: { event: paid, from: '${workflow.input.s}' }",
            ["`from` takes no", "leave `from` out"],
        ),
        (
            "agent: '${workflow.input.s}', text: x",
            ["`agent` takes no", "`if` chooses"],
        ),
        (
            "skill: '${workflow.input.s}', text: x",
            ["`skill` takes no", "`if` chooses"],
        ),
        (
            "agent: agent_echo, text: x, fallback: '${workflow.input.s}'",
            ["`fallback` takes no", "`if`"],
        ),
        (
            "agent: agent_echo, text: x, compensate: { agent: '${workflow.input.s}', text: x }",
            ["`agent` takes no", "`if`"],
        ),
    ] {
        only(&with_input(step), &parts);
    }
    right(&with_input(
        "wait_for: { event: paid, match: { of: '${workflow.input.s}' } }",
    ));
}

const BAKERY: &str = "
input:
  type: object
  required: [customer, items]
  additionalProperties: false
  properties: { customer: { type: string }, items: { type: array, items: { type: string } } }
steps:
  ask: { approve: 'Bake for ${workflow.input.customer}?' }
output: { baked: '${workflow.input.items}', by: '${ask.output.by}' }
";

fn in_folder(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("the folder is there");
    }
    match load(&folder.path().join(files[0].0), Some(&with_runner())) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().map(|fault| fault.message).collect(),
    }
}

#[test]
fn what_a_workflow_in_a_step_takes_and_gives_is_checked() {
    let inline = BAKERY.replace('\n', "\n      ");
    for workflow in ["bakery.yaml", &format!("\n      {inline}")] {
        let of = |input: &str, read: &str| {
            let outer = format!(
                "
input: {{ type: object, required: [n, s], properties: {{ n: {{ type: integer }}, s: {{ type: string }} }} }}
steps:
  b:
    workflow: {workflow}
    input: {input}
  c: {{ agent: agent_echo, text: '${{b.output.{read}}}' }}
"
            );
            in_folder(&[("outer.yaml", &outer), ("bakery.yaml", BAKERY)])
        };
        assert_eq!(of("{ customer: Ann, items: [roll] }", "baked"), [""; 0]);
        assert_eq!(
            of(
                "{ customer: '${workflow.input.s}', items: ['${workflow.input.n}'] }",
                "by"
            )
            .len(),
            1
        );
        let told = of("{ customer: 3, items: roll }", "baked");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].contains("customer") && told[1].contains("items"),
            "{told:?}"
        );
        let told = of("{ customer: '${workflow.input.n}', items: [] }", "baked");
        assert_eq!(told.len(), 1, "{told:?}");
        let told = of("{ customer: Ann, items: [] }", "bakd");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("bakd"), "{told:?}");
        let told = of("{ items: [] }", "baked");
        assert_eq!(
            told,
            ["the workflow `bakery` needs `customer`".replace(
                "bakery",
                if workflow == "bakery.yaml" {
                    "bakery"
                } else {
                    "b"
                }
            )]
        );
    }
}

#[test]
fn a_workflow_that_cannot_be_read_is_one_fault() {
    let naming = |file: &str| format!("steps:\n  b: {{ workflow: {file}, input: {{ x: 1 }} }}\n");
    let told = in_folder(&[("a.yaml", &naming("none.yaml"))]);
    assert_eq!(told, ["there is no file `none.yaml`"]);
    let told = in_folder(&[("a.yaml", &naming("a.yaml"))]);
    assert_eq!(told, ["`a.yaml` is carried out within itself"]);
    let told = in_folder(&[
        ("a.yaml", &naming("b.yaml")),
        ("b.yaml", &naming("c.yaml")),
        ("c.yaml", "steps: { d: { agent: agent_echo, txt: x } }"),
    ]);
    assert_eq!(told, ["a step has no field `txt`"]);
    let told = in_folder(&[(
        "a.yaml",
        "steps: { b: { workflow: { steps: { d: { agent: agent_echo, text: '${nobody.output}' } } } } }",
    )]);
    assert_eq!(told, ["there is no step `nobody` here"]);
}
