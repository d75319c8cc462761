//! The tool loop with failing agents, in each mode.

use std::{sync::Arc, time::Duration};

use agenthub_runs::{
    Budget, DelegationResult, EffectFailure, RunEvent, RunOutcome, RunStarted, SentHandoff, Spent,
    StepRequest, StepResult, Strategy, ToolOutput,
    model::{Completion, PromptMessage, ToolCall, ToolSpec, Undone},
    tool_loop::{AnswerForm, AvailableTool, ErrorMode, Input, Limits, Peer, ToolLoop, Verdict},
};
use serde_json::{Value, json};

use crate::support::{
    Stage, begins, ended,
    simulation::Simulation,
    words,
    world::{Behaviour, StandIn},
};

mod outcomes;

const AGENTS: [&str; 3] = ["anna", "ben", "cleo"];

fn offered() -> Value {
    let tool = |name: String| ToolSpec {
        name,
        description: String::new(),
        parameters: json!({}),
        agent: None,
    };
    let agents = AGENTS.map(|id| AvailableTool {
        needs_approval: false,
        tool: tool(format!("agent_{id}")),
        agent: Some(Peer {
            id: id.into(),
            ..Peer::default()
        }),
    });
    let clock = AvailableTool {
        needs_approval: false,
        tool: tool("clock".into()),
        agent: None,
    };
    json!(agents.into_iter().chain([clock]).collect::<Vec<_>>())
}

fn started(mode: ErrorMode) -> RunStarted {
    begins("tool_loop", json!(input(mode)))
}

fn input(mode: ErrorMode) -> Input {
    Input {
        messages: vec![PromptMessage::user("what?")],
        on_failure: mode,
        ..Input::default()
    }
}

/// A run that called all three agents at once.
fn asked(first: RunStarted) -> Simulation {
    let mut run = Simulation::new(first);
    run.looks = offered();
    run.settle(&ToolLoop);
    run.ends("turn-1", asks(&AGENTS), None);
    run.settle(&ToolLoop);
    run
}

fn asks(agents: &[&str]) -> StepResult {
    let call = |(number, id): (usize, &&str)| ToolCall {
        id: format!("call-{number}"),
        name: format!("agent_{id}"),
        arguments: json!({ "request": format!("help, {id}") }),
    };
    StepResult::ModelAnswered(Completion {
        tool_calls: agents.iter().enumerate().map(call).collect(),
        ..Completion::default()
    })
}

fn says(text: &str) -> StepResult {
    StepResult::ModelAnswered(Completion {
        text: text.into(),
        ..Completion::default()
    })
}

fn gave(agent: &str, text: &str) -> StepResult {
    came(agent, "completed", text, "")
}

fn came(agent: &str, state: &str, text: &str, error: &str) -> StepResult {
    StepResult::DelegationEnded(DelegationResult {
        agent: agent.into(),
        state: state.into(),
        text: text.into(),
        error: error.into(),
        ..DelegationResult::default()
    })
}

fn data(run: &Simulation) -> (String, Value) {
    match run.ended() {
        Some(RunOutcome::Completed { text, data, .. }) => (text.clone(), data.clone()),
        other => panic!("{other:?}"),
    }
}

