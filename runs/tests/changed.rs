//! Changed programs with runs in flight: recorded results that still apply, and runs that end.

use std::sync::Arc;

use agenthub_runs::{
    Command, Effect, EffectFailure, Facts, Handoff, Retry, RunEvent, RunOutcome, Step, StepId,
    StepResult, journal,
    model::{Completion, PromptMessage, Request, ToolCall},
};
use serde_json::{Map, Value, json};

use crate::support::{
    Stage, agent, begins, ended, output,
    simulation::{Simulation, words},
    together, tool,
    world::{Behaviour, StandIn},
};

fn call(name: &str, arguments: Value) -> Step {
    let call = ToolCall {
        id: "c".into(),
        name: name.into(),
        arguments,
    };
    Step::new("it", Effect::Call(call))
}

fn work(change: impl FnOnce(&mut Handoff)) -> Step {
    let mut handoff = Handoff {
        agent: "writer".into(),
        capability: "write".into(),
        text: "a poem".into(),
        payload: Some(json!({ "lines": 4, "about": { "what": "rain", "who": "all" } })),
        metadata: Map::from_iter([("trace".to_owned(), json!("1"))]),
        tool: "agent_writer".into(),
        ..Handoff::default()
    };
    change(&mut handoff);
    Step::new("it", Effect::Delegate(handoff))
}

fn ask(words: &str) -> Step {
    Step::ask("it", Request::new(vec![PromptMessage::user(words)]))
}

/// A run with this step in flight.
fn out(step: &Step) -> Simulation {
    let mut run = Simulation::new(begins("wants", Value::Null));
    run.settle(&together(vec![step.clone()]));
    run
}

/// The run's journal, as another process reads it.
fn read_back(run: &Simulation) -> Facts {
    let decode = |event| journal::decode(&journal::encode(event)).expect("it was just written");
    let events: Vec<RunEvent> = run.events.iter().map(decode).collect();
    Facts::of(&events)
}

/// Actions of a program that requests `now` where `before` was dispatched: while it is in flight, and after it
/// returned.
fn does(before: &Step, now: &Step) -> [String; 2] {
    let next = |run: &mut Simulation| {
        run.facts = read_back(run);
        words(&run.actions(&together(vec![now.clone()])))[0].clone()
    };
    let mut run = out(before);
    let while_out = next(&mut run);
    run.ends("it", output("done"), None);
    [while_out, next(&mut run)]
}

