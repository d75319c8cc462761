//! The strategy and the writer agent on a real hub.

mod profiles;
mod world;

use std::{sync::Arc, time::Duration};

use agenthub_agents::{qa, strategy, writer};
use agenthub_sdk::{
    Delegation, Phase,
    internal::contracts,
    model::{Completion, PromptRole, Scripted, ToolCall},
    proto::a2a::{AgentCard, TaskState},
    runs::{Budget, Spent},
};
use serde_json::{Value, json};

use crate::world::{offline, says, shown, world};

/// Twelve posts in which a bolder opening went with more sign-ups; one has no setting, and one no number.
fn posts() -> Vec<Value> {
    let post = |n: u32| {
        let (boldness, signups) = match n {
            3 => (Value::Null, json!(n)),
            5 => (json!(0.5), json!("NaN")),
            n => (json!(f64::from(n) / 12.0), json!(n * 10)),
        };
        json!({"knobs": {"boldness": boldness, "pace": f64::from(n % 2)}, "metrics": {"signups": signups, "views": 7}})
    };
    (1..=12).map(post).collect()
}

fn plan() -> Value {
    json!({
        "brief": "The community garden opens. There are plots for everyone.",
        "objective": "sign-ups of neighbours",
        "audience": "neighbours",
        "knobs": {"boldness": 0.3, "pace": {"min": 0, "max": 2}},
        "priorPerformance": posts(),
        "schedule": {"start": "2027-03-01", "posts": 2, "everyDays": 3},
    })
}

fn brief() -> Value {
    json!({
        "headline": "The garden opens",
        "keyMessages": ["There are forty plots, and each has water.", "Tools can be borrowed."],
        "callToAction": "Come by on Saturday",
    })
}

/// spec: ORC-2.2, ORC-5.2
#[tokio::test]
async fn a_strategy_is_computed_from_past_posts_and_shows_its_tools() {
    let world = offline().await;
    let watched = world.ask("strategy", strategy::PLAN, plan()).await;
    let output = watched.output();
    insta::assert_json_snapshot!("a_strategy_offline", output);
    insta::assert_snapshot!("a_strategy_offline_in_words", watched.outcome.text);
    let names: Vec<(&Value, bool)> = watched
        .tools
        .iter()
        .map(|t| (&t["name"], t["result"].is_null()))
        .collect();
    let (survey, compare) = (json!("survey_performance"), json!("compare_settings"));
    assert_eq!(
        names,
        [
            (&survey, true),
            (&survey, false),
            (&compare, true),
            (&compare, false)
        ]
    );
    assert_eq!(watched.tools[2]["arguments"], json!({"metric": "signups"}));
    assert_eq!(watched.outcome.spent.expect("it tells").tokens, 0);
}

/// spec: ORC-2.2
#[tokio::test]
async fn too_little_data_is_said_and_the_wish_stays() {
    let world = offline().await;
    let mut payload = plan();
    payload["priorPerformance"] = json!([{"knobs": {"boldness": 1}, "metrics": {"signups": 4}}]);
    let output = world
        .ask("strategy", strategy::PLAN, payload)
        .await
        .output();
    assert_eq!(
        output["strategy"]["knobs"],
        json!({"boldness": 0.3, "pace": {"min": 0, "max": 2, "value": 1}})
    );
    let rationale = output["strategy"]["rationale"].to_string();
    assert!(
        rationale.contains("too little data (1 usable post, 5 needed)"),
        "{rationale}"
    );
    let nothing = world
        .ask(
            "strategy",
            strategy::PLAN,
            json!({"brief": "b", "knobs": {"k": null}}),
        )
        .await;
    assert_eq!(nothing.output()["strategy"]["knobs"], json!({"k": 0.5}));
}

