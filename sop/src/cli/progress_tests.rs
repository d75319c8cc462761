use agenthub_sdk::proto::{
    a2a::{Artifact, Part},
    json::to_struct,
};

use super::*;

fn tool(tool: Value) -> Update {
    Update::Status(TaskStatusUpdateEvent {
        metadata: Some(to_struct(&json!({ "tool": tool }))),
        ..Default::default()
    })
}

fn piece(text: &str, append: bool) -> Update {
    Update::Artifact(TaskArtifactUpdateEvent {
        artifact: Some(Artifact {
            artifact_id: ANSWER_ARTIFACT.to_owned(),
            parts: vec![Part::text(text)],
            ..Default::default()
        }),
        append,
        ..Default::default()
    })
}

fn lines(shows: Vec<Show>) -> Vec<String> {
    let line = |show| match show {
        Show::Line(line) => line,
        other => panic!("no line: {other:?}"),
    };
    shows.into_iter().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn each_agent_is_shown_when_it_is_asked_and_when_it_is_done() {
    let mut progress = Progress::default();
    let asked = |agent: &str, task: &str| {
        tool(
            json!({"name": format!("agent_{agent}"), "agent": agent, "taskId": task, "arguments": {"request": "find\nout"}}),
        )
    };
    assert_eq!(
        lines(progress.apply(&asked("researcher", "t1"))),
        ["→ researcher: find out"]
    );
    assert_eq!(
        lines(progress.apply(&asked("critic", "t2"))),
        ["→ critic: find out"]
    );
    tokio::time::advance(std::time::Duration::from_millis(1500)).await;
    let done = tool(
        json!({"name": "agent_researcher", "agent": "researcher", "taskId": "t1", "result": {"text": "x"}}),
    );
    assert_eq!(lines(progress.apply(&done)), ["✓ researcher, after 1.5 s"]);
    let failed = tool(
        json!({"name": "agent_critic", "agent": "critic", "taskId": "t2", "error": "no model"}),
    );
    assert_eq!(
        lines(progress.apply(&failed)),
        ["✗ critic, after 1.5 s: no model"]
    );
    assert_eq!(
        progress.agents(),
        [
            json!({"agent": "researcher", "task": "t1", "state": "completed", "seconds": 1.5}),
            json!({"agent": "critic", "task": "t2", "state": "failed", "seconds": 1.5, "error": "no model"}),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_tools_failed_is_shown_as_partial() {
    let mut progress = Progress::default();
    let call = json!({"name": "agent_critic", "agent": "critic", "taskId": "t1"});
    let with = |key: &str, value: Value| {
        let mut call = call.clone();
        call[key] = value;
        call
    };
    progress.apply(&tool(with("arguments", json!({"request": "look"}))));
    let mut done = with("result", json!({"text": "x"}));
    done["partial"] = json!([{"name": "table", "error": "it is locked"}]);
    assert_eq!(
        lines(progress.apply(&tool(done))),
        ["◐ critic, after 0.0 s, in part: without table (it is locked)"]
    );
    assert_eq!(progress.agents()[0]["state"], "partial");
    let without: Vec<_> = progress.partial().collect();
    assert_eq!(
        without,
        [Missing {
            name: "table of critic".to_owned(),
            why: "it is locked".to_owned(),
            has_failed: true,
        }]
    );
    assert!(progress.has_any_completed(), "it said something");
}

#[tokio::test]
async fn of_two_requests_to_one_agent_it_is_told_which_is_done() {
    let mut progress = Progress::default();
    for (task, request) in [("t1", "cats"), ("t2", "dogs")] {
        let asked = json!({"name": "agent_a", "agent": "a", "taskId": task, "arguments": {"request": request}});
        progress.apply(&tool(asked));
    }
    let done = tool(json!({"name": "agent_a", "agent": "a", "taskId": "t2", "result": {}}));
    let line = lines(progress.apply(&done)).remove(0);
    assert!(line.starts_with("✓ a (dogs)"), "{line}");
    assert_eq!(progress.agents()[0]["state"], "unfinished");
}

#[test]
fn own_tools_are_shown_too() {
    let mut progress = Progress::default();
    let called = tool(json!({"name": "web_search", "arguments": {"q": "x"}}));
    assert_eq!(
        lines(progress.apply(&called)),
        ["→ web_search {\"q\":\"x\"}"]
    );
    let done = tool(json!({"name": "web_search", "result": "y"}));
    assert_eq!(lines(progress.apply(&done)), ["✓ web_search"]);
    let failed = tool(json!({"name": "web_search", "error": "away"}));
    assert_eq!(lines(progress.apply(&failed)), ["✗ web_search: away"]);
    assert!(progress.agents().is_empty());
}

#[test]
fn the_answer_grows_and_begins_anew_and_its_rest_follows() {
    let mut progress = Progress::default();
    let piece_of = |text: &str| Show::Piece(text.to_owned());
    assert_eq!(
        progress.apply(&piece("I ask ", false)),
        [piece_of("I ask ")]
    );
    assert_eq!(progress.apply(&piece("first.", true)), [piece_of("first.")]);
    assert_eq!(
        progress.apply(&piece("The ", false)),
        [Show::Anew, piece_of("The ")]
    );
    assert_eq!(progress.apply(&piece("end", true)), [piece_of("end")]);
    assert_eq!(
        progress.rest("The end\n\nNot asked: a"),
        Some("\n\nNot asked: a")
    );
    assert_eq!(progress.rest("The end"), Some(""));
    assert_eq!(progress.rest("Another"), None);
    assert_eq!(Progress::default().rest("Another"), None);
}

/// spec: SOP-8.5
#[test]
fn who_failed_is_told_whole_and_in_the_order_of_the_failures() {
    let mut progress = Progress::default();
    for task in ["a", "b"] {
        let asked = json!({"agent": task, "taskId": task, "arguments": {"task": "x"}});
        progress.apply(&tool(asked));
    }
    let why = "no model ".repeat(100);
    for (task, error) in [("b", why.as_str()), ("a", "it was called back")] {
        let failed = json!({"agent": task, "taskId": task, "error": error});
        let line = lines(progress.apply(&tool(failed))).concat();
        assert!(line.chars().count() < 150, "{line}");
    }
    let first = progress.failed().next().expect("b failed first");
    assert_eq!((first.name.as_str(), &first.why), ("b", &why));
    assert_eq!(progress.agents()[1]["error"], why);
}
