//! Outcomes of runs that continued without some agents.

use super::*;

/// spec: SOP-8.7
#[test]
fn what_agents_gave_is_the_outcome_when_the_model_fails_in_the_end() {
    for (result, why) in [
        (
            StepResult::Failed(EffectFailure::lasting("overloaded")),
            "the model did not answer: overloaded",
        ),
        (says(" "), "the model gave an empty answer"),
    ] {
        let mut run = asked(started(ErrorMode::Continue));
        run.ends("turn-1/call-1", gave("anna", "a fact"), None);
        run.ends(
            "turn-1/call-2",
            came("ben", "failed", "", "disk full"),
            None,
        );
        run.ends("turn-1/call-3", gave("cleo", ""), None);
        run.settle(&ToolLoop);
        run.ends("turn-2", result, None);
        run.settle(&ToolLoop);
        let (text, data) = data(&run);
        assert_eq!(
            text,
            format!(
                "anna:\na fact\n\nThis is all there is: nothing was made of it, because {why}.\n\nThis answer is partial, because not everyone who was \
                 asked gave a result:\n- ben: disk full"
            )
        );
        assert_eq!(data["partial"], true);
        assert_eq!(data["error"], why);
        assert_eq!(data["results"][0]["text"], "a fact");
        assert_eq!(data["results"][1]["error"], "disk full");
    }
}

/// spec: SOP-8.7
#[test]
fn without_anything_given_the_failure_names_everyone() {
    let mut run = asked(started(ErrorMode::Continue));
    for (step, agent) in [(1, "anna"), (2, "ben"), (3, "cleo")] {
        let result = came(agent, "failed", "", &format!("{agent} is tired"));
        run.ends(&format!("turn-1/call-{step}"), result, None);
    }
    run.settle(&ToolLoop);
    run.ends(
        "turn-2",
        StepResult::Failed(EffectFailure::lasting("overloaded")),
        None,
    );
    run.settle(&ToolLoop);
    assert_eq!(
        error(&run),
        "the model did not answer: overloaded; agent_anna failed: anna is tired; agent_ben failed: ben is tired; agent_cleo failed: cleo is tired"
    );
}

/// spec: SOP-8.7
#[test]
fn what_agents_gave_is_the_outcome_when_the_budget_or_the_time_is_used_up() {
    let calls = Budget {
        calls: Some(4),
        ..Budget::default()
    };
    let time = Budget {
        time_ms: Some(60_000),
        ..Budget::default()
    };
    for (budget, late) in [(calls, false), (time, true)] {
        let mut run = asked(RunStarted {
            budget,
            ..started(ErrorMode::Continue)
        });
        run.ends("turn-1/call-1", gave("anna", "a fact"), Some(Spent::CALL));
        if late {
            run.now += 60_000;
        } else {
            run.ends("turn-1/call-2", gave("ben", "b"), Some(Spent::CALL));
            run.ends("turn-1/call-3", gave("cleo", "c"), Some(Spent::CALL));
        }
        run.settle(&ToolLoop);
        let (text, data) = data(&run);
        assert!(text.starts_with("anna:\na fact\n\n"), "{text}");
        assert_eq!(data["results"][0]["text"], "a fact", "{data}");
        let agents: Vec<_> = (0..3).map(|at| &data["results"][at]["agent"]).collect();
        assert_eq!(agents, AGENTS, "{data}");
        let why = data["error"].as_str().expect("it says why");
        if late {
            for at in [1, 2] {
                assert_eq!(data["results"][at]["state"], "cancelled", "{data}");
                let called_back = format!("called back: {why}");
                assert_eq!(data["results"][at]["error"], called_back, "{data}");
            }
            assert!(text.contains("- ben: called back: "), "{text}");
        }

        let mut run = asked(RunStarted {
            budget,
            ..started(ErrorMode::Tell)
        });
        for step in 1..=3 {
            run.ends(
                &format!("turn-1/call-{step}"),
                gave("x", "y"),
                Some(Spent::CALL),
            );
        }
        run.now += 60_000;
        run.settle(&ToolLoop);
        assert!(!error(&run).is_empty(), "other modes fail as ever");
    }
}

/// spec: SOP-8.7
#[test]
fn an_answer_of_a_form_keeps_its_data() {
    let form = AnswerForm {
        name: "report".into(),
        schema: json!({}),
    };
    let first = begins(
        "tool_loop",
        json!(Input {
            form: Some(form),
            limits: Limits {
                turns: 2,
                ..Limits::default()
            },
            ..input(ErrorMode::Continue)
        }),
    );
    let mut run = asked(first);
    run.ends("turn-1/call-1", came("anna", "failed", "", "busy"), None);
    run.ends("turn-1/call-2", gave("ben", "b"), None);
    run.ends("turn-1/call-3", gave("cleo", "c"), None);
    run.settle(&ToolLoop);
    run.looks = json!(Verdict::Fits {
        text: "two of them".into(),
        data: json!({ "count": 2 }),
    });
    run.ends("turn-2", says("{\"count\": 2}"), None);
    run.settle(&ToolLoop);
    let (text, data) = data(&run);
    assert!(
        text.starts_with("two of them\n\nThis answer is partial"),
        "{text}"
    );
    assert_eq!(data, json!({ "count": 2 }));
}

