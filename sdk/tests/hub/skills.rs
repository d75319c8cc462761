//! Skills with types: what a handler takes and gives.

use agenthub_sdk::{Agent, Card, Delegation, Error, Failure, Skill, internal::contracts, schemars};
use serde_json::{Value, json};

use crate::harness::{Hub, soon};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Numbers {
    /// The numbers to add up.
    numbers: Vec<f64>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: f64,
}

fn add() -> Skill<Numbers, Sum> {
    Skill::typed("add", "Add", "Adds numbers up")
}

#[tokio::test]
async fn a_skill_with_types_is_on_the_card_and_its_handler_gets_and_gives_data() {
    let hub = Hub::start().await;
    let divide = Skill::typed::<(f64, f64), f64>("divide", "Divide", "Divides two numbers");
    let shout = Skill::new("shout", "Shout", "Says it in capitals");
    let agent = Agent::worker(Card::new("helper", "Helps").skill(&shout))
        .on(&shout, async |_, text| text.to_uppercase())
        .on(&add(), async |_, input| Sum {
            sum: input.numbers.iter().sum(),
        })
        .on(&divide, async |_, (a, b)| match b {
            0.0 => Err(Failure::failed("nothing is divided by 0")),
            _ => Ok(a / b),
        });
    let card = agent.card();
    assert_eq!(card.skills.len(), 3, "each once");
    let add = &contracts(card)["add"];
    let takes = add.input.as_ref().expect("a schema");
    let described = &takes["properties"]["numbers"]["description"];
    assert_eq!(described, "The numbers to add up.");
    assert_eq!(
        add.output.as_ref().expect("a schema")["required"],
        json!(["sum"])
    );

    let _agent = agent.start(hub.url()).await.expect("it starts");
    let client = hub.client().await;
    let ask = async |skill: &str, data: Option<Value>, text: &str| {
        let mut delegation = Delegation::to("helper").capability(skill).text(text);
        delegation.payload = data;
        let pending = client.delegate(delegation).await.expect("it is taken");
        let outcome = soon(pending.outcome()).await.expect("an outcome");
        let data = outcome.message.as_ref().and_then(|m| m.data().next());
        (outcome.state.label(), data, outcome.text, outcome.error)
    };
    let data = |answer: &(_, Option<Value>, String, String)| answer.1.clone();
    let summed = ask("add", Some(json!({"numbers": [1.5, 2.0]})), "").await;
    assert_eq!(data(&summed), Some(json!({"sum": 3.5})));
    let of_text = ask("add", None, r#"{"numbers": [0.5]}"#).await;
    assert_eq!(data(&of_text), Some(json!({"sum": 0.5})));
    let shouted = ask("shout", None, "hello").await;
    assert_eq!(shouted.2, "HELLO");
    let failed = ask("divide", None, "[1.0, 0.0]").await;
    assert_eq!(
        (failed.0, &*failed.3),
        ("failed", "nothing is divided by 0")
    );

    for (given, why) in [
        (Some(json!({"numbers": "many"})), "expected a sequence"),
        (None, "there is none"),
    ] {
        let refused = ask("add", given, "one and two").await;
        assert_eq!(refused.0, "rejected", "{refused:?}");
        assert!(refused.3.contains(why), "{refused:?}");
    }
}

#[test]
fn a_schema_for_a_skill_that_is_not_there_is_an_error_at_build() {
    let card = Card::new("helper", "Helps")
        .skill(add())
        .input_schema("ad", json!({"type": "object"}));
    let built = Agent::worker(card)
        .on(&add(), async |_, _| Sum { sum: 0.0 })
        .build();
    let Err(Error::Invalid(why)) = built else {
        panic!("it was built");
    };
    assert!(
        why.contains("for the skill \"ad\", which is not on it"),
        "{why}"
    );
}

#[tokio::test]
async fn an_agent_runs_until_it_is_to_end_and_ends_what_it_has_in_hand() {
    let hub = Hub::start().await;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let slow = Skill::new("slow", "Slow", "Takes its time");
    let begun = std::sync::Arc::new(tokio::sync::Notify::new());
    let begins = begun.clone();
    let agent = Agent::worker(Card::new("helper", "Helps")).on(&slow, move |_, text| {
        let begins = begins.clone();
        async move {
            begins.notify_one();
            tokio::task::yield_now().await;
            text
        }
    });
    let running = tokio::spawn(agent.run_until(hub.url(), ended));
    let client = hub.client().await;
    let asked = Delegation::to("helper").capability("slow").text("done");
    let pending = client.delegate(asked).await.expect("it is taken");
    soon(begun.notified()).await;
    end.send(()).expect("it runs");
    let stopped = soon(running).await.expect("it does not panic");
    assert_eq!(stopped, Ok(()));
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.text, "done");
}
