//! Tools that a person has to allow, of an agent that is a process of its own: asked and answered on the command line and in the chat.

use std::{fs, path::Path};

use agenthub_sdk::{
    Agent, Card, Tool,
    model::{Completion, PromptPart, Scripted, ToolCall},
    runs::journal::SqliteJournal,
};
use serde_json::{Value, json};

use crate::harness::{Process, System, eventually, free_address};

/// Mails that went out, one a line.
const SENT: &str = "sent.txt";

/// The agent of the tests below: it sends one mail and says what came of that.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_mailer_in_a_process() {
    let hub = std::env::var("AGENTHUB_HUB").expect("the test says where the hub is");
    let journal = SqliteJournal::open(".agenthub/runs/mailer.db").expect("the folder is there");
    let model = Scripted::from_completion_fn(|request| {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let result = parts.rev().find_map(|part| match part {
            PromptPart::ToolResult { value, .. } => Some(value.to_string()),
            _ => None,
        });
        Ok(match result {
            Some(result) => Completion {
                text: format!("It came of it: {result}"),
                ..Completion::default()
            },
            None => Completion {
                tool_calls: vec![ToolCall {
                    id: "call_1".to_owned(),
                    name: "send".to_owned(),
                    arguments: json!({"to": "everybody"}),
                }],
                ..Completion::default()
            },
        })
    });
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    let send = Tool::new("send", "Sends mail", schema, async |_, input: Value| {
        let mut sent = fs::read_to_string(SENT).unwrap_or_default();
        sent.push_str(&format!("{}\n", input["to"]));
        fs::write(SENT, sent).expect("the folder is there");
        "it is out"
    });
    let agent = Agent::worker(Card::new("mailer", "Sends mail"))
        .model(model)
        .journal(std::sync::Arc::new(journal) as _)
        .instance_id("mailer-1")
        .tool(send.approval());
    let _agent = agent.start(hub).await.expect("the hub is there");
    std::future::pending::<()>().await;
}

fn start_mailer(system: &System) -> Process {
    let mailer = system.start_test("approving_tools::the_mailer_in_a_process");
    system.wait_online("mailer");
    mailer
}

/// A hub with Cortex, the mailer, and a request to it that waits for its answer.
fn asked(system: &System) -> [Process; 3] {
    let up = system.start_durable_up();
    let mailer = start_mailer(system);
    let request = [
        "publish",
        "--to",
        "mailer",
        "--task-type",
        "mail",
        "--wait",
        "go",
    ];
    [up, mailer, system.start(&request)]
}

/// The approval that waits.
fn question(system: &System) -> Value {
    eventually("a person is asked", || {
        let mut waiting = system.json(&["runs", "approve", "--json"]);
        (!waiting.is_empty()).then(|| waiting.remove(0))
    })
}

/// Allows what a run asks, whose process may just have been started again.
pub(crate) fn allow(system: &System, run: &str) {
    eventually("the answer is taken", || {
        let allowed = system.run(&["runs", "approve", run], "");
        // An answer that was sent and is not written down in time is taken all the same.
        let is_taken = allowed.stderr.contains("waits for a yes (any more)");
        (allowed.code == Some(0) || is_taken).then_some(())
    });
}

fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("no {field} in {value}"))
        .to_owned()
}

fn sent(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(SENT)).ok()
}

#[test]
fn a_tool_waits_over_the_death_of_its_agent_until_it_is_allowed_on_the_command_line() {
    let system = System::bare(free_address());
    let [_up, mailer, request] = asked(&system);
    let before = question(&system);
    assert_eq!(text(&before, "agent"), "mailer");
    assert_eq!(text(&before, "capability"), "send");
    assert_eq!(before["arguments"], json!({"to": "everybody"}));

    mailer.kill();
    let _mailer = start_mailer(&system);
    let after = question(&system);
    assert_eq!(after["digest"], before["digest"], "the same is asked");
    assert_eq!(sent(system.folder()), None, "nobody has allowed it");

    let run = text(&after, "runId");
    allow(&system, &run);
    let answer = request.wait();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(
        answer.stdout.contains("It came of it: \"it is out\""),
        "{answer:?}"
    );
    assert_eq!(sent(system.folder()).as_deref(), Some("\"everybody\"\n"));
    let twice = system.run(&["runs", "approve", &run], "");
    assert_eq!(twice.code, Some(1), "{twice:?}");
}

#[test]
fn a_tool_that_is_refused_in_the_chat_is_not_called_and_the_model_is_told() {
    let system = System::bare(free_address());
    let [_up, _mailer, request] = asked(&system);
    let id = text(&question(&system), "id");
    let refused = system.chat(&format!("/approvals\n/refuse {id} not today\n"));
    assert_eq!(refused.code, Some(0), "{refused:?}");
    for part in ["mailer", "send", &format!("refused: approval {id}")] {
        assert!(refused.stdout.contains(part), "{part}: {refused:?}");
    }
    let answer = request.wait();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(
        answer.stdout.contains("refused this call: not today"),
        "{answer:?}"
    );
    assert_eq!(sent(system.folder()), None);
}
