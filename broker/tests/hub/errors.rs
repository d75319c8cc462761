//! Responses to invalid requests.

use agenthub_proto::{
    a2a::{AgentCard, Artifact, Message, Part, Role, TaskState},
    agenthub::{
        AgentEventMetadata, CancelTaskRequest, GetAgentRequest, GetTaskRequest, ListAgentsRequest,
        ListTasksRequest, PublishMessageRequest, PublishTaskArtifactRequest,
        PublishTaskUpdateRequest, RegisterAgentRequest, SubscribeToAgentEventsRequest,
        SubscribeToMessagesRequest, SubscribeToTasksRequest, TaskArtifactUpdateEvent,
        TaskStatusUpdateEvent, UnregisterAgentRequest,
    },
    json,
};
use serde_json::json;
use tonic::{Response, Status};

use crate::harness::{TestHub, artifact, card, routing, status, timed, user, work};

/// A response as a row of the table.
fn shown<T>(answer: Result<Response<T>, Status>, of: impl Fn(&T) -> (bool, &str)) -> String {
    match answer {
        Ok(answer) => match of(answer.get_ref()) {
            (true, _) => "accepted".to_owned(),
            (false, error) => format!("OK, success=false: {error}"),
        },
        Err(status) => format!("{:?}: {}", status.code(), status.message()),
    }
}

fn refused<T>(answer: Result<Response<T>, Status>) -> String {
    shown(answer, |_| (true, ""))
}

struct Table(TestHub, Vec<String>);

impl Table {
    fn add(&mut self, what: &str, answer: &str) {
        self.1.push(format!("{what:<48} {answer}"));
    }

