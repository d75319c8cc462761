//! SendMessage, GetTask and CancelTask.

use agenthub_sdk::{Client, Delegation};
use serde_json::{Value, json};

use crate::harness::{Stage, follow_up, gate, message, soon, state};

/// spec: A2A 1.0.1 §3.2.2
#[tokio::test]
async fn a_message_is_answered_when_the_work_has_ended() {
    let stage = Stage::start().await;
    let task = stage.send("hello there").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(
        task["status"]["message"]["parts"],
        json!([{"text": "hello there"}])
    );
    assert_eq!(task["history"][0]["messageId"], "m1");
    let timestamp = task["status"]["timestamp"].as_str().expect("a time");
    assert!(timestamp.ends_with('Z'), "{timestamp}");
    assert!(task["contextId"].as_str().is_some_and(|c| !c.is_empty()));

    assert_eq!(state(&stage.send("fail").await), "TASK_STATE_FAILED");
    assert_eq!(state(&stage.send("reject").await), "TASK_STATE_REJECTED");
    let drawn = stage.send("draw").await;
    assert_eq!(
        drawn["artifacts"][0]["parts"],
        json!([{"text": "a "}, {"text": "red "}, {"text": "cat"}])
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.2.2, §3.1.5
#[tokio::test]
async fn a_message_that_shall_not_wait_gives_the_task_which_can_be_cancelled() {
    let stage = Stage::start().await;
    let id = stage.at_work().await;
    let task = stage.done("GetTask", json!({"id": id})).await;
    assert_eq!(state(&task), "TASK_STATE_WORKING");
    let cancelled = stage.done("CancelTask", json!({"id": id})).await;
    assert_eq!(state(&cancelled), "TASK_STATE_CANCELED");
    assert_eq!(stage.code("CancelTask", json!({"id": id})).await, -32002);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.4.2, §3.4.3
#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let stage = Stage::start().await;
    let asked = stage.send("ask").await;
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(
        asked["status"]["message"]["parts"],
        json!([{"text": "which colour?"}])
    );
    let answered = stage.done("SendMessage", follow_up("blue", &asked)).await;
    let task = &answered["task"];
    assert_eq!(
        (&task["id"], state(task)),
        (&asked["id"], "TASK_STATE_COMPLETED")
    );
    assert_eq!(
        task["contextId"], asked["contextId"],
        "it follows from the task"
    );
    assert_eq!(
        task["status"]["message"]["parts"],
        json!([{"text": "blue"}])
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.4.2, §3.4.3, §3.1.1
#[tokio::test]
async fn a_follow_up_fits_its_task() {
    let stage = Stage::start().await;
    let asked = stage.send("ask").await;
    let mut elsewhere = follow_up("blue", &asked);
    elsewhere["message"]["contextId"] = "another".into();
    let fault = stage.rpc("SendMessage", elsewhere).await;
    assert_eq!(fault["error"]["code"], -32602);
    assert_eq!(
        fault["error"]["data"][0]["fieldViolations"][0]["field"],
        "message.contextId"
    );
    let done = stage.send("hello").await;
    assert_eq!(
        stage.code("SendMessage", follow_up("more", &done)).await,
        -32004
    );
    let unknown = json!({"id": "made-up"});
    assert_eq!(
        stage.code("SendMessage", follow_up("more", &unknown)).await,
        -32001
    );
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.4.1
#[tokio::test]
async fn a_context_of_the_clients_is_kept_and_two_clients_may_use_one_message_id() {
    let stage = Stage::start().await;
    let mut params = message("one");
    params["message"]["contextId"] = "c1".into();
    let first = stage.done("SendMessage", params.clone()).await;
    params["message"]["parts"][0]["text"] = "two".into();
    let second = stage.done("SendMessage", params).await;
    assert_eq!(first["task"]["contextId"], "c1");
    assert_eq!(second["task"]["contextId"], "c1");
    assert_ne!(first["task"]["id"], second["task"]["id"]);
    assert_eq!(state(&second), "TASK_STATE_COMPLETED");
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.1
#[tokio::test]
async fn a_message_that_comes_again_in_its_context_is_answered_with_its_task() {
    let mut stage = Stage::start().await;
    let mut params = message("draw it once");
    params["message"]["contextId"] = "c1".into();
    let first = stage.done("SendMessage", params.clone()).await["task"].take();
    let again = stage.done("SendMessage", params.clone()).await["task"].take();
    assert_eq!(again, first);
    let path = "/agents/painter/message:send";
    let over_http = stage.rest("POST", path, params.clone()).await;
    assert_eq!(over_http.body["task"]["id"], first["id"]);
    let shown = stage.stream("SendStreamingMessage", params.clone()).await;
    let shown = shown.rest().await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0]["task"]["status"], first["status"]);
    stage.restart_gateway(crate::harness::settings()).await;
    let later = stage.done("SendMessage", params.clone()).await["task"].take();
    assert_eq!(later["id"], first["id"]);
    let listed = stage.done("ListTasks", json!({"contextId": "c1"})).await;
    assert_eq!(listed["totalSize"], 1, "the agent was asked once");

    params["message"]["contextId"] = "c2".into();
    let elsewhere = stage.done("SendMessage", params.clone()).await;
    assert_ne!(elsewhere["task"]["id"], first["id"]);
    // Without a context, the id alone is no reason to take it for the same message.
    let alone = stage.send("draw it twice").await;
    let alone_again = stage.send("draw it twice").await;
    assert_ne!(alone["id"], alone_again["id"]);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.1, §3.2.2
#[tokio::test]
async fn all_who_send_a_message_again_while_it_is_worked_on_are_answered_at_its_end() {
    let stage = Stage::start().await;
    let mut params = message("steps shared");
    params["message"]["contextId"] = "c1".into();
    let mut at_once = params.clone();
    at_once["configuration"] = json!({"returnImmediately": true});
    let first = stage.done("SendMessage", at_once).await["task"].take();
    let (one, other, ()) = tokio::join!(
        stage.done("SendMessage", params.clone()),
        stage.done("SendMessage", params.clone()),
        async { gate("shared").add_permits(2) },
    );
    for answer in [one, other] {
        let task = &answer["task"];
        assert_eq!(
            (&task["id"], state(task)),
            (&first["id"], "TASK_STATE_COMPLETED")
        );
    }
    stage.stop().await;
}

/// Its end goes to its requester, and not to the gateway.
///
/// spec: A2A 1.0.1 §3.4.3
#[tokio::test]
async fn a_follow_up_to_a_task_that_another_program_asked_for_is_refused() {
    let stage = Stage::start().await;
    let client = Client::builder(format!("http://{}", stage.hub.address()));
    let client = soon(client.connect()).await.expect("the hub is there");
    let asked = Delegation::to("painter").capability("paint").text("ask");
    let asked = soon(client.delegate(asked)).await.expect("it is taken");
    let id = asked.task_id().to_owned();
    let outcome = soon(asked.outcome()).await.expect("a question");
    assert!(outcome.state.is_interrupted());
    let answer = follow_up("blue", &json!({"id": id}));
    assert_eq!(stage.code("SendMessage", answer).await, -32004);
    client.close().await;
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.3.1
#[tokio::test]
async fn an_answer_that_comes_again_is_given_once() {
    let stage = Stage::start().await;
    let asked = stage.send("ask").await;
    let mut answer = follow_up("blue", &asked);
    answer["message"]["messageId"] = "answer".into();
    let first = stage.done("SendMessage", answer.clone()).await["task"].take();
    assert_eq!(state(&first), "TASK_STATE_COMPLETED");
    let again = stage.done("SendMessage", answer.clone()).await["task"].take();
    assert_eq!(again, first);
    answer["message"]["messageId"] = "more".into();
    assert_eq!(stage.code("SendMessage", answer).await, -32004);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.2.4
#[tokio::test]
async fn a_history_is_as_long_as_was_asked_for() {
    let stage = Stage::start().await;
    let asked = stage.send("ask").await;
    let task = stage.done("SendMessage", follow_up("blue", &asked)).await["task"].take();
    let length = async |length: Value| {
        let task = stage
            .done(
                "GetTask",
                json!({"id": task["id"], "historyLength": length}),
            )
            .await;
        task["history"].as_array().map_or(0, Vec::len)
    };
    assert!(length(Value::Null).await >= 2);
    assert_eq!(length(json!(0)).await, 0);
    assert_eq!(length(json!(1)).await, 1);
    let negative = json!({"id": task["id"], "historyLength": -1});
    assert_eq!(stage.code("GetTask", negative).await, -32602);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §5.1, §11.3
#[tokio::test]
async fn http_and_json_do_the_same_with_and_without_a_tenant() {
    let stage = Stage::start().await;
    for base in ["", "/painter", "/agents/painter", "/agents/painter/painter"] {
        let path = format!("{base}/message:send");
        let sent = stage.rest("POST", &path, message("hi")).await;
        assert_eq!(
            (sent.status, state(&sent.body)),
            (200, "TASK_STATE_COMPLETED"),
            "{base}"
        );
        assert_eq!(sent.headers["content-type"], "application/a2a+json");
        let id = sent.body["task"]["id"].as_str().expect("an id");
        let got = stage
            .rest(
                "GET",
                &format!("{base}/tasks/{id}?historyLength=0"),
                Value::Null,
            )
            .await;
        assert_eq!((got.status, &got.body["id"]), (200, &json!(id)));
        assert_eq!(got.body.get("history"), None);
        let again = stage
            .rest("POST", &format!("{base}/tasks/{id}:cancel"), json!({}))
            .await;
        assert_eq!(
            (again.status, &again.body["error"]["status"]),
            (400, &json!("FAILED_PRECONDITION"))
        );
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_task_of_one_agent_is_none_of_another() {
    let stage = Stage::start().await;
    let url = format!("http://{}", stage.hub.address());
    let other = agenthub_sdk::Agent::worker(agenthub_sdk::Card::new("other", "Another"))
        .on_task_type("work", async |_: agenthub_sdk::TaskContext| "done");
    let other = other.start(url).await.expect("it starts");
    let task = stage.send("hello").await;
    let id = task["id"].as_str().expect("an id");
    let found = soon(stage.rest("GET", &format!("/agents/painter/tasks/{id}"), Value::Null)).await;
    assert_eq!(found.status, 200);
    let foreign = soon(stage.rest("GET", &format!("/agents/other/tasks/{id}"), Value::Null)).await;
    assert_eq!(foreign.status, 404);
    other.stop().await;
    stage.stop().await;
}