#[test]
fn a_step_that_asks_for_something_else_than_what_went_out_ends_the_run() {
    let clock = || call("clock", json!({ "zone": "UTC" }));
    let long = "a word ".repeat(50);
    let changes = [
        (clock(), call("time", json!({ "zone": "UTC" }))),
        (clock(), call("clock", json!({ "zone": "CET", "at": 5 }))),
        (clock(), call("clock", json!({}))),
        (
            call("post", json!({ "api_key": "one", "to": "all" })),
            call("post", json!({ "api_key": "another", "to": "all" })),
        ),
        (work(|_| {}), work(|handoff| handoff.agent = "poet".into())),
        (work(|_| {}), work(|handoff| handoff.agent.clear())),
        (
            work(|_| {}),
            work(|handoff| handoff.capability = "rhyme".into()),
        ),
        (work(|_| {}), work(|handoff| handoff.text = "a song".into())),
        (
            work(|handoff| handoff.text = format!("{long} for now")),
            work(|handoff| handoff.text = format!("{long} for ever")),
        ),
        (
            work(|_| {}),
            work(|handoff| {
                let about = json!({ "who": "all", "what": "snow" });
                handoff.payload = Some(json!({ "about": about, "lines": 4 }));
            }),
        ),
        (work(|_| {}), work(|handoff| handoff.payload = None)),
        (clock(), work(|_| {})),
        (work(|_| {}), clock()),
        (ask("which?"), clock()),
        (Step::new("it", Effect::Say("one moment".into())), clock()),
        (
            clock(),
            Step::new("it", Effect::Look(json!("who is here?"))),
        ),
    ];
    let mut reasons = Vec::new();
    for (before, now) in changes {
        let [while_out, when_back] = does(&before, &now);
        assert_eq!(while_out, when_back);
        let reason = while_out.strip_prefix("stop failed: ");
        let reason = reason.unwrap_or_else(|| panic!("{now:?}: {while_out}"));
        reasons.push(reason.to_owned());
    }
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn what_was_seen_or_noted_under_a_name_is_no_result_of_something_else() {
    let (step, at_ms) = (|| StepId::new("it"), 1);
    let value = || json!("so");
    let seen = RunEvent::Observed {
        step: step(),
        value: Some(value()),
        same_as: None,
        at_ms,
    };
    let noted = RunEvent::Noted {
        step: step(),
        value: value(),
        at_ms,
    };
    for event in [seen, noted] {
        let mut run = Simulation::new(begins("wants", Value::Null));
        run.happens(event);
        let next = words(&run.actions(&together(vec![call("clock", json!({}))])));
        assert!(
            next[0].starts_with("stop failed: the program has changed"),
            "{next:?}"
        );
    }
}

/// A recorded answer does not depend on the wording of the question.
#[test]
fn other_words_for_the_same_leave_a_run_as_it_is() {
    let said = |words: &str| Step::new("it", Effect::Say(words.into()));
    let waits = |until| Step::new("it", Effect::Wait(until));
    let mut other_id = call("clock", json!({ "a": 1, "b": 2.5 }));
    if let Effect::Call(call) = &mut other_id.effect {
        call.id = "other".into();
    }
    for (before, now) in [
        (ask("which?"), ask("which of them, please?")),
        (said("one moment"), said("wait a little")),
        (waits(9_000_000), waits(9_500_000)),
        (call("clock", json!({ "b": 2.5, "a": 1 })), other_id),
        (
            work(|_| {}),
            work(|handoff| {
                handoff.metadata.clear();
                handoff.tool = "ask_writer".into();
            }),
        ),
    ] {
        let all = ["resume it#1", "stop completed: all came back"];
        assert_eq!(does(&before, &now), all, "{now:?}");
    }
}

/// A failed attempt counts only for the same request.
#[test]
fn a_step_that_is_to_be_tried_again_is_tried_as_it_was() {
    let twice = Retry {
        attempts: 2,
        pause_ms: 0,
    };
    let before = call("clock", json!({})).retry(twice);
    let mut run = out(&before);
    run.ends(
        "it",
        StepResult::Failed(EffectFailure::passing("busy")),
        None,
    );
    assert_eq!(words(&run.actions(&together(vec![before]))), ["begin it#2"]);
    let now = call("time", json!({})).retry(twice);
    let next = words(&run.actions(&together(vec![now])));
    assert!(next[0].starts_with("stop failed"), "{next:?}");
}

/// Steps in flight are recalled, no further step begins, and the requester is told.
#[tokio::test(start_paused = true)]
async fn a_run_of_a_program_that_has_changed_ends_as_a_run_that_failed() {
    let world = StandIn::new().does("writer", Behaviour::Hangs);
    let stage = Arc::new(Stage::new(world));
    let first = stage.start("d", together(vec![tool("clock"), agent("writer")]));
    stage.world.until("left clock#1").await;
    stage.world.until("delegate writer#1").await;
    stage.command.send_replace(Command::Suspend);
    ended(first).await.expect_err("it was let go");
    stage.command.send_replace(Command::Go);

    let other = Step {
        id: tool("clock").id,
        ..tool("calendar")
    };
    let outcome = ended(stage.start("d", together(vec![other, agent("writer")]))).await;
    let outcome = outcome.expect("it ends");
    let RunOutcome::Failed { error } = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        error.contains("step clock is recorded as a call of the tool clock"),
        "{error}"
    );
    let events = crate::support::words(&stage.events().await);
    assert_eq!(
        events[3..],
        [
            "clock#1 tool_returned",
            "stopping failed",
            "writer#1 cancelled",
            "ended failed"
        ]
    );
}

/// A journal has a digest of each question, which informs readers and affects no decision.
#[test]
fn a_question_without_a_digest_keeps_its_answer() {
    let mut run = out(&ask("which?"));
    run.ends("it", StepResult::ModelAnswered(Completion::default()), None);
    let old = run.events.iter().map(|event| {
        let mut line: Value = serde_json::from_slice(&journal::encode(event)).expect("JSON");
        if let Some(what) = line["what"].as_object_mut() {
            what.shift_remove("prompt");
            what.shift_remove("tools");
        }
        journal::decode(line.to_string().as_bytes()).expect("it is read")
    });
    run.facts = Facts::of(&old.collect::<Vec<RunEvent>>());
    let next = words(&run.actions(&together(vec![ask("which?")])));
    assert_eq!(next, ["stop completed: all came back"]);
}
