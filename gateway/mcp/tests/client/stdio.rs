//! Servers that are programs of this machine.

use std::{
    cell::RefCell,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use agenthub_mcp::client::{Connection, Error, Reach};
use agenthub_sdk::runs::ToolOutput;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tokio::sync::oneshot;

use super::{LIMIT, SERVER, call, noted, settings, until};

/// A server that notes what happens to it.
fn noting(arguments: &[&str]) -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path").to_owned();
    let line = [&[SERVER, "--notes", &path], arguments].concat();
    let connection = Connection::new(settings(&line));
    (folder, connection)
}

async fn process(folder: &Path) -> Pid {
    let id = || noted(folder, "id")?.parse().ok().and_then(Pid::from_raw);
    until("the server has begun", || id().is_some()).await;
    id().expect("it was there")
}

/// True if a process runs no longer. One that nobody has waited for yet does not run.
fn is_gone(process: Pid) -> bool {
    let status = format!("/proc/{}/status", process.as_raw_nonzero());
    fs::read_to_string(status).is_ok_and(|s| s.contains("State:\tZ"))
        || test_kill_process(process).is_err()
}

/// Nothing is started before it is needed; the whole list is read, and what no agent can use is left out alone.
///
/// spec: SOP-1.4
#[tokio::test]
async fn its_tools_are_listed_page_by_page() {
    let (folder, connection) = noting(&[]);
    assert_eq!(noted(folder.path(), "id"), None);
    let offer = connection.tools().await.expect("it lists them");
    let names: Vec<_> = offer.tools.iter().map(|t| t.full_name.as_str()).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!((names[0], names[9]), ("test_echo", "test_huge"));
    assert_eq!(offer.left_out.len(), 1, "{:?}", offer.left_out);
    assert_eq!(offer.left_out[0].name, "odd");
    let old = offer
        .tools
        .iter()
        .find(|t| t.name == "pair")
        .expect("it is there");
    assert!(
        old.schema["properties"]["pair"]["prefixItems"].is_array(),
        "{}",
        old.schema
    );

    connection.tools().await.expect("it knows them");
    assert_eq!(noted(folder.path(), "listings").as_deref(), Some("1"));
    connection.close().await;
}

#[tokio::test]
async fn what_its_tools_give_is_what_comes_out() {
    let (_folder, connection) = noting(&[]);
    let said = call(&connection, "echo", json!({"text": "hello"})).await;
    assert_eq!(said, Ok(ToolOutput::from("hello")));
    let data = call(&connection, "structured", json!({})).await;
    assert_eq!(data, Ok(ToolOutput::from(json!({"n": 1}))));
    let picture = call(&connection, "picture", json!({})).await;
    assert_eq!(
        picture,
        Ok(ToolOutput::from("[image, image/png, 6 bytes, not shown]"))
    );
    let failed = call(&connection, "fail", json!({})).await;
    assert_eq!(failed, Ok(ToolOutput::error("there is no disk")));
    let nothing = call(&connection, "nothing", json!({}))
        .await
        .expect_err("there is none");
    assert_eq!(
        nothing.to_string(),
        "the MCP server test answered with an error: there is no tool nothing"
    );
    connection.close().await;
}

