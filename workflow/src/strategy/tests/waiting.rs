//! Waits for times, messages and people.

use super::*;

#[test]
fn a_person_is_asked_and_may_refuse() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  ok: { approve: 'Send ${a.output.n}?', input: { n: '${a.output.n}' } }
  b: { agent: x, text: 'by ${ok.output.by}' }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("a", done(json!({"n": 1})));
    play.decide();
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"ok: ask {"question":"Send 1?","input":{"n":1}}"#)
    );
    let decision = |approved: bool| {
        StepResult::Decided(Decision {
            approved,
            by: "ann".to_owned(),
            comment: "not today".to_owned(),
        })
    };
    play.give("ok", decision(false));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the step `ok` has failed: ann refused it: not today"
    );
    let (_, told) = played(workflow, json!({}), |_, _| done(json!({"n": 1})));
    assert_eq!(told.last().map(String::as_str), Some("b: x  by ann"));
}

#[test]
fn a_wait_ends_at_a_time_that_does_not_move() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  w: { wait: 30s, depends_on: [a] }
  b: { agent: x, text: t, depends_on: [w] }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("a", done(json!({})));
    play.decide();
    assert_eq!(play.told.last().map(String::as_str), Some("w: until 31001"));
    play.now_ms += 5_000;
    assert_eq!(play.decide(), None);
    play.give("w", StepResult::Woke);
    play.decide();
    assert_eq!(play.names(), ["b"]);
}

/// An event that was taken at a position.
fn came(message: Value, position: &str) -> StepResult {
    StepResult::ToolReturned(json!({ "message": message, "position": position }).into())
}

#[test]
fn an_event_counts_since_the_run_was_asked_for() {
    let workflow = "
steps:
  a: { agent: x, text: t }
  paid: { depends_on: [a], wait_for: { event: paid, from: till, match: { order: '${workflow.input.order}' } }, timeout: 1h }
output: ${paid.output.amount}
";
    let mut play = begun_since(workflow, json!({"order": 7}), "p3");
    play.decide();
    play.give_agent("a", done(json!({})));
    play.decide();
    assert_eq!(
        play.told[1],
        r#"paid: wait_for_event {"event":"paid","from":"till","matching":{"order":7},"after":"p3"}"#
    );
    play.give("paid", came(json!({"amount": 3}), "p9"));
    assert_eq!(output(&play.decide().expect("it is over")), 3);
    let mut play = begun_since(workflow, json!({"order": 7}), "p3");
    play.decide();
    play.give_agent("a", done(json!({})));
    play.decide();
    let late = EffectFailure::passing("no answer within 3600 s");
    play.give("paid", StepResult::Failed(late));
    let why = error(&play.decide().expect("it is over"));
    assert!(why.contains("no event `paid` came"), "{why}");
}

#[test]
fn of_steps_that_wait_for_the_same_each_gets_an_event_of_its_own() {
    let workflow = "
steps:
  other: { wait_for: { event: paid, match: { n: 1 } } }
  all: { for_each: [1, 2], parallel: 2, wait_for: { event: paid } }
  last: { depends_on: [all], wait_for: { event: paid } }
";
    let mut play = begun_since(workflow, json!({}), "p3");
    play.decide();
    assert_eq!(play.names(), ["other", "all/0"]);
    play.give("all/0", came(json!({}), "p5"));
    play.decide();
    assert!(
        play.told
            .iter()
            .any(|line| line.starts_with("all/1") && line.contains("p5")),
        "{:?}",
        play.told
    );
    play.give("other", came(json!({}), "p5"));
    play.give("all/1", came(json!({}), "p8"));
    play.decide();
    let last = play.told.last().cloned().unwrap_or_default();
    assert!(last.starts_with("last") && last.contains("p8"), "{last}");
}

#[test]
fn the_notes_of_a_run_are_read_once_for_all_steps_that_wait_for_events() {
    let workflow = "
steps:
  all: { for_each: '${workflow.input.items}', parallel: 50, wait_for: { event: paid } }
";
    let items: Vec<usize> = (0..50).collect();
    let mut play = begun_since(workflow, json!({ "items": items }), "p");
    play.decide();
    for item in 0..20 {
        play.give(&format!("all/{item}"), came(json!({}), "p5"));
        play.decide();
    }
    NOTES_READ.set(0);
    play.give("all/20", came(json!({}), "p6"));
    play.decide();
    // Three decisions, each made twice: what the next step waits for is written down, the step begins, and nothing is left to do.
    let (decisions, notes) = (6, 22);
    assert!(
        NOTES_READ.get() <= decisions * notes,
        "{}",
        NOTES_READ.get()
    );
    assert_eq!(play.names(), ["all/21"]);
}

/// Steps that are withdrawn in the decision in which they are about to wait leave their line to the next ones.
#[test]
fn a_step_that_is_withdrawn_does_not_keep_others_from_waiting_for_the_same() {
    let workflow = "
steps:
  all: { for_each: [1, 0], parallel: 2, on_failure: continue, wait_for: { event: paid, match: { n: '${1 / loop.item}' } } }
  other: { wait_for: { event: paid, match: { n: '${1 / 1}' } } }
";
    let mut play = begun_since(workflow, json!({}), "p3");
    play.decide();
    assert_eq!(play.names(), ["other"], "{:?}", play.told);
}
