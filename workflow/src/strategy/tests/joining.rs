//! The order of steps, branches and joins.

use super::*;

/// spec: EXE-2.2, EXE-2.3, EXE-2.4
#[test]
fn a_step_begins_when_those_it_waits_for_are_done_and_gets_their_outputs() {
    let workflow = "
steps:
  a: { agent: x, text: one }
  b: { agent: x, text: two }
  c: { agent: y, input: { a: '${a.output.n}', all: '${a.output.n}+${b.output.n}' } }
output: { c: '${c.output}' }
";
    let mut play = begun(workflow, json!({}));
    assert_eq!(play.decide(), None);
    assert_eq!(play.names(), ["a", "b"]);
    play.give_agent("b", done(json!({"n": 2})));
    assert_eq!(play.decide(), None);
    assert_eq!(play.names(), ["a"], "c waits for both");
    play.give_agent("a", done(json!({"n": 1})));
    assert_eq!(play.decide(), None);
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"c: y   {"a":1,"all":"1+2"}"#)
    );
    play.give_agent("c", done(json!({"ok": true})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(output(&outcome), json!({"c": {"ok": true}}));
}

#[test]
fn the_linear_form_goes_the_way_that_its_conditions_decide() {
    let workflow = r#"{"start_step": "s1", "steps": {
        "s1": {"agent_name": "x", "input_mapping": {"t": "${workflow.input.t}"}, "next_step": "s2"},
        "s2": {"type": "conditional", "condition": {"expression": "${s1.output.score} > 5"},
               "if_true_step": "high", "if_false_step": "low", "next_step": "s3"},
        "high": {"agent_name": "x", "input_mapping": {"is": "high"}},
        "low": {"agent_name": "x", "input_mapping": {"is": "low"}},
        "s3": {"agent_name": "x", "input_mapping": {"high": "${high.output}", "low": "${low.output}"}}}}"#;
    for (score, way, other) in [(9, "high", "low"), (1, "low", "high")] {
        let (outcome, told) = played(workflow, json!({"t": 1}), |step, _| match step {
            "s1" => done(json!({"score": score})),
            step => done(json!({"of": step})),
        });
        assert!(told.iter().any(|line| line.starts_with(way)), "{told:?}");
        assert!(!told.iter().any(|line| line.starts_with(other)), "{told:?}");
        let last = format!("s3: x   {{\"{way}\":{{\"of\":\"{way}\"}}}}");
        assert_eq!(
            told.last(),
            Some(&last),
            "what was skipped leaves its field out"
        );
        assert_eq!(output(&outcome)[other], Value::Null);
    }
}

#[test]
fn a_branch_that_is_not_taken_is_skipped_whole_and_a_merge_goes_on() {
    let workflow = "
steps:
  d: { if: workflow.input.yes, then: a, else: b }
  a: { agent: x, text: a }
  a2: { agent: x, text: a2, depends_on: [a] }
  b: { agent: x, text: b }
  w: { agent: x, text: w, when: 'not workflow.input.yes', depends_on: [d] }
  end: { agent: x, text: 'after ${a2.state} ${b.state} ${w.state}', depends_on: [a2, b, w] }
";
    let (_, told) = played(workflow, json!({"yes": true}), |_, _| done(json!({})));
    assert_eq!(
        told,
        [
            "a: x  a",
            "a2: x  a2",
            "end: x  after completed skipped skipped"
        ]
    );
    let (_, told) = played(workflow, json!({"yes": false}), |_, _| done(json!({})));
    assert_eq!(
        told,
        [
            "b: x  b",
            "w: x  w",
            "end: x  after skipped completed completed"
        ]
    );
}

