//! The tool loop, turn by turn: a scripted model, and tools that answer at once.

use agenthub_runs::{
    Budget, DelegationResult, Effect, EffectFailure, Next, RunEvent, RunOutcome, RunStarted,
    StepRequest, StepResult, Strategy, ToolOutput,
    model::{Completion, PromptMessage, PromptPart, PromptRole, ToolCall, ToolSpec},
    tool_loop::{AvailableTool, FIND_AGENTS, Input, Limits, Peer, ToolLoop},
};
use serde_json::{Value, json};

use crate::support::{begins, simulation::Simulation};

/// Model answers, actions and outcome of a played run.
#[derive(Default)]
struct PlayedRun {
    /// Dispatched calls of tools and agents.
    went_out: Vec<String>,
    /// The final result of each call, as the model sees it.
    results: Vec<Value>,
    /// The last question.
    asked: Vec<PromptMessage>,
    tools: Vec<String>,
    ended: Option<RunOutcome>,
}

struct Case {
    limits: Limits,
    budget: Budget,
    /// Results of calls, by tool; agents by their id.
    answers: fn(&StepRequest) -> Option<StepResult>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            budget: Budget::default(),
            answers: |_| None,
        }
    }
}

impl Case {
    /// Plays the turns of this model to the end.
    fn play(&self, turns: Vec<Result<Completion, EffectFailure>>) -> PlayedRun {
        let input = Input {
            instructions: "Help.".into(),
            messages: vec![PromptMessage::user("what?")],
            limits: self.limits,
            ..Input::default()
        };
        let mut run = Simulation::new(RunStarted {
            budget: self.budget,
            ..begins("tool_loop", json!(input))
        });
        run.looks = offered();
        let mut told = PlayedRun::default();
        let mut turns = turns.into_iter();
        loop {
            run.settle(&ToolLoop);
            if let Some(outcome) = run.ended() {
                told.ended = Some(outcome.clone());
                return told;
            }
            self.ask(&run, &mut told);
            let out: Vec<RunEvent> = run.out().into_iter().cloned().collect();
            for event in out {
                let RunEvent::StepBegun { step, what, .. } = event else {
                    unreachable!("only those are out");
                };
                let result = match &what {
                    StepRequest::ModelAsked { .. } => {
                        match turns.next().expect("the script goes on") {
                            Ok(answer) => StepResult::ModelAnswered(answer),
                            Err(failure) => StepResult::Failed(failure),
                        }
                    }
                    StepRequest::ToolCalled(call) => {
                        told.went_out.push(call.name.clone());
                        let done = StepResult::ToolReturned(format!("{} did it", call.name).into());
                        (self.answers)(&what).unwrap_or(done)
                    }
                    StepRequest::Delegated(sent) => {
                        let handoff = &sent.handoff;
                        told.went_out
                            .push(format!("{} for {}", handoff.agent, handoff.capability));
                        let done = StepResult::DelegationEnded(DelegationResult {
                            agent: handoff.agent.clone(),
                            state: "completed".into(),
                            text: format!("did {}", handoff.text),
                            ..DelegationResult::default()
                        });
                        (self.answers)(&what).unwrap_or(done)
                    }
                    other => panic!("{other:?}"),
                };
                run.ends(step.as_str(), result, None);
            }
        }
    }

    /// Records a question in flight.
    fn ask(&self, run: &Simulation, told: &mut PlayedRun) {
        let Next::Steps(steps) = ToolLoop.next(&run.facts) else {
            panic!("it is not over");
        };
        let [step] = &steps[..] else { return };
        let Effect::Ask(request) = &step.effect else {
            return;
        };
        told.asked = request.messages.clone();
        told.tools = request.tools.iter().map(|t| t.name.clone()).collect();
        let parts = request.messages.iter().flat_map(|m| &m.parts);
        let values = parts.filter_map(|part| match part {
            PromptPart::ToolResult { value, .. } => Some(value.clone()),
            _ => None,
        });
        told.results = values.collect();
    }
}

fn offered() -> Value {
    let offered = |name: &str, agent: Option<Peer>| AvailableTool {
        needs_approval: false,
        tool: ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({}),
            agent: None,
        },
        agent,
    };
    let echo = Peer {
        id: "echo".into(),
        skills: vec!["say".into(), "sing".into()],
        ..Peer::default()
    };
    json!([
        offered("clock", None),
        offered("search", None),
        offered(FIND_AGENTS, None),
        offered("agent_echo", Some(echo)),
    ])
}

fn calls(calls: &[(&str, Value)]) -> Result<Completion, EffectFailure> {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("call-{number}"),
        name: (*name).into(),
        arguments: arguments.clone(),
    };
    Ok(Completion {
        tool_calls: calls.iter().enumerate().map(call).collect(),
        ..Completion::default()
    })
}

