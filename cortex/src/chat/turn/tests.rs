//! Turns that are driven step by step.

mod calls;
mod stage;

use agenthub_sdk::{
    Card, Skill,
    model::{Completion, Output, PromptMessage, PromptPart, ToolCall},
    runs::{
        Budget, DelegationResult, EffectFailure, RunEvent, RunStarted, SentHandoff, StepId,
        StepRequest,
        run::{Action, Outgoing},
    },
};

use self::stage::Run;
use super::*;
use crate::chat::prompt::{Agents, Named, Present, Running};

fn seen() -> TurnContext {
    let present = |name: &str, skill: &str| Present {
        card: std::sync::Arc::new(
            Card::new(name, "An agent")
                .skill(Skill::new(skill, skill, ""))
                .into(),
        ),
        topics: Some(Vec::new()),
    };
    let agents = [present("digger", "dig"), present("singer", "sing")];
    TurnContext {
        agents: Agents::of(&agents, ""),
        history: vec![
            PromptMessage::user("hello"),
            PromptMessage::assistant("Hello!"),
        ],
        ..TurnContext::default()
    }
}

fn respond(text: &str) -> Value {
    json!({"actions": [{"type": "chat.response", "text": text}]})
}

fn both(text: &str) -> Value {
    json!({"actions": [
        {"type": "chat.response", "text": text},
        {"type": "task.request", "targetAgent": "digger", "taskType": "dig", "payload": {"deep": 3}, "correlationId": "hole"},
        {"type": "task.request", "targetAgent": "singer", "taskType": "sing"},
    ]})
}

#[test]
fn a_turn_looks_asks_and_answers() {
    let mut run = Run::new(|_| {});
    assert_eq!(run.wanted(), ["look-1"]);
    run.sees("look-1", &seen());
    assert_eq!(run.wanted(), ["turn-1"]);
    let said: Vec<String> = run
        .question()
        .messages
        .iter()
        .filter_map(PromptMessage::text)
        .collect();
    assert_eq!(said[1..], ["hello", "Hello!", "dig and sing"]);
    run.answers("turn-1", respond("No."));
    assert_eq!(run.outcome(), RunOutcome::completed("No."));
}

#[test]
fn a_look_that_was_broken_off_is_taken_again_after_a_while() {
    let mut run = Run::new(|_| {});
    let broken_off = TurnContext {
        again_at_ms: Some(7),
        ..TurnContext::default()
    };
    run.sees("look-1", &broken_off);
    assert_eq!(run.wanted(), ["pause-1"]);
    assert_eq!(run.steps()[0].effect, Effect::Wait(7));
    run.comes_back("pause-1", StepResult::Woke);
    assert_eq!(run.wanted(), ["look-1/try-2"]);
    run.sees("look-1/try-2", &seen());
    assert_eq!(run.wanted(), ["turn-1"]);
}

/// spec: HUB-4, HUB-7
#[test]
fn what_is_decided_goes_out_together_and_its_results_are_told_in_its_order() {
    let mut run = Run::looked();
    run.answers("turn-1", both("One moment."));
    let all = ["say-1", "round-1/task-1", "round-1/task-2"];
    assert_eq!(run.wanted(), all);
    run.works("round-1/task-2", "completed", "la la", "");
    assert_eq!(run.wanted(), all[..2], "the others are waited for");
    run.works("round-1/task-1", "failed", "", "rock");
    run.comes_back("say-1", StepResult::Said);
    assert_eq!(run.wanted(), ["look-2"]);
    let query = json!({"words": "dig and sing", "completed_by": ["singer"]});
    assert_eq!(run.steps()[0].effect, Effect::Look(query));
    run.sees("look-2", &seen());

    let request = run.question();
    let results = request.data("results").expect("there are results");
    let of = |n: usize, key: &str| results[n][key].clone();
    assert_eq!(
        (of(0, "agent"), of(1, "agent")),
        (json!("digger"), json!("singer"))
    );
    assert_eq!(
        (of(0, "correlation_id"), of(1, "text")),
        (json!("hole"), json!("la la"))
    );
    assert_eq!(of(0, "error"), json!("digger failed: rock"));
    let said: Vec<String> = request
        .messages
        .iter()
        .filter_map(PromptMessage::text)
        .collect();
    assert_eq!(said.last().map(String::as_str), Some("One moment."));
    run.answers("turn-2", respond("It sang."));
    let RunOutcome::Completed { text, data, .. } = run.outcome() else {
        panic!("it is an answer");
    };
    assert_eq!((&*text, &data["partial"]), ("It sang.", &json!(true)));
}

