//! Recording of model calls in a file, and their replay.

use std::fs;

use serde_json::Value;

use crate::harness::{Finished, Process, System, free_address};

/// The example of the README, in its own process, and its result as data.
fn campaign(system: &System, more: &[&str]) -> (Finished, Value) {
    let brief = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/campaign.yaml");
    let mut args = vec!["run", brief, "--here", "--ephemeral", "--output", "b.json"];
    args.extend(more);
    let done = system.run(&args, "");
    let bundle = fs::read_to_string(system.folder().join("b.json")).unwrap_or_default();
    (done, serde_json::from_str(&bundle).unwrap_or_default())
}

fn bare() -> System {
    System::bare(free_address())
}

/// Replaces text in a recording.
fn edit(system: &System, name: &str, from: &str, to: &str) {
    let path = system.folder().join(name);
    let text = fs::read_to_string(&path).expect("it was recorded");
    assert!(text.contains(from), "{from}: {text}");
    fs::write(path, text.replace(from, to)).expect("the folder is there");
}

/// A system like [`System::up`], recorded or replayed.
fn up(flag: &str, recording: &str) -> (System, Process) {
    let system = bare();
    let up = system.start(&[
        "up",
        "--json",
        "--ephemeral",
        "--grpc",
        system.grpc(),
        "--http",
        "127.0.0.1:0",
        flag,
        recording,
    ]);
    let banner: Value = serde_json::from_str(&up.line("the banner")).expect("one line of JSON");
    assert_eq!(banner["model"], "offline");
    (system, up)
}

#[test]
fn a_chat_is_replayed_word_for_word_and_what_was_not_said_then_is_named() {
    let words = "echo 'good morning'\nwho are you?\necho 'good morning'\n";
    let (recorded, first) = up("--record", "chat.jsonl");
    let before = recorded.chat(words);
    assert_eq!(before.code, Some(0), "{before:?}");
    drop(first);
    // Text that only the recording contains.
    edit(&recorded, "chat.jsonl", "I can reach:", "Behind me are:");
    let recording = recorded.folder().join("chat.jsonl");
    let recording = recording.display().to_string();

    let (replayed, _second) = up("--replay", &recording);
    let after = replayed.chat(words);
    assert_eq!(after.code, Some(0), "{after:?}");
    let expected = before.stdout.replace("I can reach:", "Behind me are:");
    assert_eq!(after.stdout, expected);
    assert!(after.stdout.contains("Behind me are:"), "{after:?}");

    let other = replayed.chat("echo 'good evening'\n");
    assert_eq!(other.code, Some(1), "{other:?}");
    for part in [
        "You are Cortex",
        "--record",
        "\n-echo 'good morning'\n+echo 'good evening'\n",
    ] {
        assert!(other.stderr.contains(part), "{part}: {other:?}");
    }
}

/// Its rules contain a mark of the run, and its specialists use the same model.
#[test]
fn a_run_that_plans_is_replayed_to_the_letter() {
    let system = bare();
    let (before, bundle) = campaign(&system, &["--record", "run.jsonl"]);
    assert_eq!(before.code, Some(3), "{before:?}");
    let (after, again) = campaign(&system, &["--replay", "run.jsonl"]);
    assert_eq!(after.code, Some(3), "{after:?}");
    assert_eq!(after.stdout, before.stdout);
    assert_eq!(again, bundle);

    let changed = ["--replay", "run.jsonl", "--quality", "0.6"];
    let (changed, _) = campaign(&system, &changed);
    assert_eq!(changed.code, Some(1), "{changed:?}");
    for part in [
        "You orchestrate a team",
        "-  \"qualityThreshold\": 0.75,",
        "+  \"qualityThreshold\": 0.6,",
    ] {
        assert!(changed.stderr.contains(part), "{part}: {changed:?}");
    }
}

/// The agent's file names its own model, which is recorded, and not called on replay.
#[test]
fn an_agent_from_a_file_is_replayed_in_place_of_its_own_model() {
    let (system, _broker) = System::broker();
    let start = |name: &str, model: &str, instructions: &str, flag: &str| {
        let text = format!("name = '{name}'\nmodel = '{model}'\ninstructions = '{instructions}'\n");
        system.start_file(name, &text, &["--ephemeral", flag, "a.jsonl"])
    };
    let ask = |name: &str| system.run(&["publish", "--to", name, "--wait", "sing a song"], "");

    let recorded = start("agent_a", "offline", "Greet.", "--record");
    let before = ask("agent_a");
    assert_eq!(
        before.code,
        Some(1),
        "the stand-in does nothing of it: {before:?}"
    );
    drop(recorded);

    let replayed = start("agent_b", "openai/nobody", "Greet.", "--replay");
    let line = replayed.line("where it is");
    assert!(line.contains("recorded from offline"), "{line}");
    let after = ask("agent_b");
    assert_eq!((after.stdout, after.code), (before.stdout, before.code));

    let _changed = start("agent_c", "openai/nobody", "Greet. And smile.", "--replay");
    let missed = ask("agent_c");
    assert_eq!(missed.code, Some(1), "{missed:?}");
    for part in ["a.jsonl", "--record", "+And smile."] {
        assert!(missed.stderr.contains(part), "{part}: {missed:?}");
    }
}

#[test]
fn flags_that_make_no_sense_say_what_does() {
    let (system, _up) = System::up();
    for flag in ["--record", "--replay"] {
        // Without a recording there is nothing to replay; with one, there is no agent here.
        let file = format!("x{flag}.jsonl");
        if flag == "--replay" {
            let missing = system.run(&["run", "--objective", "x", flag, &file], "");
            assert!(missing.stderr.contains("is not there"), "{missing:?}");
            let header = "{\"format\":\"agenthub-recording\",\"version\":1,\"model\":\"a/b\",\"recorded\":\"\"}\n";
            fs::write(system.folder().join(&file), header).expect("the folder is there");
        }
        let elsewhere = system.run(&["run", "--objective", "x", flag, &file], "");
        assert_eq!(elsewhere.code, Some(1), "{elsewhere:?}");
        for part in [flag, "--here", &system.hub()] {
            assert!(elsewhere.stderr.contains(part), "{part}: {elsewhere:?}");
        }
    }
    let model = system.run(&["run", "--objective", "x", "--model", "openai/a"], "");
    assert_eq!(model.code, Some(1), "{model:?}");
    for part in ["--model openai/a", "--here", &system.hub()] {
        assert!(model.stderr.contains(part), "{part}: {model:?}");
    }
    for other in [["--model", "offline"], ["--record", "b.jsonl"]] {
        let both = [&["up", "--replay", "a.jsonl"][..], &other[..]].concat();
        assert_eq!(system.run(&both, "").code, Some(2), "{both:?}");
    }
}
