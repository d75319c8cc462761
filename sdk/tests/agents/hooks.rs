//! An author's code around models and tools.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agenthub_sdk::{
    Agent, Card, Delegation, Failure, HookContext, Hooks,
    model::{Completion, ModelError, Request, ToolCall},
    runs::ToolOutput,
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    harness::{ask, calls, hub, results, says, script, soon, sum, url, user},
    journals::Kept,
    restarts::waiting,
    team::shouter,
};

/// Writes down what it sees, refuses one tool and breaks at another.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, line: String) {
        self.0.lock().expect("no panic").push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Hooks for Notes {
    async fn before_model(&self, context: &HookContext, request: &Request) {
        let (count, attempt) = (request.messages.len(), context.attempt());
        self.note(format!("model? {count} messages, attempt {attempt}"));
        assert_ne!(count, 2, "a panic in a hook that observes changes nothing");
    }

    async fn after_model(&self, _: &HookContext, answer: Result<&Completion, &ModelError>) {
        self.note(match answer {
            Ok(answer) => format!("model! {} calls", answer.tool_calls.len()),
            Err(error) => format!("model! {error}"),
        });
    }

    async fn before_tool(&self, context: &HookContext, call: &ToolCall) -> Result<(), Failure> {
        let name = &call.name;
        self.note(format!("{name}? {}", context.idempotency_key()));
        assert_ne!(name, "breaking");
        match call.arguments["request"].as_str() {
            Some("shout it") => Err(Failure::rejected("nobody shouts here")),
            _ if name == "forbidden" => Err(Failure::rejected("not on weekends")),
            _ => Ok(()),
        }
    }

    async fn after_tool(&self, context: &HookContext, call: &ToolCall, output: &ToolOutput) {
        let (name, key) = (&call.name, context.idempotency_key());
        self.note(format!("{name}! {key} {}", output.value));
    }
}

fn named(name: &str) -> agenthub_sdk::Tool {
    let schema = json!({"type": "object"});
    agenthub_sdk::Tool::new(name, "", schema, async |_, _| "it was called")
}

/// Without the keys, which differ from run to run.
fn shapes(lines: &[String]) -> Vec<String> {
    let is_key = |word: &&str| word.len() != 36;
    let shape = |line: &String| line.split(' ').filter(is_key).collect::<Vec<_>>().join(" ");
    lines.iter().map(shape).collect()
}

#[tokio::test]
async fn hooks_see_every_question_and_call_and_refuse_tools() {
    let hub = hub().await;
    let model = script([
        calls([
            ("sum", json!({"numbers": [1, 2]})),
            ("forbidden", json!({})),
            ("breaking", json!({})),
        ]),
        says("done"),
    ]);
    let notes = Notes::default();
    let agent = Agent::worker(Card::new("a", ""))
        .model(model.clone())
        .tools([sum(), named("forbidden"), named("breaking")])
        .hooks(notes.clone());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "a", "go").await;
    assert_eq!(watched.outcome.text, "done");
    let undecided = "refused: it could not be decided whether this may be called; the log of its agent says more";
    assert_eq!(
        results(&model.requests()[1]),
        [
            json!(3),
            json!({"error": "refused: not on weekends"}),
            json!({ "error": undecided }),
        ]
    );
    let lines = watched.lines();
    assert!(
        lines.contains(&"Tool forbidden failed: refused: not on weekends".to_owned()),
        "{lines:?}"
    );
    let mut seen = shapes(&notes.lines());
    // The calls of one turn go out together.
    seen[2..6].sort();
    assert_eq!(
        seen,
        [
            "model? 2 messages, attempt 1",
            "model! 3 calls",
            "breaking?",
            "forbidden?",
            "sum! 3",
            "sum?",
            "model? 4 messages, attempt 1",
            "model! 0 calls",
        ]
    );
}

