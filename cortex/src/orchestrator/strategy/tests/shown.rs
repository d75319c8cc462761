//! Frames for those who watch, and the prompts of the model.

use agenthub_sdk::{model::Request, runs::RunOutcome};
use serde_json::Value;

use super::stage::*;
use crate::orchestrator::prompt::RULES;

/// Checks what holds of every stream of frames.
fn keeps_the_rules(frames: &[Value]) {
    let kinds: Vec<&str> = frames.iter().filter_map(|f| f["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"start"), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|k| **k == "start").count(), 1);
    let is_last = |kind: &&&str| matches!(**kind, "complete" | "error");
    assert_eq!(kinds.iter().filter(is_last).count(), 1, "{kinds:?}");
    assert!(kinds.last().is_some_and(|kind| is_last(&kind)));
    assert_eq!(kinds[kinds.len() - 2], "metrics");
    let mut phase = "";
    for (frame, number) in frames.iter().zip(1..) {
        assert_eq!(frame["sequence"], number);
        assert_eq!(frame["correlationId"], "run-1");
        phase = frame["phase"].as_str().unwrap_or(phase);
        let is_text = frame["type"] == "delta";
        assert!(
            !is_text || matches!(phase, "generation" | "qa"),
            "{phase}: {frame}"
        );
    }
}

/// spec: ORC-2.4, ORC-3.1, ORC-4, ORC-8
#[test]
fn the_frames_of_a_run_with_two_rounds() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(2));
    let outcome = stage.play();
    let frames = stage.frames(outcome);
    keeps_the_rules(&frames);
    insta::assert_json_snapshot!(frames);
}

/// spec: ORC-4, ORC-8
#[test]
fn the_frames_of_a_run_without_a_reviewer_warn_and_of_one_that_is_refused_say_so() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.seen.offers.retain(|o| o.offer.capability == "make");
    stage.brief.constraints.approvals = vec!["*".into()];
    stage.decision.approved = false;
    let outcome = stage.play();
    let frames = stage.frames(outcome);
    keeps_the_rules(&frames);
    let shown = frames
        .iter()
        .filter(|f| matches!(f["type"].as_str(), Some("warning" | "approval")));
    insta::assert_json_snapshot!(shown.collect::<Vec<_>>());
}

/// spec: ORC-4
#[test]
fn a_run_that_fails_or_is_cancelled_ends_with_one_error() {
    for outcome in [
        RunOutcome::failed("the model did not answer"),
        RunOutcome::Cancelled {
            reason: "not wanted".into(),
        },
    ] {
        let mut stage = Stage::new(Model::Offline, passing_in_round(1));
        stage.play();
        let frames = stage.frames(outcome);
        keeps_the_rules(&frames);
        assert_eq!(
            frames.last().map(|f| f["type"].clone()),
            Some("error".into())
        );
    }
}

/// spec: ORC-5.1, ORC-9
#[test]
fn the_model_is_told_who_is_here_what_is_wanted_and_how_far_it_is() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(2));
    stage.play();
    let asked = |request: &Request| {
        let messages = request.messages.iter().skip(1);
        messages
            .map(|message| message.parts.clone())
            .collect::<Vec<_>>()
    };
    let last = stage.requests.last().expect("the last question");
    insta::assert_json_snapshot!(asked(last));
    let rules = stage.requests[0].messages[0].text().expect("the rules");
    assert!(rules.starts_with(RULES.trim_end()));
}
