//! App runs with plain values: a model that says what it is told to, or the offline one, and agents that are functions.

use std::collections::VecDeque;

use agenthub_sdk::{
    model::{Completion, DeltaSink, LanguageModel, Offline, Request},
    runs::{
        Begun, Budget, Decision, Handoff, RunEvent, RunId, Spent, Started,
        journal::Entry,
        run::{self, Action as RunAction, Outgoing},
    },
};

use super::*;
use crate::{
    frame,
    orchestrator::kept::Offered,
    runs::{Brief, Constraints, Frames},
};

type Agents = Box<dyn FnMut(&Handoff) -> Delegated>;

/// Who decides.
enum Model {
    Says(VecDeque<String>),
    Offline,
}

/// A run and all that it meets.
struct Stage {
    brief: Brief,
    seen: Seen,
    model: Model,
    agents: Agents,
    decision: Decision,
    budget: Budget,
    requests: Vec<Request>,
    handoffs: Vec<Handoff>,
    events: Vec<RunEvent>,
}

fn offer(agent: &str, capability: &str, phase: &str, input: Value, output: Value) -> Offered {
    Offered {
        offer: Offer {
            agent: agent.into(),
            capability: capability.into(),
            input: Some(input),
            output: Some(output),
            phase: phase.into(),
        },
        ..Offered::default()
    }
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// A maker and a checker; what they are about does not matter.
fn two() -> Vec<Offered> {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let made = object(json!({"text": text}), json!(["text"]));
    let input = object(
        json!({"brief": text, "size": text, "revisionNotes": texts, "previousThing": made}),
        json!(["brief"]),
    );
    let output = object(json!({"thing": made}), json!(["thing"]));
    let review = object(
        json!({"score": {"type": "number"}, "pass": {"type": "boolean"}, "issues": texts}),
        json!(["score", "pass", "issues"]),
    );
    let looks_at = object(
        json!({"thing": made, "acceptanceCriteria": {"type": "array"}, "qualityThreshold": {"type": "number"}}),
        json!(["thing"]),
    );
    vec![
        offer("maker", "make", "generation", input, output),
        offer(
            "checker",
            "check",
            "qa",
            looks_at,
            object(json!({"qa": review}), json!(["qa"])),
        ),
    ]
}

fn completed(agent: &str, data: Value) -> Delegated {
    Delegated {
        agent: agent.into(),
        state: "completed".into(),
        data: vec![data],
        ..Delegated::default()
    }
}

/// Makes things, and lets pass whatever was made in this round or a later one.
fn passing_in_round(round: usize) -> Agents {
    let mut made = 0;
    Box::new(move |handoff| match &*handoff.capability {
        "make" => {
            made += 1;
            completed("maker", json!({"thing": {"text": format!("thing {made}")}}))
        }
        _ => {
            let pass = made >= round;
            let score = if pass { 0.9 } else { 0.3 + 0.1 * made as f64 };
            let issues = if pass {
                json!([])
            } else {
                json!(["too plain"])
            };
            let checks = json!([{"criterion": "is a thing", "verdict": if pass { "pass" } else { "fail" }, "evidence": "seen"}]);
            completed(
                "checker",
                json!({"qa": {"pass": pass, "score": score, "issues": issues, "checks": checks}}),
            )
        }
    })
}

impl Stage {
    fn new(model: Model, agents: Agents) -> Self {
        Self {
            brief: Brief {
                objective: "Make a thing".into(),
                constraints: Constraints {
                    acceptance_criteria: vec!["is a thing".into()],
                    ..Constraints::default()
                },
                ..Brief::default()
            },
            seen: Seen {
                offers: two(),
                ..Seen::default()
            },
            model,
            agents,
            decision: Decision {
                approved: true,
                by: "ann".into(),
                comment: String::new(),
            },
            budget: Budget::default(),
            requests: Vec::new(),
            handoffs: Vec::new(),
            events: Vec::new(),
        }
    }

    fn says<const N: usize>(answers: [Value; N], agents: Agents) -> Self {
        Self::new(
            Model::Says(answers.iter().map(Value::to_string).collect()),
            agents,
        )
    }

    /// Plays it to the end. After each event the run is folded anew, as if it had been taken up.
    fn play(&mut self) -> RunOutcome {
        let run = RunId::new("run-1");
        let input = Input {
            brief: self.brief.clone(),
            run: run.to_string(),
            handoff_ms: 60_000,
            ..Input::default()
        };
        let mut events = vec![RunEvent::Started(Started {
            strategy: Orchestrator::NAME.into(),
            input: json!(input),
            origin: Value::Null,
            budget: self.budget,
            deadline_ms: None,
            thread: "t".into(),
            at_ms: 0,
        })];
        for at_ms in 1..2_000 {
            let actions = run::next(&run, &Facts::of(&events), &Orchestrator, at_ms, 16);
            for action in actions {
                match action {
                    RunAction::Look(step, _) => events.push(RunEvent::Observed {
                        step,
                        value: Some(json!(self.seen)),
                        same_as: None,
                        at_ms,
                    }),
                    RunAction::Note(noted) => events.push(noted),
                    RunAction::Begin(begun, work) => {
                        let result = self.result(&work.what);
                        events.push(begun);
                        for value in self.shown(&work.what) {
                            let (step, attempt) = (work.key.step.clone(), work.key.attempt);
                            events.push(RunEvent::Progressed {
                                step,
                                attempt,
                                value,
                                at_ms,
                            });
                        }
                        events.push(RunEvent::StepEnded {
                            step: work.key.step,
                            attempt: work.key.attempt,
                            result,
                            spent: None,
                            at_ms,
                        });
                    }
                    RunAction::Stop(outcome) => {
                        self.events = events;
                        return outcome;
                    }
                    RunAction::WakeAt(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        panic!("the run does not end");
    }

    /// What agents show, as the world writes it down.
    fn shown(&self, what: &Outgoing) -> Vec<Value> {
        let Outgoing::Delegate(sent) = what else {
            return Vec::new();
        };
        let to = &sent.handoff.agent;
        let occurred = json!({"type": "handoff", "message": "occurred", "data": {"from": "cortex", "to": to, "taskId": "t"}});
        let called = json!({"type": "tool_call", "message": "look_up", "data": {"args": {"q": 1}, "agent": to}});
        let came = json!({"type": "tool_result", "message": "look_up", "data": {"result": 2, "agent": to}});
        let delta = json!({"type": "delta", "message": "thi"});
        vec![occurred, called, came, delta]
    }

    /// The frames of the run that was played, ended so.
    fn frames(&self, outcome: RunOutcome) -> Vec<Value> {
        let ended = RunEvent::Ended {
            outcome,
            spent: Spent {
                tokens: 7,
                calls: 3,
                cost_micros: 0,
            },
            at_ms: 99,
        };
        let mut frames = Frames::new("run-1", "t", "cortex");
        let events = self.events.iter().chain([&ended]).cloned();
        let entries = events.zip(1..).map(|(event, seq)| Entry { seq, event });
        let shown: Vec<_> = entries.flat_map(|entry| frames.of(&entry)).collect();
        shown.iter().map(frame::metadata).collect()
    }

    fn result(&mut self, what: &Outgoing) -> StepResult {
        match what {
            Outgoing::Ask(request) => {
                self.requests.push((**request).clone());
                let text = match &mut self.model {
                    Model::Says(answers) => answers.pop_front().expect("another answer"),
                    Model::Offline => {
                        let runtime = tokio::runtime::Builder::new_current_thread().build();
                        let answer = Offline.complete((**request).clone(), DeltaSink::ignored());
                        let answer = runtime.expect("a runtime").block_on(answer);
                        answer.expect("the stand-in answers").text
                    }
                };
                StepResult::ModelAnswered(Completion {
                    text,
                    ..Completion::default()
                })
            }
            Outgoing::Delegate(sent) => {
                self.handoffs.push(sent.handoff.clone());
                StepResult::DelegationEnded((self.agents)(&sent.handoff))
            }
            Outgoing::Approve(_) => StepResult::Decided(self.decision.clone()),
            Outgoing::Wait(_) => StepResult::Woke,
            other => panic!("{other:?}"),
        }
    }

    fn bundle(&mut self) -> Value {
        match self.play() {
            RunOutcome::Completed { data, .. } => data["bundle"].clone(),
            other => panic!("{other:?}"),
        }
    }

    /// What was noted, as type and message.
    fn noted(&self, kind: &str) -> Vec<String> {
        let notes = self.events.iter().filter_map(|event| match event {
            RunEvent::Noted { value, .. } if value["type"] == kind => Some(value),
            _ => None,
        });
        notes
            .map(|value| value["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

fn plan(steps: Value, result: Value) -> Value {
    let mut patch: Vec<Value> = steps
        .as_object()
        .expect("steps")
        .iter()
        .map(|(name, step)| json!({"op": "add", "path": format!("/steps/{name}"), "value": step}))
        .collect();
    patch.push(json!({"op": "replace", "path": "/result", "value": result}));
    json!({"action": "plan_update", "planPatch": patch})
}

fn make_and_check() -> Value {
    plan(
        json!({
            "thing": {"capability": "make", "payload": {"brief": "${objective}"}},
            "review": {"capability": "check", "payload": {"thing": "${thing.output.thing}"}},
        }),
        json!({"thing": "${thing.output.thing}"}),
    )
}

fn handoff(to: &str, capability: &str) -> Value {
    json!({"action": "handoff", "to": to, "capabilityId": capability, "payload": {}})
}

fn the_end() -> Value {
    json!({"action": "final", "bundle": {"artifacts": {}, "summary": "made and checked"}})
}

/// spec: ORC-2.1, ORC-5.1, ORC-10
#[test]
fn a_plan_is_made_carried_out_and_put_together_to_a_bundle() {
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], json!({"thing": {"text": "thing 1"}}));
    assert_eq!(bundle["quality"]["score"], 0.9);
    assert_eq!(bundle["quality"]["met"], true);
    assert_eq!(
        bundle["acceptance-report"],
        json!([{"criterion": "is a thing", "verdict": "pass", "evidence": "seen", "by": "checker"}])
    );
    let keys: Vec<&String> = bundle.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["result", "quality", "acceptance-report"]);
    assert_eq!(stage.handoffs[0].text, "Make a thing");
    assert_eq!(
        stage.handoffs[0].payload,
        Some(json!({"brief": "Make a thing"}))
    );
    assert_eq!(
        stage.handoffs[1].payload,
        Some(json!({"thing": {"text": "thing 1"}}))
    );
    assert_eq!(stage.noted("phase").len(), 4);
    assert_eq!(stage.noted("warning"), [""; 0]);
}

/// spec: ORC-11.1
#[test]
fn offline_the_first_that_passes_is_the_result() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1", "{bundle:#}");
    assert_eq!(bundle["quality"]["depth"], 1);
    assert_eq!(stage.handoffs.len(), 2);
}

/// spec: ORC-11.2
#[test]
fn offline_what_does_not_pass_is_made_again_with_what_was_found() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(2));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 2", "{bundle:#}");
    assert_eq!(bundle["quality"]["depth"], 2);
    assert_eq!(bundle["quality"]["met"], true);
    let again = stage.handoffs[2].payload.as_ref().expect("a payload");
    assert_eq!(again["revisionNotes"], json!(["too plain"]));
    assert_eq!(again["previousThing"], json!({"text": "thing 1"}));
}

/// spec: ORC-11.3
#[test]
fn at_the_execution_depth_the_best_there_is_is_the_result() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(9));
    stage.brief.constraints.execution_depth = Some(2);
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 2");
    assert_eq!(bundle["quality"]["met"], false);
    assert_eq!(bundle["quality"]["depth"], 2);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .expect("it says why");
    assert!(why.contains("0.50") && why.contains("2 rounds"), "{why}");
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "fail");
}

/// spec: ORC-2.1, ORC-3
#[test]
fn code_enforces_the_depth_whatever_the_model_wants() {
    let again = plan(
        json!({"more": {"capability": "make", "payload": {"brief": "more"}}}),
        json!({"thing": "${thing.output.thing}"}),
    );
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        again,
        handoff("maker", "make"),
        handoff("maker", "make"),
        handoff("maker", "make"),
    ];
    let mut stage = Stage::says(answers, passing_in_round(9));
    stage.brief.constraints.execution_depth = Some(1);
    let bundle = stage.bundle();
    assert_eq!(stage.handoffs.len(), 2);
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    let told = stage
        .requests
        .last()
        .and_then(|r| r.data("rejected"))
        .expect("a reason");
    assert!(
        told["reason"]
            .as_str()
            .is_some_and(|r| r.contains("execution depth of 1")),
        "{told}"
    );
}

/// spec: ORC-5.1
#[test]
fn a_run_does_not_end_below_the_threshold_while_another_round_is_allowed() {
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        the_end(),
        handoff("checker", "check"),
        the_end(),
        the_end(),
        the_end(),
    ];
    let mut stage = Stage::says(answers, passing_in_round(9));
    let bundle = stage.bundle();
    let warnings = stage.noted("warning");
    assert!(warnings[0].contains("nothing was reviewed"), "{warnings:?}");
    assert!(warnings[1].contains("below 0.7"), "{warnings:?}");
    // Asked three times, it insists: the run ends with what there is, and says why.
    assert_eq!(bundle["quality"]["met"], false);
    assert!(
        bundle["quality"]["explanation"]
            .as_str()
            .is_some_and(|why| why.contains("plan another round"))
    );
    assert_eq!(bundle["quality"]["summary"], "made and checked");
}

