//! Workflows that fail after steps have completed.

use super::*;

#[test]
fn what_a_run_did_that_is_given_up_is_taken_back() {
    let workflow = "
steps:
  book: { agent: x, text: book, compensate: { agent: u, text: 'not book' } }
  slow: { agent: x, text: slow, depends_on: [book] }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("book", done(json!({})));
    play.decide();
    assert_eq!(play.names(), ["slow"]);
    play.facts.apply(&RunEvent::Noted {
        step: StepId::new(GIVEN_UP),
        value: json!({"why": "its executors died"}),
        at_ms: 1,
    });
    play.decide();
    assert_eq!(play.names(), ["undo/book"], "slow is called back");
    play.give_agent("undo/book", done(json!({})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(error(&outcome), "its executors died; taken back: book");
}

#[test]
fn what_was_taken_back_in_part_is_said_to_be_so() {
    let workflow = "
steps:
  book: { agent: x, text: book, compensate: { agent: u, text: 'not book' } }
  pay: { agent: x, text: pay, compensate: { agent: u, text: 'pay back' } }
  ship: { agent: x, text: ship, depends_on: [book, pay] }
";
    let (outcome, _) = played(workflow, json!({}), |step, _| match step {
        "ship" => failed("no truck"),
        "undo/book" => done(json!({"partial": true, "undone": "part", "results": []})),
        _ => done(json!({})),
    });
    let error = error(&outcome);
    assert!(
        error.contains("; taken back: pay; taken back in part: `book` ("),
        "{error}"
    );
    assert!(!error.contains("not taken back"), "{error}");
}

#[test]
fn what_was_done_is_taken_back_in_reverse_order_when_the_workflow_fails() {
    let workflow = "
steps:
  book: { agent: x, text: book, compensate: { agent: u, input: { id: '${book.output.id}' } } }
  pay: { agent: x, text: pay, depends_on: [book], compensate: { agent: u, text: 'pay back' } }
  slow: { agent: x, text: slow, compensate: { agent: u, text: 'not slow' } }
  ship: { agent: x, text: ship, depends_on: [pay] }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    play.give_agent("book", done(json!({"id": 7})));
    play.decide();
    play.give_agent("pay", done(json!({})));
    play.decide();
    play.give_agent("ship", failed("no truck"));
    play.decide();
    assert!(
        play.told.contains(&"recall slow".to_owned()),
        "{:?}",
        play.told
    );
    assert_eq!(play.names(), ["undo/pay"]);
    play.give_agent("undo/pay", failed("closed"));
    for attempt in [
        "undo/pay/pause-1",
        "undo/pay/try-2",
        "undo/pay/pause-2",
        "undo/pay/try-3",
    ] {
        play.decide();
        assert_eq!(play.names(), [attempt]);
        match attempt.contains("pause") {
            true => play.give(attempt, StepResult::Woke),
            false => play.give_agent(attempt, failed("closed")),
        }
    }
    play.decide();
    assert_eq!(
        play.told.last().map(String::as_str),
        Some(r#"undo/book: u   {"id":7}"#)
    );
    play.give_agent("undo/book", done(json!({})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the step `ship` has failed: a: no truck; taken back: book; not taken back: `pay` (a: closed)"
    );
}

#[test]
fn when_the_time_is_over_what_was_done_is_taken_back() {
    let workflow = "
timeout: 60s
steps:
  a: { agent: x, text: t, compensate: { agent: x, text: back } }
  b: { agent: x, text: '${a.output.n}' }
";
    let mut play = begun(workflow, json!({}));
    play.decide();
    assert_eq!(play.told, ["a: x  t", "time-limit: until 61000"]);
    play.give_agent("a", done(json!({"n": 1})));
    play.decide();
    play.now_ms = 61_000;
    play.give("time-limit", StepResult::Woke);
    play.decide();
    assert_eq!(play.told[3..], ["recall b", "undo/a: x  back"]);
    play.give_agent("undo/a", done(json!({})));
    let outcome = play.decide().expect("it is over");
    assert_eq!(
        error(&outcome),
        "the time for it, 60 s, is over; taken back: a"
    );
}
