//! Agents whose skills answer with data.

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Delegation, Form, Skill,
    model::{Output, Scripted},
    proto::a2a::{Message, TaskState},
    runs::Budget,
};
use serde_json::{Value, json};

use crate::harness::{ask, calls, delegate, hub, says, script, sum, url, user};

#[derive(Debug)]
struct Poem;

impl Form for Poem {
    fn schema(&self) -> Value {
        let text = json!({"type": "string", "minLength": 1});
        json!({"type": "object", "properties": {"poem": text}, "required": ["poem"], "additionalProperties": false})
    }

    fn shown(&self, mut input: Value) -> Value {
        input["secret"].take();
        input
    }

    fn material(&self, input: &Value) -> Vec<(String, Value)> {
        vec![(
            "length".to_owned(),
            json!(input["secret"].to_string().len()),
        )]
    }

    fn accept(&self, input: &Value, answer: Value) -> Result<Value, String> {
        let about = input["about"].as_str().unwrap_or_default();
        match answer["poem"].as_str() {
            Some(poem) if poem.contains(about) => Ok(answer),
            _ => Err(format!("it is not about {about}")),
        }
    }

    fn told(&self, output: &Value) -> String {
        output["poem"].as_str().unwrap_or_default().to_owned()
    }

    fn growing(&self) -> Option<&str> {
        Some("/poem")
    }
}

fn poet(model: &Scripted) -> AgentBuilder {
    let about = json!({"about": {"type": "string"}});
    let takes = json!({"type": "object", "properties": about, "required": ["about"]});
    let skill = Skill::new("write.poem", "Poems", "Writes poems");
    let card = Card::new("poet", "Writes").skill(skill);
    Agent::worker(card.input_schema("write.poem", takes))
        .model(model.clone())
        .form("write.poem", Poem)
}

fn about(payload: Value) -> Delegation {
    Delegation::to("poet")
        .capability("write.poem")
        .text("a poem, please")
        .payload(payload)
}

/// spec: ORC-5.2, ORC-9
#[tokio::test]
async fn an_answer_is_mended_and_then_told_in_words_and_as_data() {
    let hub = hub().await;
    let model = script([
        says("Roses are red"),
        says("{\"poem\": \"Roses are red\"}"),
        says("{\"poem\": \"The sea\\nis wide\"}"),
    ]);
    let _poet = poet(&model).start(url(&hub)).await.expect("it starts");
    let asked = delegate(&user(&hub).await, about(json!({"about": "sea"}))).await;
    let watched = asked.expect("there is an outcome");
    let outcome = &watched.outcome;
    assert_eq!(
        (outcome.state, &*outcome.text),
        (TaskState::Completed, "The sea\nis wide")
    );
    let message = outcome.message.as_ref().map(Message::data);
    let data: Vec<Value> = message.expect("a message").collect();
    assert_eq!(data, [json!({"poem": "The sea\nis wide"})]);
    assert_eq!(watched.grown, "The sea\nis wide", "the last one grew alone");
    assert_eq!(outcome.spent.expect("it tells").calls, 3);

    let reasons = |request: usize| model.requests()[request].data("rejected").cloned();
    assert_eq!(reasons(0), None);
    let reason = reasons(1).expect("a reason")["reason"].to_string();
    assert!(reason.contains("no JSON"), "{reason}");
    assert_eq!(reasons(2), Some(json!({"reason": "it is not about sea"})));
    let named =
        |output: &Output| matches!(output, Output::Json { name, .. } if name == "write_poem");
    assert!(model.requests().iter().all(|r| named(&r.output)));
}

#[tokio::test]
async fn the_form_decides_what_the_model_is_shown() {
    let hub = hub().await;
    let model = script([says("{\"poem\": \"sea\"}")]);
    let _poet = poet(&model).start(url(&hub)).await.expect("it starts");
    let payload = json!({"about": "sea", "secret": "hunter2"});
    let asked = delegate(&user(&hub).await, about(payload)).await;
    assert!(asked.expect("there is an outcome").outcome.is_completed());
    let request = &model.requests()[0];
    let shown = json!({"about": "sea", "secret": null});
    assert_eq!(request.data("input"), Some(&shown));
    assert_eq!(request.data("length"), Some(&json!(9)));
}

/// spec: ORC-9
#[tokio::test]
async fn an_answer_that_stays_wrong_fails_the_task_with_the_reason() {
    let hub = hub().await;
    let model = script([says("{}"), says("{}"), says("{}"), says("{}")]);
    let _poet = poet(&model).start(url(&hub)).await.expect("it starts");
    let asked = delegate(&user(&hub).await, about(json!({"about": "sea"}))).await;
    let outcome = asked.expect("there is an outcome").outcome;
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(
        outcome.error.contains("\"poem\" is a required property"),
        "{}",
        outcome.error
    );
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn data_that_does_not_fit_is_refused_before_the_model_is_asked() {
    let hub = hub().await;
    let model = script([]);
    let _poet = poet(&model).start(url(&hub)).await.expect("it starts");
    let asked = delegate(&user(&hub).await, about(json!({"about": 3}))).await;
    let outcome = asked.expect("there is an outcome").outcome;
    assert_eq!(outcome.state, TaskState::Rejected);
    assert!(outcome.error.contains("at \"/about\""), "{}", outcome.error);
    assert_eq!(model.requests().len(), 0);
}

/// spec: ORC-3.1
#[tokio::test]
async fn who_only_talks_is_answered_in_words() {
    let hub = hub().await;
    let model = script([says("I write poems."), says("Gladly.")]);
    let _poet = poet(&model).start(url(&hub)).await.expect("it starts");
    let user = user(&hub).await;
    let watched = ask(&user, "poet", "who are you?").await;
    assert_eq!(
        (&*watched.outcome.text, &*watched.grown),
        ("I write poems.", "I write poems.")
    );
    let asked = delegate(&user, about(json!({"text": "hello"}))).await;
    assert_eq!(asked.expect("there is an outcome").outcome.text, "Gladly.");
    assert!(model.requests().iter().all(|r| r.output == Output::Text));
}

#[tokio::test]
async fn tools_come_first_and_mending_counts_against_the_budget() {
    let hub = hub().await;
    let model = script([
        calls([("sum", json!({"numbers": [1]}))]),
        says("{\"poem\": \"\"}"),
        says("{\"poem\": \"sea\"}"),
    ]);
    let budget = Budget {
        calls: Some(3),
        ..Budget::default()
    };
    let poet = poet(&model).tool(sum()).budget(budget);
    let _poet = poet.start(url(&hub)).await.expect("it starts");
    let asked = delegate(&user(&hub).await, about(json!({"about": "sea"}))).await;
    let outcome = asked.expect("there is an outcome").outcome;
    assert_eq!(outcome.state, TaskState::Failed);
    assert!(
        outcome.error.contains("budget of 3 calls"),
        "{}",
        outcome.error
    );
    assert_eq!(model.requests().len(), 2);
}