fn says(text: &str) -> Result<Completion, EffectFailure> {
    Ok(Completion {
        text: text.into(),
        ..Completion::default()
    })
}

fn completed(text: &str) -> Option<RunOutcome> {
    Some(RunOutcome::completed(text))
}

fn failed(error: &str) -> Option<RunOutcome> {
    Some(RunOutcome::failed(error))
}

#[test]
fn a_model_that_just_answers_has_answered() {
    let told = Case::default().play(vec![says("hello")]);
    assert_eq!(told.ended, completed("hello"));
    assert_eq!(told.went_out, [""; 0]);
    assert_eq!(told.tools, ["clock", "search", FIND_AGENTS, "agent_echo"]);
    assert_eq!(
        told.asked,
        [PromptMessage::system("Help."), PromptMessage::user("what?")]
    );
}

#[test]
fn the_calls_of_a_turn_go_out_together_and_are_told_in_the_order_of_the_question() {
    let turn = calls(&[
        ("search", json!({})),
        ("clock", json!({})),
        ("search", json!({})),
    ]);
    let told = Case::default().play(vec![turn, says("so it is")]);
    assert_eq!(told.ended, completed("so it is"));
    assert_eq!(told.went_out, ["search", "clock", "search"]);
    assert_eq!(
        told.results,
        ["search did it", "clock did it", "search did it"]
    );
    let roles: Vec<PromptRole> = told.asked.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [
            PromptRole::System,
            PromptRole::User,
            PromptRole::Assistant,
            PromptRole::Tool
        ]
    );
}

#[test]
fn what_the_model_gets_wrong_comes_back_to_it() {
    let turn = calls(&[
        ("nothing", json!({})),
        ("agent_echo", json!({})),
        ("agent_echo", json!({ "request": "hi", "skill": "dance" })),
        ("clock", json!({})),
    ]);
    let told = Case::default().play(vec![turn, says("sorry")]);
    assert_eq!(told.ended, completed("sorry"));
    assert_eq!(told.went_out, ["clock"]);
    let errors = told.results.iter().filter_map(|v| v["error"].as_str());
    let errors: Vec<&str> = errors.collect();
    let wanted = [
        "there is no tool nothing; there are: clock, search, find_agents, agent_echo",
        "`request` is missing: say in words what the agent shall do",
        "echo has no skill dance; it has: say, sing",
    ];
    assert_eq!(errors, wanted);
}

#[test]
fn an_agent_is_asked_for_the_skill_that_is_named_or_its_first() {
    let turn = calls(&[
        ("agent_echo", json!({ "request": "hi" })),
        ("agent_echo", json!({ "request": "la", "skill": "sing" })),
        ("agent_echo", json!({ "input": { "tune": 1 } })),
    ]);
    let told = Case::default().play(vec![turn, says("it said hi")]);
    assert_eq!(
        told.went_out,
        ["echo for say", "echo for sing", "echo for say"]
    );
    let first = json!({ "agent": "echo", "state": "completed", "text": "did hi" });
    assert_eq!(told.results[0], first);
}

#[test]
fn no_more_tools_are_called_than_may_be() {
    let case = Case {
        limits: Limits {
            tool_calls: 2,
            ..Limits::default()
        },
        ..Case::default()
    };
    let turn = || {
        calls(&[
            ("clock", json!({})),
            ("search", json!({})),
            ("clock", json!({})),
        ])
    };
    let told = case.play(vec![turn(), turn(), says("enough")]);
    assert_eq!(told.went_out, ["clock", "search"]);
    let refused = json!({ "error": "all 2 calls of tools are used up: answer without them" });
    assert_eq!(told.results[2..], vec![refused; 4]);
}

#[test]
fn in_the_last_turn_no_tool_is_offered_and_none_is_called() {
    let case = Case {
        limits: Limits {
            turns: 2,
            ..Limits::default()
        },
        ..Case::default()
    };
    let turn = || calls(&[("clock", json!({}))]);
    let told = case.play(vec![turn(), says("it is late")]);
    assert_eq!(told.ended, completed("it is late"));
    assert_eq!(told.tools, [""; 0]);
    let last = told.asked.last().and_then(PromptMessage::text);
    assert!(last.is_some_and(|text| text.starts_with("This is your last turn")));

    let told = case.play(vec![turn(), turn()]);
    assert_eq!(told.ended, failed("the model gave an empty answer"));
    assert_eq!(told.went_out, ["clock"]);

    let one = Case {
        limits: Limits {
            turns: 0,
            ..Limits::default()
        },
        ..Case::default()
    };
    let told = one.play(vec![says("at once")]);
    assert_eq!(told.ended, completed("at once"), "one turn there is always");
    assert_eq!(told.tools, [""; 0]);
}

