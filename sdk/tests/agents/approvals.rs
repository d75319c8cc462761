//! Tools each call of which a person has to allow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_broker::Server;
use agenthub_sdk::{
    Agent, Card, Client, Delegation, Pending, RunningAgent, Tool, ToolContext, Update,
    model::Scripted,
    proto::json as wire,
    runs::{Decision, Journal, RunId, journal::Filter},
    schemars,
};
use serde_json::{Value, json};

use crate::{
    harness::{calls, hub, results, says, script, soon, url, user},
    journals::Kept,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Mail {
    to: String,
}

/// A tool that sends, if it is allowed to, and counts how often it did.
fn send(sent: &Arc<AtomicUsize>) -> Tool {
    let sent = Arc::clone(sent);
    let tool = Tool::typed("send", "Sends mail", move |_: ToolContext, mail: Mail| {
        let sent = Arc::clone(&sent);
        async move {
            sent.fetch_add(1, Ordering::SeqCst);
            format!("sent to {}", mail.to)
        }
    });
    tool.approval()
}

struct Stage {
    hub: Server,
    model: Scripted,
    sent: Arc<AtomicUsize>,
    journal: Arc<Kept>,
}

impl Stage {
    /// A model that makes these calls in one turn, then says that it is done.
    async fn new<const N: usize>(in_one_turn: [(&str, Value); N]) -> Self {
        Self {
            hub: hub().await,
            model: script([calls(in_one_turn), says("done")]),
            sent: Arc::default(),
            journal: Kept::empty(),
        }
    }

    async fn agent(&self) -> RunningAgent {
        let agent = Agent::worker(Card::new("a", ""))
            .instance_id("a-1")
            .concurrency(1)
            .drain_timeout(Duration::from_millis(50))
            .journal(self.journal.clone())
            .model(self.model.clone())
            .tool(send(&self.sent));
        agent.start(url(&self.hub)).await.expect("it starts")
    }

    async fn asked(&self) -> (Client, Pending) {
        let client = user(&self.hub).await;
        let pending = client.delegate(Delegation::to("a").text("go")).await;
        (client, pending.expect("it is taken"))
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }
}

/// The next question: the metadata `tool` of the status that shows it.
async fn question(updates: &mut agenthub_sdk::Updates) -> Value {
    loop {
        let update = soon(updates.next()).await.expect("it goes on");
        let Update::Status(update) = update else {
            continue;
        };
        let text = update.status.map(|status| status.text());
        if text.is_some_and(|text| text == "Waiting for a person to allow tool: send") {
            let metadata = update.metadata.as_ref().map(wire::from_struct);
            return metadata.expect("it says which")["tool"].clone();
        }
    }
}

fn decision(approved: bool, by: &str, comment: &str) -> Decision {
    Decision {
        approved,
        by: by.into(),
        comment: comment.into(),
    }
}

async fn decide(client: &Client, run: &RunId, question: &Value, decision: Decision) {
    let approval = question["approval"].as_str().expect("it has an id");
    let decided = client.operator().decide("a", run, approval, decision);
    decided.await.expect("the hub has it");
}

async fn only_run(journal: &Kept) -> RunId {
    let listed = journal.list(&Filter::default()).await.expect("a list");
    listed.into_iter().next().expect("there is one").run
}

/// spec: ORC-12.3
#[tokio::test]
async fn a_call_waits_for_a_person_who_sees_what_it_is() {
    let stage = Stage::new([
        ("send", json!({"to": "all"})),
        ("send", json!({"to": "ann"})),
    ])
    .await;
    let _agent = stage.agent().await;
    let (client, mut pending) = stage.asked().await;
    let mut updates = pending.updates();
    let mut questions = [question(&mut updates).await, question(&mut updates).await];
    questions.sort_by_key(|asked| asked["arguments"]["to"].to_string());
    assert_eq!(questions[0]["arguments"], json!({"to": "all"}));
    assert_eq!(questions[1]["arguments"], json!({"to": "ann"}));
    assert_eq!(stage.sent(), 0, "nobody has allowed it");
    let run = only_run(&stage.journal).await;
    decide(
        &client,
        &run,
        &questions[0],
        decision(false, "bob", "too many"),
    )
    .await;
    decide(&client, &run, &questions[1], decision(true, "bob", "")).await;
    assert_eq!(
        soon(pending.outcome()).await.expect("an outcome").text,
        "done"
    );
    assert_eq!(stage.sent(), 1);
    assert_eq!(
        results(&stage.model.requests()[1]),
        [
            json!({"error": "a person (bob) refused this call: too many"}),
            json!("sent to ann"),
        ]
    );
}

#[tokio::test]
async fn a_question_outlives_the_agent_and_is_answered_once() {
    let stage = Stage::new([("send", json!({"to": "all"}))]).await;
    let agent = stage.agent().await;
    let (client, mut pending) = stage.asked().await;
    let mut updates = pending.updates();
    let asked = question(&mut updates).await;
    let run = only_run(&stage.journal).await;
    agent.stop().await;
    // The answers come while nobody is there to take them.
    decide(&client, &run, &asked, decision(true, "ann", "")).await;
    decide(&client, &run, &asked, decision(false, "bob", "too late")).await;
    let _agent = stage.agent().await;
    assert_eq!(
        soon(pending.outcome()).await.expect("an outcome").text,
        "done"
    );
    assert_eq!(stage.sent(), 1);
    assert_eq!(results(&stage.model.requests()[1]), [json!("sent to all")]);
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_cannot_be_made() {
    let stage = Stage::new([("send", json!({"to": 7}))]).await;
    let _agent = stage.agent().await;
    let (_client, pending) = stage.asked().await;
    soon(pending.outcome()).await.expect("an outcome");
    let told = &results(&stage.model.requests()[1])[0]["error"];
    assert!(
        told.as_str()
            .is_some_and(|told| told.contains("do not fit")),
        "{told}"
    );
    assert_eq!(stage.sent(), 0);
}
