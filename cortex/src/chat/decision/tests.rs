use super::*;
use proptest::prelude::*;
use serde_json::json;

fn agents() -> Vec<Candidate> {
    let skill = |id: &str, name: &str| Skill {
        id: id.to_owned(),
        name: name.to_owned(),
        task_type: String::new(),
    };
    vec![
        Candidate {
            id: "agent_echo".to_owned(),
            skills: vec![skill("echo", "Echo Messages")],
            topics: Some(vec!["echo_request".to_owned()]),
        },
        Candidate {
            id: "original".to_owned(),
            skills: vec![Skill {
                task_type: "Echo Messages".to_owned(),
                ..skill("skill_0", "Echo Messages")
            }],
            topics: Some(vec![]),
        },
        Candidate {
            id: "plain".to_owned(),
            skills: vec![],
            topics: Some(vec![]),
        },
        Candidate {
            id: "late".to_owned(),
            skills: vec![skill("a", "A")],
            topics: None,
        },
    ]
}

fn refused(answer: &Value) -> String {
    parse(&answer.to_string(), &agents())
        .expect_err("a refusal")
        .to_string()
}

fn request(target: &str, task_type: &str) -> Value {
    json!({"type": "task.request", "targetAgent": target, "taskType": task_type})
}

#[test]
fn answers_and_tasks_keep_their_order() {
    let answer = json!({"actions": [
        {"type": "chat.response", "text": "one moment"},
        {"type": "task.request", "targetAgent": "agent_echo", "taskType": "echo", "payload": {"text": "hi"}, "correlationId": "2"},
        request("plain", "anything"),
        request("late", "b"),
    ]});
    let decision = parse(&answer.to_string(), &agents()).expect("a decision");
    let task = |target: &str, task_type: &str, correlation_id: &str, payload: Value| {
        Action::Delegate(TaskRequest {
            task_type: task_type.to_owned(),
            target: target.to_owned(),
            words: None,
            payload: payload.as_object().cloned(),
            correlation_id: correlation_id.to_owned(),
        })
    };
    assert_eq!(
        decision.actions,
        vec![
            Action::Respond("one moment".to_owned()),
            task("agent_echo", "echo", "2", json!({"text": "hi"})),
            task("plain", "anything", "1", Value::Null),
            task("late", "b", "3", Value::Null),
        ]
    );
}

#[test]
fn prose_is_told_from_decisions_that_went_wrong() {
    for prose in [
        "The tide is low at six.",
        "\"Ebb\" is low water.",
        "Use [brackets], {maybe}.",
    ] {
        assert!(is_prose(prose), "{prose}");
    }
    for other in [
        "",
        " ",
        "null",
        "3",
        "\"hello\"",
        "{\"actions\": [",
        "[1]",
        "```json\n{}\n```",
        "Sure: {\"actions\": [{",
        "So: {\"type\": \"chat.response\", \"text\": \"x\"}",
    ] {
        assert!(!is_prose(other), "{other}");
    }
}

/// spec: HUB-4
#[test]
fn the_target_must_be_a_present_agent() {
    assert_eq!(
        refused(&json!({"actions": [request("nobody", "echo")]})),
        "actions[0]: there is no agent \"nobody\"; choose among agent_echo, original, plain, late"
    );
    assert!(
        parse(&json!({"actions": [request("a", "b")]}).to_string(), &[])
            .expect_err("a refusal")
            .to_string()
            .contains("nobody is here")
    );
}

/// spec: HUB-5.2
#[test]
fn an_agent_that_goes_by_names_is_asked_by_a_name() {
    for wanted in ["skill_0", "Echo Messages"] {
        let answer = json!({"actions": [request("original", wanted)]});
        let decision = parse(&answer.to_string(), &agents()).expect("good");
        let [Action::Delegate(task)] = &decision.actions[..] else {
            panic!("{decision:?}");
        };
        assert_eq!(task.task_type, "Echo Messages");
    }
}

/// spec: HUB-3
#[test]
fn the_task_type_must_be_one_that_the_agent_takes() {
    let types = |wanted: &str| {
        let answer = json!({"actions": [request("agent_echo", wanted)]});
        match parse(&answer.to_string(), &agents()) {
            Ok(Decision { actions }) => match &actions[..] {
                [Action::Delegate(task)] => task.task_type.clone(),
                other => panic!("{other:?}"),
            },
            Err(reason) => reason.to_string(),
        }
    };
    assert_eq!(types("echo"), "echo");
    assert_eq!(types("echo_request"), "echo_request");
    assert_eq!(types("Echo Messages"), "echo");
    assert_eq!(types(" "), "actions[0]: \"taskType\" is empty");
    assert_eq!(
        types("dance"),
        "actions[0]: agent \"agent_echo\" takes no tasks of type \"dance\"; it takes echo, echo_request"
    );
}

#[test]
fn wrong_answers_are_refused_with_a_reason() {
    let cases = [
        (json!("hello"), "holds no JSON"),
        (json!({"actions": []}), "is empty"),
        (
            json!({"actions": [{"type": "dance", "text": "x"}]}),
            "\"type\" must be",
        ),
        (
            json!({"actions": [{"type": "chat.response"}]}),
            "\"text\" is a required",
        ),
        (
            json!({"actions": [{"type": "chat.response", "text": "  "}]}),
            "\"text\" is empty",
        ),
        (
            json!({"actions": [{"type": "chat.response", "text": 3}]}),
            "/text: 3 is not of type",
        ),
        (json!({"actions": [3]}), "\"type\" must be"),
        (
            json!({"actions": [{"type": "task.request", "taskType": "echo"}]}),
            "\"targetAgent\" is a required",
        ),
        (
            json!({"actions": [{"type": "task.request", "taskType": "echo", "targetAgent": "agent_echo", "payload": "x"}]}),
            "/payload",
        ),
        (
            json!({"actions": vec![json!({"type": "chat.response", "text": "x"}); 17]}),
            "17 actions are too many",
        ),
    ];
    for (answer, reason) in cases {
        let said = refused(&answer);
        assert!(said.contains(reason), "{answer} gave {said:?}");
    }
}

#[test]
fn tasks_have_names_of_their_own() {
    let mut task = request("plain", "x");
    task["correlationId"] = "same".into();
    assert_eq!(
        refused(&json!({"actions": [task, task]})),
        "actions[1]: correlationId \"same\" is used twice"
    );
}

proptest! {
    #[test]
    fn any_answer_is_survived(answer in ".{0,80}") {
        let _ = parse(&answer, &agents());
    }

    #[test]
    fn any_shape_is_survived(kind in "chat.response|task.request|x", field in "text|payload|taskType|targetAgent", value in "\\PC{0,20}", wrap in 0..3) {
        let action = json!({"type": kind, "targetAgent": "plain", field: value});
        let answer = match wrap { 0 => action, 1 => json!([action]), _ => json!({"actions": [action]}) };
        if let Ok(decision) = parse(&answer.to_string(), &agents()) {
            prop_assert!(!decision.actions.is_empty());
        }
    }
}
