//! Steps: outputs that do not fit, failures, approvals, choice, and what goes with them.

use agenthub_sdk::runs::{DelegationResult, Facts, RunEvent, RunOutcome, StepRequest};
use serde_json::{Value, json};

use super::stage::*;
use crate::orchestrator::{prompt::RULES, reached};

/// spec: ORC-9
#[test]
fn a_wrong_output_goes_back_to_the_specialist_once() {
    let mut tries = 0;
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" => {
            tries += 1;
            match tries {
                1 => completed("maker", json!({"think": 1})),
                _ => completed("maker", json!({"thing": {"text": "right"}})),
            }
        }
        _ => completed(
            "checker",
            json!({"qa": {"pass": true, "score": 0.8, "issues": []}}),
        ),
    });
    let mut stage = Stage::new(Model::Offline, agents);
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "right");
    assert_eq!(stage.handoffs.len(), 3);
    assert_eq!(stage.handoffs[0].payload, stage.handoffs[1].payload);
    assert!(
        stage.handoffs[1]
            .text
            .starts_with("Make a thing\n\nYour last output could not be used: ")
    );

    let mut stage = Stage::new(
        Model::Offline,
        Box::new(|_| completed("maker", json!({"think": 1}))),
    );
    let bundle = stage.bundle();
    assert_eq!(stage.handoffs.len(), 2);
    assert!(
        stage.noted("warning")[0].contains("wrong output twice"),
        "{:?}",
        stage.noted("warning")
    );
    assert_eq!(bundle["quality"]["met"], false);
}

/// spec: ORC-9, ORC-12.1
#[test]
fn among_several_the_first_whose_contract_fits_gets_it() {
    let answers = [
        make_and_check(),
        handoff("", "make"),
        handoff("checker", "check"),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let mut picky = stage.seen.offers[0].clone();
    picky.offer.agent = "picky".into();
    picky.offer.input.as_mut().expect("a schema")["required"] = json!(["brief", "size"]);
    stage.seen.offers.insert(0, picky);
    stage.bundle();
    assert_eq!(stage.handoffs[0].agent, "maker");
}

/// spec: ORC-9
#[test]
fn failed_steps_are_tried_again_handed_to_others_or_left_out_as_the_plan_says() {
    let failing = |who: &'static str| -> Agents {
        Box::new(
            move |handoff| match (&*handoff.capability, &*handoff.agent) {
                ("make", agent) if agent == who => DelegationResult {
                    agent: agent.into(),
                    state: "failed".into(),
                    error: "out of ideas".into(),
                    ..DelegationResult::default()
                },
                ("make", agent) => completed(agent, json!({"thing": {"text": agent}})),
                _ => completed(
                    "checker",
                    json!({"qa": {"pass": true, "score": 1.0, "issues": []}}),
                ),
            },
        )
    };
    let with = |extra: Value| {
        let mut step = json!({"capability": "make", "agent": "maker", "payload": {"brief": "b"}});
        step.as_object_mut()
            .expect("a step")
            .extend(extra.as_object().cloned().unwrap_or_default());
        plan(
            json!({ "thing": step }),
            json!({"thing": "${thing.output.thing}"}),
        )
    };
    let two_makers = || {
        let mut offers = two();
        let mut other = offers[0].clone();
        other.offer.agent = "other".into();
        offers.push(other);
        offers
    };
    let play = |extra: Value| {
        let answers = [
            with(extra),
            handoff("maker", "make"),
            the_end(),
            the_end(),
            the_end(),
        ];
        let mut stage = Stage::says(answers, failing("maker"));
        stage.seen.offers = two_makers();
        let bundle = stage.bundle();
        let agents: Vec<String> = stage.handoffs.iter().map(|h| h.agent.clone()).collect();
        (bundle, agents, stage.noted("warning"))
    };
    let (_, agents, warnings) = play(json!({"retry": {"attempts": 3, "pauseMs": 5}}));
    assert_eq!(agents, ["maker", "maker", "maker"]);
    assert!(warnings[0].contains("out of ideas"), "{warnings:?}");
    let (bundle, agents, _) = play(json!({"recovery": {"kind": "fallback", "agent": "other"}}));
    assert_eq!(agents, ["maker", "other"]);
    assert_eq!(bundle["result"]["thing"]["text"], "other");
    let (bundle, _, _) = play(json!({"recovery": {"kind": "skip"}}));
    assert_eq!(bundle["result"], Value::Null);
}

