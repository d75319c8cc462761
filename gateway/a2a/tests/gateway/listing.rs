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
    let later = list(&format!("statusTimestampAfter={time}")).await;
    assert_eq!(ids(&later), [&done["id"]]);
    assert_eq!(
        (&later["totalSize"], &later["nextPageToken"]),
        (&json!(1), &json!(""))
    );
    assert_eq!(state(&later["tasks"][0]), "TASK_STATE_COMPLETED");
    stage.stop().await;
}