/// spec: ORC-2.2, ORC-5.2, ORC-10
#[tokio::test]
async fn a_draft_that_fails_its_review_is_mended_by_the_notes() {
    let world = offline().await;
    let briefed = world.ask(
        "writer",
        writer::BRIEF,
        json!({
            "clientBrief": "There are forty plots, and each has water. Tools can be borrowed.",
            "headline": "The garden opens",
            "mustInclude": ["Come by on Saturday"],
            "language": "en",
        }),
    );
    let brief = briefed.await.output()["brief"].take();
    let rules = json!({"maxCharacters": 200});
    let first = world
        .ask(
            "writer",
            writer::WRITE,
            json!({"writerBrief": brief, "platformRules": rules}),
        )
        .await;
    let draft = first.output()["draft"].take();
    assert_eq!(
        Some(&*first.grown),
        draft["text"].as_str(),
        "it is shown while it grows"
    );
    assert_eq!(first.outcome.text, first.grown);
    let review = async |draft: &Value| {
        let payload = json!({
            "draft": draft, "platformRules": rules, "mustInclude": brief["mustInclude"], "language": "en",
            "acceptanceCriteria": ["contains \"free of charge\"", "at most 150 characters"],
        });
        world.ask("qa", qa::REVIEW, payload).await.output()["qa"].take()
    };
    let failed = review(&draft).await;
    assert_eq!(failed["pass"], false, "{failed}");
    let again = json!({
        "writerBrief": brief, "platformRules": rules, "previousDraft": draft, "revisionNotes": failed["issues"],
    });
    let second = world.ask("writer", writer::WRITE, again).await.output()["draft"].take();
    let passed = review(&second).await;
    assert_eq!(passed["pass"], true, "{second} {passed}");
    assert!(
        second["text"]
            .as_str()
            .is_some_and(|t| t.contains("Come by on Saturday")),
        "{second}"
    );
}

/// spec: ORC-3.1
#[tokio::test]
async fn who_only_talks_gets_words() {
    let world = offline().await;
    for (agent, skill) in [
        ("strategy", strategy::PLAN),
        ("writer", writer::WRITE),
        ("writer", writer::BRIEF),
    ] {
        for payload in [None, Some(json!({"text": "what can you do?"}))] {
            let mut asked = Delegation::to(agent)
                .capability(skill)
                .text("what can you do?");
            if let Some(payload) = payload {
                asked = asked.payload(payload);
            }
            let watched = world.delegate(asked).await;
            let message = watched.outcome.message.expect("a message");
            assert_eq!(watched.outcome.state, TaskState::Completed);
            // The only data say that nothing was done.
            let data: Vec<Value> = message.data().collect();
            assert_eq!(
                data,
                [json!({"partial": true, "undone": "all", "results": []})]
            );
            assert!(
                message.text().contains("Give me a brief"),
                "{}",
                message.text()
            );
        }
    }
}

#[tokio::test]
async fn data_that_does_not_fit_is_refused_with_the_place() {
    let world = offline().await;
    let watched = world
        .ask("writer", writer::WRITE, json!({"writerBrief": 7}))
        .await;
    assert_eq!(watched.outcome.state, TaskState::Rejected);
    assert!(
        watched.outcome.error.contains("\"/writerBrief\""),
        "{}",
        watched.outcome.error
    );
}

/// spec: ORC-5.2, ORC-7
#[tokio::test]
async fn a_model_gets_the_prompt_the_payload_and_the_words_and_nothing_else() {
    let draft = json!({"draft": {"text": "The garden opens.", "metadata": {"notes": []}}});
    let model = Scripted::answers([says(&draft)]);
    let world = world(Arc::new(model.clone())).await;
    let payload = json!({"writerBrief": brief(), "mustInclude": ["Saturday"], "platform": "p", "language": "xx"});
    let output = world.ask("writer", writer::WRITE, payload).await.output();
    assert_eq!(output, draft);
    insta::assert_snapshot!("what_a_writer_is_told", shown(&model.requests()[0]));
}

/// spec: ORC-2.2, ORC-7
#[tokio::test]
async fn a_model_plans_with_the_tools_and_the_analysis_is_computed() {
    let call = ToolCall {
        id: "1".to_owned(),
        name: "compare_settings".to_owned(),
        arguments: json!({"metric": "signups"}),
    };
    let called = Ok(Completion {
        tool_calls: vec![call],
        ..Completion::default()
    });
    let strategy = |pace: u32| {
        let knobs = json!({"boldness": 0.6, "pace": pace});
        json!({"strategy": {"schedule": [], "rationale": "Bolder went with more.", "knobs": knobs}})
    };
    let model = Scripted::answers([called, says(&strategy(3)), says(&strategy(2))]);
    let world = world(Arc::new(model.clone())).await;
    let output = world.ask("strategy", strategy::PLAN, plan()).await.output();
    let knobs = json!({"boldness": 0.6, "pace": {"min": 0, "max": 2, "value": 2}});
    assert_eq!(output["strategy"]["knobs"], knobs);
    assert_eq!(output["analysis"]["comparisons"][0]["posts"], 10);
    let requests = model.requests();
    insta::assert_snapshot!("what_a_strategist_is_told", shown(&requests[0]));
    let reason = requests[2].data("rejected").expect("it was rejected");
    assert!(
        reason.to_string().contains("not between 0 and 2"),
        "{reason}"
    );
}

