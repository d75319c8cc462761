use serde_json::json;

use super::*;

pub(in crate::run) fn frame(kind: &str, message: &str, data: Value) -> Frame {
    Frame {
        r#type: kind.to_owned(),
        message: message.to_owned(),
        data: (!data.is_null()).then(|| json::to_struct(&data)),
        ..Frame::default()
    }
}

fn phase(name: &str, message: &str) -> Frame {
    Frame {
        phase: name.to_owned(),
        ..frame("phase", message, Value::Null)
    }
}

fn handoff(stage: &str, data: Value) -> Frame {
    frame("handoff", stage, data)
}

/// The lines that are seen of these frames, and the status behind each.
fn seen(frames: &[Frame]) -> String {
    let mut view = View::default();
    let mut lines = Vec::new();
    for frame in frames {
        for show in view.apply(frame) {
            lines.push(match show {
                Show::Line(line) => line,
                Show::Ask(asked) => format!("[ask {}]\n{}", asked.id, asked.lines()),
                Show::Answered(id) => format!("[answered {id}]"),
            });
        }
        let steps: Vec<String> = view
            .steps()
            .iter()
            .map(|s| format!("{}{}", s.mark(), s.name))
            .collect();
        lines.push(format!(
            "    | {} | {} | {}",
            view.status(0),
            steps.join(" "),
            view.text()
        ));
    }
    lines.join("\n")
}

fn plan(version: u64, steps: Value) -> Value {
    json!({"version": version, "patch": [], "plan": {"steps": steps, "result": {}}})
}

/// spec: ORC-4
#[test]
fn a_run_is_seen_from_its_plan_to_its_end() {
    let draft = json!({"capability": "write", "payload": {}});
    let review = json!({"capability": "review", "payload": {"draft": "${draft.output.text}"}});
    let again = json!({"capability": "write", "dependsOn": ["review"], "payload": {}});
    let work = |step, capability, to| json!({"from": "cortex", "to": to, "capability": capability, "step": step});
    let with_task = |mut work: Value, task: &str| {
        work["taskId"] = task.into();
        work
    };
    let back =
        |from, task, state| json!({"from": from, "to": "cortex", "taskId": task, "state": state});
    let frames = [
        frame("start", "at work", Value::Null),
        phase("planning", "deciding what is to be done"),
        frame("metrics", "", json!({"tokens": 100, "agent": "cortex"})),
        frame(
            "plan_update",
            "first a draft",
            plan(1, json!({"draft": draft, "review": review})),
        ),
        handoff("requested", work("draft", "write", "writer")),
        phase("generation", "making it"),
        handoff(
            "occurred",
            with_task(work("draft", "write", "writer"), "t1"),
        ),
        frame(
            "tool_call",
            "count",
            json!({"args": {"text": "Hi"}, "agent": "writer"}),
        ),
        frame(
            "tool_result",
            "count",
            json!({"result": 2, "agent": "writer"}),
        ),
        frame(
            "tool_result",
            "look",
            json!({"error": "no such file", "agent": "writer"}),
        ),
        frame("delta", "Hello", json!({"append": false})),
        frame("delta", " there", Value::Null),
        handoff("returned", back("writer", "t1", "completed")),
        frame(
            "metrics",
            "",
            json!({"tokens": 20, "calls": 3, "agent": "writer"}),
        ),
        handoff("requested", work("review", "review", "qa")),
        handoff("returned", back("qa", "t2", "completed")),
        frame(
            "message",
            "qa gives 0.40, wanted 0.70",
            json!({"review": {"score": 0.4, "issues": ["too long: 300 characters; at most 280"]}}),
        ),
        frame(
            "plan_update",
            "",
            plan(2, json!({"draft": draft, "review": review, "again": again})),
        ),
        handoff("requested", work("again", "write", "writer")),
        handoff(
            "occurred",
            with_task(work("again", "write", "writer"), "t3"),
        ),
        handoff("returned", back("writer", "t3", "failed")),
        frame(
            "warning",
            "step again came to nothing: disk full",
            json!({"step": "again", "state": "skipped"}),
        ),
        frame(
            "metrics",
            "",
            json!({"tokens": 500, "calls": 7, "total": true}),
        ),
        frame(
            "complete",
            "",
            json!({"result": {}, "quality": {"met": false}}),
        ),
    ];
    insta::assert_snapshot!(seen(&frames));
}

/// spec: ORC-12.3
#[test]
fn a_person_is_asked_until_somebody_answers() {
    let steps = json!({"send": {"capability": "publish", "payload": {}}});
    let asked = json!({
        "id": "a1", "digest": "d", "subject": "send", "agent": "press", "capability": "publish",
        "arguments": {"text": "Hello", "to": ["everyone"]},
    });
    let frames = [
        frame("plan_update", "", plan(1, steps)),
        frame("approval", "asked", asked.clone()),
        frame(
            "approval",
            "approved",
            json!({"approved": true, "by": "ann", "comment": "go"}),
        ),
        frame("approval", "asked", asked),
        frame("error", "cancelled by the user", Value::Null),
    ];
    insta::assert_snapshot!(seen(&frames));
}

