//! Mailboxes, and agents that are gone for good, from an operator's view.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{Process, System, eventually};

/// A hub with the mailbox of an offline echo agent, in which these tasks wait.
fn waiting(tasks: &[&str]) -> (System, Process) {
    let (system, broker) = System::durable_broker();
    let echo = system.start_echo("agent_echo");
    echo.signal(Signal::SIGTERM);
    assert_eq!(echo.wait().code, Some(0));
    for task in tasks {
        publish(&system, task);
    }
    (system, broker)
}

fn publish(system: &System, task: &str) {
    let args = [
        "publish",
        "--to",
        "agent_echo",
        "--task-type",
        "echo",
        "--task",
        task,
        task,
    ];
    let sent = system.run(&args, "");
    assert_eq!(sent.code, Some(0), "{sent:?}");
}

fn said(system: &System, args: &[&str]) -> String {
    let done = system.run(args, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    done.stdout.trim().to_owned()
}

fn state(system: &System, task: &str) -> Value {
    let shown = system.json(&["tasks", "show", task, "--json"]);
    shown[0]["status"]["state"].clone()
}

/// promise 9
#[test]
fn an_operator_sees_moves_and_empties_mailboxes() {
    let (system, _broker) = waiting(&["one", "two", "three"]);
    let list = system.json(&["mailboxes", "list", "--json"]);
    let [inbox] = list.as_slice() else {
        panic!("one mailbox: {list:?}");
    };
    assert_eq!(
        (&inbox["agentId"], &inbox["name"]),
        (&"agent_echo".into(), &"inbox".into())
    );
    assert_eq!(inbox["waiting"], "3", "{inbox}");
    let table = said(&system, &["mailboxes", "list"]);
    assert!(
        table.contains("agent_echo") && table.contains("inbox"),
        "{table}"
    );

    let shown = system.json(&["mailboxes", "show", "agent_echo", "--first", "9", "--json"]);
    let events = shown[0]["events"].as_array().expect("events");
    let ids: Vec<&Value> = events.iter().map(|e| &e["message"]["taskId"]).collect();
    assert_eq!(ids, ["one", "two", "three"]);
    let first = events[0]["position"].as_str().expect("a position");

    let seek = ["mailboxes", "seek", "agent_echo", "inbox"];
    let forward = said(&system, &[&seek[..], &["--after", first]].concat());
    assert_eq!(forward, "1 skipped, 0 to be delivered again");
    assert_eq!(state(&system, "one"), "TASK_STATE_FAILED");
    assert_eq!(state(&system, "two"), "TASK_STATE_SUBMITTED");
    let purged = said(&system, &["mailboxes", "purge", "agent_echo", "inbox"]);
    assert_eq!(purged, "2 purged");
    assert_eq!(state(&system, "three"), "TASK_STATE_FAILED");
    let back = said(&system, &[&seek[..], &["--after", first]].concat());
    assert_eq!(back, "0 skipped, 2 to be delivered again");
    let end = said(&system, &[&seek[..], &["--latest"]].concat());
    assert_eq!(end, "2 skipped, 0 to be delivered again");
    let none = system.json(&["mailboxes", "dead-letters", "--json"]);
    assert_eq!(none, [Value::Null; 0], "what is skipped is no dead letter");

    let wrong = system.run(&["mailboxes", "purge", "agent_echo", "other"], "");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong.stderr.contains("no durable mailbox \"other\""),
        "{wrong:?}"
    );
}

/// spec: HUB-8
#[test]
fn an_agent_that_is_gone_for_good_can_be_unregistered() {
    let (system, _broker) = waiting(&["t"]);
    let args = ["agents", "unregister", "agent_echo", "--reason", "it moved"];
    let done = said(&system, &args);
    assert!(done.contains("agent_echo"), "{done}");
    let task = system.json(&["tasks", "show", "t", "--json"]).remove(0);
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{task}");
    assert!(task.to_string().contains("it moved"), "{task}");
    assert!(system.json(&["agents", "list", "--json"]).is_empty());
    let list = ["mailboxes", "list", "--agent", "agent_echo", "--json"];
    assert!(system.json(&list).is_empty());
    let again = system.run(&args, "");
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("there is no agent \"agent_echo\""),
        "{again:?}"
    );
}

/// A connected one is left alone. With --force it is notified, and does not reconnect.
///
/// spec: HUB-8
#[test]
fn an_agent_at_work_is_unregistered_by_force_alone_and_stops() {
    let (system, _broker) = System::broker();
    let echo = system.start_echo("agent_echo");
    let unregister = ["agents", "unregister", "agent_echo", "--json"];
    let refused = system.run(&unregister, "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for part in ["is connected", "--force"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(system.json(&["agents", "list", "--json"]).len(), 1);
    said(&system, &[&unregister[..], &["--force"]].concat());
    eventually("it says why", || {
        echo.said().contains("unregistered").then_some(())
    });
    assert!(system.json(&["agents", "list", "--json"]).is_empty());
}
