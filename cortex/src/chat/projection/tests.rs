use agenthub_sdk::{
    model::Completion,
    runs::{Budget, EffectFailure, Handoff as Handed, StepId},
};

use serde_json::json;

use super::*;

fn begun(step: &str, what: StepRequest) -> RunEvent {
    RunEvent::StepBegun {
        step: StepId::new(step),
        attempt: 1,
        what,
        grant: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    }
}

fn asked(step: &str) -> RunEvent {
    let what = StepRequest::ModelAsked {
        prompt: String::new(),
        tools: String::new(),
        max_output_tokens: None,
    };
    begun(step, what)
}

fn delegated(step: &str, agent: &str) -> RunEvent {
    let handoff = Handed {
        agent: agent.to_owned(),
        ..Handed::default()
    };
    let sent = SentHandoff {
        handoff,
        task_id: format!("t-{agent}"),
        message_id: String::new(),
        deadline_ms: 0,
        budget: Budget::default(),
    };
    begun(step, StepRequest::Delegated(sent))
}

fn ended(step: &str, result: StepResult) -> RunEvent {
    RunEvent::StepEnded {
        step: StepId::new(step),
        attempt: 1,
        result,
        spent: None,
        at_ms: 0,
    }
}

fn stopping(text: &str) -> RunEvent {
    RunEvent::Stopping {
        outcome: RunOutcome::completed(text),
        at_ms: 0,
    }
}

fn lines(projection: &mut Projection, events: &[RunEvent]) -> Vec<String> {
    let frames = events.iter().flat_map(|event| projection.of(event));
    frames
        .map(|frame| format!("{}: {}", frame.kind(), frame.line()))
        .collect()
}

/// spec: HUB-7, ORC-4
#[test]
fn a_turn_shows_its_phases_its_handoffs_and_its_answers() {
    let answered = StepResult::ModelAnswered(Completion {
        usage: Some(Usage {
            input_tokens: 7,
            output_tokens: 3,
            is_estimated: false,
        }),
        ..Completion::default()
    });
    let back = |state: &str| {
        StepResult::DelegationEnded(DelegationResult {
            state: state.to_owned(),
            ..DelegationResult::default()
        })
    };
    let said = StepRequest::Said {
        text: "One moment.".to_owned(),
    };
    let events = [
        asked("turn-1"),
        ended("turn-1", answered.clone()),
        asked("turn-1/try-2"),
        ended("turn-1/try-2", answered),
        begun("say-1", said),
        delegated("round-1/task-1", "digger"),
        delegated("round-1/task-2", "singer"),
        delegated("round-1/task-3", "sleeper"),
        ended("say-1", StepResult::Said),
        ended("round-1/task-2", back("completed")),
        ended("round-1/task-1", back("away")),
        ended(
            "round-1/task-3",
            StepResult::Failed(EffectFailure::passing("late")),
        ),
        asked("turn-2"),
        stopping("Done."),
    ];
    let mut projection = Projection::default();
    assert_eq!(
        lines(&mut projection, &events),
        [
            "phase: thinking about what to do",
            "warning: the model has to answer again",
            "delta: One moment.",
            "message: One moment.",
            "handoff: asking digger",
            "handoff: asking singer",
            "handoff: asking sleeper",
            "handoff: singer is done",
            "handoff: digger went away",
            "handoff: sleeper timed-out",
            "phase: putting the results together",
            "delta: Done.",
            "message: Done.",
        ]
    );
    let usage = Usage {
        input_tokens: 14,
        output_tokens: 6,
        is_estimated: false,
    };
    assert_eq!(
        projection.end(&RunOutcome::completed("Done.")),
        [
            Frame::Metrics(usage),
            Frame::Complete("Done.".to_owned(), None)
        ]
    );
    assert_eq!(
        projection.end(&RunOutcome::Cancelled {
            reason: String::new()
        }),
        []
    );
}

/// The text that a reader has who follows the pieces.
fn read(pieces: &[&str], whole: &str) -> String {
    let mut projection = Projection::default();
    projection.of(&asked("turn-1"));
    let mut frames: Vec<Frame> = pieces
        .iter()
        .map(|piece| projection.piece((*piece).to_owned()))
        .collect();
    frames.extend(projection.of(&stopping(whole)));
    frames
        .into_iter()
        .fold(String::new(), |read, frame| match frame {
            Frame::Delta { text, append: true } => read + &text,
            Frame::Delta {
                text,
                append: false,
            } => text,
            _ => read,
        })
}

#[test]
fn the_pieces_of_an_answer_come_to_the_whole() {
    assert_eq!(read(&["Hel", "lo"], "Hello"), "Hello");
    assert_eq!(read(&["Hel"], "Hello"), "Hello");
    assert_eq!(read(&[], "Hello"), "Hello");
    assert_eq!(read(&["wrong"], "right"), "right");
}

/// spec: ORC-4, SOP-8.7
#[test]
fn an_agent_that_did_not_do_it_is_not_called_done() {
    let back = |undone: &str| {
        let marks = json!({"partial": true, "undone": undone, "results": []});
        StepResult::DelegationEnded(DelegationResult {
            state: "completed".to_owned(),
            data: vec![marks],
            ..DelegationResult::default()
        })
    };
    for (undone, expected) in [
        ("all", "handoff: singer did nothing of it"),
        ("part", "handoff: singer has done a part of it"),
    ] {
        let events = [
            delegated("round-1/task-1", "singer"),
            ended("round-1/task-1", back(undone)),
        ];
        let shown = lines(&mut Projection::default(), &events);
        assert_eq!(shown[1], expected);
    }
}
