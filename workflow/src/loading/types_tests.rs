//! Values of the wrong type, and references where none is read.

use std::fs;

use agenthub_sdk::{Card, Skill, schemars};

use super::{
    tests::{faults, right},
    *,
};
use crate::RUN;

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

#[test]
fn a_file_of_json_is_json() {
    let json = "{\n  \"steps\": {\n    \"a\": { \"agent\": \"agent_echo\", \"text\": \"x\" }";
    for (rest, message) in [
        (
            "\n    \"b\": { \"wait\": 1 }\n  }\n}",
            "a comma is missing behind this",
        ),
        (",\n  }\n}", "a comma stands behind the last value"),
        (
            ",\n    // b\n    \"b\": { \"wait\": 1 }\n  }\n}",
            "JSON has no comments",
        ),
        (
            ",\n    'b': { \"wait\": 1 }\n  }\n}",
            "JSON has double quotes alone",
        ),
        (
            ",\n    b: { \"wait\": 1 }\n  }\n}",
            "the name of a field stands in double quotes",
        ),
    ] {
        let told = in_folder(&[("a.json", &format!("{json}{rest}"))]);
        assert_eq!(told, [message], "{rest}");
    }
    assert_eq!(
        in_folder(&[("a.json", &format!("{json}\n\t}}\n}}"))]),
        [""; 0]
    );
    assert_eq!(
        in_folder(&[("a.yaml", &format!("{json},\n  }}\n}}"))]),
        [""; 0],
        "YAML takes more"
    );
}

#[test]
fn slips_are_told_as_what_they_are() {
    for (text, parts) in [
        (
            "input: { type: object, propertys: { x: { type: string } } }\nsteps: { a: { agent: agent_echo, text: x } }",
            ["no word of JSON Schema", "did you mean `properties`?"],
        ),
        (
            "input: { properties: { x: { tpye: string } } }\nsteps: { a: { agent: agent_echo, text: x } }",
            ["`tpye` is no word of JSON Schema", "did you mean `type`?"],
        ),
        (
            "input: { properties: { x: { items: { minLenght: 3 } } } }\nsteps: { a: { agent: agent_echo, text: x } }",
            [
                "`minLenght` is no word of JSON Schema",
                "did you mean `minLength`?",
            ],
        ),
        (
            "steps: { a: { agent: agent_echo, text: x }, b: { agent: agent_echo, text: x, depends_on: [a], join: most } }",
            [
                "`join` can't be `most`",
                "`all` or `any`, or a whole number",
            ],
        ),
        (
            "steps: { c: { if: 'secret.TOKEN == \"x\"', then: a }, a: { agent: agent_echo, text: x } }",
            ["a secret can't be read here", "`text` and `input`"],
        ),
        (
            "start_step: a\nsteps: { a: { type: lop, next_step: b }, b: { agent_name: agent_echo, input_mapping: {} } }",
            ["`type` can't be `lop`", "did you mean `loop`?"],
        ),
        (
            "steps: { a: { agent: agent_echo, text: x, for_each: [1, 2], max_items: 1 } }",
            ["the list has 2 items, and at most 1", "`max_items`"],
        ),
        (
            "steps: { a: { approve: '' } }",
            ["`approve` is empty", "write something"],
        ),
        ("", ["there is nothing in this file", "begin with `steps:`"]),
        (
            "# a comment\n",
            ["there is nothing in this file", "begin with `steps:`"],
        ),
    ] {
        only(text, &parts);
    }
}

#[test]
fn a_time_may_be_a_part_of_its_unit() {
    for (time, ms) in [
        ("1.5s", 1_500),
        ("0.25m", 15_000),
        ("1.5", 1_500),
        ("500ms", 500),
        ("2h", 7_200_000),
    ] {
        let workflow = right(&format!("steps: {{ a: {{ wait: {time} }} }}"));
        let crate::model::Work::Wait(wait) = workflow.graph.steps[0].work else {
            panic!("{workflow:?}");
        };
        assert_eq!(wait, ms, "{time}");
    }
    only("steps: { a: { wait: 1.s } }", &["can't be `1.s`", "`1.5m`"]);
}

/// spec: EXE-1.3, EXE-2.5
#[test]
fn agents_of_a_workflow_within_a_step_are_looked_for_as_well() {
    let inline = |step: &str| {
        format!(
            "steps:\n  a: {{ workflow: {{ steps: {{ b: {{ workflow: {{ steps: {{ x: {{ {step} }} }} }} }} }} }} }}\n"
        )
    };
    let told = |step: &str| {
        let loaded = super::tests::loaded(&inline(step), Some(&with_runner()));
        let faults = loaded.err().unwrap_or_default().into_iter();
        faults.map(|fault| fault.message).collect::<Vec<_>>()
    };
    assert_eq!(told("agent: agent_echo, text: x"), [""; 0]);
    for (step, unknown) in [
        ("agent: ghost, text: x", "ghost"),
        ("agent: agent_echo, skill: sing, text: x", "sing"),
    ] {
        let told = told(step);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(unknown), "{told:?}");
    }
}