/// spec: ORC-9
#[test]
fn what_breaks_the_schema_is_asked_again_twice_then_the_run_ends_with_an_explanation() {
    let mut stage = Stage::says(
        [
            json!("no"),
            json!({"action": "write"}),
            json!({"action": "final"}),
        ],
        passing_in_round(1),
    );
    let bundle = stage.bundle();
    assert_eq!(stage.requests.len(), 3);
    assert_eq!(bundle["result"], Value::Null);
    let why = bundle["quality"]["explanation"]
        .as_str()
        .expect("it says why");
    assert!(
        why.contains("nothing that is allowed") && why.contains("bundle"),
        "{why}"
    );
    let reasons: Vec<&Value> = stage.requests[1..]
        .iter()
        .map(|r| &r.data("rejected").expect("a reason")["reason"])
        .collect();
    assert!(
        reasons[0]
            .as_str()
            .is_some_and(|r| r.contains("no JSON object")),
        "{reasons:?}"
    );
    assert!(
        reasons[1].as_str().is_some_and(|r| r.contains("/action")),
        "{reasons:?}"
    );
}

/// spec: ORC-5.1, ORC-10
#[test]
fn the_orchestrator_writes_no_part_of_the_result() {
    let mut own = the_end();
    own["bundle"]["artifacts"] = json!({"thing": {"text": "I made this myself"}});
    let answers = [
        make_and_check(),
        handoff("maker", "make"),
        handoff("checker", "check"),
        own.clone(),
        own.clone(),
        own,
    ];
    let mut stage = Stage::says(answers, passing_in_round(1));
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], json!({"thing": {"text": "thing 1"}}));
    assert!(
        stage
            .noted("warning")
            .iter()
            .all(|w| w.contains("you write no part of the result"))
    );
}

/// spec: ORC-11.4, ORC-9
#[test]
fn without_the_capability_the_plan_does_without_or_the_run_says_so() {
    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.seen.offers.retain(|o| o.offer.capability == "make");
    let bundle = stage.bundle();
    assert_eq!(bundle["result"]["thing"]["text"], "thing 1");
    assert_eq!(bundle["acceptance-report"][0]["verdict"], "not_checked");
    assert_eq!(stage.noted("warning"), ["nothing was reviewed"]);

    let mut stage = Stage::new(Model::Offline, passing_in_round(1));
    stage.seen.offers.clear();
    let bundle = stage.bundle();
    assert_eq!(bundle["result"], Value::Null);
    assert!(
        bundle["quality"]["summary"]
            .as_str()
            .is_some_and(|s| s.contains("no agent here offers")),
        "{bundle:#}"
    );
    assert_eq!(
        stage.noted("warning"),
        ["no specialist made anything", "nothing was reviewed"]
    );
}

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
                ("make", agent) if agent == who => Delegated {
                    agent: agent.into(),
                    state: "failed".into(),
                    error: "out of ideas".into(),
                    ..Delegated::default()
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
            what: Begun::ApprovalAsked(approval),
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

/// What holds of every stream of frames.
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
