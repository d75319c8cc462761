//! The example of the README, with the program alone.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use super::surviving::{frames_to, hub_of, start};
use crate::harness::{System, eventually};

/// The brief of the example.
fn brief() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/campaign.yaml");
    file.display().to_string()
}

/// spec: ORC-10, ORC-11.2
#[test]
fn the_first_draft_of_the_example_fails_and_the_second_passes() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let args = ["run", &brief(), "--here", "--output", "bundle.json"];
    let done = start(&system, &args).finish("");
    assert_eq!(done.code, Some(3), "nobody checked two criteria: {done:?}");
    for part in [
        "verdict  4 of 6 criteria are met; nobody checked \"A parent who has never",
        "for what was judged",
        "not judged: ",
        "writer wrote and qa judged without a language model",
        "rounds   2 of at most 3",
        "✓ met",
        "· not checked",
        "(an estimate)",
    ] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
    let bundle = fs::read_to_string(system.folder().join("bundle.json")).expect("it is written");
    let bundle: Value = serde_json::from_str(&bundle).expect("JSON");
    let text = bundle["result"]["draft"]["text"].as_str().expect("a draft");
    assert_eq!(done.stdout, text.trim_end(), "the post alone");
    for part in [
        "Tern 4",
        "12 May",
        "havncycles.example/ride",
        "Rides are free of charge",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let profile = &bundle["result"]["brief"]["clientProfile"];
    assert_eq!(profile["tone"], json!(["warm", "plain", "a little dry"]));
    let reviews = bundle["quality"]["reviews"].as_array().expect("reviews");
    for review in reviews {
        let checks = review["checks"].as_array().expect("its checks");
        let is_profile = |check: &&Value| check["id"] == "profile";
        assert!(checks.iter().any(|check| is_profile(&check)), "{review}");
    }
    let passed: Vec<&Value> = reviews.iter().map(|review| &review["pass"]).collect();
    assert_eq!(passed, [false, true]);
    let verdicts = bundle["acceptance-report"]
        .as_array()
        .expect("a report")
        .iter();
    let verdicts: Vec<&str> = verdicts
        .filter_map(|line| line["verdict"].as_str())
        .collect();
    let expected = ["pass", "pass", "pass", "pass", "not_checked", "not_checked"];
    assert_eq!(verdicts, expected, "{bundle}");
}

/// The process is killed before the first draft, and its successor before the second.
///
/// spec: ORC-11.5, ORC-12.3
#[test]
fn the_example_is_finished_by_the_third_process() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let brief = brief();
    let first = start(
        &system,
        &[
            "run",
            &brief,
            "--here",
            "--json",
            "--approval",
            "content.write",
        ],
    );
    let before = frames_to(&first, "approval");
    let run = before[0]["correlationId"]
        .as_str()
        .expect("an id")
        .to_owned();
    first.kill();

    let watch = ["runs", "watch", &run, "--here", "--json"];
    let allow = |hub: &str| {
        eventually("it can be allowed", || {
            let allowed = system.run(&["runs", "approve", &run, "--hub", hub], "");
            (allowed.code == Some(0)).then_some(())
        });
    };
    let second = start(&system, &watch);
    assert_eq!(frames_to(&second, "approval"), before);
    allow(&hub_of(&second));
    // The decision, and then the next approval.
    frames_to(&second, "approval");
    frames_to(&second, "approval");
    second.kill();

    let third = start(&system, &watch);
    for _ in 0..3 {
        frames_to(&third, "approval");
    }
    allow(&hub_of(&third));
    let last = frames_to(&third, "complete").pop().expect("the end");
    assert_eq!(last["data"]["quality"]["depth"], 2, "{last}");
    assert_eq!(third.wait().code, Some(3));
}
