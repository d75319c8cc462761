//! Attempts, fallbacks, workflows in steps, and secrets.

use super::*;

#[test]
fn a_step_whose_agent_says_that_it_did_nothing_has_failed() {
    let workflow = "
steps:
  a: { agent: x, text: one }
";
    let nothing = |_: &str, _: &Handoff| DelegationResult {
        text: "I found no tool".to_owned(),
        ..done(json!({"partial": true, "undone": "all", "results": []}))
    };
    let (outcome, _) = played(workflow, json!({}), nothing);
    let why = error(&outcome);
    assert!(why.contains("did nothing of it: I found no tool"), "{why}");
}

/// spec: EXE-9.3, EXE-9.4, EXE-9.5
#[test]
fn a_step_that_fails_is_tried_again_then_its_fallback_then_the_workflow_fails() {
    let workflow = "
steps:
  a: { agent: x, text: t, retry: { attempts: 3, pause: 1s, backoff: 3 }, fallback: z }
";
    let (outcome, told) = played(workflow, json!({}), |step, _| match step {
        "a/fallback/try-2" => done(json!({"by": "z"})),
        _ => failed("busy"),
    });
    assert_eq!(
        told,
        [
            "a: x  t",
            "a/pause-1: until 2001",
            "a/try-2: x  t",
            "a/pause-2: until 5003",
            "a/try-3: x  t",
            "a/fallback: z  t",
            "a/fallback/pause-1: until 6006",
            "a/fallback/try-2: z  t",
        ]
    );
    assert_eq!(output(&outcome)["a"], json!({"by": "z"}));
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("busy"));
    assert_eq!(
        error(&outcome),
        "the step `a` has failed: a: busy; z: a: busy"
    );
}

/// Issue 26, runs: a step that fails before it begins, as a value of it is not there, is told as one that failed, and no other is.
#[test]
fn a_step_that_cannot_begin_is_told_as_failed() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  b: { agent: x, text: '${a.output.nosuch}' }
  c: { agent: x, text: '${b.output.text}' }
";
    let mut play = begun(workflow, json!({}));
    let outcome = play.play(|_, _| done(json!({"text": "hi"})));
    assert!(error(&outcome).contains("nosuch"));
    let noted = |step: &str| play.facts.noted(&StepId::new(format!("{step}/has-failed")));
    let data = &noted("b").expect("it is told")["data"];
    assert_eq!(
        (&data["step"], &data["status"]),
        (&"b".into(), &"FAILED".into())
    );
    let why = data["metadata"]["error"].as_str().unwrap_or_default();
    assert!(why.contains("nosuch"), "{why}");
    assert_eq!((noted("a"), noted("c")), (None, None));
    // What has begun ends in the journal by itself.
    let mut play = begun(workflow, json!({}));
    play.play(|_, _| failed("no"));
    assert_eq!(play.facts.noted(&StepId::new("a/has-failed")), None);
}

#[test]
fn what_another_attempt_would_meet_again_is_not_tried_again() {
    let workflow = "
steps:
  a: { agent: x, text: t, retry: { attempts: 3 } }
";
    let (outcome, told) = played(workflow, json!({}), |_, _| DelegationResult {
        state: "rejected".to_owned(),
        ..failed("I do not do that")
    });
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(error(&outcome).contains("I do not do that"));
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give("a", StepResult::Failed(EffectFailure::passing("timed out")));
    play.decide();
    assert_eq!(play.names(), ["a/pause-1"], "a timeout is tried again");
}

#[test]
fn a_workflow_in_a_step_is_a_run_of_its_own_for_each_item_and_gives_its_output() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  each:
    for_each: ['${a.output.n}', 2]
    workflow: { name: inner, input: { required: [n] }, steps: { i: { agent: y, text: '${workflow.input.n}' } }, output: '${i.output.text}' }
    input: { n: '${loop.item}' }