fn error(run: &Simulation) -> String {
    match run.ended() {
        Some(RunOutcome::Failed { error }) => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// spec: SOP-8.5
#[test]
fn failing_fast_ends_at_the_first_failure_while_others_are_out() {
    for (result, why) in [
        (came("ben", "failed", "", "disk full"), "disk full"),
        (came("ben", "rejected", "", "not my job"), "not my job"),
        (came("ben", "timed-out", "half", "too late"), "too late"),
        (
            came("ben", "away", "", "ben is not here at present"),
            "ben is not here at present",
        ),
        (came("ben", "lost", "", ""), "the task is lost"),
        (
            came("ben", "input-required", "", "which one?"),
            "it asked back, and nobody can answer: which one?",
        ),
        (
            StepResult::Failed(EffectFailure::lasting("no route")),
            "no route",
        ),
        (StepResult::Cancelled, "it was called back"),
    ] {
        let mut run = asked(started(ErrorMode::FailFast));
        run.ends("turn-1/call-2", result, None);
        run.settle(&ToolLoop);
        assert_eq!(error(&run), format!("agent_ben failed: {why}"));
        let recalled = run.events.iter().filter(|event| {
            matches!(
                event,
                RunEvent::StepEnded {
                    result: StepResult::Cancelled,
                    ..
                }
            )
        });
        let own = usize::from(why == "it was called back");
        assert_eq!(recalled.count(), 2 + own, "the two others are called back");
    }
}

/// spec: SOP-8.5
#[tokio::test(start_paused = true)]
async fn failing_fast_calls_the_others_back_and_names_who_failed() {
    let world = StandIn::new()
        .sees(offered())
        .does("turn-1", Behaviour::Gives(asks(&AGENTS)))
        .does("turn-1/call-1", Behaviour::Hangs)
        .does(
            "turn-1/call-2",
            Behaviour::After(
                Duration::from_secs(3),
                came("ben", "failed", "", "disk full"),
            ),
        )
        .does("turn-1/call-3", Behaviour::Hangs);
    let stage = Arc::new(Stage {
        first: started(ErrorMode::FailFast),
        ..Stage::new(world)
    });
    let outcome = ended(stage.start("one", ToolLoop)).await;
    assert_eq!(
        outcome,
        Ok(RunOutcome::failed("agent_ben failed: disk full"))
    );
    for step in ["turn-1/call-1#1", "turn-1/call-3#1"] {
        assert_eq!(stage.world.count(&format!("recalled {step}")), 1, "{step}");
    }
    assert_eq!(
        stage.world.count("recall turn-1/call-2"),
        0,
        "it is over already"
    );
    let events = words(&stage.events().await);
    let at = |what: &str| events.iter().position(|e| e == what).expect(what);
    assert!(
        at("stopping failed") < at("turn-1/call-1#1 cancelled"),
        "{events:?}"
    );
}

/// spec: SOP-8.5
#[test]
fn failing_fast_is_about_agents_and_not_about_own_tools_or_bad_calls() {
    let mut run = Simulation::new(started(ErrorMode::FailFast));
    run.looks = offered();
    run.settle(&ToolLoop);
    let call = |name: &str, arguments: Value| ToolCall {
        id: name.into(),
        name: name.into(),
        arguments,
    };
    let calls = StepResult::ModelAnswered(Completion {
        tool_calls: vec![
            call("clock", json!({})),
            call("agent_nobody", json!({ "request": "hi" })),
            call("agent_anna", json!({})),
        ],
        ..Completion::default()
    });
    run.ends("turn-1", calls, None);
    run.settle(&ToolLoop);
    run.ends(
        "turn-1/call-1",
        StepResult::ToolReturned(ToolOutput::error("it stands still")),
        None,
    );
    run.settle(&ToolLoop);
    run.ends("turn-2", says("well"), None);
    run.settle(&ToolLoop);
    let failed = json!({"tool": "clock", "state": "failed", "error": "it stands still"});
    let data = json!({"partial": true, "results": [failed]});
    let nothing_came_of_it = RunOutcome::with_data("well", data);
    assert_eq!(run.ended(), Some(&nothing_came_of_it));
}

/// spec: SOP-8.6, SOP-8.7
#[test]
fn going_on_tells_the_model_and_names_in_the_end_what_is_missing() {
    let mut run = asked(started(ErrorMode::Continue));
    run.ends(
        "turn-1/call-2",
        came("ben", "failed", "half of it", "disk\nfull"),
        None,
    );
    run.settle(&ToolLoop);
    assert_eq!(run.ended(), None, "the others go on");
    assert_eq!(run.out().len(), 2);
    run.ends("turn-1/call-1", gave("anna", "a"), None);
    run.ends(
        "turn-1/call-3",
        StepResult::Failed(EffectFailure::lasting("no route")),
        None,
    );
    run.settle(&ToolLoop);
    let told: Vec<Value> = told(&run);
    assert_eq!(
        told,
        [
            json!({ "agent": "anna", "state": "completed", "text": "a" }),
            json!({ "agent": "ben", "state": "failed", "text": "half of it", "error": "disk\nfull" }),
            json!({ "agent": "cleo", "state": "failed", "error": "no route" }),
        ]
    );
    run.ends("turn-2", says("What I know.\n"), None);
    run.settle(&ToolLoop);
    let (text, data) = data(&run);
    assert_eq!(
        text,
        "What I know.\n\nThis answer is partial, because not everyone who was asked gave a result:\n- ben: disk full\n- cleo: no route"
    );
    assert_eq!(
        data,
        json!({ "partial": true, "results": [
            { "agent": "anna", "tool": "agent_anna", "task": "help, anna", "state": "completed", "text": "a" },
            { "agent": "ben", "tool": "agent_ben", "task": "help, ben", "state": "failed", "text": "half of it", "error": "disk\nfull" },
            { "agent": "cleo", "tool": "agent_cleo", "task": "help, cleo", "state": "failed", "error": "no route" },
        ] })
    );
}

/// spec: SOP-8.6
#[test]
fn going_on_without_a_failure_is_an_answer_like_any_other() {
    let mut run = asked(started(ErrorMode::Continue));
    for (step, agent) in [(1, "anna"), (2, "ben"), (3, "cleo")] {
        run.ends(&format!("turn-1/call-{step}"), gave(agent, "x"), None);
    }
    run.settle(&ToolLoop);
    run.ends("turn-2", says("all of it"), None);
    run.settle(&ToolLoop);
    assert_eq!(run.ended(), Some(&RunOutcome::completed("all of it")));
}

/// spec: SOP-8.7
#[test]
fn who_was_asked_again_and_answered_is_said_to_have() {
    let mut run = asked(started(ErrorMode::Continue));
    run.ends("turn-1/call-1", came("anna", "failed", "", "busy"), None);
    run.ends("turn-1/call-2", gave("ben", "b"), None);
    run.ends("turn-1/call-3", gave("cleo", "c"), None);
    run.settle(&ToolLoop);
    run.ends("turn-2", asks(&["anna"]), None);
    run.settle(&ToolLoop);
    run.ends("turn-2/call-1", gave("anna", "a"), None);
    run.settle(&ToolLoop);
    run.ends("turn-3", says("all"), None);
    run.settle(&ToolLoop);
    let (text, data) = data(&run);
    assert!(
        text.ends_with("\n- anna: busy (asked again, it gave one)"),
        "{text}"
    );
    assert_eq!(data["results"].as_array().map(Vec::len), Some(4));
}

/// Results of the first turn's calls, as the model sees them.
pub(crate) fn told(run: &Simulation) -> Vec<Value> {
    use agenthub_runs::{Effect, Next, model::PromptPart};
    let Next::Steps(steps) = ToolLoop.next(&run.facts) else {
        panic!("it is over");
    };
    let Effect::Ask(request) = &steps[0].effect else {
        panic!("{steps:?}");
    };
    let parts = request.messages.iter().flat_map(|m| &m.parts);
    let values = parts.filter_map(|part| match part {
        PromptPart::ToolResult { value, .. } => Some(value.clone()),
        _ => None,
    });
    values.collect()
}

/// Handoffs of the first turn.
pub(crate) fn handed(run: &Simulation) -> Vec<SentHandoff> {
    let begun = run.events.iter().filter_map(|event| match event {
        RunEvent::StepBegun {
            what: StepRequest::Delegated(sent),
            ..
        } => Some(sent.clone()),
        _ => None,
    });
    begun.collect()
}
