//! Incremental decisions: equal to decisions over the whole run, at constant cost.

use std::collections::VecDeque;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    AnswerForm, AvailableTool, ErrorMode, FIND_AGENTS, Input, Limits, Peer, ToolLoop, Verdict,
};
use crate::{
    budget::Budget,
    effect::{DelegationResult, EffectFailure, ToolOutput},
    event::{RunEvent, RunStarted, StepRequest, StepResult},
    facts::Facts,
    id::{RunId, StepId},
    model::{Completion, PromptMessage, ToolCall, ToolSpec},
    run::{self, Action},
    strategy::{Memory, Strategy},
};

fn tool(name: &str, agent: Option<&str>) -> AvailableTool {
    let peer = |id: &str| Peer {
        id: id.to_owned(),
        skills: vec!["work".to_owned()],
        ..Peer::default()
    };
    AvailableTool {
        needs_approval: false,
        tool: ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            agent: None,
        },
        agent: agent.map(peer),
    }
}

/// The tools, and the result of each question and call.
#[derive(Clone, Debug)]
struct Script {
    /// Calls of each turn: tool and result.
    turns: VecDeque<Vec<(u8, u8)>>,
    /// Number of answers that do not fit the form.
    rejected: u32,
}

/// A run that decides in both ways after each event.
struct Run {
    facts: Facts,
    memory: Memory,
    events: usize,
    /// Lookups of each decision, and the number of events then.
    costs: Vec<(usize, usize)>,
    compares: bool,
}

impl Run {
    fn new(input: &Input, compares: bool) -> Self {
        let mut run = Self {
            facts: Facts::default(),
            memory: Memory::default(),
            events: 0,
            costs: Vec::new(),
            compares,
        };
        run.happens(RunEvent::Started(RunStarted {
            strategy: ToolLoop.name().to_owned(),
            input: json!(input),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 0,
        }));
        run
    }

    fn happens(&mut self, event: RunEvent) {
        self.facts.apply(&event);
        self.events += 1;
    }

    fn decide(&mut self) -> Vec<Action> {
        let id = RunId::new("run");
        let before = self.facts.looks();
        let strategy = (&ToolLoop as &dyn Strategy, &mut self.memory);
        let actions = run::advance(&id, &self.facts, strategy, 0, 16);
        self.costs.push((self.events, self.facts.looks() - before));
        if self.compares {
            let whole = run::next(&id, &self.facts, &ToolLoop, 0, 16);
            assert_eq!(actions, whole, "after {} events", self.events);
        }
        actions
    }

    /// Plays the run to its end.
    fn play(&mut self, mut script: Script) {
        for _ in 0..10_000 {
            for action in self.decide() {
                match action {
                    Action::Look(step, query) => self.look(step, &query, &mut script),
                    Action::Begin(event, _) => self.happens(event),
                    Action::Resume(work) => {
                        let step = work.key.step;
                        let result = self.result(&step, &mut script);
                        self.happens(RunEvent::StepEnded {
                            step,
                            attempt: work.key.attempt,
                            result,
                            spent: None,
                            at_ms: 0,
                        });
                        // One event per decision.
                        break;
                    }
                    Action::Recall(key, _) => self.happens(RunEvent::StepEnded {
                        step: key.step,
                        attempt: key.attempt,
                        result: StepResult::Cancelled,
                        spent: None,
                        at_ms: 0,
                    }),
                    Action::Stop(outcome) => self.happens(RunEvent::Stopping { outcome, at_ms: 0 }),
                    Action::Conclude(_) => return,
                    Action::Note(_) | Action::WakeAt(_) => {}
                }
            }
        }
        panic!("it never ends");
    }