    async fn message(
        &mut self,
        what: &str,
        message: Option<Message>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishMessageRequest { message, routing };
        let answer = self.0.client.publish_message(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    async fn update(
        &mut self,
        what: &str,
        update: Option<TaskStatusUpdateEvent>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishTaskUpdateRequest { update, routing };
        let answer = self.0.client.publish_task_update(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    async fn artifact(
        &mut self,
        what: &str,
        artifact: Option<TaskArtifactUpdateEvent>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishTaskArtifactRequest { artifact, routing };
        let answer = self.0.client.publish_task_artifact(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    async fn register(&mut self, what: &str, agent_card: Option<AgentCard>) {
        let request = RegisterAgentRequest {
            agent_card,
            ..Default::default()
        };
        let answer = self.0.client.register_agent(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    async fn cancel(&mut self, what: &str, task: &str) {
        let request = CancelTaskRequest {
            task_id: task.to_owned(),
            ..Default::default()
        };
        let answer = self.0.client.cancel_task(timed(request)).await;
        self.add(what, &refused(answer));
    }
}

/// spec: HUB-6.1
#[tokio::test]
async fn what_is_missing_is_said_as_older_clients_expect_it() {
    let hub = TestHub::start().await;
    hub.register(card("worker"), &[]).await;
    for (task, state) in [
        ("completed", TaskState::Completed),
        ("failed", TaskState::Failed),
        ("cancelled", TaskState::Cancelled),
    ] {
        hub.publish(work(task, "go"), routing("asker", "worker"))
            .await;
        hub.report("worker", task, state).await;
    }
    hub.publish(work("open", "go"), routing("asker", "worker"))
        .await;

    let mut t = Table(hub, Vec::new());
    let asker = || Some(routing("asker", ""));
    t.message("message: none", None, asker()).await;
    t.message("message: neither message nor routing", None, None)
        .await;
    let nameless = Message {
        message_id: String::new(),
        ..user("hi")
    };
    t.message("message: no message_id", Some(nameless.clone()), asker())
        .await;
    t.message("message: no message_id, no routing", Some(nameless), None)
        .await;
    t.message("message: no routing", Some(user("hi")), None)
        .await;
    t.message(
        "message: task has ended",
        Some(work("completed", "more")),
        asker(),
    )
    .await;
    t.message(
        "message: context is another than the task's",
        Some(Message {
            context_id: "other".into(),
            ..work("open", "more")
        }),
        asker(),
    )
    .await;
    t.update("update: none", None, asker()).await;
    t.update(
        "update: no routing",
        Some(status("open", TaskState::Working)),
        None,
    )
    .await;
    t.update(
        "update: no task_id",
        Some(status("", TaskState::Working)),
        asker(),
    )
    .await;
    t.update(
        "update: unknown task",
        Some(status("nix", TaskState::Working)),
        asker(),
    )
    .await;
    t.update(
        "update: no state",
        Some(status("open", TaskState::Unspecified)),
        Some(routing("worker", "")),
    )
    .await;
    t.update(
        "update: by a stranger",
        Some(status("open", TaskState::Working)),
        Some(routing("stranger", "")),
    )
    .await;
    t.update(
        "update: completed becomes working",
        Some(status("completed", TaskState::Working)),
        Some(routing("worker", "")),
    )
    .await;
    t.artifact("artifact: none", None, asker()).await;
    t.artifact("artifact: no routing", Some(artifact("open", "x")), None)
        .await;
    t.artifact(
        "artifact: without the artifact",
        Some(TaskArtifactUpdateEvent {
            artifact: None,
            ..artifact("open", "x")
        }),
        Some(routing("worker", "")),
    )
    .await;
    t.artifact(
        "artifact: unknown task",
        Some(artifact("nix", "x")),
        asker(),
    )
    .await;
    t.register("register: no card", None).await;
    t.register("register: no name", Some(AgentCard::default()))
        .await;
    t.register("register: another agent's slug", Some(card("Worker")))
        .await;
    t.register("register: a route word", Some(card("agents")))
        .await;
    t.cancel("cancel: unknown", "nix").await;
    for task in ["completed", "failed", "cancelled"] {
        t.cancel(&format!("cancel: {task}"), task).await;
    }
    insta::assert_snapshot!(t.1.join("\n"));
}

/// spec: HUB-6.1
#[tokio::test]
async fn questions_that_have_no_answer_say_why() {
    let mut t = Table(TestHub::start().await, Vec::new());
    let mut c = t.0.client.clone();
    let task = |task_id: &str| GetTaskRequest {
        task_id: task_id.into(),
        history_length: 0,
    };
    t.add(
        "get task: unknown",
        &refused(c.get_task(timed(task("nix"))).await),
    );
    t.add(
        "get task: no id",
        &refused(c.get_task(timed(task(""))).await),
    );
    let agent = GetAgentRequest {
        agent_id: "nix".into(),
    };
    t.add(
        "get agent: unknown",
        &refused(c.get_agent(timed(agent)).await),
    );
    let agent = UnregisterAgentRequest {
        agent_id: "nix".into(),
        ..Default::default()
    };
    t.add(
        "unregister: unknown",
        &refused(c.unregister_agent(timed(agent)).await),
    );
    for (what, request) in [
        (
            "list tasks: page_size",
            ListTasksRequest {
                page_size: -1,
                ..Default::default()
            },
        ),
        (
            "list tasks: page_token",
            ListTasksRequest {
                page_token: "?".into(),
                ..Default::default()
            },
        ),
        (
            "list tasks: states",
            ListTasksRequest {
                states: vec![99],
                ..Default::default()
            },
        ),
    ] {
        t.add(what, &refused(c.list_tasks(timed(request)).await));
    }
    for (what, request) in [
        (
            "list agents: page_size",
            ListAgentsRequest {
                page_size: -1,
                ..Default::default()
            },
        ),
        (
            "list agents: state",
            ListAgentsRequest {
                state: 99,
                ..Default::default()
            },
        ),
    ] {
        t.add(what, &refused(c.list_agents(timed(request)).await));
    }
    let nobody = SubscribeToMessagesRequest::default();
    t.add(
        "messages: no agent_id",
        &refused(c.subscribe_to_messages(timed(nobody)).await),
    );
    let nobody = SubscribeToTasksRequest::default();
    t.add(
        "tasks: no agent_id",
        &refused(c.subscribe_to_tasks(timed(nobody)).await),
    );
    let unknown = SubscribeToTasksRequest {
        agent_id: "a".into(),
        states: vec![99],
        ..Default::default()
    };
    t.add(
        "tasks: states",
        &refused(c.subscribe_to_tasks(timed(unknown)).await),
    );
    let nobody = SubscribeToAgentEventsRequest::default();
    t.add(
        "agent events: no agent_id",
        &refused(c.subscribe_to_agent_events(timed(nobody)).await),
    );
    for (what, after) in [
        ("messages: after is no position", "garbage"),
        ("messages: after another log", "00000000-1"),
    ] {
        let request = SubscribeToMessagesRequest {
            agent_id: "a".into(),
            after: after.into(),
            ..Default::default()
        };
        t.add(
            what,
            &refused(c.subscribe_to_messages(timed(request)).await),
        );
    }
    insta::assert_snapshot!(t.1.join("\n"));
}

/// Limits of a message, a card and an envelope, each with the maximum valid value where that is easy to reach.
#[tokio::test]
async fn bounds_are_enforced_and_named() {
    let hub = TestHub::start().await;
    hub.publish(work("open", "go"), routing("asker", "worker"))
        .await;
    let mut t = Table(hub, Vec::new());
    let asker = || Some(routing("asker", ""));
    let sized = |bytes: usize| Message {
        message_id: "m".into(),
        content: vec![Part::text("x".repeat(bytes))],
        ..Default::default()
    };
    t.message(
        "1 MiB less 100 bytes",
        Some(sized(1024 * 1024 - 100)),
        asker(),
    )
    .await;
    t.message("1 MiB of text", Some(sized(1024 * 1024)), asker())
        .await;
    let nested = |levels: usize| {
        let data = (1..levels).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }));
        Message {
            content: vec![Part::data(&data)],
            ..user("")
        }
    };
    t.message("content as deep as allowed", Some(nested(30)), asker())
        .await;
    t.message("content one level deeper", Some(nested(31)), asker())
        .await;
    t.message(
        "16 KiB of metadata",
        Some(user("").with_metadata("k", "x".repeat(16 * 1024))),
        asker(),
    )
    .await;
    t.message(
        "an id with a line break",
        Some(Message {
            message_id: "a\nb".into(),
            ..user("")
        }),
        asker(),
    )
    .await;
    t.message(
        "an id of 257 bytes",
        Some(Message {
            context_id: "x".repeat(257),
            ..user("")
        }),
        asker(),
    )
    .await;
    let hops = |hops| {
        Some(AgentEventMetadata {
            hops,
            ..routing("asker", "")
        })
    };
    t.message("16 hops", Some(user("")), hops(16)).await;
    t.message("17 hops", Some(user("")), hops(17)).await;
    let foreign = AgentEventMetadata {
        namespace: "theirs".into(),
        ..routing("asker", "")
    };
    t.message("another namespace", Some(user("")), Some(foreign))
        .await;
    let topics = AgentEventMetadata {
        subscriptions: vec!["x".repeat(1024); 16],
        ..routing("asker", "")
    };
    t.message("16 KiB of topics", Some(user("")), Some(topics))
        .await;
    let described = |bytes: usize| {
        Some(AgentCard {
            description: "x".repeat(bytes),
            ..card("big")
        })
    };
    t.register(
        "a card of 64 KiB less 200 bytes",
        described(64 * 1024 - 200),
    )
    .await;
    t.register("a card of more than 64 KiB", described(64 * 1024))
        .await;
    t.register("a name of 129 bytes", Some(card(&"x".repeat(129))))
        .await;
    let mut deep = status("open", TaskState::Working);
    if let Some(status) = &mut deep.status {
        status.update = Some(nested(31));
    }
    t.update(
        "a status with deep content",
        Some(deep),
        Some(routing("worker", "")),
    )
    .await;
    let mut many = artifact("open", "");
    many.artifact = Some(Artifact {
        metadata: Some(json::to_struct(&json!({ "k": "x".repeat(16 * 1024) }))),
        ..Default::default()
    });
    t.artifact(
        "an artifact with 16 KiB of metadata",
        Some(many),
        Some(routing("worker", "")),
    )
    .await;
    insta::assert_snapshot!(t.1.join("\n"));
}

/// A status is sent in a header, which is small: long texts are truncated.
#[tokio::test]
async fn a_long_id_is_quoted_in_part() {
    let hub = TestHub::start().await;
    let request = GetTaskRequest {
        task_id: "ä".repeat(20_000),
        history_length: 0,
    };
    let answer = hub.client.clone().get_task(timed(request)).await;
    assert_eq!(answer.expect_err("unknown").code(), tonic::Code::NotFound);
    let request = SubscribeToMessagesRequest {
        agent_id: "a".into(),
        after: "ä".repeat(20_000),
        ..Default::default()
    };
    let answer = hub
        .client
        .clone()
        .subscribe_to_messages(timed(request))
        .await;
    let status = answer.expect_err("no position");
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert!(status.message().ends_with('…'), "{}", status.message());
    let request = SubscribeToMessagesRequest {
        agent_id: "a".into(),
        contexts: vec!["c".into(); 1001],
        ..Default::default()
    };
    let answer = hub
        .client
        .clone()
        .subscribe_to_messages(timed(request))
        .await;
    let status = answer.expect_err("too much");
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
}

/// Accepted content can be read: the deepest valid nesting arrives in every form of an event.
#[tokio::test]
async fn the_deepest_content_reaches_every_kind_of_subscriber() {
    let hub = TestHub::start().await;
    let mut events = hub.agent_events("worker", &["message", "task"]).await;
    let mut peer = hub
        .connect(crate::peer::hello(
            "worker",
            "i",
            vec![crate::peer::durable("work", 9)],
        ))
        .await;
    let mut deepest = 0;
    for levels in 1..=40 {
        let data = (1..levels).fold(json!({"a": 1}), |inner, _| json!({ "a": inner }));
        let message = Message {
            content: vec![Part::data(&data)],
            task_id: format!("t{levels}"),
            ..Message::new(Role::User, "")
        };
        match hub.try_publish(message, routing("asker", "worker")).await {
            Err(_) => break,
            Ok(_) => deepest = levels,
        }
        assert_eq!(events.word().await, "message ");
        assert_eq!(
            events.word().await,
            format!("task submitted t{levels} 1"),
            "{levels} levels"
        );
        peer.give_credit(0, 2).await;
        peer.delivery().await;
        peer.delivery().await;
    }
    assert_eq!(deepest, 30, "the bound is what stops it");
}
