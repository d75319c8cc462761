//! Responses to invalid requests.

use agenthub_proto::{
    a2a::{AgentCard, Message, TaskState},
    agenthub::{
        AgentEventMetadata, CancelTaskRequest, GetAgentRequest, GetTaskRequest, ListAgentsRequest,
        ListTasksRequest, PublishMessageRequest, PublishTaskArtifactRequest,
        PublishTaskUpdateRequest, RegisterAgentRequest, SubscribeToAgentEventsRequest,
        SubscribeToMessagesRequest, SubscribeToTasksRequest, TaskArtifactUpdateEvent,
        TaskStatusUpdateEvent, UnregisterAgentRequest,
    },
};
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

pub(super) struct Table(pub(super) TestHub, pub(super) Vec<String>);

impl Table {
    pub(super) fn add(&mut self, what: &str, answer: &str) {
        self.1.push(format!("{what:<48} {answer}"));
    }

    pub(super) async fn message(
        &mut self,
        what: &str,
        message: Option<Message>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishMessageRequest {
            message,
            routing,
            ..Default::default()
        };
        let answer = self.0.client.publish_message(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    pub(super) async fn update(
        &mut self,
        what: &str,
        update: Option<TaskStatusUpdateEvent>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishTaskUpdateRequest { update, routing };
        let answer = self.0.client.publish_task_update(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    pub(super) async fn artifact(
        &mut self,
        what: &str,
        artifact: Option<TaskArtifactUpdateEvent>,
        routing: Option<AgentEventMetadata>,
    ) {
        let request = PublishTaskArtifactRequest { artifact, routing };
        let answer = self.0.client.publish_task_artifact(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    pub(super) async fn register(&mut self, what: &str, agent_card: Option<AgentCard>) {
        let request = RegisterAgentRequest {
            agent_card,
            ..Default::default()
        };
        let answer = self.0.client.register_agent(timed(request)).await;
        self.add(what, &shown(answer, |a| (a.success, &a.error)));
    }

    pub(super) async fn cancel(&mut self, what: &str, task: &str) {
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
            "list agents: page_token",
            ListAgentsRequest {
                page_token: "echo".into(),
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
