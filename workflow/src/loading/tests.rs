//! Files that are right, and what is said of those that are not.

use std::{fs, path::Path};

use agenthub_documents::Fault;
use agenthub_sdk::{Card, Skill, proto::a2a::AgentCard, schemars};
use serde_json::json;

use super::*;
use crate::drawing::{dot, mermaid};

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "it has a schema")]
struct Brief {
    topic: String,
    words: u32,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Draft {
    draft: String,
    score: f64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "it has a schema")]
struct Translation {
    draft: String,
    language: String,
}

/// A writer, a translator, and an agent that takes words.
pub(crate) fn offers() -> Offers {
    let write = Skill::typed::<Brief, Draft>("write", "Write", "Writes");
    let translate = Skill::typed::<Translation, Draft>("translate", "Translate", "Translates");
    let echo = Skill::new("echo", "Echo", "Says it again");
    let cards: Vec<AgentCard> = vec![
        Card::new("writer", "Writes").skill(&write).into(),
        Card::new("translator", "Translates")
            .skill(&translate)
            .into(),
        Card::new("agent_echo", "Echoes").skill(&echo).into(),
    ];
    Offers::of(&cards)
}

pub(super) fn loaded(text: &str, offers: Option<&Offers>) -> Result<Workflow, Vec<Fault>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("story.yaml");
    fs::write(&path, text).expect("the folder is there");
    load(&path, offers)
}