#[tokio::test]
async fn agents_of_a_supervisor_are_tools_to_hooks() {
    let hub = hub().await;
    let _shouter = shouter(&hub, "shouter").await;
    let model = script([
        calls([("agent_shouter", json!({"request": "shout it"}))]),
        calls([("agent_shouter", json!({"request": "say it"}))]),
        says("done"),
    ]);
    let notes = Notes::default();
    let agent = Agent::supervisor(Card::new("lead", ""))
        .model(model.clone())
        .hooks(notes.clone());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    ask(&user(&hub).await, "lead", "go").await;
    let told = results(&model.requests()[2]);
    assert_eq!(told[0]["state"], "rejected", "{told:?}");
    assert_eq!(told[0]["error"], "refused: nobody shouts here");
    assert_eq!(told[1]["text"], "SAY IT");
    let client = user(&hub).await;
    let tasks = client.all_tasks(Default::default()).await.expect("tasks");
    assert_eq!(tasks.len(), 2, "the lead's, and the one that was allowed");
}

#[tokio::test]
async fn a_step_that_is_in_the_journal_calls_no_hook_again() {
    let hub = hub().await;
    let journal = Kept::empty();
    let model = script([calls([("wait", json!({}))]), says("done")]);
    let (told, mut tells) = mpsc::channel(4);
    let go_on = Arc::new(Semaphore::new(0));
    let notes = Notes::default();
    let start = async || {
        let agent = Agent::worker(Card::new("a", ""))
            .instance_id("a-1")
            .drain_timeout(Duration::from_millis(50))
            .journal(journal.clone())
            .model(model.clone())
            .tool(waiting(told.clone(), go_on.clone()))
            .hooks(notes.clone());
        agent.start(url(&hub)).await.expect("it starts")
    };
    let first = start().await;
    let client = user(&hub).await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let pending = pending.expect("it is taken");
    let key = soon(tells.recv()).await.expect("the tool is called");
    first.stop().await;
    let _second = start().await;
    soon(tells.recv()).await.expect("the tool is called again");
    go_on.add_permits(1);
    soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(
        notes.lines(),
        [
            "model? 2 messages, attempt 1".to_owned(),
            "model! 1 calls".to_owned(),
            format!("wait? {key}"),
            format!("wait? {key}"),
            format!("wait! {key} \"waited\""),
            "model? 4 messages, attempt 1".to_owned(),
            "model! 0 calls".to_owned(),
        ]
    );
}

#[tokio::test]
async fn each_attempt_at_a_question_is_seen_with_why_it_failed() {
    let hub = hub().await;
    let away = ModelError::Unavailable("it is away".to_owned());
    let why = format!("model! {away}");
    let model = script([Err(away), says("done")]);
    let notes = Notes::default();
    let agent = Agent::worker(Card::new("a", ""))
        .model(model)
        .hooks(notes.clone());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    let watched = ask(&user(&hub).await, "a", "go").await;
    assert_eq!(watched.outcome.text, "done");
    assert_eq!(
        notes.lines(),
        [
            "model? 2 messages, attempt 1",
            &why,
            "model? 2 messages, attempt 2",
            "model! 0 calls",
        ]
    );
}

/// Refuses every call.
struct Refusing;

impl Hooks for Refusing {
    async fn before_tool(&self, _: &HookContext, _: &ToolCall) -> Result<(), Failure> {
        Err(Failure::rejected("not by me"))
    }
}

#[tokio::test]
async fn hooks_are_called_in_their_order_until_one_refuses() {
    let hub = hub().await;
    let model = script([calls([("harmless", json!({}))]), says("done")]);
    let (before, after) = (Notes::default(), Notes::default());
    let agent = Agent::worker(Card::new("a", ""))
        .model(model.clone())
        .tool(named("harmless"))
        .hooks(before.clone())
        .hooks(Refusing)
        .hooks(after.clone());
    let _agent = agent.start(url(&hub)).await.expect("it starts");
    ask(&user(&hub).await, "a", "go").await;
    assert_eq!(
        results(&model.requests()[1]),
        [json!({"error": "refused: not by me"})]
    );
    let of_tools = |notes: &Notes| {
        let mut lines = shapes(&notes.lines());
        lines.retain(|line| line.starts_with("harmless"));
        lines
    };
    assert_eq!(of_tools(&before), ["harmless?"], "it is not called");
    assert_eq!(of_tools(&after), [""; 0], "it is refused already");
}
