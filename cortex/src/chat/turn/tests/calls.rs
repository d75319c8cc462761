//! Turns of models that call tools.

use super::{stage::Run, *};

/// spec: HUB-4
#[test]
fn a_model_that_calls_tools_hands_tasks_over_by_calls_and_answers_in_words() {
    let mut run = Run::new(|input| input.calls_tools = true);
    run.sees("look-1", &seen());
    assert_eq!(run.question().output, Output::Text);
    assert_eq!(run.question().tools.len(), 1);
    let dig = json!({"targetAgent": "digger", "taskType": "dig", "payload": {"deep": 3}});
    let sing = json!({"targetAgent": "singer", "taskType": "sing"});
    let calls = [("task_request", dig), ("task_request", sing)];
    run.calls("turn-1", " One moment.\n", &calls);
    let all = ["say-1", "round-1/task-1", "round-1/task-2"];
    assert_eq!(run.wanted(), all);
    assert_eq!(run.steps()[0].effect, Effect::Say("One moment.".to_owned()));
    run.send_out();
    let sent = run.sent();
    assert_eq!(sent[0].handoff.payload, Some(json!({"deep": 3})));
    assert_eq!(sent[1].handoff.metadata["correlation_id"], json!("2"));
    run.works("round-1/task-1", "completed", "a hole", "");
    run.works("round-1/task-2", "completed", "la la", "");
    run.comes_back("say-1", StepResult::Said);
    run.sees("look-2", &seen());
    run.answers("turn-2", "A hole, and a song.");
    assert_eq!(run.outcome(), RunOutcome::completed("A hole, and a song."));
}

#[test]
fn calls_that_cannot_be_made_go_back_with_the_reason() {
    let to = |agent: &str| json!({"targetAgent": agent, "taskType": "dig"});
    for (name, arguments, reason) in [
        (
            "task_request",
            to("nobody"),
            "calls[0]: there is no agent \"nobody\"; choose among digger, singer",
        ),
        (
            "dance",
            to("digger"),
            "calls[0]: there is no tool \"dance\"; call \"task_request\"",
        ),
        (
            "task_request",
            json!("{\"targetAgent\": "),
            "calls[0]: the arguments are no JSON object",
        ),
    ] {
        let mut run = Run::new(|input| input.calls_tools = true);
        run.sees("look-1", &seen());
        run.calls("turn-1", "", &[(name, arguments)]);
        assert_eq!(run.wanted(), ["turn-1/try-2"]);
        let request = run.question();
        let rejected = request.data("rejected").expect("it is told");
        assert_eq!(rejected["reason"], reason);
        let answer = rejected["answer"].as_str().expect("what it wrote");
        assert!(answer.contains(name), "{answer}");
    }
    let mut run = Run::new(|input| input.calls_tools = true);
    run.sees("look-1", &seen());
    let many = vec![("task_request", to("digger")); 17];
    run.calls("turn-1", "", &many);
    let reason = run.question().data("rejected").expect("it is told")["reason"].clone();
    assert_eq!(reason, "17 calls are too many; give at most 16");
}

#[test]
fn a_model_that_calls_tools_may_decide_in_json_all_the_same() {
    let mut run = Run::new(|input| input.calls_tools = true);
    run.sees("look-1", &seen());
    run.answers("turn-1", respond("No."));
    assert_eq!(run.outcome(), RunOutcome::completed("No."));
}