    fn look(&mut self, step: StepId, query: &Value, script: &mut Script) {
        let value = if query.get("answer").is_some() {
            match script.rejected.checked_sub(1) {
                Some(left) => {
                    script.rejected = left;
                    json!(Verdict::Rejected("no".to_owned()))
                }
                None => json!(Verdict::Fits {
                    text: "text".to_owned(),
                    data: json!({}),
                }),
            }
        } else {
            json!([
                tool("own", None),
                tool("peer", Some("b")),
                tool(FIND_AGENTS, None)
            ])
        };
        self.happens(RunEvent::Observed {
            step,
            value: Some(value),
            same_as: None,
            at_ms: 0,
        });
    }

    fn result(&self, step: &StepId, script: &mut Script) -> StepResult {
        let begun = self.facts.record(step).map(|record| record.what.clone());
        match begun {
            Some(StepRequest::ModelAsked { .. }) => {
                let calls = script.turns.pop_front().unwrap_or_default();
                let call = |(number, (which, ends)): (usize, (u8, u8))| ToolCall {
                    id: number.to_string(),
                    name: ["own", "peer", FIND_AGENTS, "unknown"][usize::from(which % 4)]
                        .to_owned(),
                    arguments: json!({"request": "please", "ends": ends}),
                };
                StepResult::ModelAnswered(Completion {
                    text: "answer".to_owned(),
                    tool_calls: calls.into_iter().enumerate().map(call).collect(),
                    usage: None,
                    undone: None,
                    lacks: Vec::new(),
                })
            }
            Some(StepRequest::ToolCalled(call)) => match call.arguments["ends"].as_u64() {
                Some(0) => StepResult::Failed(EffectFailure::lasting("no")),
                _ => StepResult::ToolReturned(ToolOutput {
                    value: json!({"agents": [{"id": "c"}]}),
                    is_error: false,
                }),
            },
            Some(StepRequest::Delegated(sent)) => StepResult::DelegationEnded(DelegationResult {
                agent: sent.handoff.agent.clone(),
                state: if step.as_str().ends_with('2') {
                    "failed"
                } else {
                    "completed"
                }
                .to_owned(),
                text: "done".to_owned(),
                ..DelegationResult::default()
            }),
            other => panic!("{other:?} is not out"),
        }
    }
}

fn input(on_failure: ErrorMode, has_form: bool) -> Input {
    Input {
        instructions: "Work.".to_owned(),
        messages: vec![PromptMessage::user("do it")],
        limits: Limits {
            turns: 1_000,
            tool_calls: 10_000,
            ..Limits::default()
        },
        form: has_form.then(|| AnswerForm {
            name: "report".to_owned(),
            schema: json!({"type": "object"}),
        }),
        on_failure,
        ..Input::default()
    }
}

#[test]
fn a_decision_looks_at_as_much_after_a_thousand_events_as_after_ten() {
    let mut run = Run::new(&input(ErrorMode::Tell, false), false);
    run.play(Script {
        turns: vec![vec![(0, 1), (1, 1)]; 150].into(),
        rejected: 0,
    });
    assert!(run.events > 1_000, "{} events", run.events);
    let most = |from: usize, to: usize| {
        let costs = run
            .costs
            .iter()
            .filter(|(events, _)| (from..to).contains(events));
        costs.map(|(_, cost)| *cost).max().expect("there are some")
    };
    let (early, late) = (most(10, 30), most(1_000, usize::MAX));
    assert!(
        late <= early,
        "{late} after a thousand events, {early} after ten"
    );
    assert!(early < 40, "{early}");
}

proptest! {
    #[test]
    fn a_decision_that_goes_on_is_that_of_the_whole_run(
        turns in prop::collection::vec(prop::collection::vec((any::<u8>(), 0_u8..3), 0..4), 0..8),
        rejected in 0_u32..4,
        has_form: bool,
        mode in 0_u8..3,
    ) {
        let mode = [ErrorMode::Tell, ErrorMode::FailFast, ErrorMode::Continue][usize::from(mode)];
        let script = Script { turns: turns.into(), rejected };
        Run::new(&input(mode, has_form), true).play(script);
    }
}
