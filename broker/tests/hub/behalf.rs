//! On whose behalf agents act, over real sockets: issue 25, "a task carries the principal who asked first and the chain since; what an agent may
//! do in it is what it *and* that principal may".

mod seen;

use agenthub_proto::{
    a2a::{Task, TaskState},
    agenthub::{
        AgentEventMetadata, AgentFrame, Durability, GetTaskRequest, Publish,
        PublishTaskUpdateRequest, SubscribeToMessagesRequest, publish::Payload,
    },
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use crate::{
    access::{Guarded, with},
    harness::{routing, status, user, within, work},
    peer::hello,
};

/// Alice may not send to `payments`; `lead` sends only within tasks.
const POLICY: &str = r#"
    [principals.alice]
    roles = ["user"]
    deny = ["send:payments"]

    [principals.bob]
    roles = ["user"]

    [principals.lead]
    roles = ["worker"]

    [principals.payments]
    roles = ["agent"]
"#;

struct Scene {
    hub: Guarded,
    alice: String,
    bob: String,
    lead: String,
    payments: String,
}

impl Scene {
    async fn new() -> Self {
        let hub = Guarded::with_policy(POLICY).await;
        Self {
            alice: hub.join("alice").await,
            bob: hub.join("bob").await,
            lead: hub.join("lead").await,
            payments: hub.join("payments").await,
            hub,
        }
    }

    /// Publishes a message that begins a task.
    async fn ask(
        &self,
        token: &str,
        from: &str,
        to: &str,
        task: &str,
        parent: &str,
    ) -> Result<(), Status> {
        let routing = AgentEventMetadata {
            parent_task_id: parent.to_owned(),
            ..routing(from, to)
        };
        self.hub.publish(token, work(task, "do it"), routing).await
    }

    async fn task(&self, token: &str, id: &str) -> Task {
        let request = GetTaskRequest {
            task_id: id.to_owned(),
            history_length: 0,
        };
        let mut client = self.hub.client.clone();
        let task = within(client.get_task(with(token, request))).await;
        task.expect("it may be seen").into_inner()
    }

    async fn end(&self, token: &str, from: &str, task: &str) {
        let request = PublishTaskUpdateRequest {
            update: Some(status(task, TaskState::Completed)),
            routing: Some(routing(from, "")),
        };
        let mut client = self.hub.client.clone();
        let ended = within(client.publish_task_update(with(token, request))).await;
        assert!(ended.expect("it is its own").into_inner().success);
    }
}

/// On whose behalf a task was asked for, and through whom.
fn behalf(task: &Task) -> (String, Vec<String>) {
    (task.on_behalf_of().to_owned(), task.chain())
}

fn refused(result: Result<(), Status>, words: &str) {
    let status = result.expect_err(words);
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    assert!(status.message().contains(words), "{status}");
}

#[tokio::test]
async fn an_agent_may_do_in_a_task_what_it_and_the_principal_may_who_asked_first() {
    let mut scene = Scene::new().await;
    for (token, from, task) in [(&scene.alice, "alice", "a1"), (&scene.bob, "bob", "b1")] {
        scene
            .ask(token, from, "lead", task, "")
            .await
            .expect("sent");
    }
    let alices = behalf(&scene.task(&scene.alice, "a1").await);
    assert_eq!(alices, ("alice".to_owned(), vec![]));

    let words = r#""lead" may not send to "payments" on behalf of "alice": of "alice": principal alice denies send:payments"#;
    let lead = &scene.lead;
    refused(scene.ask(lead, "lead", "payments", "a2", "a1").await, words);
    scene
        .ask(lead, "lead", "payments", "b2", "b1")
        .await
        .expect("bob may");
    scene
        .ask(lead, "lead", "bob", "a3", "a1")
        .await
        .expect("alice may");
    // Not in its own name: it sends only within tasks.
    refused(
        scene.ask(lead, "lead", "bob", "x", "").await,
        "no rule allows send:bob (roles: worker)",
    );
    // A task that it begins with itself gives it no more.
    let own = scene.ask(lead, "lead", "lead", "own", "").await;
    own.expect("it may have runs of its own");
    refused(
        scene.ask(lead, "lead", "bob", "x", "own").await,
        "no rule allows send:bob (roles: worker)",
    );
    let bobs = behalf(&scene.task(lead, "b2").await);
    assert_eq!(bobs, ("bob".to_owned(), vec!["lead".into()]));

    // Messages without a task, and what is added to a task of one's own for a third agent.
    let within_a1 = AgentEventMetadata {
        parent_task_id: "a1".to_owned(),
        ..routing("lead", "payments")
    };
    refused(scene.hub.publish(lead, user("pay"), within_a1).await, words);
    let third = routing("lead", "payments");
    refused(
        scene.hub.publish(lead, work("a1", "pay"), third).await,
        words,
    );
    let mut update = PublishTaskUpdateRequest {
        update: Some(status("a1", TaskState::Working)),
        routing: Some(routing("lead", "payments")),
    };
    let mut client = scene.hub.client.clone();
    let told = within(client.publish_task_update(with(lead, update.clone()))).await;
    refused(told.map(drop), words);
    update.routing = Some(routing("lead", "alice"));
    let told = within(client.publish_task_update(with(lead, update))).await;
    told.expect("she asked for it");

    scene.hub.restart().await;
    let lead = &scene.lead;
    refused(scene.ask(lead, "lead", "payments", "a4", "a1").await, words);
    assert_eq!(behalf(&scene.task(lead, "b2").await), bobs);
    assert_eq!(behalf(&scene.task(&scene.alice, "a1").await), alices);
}

#[tokio::test]
async fn nobody_names_a_principal_or_a_task_of_others() {
    let scene = Scene::new().await;
    scene
        .ask(&scene.bob, "bob", "lead", "b1", "")
        .await
        .expect("sent");
    let claimed = AgentEventMetadata {
        on_behalf_of: "bob".to_owned(),
        ..routing("alice", "lead")
    };
    refused(
        scene
            .hub
            .publish(&scene.alice, work("a1", "pay"), claimed)
            .await,
        "may not say on whose behalf it acts: no rule allows impersonate",
    );
    let chained = AgentEventMetadata {
        chain: vec!["bob".to_owned()],
        on_behalf_of: "alice".to_owned(),
        ..routing("alice", "lead")
    };
    scene
        .hub
        .publish(&scene.alice, work("a1", "hi"), chained)
        .await
        .expect("it is her");
    let shown = behalf(&scene.task(&scene.alice, "a1").await);
    assert_eq!(shown, ("alice".to_owned(), vec![]));

    // A foreign task and one that does not exist give the same answer.
    for parent in ["b1", "b9"] {
        let asked = scene
            .ask(&scene.payments, "payments", "lead", "p1", parent)
            .await;
        let words = format!("\"payments\" is no party of a task \"{parent}\"");
        refused(asked, &words);
    }
    scene.end(&scene.lead, "lead", "a1").await;
    let late = scene.ask(&scene.lead, "lead", "bob", "a2", "a1").await;
    late.expect("it has just ended");
}

#[tokio::test]
async fn whom_one_may_not_send_to_is_not_reached_by_ability_or_by_topic() {
    let scene = Scene::new().await;
    let unaddressed = |from: &str| AgentEventMetadata {
        subscriptions: vec!["pay".to_owned()],
        ..routing(from, "")
    };
    // Nobody is able, so that it would go to whoever subscribes.
    refused(
        scene
            .hub
            .publish(&scene.alice, user("pay"), unaddressed("alice"))
            .await,
        r#""alice" may not send to whoever subscribes: principal alice denies send:payments"#,
    );
    let said = scene
        .hub
        .publish(&scene.bob, user("pay"), unaddressed("bob"))
        .await;
    said.expect("bob may send to all");
}

/// Plain messages are passed on without being decoded.
#[tokio::test]
async fn a_message_without_a_task_says_who_sent_it() {
    let scene = Scene::new().await;
    let request = SubscribeToMessagesRequest {
        agent_id: "bob".to_owned(),
        ..Default::default()
    };
    let mut client = scene.hub.client.clone();
    let subscribed = within(client.subscribe_to_messages(with(&scene.bob, request))).await;
    let mut events = subscribed.expect("it is him").into_inner();
    let (frames, sent) = tokio::sync::mpsc::channel(4);
    let publish = |(sequence, durability): (u64, Durability)| Publish {
        sequence,
        payload: Some(Payload::Message(user(&format!("hello {sequence}")))),
        routing: Some(AgentEventMetadata {
            durability: durability.into(),
            ..routing("", "bob")
        }),
        ..Default::default()
    };
    let durabilities = [(1, Durability::Unspecified), (2, Durability::Memory)];
    let first = AgentFrame {
        hello: Some(hello("alice", "1", vec![])),
        publish: durabilities.map(publish).to_vec(),
        ..Default::default()
    };
    frames.send(first).await.expect("there is room");
    let stream = client.connect(with(&scene.alice, ReceiverStream::new(sent)));
    let _stream = within(stream).await.expect("its own").into_inner();
    for _ in durabilities {
        let event = within(events.message()).await.expect("open").expect("one");
        let routing = event.routing.unwrap_or_default();
        assert_eq!(routing.on_behalf_of, "alice");
    }
}