#[test]
fn a_join_goes_on_with_as_many_as_it_needs_and_calls_the_others_back() {
    let workflow = |others: &str| {
        format!(
            "
steps:
  a: {{ agent: x, text: a }}
  b: {{ agent: x, text: b }}
  c0: {{ agent: x, text: c0 }}
  c: {{ agent: x, text: c, depends_on: [c0] }}
  end: {{ agent: y, depends_on: [a, b, c], join: 2, others: {others}, input: {{ a: '${{a.output}}', b: '${{b.output}}', c: '${{c.output}}' }} }}
"
        )
    };
    let mut play = begun(&workflow("cancel"), json!({}));
    play.decide();
    play.give_agent("b", done(json!("b")));
    play.decide();
    assert_eq!(play.names(), ["a", "c0"]);
    play.give_agent("a", failed("broken"));
    play.decide();
    assert_eq!(play.names(), ["c0"], "c may still do");
    play.give_agent("c0", done(json!({})));
    play.decide();
    play.give_agent("c", done(json!("c")));
    play.decide();
    let last = r#"end: y   {"b":{"data":"b","text":""},"c":{"data":"c","text":""}}"#;
    assert_eq!(play.told.last().map(String::as_str), Some(last));

    let mut play = begun(&workflow("cancel"), json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.give_agent("b", done(json!({})));
    play.decide();
    assert!(
        play.told.contains(&"recall c0".to_owned()),
        "{:?}",
        play.told
    );
    assert_eq!(play.names(), ["end"]);

    let mut play = begun(&workflow("finish"), json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.give_agent("b", done(json!({})));
    play.decide();
    assert_eq!(play.names(), ["c0", "end"]);
    play.give_agent("c0", done(json!({})));
    play.decide();
    play.give_agent("c", done(json!({"late": true})));
    assert_eq!(
        play.decide(),
        None,
        "what came late changes nothing of what went out"
    );
    play.give_agent("end", done(json!({})));
    output(&play.decide().expect("all have ended"));
}

#[test]
fn a_join_that_cannot_get_enough_fails() {
    let workflow = "
steps:
  a: { agent: x, text: a }
  b: { agent: x, text: b }
  end: { agent: y, text: end, depends_on: [a, b], join: any }
";
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("no"));
    assert!(error(&outcome).contains("only 0 of 2"), "{outcome:?}");
}

/// A skipped step is no completed one, and no failed one.
#[test]
fn a_join_of_skipped_branches_is_skipped_and_without_one_branches_meet() {
    let ends = |join: &str, taken: &str, fails: &str| {
        let workflow = format!(
            "
steps:
  a: {{ agent: x, text: a, when: '{}' }}
  b: {{ agent: x, text: b, when: '{}' }}
  c: {{ agent: x, text: c, when: '{}' }}
  end: {{ agent: y, text: end, depends_on: [a, b, c], {join} }}
  last: {{ agent: y, text: '${{end.state}}' }}
",
            taken.contains('a'),
            taken.contains('b'),
            taken.contains('c')
        );
        let (outcome, told) = played(&workflow, json!({}), |step, _| match step {
            step if fails.contains(step) => failed("no"),
            _ => done(json!({})),
        });
        let state = told.iter().find_map(|line| line.strip_prefix("last: y  "));
        state.map_or_else(|| error(&outcome).to_owned(), str::to_owned)
    };
    for (join, taken, expected) in [
        ("", "abc", "completed"),
        ("", "a", "completed"),
        ("", "", "skipped"),
        ("join: all", "abc", "completed"),
        ("join: all", "ab", "skipped"),
        ("join: all", "", "skipped"),
        ("join: 2", "ab", "completed"),
        ("join: 2", "a", "skipped"),
        ("join: any", "c", "completed"),
        ("join: any", "", "skipped"),
    ] {
        assert_eq!(ends(join, taken, "-"), expected, "{join} of {taken}");
    }
    for (join, taken, fails) in [
        ("join: 2", "ab", "a"),
        ("join: any", "b", "b"),
        ("join: all", "ab", "b"),
    ] {
        let failed = ends(join, taken, fails);
        assert!(failed.contains("has failed"), "{join} of {taken}: {failed}");
    }
}

#[test]
fn a_step_that_is_let_go_leaves_its_field_out() {
    let workflow = "
steps:
  a: { agent: x, text: t, on_failure: continue }
  b: { agent: y, depends_on: [a], input: { a: '${a.output}', why: '${a.error}', state: '${a.state}' } }
";
    let (outcome, told) = played(workflow, json!({}), |step, _| match step {
        "a" => failed("no"),
        _ => done(json!({})),
    });
    assert_eq!(told[1], r#"b: y   {"why":"a: no","state":"failed"}"#);
    assert_eq!(output(&outcome), json!({"b": {}}));
}

#[test]
fn of_a_parallel_only_so_many_are_at_work_at_the_same_time() {
    let workflow = r#"{"start_step": "p", "steps": {
        "p": {"type": "parallel", "parallel_steps": ["a", "b", "c"], "max_parallelism": 2, "next_step": "end"},
        "a": {"agent_name": "x", "input_mapping": {}}, "b": {"agent_name": "x", "input_mapping": {}},
        "c": {"agent_name": "x", "input_mapping": {}},
        "end": {"agent_name": "x", "input_mapping": {"all": "${p.output}"}}}}"#;
    let mut play = begun(workflow, json!({}));
    play.decide();
    assert_eq!(play.names(), ["a", "b"]);
    play.give_agent("b", done(json!({"n": 2})));
    play.decide();
    assert_eq!(play.names(), ["a", "c"]);
    play.give_agent("a", done(json!({"n": 1})));
    play.give_agent("c", done(json!({"n": 3})));
    play.decide();
    let last = r#"end: x   {"all":{"a":{"n":1},"b":{"n":2},"c":{"n":3}}}"#;
    assert_eq!(play.told.last().map(String::as_str), Some(last));
}

