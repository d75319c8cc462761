//! Golden journals, written by each release: they decode, have the same meaning, and lead to the same decisions.
//!
//! `golden/v1/` holds those of format 1. A later format gets its own folder beside it (`cargo test -p agenthub-runs
//! --test runs golden::write -- --ignored`), and existing ones stay unchanged.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use agenthub_runs::{
    Approval, Command, DelegationResult, Effect, EffectFailure, Facts, Handoff, Next, Retry,
    RunEvent, RunId, RunOutcome, RunStarted, Spent, Step, StepResult, Strategy, ToolOutput,
    journal,
    model::{Completion, PromptMessage, ToolCall, ToolSpec, Usage},
    run,
    tool_loop::{AvailableTool, Input, Peer, ToolLoop},
};
use serde_json::{Value, json};

use crate::support::{
    NOON, Stage, Wants, begins, lines,
    simulation::words,
    world::{Behaviour, StandIn},
};

const EXAMPLES: [&str; 5] = ["tools", "delegation", "retry", "cancel", "watched"];

fn folder(format: u32) -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join(format!("tests/golden/v{format}"))
}

fn strategy(example: &str) -> Box<dyn Strategy> {
    match example {
        "retry" => Box::new(Wants(retry)),
        "watched" => Box::new(Wants(watched)),
        _ => Box::new(ToolLoop),
    }
}

/// A message, then a tool until it succeeds, then a wait.
fn retry(facts: &Facts) -> Next {
    let call = ToolCall {
        id: "c".into(),
        name: "flaky".into(),
        arguments: json!({ "ratio": 31.245270191439438 }),
    };
    let often = Retry {
        attempts: 3,
        pause_ms: 1_000,
    };
    let steps = [
        Step::new("say", Effect::Say("one moment".into())),
        Step::new("try", Effect::Call(call))
            .timeout_ms(5_000)
            .retry(often),
        Step::new("wait", Effect::Wait(NOON + 60_000)),
    ];
    match steps.into_iter().find(|step| facts.result(step).is_none()) {
        Some(step) => Next::Steps(vec![step]),
        None => Next::Finish(RunOutcome::with_data("it worked", json!({ "n": 1 }))),
    }
}

/// A note, an approval, and a handoff with progress.
fn watched(facts: &Facts) -> Next {
    let plan = Step::new(
        "plan",
        Effect::Note(json!({ "type": "plan_update", "data": { "version": 1 } })),
    );
    let arguments = json!({ "to": "everyone" });
    let handoff = Handoff {
        agent: "Writer".into(),
        capability: "write".into(),
        payload: Some(arguments.clone()),
        ..Handoff::default()
    };
    let approval = Approval::new("run", "write", "Writer", "write", arguments);
    let ask = Step::new("ask", Effect::Approve(approval)).timeout_ms(60_000);
    let write = Step::new("write", Effect::Delegate(handoff)).timeout_ms(30_000);
    match (
        facts.noted(&plan.id),
        facts.result(&ask),
        facts.result(&write),
    ) {
        (None, ..) => Next::Steps(vec![plan]),
        (_, None, _) => Next::Steps(vec![ask]),
        (_, _, None) => Next::Steps(vec![write]),
        _ => Next::Finish(RunOutcome::completed("it is written")),
    }
}

fn answers(text: &str, calls: &[(&str, Value)]) -> Behaviour {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call-{number}"),
        name: (*name).into(),
        arguments: arguments.clone(),
    };
    Behaviour::Gives(StepResult::ModelAnswered(Completion {
        text: text.into(),
        tool_calls: calls.iter().enumerate().map(call).collect(),
        usage: Some(Usage {
            input_tokens: 120,
            output_tokens: 30,
            is_estimated: false,
        }),
        undone: None,
        lacks: Vec::new(),
    }))
}

fn offered() -> Value {
    let offered = |name: &str, agent| AvailableTool {
        needs_approval: false,
        tool: ToolSpec {
            name: name.into(),
            description: format!("What {name} does."),
            parameters: json!({ "type": "object" }),
            agent: None,
        },
        agent,
    };
    let echo = Peer {
        id: "Echo Agent".into(),
        skills: vec!["echo".into()],
        ..Peer::default()
    };
    json!([offered("clock", None), offered("agent_echo", Some(echo))])
}

