use agenthub_proto::a2a::{Artifact, Part, TaskStatus};
use serde_json::json;

use super::*;

fn working(text: &str, frame: Option<Value>) -> Update {
    Update::Status(TaskStatusUpdateEvent {
        status: Some(TaskStatus {
            state: TaskState::Working.into(),
            update: Some(Message::new(Role::Agent, text)),
            timestamp: None,
        }),
        metadata: frame.map(|frame| json::to_struct(&json!({ "frame": frame }))),
        ..Default::default()
    })
}

fn handoff(stage: &str, agent: &str, task: &str, text: &str) -> Update {
    let frame = json!({
        "type": "handoff",
        "message": stage,
        "data": {"from": "cortex", "to": agent, "taskId": task},
    });
    working(text, Some(frame))
}

fn message(text: &str) -> Update {
    working(text, Some(json!({"type": "message", "message": text})))
}

fn piece(text: &str, append: bool) -> Update {
    Update::Artifact(TaskArtifactUpdateEvent {
        artifact: Some(Artifact {
            artifact_id: ANSWER_ARTIFACT.into(),
            parts: vec![Part::text(text)],
            ..Default::default()
        }),
        append,
        ..Default::default()
    })
}

fn outcome(state: TaskState, text: &str) -> Result<Outcome, Error> {
    Ok(Outcome {
        task_id: "t".into(),
        agent: "cortex".into(),
        state,
        text: String::new(),
        artifacts: Vec::new(),
        message: Some(Message::new(Role::Agent, text)),
        error: match state {
            TaskState::Completed => String::new(),
            _ => text.into(),
        },
        spent: None,
        model: String::new(),
    })
}

fn shows(updates: &[Update]) -> Vec<Show> {
    let mut view = View::default();
    updates.iter().flat_map(|u| view.apply(u)).collect()
}

fn doing(text: &str) -> Show {
    Show::Doing(text.into())
}

fn writing(text: &str) -> Show {
    Show::Writing(text.into())
}

fn text(text: &str) -> Show {
    Show::Text(text.into())
}

fn answer(text: &str, shown: bool) -> Show {
    Show::Answer {
        text: text.into(),
        shown,
    }
}

/// spec: HUB-7
/// spec: EXE-2.2
#[test]
fn an_agent_that_asks_for_a_persons_yes_is_shown_whole() {
    let approval =
        json!({"run": "r", "id": "a1", "agent": "press", "step": "may", "question": "Print it?"});
    let frame = json!({
        "type": "handoff",
        "message": "progress",
        "data": {"from": "press", "to": "cortex", "taskId": "1", "approval": approval},
    });
    let asked = Asked::read(&approval).expect("it is one");
    let seen = shows(&[working(
        "press: Step may waits for a person: Print it?",
        Some(frame),
    )]);
    assert_eq!(seen, [Show::Asks(asked)]);
}