#[test]
fn a_model_that_fails_or_says_nothing_ends_the_run() {
    let told = Case::default().play(vec![Err(EffectFailure::lasting("no key"))]);
    assert_eq!(told.ended, failed("the model did not answer: no key"));
    let told = Case::default().play(vec![says(" \n")]);
    assert_eq!(told.ended, failed("the model gave an empty answer"));
}

#[test]
fn what_fails_is_told_to_the_model() {
    let case = Case {
        answers: |begun| {
            Some(match begun {
                StepRequest::ToolCalled(call) if call.name == "clock" => {
                    StepResult::ToolReturned(ToolOutput::error("it stands still"))
                }
                StepRequest::ToolCalled(_) => {
                    StepResult::Failed(EffectFailure::lasting("it broke off"))
                }
                _ => StepResult::DelegationEnded(DelegationResult {
                    agent: "echo".into(),
                    state: "failed".into(),
                    error: "hoarse".into(),
                    ..DelegationResult::default()
                }),
            })
        },
        ..Case::default()
    };
    let turn = calls(&[
        ("clock", json!({})),
        ("search", json!({})),
        ("agent_echo", json!({ "request": "la" })),
    ]);
    let told = case.play(vec![turn, says("well")]);
    let RunOutcome::Completed { text, data, .. } = told.ended.as_ref().expect("it ended") else {
        panic!("{:?}", told.ended);
    };
    assert_eq!((&**text, &data["partial"]), ("well", &json!(true)));
    let ends = data["results"].as_array().expect("the ends of all calls");
    let ends: Vec<_> = ends
        .iter()
        .map(|end| (&end["tool"], &end["error"]))
        .collect();
    let expected = [
        (json!("clock"), json!("it stands still")),
        (json!("search"), json!("it broke off")),
        (json!("agent_echo"), json!("hoarse")),
    ];
    let expected: Vec<_> = expected.iter().map(|(tool, error)| (tool, error)).collect();
    assert_eq!(ends, expected, "nothing came back but errors");
    let wanted = [
        json!({ "error": "it stands still" }),
        json!({ "error": "it broke off" }),
        json!({ "agent": "echo", "state": "failed", "error": "hoarse" }),
    ];
    assert_eq!(told.results, wanted);
}

#[test]
fn agents_that_were_found_are_looked_for_from_then_on() {
    let found = json!({ "agents": [{ "id": "far" }, { "id": "away" }] });
    let mut run = Simulation::new(begins(
        "tool_loop",
        json!(Input {
            messages: vec![PromptMessage::user("what?")],
            ..Input::default()
        }),
    ));
    run.looks = offered();
    let look = |run: &Simulation| {
        let Next::Steps(steps) = ToolLoop.next(&run.facts) else {
            panic!("it is not over");
        };
        match &steps[0].effect {
            Effect::Look(query) => query.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(look(&run), json!({ "words": "what?", "found": [] }));
    run.settle(&ToolLoop);
    let turn = calls(&[(FIND_AGENTS, json!({ "words": "far" }))]);
    let answer = turn.expect("it is an answer");
    run.ends("turn-1", StepResult::ModelAnswered(answer), None);
    run.settle(&ToolLoop);
    run.ends(
        "turn-1/call-1",
        StepResult::ToolReturned(found.into()),
        None,
    );
    assert_eq!(
        look(&run),
        json!({ "words": "what?", "found": ["far", "away"] })
    );
}

#[test]
fn the_deepest_agent_is_told_to_answer_itself() {
    let case = Case {
        budget: Budget {
            depth: Some(0),
            ..Budget::default()
        },
        ..Case::default()
    };
    let turn = calls(&[("agent_echo", json!({ "request": "hi" }))]);
    let told = case.play(vec![turn, says("myself then")]);
    assert_eq!(told.ended, completed("myself then"));
    assert_eq!(told.went_out, [""; 0]);
    let refused = "work is handed on as deep as it may be: answer without other agents";
    assert_eq!(told.results, [json!({ "error": refused })]);
}

#[test]
fn a_run_whose_input_cannot_be_read_says_so() {
    let mut run = Simulation::new(begins("tool_loop", json!({ "messages": 7 })));
    run.settle(&ToolLoop);
    let Some(RunOutcome::Failed { error }) = run.ended() else {
        panic!("{:?}", run.ended());
    };
    assert!(
        error.starts_with("the run's input cannot be read"),
        "{error}"
    );
}
