//! Calls of agents with a task and inputs.

use agenthub_runs::{
    Handoff, RunOutcome, StepResult,
    model::{Completion, PromptMessage, ToolCall, ToolSpec},
    tool_loop::{AvailableTool, CallForm, ErrorMode, Input, Peer, ToolLoop},
};
use serde_json::{Value, json};

use crate::{
    failing_agents::{handed, told},
    support::{begins, simulation::Simulation},
};

/// A run in which the writer was called with these arguments.
fn called(arguments: Value) -> Simulation {
    let parameters = json!({
        "type": "object",
        "properties": {
            "task": {"type": "string"},
            "tone": {"enum": ["dry", "warm"], "default": "dry"},
            "words": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["task", "words"],
        "additionalProperties": false,
    });
    let writer = AvailableTool {
        needs_approval: false,
        tool: ToolSpec {
            name: "agent_writer".into(),
            description: "Writes.".into(),
            parameters,
            agent: None,
        },
        agent: Some(Peer {
            id: "writer".into(),
            skills: vec!["write".into()],
            calling: CallForm::Task,
        }),
    };
    let mut run = Simulation::new(begins(
        "tool_loop",
        json!(Input {
            messages: vec![PromptMessage::user("what?")],
            on_failure: ErrorMode::FailFast,
            ..Input::default()
        }),
    ));
    run.looks = json!([writer]);
    run.settle(&ToolLoop);
    let call = ToolCall {
        id: "c".into(),
        name: "agent_writer".into(),
        arguments,
    };
    let answer = Completion {
        tool_calls: vec![call],
        ..Completion::default()
    };
    run.ends("turn-1", StepResult::ModelAnswered(answer), None);
    run.settle(&ToolLoop);
    run
}

fn sent(arguments: Value) -> Handoff {
    let run = called(arguments);
    let [sent] = &handed(&run)[..] else {
        panic!("it was not asked: {:?}", told(&run));
    };
    sent.handoff.clone()
}

/// spec: SOP-5.5, SOP-5.6, SOP-5.7
#[test]
fn the_task_is_the_words_and_the_inputs_are_the_data() {
    let handoff = sent(json!({"task": "about rain", "words": 300, "tags": ["a"], "tone": null}));
    assert_eq!(handoff.text, "about rain");
    let payload = json!({"words": 300, "tags": ["a"], "tone": "dry"});
    assert_eq!(handoff.payload, Some(payload), "with the default");
    assert_eq!((&*handoff.agent, &*handoff.capability), ("writer", "write"));
    assert_eq!(handoff.tool, "agent_writer");
}

/// spec: SOP-5.4
#[test]
fn what_does_not_fit_goes_back_to_the_model_and_is_no_failure_of_the_agent() {
    for (arguments, wanted) in [
        (json!({"words": 1}), vec!["\"task\" is a required property"]),
        (json!({"task": " ", "words": 1}), vec!["`task` is missing"]),
        (
            json!({"task": "x", "words": "many", "tone": "loud", "colour": "red"}),
            vec!["/words", "/tone", "colour"],
        ),
        (json!("x"), vec!["\"task\"", "\"words\""]),
    ] {
        let mut run = called(arguments);
        assert_eq!(handed(&run), []);
        let error = told(&run)[0]["error"].as_str().expect("why").to_owned();
        for part in wanted {
            assert!(error.contains(part), "{part}: {error}");
        }
        let answer = Completion {
            text: "myself then".into(),
            ..Completion::default()
        };
        run.ends("turn-2", StepResult::ModelAnswered(answer), None);
        run.settle(&ToolLoop);
        assert_eq!(run.ended(), Some(&RunOutcome::completed("myself then")));
    }
}

/// spec: SOP-5.6
#[test]
fn an_agent_that_takes_no_inputs_gets_none() {
    let peer = Peer {
        id: "a".into(),
        calling: CallForm::Task,
        ..Peer::default()
    };
    let old: Peer = serde_json::from_value(json!({"id": "a", "skills": []})).expect("it is read");
    assert_eq!(old.calling, CallForm::Request);
    assert_eq!(
        json!(old),
        json!({"id": "a", "skills": []}),
        "and written as before"
    );
    assert_eq!(json!(peer)["calling"], "task");
    let handoff = sent(json!({"task": "x", "words": 0}));
    assert_eq!(handoff.payload, Some(json!({"words": 0, "tone": "dry"})));
}
