//! Ends of a revoked token beside streams: calls that wait, and push notifications.

use std::net::TcpListener;

use agenthub_sdk::{Agent, Card, Failure, Skill, TaskContext};
use serde_json::json;

use super::{Scene, authorization, https};
use crate::{a2a_push::notification, harness::eventually};

/// A message for an agent that never answers, with a receiver of push notifications.
fn message(id: &str, receiver: &str, returns: bool) -> String {
    json!({
        "message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "wait"}]},
        "configuration": {
            "returnImmediately": returns,
            "taskPushNotificationConfig": {"url": receiver},
        },
    })
    .to_string()
}

/// Issue 25: a revoked token ends what was opened with it. So whoever has stolen one reads no more.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_and_push_notifications_end_with_their_token() {
    let scene = Scene::start().await;
    scene.issue("root", "admin");
    let (vic, id) = scene.issue("vic", "user");
    let skill = Skill::new("work", "Work", "Works for ever");
    let card = Card::new("silent", "Says nothing").skill(skill);
    let work = async |task: TaskContext| {
        task.publish_update("at work").await?;
        task.cancelled().await;
        Err::<(), _>(Failure::cancelled("as you like"))
    };
    let silent = Agent::worker(card).on_task_type("work", work);
    let root = std::fs::read_to_string(scene.system.folder().join("root.token"));
    let silent = silent
        .token(&root.expect("a token"))
        .expect("a token")
        .tls(scene.nobody());
    let _silent = silent.start(scene.url()).await.expect("it starts");
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a free port");
    receiver.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}/hook", receiver.local_addr().expect("bound"));
    let headers = format!(
        "A2A-Version: 1.0\r\nContent-Type: application/json\r\n{}",
        authorization(Some(&vic))
    );
    let at = ("POST", "/agents/silent/message:send");
    let nobody = scene.nobody();
    let first = message("m1", &url, true);
    let begun = https(&scene.http, &nobody, at, &headers, &first).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    let (mut stream, ..) = tokio::task::block_in_place(|| notification(&receiver));
    std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .expect("it reads");

    let body = message("m2", &url, false);
    let (http, of_nobody, shown) = (scene.http.clone(), nobody.clone(), headers.clone());
    let waiting = tokio::spawn(async move { https(&http, &of_nobody, at, &shown, &body).await });
    tokio::task::block_in_place(|| {
        eventually("the call waits", || {
            let list = ["tasks", "list", "--agent", "silent", "--json"];
            let listed = scene.run(&[&list[..], &["--token-file", "root.token"]].concat(), "");
            (listed.stdout.lines().count() == 2).then_some(())
        });
        let revoked = scene.system.run(&["tokens", "revoke", &id], "");
        assert_eq!(revoked.code, Some(0), "{revoked:?}");
    });
    let answer = waiting.await.expect("no panic");
    assert_eq!(answer.status, 401, "{answer:?}");
    // What waits is not posted; what was on its way may be.
    while receiver.accept().is_ok() {}
    let task = begun.json()["task"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let cancel = ["tasks", "cancel", &task, "--token-file", "root.token"];
    let cancelled = scene.run(&cancel, "");
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    // As soon as the principal has a token again, it is told all that has waited.
    assert!(receiver.accept().is_err(), "nobody is told");
    scene.issue("vic", "user");
    tokio::task::block_in_place(|| {
        eventually("it is told", || receiver.accept().ok());
    });
}
