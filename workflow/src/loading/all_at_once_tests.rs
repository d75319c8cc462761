//! Faults of all kinds in one file, told in one pass.

use super::tests::faults;

/// Ten faults: a field that no workflow has, a field that is there twice, a misspelt field, a value of another type, an unknown agent, an
/// unknown step, a cycle, a bad `${…}`, a missing input, and types that do not connect.
const TEN: &str = "\
nmae: ten
input:
  type: object
  required: [topic]
  properties: { topic: { type: string } }
steps:
  write:
    agent: writer
    timeout: soon
    input: { topic: '${workflow.input.topic}', words: '${workflow.input.topic}' }
  translate:
    agnt: translator
    input: { draft: '${write.output.draft}' }
  other:
    agent: writr
    depends_on: [wriet]
    text: '${1 +}'
  first: { agent: agent_echo, text: x, depends_on: [second] }
  second: { agent: agent_echo, text: '${first.output.text}' }
  second: { agent: agent_echo, text: '${first.output.text}' }
";

/// spec: EXE-1.3
#[test]
fn ten_faults_of_one_file_are_told_in_one_pass() {
    let told = faults(TEN);
    insta::assert_snapshot!(told);
    assert_eq!(told.lines().count(), 10, "{told}");
}

#[test]
fn a_misshapen_step_does_not_hide_what_is_wrong_in_it_and_behind_it() {
    insta::assert_snapshot!(faults(
        "\
steps:
  a:
    agent: writr
    timeuot: soon
    retyr: { attempts: 0 }
    wait: 5
    approve: 3
    text: ${nobody.output.text}
  b: just words
  c:
    agent: agent_echo
    text: ${b.output.text}
    retries: 3
    depends_on: a
  d: { if: 5, then: [e], else: [nobody] }
  e: { wait: {}, fallback: writer }
  f:
    agent: agent_echo
    for_each: [1]
    parallel: 0
    text: ${loop.itm}
"
    ));
}

#[test]
fn faults_in_the_linear_form_are_told_whatever_its_first_step_is() {
    let steps = "\
steps:
  a: { agent_name: agent_echo, input_maping: { x: '${b.output.text}' }, next_step: b }
  b: { agent_name: writr, input_mapping: {}, next_step: 5 }
  c: { type: fork_join, fork_join_config: { branches: { one: { step: [d] } } } }
  d: { type: loop, loop_config: { loop_body: [] } }
";
    let told = ["5", "frist", "a"].map(|first| faults(&format!("start_step: {first}\n{steps}")));
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn what_is_wrong_in_the_first_of_two_steps_of_a_name_is_told_as_well() {
    let told = messages(
        "\
steps:
  a: { agent: x, txt: y }
  b: { agent: x, text: '${a.output.text}' }
  a: { agent: x, text: z, retyr: { attempts: 2 } }
",
    );
    assert_eq!(
        told,
        [
            "a step has no field `txt`",
            "`a` is there twice",
            "a step has no field `retyr`"
        ]
    );
}

#[test]
fn each_cycle_is_told() {
    insta::assert_snapshot!(faults(
        "\
steps:
  a: { agent: agent_echo, text: '${b.output.text}' }
  b: { agent: agent_echo, text: '${a.output.text}' }
  c: { agent: agent_echo, text: x, depends_on: [d], join: 3 }
  d: { agent: agent_echo, text: x, depends_on: [c] }
"
    ));
}

#[test]
fn values_that_conditions_read_must_be_there() {
    insta::assert_snapshot!(faults(
        "\
input:
  type: object
  properties:
    formal: { type: boolean }
    people: { type: array, items: { type: object, properties: { name: { type: string } }, additionalProperties: false }, default: [] }
steps:
  write: { agent: writer, input: { topic: x, words: 1 } }
  good: { if: write.output.scoer > 0.8, then: again }
  again: { agent: agent_echo, when: workflow.input.formal, text: '${write.output.drft | length}' }
  right: { agent: agent_echo, when: workflow.input.formal | default(false), text: x }
  greet:
    for_each: ${workflow.input.people}
    steps:
      hello: { agent: agent_echo, text: '${loop.item.nmae}' }
"
    ));
}

#[test]
fn words_of_other_languages_are_told_with_ours() {
    insta::assert_snapshot!(faults(
        "\
steps:
  a: { agent: agent_echo, text: '${input.topic}' }
  b: { if: a.output.text == null, then: c }
  c: { agent: agent_echo, text: x, when: a.output.text contains 'x' }
  d: { agent: agent_echo, text: x, when: a.output.text && true }
  e: { agent: agent_echo, text: x, when: '!a.output.text' }
  f: { agent: agent_echo, for_each: [1], text: '${item}', colour: red }
"
    ));
}

/// The messages of the faults of a file.
fn messages(text: &str) -> Vec<String> {
    let faults = super::tests::loaded(text, None).expect_err(text);
    faults.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn a_file_that_is_missing_does_not_hide_what_else_is_wrong() {
    let told = messages("steps:\n  a: { workflow: none.yaml }\n  b: { agent: x, txt: y }\n");
    assert_eq!(
        told,
        ["there is no file `none.yaml`", "a step has no field `txt`"]
    );
}

#[test]
fn one_slip_is_one_fault() {
    for (text, message) in [
        (
            "  a: { worklfow: none.yaml }\n",
            "a step has no field `worklfow`",
        ),
        (
            "  a: { fi: 1 > 0, then: b }\n  b: { agent: x, text: y }\n",
            "a step has no field `fi`",
        ),
        (
            "  a: { agent: x, text: y, timeout: 0 }\n",
            "in a `timeout` of 0 nothing can be done",
        ),
        (
            "  a: { agent: x, text: y, timeout: -3 }\n",
            "`timeout` can't be `-3`",
        ),
        (
            "  a: { agent: x, text: '${workflow.input.x | lenght}' }\n",
            "`${workflow.input.x | lenght}` is no reference and no expression: there is no filter `lenght`; did you mean `length`?",
        ),
        (
            "  a: { agent: x, text: y }\ninput: { properties: { n: { type: arary } } }\n",
            "`arary` is no type of JSON Schema",
        ),
    ] {
        assert_eq!(messages(&format!("steps:\n{text}")), [message], "{text}");
    }
}
