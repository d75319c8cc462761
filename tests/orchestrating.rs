//! App runs from a person's view: from a brief on the command line to the bundle, over real processes, offline.

use std::fs;

use agenthub_sdk::runs::UNREAD;
use serde_json::{Value, json};

use crate::harness::{Finished, System, eventually, free_address};

/// A brief whose first draft has everything that its review looks for.
const EASY: &str = "\
objective: Tell the neighbours that the library opens on Monday
payload:
  clientBrief: The town library opens again on Monday at nine. There is coffee.
  mustInclude: [Monday]
constraints:
  qualityThreshold: 0.5
  executionDepth: 3
";

/// A brief that names the required content only to the reviewer.
const DEMANDING: &str = "\
objective: Tell the neighbours that the library opens on Monday
payload:
  clientBrief: The town library opens again on Monday at nine. There is coffee.
constraints:
  qualityThreshold: 0.5
  executionDepth: 3
  acceptanceCriteria:
    - contains \"bring your library card\"
";

/// A brief that cannot be fulfilled.
const IMPOSSIBLE: &str = "\
objective: Tell the neighbours that the library opens on Monday
payload:
  clientBrief: The town library opens again on Monday at nine. There is coffee.
  platform: notice board
constraints:
  qualityThreshold: 0.5
  executionDepth: 2
  acceptanceCriteria:
    - at least 400 sentences
";

/// Runs a brief to its end and returns its frames.
fn run(system: &System, brief: &str) -> (Finished, Vec<Value>) {
    fs::write(system.folder().join("brief.yaml"), brief).expect("the folder is ours");
    let finished = system.run(&["run", "brief.yaml", "--json"], "");
    let frames = frames_in(&finished.stdout);
    (finished, frames)
}

fn frames_in(stdout: &str) -> Vec<Value> {
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect()
}

/// The bundle, from the last of these frames.
fn bundle(frames: &[Value]) -> &Value {
    let last = frames.last().expect("there are frames");
    assert_eq!(last["type"], "complete", "{last:#}");
    &last["data"]
}

fn of_type<'f>(frames: &'f [Value], kind: &str) -> Vec<&'f Value> {
    frames
        .iter()
        .filter(|frame| frame["type"] == kind)
        .collect()
}

/// Checks the frames: numbered without gaps, one id, one start and one end, and text only while something is made or
/// checked.
fn keep_the_rules(frames: &[Value]) {
    let id = &frames[0]["correlationId"];
    let mut phase = String::new();
    for (frame, number) in frames.iter().zip(1..) {
        assert_eq!(frame["sequence"], number, "{frame}");
        assert_eq!(&frame["correlationId"], id);
        if let Some(entered) = frame["phase"].as_str().filter(|phase| !phase.is_empty()) {
            entered.clone_into(&mut phase);
        }
        assert!(
            frame["type"] != "delta" || ["generation", "qa"].contains(&&*phase),
            "{phase}: {frame}"
        );
    }
    assert_eq!(frames[0]["type"], "start");
    assert_eq!(of_type(frames, "start").len(), 1);
    assert_eq!(
        of_type(frames, "complete").len() + of_type(frames, "error").len(),
        1
    );
}

fn handed_to(frames: &[Value]) -> Vec<String> {
    let handoffs = of_type(frames, "handoff")
        .into_iter()
        .filter(|frame| frame["message"] == "requested");
    handoffs
        .filter_map(|frame| frame["data"]["capability"].as_str().map(str::to_owned))
        .collect()
}

/// Asserts that all of the constraints are met, as far as stand-ins measure, and that no language model read them.
fn is_met_and_unread(finished: &Finished, bundle: &Value) {
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let quality = &bundle["quality"];
    assert_eq!(quality["explanation"], UNREAD, "{quality:#}");
}

