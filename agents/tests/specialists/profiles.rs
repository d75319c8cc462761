//! The profile of who speaks, with keys that no code knows, on its way from a request to the draft and its review.

use std::sync::Arc;

use agenthub_agents::{qa, writer};
use agenthub_sdk::model::{Output, Request, Scripted};
use serde_json::{Value, json};

use crate::world::{offline, says, world};

fn profile() -> Value {
    json!({
        "name": "Garden of the Lindens",
        "what": "Forty plots behind the school.",
        "tone": ["warm", "a little dry"],
        "values": ["no hurry"],
        "instructions": "Speaks as a neighbour would.",
        "shoeSize": {"left": 43},
    })
}

/// spec: ORC-2.2, ORC-5.2
#[tokio::test]
async fn a_brief_keeps_the_whole_profile_whoever_makes_it() {
    let request = json!({"clientBrief": "The garden opens. Come by.", "clientProfile": profile()});
    let model = Scripted::from_completion_fn(|_| {
        says(&json!({"brief": {"description": "It opens.", "clientProfile": {"tone": "loud"}}}))
    });
    for world in [offline().await, world(Arc::new(model)).await] {
        let output = world
            .ask("writer", writer::BRIEF, request.clone())
            .await
            .output();
        assert_eq!(output["brief"]["clientProfile"], profile(), "{output}");
    }
}

/// What a model was told as the input of a task.
fn input(request: &Request) -> &Value {
    request.data("input").expect("an input")
}

/// spec: ORC-2.2, ORC-5.2
#[tokio::test]
async fn who_writes_and_who_reviews_are_told_the_whole_profile() {
    let model = Scripted::from_completion_fn(|request| match &request.output {
        Output::Json { schema, .. } if schema["properties"]["draft"].is_object() => {
            says(&json!({"draft": {"text": "BUY NOW! The garden opens."}}))
        }
        _ => says(&json!({
            "verdicts": [{
                "id": "profile", "verdict": "fail", "score": 0.1, "quote": "BUY NOW!",
                "reason": "A neighbour does not shout", "advice": "Say it calmly.",
            }],
            "knobs": [],
        })),
    });
    let asked = model.clone();
    let world = world(Arc::new(model)).await;
    let request = json!({"writerBrief": "The garden opens.", "clientProfile": profile()});
    let draft = world.ask("writer", writer::WRITE, request).await.output();
    let request = json!({"draft": draft["draft"], "clientProfile": profile()});
    let review = world.ask("qa", qa::REVIEW, request).await.output();
    for request in asked.requests() {
        assert_eq!(input(&request)["clientProfile"], profile());
    }
    let checks = review["qa"]["checks"].as_array().expect("checks");
    let tone = checks.iter().find(|check| check["id"] == "profile");
    let tone = tone.expect("the profile is judged");
    assert_eq!(tone["verdict"], "fail", "{tone}");
    let issues = review["qa"]["issues"].to_string();
    assert!(issues.contains("Say it calmly"), "{issues}");
}

/// spec: ORC-2.2
#[tokio::test]
async fn without_a_model_the_profile_is_not_judged_and_without_a_profile_there_is_no_question() {
    let world = offline().await;
    let review = async |payload: Value| {
        let output = world.ask("qa", qa::REVIEW, payload).await.output();
        let checks = output["qa"]["checks"].as_array().expect("checks").clone();
        checks.into_iter().find(|check| check["id"] == "profile")
    };
    let draft = "The garden opens on Saturday.";
    let found = review(json!({"draft": draft, "clientProfile": profile()})).await;
    assert_eq!(found.expect("a check")["verdict"], "not_checked");
    assert_eq!(review(json!({"draft": draft})).await, None);
}