/// A watched run says of its steps what `runs show` says of them.
#[test]
fn what_a_person_does_not_allow_is_refused_and_what_the_run_ends_before_is_not_reached() {
    let steps = json!({"send": {"capability": "publish"}, "tell": {"dependsOn": ["send"]}});
    let frames = [
        frame("plan_update", "", plan(1, steps)),
        frame("approval", "asked", json!({"id": "a1", "subject": "send"})),
        frame("approval", "refused", json!({"id": "a1", "by": "ann"})),
        frame(
            "warning",
            "step send came to nothing",
            json!({"step": "send", "state": "failed"}),
        ),
        frame("error", "send failed", Value::Null),
    ];
    let mut view = View::default();
    let mut states = Vec::new();
    for frame in &frames {
        view.apply(frame);
        let of_each = view.steps().iter().map(|step| step.state.as_str());
        states.push(of_each.collect::<Vec<_>>().join(" "));
    }
    assert_eq!(
        states,
        [
            "waiting waiting",
            "awaiting-approval waiting",
            "refused waiting",
            "refused waiting",
            "refused not-reached",
        ]
    );
    // A workflow says of its step next that it has failed.
    let mut view = View::default();
    for frame in &frames[..3] {
        view.apply(frame);
    }
    let failed =
        json!({"step": "send", "stepName": "send", "metadata": {"error": "ann refused it"}});
    let shows = view.apply(&frame("step", "FAILED", failed));
    let told = "✗ send is refused: ann refused it".to_owned();
    assert_eq!(shows, [Show::Line(told)]);
    assert_eq!(view.steps()[0].state, "refused");
}

/// spec: ORC-3.1
#[test]
fn a_chat_s_answer_is_not_said_twice() {
    let mut view = View::default();
    let mut seen = |frame: Frame| view.apply(&frame);
    assert_eq!(seen(frame("message", "I ask around", Value::Null)), []);
    assert_eq!(
        seen(frame("message", "Hello", Value::Null)),
        [Show::Line("I ask around".to_owned())]
    );
    assert_eq!(seen(frame("metrics", "", json!({"tokens": 5}))), []);
    assert_eq!(seen(frame("complete", "", json!({"message": "Hello"}))), []);
}

/// spec: ORC-12.3
#[test]
fn a_prompt_has_the_question_and_its_step_and_never_loses_its_keys() {
    let asked = Asked {
        step: "allowed".to_owned(),
        arguments: json!({"question": "May the bread go out?", "input": {"n": 3}}),
        ..Asked::default()
    };
    assert_eq!(asked.prompt(80), "allowed: May the bread go out? [y/n]");
    let short = asked.prompt(24);
    assert!(
        short.starts_with("allowed: May") && short.ends_with("… [y/n]"),
        "{short}"
    );
    assert!(short.chars().count() <= 24, "{short}");
    let agent = Asked {
        agent: "press".to_owned(),
        capability: "publish".to_owned(),
        ..Asked::default()
    };
    assert_eq!(agent.prompt(80), "Allow press to do publish? [y/n]");
}

#[test]
fn a_pause_before_the_next_attempt_is_the_status() {
    let mut view = View::default();
    let retry = json!({
        "step": "f", "stepName": "f", "timestamp": "1970-01-01T00:00:01Z",
        "metadata": {"attempt": 2, "until": "1970-01-01T00:01:00Z"},
    });
    view.apply(&frame(
        "plan_update",
        "",
        plan(1, json!({"f": {"agent": "x"}})),
    ));
    view.apply(&frame("step", "RETRYING", retry));
    assert_eq!(view.status(1_500), "f: attempt 2 follows in 59 s");
}

#[test]
fn tokens_that_are_an_estimate_say_so() {
    let mut view = View::default();
    view.apply(&frame("metrics", "", json!({"tokens": 5})));
    assert_eq!(view.cost().as_deref(), Some("5 tokens"));
    view.apply(&frame(
        "metrics",
        "",
        json!({"tokens": 2, "calls": 1, "estimated": true}),
    ));
    assert_eq!(
        view.cost().as_deref(),
        Some("about 7 tokens (an estimate), 1 call")
    );
}

#[test]
fn a_text_that_grows_is_bounded() {
    let mut view = View::default();
    for _ in 0..100 {
        view.apply(&frame("delta", &"ö".repeat(100), Value::Null));
    }
    view.apply(&frame("delta", "end", Value::Null));
    assert!(view.text().ends_with("öend"));
    assert!(view.text().chars().count() <= MAX_TEXT);
}

#[test]
fn frames_of_a_later_release_are_no_trouble() {
    let mut view = View::default();
    assert_eq!(view.apply(&frame("confetti", "x", json!({"a": 1}))), []);
    assert_eq!(
        view.apply(&frame("handoff", "pondered", json!({"step": 5}))),
        []
    );
    assert_eq!(view.end(), None);
}

#[test]
fn the_end_says_how_it_went() {
    let end = |frame: Frame| {
        let mut view = View::default();
        view.apply(&frame);
        view.end().map(End::verdict)
    };
    assert_eq!(
        end(frame("error", "no", Value::Null)),
        Some(Verdict::Failed)
    );
    assert_eq!(
        end(frame("complete", "", json!({"message": "x"}))),
        Some(Verdict::Met)
    );
    let best = frame(
        "complete",
        "",
        json!({"result": {}, "quality": {"met": false}}),
    );
    assert_eq!(end(best), Some(Verdict::BestEffort));
}

/// spec: ORC-4, SOP-8.7
#[test]
fn an_agent_that_did_not_do_it_is_not_called_done() {
    let returned = |undone: &str| {
        let data = json!({"from": "writer", "state": "completed", "undone": undone});
        seen(&[handoff("returned", data)])
    };
    assert!(returned("all").contains("◐ writer did nothing of it"));
    assert!(returned("part").contains("◐ writer has done a part of it"));
}