/// spec: ORC-12.3
#[test]
fn a_step_that_needs_a_yes_goes_out_only_with_it() {
    let approved = |approved: bool| {
        let mut stage = Stage::new(Model::Offline, passing_in_round(1));
        stage.brief.constraints.approvals = vec!["make".into()];
        stage.decision.approved = approved;
        stage.decision.comment = "not today".into();
        let bundle = stage.bundle();
        (bundle, stage)
    };
    let (bundle, stage) = approved(true);
    assert_eq!(bundle["quality"]["met"], true);
    let asked = stage.events.iter().find_map(|event| match event {
        RunEvent::StepBegun {
            what: StepRequest::ApprovalAsked(approval),
            ..
        } => Some(approval),
        _ => None,
    });
    let asked = asked.expect("a person is asked");
    assert_eq!(asked.subject, "make");
    assert_eq!(asked.arguments, json!({"brief": "Make a thing"}));
    let (bundle, stage) = approved(false);
    assert!(stage.handoffs.is_empty());
    assert_eq!(bundle["result"], Value::Null);
    assert!(
        stage.noted("warning")[0].contains("ann did not allow it: not today"),
        "{:?}",
        stage.noted("warning")
    );
    let why = bundle["quality"]["explanation"].as_str();
    let why = why.expect("it says why");
    assert!(
        why.starts_with("a person refused step make: ann did not allow it: not today"),
        "{why}"
    );
    let summary = bundle["quality"]["summary"].as_str().expect("a summary");
    assert!(!summary.contains("AGENTHUB_MODEL"), "{summary}");
}

/// spec: ORC-3
#[test]
fn the_turns_are_bounded() {
    let idle = || plan(json!({}), json!({}));
    let mut stage = Stage::says([idle(), idle()], passing_in_round(1));
    stage.brief.constraints.max_turns = Some(2);
    let bundle = stage.bundle();
    assert_eq!(stage.requests.len(), 2);
    assert!(
        bundle["quality"]["explanation"]
            .as_str()
            .is_some_and(|why| why.contains("2 turns")),
        "{bundle:#}"
    );
}

/// spec: ORC-4
#[test]
fn nothing_that_the_orchestrator_is_told_reaches_a_specialist() {
    let rules = RULES.lines().next().expect("rules").to_owned();
    let mut leak = handoff("maker", "make");
    leak["payload"] = json!({"brief": format!("Note: {rules}")});
    let answers = [
        make_and_check(),
        leak,
        handoff("maker", "make"),
        handoff("checker", "check"),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    stage.bundle();
    let told = stage.requests[0].messages[0]
        .text()
        .expect("the instructions");
    let mark = told.split_whitespace().last().expect("the mark").to_owned();
    assert!(mark.starts_with("cortex-"));
    for handoff in &stage.handoffs {
        let sent = json!(handoff).to_string();
        assert!(!sent.contains(&mark) && !sent.contains(&rules), "{sent}");
    }
    assert!(stage.noted("warning")[0].contains("repeats what you were told"));
}

/// spec: ORC-3, ORC-11.5
#[test]
fn a_run_goes_on_from_where_another_one_stood() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(2));
    stage.brief.constraints.execution_depth = Some(1);
    assert_eq!(stage.bundle()["quality"]["met"], false);
    let stood = reached(&Facts::of(&stage.events));
    assert_eq!(stood.outputs["make"]["thing"]["text"], "thing 1");

    let mut next = Stage::new(Model::Offline, passing_in_round(1));
    next.brief.constraints.execution_depth = Some(2);
    next.seen.reached = Some(stood);
    let bundle = next.bundle();
    assert_eq!(bundle["quality"]["met"], true);
    assert_eq!(bundle["quality"]["depth"], 2);
    let made: Vec<&str> = next.handoffs.iter().map(|h| &*h.capability).collect();
    assert_eq!(made, ["make", "check"]);
    assert_eq!(
        next.handoffs[0].payload.as_ref().expect("a payload")["revisionNotes"],
        json!(["too plain"])
    );
}