#[test]
fn results_without_end_fit_into_a_message() {
    let mut run = asked(started(ErrorMode::Continue));
    let much = "ä".repeat(400_000);
    run.ends("turn-1/call-1", gave("anna", &much), None);
    run.ends("turn-1/call-2", gave("ben", &much), None);
    run.ends("turn-1/call-3", came("cleo", "failed", &much, &much), None);
    run.settle(&ToolLoop);
    run.ends(
        "turn-2",
        StepResult::Failed(EffectFailure::lasting("overloaded")),
        None,
    );
    run.settle(&ToolLoop);
    let (text, data) = data(&run);
    let size = text.len() + data.to_string().len();
    assert!(size < 512 * 1024, "{size}");
}

/// spec: SOP-8.4
#[test]
fn journals_without_a_mode_tell_the_model() {
    let mut old = json!(input(ErrorMode::Tell));
    assert_eq!(old.get("on_failure"), None, "they are written as before");
    old["on_failure"] = json!("fail-fast");
    let read: Input = serde_json::from_value(old).expect("it can be read");
    assert_eq!(read.on_failure, ErrorMode::FailFast);
    let mut run = asked(started(ErrorMode::Tell));
    run.ends("turn-1/call-1", came("anna", "failed", "", "busy"), None);
    run.ends(
        "turn-1/call-2",
        StepResult::Failed(EffectFailure::lasting("no route")),
        None,
    );
    run.ends("turn-1/call-3", gave("cleo", "c"), None);
    run.settle(&ToolLoop);
    assert_eq!(told(&run)[1], json!({ "error": "no route" }));
    run.ends("turn-2", says("well"), None);
    run.settle(&ToolLoop);
    let (text, data) = data(&run);
    assert_eq!((&*text, &data["partial"]), ("well", &json!(true)));
}

/// spec: SOP-8.7, HUB-7
#[test]
fn an_answer_says_in_its_data_what_it_lacks_in_every_mode() {
    for mode in [ErrorMode::Tell, ErrorMode::Continue] {
        let mut run = asked(started(mode));
        run.ends("turn-1/call-1", gave("anna", "a fact"), None);
        run.ends("turn-1/call-2", came("ben", "away", "", ""), None);
        run.ends("turn-1/call-3", gave("cleo", "b"), None);
        run.settle(&ToolLoop);
        run.ends("turn-2", says("Two facts."), None);
        run.settle(&ToolLoop);
        let (_, data) = data(&run);
        assert_eq!(data["partial"], true, "{mode:?}");
        assert_eq!(data.get("undone"), None, "{mode:?}: {data}");
        let results = data["results"].as_array().expect("all results");
        let states: Vec<&Value> = results.iter().map(|result| &result["state"]).collect();
        assert_eq!(states, ["completed", "away", "completed"]);
    }
}

/// spec: SOP-8.7
#[test]
fn an_agent_that_gave_a_result_when_it_was_asked_again_lacks_nothing() {
    let mut run = asked(started(ErrorMode::Tell));
    for (step, result) in [
        ("turn-1/call-1", gave("anna", "a")),
        ("turn-1/call-2", came("ben", "failed", "", "busy")),
        ("turn-1/call-3", gave("cleo", "c")),
    ] {
        run.ends(step, result, None);
    }
    run.settle(&ToolLoop);
    run.ends("turn-2", asks(&["ben"]), None);
    run.settle(&ToolLoop);
    run.ends("turn-2/call-1", gave("ben", "b"), None);
    run.settle(&ToolLoop);
    run.ends("turn-3", says("a b c"), None);
    run.settle(&ToolLoop);
    assert_eq!(run.ended(), Some(&RunOutcome::completed("a b c")));
}

/// spec: SOP-8.7
#[test]
fn what_is_based_on_nothing_is_undone() {
    let nothing = json!({"partial": true, "undone": "all", "results": []});
    let declares_nothing = |agent: &str| {
        StepResult::DelegationEnded(DelegationResult {
            agent: agent.into(),
            state: "completed".into(),
            text: "I have no tool for this.".into(),
            data: vec![nothing.clone()],
            ..DelegationResult::default()
        })
    };
    let mut run = asked(started(ErrorMode::Tell));
    run.ends("turn-1/call-1", declares_nothing("anna"), None);
    run.ends("turn-1/call-2", came("ben", "failed", "", "busy"), None);
    run.ends("turn-1/call-3", declares_nothing("cleo"), None);
    run.settle(&ToolLoop);
    run.ends("turn-2", says("Nobody helped."), None);
    run.settle(&ToolLoop);
    let (_, data) = data(&run);
    assert_eq!(data["undone"], "all", "{data}");
    assert_eq!(data["results"][0]["lacks"], "it did nothing of it");
    assert_eq!(data["results"][1]["error"], "busy");
}

#[test]
fn what_the_model_declares_undone_stands_in_the_outcome() {
    let mut run = Simulation::new(started(ErrorMode::Tell));
    run.looks = offered();
    run.settle(&ToolLoop);
    let answer = StepResult::ModelAnswered(Completion {
        text: "I found no tool for that.".into(),
        undone: Some(Undone::All),
        ..Completion::default()
    });
    run.ends("turn-1", answer, None);
    run.settle(&ToolLoop);
    let (_, data) = data(&run);
    assert_eq!(
        data,
        json!({"partial": true, "undone": "all", "results": []})
    );
}
