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

#[test]
fn a_message_is_waited_for_from_a_position_that_is_written_down_first() {
    let workflow = "
steps:
  paid: { wait_for: { event: paid, from: till, match: { order: '${workflow.input.order}' } }, timeout: 1h }
output: ${paid.output.amount}
";
    let mut play = begun(workflow, json!({"order": 7}));
    play.decide();
    assert!(
        play.told[0].starts_with("paid/position: look"),
        "{:?}",
        play.told
    );
    assert_eq!(
        play.told[1],
        r#"paid: wait_for_event {"event":"paid","from":"till","matching":{"order":7},"after":"p7"}"#
    );
    play.give(
        "paid",
        StepResult::ToolReturned(json!({"amount": 3}).into()),
    );
    assert_eq!(output(&play.decide().expect("it is over")), 3);
}