/// spec: ORC-11.1, ORC-4, ORC-5.2, ORC-10
#[test]
fn a_first_draft_that_passes_is_the_result() {
    let (system, _up) = System::up();
    let (finished, frames) = run(&system, EASY);
    keep_the_rules(&frames);
    let bundle = bundle(&frames);
    is_met_and_unread(&finished, bundle);
    let text = bundle["result"]["draft"]["text"].as_str().expect("a draft");
    assert!(text.contains("Monday"), "{text}");
    assert_eq!(bundle["quality"]["depth"], 1);
    let capabilities = handed_to(&frames);
    assert_eq!(
        capabilities.last().map(String::as_str),
        Some("qa.review"),
        "{capabilities:?}"
    );
    assert!(
        !of_type(&frames, "delta").is_empty(),
        "the text is seen while it grows"
    );
    let total = of_type(&frames, "metrics")
        .into_iter()
        .last()
        .expect("metrics");
    assert!(
        total["tokens"].as_u64().is_some_and(|tokens| tokens > 0),
        "{total}"
    );
}

/// spec: ORC-11.2
#[test]
fn a_draft_that_does_not_pass_is_made_again_with_what_the_review_found() {
    let (system, _up) = System::up();
    let (finished, frames) = run(&system, DEMANDING);
    keep_the_rules(&frames);
    let bundle = bundle(&frames);
    is_met_and_unread(&finished, bundle);
    assert_eq!(bundle["quality"]["depth"], 2, "{bundle:#}");
    let line = &bundle["acceptance-report"][0];
    assert_eq!(line["verdict"], "pass");
    assert!(!line["evidence"].is_null());
    let reviews = bundle["quality"]["reviews"].as_array().expect("reviews");
    assert_eq!(
        (&reviews[0]["pass"], &reviews[1]["pass"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(of_type(&frames, "plan_update").len(), 2);
}

/// spec: ORC-11.3
#[test]
fn at_the_execution_depth_the_run_ends_with_the_best_there_is() {
    let (system, _up) = System::up();
    let (finished, frames) = run(&system, IMPOSSIBLE);
    keep_the_rules(&frames);
    assert_eq!(
        finished.code,
        Some(3),
        "there is a result, but it does not meet its constraints: {finished:?}"
    );
    let bundle = bundle(&frames);
    assert_eq!(bundle["quality"]["depth"], 2);
    assert_eq!(bundle["quality"]["met"], false);
    assert!(bundle["quality"]["explanation"].is_string(), "{bundle:#}");
    assert!(bundle["result"]["draft"]["text"].is_string());
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "fail");
}

/// spec: ORC-11.4, ORC-9
#[test]
fn without_a_specialist_the_run_does_without_or_says_what_is_missing() {
    let (system, _broker) = System::broker();
    let grpc = free_address();
    let _cortex = system.start(&["cortex", "--grpc", &grpc]);
    system.wait_online("cortex");
    let url = format!("http://{grpc}");
    fs::write(system.folder().join("brief.yaml"), EASY).expect("the folder is ours");
    let run = || {
        let finished = system.run(&["run", "brief.yaml", "--json", "--cortex", &url], "");
        let frames = frames_in(&finished.stdout);
        keep_the_rules(&frames);
        (finished.code, frames)
    };
    let (code, frames) = run();
    assert_eq!(code, Some(1), "there is nothing");
    assert_eq!(bundle(&frames)["result"], Value::Null);
    assert!(of_type(&frames, "warning").len() >= 2, "{frames:?}");

    let _writer = system.start(&["agent", "writer"]);
    system.wait_online("writer");
    let frames = eventually("Cortex has seen the writer", || {
        let (_, frames) = run();
        (!handed_to(&frames).is_empty()).then_some(frames)
    });
    let bundle = bundle(&frames);
    assert!(bundle["result"]["draft"]["text"].is_string(), "{bundle:#}");
    assert_eq!(bundle["quality"]["met"], false);
    let warnings = of_type(&frames, "warning");
    assert!(
        warnings.iter().any(|w| w["data"]["missing"] == "qa"),
        "{warnings:?}"
    );
}

/// spec: ORC-11.5, ORC-3, ORC-12.3
#[test]
fn killed_in_the_middle_a_run_goes_on_from_its_plan_and_ends_once() {
    let system = System::bare(free_address());
    let up = system.start_durable_up();
    let brief = format!("{DEMANDING}  approvals: [content.write]\n");
    fs::write(system.folder().join("brief.yaml"), brief).expect("the folder is ours");
    let started = system.run(&["run", "brief.yaml", "--detach"], "");
    assert_eq!(started.code, Some(0), "{started:?}");
    let id = started.stdout.trim().to_owned();

    let pending = || {
        eventually("somebody is asked", || {
            let shown = system.run(&["runs", "show", &id, "--json"], "");
            let run: Value = serde_json::from_str(shown.stdout.trim()).ok()?;
            run["approvals"][0]["id"].as_str().map(str::to_owned)
        })
    };
    let first = pending();
    up.kill();
    let up = system.start_durable_up();
    // The same approval is requested again; its decision counts once.
    assert_eq!(pending(), first);
    let approve = |approval: &str| system.run(&["runs", "approve", &id, approval], "");
    let allow = |approval: &str| {
        eventually("the run asks again", || {
            (approve(approval).code == Some(0)).then_some(())
        });
    };
    allow(&first);
    assert_eq!(approve(&first).code, Some(1), "it is used up");
    let second = eventually("the second draft waits", || {
        Some(pending()).filter(|next| *next != first)
    });
    up.kill();
    let _up = system.start_durable_up();
    assert_eq!(pending(), second);
    allow(&second);

    let watched = system.run(&["runs", "watch", &id, "--json"], "");
    let frames = frames_in(&watched.stdout);
    keep_the_rules(&frames);
    is_met_and_unread(&watched, bundle(&frames));
    assert_eq!(frames[0]["correlationId"], *id);
    let half = frames.len() / 2;
    let after = system.run(
        &["runs", "watch", &id, "--json", "--after", &half.to_string()],
        "",
    );
    assert_eq!(
        frames_in(&after.stdout),
        frames[half..],
        "a late watcher sees what an early one saw"
    );
    let capabilities = handed_to(&frames);
    let drafts = capabilities
        .iter()
        .filter(|c| *c == "content.write")
        .count();
    assert_eq!(drafts, 2, "nothing was done twice: {capabilities:?}");
}

/// spec: ORC-11.5, ORC-3
#[test]
fn killed_wherever_it_is_a_run_goes_on_and_who_watches_misses_nothing() {
    let system = System::bare(free_address());
    fs::write(system.folder().join("brief.yaml"), DEMANDING).expect("the folder is ours");
    let mut up = system.start_durable_up();
    // While the model is called, while a specialist computes, writes and reviews, and while the second round is
    // planned.
    for (round, moment) in [
        "\"phase\":\"planning\"",
        "\"capability\":\"content.brief\"",
        "\"capability\":\"content.write\"",
        "\"capability\":\"qa.review\"",
        "\"step\":\"content-write-2\"",
    ]
    .into_iter()
    .enumerate()
    {
        let thread = format!("round-{round}");
        let watching = system.start(&["run", "--json", "--thread", &thread, "brief.yaml"]);
        let mut lines = Vec::new();
        loop {
            let line = watching.line(moment);
            lines.push(line);
            if lines.last().is_some_and(|line| line.contains(moment)) {
                break;
            }
        }
        up.kill();
        up = system.start_durable_up();
        let finished = watching.wait();
        lines.extend(finished.stdout.lines().map(str::to_owned));
        let frames = frames_in(&lines.join("\n"));
        keep_the_rules(&frames);
        is_met_and_unread(&finished, bundle(&frames));
        let drafts = handed_to(&frames);
        let drafts = drafts
            .iter()
            .filter(|capability| *capability == "content.write");
        assert_eq!(drafts.count(), 2, "{moment}: nothing is decided twice");
    }
}