/// spec: HUB-3
#[test]
fn an_agent_gets_the_words_the_payload_and_the_name_of_its_task() {
    let mut run = Run::looked();
    run.answers("turn-1", both("One moment."));
    run.send_out();
    let sent = run.sent();
    assert_eq!(sent.len(), 2);
    let handoff = &sent[0].handoff;
    assert_eq!((&*handoff.agent, &*handoff.capability), ("digger", "dig"));
    assert_eq!(handoff.text, "dig and sing");
    assert_eq!(handoff.payload, Some(json!({"deep": 3})));
    assert_eq!(handoff.metadata["correlation_id"], json!("hole"));
    assert_eq!(sent[0].deadline_ms, 120_000);
}

/// Issue 26: an agent gets the part of the words that is meant for it, and nothing that the user did not say.
///
/// spec: HUB-3
#[test]
fn an_agent_gets_the_part_of_the_words_that_is_meant_for_it() {
    for (part, handed) in [
        (json!("sing"), "sing"),
        (json!("sing loudly"), "dig and sing"),
        (json!(" "), "dig and sing"),
        (Value::Null, "dig and sing"),
    ] {
        let mut run = Run::looked();
        let mut task = json!({"type": "task.request", "targetAgent": "singer", "taskType": "sing"});
        if !part.is_null() {
            task["words"] = part.clone();
        }
        run.answers("turn-1", json!({ "actions": [task] }));
        run.send_out();
        assert_eq!(run.sent()[0].handoff.text, handed, "{part}");
    }
}

