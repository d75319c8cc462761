//! ListTasks.

use serde_json::{Value, json};

use crate::harness::{Stage, message, state};

fn ids(page: &Value) -> Vec<&Value> {
    page["tasks"]
        .as_array()
        .map_or_else(Vec::new, |all| all.iter().map(|t| &t["id"]).collect())
}

/// spec: A2A 1.0.1 §3.1.4
#[tokio::test]
async fn tasks_are_listed_latest_first_in_pages() {
    let stage = Stage::start().await;
    let empty = stage.done("ListTasks", json!({})).await;
    assert_eq!(
        empty,
        json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0})
    );
    let mut made = Vec::new();
    for n in 0..3 {
        made.insert(0, stage.send(&format!("draw {n}")).await);
    }
    let all = stage.done("ListTasks", json!({})).await;
    let made_ids: Vec<&Value> = made.iter().map(|t| &t["id"]).collect();
    assert_eq!(ids(&all), made_ids);
    assert_eq!(
        (&all["totalSize"], &all["nextPageToken"]),
        (&json!(3), &json!(""))
    );
    assert!(all["tasks"][0].get("artifacts").is_none());
    let whole = stage
        .done(
            "ListTasks",
            json!({"includeArtifacts": true, "historyLength": 0}),
        )
        .await;
    assert!(whole["tasks"][0]["artifacts"].is_array());
    assert!(whole["tasks"][0].get("history").is_none());

    let first = stage.done("ListTasks", json!({"pageSize": 2})).await;
    assert_eq!(
        (ids(&first).len(), &first["totalSize"], &first["pageSize"]),
        (2, &json!(3), &json!(2))
    );
    let token = &first["nextPageToken"];
    let second = stage
        .done("ListTasks", json!({"pageSize": 2, "pageToken": token}))
        .await;
    assert_eq!(ids(&second), [made_ids[2]]);
    assert_eq!(second["nextPageToken"], "");
    for wrong in [
        json!({"pageSize": 0}),
        json!({"pageSize": 101}),
        json!({"pageToken": "?"}),
        json!({"status": "done"}),
    ] {
        assert_eq!(
            stage.code("ListTasks", wrong.clone()).await,
            -32602,
            "{wrong}"
        );
    }
    stage.stop().await;
}

/// spec: A2A 1.0.1 §3.1.4, §11.5
#[tokio::test]
async fn a_listing_is_filtered_by_context_state_and_time() {
    let stage = Stage::start().await;
    let mut params = message("ask");
    params["message"]["contextId"] = "c1".into();
    let asked = stage.done("SendMessage", params).await["task"].take();
    let done = stage.send("hello").await;
    let list = async |query: &str| {
        let page = stage
            .rest(
                "GET",
                &format!("/agents/painter/tasks?{query}"),
                Value::Null,
            )
            .await;
        assert_eq!(page.status, 200, "{}", page.body);
        page.body
    };
    let by_context = list("contextId=c1").await;
    assert_eq!(ids(&by_context), [&asked["id"]]);
    assert_eq!(by_context["totalSize"], 1);
    let by_state = list("status=TASK_STATE_COMPLETED&pageSize=5&includeArtifacts=false").await;
    assert_eq!(ids(&by_state), [&done["id"]]);
    let time = asked["status"]["timestamp"].as_str().expect("a time");
    // From that time on (proto, ListTasksRequest).
    let later = list(&format!("statusTimestampAfter={time}")).await;
    assert_eq!(ids(&later), [&done["id"], &asked["id"]]);
    let time = done["status"]["timestamp"].as_str().expect("a time");
    let latest = list(&format!("statusTimestampAfter={time}")).await;
    assert_eq!(ids(&latest), [&done["id"]]);
    assert_eq!(
        (&latest["totalSize"], &latest["nextPageToken"]),
        (&json!(1), &json!(""))
    );
    assert_eq!(state(&latest["tasks"][0]), "TASK_STATE_COMPLETED");
    let none = list("statusTimestampAfter=2999-01-01T00:00:00Z").await;
    assert_eq!((ids(&none).len(), &none["totalSize"]), (0, &json!(0)));
    stage.stop().await;
}

/// A change that leaves the status as it is, such as a message, moves a task on no page.
///
/// spec: A2A 1.0.1 §3.1.4
#[tokio::test]
async fn pages_are_by_status_and_hold_though_tasks_move() {
    let stage = Stage::start().await;
    let waiting = stage.at_work().await;
    let mut made = Vec::new();
    for n in 0..4 {
        made.insert(0, stage.send(&format!("hello {n}")).await["id"].clone());
    }
    let more = json!({"message": {"messageId": "m2", "role": "ROLE_USER", "taskId": waiting, "parts": [{"text": "more"}]},
        "configuration": {"returnImmediately": true}});
    stage.done("SendMessage", more).await;
    let page = async |token: &Value| {
        let query = json!({"pageSize": 2, "pageToken": token});
        stage.done("ListTasks", query).await
    };
    let first = page(&json!("")).await;
    assert_eq!(ids(&first), [&made[0], &made[1]]);
    // A new one, and one of a later page, come to the front meanwhile.
    stage.send("new").await;
    stage.done("CancelTask", json!({"id": waiting})).await;
    let second = page(&first["nextPageToken"]).await;
    assert_eq!(ids(&second), [&made[2], &made[3]]);
    assert_eq!(second["nextPageToken"], "");
    assert_eq!(second["totalSize"], 6);
    let whole = stage.done("ListTasks", json!({})).await;
    assert_eq!(ids(&whole)[0], &json!(waiting));
    stage.stop().await;
}