/// Faults of a file, a line for each.
pub(super) fn faults(text: &str) -> String {
    let faults = loaded(text, Some(&offers())).expect_err(text);
    let lines = faults.iter().map(|fault| {
        let place = fault.place.unwrap_or_default();
        let lines: Vec<&str> = fault.text.lines().collect();
        let line = lines
            .get(place.line.saturating_sub(1) as usize)
            .unwrap_or(&"");
        let meant: String = line
            .chars()
            .skip(place.column.saturating_sub(1) as usize)
            .take(place.length as usize)
            .collect();
        let help = fault.help.as_deref().unwrap_or_default();
        format!(
            "{}:{} `{meant}` {} ({help})",
            place.line, place.column, fault.message
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn right(text: &str) -> Workflow {
    match loaded(text, Some(&offers())) {
        Ok(workflow) => workflow,
        Err(faults) => panic!("{faults:#?}"),
    }
}

pub(crate) const STORY: &str = "\
name: story
version: '1'
description: Writes a story and translates it
input:
  type: object
  required: [topic]
  properties:
    topic: { type: string }
    words: { type: integer, default: 300 }
    languages: { type: array, items: { type: string }, default: [de, fr] }
steps:
  write:
    agent: writer
    skill: write
    input: { topic: '${workflow.input.topic}', words: '${workflow.input.words}' }
    retry: { attempts: 3, pause: 1s }
    timeout: 2m
  good:
    if: write.output.score >= 0.8
    then: release
    else: again
    depends_on: [write]
  again:
    skill: write
    input: { topic: '${workflow.input.topic}, better than: ${write.output.draft}', words: 200 }
  release:
    approve: Publish '${write.output.text}'?
  translate:
    depends_on: [again, release]
    agent: translator
    for_each: ${workflow.input.languages}
    parallel: 2
    on_item_failure: continue
    input: { draft: '${write.output.draft}', language: '${loop.item}' }
output:
  texts: ${translate.output.iterations}
  count: ${translate.output.iterations | length}
";

pub(super) const LINEAR: &str = r#"{
  "plan_id": "p-1",
  "name": "chain",
  "version": "1.0.0",
  "start_step": "step-1",
  "steps": {
    "step-1": {
      "id": "step-1",
      "agent_name": "writer",
      "next_step": "step-2",
      "input_mapping": { "topic": "${workflow.input.topic}", "words": 10 }
    },
    "step-2": {
      "id": "step-2",
      "type": "conditional",
      "condition": { "expression": "${step-1.output.score} > 0.8" },
      "if_true_step": "step-3",
      "if_false_step": null,
      "next_step": "step-4"
    },
    "step-3": { "type": "agent", "agent_name": "agent_echo", "input_mapping": {}, "next_step": null },
    "step-4": {
      "type": "parallel",
      "parallel_steps": ["a", "b"],
      "max_parallelism": 1,
      "next_step": "step-5"
    },
    "a": { "agent_name": "agent_echo", "input_mapping": { "x": "${step-1.output}" } },
    "b": { "agent_name": "agent_echo", "input_mapping": { "x": "${step-1.output}" } },
    "step-5": {
      "type": "loop",
      "loop_config": {
        "collection": "${workflow.input.items}",
        "loop_body": ["body-1", "body-2"],
        "execution_mode": "parallel",
        "max_parallelism": 5,
        "on_error": "collect"
      },
      "next_step": "step-6"
    },
    "body-1": { "agent_name": "agent_echo", "input_mapping": { "item": "${loop.item}", "i": "${loop.index}" } },
    "body-2": { "agent_name": "agent_echo", "input_mapping": { "before": "${body-1.output.text}" } },
    "step-6": {
      "type": "fork_join",
      "fork_join_config": {
        "branches": { "one": { "steps": ["c", "d"] }, "two": { "steps": ["e"] } },
        "join_policy": "n_of_m",
        "n_required": 1
      }
    },
    "c": { "agent_name": "agent_echo", "input_mapping": {} },
    "d": { "agent_name": "agent_echo", "input_mapping": { "c": "${c.output}" } },
    "e": { "agent_name": "agent_echo", "input_mapping": { "all": "${step-5.output.iterations}" } }
  }
}"#;

/// spec: EXE-1.2, EXE-2.1
#[test]
fn both_forms_are_read_in_yaml_and_json() {
    let told = |workflow: &Workflow| {
        let steps = workflow.graph.all().into_iter().map(|step| {
            let needs = step.needs.iter().map(|need| match need.branch {
                None => need.step.clone(),
                Some(branch) => format!("{}={branch}", need.step),
            });
            let needs = needs.chain(step.reads.iter().map(|read| format!("({read})")));
            format!(
                "{} < {} {:?}",
                step.name,
                needs.collect::<Vec<_>>().join(" "),
                step.join
            )
        });
        steps.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("graph_form", told(&right(STORY)));
    insta::assert_snapshot!("linear_form", told(&right(LINEAR)));
}

#[test]
fn steps_are_read_as_a_list_and_as_a_mapping() {
    let list = right(
        "steps:\n- {id: a, agent: agent_echo, text: x}\n- {id: b, agent: agent_echo, text: '${a.output.text}'}\n",
    );
    let map = right(
        "steps:\n  a: {agent: agent_echo, text: x}\n  b: {agent: agent_echo, text: '${a.output.text}'}\n",
    );
    for workflow in [list, map] {
        assert_eq!(workflow.name, "story");
        let b = &workflow.graph.steps[1];
        assert_eq!(b.reads.iter().collect::<Vec<_>>(), ["a"]);
    }
}

#[test]
fn what_is_wrong_is_said_all_at_once_with_its_line_and_what_to_do() {
    insta::assert_snapshot!(faults(
        "\
name: 5
inptu: {}
steps:
  a:
    agent: writer
    dependsOn: [b]
    timeout: soon
    join: some
    retry: { attempts: 0, pause: 1s, tries: 3 }
  b: just words
  c:
    agent: agent_echo
    parallel: many
"
    ));
}

#[test]
fn names_that_mean_nothing_are_told_with_those_that_may_be_meant() {
    insta::assert_snapshot!(faults(
        "\
steps:
  draft:
    agent: writr
    input: { topic: x, words: 1 }
  second:
    agent: writer
    skill: translate
    depends_on: [drfat]
    input: { topic: x, words: 1 }
  third:
    skill: wirte
    fallback: nobody
    text: hello
  B: { agent: agent_echo, text: x }
  loop: { agent: agent_echo, text: x }
  decide:
    if: draft.output.score > 1
    then: [thrid]
"
    ));
}

#[test]
fn values_that_are_not_there_or_do_not_fit_are_told() {
    insta::assert_snapshot!(faults(
        "\
input:
  type: object
  required: [topic]
  properties:
    topic: { type: string }
    note: { type: string }
    count: { type: integer, default: many }
steps:
  write:
    agent: writer
    input:
      topic: ${workflow.input.topic}
      words: ${workflow.input.topic}
  other:
    agent: writer
    input: { topic: x }
  third:
    agent: translator
    input:
      draft: ${write.output.drft}
      language: ${workflow.input.note}
  fourth:
    agent: agent_echo
    text: |
      It says ${write.output.draft},
      and ${nobody.output.text} and ${write.text} and ${loop.item}
  fifth:
    agent: agent_echo
    text: '${1 +} and ${open'
    when: write.output.score >
"
    ));
}

#[test]
fn values_that_may_be_missing_are_told_where_they_are_needed() {
    insta::assert_snapshot!(faults(
        "\
steps:
  write:
    agent: writer
    when: workflow.input.wanted
    input: { topic: x, words: 3 }
  translate:
    agent: translator
    input: { draft: '${write.output.draft}', language: de }
"
    ));
}

#[test]
fn cycles_and_steps_that_are_never_reached_are_told() {
    insta::assert_snapshot!(
        "cycle",
        faults(
            "\
steps:
  a: { agent: agent_echo, text: x, depends_on: [c] }
  b: { agent: agent_echo, text: '${a.output.text}' }
  c: { agent: agent_echo, text: x, depends_on: [b] }
"
        )
    );
    insta::assert_snapshot!(
        "unreached",
        faults(
            "\
start_step: a
steps:
  a: { agent_name: agent_echo, input_mapping: {}, next_step: c }
  b: { agent_name: agent_echo, input_mapping: {}, next_step: a }
  c: { agent_name: agent_echo, input_mapping: {}, next_step: d, depends_on: [a] }
"
        )
    );
}

#[test]
fn fields_that_mean_nothing_where_they_stand_are_told() {
    insta::assert_snapshot!(faults(
        "\
steps:
  wait: { wait: 30s, agent: agent_echo, retry: { attempts: 2 } }
  nothing: {}
  ask: { approve: Go on?, fallback: writer, parallel: 3 }
  decide: { if: 'true' }
  linear: { agent: agent_echo, text: x, next_step: ask }
  many: { agent: agent_echo, text: x, depends_on: [ask], join: 2 }
  both: { agent: agent_echo, agent_name: writer, text: x, others: cancel }
  each: { agent: agent_echo, text: x, for_each: 5 }
"
    ));
}

#[test]
fn a_file_that_is_no_yaml_is_told_with_its_place() {
    let all = [
        "steps: [\n",
        "steps:\n\ta: {}\n",
        "a: 1\na: 2\n",
        "",
        "- x\n",
        "steps: {}\n",
        "a: 1\n---\nb: 2\n",
    ];
    let told: Vec<String> = all.iter().map(|text| faults(text)).collect();
    insta::assert_snapshot!(told.join("\n"));
    let missing = load(Path::new("none.yaml"), None).expect_err("it is not there");
    assert!(
        missing[0].to_string().contains("no such file"),
        "{missing:?}"
    );
}

#[test]
fn without_agents_only_what_the_file_itself_says_is_checked() {
    let text = STORY
        .replace("agent: writer", "agent: somebody")
        .replace("skill: write", "skill: anything");
    loaded(&text, None).expect("nobody is known");
    let wrong = text.replace("workflow.input.words", "workflow.input.word");
    let faults = loaded(&wrong, None).expect_err("there is no such field");
    assert!(faults[0].message.contains("no `word`"), "{faults:?}");
}

#[test]
fn a_document_is_read_as_a_file_is_and_told_of_by_its_paths() {
    let document = json!({"steps": {"a": {"agent": "agent_echo", "text": "x"}}});
    assert_eq!(read(&document, None).expect("it is right").name, "workflow");
    let wrong = json!({"steps": {"a": {"agent": "agent_echo", "texxt": "x"}}});
    let faults = read(&wrong, None).expect_err("it is wrong");
    assert_eq!(
        faults,
        ["steps.a.texxt: a step has no field `texxt`; did you mean `text`?"]
    );
}

#[test]
fn a_drawing_has_the_steps_and_how_they_follow_one_another() {
    insta::assert_snapshot!("mermaid", mermaid(&right(STORY)));
    insta::assert_snapshot!("dot", dot(&right(LINEAR)));
}