#[test]
fn a_model_that_answers_in_prose_has_answered() {
    let mut run = Run::new(|input| input.takes_prose = true);
    run.sees("look-1", &seen());
    run.answers("turn-1", " The tide is low at six.\n");
    assert_eq!(
        run.outcome(),
        RunOutcome::completed("The tide is low at six.")
    );

    let mut run = Run::new(|input| input.takes_prose = true);
    run.sees("look-1", &seen());
    run.answers("turn-1", r#"{"actions": [{"type": "chat.resp"#);
    assert_eq!(run.wanted(), ["turn-1/try-2"], "a decision that broke off");
}

/// spec: HUB-4
#[test]
fn the_model_is_told_whom_the_words_name_and_who_of_them_is_away() {
    let mut run = Run::new(|_| {});
    let mut seen = seen();
    seen.named = Named {
        here: vec!["digger".to_owned()],
        away: vec!["painter".to_owned()],
    };
    run.sees("look-1", &seen);
    let told = run.question().data("named").cloned();
    assert_eq!(told, Some(json!({"here": ["digger"], "away": ["painter"]})));
}

#[test]
fn an_answer_that_is_no_decision_goes_back_with_the_reason_at_most_twice() {
    let mut run = Run::looked();
    run.answers("turn-1", "I will do it");
    assert_eq!(run.wanted(), ["turn-1/try-2"]);
    let rejected = run
        .question()
        .data("rejected")
        .cloned()
        .expect("it is told");
    assert_eq!(rejected["answer"], json!("I will do it"));
    assert!(
        rejected["reason"]
            .as_str()
            .is_some_and(|r| r.contains("no JSON"))
    );
    run.answers("turn-1/try-2", r#"{"actions": []}"#);
    run.answers("turn-1/try-3", "no");
    let outcome = run.outcome();
    assert!(undecided(&outcome).is_some(), "{outcome:?}");
    assert!(matches!(outcome, RunOutcome::Completed { text, .. } if text.contains("I am sorry")));
}

#[test]
fn nobody_can_be_asked_in_the_last_round() {
    let mut run = Run::new(|input| input.max_rounds = 1);
    run.sees("look-1", &seen());
    let rules = run.question().messages[0].rendered();
    assert!(rules.contains("# Last round"), "{rules}");
    run.answers("turn-1", both("x"));
    assert_eq!(run.wanted(), ["turn-1/try-2"]);
}

#[test]
fn a_model_that_does_not_answer_ends_the_turn_with_what_came_back() {
    let mut run = Run::looked();
    run.answers("turn-1", both("One moment."));
    run.works("round-1/task-1", "completed", "a hole", "");
    run.works("round-1/task-2", "away", "", "");
    run.comes_back(
        "say-1",
        StepResult::Failed(EffectFailure::lasting("no hub")),
    );
    run.sees("look-2", &seen());
    let down = EffectFailure::lasting("the model is unavailable: down");
    run.comes_back("turn-2", StepResult::Failed(down));
    assert_eq!(
        run.outcome(),
        RunOutcome::failed(
            "I could not answer: the model is unavailable: down.\n\nThis is what came back:\n\
             digger: a hole\nagent singer went away before it was done"
        )
    );
}

#[test]
fn what_becomes_of_a_task_is_told_whichever_way_it_is_learned() {
    let error = |result: StepResult| {
        let mut run = Run::looked();
        run.answers("turn-1", both("x"));
        run.comes_back("say-1", StepResult::Said);
        run.comes_back("round-1/task-1", result);
        run.works("round-1/task-2", "completed", "", "");
        run.sees("look-2", &seen());
        let results = run.question().data("results").cloned().expect("there are");
        results[0]["error"].as_str().unwrap_or_default().to_owned()
    };
    let ended = |state: &str, error: &str| {
        StepResult::DelegationEnded(DelegationResult {
            state: state.to_owned(),
            error: error.to_owned(),
            ..DelegationResult::default()
        })
    };
    let late = "digger did not answer within 120 s";
    assert_eq!(error(ended("timed-out", "x")), late);
    let over = EffectFailure::passing("no answer within 120 s");
    assert_eq!(error(StepResult::Failed(over)), late);
    assert_eq!(
        error(ended("input-required", "how deep?")),
        "digger asks back: how deep?"
    );
    assert_eq!(
        error(ended("lost", "gone")),
        "the task of digger was lost: gone"
    );
    let broke = EffectFailure::lasting("it broke off");
    assert_eq!(
        error(StepResult::Failed(broke)),
        "the task of digger was lost: it broke off"
    );
}

#[test]
fn a_refused_request_fails_without_a_look() {
    let run = Run::new(|input| input.refused = Some("too many".to_owned()));
    assert_eq!(run.outcome(), RunOutcome::failed("too many"));
}

#[test]
fn questions_have_names_that_come_back() {
    for (round, attempt) in [(1, 1), (1, 2), (12, 3)] {
        let question = Question { round, attempt };
        assert_eq!(Question::of(&question.step()), Some(question));
    }
    for other in ["look-1", "turn-x", "say-1", "round-1/task-1"] {
        assert_eq!(Question::of(other), None);
    }
}

/// Journals that hold this are read back by later releases.
#[test]
fn what_journals_hold_keeps_its_form() {
    let run = Run::new(|input| input.attached = vec![json!({"a": 1})]);
    let facts = Facts::of(&run.events);
    insta::assert_json_snapshot!("input", facts.input());
    let mut seen = seen();
    seen.running = vec![Running {
        agent: "digger".to_owned(),
        task_type: "dig".to_owned(),
    }];
    insta::assert_json_snapshot!("seen", seen);
    assert!(
        seen.history
            .iter()
            .all(|m| matches!(m.parts[0], PromptPart::Text(_)))
    );
}

/// spec: HUB-7, ORC-2.1
#[test]
fn an_answer_for_which_an_agent_gave_nothing_says_so_in_its_data() {
    let data = |first: &str, second: &str| {
        let mut run = Run::looked();
        run.answers("turn-1", both("One moment."));
        run.comes_back("say-1", StepResult::Said);
        run.works("round-1/task-1", first, "a hole", "");
        run.works("round-1/task-2", second, "", "hoarse");
        run.sees("look-2", &seen());
        run.answers("turn-2", respond("That is it."));
        match run.outcome() {
            RunOutcome::Completed { data, .. } => data,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(data("completed", "completed"), Value::Null);
    let partial = data("completed", "failed");
    assert_eq!(partial["partial"], true, "{partial}");
    assert_eq!(partial.get("undone"), None, "{partial}");
    assert_eq!(partial["results"][1]["error"], "singer failed: hoarse");
    assert_eq!(data("away", "failed")["undone"], "all");
}

#[test]
fn what_the_model_declares_undone_stands_in_the_outcome() {
    let mut run = Run::looked();
    let answer = Completion {
        text: respond("I found no agent for that.").to_string(),
        undone: Some(Undone::All),
        ..Completion::default()
    };
    run.comes_back("turn-1", StepResult::ModelAnswered(answer));
    let RunOutcome::Completed { data, .. } = run.outcome() else {
        panic!("it is an answer");
    };
    assert_eq!(
        data,
        json!({"partial": true, "undone": "all", "results": []})
    );
}

/// spec: ORC-2.3
#[test]
fn files_go_with_each_task_that_is_handed_over() {
    let handed = |files: Vec<Value>| {
        let mut run = Run::new(|input| input.files = files);
        run.sees("look-1", &seen());
        run.answers("turn-1", both("One moment."));
        let steps = run.steps().into_iter();
        let handoffs = steps.filter_map(|step| match step.effect {
            Effect::Delegate(handoff) => Some(handoff.files),
            _ => None,
        });
        handoffs.collect::<Vec<_>>()
    };
    assert_eq!(handed(vec![json!({"name": "a.txt"})]), [true, true]);
    assert_eq!(handed(Vec::new()), [false, false]);
}