#[tokio::test]
async fn it_sees_little_of_the_environment() {
    let mut settings = settings(&[SERVER]);
    let seen = async |settings| {
        let connection = Connection::new(settings);
        let seen = call(&connection, "environment", json!({}))
            .await
            .expect("it tells");
        connection.close().await;
        seen.value
    };
    let few = seen(settings.clone()).await;
    assert!(
        few["PATH"].is_string() && few["CARGO_MANIFEST_DIR"].is_null(),
        "{few}"
    );
    if let Reach::Command { environment, .. } = &mut settings.reach {
        environment.push("CARGO_MANIFEST_DIR".to_owned());
    }
    let more = seen(settings).await;
    assert_eq!(more["CARGO_MANIFEST_DIR"], env!("CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn its_progress_is_told_and_cancelling_calls_it_off() {
    let (folder, connection) = noting(&[]);
    let (cancel, cancelled) = oneshot::channel();
    let (cancel, told) = (RefCell::new(Some(cancel)), RefCell::new(Vec::new()));
    let progress = |text: String| {
        told.borrow_mut().push(text);
        if told.borrow().len() > 2
            && let Some(cancel) = cancel.take()
        {
            cancel.send(()).expect("it is waited for");
        }
    };
    let cancelled = async {
        let _ = cancelled.await;
    };
    let ended = connection
        .call("slow", json!({}), cancelled, progress)
        .await;
    assert_eq!(ended, Err(Error::Cancelled));
    let first = told.borrow()[0].clone();
    assert!(
        first.starts_with("at work (") && first.ends_with(" of 1000)"),
        "{first}"
    );
    until("it is called off", || {
        noted(folder.path(), "cancelled").is_some()
    })
    .await;
    let again = call(&connection, "echo", json!({"text": "still here"})).await;
    assert_eq!(again, Ok(ToolOutput::from("still here")));
    connection.close().await;
}

/// However much it says of its progress.
#[tokio::test]
async fn its_time_ends_a_call_and_calls_it_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path");
    let mut settings = settings(&[SERVER, "--notes", path]);
    settings.timeout = Duration::from_secs(1);
    let connection = Connection::new(settings);
    let late = call(&connection, "slow", json!({}))
        .await
        .expect_err("it is slow");
    assert_eq!(
        late.to_string(),
        "the MCP server test did not answer within 1 s"
    );
    until("it is called off", || {
        noted(folder.path(), "cancelled").is_some()
    })
    .await;
    connection.close().await;
}

/// As when an agent's step is given up.
#[tokio::test]
async fn dropping_a_call_calls_it_off() {
    let (folder, connection) = noting(&[]);
    let at_work = until("it works", || noted(folder.path(), "at-work").is_some());
    tokio::select! {
        () = at_work => {}
        ended = call(&connection, "slow", json!({})) => panic!("{ended:?}"),
    }
    until("it is called off", || {
        noted(folder.path(), "cancelled").is_some()
    })
    .await;
    connection.close().await;
}

#[tokio::test]
async fn one_that_dies_is_started_again_by_the_next_call() {
    let (folder, connection) = noting(&[]);
    for round in 0..3 {
        let lost = call(&connection, "dies", json!({})).await;
        assert!(matches!(lost, Err(Error::Lost { .. })), "{round}: {lost:?}");
    }
    let again = call(&connection, "echo", json!({"text": "back"})).await;
    assert_eq!(again, Ok(ToolOutput::from("back")));
    let id = process(folder.path()).await;
    kill_process(id, Signal::KILL).expect("it is ours");
    until("it is gone", || is_gone(id)).await;
    let offer = connection.tools().await.expect("it is back");
    assert_eq!(offer.tools.len(), 10);
    connection.close().await;
}

/// spec: SOP-1.5
#[tokio::test]
async fn one_that_cannot_begin_is_explained_without_secrets() {
    let missing = Connection::new(settings(&["no-such-program"]));
    let error = missing.tools().await.expect_err("there is none");
    assert_eq!(
        error.to_string(),
        "the MCP server test cannot be used: there is no program no-such-program on this machine: install it, or correct its command"
    );
    let (_folder, refusing) = noting(&["--refuse"]);
    let error = refusing
        .tools()
        .await
        .expect_err("it does not begin")
        .to_string();
    assert!(
        error.contains("ended with exit code 2: no licence"),
        "{error}"
    );
    assert!(!error.contains("abcdefgh12345678"), "{error}");
    let other = Connection::new(settings(&["echo", "hello"]));
    let error = other
        .tools()
        .await
        .expect_err("it is no server")
        .to_string();
    assert!(error.contains("echo ended with exit code 0"), "{error}");
    for connection in [missing, refusing, other] {
        connection.close().await;
    }
}

/// A call waits for one that says nothing no longer than for any other.
#[tokio::test]
async fn one_that_never_answers_does_not_hold_up_a_call_or_the_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a plain path");
    let mut settings = settings(&[SERVER, "--mute"]);
    if let Reach::Command { line, .. } = &mut settings.reach {
        let script = format!("echo $$ > {path}/id; exec {SERVER} --mute");
        *line = ["sh", "-c", &script].map(str::to_owned).to_vec();
    }
    settings.timeout = Duration::from_secs(3);
    let connection = Connection::new(settings);
    let late = call(&connection, "echo", json!({"text": ""})).await;
    assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
    let id = noted(folder.path(), "id").and_then(|id| Pid::from_raw(id.trim().parse().ok()?));
    let id = id.expect("it was started");
    connection.close().await;
    until("it is gone", || is_gone(id)).await;
}

#[tokio::test]
async fn closing_ends_the_program_and_every_call() {
    let (folder, connection) = noting(&["--deaf"]);
    let id = {
        connection.tools().await.expect("it lists them");
        process(folder.path()).await
    };
    let clone = connection.clone();
    let calling = async { call(&clone, "slow", json!({})).await };
    let closing = async {
        until("it works", || noted(folder.path(), "at-work").is_some()).await;
        let begun = Instant::now();
        connection.close().await;
        begun.elapsed()
    };
    let (called, took) = tokio::join!(calling, closing);
    assert!(matches!(called, Err(Error::Lost { .. })), "{called:?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert!(is_gone(id));
    let later = call(&connection, "echo", json!({"text": ""})).await;
    assert!(matches!(later, Err(Error::Closed { .. })), "{later:?}");
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_program() {
    let (folder, connection) = noting(&[]);
    connection.tools().await.expect("it lists them");
    let id = process(folder.path()).await;
    drop(connection);
    until("it is gone", || is_gone(id)).await;
}

#[tokio::test]
async fn a_list_that_has_changed_is_read_again() {
    let (folder, connection) = noting(&[]);
    assert_eq!(connection.tools().await.expect("a list").tools.len(), 10);
    call(&connection, "learn", json!({}))
        .await
        .expect("it learns");
    let deadline = Instant::now() + LIMIT;
    loop {
        let offer = connection.tools().await.expect("a list");
        if offer.tools.iter().any(|tool| tool.name == "learned") {
            break;
        }
        assert!(Instant::now() < deadline, "the list stays as it was");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(noted(folder.path(), "listings").as_deref(), Some("2"));
    connection.close().await;
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    let (_folder, connection) = noting(&["--many", "600"]);
    let offer = connection.tools().await.expect("it lists some");
    assert!(offer.tools.len() <= 512, "{}", offer.tools.len());
    let all: usize = offer.tools.iter().map(|t| t.description.len()).sum();
    assert!(all < 3_000_000, "{all}");
    connection.close().await;
}

/// Many who need it at once start it once.
#[tokio::test]
async fn it_is_started_once_for_everybody() {
    let (folder, connection) = noting(&[]);
    let calls = (0..8).map(|n| {
        let connection = connection.clone();
        async move { call(&connection, "echo", json!({"text": n.to_string()})).await }
    });
    let said = futures_util::future::join_all(calls).await;
    for (n, said) in said.into_iter().enumerate() {
        assert_eq!(said, Ok(ToolOutput::from(n.to_string())));
    }
    let id = process(folder.path()).await;
    connection.close().await;
    assert!(is_gone(id));
}