output: ${each.output.iterations}
";
    let (outcome, told) = played(workflow, json!({}), |step, handoff| match step {
        "a" => done(json!({"n": 1})),
        _ => {
            let payload = handoff.payload.clone().unwrap_or_default();
            done(json!({ "output": format!("of {}", payload["input"]["n"]) }))
        }
    });
    assert_eq!(output(&outcome), json!(["of 1", "of 2"]));
    assert!(
        told[1].starts_with("each/0: workflow_run inner {")
            && told[1].contains(r#""input":{"n":1}"#),
        "{told:?}"
    );
}

#[test]
fn a_secret_is_never_in_what_is_written_down() {
    let workflow = "
steps:
  a: { agent: x, text: 'with ${secret.KEY}', input: { token: '${secret.KEY}' } }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    let [(_, _, StepRequest::Delegated(sent))] = play.out.as_slice() else {
        panic!("{:?}", play.out);
    };
    let key = crate::scope::placeholder("KEY");
    assert_eq!(sent.handoff.text, format!("with {key}"));
    assert_eq!(sent.handoff.payload, Some(json!({ "token": key })));
    assert_eq!(sent.handoff.metadata[SECRETS], json!(["KEY"]));
}

#[test]
fn a_step_whose_agent_gave_a_part_leaves_the_workflow_done_in_part() {
    let workflow = "
steps:
  a: { agent: x, text: one }
  b: { agent: x, text: two, depends_on: [a] }
";
    let (outcome, _) = played(workflow, json!({}), |step, _| match step {
        "a" => done(json!({"partial": true, "undone": "part", "results": []})),
        _ => done(json!({"n": 1})),
    });
    assert!(output(&outcome).is_object(), "there is an output");
    let lacks = outcome.shortfall().expect("a part is missing");
    assert!(
        !lacks.is_nothing() && lacks.missing().len() == 1,
        "{lacks:?}"
    );
    let (whole, _) = played(workflow, json!({}), |_, _| done(json!({"n": 1})));
    assert_eq!(whole.shortfall(), None);
}

#[test]
fn a_step_that_is_gone_without_leaves_the_workflow_done_in_part() {
    let workflow = "
steps:
  a: { agent: x, text: one, on_failure: continue }
  b: { agent: x, text: two, depends_on: [a], on_failure: continue }
";
    let (outcome, _) = played(workflow, json!({}), |step, _| match step {
        "a" => failed("busy"),
        _ => done(json!({})),
    });
    let missing = outcome.shortfall().expect("a part is missing").missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!((&*missing[0].name, &*missing[0].why), ("a", "a: busy"));
    assert!(missing[0].has_failed, "{missing:?}");
    let (outcome, _) = played(workflow, json!({}), |_, _| failed("busy"));
    assert_eq!(lacking(&outcome), ["a", "b"]);
}

#[test]
fn whether_a_step_did_what_a_failed_one_was_to_do_nobody_can_tell() {
    for after in [
        "b: { when: 'a.state == \"failed\"', agent: y, text: two }",
        "b: { when: 'a.state == \"failed\"', wait: 1ms }",
        "b: { agent: y, text: 'two ${a.error}' }",
    ] {
        let workflow =
            format!("steps:\n  a: {{ agent: x, text: one, on_failure: continue }}\n  {after}\n");
        let (outcome, _) = played(&workflow, json!({}), |step, _| match step {
            "a" => failed("busy"),
            _ => done(json!({})),
        });
        assert_eq!(lacking(&outcome), ["a"], "{workflow}");
    }
}

#[test]
fn failures_that_a_join_judges_and_those_that_a_fallback_makes_good_are_none_of_the_workflow() {
    let by_join = "
steps:
  a: { agent: x, text: one }
  b: { agent: y, text: two }
  c: { agent: y, text: three, depends_on: [a, b], join: any }
";
    let by_fallback = "
steps:
  a: { agent: x, text: one, fallback: y, on_failure: continue }
";
    for workflow in [by_join, by_fallback] {
        let (outcome, sent) = played(workflow, json!({}), |step, handoff| {
            match (step, &*handoff.agent) {
                ("a", "x") => failed("busy"),
                _ => done(json!({})),
            }
        });
        assert_eq!(lacking(&outcome), [""; 0], "{workflow}");
        assert!(sent.len() > 1, "{workflow}");
    }
}
