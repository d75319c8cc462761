//! Where two runs part, and in what words.

use std::slice::from_ref;

use serde_json::json;

use super::*;

fn step(name: &str, request: Value, result: Value) -> StepRecord {
    StepRecord {
        step: name.to_owned(),
        kind: "agent".to_owned(),
        agent: "writer".to_owned(),
        state: "completed".to_owned(),
        request,
        result,
        ..StepRecord::default()
    }
}

fn told(first: &[StepRecord], second: &[StepRecord]) -> Vec<String> {
    let run = |steps: &[StepRecord]| RunRecord {
        steps: steps.to_vec(),
        ..RunRecord::default()
    };
    let found = RunDifferences::of(&run(first), &run(second));
    found.steps.iter().map(StepDifference::to_string).collect()
}

#[test]
fn equal_runs_do_not_part() {
    let run = [step("a", json!({"x": 1}), json!([1, null]))];
    assert_eq!(told(&run, &run), Vec::<String>::new());
}

#[test]
fn runs_part_at_the_first_step_that_differs_and_a_step_in_the_first_part_that_does() {
    let first = [
        step("a", json!({"x": 1}), json!(1)),
        step("b", json!({"x": {"y": [1, 2]}}), json!(1)),
        step("c", json!({}), json!({"n": "one"})),
    ];
    let second = [
        step("a", json!({"x": 1}), json!(1)),
        StepRecord {
            state: "failed".to_owned(),
            ..step("b", json!({"x": {"y": [1, 3]}}), json!(2))
        },
        step("c", json!({}), json!({"n": "two"})),
    ];
    assert_eq!(
        told(&first, &second),
        [
            "b: its request differs at /x/y/1: 2, then 3",
            r#"c: its result differs at /n: "one", then "two""#,
        ]
    );
}

#[test]
fn agents_states_and_errors_are_compared() {
    let one = step("a", json!({}), Value::Null);
    let agent = StepRecord {
        agent: "other".to_owned(),
        ..one.clone()
    };
    let failed = StepRecord {
        state: "failed".to_owned(),
        error: "no".to_owned(),
        ..one.clone()
    };
    let why = StepRecord {
        error: "never".to_owned(),
        ..failed.clone()
    };
    let of = |one: &StepRecord, other: &StepRecord| told(from_ref(one), from_ref(other));
    assert_eq!(
        of(&one, &agent),
        [r#"a: its agent differs: "writer", then "other""#]
    );
    assert_eq!(
        of(&one, &failed),
        [r#"a: its state differs: "completed", then "failed""#]
    );
    assert_eq!(
        of(&failed, &why),
        [r#"a: its error differs: "no", then "never""#]
    );
}

#[test]
fn only_the_last_attempt_counts_and_times_of_waits_do_not() {
    let failed = StepRecord {
        state: "failed".to_owned(),
        ..step("a", json!({}), Value::Null)
    };
    let wait = |until: u64| StepRecord {
        kind: "wait".to_owned(),
        ..step("w", json!({"untilMs": until}), Value::Null)
    };
    let first = [failed, step("a", json!({}), json!(1)), wait(1)];
    let second = [step("a", json!({}), json!(1)), wait(2)];
    assert_eq!(told(&first, &second), Vec::<String>::new());
}

#[test]
fn steps_of_one_run_alone_stand_where_they_began() {
    let named = |name: &str| step(name, json!({}), json!(1));
    let first = ["a", "b", "d"].map(named);
    let second = ["a", "c", "d", "e"].map(named);
    assert_eq!(
        told(&first, &second),
        [
            "c: only in the second run",
            "b: only in the first run",
            "e: only in the second run",
        ]
    );
}

#[test]
fn a_field_that_is_null_is_not_one_that_is_missing() {
    let first = [step("a", json!({"x~/y": null}), json!(1))];
    let second = [step("a", json!({}), json!(1))];
    assert_eq!(
        told(&first, &second),
        ["a: its request differs at /x~0~1y: null, then nothing"]
    );
}

#[test]
fn runs_with_the_same_steps_differ_in_what_was_asked_and_what_came_of_them() {
    let steps = vec![step("a", json!({}), json!(1))];
    let completed = RunRecord {
        objective: "d".to_owned(),
        input: json!({"x": "p", "y": 1}),
        steps: steps.clone(),
        state: "completed".to_owned(),
        result: json!({"x": "p"}),
        ..RunRecord::default()
    };
    let other = RunRecord {
        input: json!({"x": "q", "y": 1}),
        result: json!({"x": "q"}),
        ..completed.clone()
    };
    let failed = RunRecord {
        state: "failed".to_owned(),
        result: Value::Null,
        error: "the output: no".to_owned(),
        ..completed.clone()
    };
    let in_part = RunRecord {
        undone: "part".to_owned(),
        ..completed.clone()
    };
    let said = |second: &RunRecord| {
        let found = RunDifferences::of(&completed, second);
        assert_eq!(found.steps, []);
        let all = found.asked.iter().chain(&found.outcome);
        all.map(Difference::to_string).collect::<Vec<_>>()
    };
    assert!(RunDifferences::of(&completed, &completed).is_empty());
    assert_eq!(
        said(&other),
        [
            r#"its input differs at /x: "p", then "q""#,
            r#"its result differs at /x: "p", then "q""#,
        ]
    );
    assert_eq!(
        said(&failed),
        [
            r#"its state differs: "completed", then "failed""#,
            r#"its result differs: {"x":"p"}, then null"#,
            r#"its error differs: "", then "the output: no""#,
        ]
    );
    assert_eq!(
        said(&in_part),
        [r#"its extent of what is undone differs: "", then "part""#]
    );
}
