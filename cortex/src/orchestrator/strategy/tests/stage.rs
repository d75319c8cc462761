//! A run and all that it meets, played to its end.

use std::collections::VecDeque;

use agenthub_sdk::{
    model::{Completion, DeltaSink, LanguageModel, Offline, Request},
    runs::{
        Budget, Decision, DelegationResult, EffectFailure, Facts, Handoff, Memory, RunEvent, RunId,
        RunOutcome, RunStarted, Spent, StepResult, Strategy,
        journal::Entry,
        plan::Offer,
        run::{self, Action, Outgoing},
    },
};
use serde_json::{Value, json};

use crate::{
    brief::{Brief, Constraints},
    frame,
    frames::Frames,
    orchestrator::{
        Input, Orchestrator,
        kept::{Offered, PlanningContext},
    },
};

use super::PLAYED;

pub(super) type Agents = Box<dyn FnMut(&Handoff) -> DelegationResult>;

/// The model of these tests.
pub(super) enum Model {
    Says(VecDeque<String>),
    Offline,
}

/// A run and all that it meets.
pub(super) struct Stage {
    pub(super) brief: Brief,
    pub(super) seen: PlanningContext,
    pub(super) model: Model,
    pub(super) agents: Agents,
    pub(super) decision: Decision,
    pub(super) budget: Budget,
    pub(super) requests: Vec<Request>,
    pub(super) handoffs: Vec<Handoff>,
    pub(super) events: Vec<RunEvent>,
}

pub(super) fn offer(
    agent: &str,
    capability: &str,
    phase: &str,
    input: Value,
    output: Value,
) -> Offered {
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

pub(super) fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// A maker and a checker; what they are about does not matter.
pub(super) fn two() -> Vec<Offered> {
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

pub(super) fn completed(agent: &str, data: Value) -> DelegationResult {
    DelegationResult {
        agent: agent.into(),
        state: "completed".into(),
        data: vec![data],
        ..DelegationResult::default()
    }
}

/// Makes things, and lets pass whatever was made in this round or a later one.
pub(super) fn passing_in_round(round: usize) -> Agents {
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
    pub(super) fn new(model: Model, agents: Agents) -> Self {
        Self {
            brief: Brief {
                objective: "Make a thing".into(),
                constraints: Constraints {
                    acceptance_criteria: vec!["is a thing".into()],
                    ..Constraints::default()
                },
                ..Brief::default()
            },
            seen: PlanningContext {
                offers: two(),
                ..PlanningContext::default()
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

    pub(super) fn says<const N: usize>(answers: [Value; N], agents: Agents) -> Self {
        Self::new(
            Model::Says(answers.iter().map(Value::to_string).collect()),
            agents,
        )
    }

    /// Plays it to the end. After each event the run is folded anew, as if it had been taken up, and gone on with; both decide the same.
    pub(super) fn play(&mut self) -> RunOutcome {
        let run = RunId::new("run-1");
        let input = Input {
            brief: self.brief.clone(),
            run: run.to_string(),
            handoff_ms: 60_000,
            ..Input::default()
        };
        let mut events = vec![RunEvent::Started(RunStarted {
            strategy: Orchestrator::NAME.into(),
            input: json!(input),
            origin: Value::Null,
            budget: self.budget,
            deadline_ms: None,
            thread: "t".into(),
            at_ms: 0,
        })];
        let mut memory = Memory::default();
        for at_ms in 1..2_000 {
            let facts = Facts::of(&events);
            let actions = run::next(&run, &facts, &Orchestrator, at_ms, 16);
            let before = PLAYED.get();
            let going_on = (&Orchestrator as &dyn Strategy, &mut memory);
            let going_on = run::advance(&run, &facts, going_on, at_ms, 16);
            assert_eq!(going_on, actions, "whoever has decided before");
            let played = PLAYED.get() - before;
            // What is cut short is looked at as a whole, once.
            let is_over = matches!(actions[..], [Action::Stop(_)]);
            assert!(
                played <= 2 || is_over,
                "{played} turns after {} events",
                events.len()
            );
            for action in actions {
                match action {
                    Action::Look(step, _) => events.push(RunEvent::Observed {
                        step,
                        value: Some(json!(self.seen)),
                        same_as: None,
                        at_ms,
                    }),
                    Action::Note(noted) => events.push(noted),
                    Action::Begin(begun, work) => {
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
                    Action::Stop(outcome) => {
                        self.events = events;
                        return outcome;
                    }
                    Action::WakeAt(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        panic!("the run does not end");
    }

    /// Frames of agents, as the world writes them down.
    pub(super) fn shown(&self, what: &Outgoing) -> Vec<Value> {
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
    pub(super) fn frames(&self, outcome: RunOutcome) -> Vec<Value> {
        let ended = RunEvent::Ended {
            outcome,
            spent: Spent {
                tokens: 7,
                calls: 3,
                cost_micros: 0,
                is_estimated: false,
            },
            at_ms: 99,
        };
        let mut frames = Frames::new("run-1", "t", "cortex");
        let events = self.events.iter().chain([&ended]).cloned();
        let entries = events.zip(1..).map(|(event, seq)| Entry { seq, event });
        let shown: Vec<_> = entries.flat_map(|entry| frames.of(&entry)).collect();
        shown.iter().map(frame::metadata).collect()
    }

    pub(super) fn result(&mut self, what: &Outgoing) -> StepResult {
        match what {
            Outgoing::Ask(request) => {
                self.requests.push((**request).clone());
                let text = match &mut self.model {
                    Model::Says(answers) => match answers.pop_front() {
                        Some(answer) => answer,
                        None => {
                            return StepResult::Failed(EffectFailure::lasting("out of answers"));
                        }
                    },
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

    pub(super) fn bundle(&mut self) -> Value {
        match self.play() {
            RunOutcome::Completed { data, .. } => data["bundle"].clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The notes, as type and message.
    pub(super) fn noted(&self, kind: &str) -> Vec<String> {
        let notes = self.events.iter().filter_map(|event| match event {
            RunEvent::Noted { value, .. } if value["type"] == kind => Some(value),
            _ => None,
        });
        notes
            .map(|value| value["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

pub(super) fn plan(steps: Value, result: Value) -> Value {
    let mut patch: Vec<Value> = steps
        .as_object()
        .expect("steps")
        .iter()
        .map(|(name, step)| json!({"op": "add", "path": format!("/steps/{name}"), "value": step}))
        .collect();
    patch.push(json!({"op": "replace", "path": "/result", "value": result}));
    json!({"action": "plan_update", "planPatch": patch})
}

pub(super) fn make_and_check() -> Value {
    plan(
        json!({
            "thing": {"capability": "make", "payload": {"brief": "${objective}"}},
            "review": {"capability": "check", "payload": {"thing": "${thing.output.thing}", "acceptanceCriteria": "${input.acceptanceCriteria}"}},
        }),
        json!({"thing": "${thing.output.thing}"}),
    )
}

pub(super) fn handoff(to: &str, capability: &str) -> Value {
    json!({"action": "handoff", "to": to, "capabilityId": capability, "payload": {}})
}

pub(super) fn the_end() -> Value {
    json!({"action": "final", "bundle": {"artifacts": {}, "summary": "made and checked"}})
}