#[test]
fn a_value_that_is_not_there_fails_the_step_and_says_which() {
    let workflow = "
steps:
  a: { agent: x, text: '${workflow.input.missing.deep}' }
";
    let (outcome, told) = played(workflow, json!({}), |_, _| done(json!({})));
    assert!(
        error(&outcome).contains("${workflow.input.missing.deep}"),
        "{outcome:?}"
    );
    assert!(told.is_empty());
}

#[test]
fn what_agents_say_is_never_taken_for_a_reference() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  b: { agent: y, text: 'said: ${steps.a.output.text}' }
";
    let (_, told) = played(workflow, json!({}), |_, _| DelegationResult {
        text: "${workflow.input.secret}".to_owned(),
        data: Vec::new(),
        ..done(Value::Null)
    });
    assert_eq!(
        told.last().map(String::as_str),
        Some("b: y  said: ${workflow.input.secret}")
    );
}

#[test]
fn a_step_of_a_branch_that_is_not_taken_is_skipped_whatever_else_it_depends_on() {
    let workflow = "
steps:
  a: { agent: x, text: a }
  d: { if: workflow.input.yes, then: [b, end], depends_on: [a] }
  b: { agent: x, text: b, depends_on: [a] }
  end: { agent: x, text: end, depends_on: [a, b, d], join: 3 }
";
    let (_, told) = played(workflow, json!({"yes": false}), |_, _| done(json!({})));
    assert_eq!(told, ["a: x  a"]);
    let (_, told) = played(workflow, json!({"yes": true}), |_, _| done(json!({})));
    assert_eq!(told, ["a: x  a", "b: x  b", "end: x  end"]);
}

#[test]
fn a_step_of_one_branch_goes_on_behind_the_other_one_as_well() {
    let workflow = "
steps:
  a: { agent: x, text: a }
  d: { if: workflow.input.yes, then: b, else: end }
  b: { agent: x, text: b }
  end: { agent: x, text: end, depends_on: [a, b] }
";
    let (_, told) = played(workflow, json!({"yes": false}), |_, _| done(json!({})));
    assert_eq!(told, ["a: x  a", "end: x  end"]);
    let (_, told) = played(workflow, json!({"yes": true}), |_, _| done(json!({})));
    assert_eq!(told, ["a: x  a", "b: x  b", "end: x  end"]);
}

/// spec: EXE-8.1
#[test]
fn decisions_and_skipped_steps_are_told_once_and_those_of_loops_are_not() {
    let workflow = "
steps:
  way: { if: 'workflow.input.n > 3', then: a, else: b }
  a: { agent: x, text: more }
  b: { agent: x, text: less }
  each: { for_each: [1, 2], when: 'true', steps: { c: { agent: x, when: 'false' } } }
";
    let mut play = begun(workflow, json!({"n": 1}));
    let outcome = play.play(|_, _| done(json!({})));
    assert!(
        matches!(outcome, RunOutcome::Completed { .. }),
        "{outcome:?}"
    );
    let told: Vec<_> = play
        .facts
        .notes()
        .filter(|(_, value)| value["type"] == "step")
        .map(|(_, value)| {
            let data = &value["data"];
            (&data["stepName"], &data["status"], &data["metadata"])
        })
        .collect();
    let items = json!({"kind": "steps"});
    let completed = json!("COMPLETED");
    assert_eq!(
        told,
        [
            (&json!("a"), &json!("SKIPPED"), &json!({"kind": "agent"})),
            (&json!("each/0"), &completed, &items),
            (&json!("each/1"), &completed, &items),
            (
                &json!("way"),
                &json!("COMPLETED"),
                &json!({"kind": "decision", "decision": false})
            ),
        ]
    );

    let (outcome, _) = played(
        "steps: { a: { agent: x, when: 'false' } }",
        json!({}),
        |_, _| panic!("nobody is asked"),
    );
    assert!(
        matches!(outcome, RunOutcome::Completed { .. }),
        "{outcome:?}"
    );
}