/// spec: ORC-12.2
#[test]
fn earlier_results_reach_specialists_and_the_run_leaves_its_own() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    let numbers = json!({"type": "array"});
    stage.seen.offers[0].offer.input.as_mut().expect("a schema")["properties"]["priorPerformance"] =
        numbers;
    stage
        .brief
        .payload
        .insert("priorPerformance".into(), json!([{"knobs": {"a": 0.1}}]));
    stage.seen.performance = vec![json!({"knobs": {"a": 0.9}, "metrics": {"qualityScore": 0.8}})];
    stage.agents = Box::new(|handoff| match &*handoff.capability {
        "make" => completed(
            "maker",
            json!({"thing": {"text": "t"}, "knobs": {"a": 0.4}}),
        ),
        _ => completed(
            "checker",
            json!({"qa": {"pass": true, "score": 0.8, "issues": []}}),
        ),
    });
    let RunOutcome::Completed { data, .. } = stage.play() else {
        panic!("it completes")
    };
    let given = stage.handoffs[0].payload.as_ref().expect("a payload");
    assert_eq!(given["priorPerformance"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        data["learned"],
        json!({"knobs": {"a": 0.4}, "metrics": {"qualityScore": 0.8}})
    );
}

/// spec: ORC-12.3
#[test]
fn a_yes_for_one_agent_is_none_for_the_one_who_does_it_instead() {
    let mut step = json!({"capability": "make", "agent": "maker", "payload": {"brief": "b"}});
    step["recovery"] = json!({"kind": "fallback", "agent": "other"});
    step["approval"] = true.into();
    let answers = [
        plan(
            json!({ "thing": step }),
            json!({"thing": "${thing.output.thing}"}),
        ),
        handoff("maker", "make"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let agents: Agents = Box::new(|handoff| match &*handoff.agent {
        "maker" => DelegationResult {
            agent: "maker".into(),
            state: "failed".into(),
            ..DelegationResult::default()
        },
        other => completed(other, json!({"thing": {"text": other}})),
    });
    let mut stage = Stage::says(answers, agents);
    let mut other = stage.seen.offers[0].clone();
    other.offer.agent = "other".into();
    stage.seen.offers.push(other);
    stage.bundle();
    let asked = stage.events.iter().filter_map(|event| match event {
        RunEvent::StepBegun {
            what: StepRequest::ApprovalAsked(approval),
            ..
        } => Some(&*approval.agent),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["maker", "other"]);
}

/// spec: ORC-3, ORC-11.5
#[test]
fn a_round_that_did_not_come_about_is_not_lost_to_who_goes_on() {
    let mut made = 0;
    let agents: Agents = Box::new(move |handoff| match &*handoff.capability {
        "make" if made == 1 => DelegationResult {
            agent: "maker".into(),
            state: "lost".into(),
            ..DelegationResult::default()
        },
        "make" => {
            made += 1;
            completed("maker", json!({"thing": {"text": "thing 1"}}))
        }
        _ => completed(
            "checker",
            json!({"qa": {"pass": false, "score": 0.2, "issues": ["too plain"]}}),
        ),
    });
    let mut stage = Stage::new(Model::Offline, agents);
    stage.brief.constraints.execution_depth = Some(2);
    stage.bundle();
    let stood = reached(&Facts::of(&stage.events));
    assert_eq!(stood.depth, 2);

    let mut next = Stage::new(Model::Offline, passing_in_round(1));
    next.brief.constraints.execution_depth = Some(2);
    next.seen.reached = Some(stood);
    let bundle = next.bundle();
    assert_eq!(bundle["quality"]["met"], true, "{bundle:#}");
    assert_eq!(bundle["quality"]["depth"], 2);
}