/// spec: ORC-3.1, ORC-5.1
#[tokio::test]
async fn nothing_of_who_asks_reaches_the_model_but_the_words_and_the_payload() {
    let draft = json!({"draft": {"text": "Yes."}});
    let model = Scripted::answers([says(&json!("hello")), says(&draft)]);
    let world = world(Arc::new(model.clone())).await;
    let canary = "canary-7c1e";
    let earlier = Delegation::to("writer")
        .context_id("c")
        .text(format!("remember {canary}"));
    world.delegate(earlier).await;
    let asked = Delegation::to("writer")
        .capability(writer::WRITE)
        .context_id("c")
        .text("Write it")
        .payload(json!({"writerBrief": "Say yes."}));
    world.delegate(asked).await.output();
    let request = &model.requests()[1];
    assert!(!format!("{request:?}").contains(canary), "{request:?}");
    let users = request
        .messages
        .iter()
        .filter(|m| m.role == PromptRole::User);
    assert_eq!(users.count(), 1);
}

#[tokio::test]
async fn a_grant_that_does_not_suffice_ends_the_task_and_what_was_used_is_told() {
    let world = world(Arc::new(Scripted::answers([]))).await;
    let asked = Delegation::to("writer")
        .capability(writer::WRITE)
        .text("Write it")
        .payload(json!({"writerBrief": "Say yes."}))
        .budget(Budget {
            tokens: Some(50),
            ..Budget::default()
        });
    let watched = world.delegate(asked).await;
    assert_eq!(watched.outcome.state, TaskState::Failed);
    assert!(
        watched.outcome.error.contains("budget of 50 tokens"),
        "{}",
        watched.outcome.error
    );
    assert_eq!(watched.outcome.spent, Some(Spent::default()));
}

#[tokio::test]
async fn cancelling_the_task_stops_the_model() {
    let model = Scripted::answers([]).delay(Duration::from_secs(3_600));
    let world = world(Arc::new(model.clone())).await;
    let asked = Delegation::to("writer")
        .capability(writer::WRITE)
        .text("Write it")
        .payload(json!({"writerBrief": "Say yes."}));
    let pending = world
        .client
        .delegate(asked)
        .await
        .expect("the hub takes it");
    let asked = async {
        while model.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .expect("the model is asked");
    pending
        .cancel("not wanted")
        .await
        .expect("the hub takes it");
    let outcome = tokio::time::timeout(Duration::from_secs(20), pending.outcome());
    let outcome = outcome.await.expect("in time").expect("an outcome");
    assert_eq!(outcome.state, TaskState::Cancelled);
}

/// spec: ORC-5.2
#[tokio::test]
async fn the_cards_say_what_is_taken_and_given_and_in_which_phase() {
    let world = offline().await;
    let mut told = Vec::new();
    for name in ["strategy", "writer"] {
        let entry = world.client.agent(name).await.expect("it is registered");
        let card: AgentCard = entry.agent_card.expect("a card");
        for (skill, contract) in contracts(&card) {
            let required = |schema: Option<Value>| schema.expect("a schema")["required"].take();
            told.push((
                skill,
                contract.phase,
                required(contract.input),
                required(contract.output),
            ));
        }
    }
    let expected = [
        (
            "plan.strategy",
            Phase::Analysis,
            json!(["brief"]),
            json!(["strategy", "analysis"]),
        ),
        (
            "content.brief",
            Phase::Generation,
            json!(["clientBrief"]),
            json!(["brief"]),
        ),
        (
            "content.write",
            Phase::Generation,
            json!(["writerBrief"]),
            json!(["draft"]),
        ),
    ];
    assert_eq!(
        told,
        expected.map(|(skill, phase, takes, gives)| (skill.to_owned(), phase, takes, gives))
    );
}
