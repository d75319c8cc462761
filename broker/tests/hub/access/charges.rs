//! Models that are used without a task count for who asked first: issue 25, "quotas: … tokens and money a day".

use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::{Ack, AgentFrame, ChargeRequest, ChargeResponse, Publish, publish::Payload},
};
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{Guarded, with};
use crate::harness::{routing, user, within};

const POLICY: &str = r#"
    [principals.alice]
    roles = ["user"]

    [principals.worker]
    roles = ["agent"]

    [principals.root]
    roles = ["admin"]

    [quotas.principals.alice]
    tokens_per_day = 1000
    cost_micros_per_day = 9000
"#;

struct Scene {
    hub: Guarded,
    alice: String,
    worker: String,
    root: String,
}

impl Scene {
    async fn new() -> Self {
        let hub = Guarded::with_policy(POLICY).await;
        Self {
            alice: hub.join("alice").await,
            worker: hub.join("worker").await,
            root: hub.join("root").await,
            hub,
        }
    }

    async fn charge(&self, token: &str, tokens: u64, cost: u64) -> Result<ChargeResponse, Status> {
        let request = ChargeRequest {
            principal: "alice".to_owned(),
            tokens,
            cost_micros: cost,
        };
        let mut client = self.hub.client.clone();
        let left = within(client.charge(with(token, request))).await;
        left.map(tonic::Response::into_inner)
    }

    /// Tokens and cost that count for alice.
    async fn used(&self) -> (u64, u64) {
        let quotas = self.hub.quotas(&self.alice).await;
        assert_eq!(quotas.len(), 2, "{quotas:?}");
        (quotas[0].used, quotas[1].used)
    }
}

/// A message of an agent that says what models took for it.
fn answer(tokens: u64) -> Message {
    let usage = json!({"tokens": tokens, "costMicros": 2 * tokens});
    Message::new(Role::Agent, "done").with_metadata("usage", usage)
}

/// Parts of the hub have what they used count for a principal, are told what is left, and when nothing is.
#[tokio::test]
async fn a_part_of_the_hub_charges_a_principal() {
    let mut scene = Scene::new().await;
    let left = scene.charge(&scene.root, 0, 0).await.expect("all is left");
    assert_eq!(
        (left.tokens_left, left.cost_micros_left),
        (Some(1000), Some(9000))
    );
    let left = scene
        .charge(&scene.root, 700, 20)
        .await
        .expect("it is counted");
    assert_eq!(
        (left.tokens_left, left.cost_micros_left),
        (Some(300), Some(8980))
    );
    assert_eq!(scene.used().await, (700, 20));
    let over = scene.charge(&scene.root, 400, 0).await;
    assert_eq!(over.expect("what was used counts").tokens_left, Some(0));
    for round in 0..2 {
        let refused = scene
            .charge(&scene.root, 0, 0)
            .await
            .expect_err("nothing is left");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert!(refused.get_details_retry_info().is_some(), "{refused:?}");
        assert_eq!(scene.used().await, (1100, 20));
        // What models would work for is refused, with or without a task; an answer is not.
        for task in ["", "t"] {
            let refused = scene.hub.say(&scene.alice, "alice", "worker", task).await;
            let refused = refused.expect_err("nothing is left");
            let said = "a quota of 1000 tokens a day, and has 1100: come back in";
            assert!(refused.message().contains(said), "{refused:?}");
            assert!(refused.get_details_retry_info().is_some(), "{refused:?}");
        }
        if round == 0 {
            scene.hub.restart().await;
        }
    }
    let denied = scene.charge(&scene.worker, 1, 0).await;
    let denied = denied.expect_err("it may name nobody");
    assert_eq!(denied.code(), Code::PermissionDenied);
    assert!(denied.message().contains("impersonate"), "{denied:?}");
}

/// The use that an agent tells with its answer counts for who sent the message, once, and for nobody else.
#[tokio::test]
async fn an_answer_without_a_task_counts_for_who_asked() {
    let scene = Scene::new().await;
    let mut worker = scene.hub.peer(&scene.worker, "worker", 8).await;
    let mut alice = scene.hub.peer(&scene.alice, "alice", 8).await;
    let sent = alice.publish(user("think"), routing("", "worker")).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    let (note, event) = worker.delivery().await;
    let budget = event
        .routing
        .expect("an envelope")
        .budget
        .expect("a budget");
    assert_eq!(
        (budget.tokens, budget.cost_micros),
        (Some(1000), Some(9000))
    );
    // Told of nothing that it was given, it counts for nobody.
    let idle = worker.publish(answer(5), routing("", "alice")).await;
    assert_eq!(idle.code, 0, "{idle:?}");
    assert_eq!(scene.used().await, (0, 0));
    let publish = Publish {
        sequence: 7,
        payload: Some(Payload::Message(answer(150))),
        routing: Some(routing("", "alice")),
        ack: Some(Ack {
            subscription: note.subscription,
            position: vec![note.position.clone()],
        }),
        ack_since: 7,
    };
    for _ in 0..2 {
        let frame = AgentFrame {
            publish: vec![publish.clone()],
            ..Default::default()
        };
        worker.send(frame).await;
        assert_eq!(worker.result().await.code, 0);
    }
    assert_eq!(scene.used().await, (150, 300), "told twice, counted once");
}