#[test]
fn who_works_is_shown_until_they_are_done() {
    let seen = shows(&[
        working(
            "thinking",
            Some(json!({"type": "phase", "phase": "analysis"})),
        ),
        handoff("requested", "a", "", "asking a"),
        handoff("occurred", "a", "1", "a is at work"),
        handoff("occurred", "b", "2", "b is at work"),
        handoff("progress", "a", "1", "a: half way"),
        handoff("returned", "cortex", "1", "a is done"),
        handoff("returned", "cortex", "2", "b failed: disk full"),
    ]);
    let expected = [
        doing("thinking"),
        doing("asking a"),
        doing("a is working on it"),
        doing("a and b are working on it"),
        doing("a: half way"),
        Show::Note("a is done".into()),
        doing("b is working on it"),
        Show::Note("b failed: disk full".into()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn an_answer_that_streamed_is_not_repeated() {
    let mut view = View::default();
    let updates = [piece("Hel", false), piece("lo", true), message("Hello")];
    let seen: Vec<Show> = updates.iter().flat_map(|u| view.apply(u)).collect();
    assert_eq!(seen, [text("Hel"), text("lo"), answer("Hello", true)]);
    let end = view.end(outcome(TaskState::Completed, "Hello"), false);
    assert_eq!(end, (vec![], End::Answered(Extent::Whole)));
}

#[test]
fn what_was_not_streamed_is_added() {
    let seen = shows(&[piece("Hel", false), message("Hello")]);
    assert_eq!(seen, [text("Hel"), text("lo"), answer("Hello", true)]);
    assert_eq!(shows(&[message("Hello")]), [answer("Hello", false)]);
}

#[test]
fn an_answer_that_begins_again_voids_the_pieces() {
    let seen = shows(&[piece("Hel", false), piece("Good", false), message("Bye")]);
    let expected = [
        text("Hel"),
        Show::Void,
        text("Good"),
        Show::Void,
        answer("Bye", false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_last_word_holds_if_it_differs() {
    let mut view = View::default();
    view.apply(&message("I will ask"));
    let end = view.end(outcome(TaskState::Completed, "It says hi"), false);
    assert_eq!(
        end,
        (
            vec![answer("It says hi", false)],
            End::Answered(Extent::Whole)
        )
    );
}

#[test]
fn agents_without_frames_are_understood() {
    let mut view = View::default();
    assert_eq!(view.apply(&working("half way", None)), [doing("half way")]);
    let said = Update::Message(Message::new(Role::Agent, "Echo: hi"));
    assert_eq!(view.apply(&said), [answer("Echo: hi", false)]);
    let end = view.end(outcome(TaskState::Completed, "Echo: hi"), false);
    assert_eq!(end, (vec![], End::Answered(Extent::Whole)));
}

#[test]
fn failures_are_told_and_wishes_are_not() {
    let end = |outcome, wished| View::default().end(outcome, wished).1;
    let failed = |text: &str| End::Failed(text.into());
    assert_eq!(
        end(outcome(TaskState::Failed, "no model"), false),
        failed("no model")
    );
    assert_eq!(
        end(outcome(TaskState::Cancelled, "why"), true),
        End::Cancelled
    );
    assert_eq!(
        end(outcome(TaskState::Cancelled, "why"), false),
        failed("why")
    );
    let lost = Err(Error::Lost {
        task_id: "t".into(),
    });
    let End::Failed(text) = end(lost, false) else {
        panic!("a lost request failed");
    };
    assert!(text.contains("ask again"), "{text}");
}

#[test]
fn an_empty_answer_is_no_silence() {
    let (shows, end) = View::default().end(outcome(TaskState::Completed, ""), false);
    assert_eq!(shows.len(), 1);
    assert_eq!(end, End::Answered(Extent::Whole));
}

/// What several agents write is shown as it comes, each by name, the end of it in one line.
#[test]
fn what_agents_at_work_write_is_shown_as_it_grows() {
    let piece = |task: &str, text: &str, append| Piece {
        task_id: task.into(),
        text: text.into(),
        append,
    };
    let mut view = View::default();
    assert_eq!(view.overhear(&piece("t1", "too early", false)), []);
    view.apply(&handoff("occurred", "lead", "t1", ""));
    view.apply(&handoff("occurred", "other", "t2", ""));
    assert_eq!(view.at_work().collect::<Vec<_>>(), ["t1", "t2"]);
    assert_eq!(
        view.overhear(&piece("t1", "Good", false)),
        [writing("lead: Good")]
    );
    assert_eq!(
        view.overhear(&piece("t2", "42", false)),
        [writing("other: 42")]
    );
    let shown = view.overhear(&piece("t1", "\nday", true));
    assert_eq!(shown, [writing("lead: Good day")]);
    let shown = view.overhear(&piece("t1", &format!("{}ö", "x".repeat(200)), true));
    assert_eq!(
        shown,
        [writing(&format!("lead: {}ö", "x".repeat(MAX_TAIL - 1)))]
    );
    assert_eq!(
        view.overhear(&piece("t1", "Anew", false)),
        [writing("lead: Anew")]
    );
    view.apply(&handoff("returned", "lead", "t1", "lead is done"));
    assert_eq!(view.overhear(&piece("t1", "too late", true)), []);
}
