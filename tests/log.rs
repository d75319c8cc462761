//! Operator commands for the log of a hub on disk.

use std::fs;

use nix::sys::signal::Signal;

use crate::harness::System;

const DATA: &str = ".agenthub";

fn publish(system: &System, task: &str) {
    let args = ["publish", "--to", "someone", "--task", task, "hello"];
    let sent = system.run(&args, "");
    assert_eq!(sent.code, Some(0), "{sent:?}");
}

/// Reading and copying need no downtime: a hub is at work all the time.
#[test]
fn a_log_is_verified_exported_and_backed_up_beside_its_hub() {
    let (system, broker) = System::durable_broker();
    publish(&system, "t1");
    let report = system.json(&["log", "verify", "--json"]).remove(0);
    assert_eq!(report["first"], 1, "{report}");
    let last = report["last"].as_u64().expect("a position");

    let records = system.json(&["log", "export"]);
    assert_eq!(records.len() as u64, last);
    let message = records
        .iter()
        .find(|r| r["event"]["message"]["taskId"] == "t1")
        .unwrap_or_else(|| panic!("no message in {records:?}"));
    let position = message["position"].as_u64().expect("a position");
    let until = position.to_string();
    let some = system.json(&["log", "export", "--after", "0", "--until", &until]);
    assert_eq!(some.len() as u64, position);

    let folder = system.folder();
    fs::create_dir(folder.join("copy")).expect("a folder");
    let saved = system.run(&["log", "backup", "copy/log.db"], "");
    assert_eq!(saved.code, Some(0), "{saved:?}");
    publish(&system, "t2");
    let compacted = system.run(&["log", "compact"], "");
    assert_eq!(compacted.code, Some(1), "{compacted:?}");
    assert!(compacted.stderr.contains("in use by another hub"));
    drop(broker);

    let copied = system.json(&["log", "verify", "--data", "copy", "--json"]);
    assert_eq!(copied[0]["last"], last, "as of the moment of the backup");
}

/// Removed records are gone from the disk, but the hub's state is the same.
#[test]
fn a_compacted_log_is_as_good_as_before() {
    let (system, broker) = System::durable_broker();
    publish(&system, "t1");
    publish(&system, "t2");
    broker.signal(Signal::SIGTERM);
    assert_eq!(broker.wait().code, Some(0));
    let done = system
        .json(&["log", "compact", "--all", "--json"])
        .remove(0);
    assert!(done["snapshot"].as_u64() > Some(0), "{done}");
    let report = system.json(&["log", "verify", "--json"]).remove(0);
    assert!(report["first"].as_u64() > Some(1), "{report}");
    let _broker = system.start_durable_broker();
    let tasks = system.json(&["tasks", "list", "--json"]);
    assert_eq!(tasks.len(), 2, "{tasks:?}");
}

/// Damage is reported with its position, nothing is skipped, and the part before it can be exported.
#[test]
fn a_damaged_log_is_named_and_its_sound_part_can_be_read() {
    let (system, broker) = System::durable_broker();
    for n in 0..5 {
        publish(&system, &format!("needle-{n}"));
    }
    let records = system.json(&["log", "export"]);
    broker.signal(Signal::SIGTERM);
    assert_eq!(broker.wait().code, Some(0));

    let file = system.folder().join(DATA).join("log.db");
    let mut bytes = fs::read(&file).expect("the log");
    let needle = b"needle-3";
    let at = bytes.windows(needle.len()).position(|w| w == needle);
    bytes[at.expect("it is in the file")] ^= 1;
    fs::write(&file, bytes).expect("written");

    let verified = system.run(&["log", "verify"], "");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    let said = &verified.stderr;
    assert!(said.contains("damaged at position"), "{said}");
    let until = said
        .split("--until ")
        .nth(1)
        .map(|rest| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
        .expect("it says what to do");
    let sound = system.json(&["log", "export", "--until", &until]);
    assert_eq!(sound.len().to_string(), until);
    assert_eq!(sound, records[..sound.len()]);
    let broker = system.run(
        &["broker", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"],
        "",
    );
    assert_eq!(broker.code, Some(1), "it does not start: {broker:?}");
    assert!(broker.stderr.contains("damaged at position"), "{broker:?}");
}

#[test]
fn a_folder_without_a_log_is_an_error() {
    let system = System::bare("127.0.0.1:1".to_owned());
    for command in ["verify", "export", "compact"] {
        let run = system.run(&["log", command, "--data", "nothing"], "");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("there is no log in nothing"), "{run:?}");
    }
    assert!(!system.folder().join("nothing").exists());
}
