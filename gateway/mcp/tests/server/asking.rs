//! Questions of agents, put to the person at the client.

use std::sync::Arc;

use agenthub_sdk::{Client, Delegation, Failure, Reply, TaskContext};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{Hub, McpClient, Person, lifecycles, modern, soon, texts};

/// Somebody who gives these answers; and what they are asked.
fn person(answers: impl IntoIterator<Item = ElicitResult>) -> (Person, mpsc::Receiver<String>) {
    let (asked, questions) = mpsc::channel(8);
    let answers = Arc::new(std::sync::Mutex::new(answers.into_iter().collect()));
    (Person { asked, answers }, questions)
}

fn says(answer: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(answer)
}

/// Asks twice, and says in which task.
async fn book(task: TaskContext) -> Result<Reply, Failure> {
    let city = task.ask_requester("Where to?").await?.text();
    let signed_in = task.ask_auth("Sign in at the airline.").await?.text();
    Ok(Reply::text(format!(
        "{city}, {signed_in}, in {}",
        task.task_id()
    )))
}

#[tokio::test]
async fn a_person_at_the_client_is_asked_what_the_agent_asks() {
    let hub = Hub::start().await;
    let _agent = hub.agent("travel", book).await;
    let server = Arc::new(hub.served().await);
    let (person, mut questions) = person([says(json!({"answer": "Rome"})), says(json!({}))]);
    let [handshake, _] = lifecycles();
    let client = McpClient::piped_with(&server, handshake, Some(person)).await;
    let booked = client
        .call("agent_travel", json!({"request": "book"}))
        .await;
    let booked = booked.expect("a result");
    let meta = booked.meta.as_ref().expect("where it is from");
    let task = meta["agenthub/taskId"].as_str().expect("an id");
    assert_eq!(texts(&booked), [format!("Rome, done, in {task}")]);
    assert_eq!(
        soon(questions.recv()).await.as_deref(),
        Some("travel asks: Where to?")
    );
    let second = soon(questions.recv()).await.expect("another question");
    assert_eq!(second, "travel asks: Sign in at the airline.");
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_the_result() {
    let hub = Hub::start().await;
    let _agent = hub.agent("travel", book).await;
    let server = Arc::new(hub.served().await);
    let declines = || person([ElicitResult::new(ElicitationAction::Decline)]).0;
    let [handshake, _] = lifecycles();
    for (lifecycle, person) in [
        (handshake.clone(), Some(declines())),
        (handshake, None),
        // Servers of this protocol ask nobody.
        (modern(), Some(declines())),
    ] {
        let client = McpClient::piped_with(&server, lifecycle, person).await;
        let asked = client
            .call("agent_travel", json!({"request": "book"}))
            .await;
        let asked = asked.expect("a result");
        assert_eq!(asked.is_error, Some(false));
        assert_eq!(texts(&asked)[0], "Where to?");
        let meta = asked.meta.as_ref().expect("where it is from");
        assert_eq!(meta["agenthub/state"], "input-required");
        client.leave().await;
    }
}

/// Whoever has the conversation may answer, also where the server that asked is gone.
#[tokio::test]
async fn a_question_is_answered_through_another_server() {
    let hub = Hub::start().await;
    let _agent = hub.agent("travel", book).await;
    let server = Arc::new(hub.served().await);
    let client = McpClient::piped(&server).await;
    let call = |request: &str| json!({"request": request, "context_id": "trip"});
    let asked = client.call("agent_travel", call("book")).await;
    let asked = asked.expect("a result");
    client.leave().await;
    let task = |result: &rmcp::model::CallToolResult| {
        let meta = result.meta.as_ref().expect("where it is from");
        meta["agenthub/taskId"].clone()
    };

    let another = Arc::new(hub.served().await);
    let client = McpClient::piped(&another).await;
    let second = client.call("agent_travel", call("Oslo")).await;
    let second = second.expect("a result");
    assert_eq!(texts(&second)[0], "Sign in at the airline.");
    assert_eq!(task(&second), task(&asked));
    let booked = client.call("agent_travel", call("yes")).await;
    let booked = booked.expect("a result");
    assert!(
        texts(&booked)[0].starts_with("Oslo, yes, in "),
        "{booked:?}"
    );
    assert_eq!(task(&booked), task(&asked));
}

/// A question to a peer that is no server of MCP is that peer's alone, whatever its id begins with and whoever knows its conversation.
#[tokio::test]
async fn a_question_to_another_peer_is_answered_by_no_client_of_mcp() {
    let hub = Hub::start().await;
    let _agent = hub.agent("travel", book).await;
    for id in ["mcp-weather", "mcp-0a1b2c3d", "somebody"] {
        let peer = Client::builder(hub.url()).agent_id(id).connect();
        let peer = soon(peer).await.expect("the hub is there");
        let trip = Delegation::to("travel").context_id(id).text("book");
        let asked = soon(peer.delegate(trip)).await.expect("it is taken");
        let outcome = soon(asked.outcome()).await.expect("an outcome");
        assert!(outcome.state.is_interrupted(), "{outcome:?}");

        let server = Arc::new(hub.served().await);
        let client = McpClient::piped(&server).await;
        let arguments = json!({"request": "Oslo", "context_id": id});
        let answered = client.call("agent_travel", arguments).await;
        let answered = answered.expect("a result");
        assert_eq!(texts(&answered)[0], "Where to?", "{id}: another's question");
        let meta = answered.meta.as_ref().expect("where it is from");
        assert_ne!(meta["agenthub/taskId"], json!(outcome.task_id), "{id}");
    }
}
