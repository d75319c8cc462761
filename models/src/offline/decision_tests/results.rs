//! Results of agents.

use super::*;

#[test]
fn results_are_told_with_the_name_of_the_agent() {
    let mut with_results = request("ask agent_echo and writer");
    with_results.messages.push(PromptMessage::data(
        "results",
        json!([
            {"agent": "agent_echo", "task_type": "echo", "state": "completed", "text": "Echo: hello", "correlation_id": "1"},
            {"agent": "writer", "task_type": "draft", "state": "failed", "text": "", "error": "writer failed: no ink left"},
            {"agent": "slow", "state": "timed-out"},
            {"agent": "picky", "state": "rejected", "error": null, "text": "not my job"},
        ]),
    ));
    assert_eq!(
        response(&with_results),
        format!(
            "agent_echo says: Echo: hello\nwriter failed: no ink left\nslow did not answer in time.\n\
             picky does not take this task: not my job\n{UNCHECKED}"
        )
    );
}

#[test]
fn results_of_an_earlier_question_are_not_told_again() {
    let mut later = request("ask agent_echo");
    later.messages.push(PromptMessage::data(
        "results",
        json!([{"agent": "agent_echo", "state": "completed", "text": "old"}]),
    ));
    later.messages.push(PromptMessage::user("ask writer"));
    assert_eq!(actions(&later)[0]["targetAgent"], "writer");
}

/// spec: ORC-2.1
#[test]
fn an_agent_that_ended_without_output_is_not_said_to_have_done_more() {
    let mut asked = request("echo \"hello\"");
    let results = json!([{"agent": "agent_echo", "state": "completed", "text": ""}]);
    asked.messages.push(PromptMessage::data("results", results));
    assert_eq!(
        response(&asked),
        "agent_echo ended without an error and gave no text."
    );
    let told = |result: Value| {
        let mut asked = request("echo \"hello\"");
        asked
            .messages
            .push(PromptMessage::data("results", json!([result])));
        let undone = decide(&asked, "echo \"hello\"").1;
        (response(&asked), undone)
    };
    let data = json!({"agent": "agent_echo", "state": "completed", "text": "", "data": [{"n": 1}]});
    assert_eq!(
        told(data),
        ("agent_echo says: [{\"n\":1}]".to_owned(), None)
    );
    let mark = json!({"agent": "agent_echo", "state": "completed", "data": [{"partial": true}]});
    assert!(told(mark).0.ends_with("gave no text."));
    for cut in ["a [… 7 bytes left out]", "a[… 7 characters left out …]b"] {
        let cut = json!({"agent": "agent_echo", "state": "completed", "text": cut});
        assert_eq!(told(cut).1, Some(Undone::Part));
    }
}