/// The example as this release drives it.
async fn driven(example: &str) -> Vec<RunEvent> {
    let world = StandIn::new().sees(offered());
    let ask = [(
        "agent_echo",
        json!({ "request": "say hi", "input": { "b": 1, "a": 2 } }),
    )];
    let clock = [("clock", json!({})), ("clock", json!({ "zone": "UTC" }))];
    let told = DelegationResult {
        agent: "Echo Agent".into(),
        state: "completed".into(),
        text: "hi".into(),
        data: vec![json!({ "said": "hi" })],
        error: String::new(),
        spent: Some(Spent {
            tokens: 7,
            calls: 1,
            cost_micros: 3,
            ..Spent::default()
        }),
        model: String::new(),
    };
    let busy = || Behaviour::Gives(StepResult::Failed(EffectFailure::passing("busy")));
    let world = match example {
        "tools" => world
            .does("turn-1", answers("I look", &clock))
            .does(
                "turn-1/call-2",
                Behaviour::Gives(StepResult::ToolReturned(ToolOutput::error("no zone"))),
            )
            .does("turn-2", answers("it is noon", &[])),
        "delegation" => world
            .does("turn-1", answers("", &ask))
            .does(
                "turn-1/call-1",
                Behaviour::Gives(StepResult::DelegationEnded(told)),
            )
            .does("turn-2", answers("it said hi", &[])),
        "watched" => {
            let pieces = vec![
                json!({ "type": "delta", "message": "once", "data": { "append": false } }),
                json!({ "type": "delta", "message": " upon a time" }),
            ];
            let told = DelegationResult {
                agent: "Writer".into(),
                ..told
            };
            let told = StepResult::DelegationEnded(told);
            world.does("write", Behaviour::Shows(pieces, told))
        }
        "retry" => world.does("try#1", busy()).does("try#2", Behaviour::Hangs),
        _ => world
            .does("turn-1", answers("", &ask))
            .does("turn-1/call-1", Behaviour::Hangs)
            .recalls_after(Duration::from_millis(250)),
    };
    let mut stage = Stage::new(world);
    stage.first = match example {
        "retry" => begins("wants", Value::Null),
        "watched" => RunStarted {
            thread: "talk".into(),
            ..begins("wants", Value::Null)
        },
        _ => begins(
            "tool_loop",
            json!(Input {
                instructions: "Help.".into(),
                messages: vec![PromptMessage::user("what time is it, and say hi")],
                ..Input::default()
            }),
        ),
    };
    stage.first.origin = json!({ "task": "t-1" });
    stage.first.budget.tokens = Some(50_000);
    stage.first.budget.depth = Some(3);
    stage.first.deadline_ms = Some(NOON + 3_600_000);
    let stage = Arc::new(stage);
    let driving = tokio::spawn({
        let (stage, strategy) = (Arc::clone(&stage), strategy(example));
        async move { stage.drive("one", &*strategy).await }
    });
    if example == "cancel" {
        stage.world.until("delegate").await;
        let reason = "the person left".to_owned();
        stage.command.send_replace(Command::Cancel(reason));
    }
    let outcome = driving.await.expect("it does not panic");
    outcome.expect("it ends");
    stage.events().await
}

/// Not a test: writes the journals of this format.
#[tokio::test(start_paused = true)]
#[ignore = "writes the golden journals"]
async fn write() {
    let folder = folder(journal::FORMAT);
    fs::create_dir_all(&folder).expect("a folder");
    for example in EXAMPLES {
        let text = lines(&driven(example).await);
        fs::write(folder.join(format!("{example}.jsonl")), text).expect("a file");
    }
}

fn read(format: u32, example: &str) -> String {
    let path = folder(format).join(format!("{example}.jsonl"));
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every field in the golden journals is still written; additions are allowed. Fails first when the form changes.
#[tokio::test(start_paused = true)]
async fn this_release_writes_what_it_has_kept() {
    for example in EXAMPLES {
        let (written, kept) = (
            lines(&driven(example).await),
            read(journal::FORMAT, example),
        );
        assert_eq!(written.lines().count(), kept.lines().count(), "{example}");
        for (written, kept) in written.lines().zip(kept.lines()) {
            let [written, kept] = [written, kept].map(|l| parsed(l.as_bytes()));
            assert!(
                within(&kept, &written),
                "{example} kept {kept}\nand writes {written}"
            );
        }
    }
}

/// spec: design 8 (golden journals)
#[test]
fn journals_of_every_format_are_read_and_decide_what_they_decided() {
    for format in 1..=journal::FORMAT {
        for example in EXAMPLES {
            let text = read(format, example);
            let strategy = strategy(example);
            let run = RunId::new("run");
            let mut facts = Facts::default();
            let mut decided = String::new();
            for (number, line) in (1..).zip(text.lines()) {
                let event = journal::decode(line.as_bytes());
                let event = event.unwrap_or_else(|e| panic!("{example} v{format}:{number}: {e}"));
                kept(line, &event);
                facts.apply(&event);
                let at_ms = time(line);
                let next = words(&run::next(&run, &facts, &*strategy, at_ms, 16));
                decided += &format!("{number}: {}\n", next.join("; "));
            }
            decided += &format!("{:?}\n{:#?}\n", facts.ended(), facts.account());
            insta::with_settings!({ snapshot_path => "golden", prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(format!("{example}-v{format}"), decided);
            });
        }
    }
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).expect("it is JSON")
}

/// Time of the event in this line.
fn time(line: &str) -> u64 {
    let at_ms = parsed(line.as_bytes())["at_ms"].as_u64();
    at_ms.expect("every event has a time")
}

/// Checks that the event still serializes to all that the line says.
fn kept(line: &str, event: &RunEvent) {
    let mut old = parsed(line.as_bytes());
    old["v"] = journal::FORMAT.into();
    let new = parsed(&journal::encode(event));
    assert!(within(&old, &new), "lost in reading: {line}\n{new}");
}

/// True if all of `old` is contained in `new`.
fn within(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .all(|(key, old)| new.get(key).is_some_and(|new| within(old, new))),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| within(old, new))
        }
        (old, new) => old == new,
    }
}
