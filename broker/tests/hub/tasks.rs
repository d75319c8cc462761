//! Tasks: creation, assignees, and lookups.

use agenthub_proto::{
    a2a::{Message, Role, Task, TaskState},
    agenthub::{GetTaskRequest, ListTasksRequest, ListTasksResponse, agent_event::Payload},
    json,
};

use crate::harness::{TestHub, card, in_context, routing, timed, user, within, work};

/// spec: HUB-3
#[tokio::test]
async fn a_message_with_a_task_id_makes_the_task_and_the_next_extends_it() {
    let hub = TestHub::start().await;
    let mut events = hub.tasks("worker").await;
    let first = work("t", "first").with_metadata("task_type", "sum");
    hub.publish(first, routing("asker", "worker")).await;
    assert_eq!(events.word().await, "task submitted t 1");
    let second = Message {
        context_id: String::new(),
        ..work("t", "second")
    };
    hub.publish(second, routing("asker", "")).await;
    assert_eq!(events.word().await, "task submitted t 2");

    let task = hub.task("t").await;
    assert_eq!((task.requester(), task.assignee()), ("asker", "worker"));
    assert_eq!((task.task_type(), &*task.context_id), ("sum", "c-t"));
    let texts: Vec<String> = task.history.iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["first", "second"]);
    assert_eq!(task.history[1].context_id, "c-t", "that of its task");

    for (history_length, expected) in [(0, 2), (1, 1), (9, 2), (-1, 0)] {
        let request = GetTaskRequest {
            task_id: "t".into(),
            history_length,
        };
        let task = within(hub.client.clone().get_task(request))
            .await
            .expect("known");
        assert_eq!(task.get_ref().history.len(), expected, "{history_length}");
        if expected == 1 {
            assert_eq!(task.get_ref().history[0].text(), "second");
        }
    }
}

/// spec: HUB-3
#[tokio::test]
async fn a_task_shows_what_its_message_says_of_it() {
    let hub = TestHub::start().await;
    let mut events = hub.tasks("worker").await;
    let message = work("t", "add 1 and 2")
        .with_metadata("task_type", "sum")
        .with_metadata("publisher", "ann")
        .with_metadata("requester", "somebody else");
    hub.publish(message, routing("asker", "worker")).await;
    let said = |task: &Task| {
        let update = task.status.as_ref().and_then(|s| s.update.as_ref());
        update.map(Message::text)
    };
    let metadata = |task: &Task, key: &str| {
        let metadata = task.metadata.as_ref().expect("it has some");
        json::from_struct(metadata)[key].clone()
    };
    let event = events.next().await;
    let Some(Payload::Task(sent)) = event.payload else {
        panic!("{event:?}");
    };
    for task in [sent, hub.task("t").await] {
        assert_eq!(said(&task).as_deref(), Some("add 1 and 2"));
        assert_eq!(metadata(&task, "publisher"), "ann");
        assert_eq!(metadata(&task, "requester"), "asker", "the hub's own word");
    }
    hub.report("worker", "t", TaskState::Working).await;
    assert_eq!(said(&hub.task("t").await), None, "it has begun");
}

async fn list(hub: &TestHub, request: ListTasksRequest) -> ListTasksResponse {
    let answer = hub.client.clone().list_tasks(timed(request)).await;
    answer.expect("a page").into_inner()
}

fn ids(page: &ListTasksResponse) -> Vec<&str> {
    page.tasks.iter().map(|t| t.id.as_str()).collect()
}

#[tokio::test]
async fn tasks_are_listed_newest_first_by_every_filter_and_in_pages() {
    let hub = TestHub::start().await;
    for (task, context, asker, worker) in [
        ("t1", "x", "ann", "echo"),
        ("t2", "y", "bob", "echo"),
        ("t3", "x", "ann", "sum"),
        ("t4", "x", "bob", "sum"),
    ] {
        let message = Message {
            task_id: task.into(),
            ..in_context(context, "go")
        };
        hub.publish(message, routing(asker, worker)).await;
    }
    hub.report("echo", "t1", TaskState::Working).await;
    let all = ListTasksRequest::default();
    assert_eq!(
        ids(&list(&hub, all.clone()).await),
        ["t1", "t4", "t3", "t2"]
    );
    let by_agent = |agent: &str| ListTasksRequest {
        agent_id: agent.into(),
        ..Default::default()
    };
    assert_eq!(ids(&list(&hub, by_agent("ann")).await), ["t1", "t3"]);
    assert_eq!(ids(&list(&hub, by_agent("sum")).await), ["t4", "t3"]);
    assert_eq!(ids(&list(&hub, by_agent("nobody")).await), [""; 0]);
    let by_context = ListTasksRequest {
        context_id: "y".into(),
        ..Default::default()
    };
    assert_eq!(ids(&list(&hub, by_context).await), ["t2"]);
    let assigned = |agent: &str| ListTasksRequest {
        assigned: true,
        count: true,
        page_size: 1,
        ..by_agent(agent)
    };
    let of_echo = list(&hub, assigned("echo")).await;
    assert_eq!((ids(&of_echo), of_echo.total_size), (vec!["t1"], 2));
    let of_ann = list(&hub, assigned("ann")).await;
    assert_eq!((ids(&of_ann), of_ann.total_size), (vec![], 0));
    let working = ListTasksRequest {
        states: vec![TaskState::Working.into(), TaskState::Failed.into()],
        ..Default::default()
    };
    assert_eq!(ids(&list(&hub, working).await), ["t1"]);

    let mut seen = Vec::new();
    let mut page_token = String::new();
    loop {
        let page = list(
            &hub,
            ListTasksRequest {
                page_size: 3,
                page_token,
                ..Default::default()
            },
        )
        .await;
        seen.extend(page.tasks.iter().map(|t| t.id.clone()));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ["t1", "t4", "t3", "t2"]);
}

/// spec: HUB-8
#[tokio::test]
async fn a_task_goes_to_one_agent_that_can_do_it_the_one_with_the_least_to_do() {
    let hub = TestHub::start().await;
    let mut streams = Vec::new();
    for name in ["one", "two", "three"] {
        hub.register(card(name), &["sum"]).await;
        streams.push(hub.messages(name).await);
    }
    hub.register(card("away"), &["sum"]).await;
    for busy in ["one", "two"] {
        hub.publish(work(&format!("busy-{busy}"), "go"), routing("asker", busy))
            .await;
    }
    for stream in &mut streams[..2] {
        assert_eq!(stream.text().await, "go");
    }
    let sum = |task: &str| work(task, task).with_metadata("task_type", "sum");
    hub.publish(sum("t1"), routing("asker", "")).await;
    assert_eq!(hub.task("t1").await.assignee(), "three");
    assert_eq!(streams[2].text().await, "t1");
    // All three have one; ending a task makes room.
    hub.report("two", "busy-two", TaskState::Completed).await;
    hub.publish(sum("t2"), routing("asker", "")).await;
    assert_eq!(hub.task("t2").await.assignee(), "two");
    assert_eq!(streams[1].text().await, "t2");
    assert_eq!(hub.texts_so_far("one", &mut streams[0]).await, [""; 0]);

    let untracked = user("no task").with_metadata("task_type", "sum");
    hub.publish(untracked, routing("asker", "")).await;
    for stream in &mut streams {
        assert_eq!(stream.text().await, "no task");
    }
}

/// spec: HUB-8
#[tokio::test]
async fn tags_and_modes_choose_the_agent() {
    let hub = TestHub::start().await;
    hub.register(card("able"), &[]).await;
    let mut other = card("other");
    other.skills[0].tags = vec!["production".into()];
    hub.register(other, &[]).await;
    let tagged = agenthub_proto::agenthub::AgentEventMetadata {
        required_tags: vec!["testing".into()],
        required_input_modes: vec!["text/plain".into()],
        ..routing("asker", "")
    };
    hub.publish(work("t", "go"), tagged).await;
    assert_eq!(hub.task("t").await.assignee(), "able");
}

#[tokio::test]
async fn only_its_two_parties_change_a_task() {
    let hub = TestHub::start().await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    let code = |r: Result<(), tonic::Status>| r.expect_err("refused").code();
    for state in [TaskState::Working, TaskState::Cancelled] {
        let refused = hub.try_report("stranger", "t", state).await;
        assert_eq!(code(refused), tonic::Code::PermissionDenied);
    }
    let refused = hub.try_report("asker", "t", TaskState::Working).await;
    assert_eq!(code(refused), tonic::Code::PermissionDenied);
    let refused = hub.try_artifact("stranger", "t").await;
    assert_eq!(code(refused), tonic::Code::PermissionDenied);
    assert_eq!(hub.task("t").await.state(), TaskState::Submitted);

    hub.report("worker", "t", TaskState::Working).await;
    hub.report("worker", "t", TaskState::Completed).await;
    let refused = hub.try_report("worker", "t", TaskState::Working).await;
    assert_eq!(code(refused), tonic::Code::FailedPrecondition);
    assert_eq!(hub.task("t").await.state(), TaskState::Completed);
}

/// A third agent's message reaches the requester, but is not part of the task; its fate changes nothing.
#[tokio::test]
async fn a_strangers_message_is_no_part_of_the_task() {
    let hub = TestHub::start().await;
    let mut asker = hub.messages("asker").await;
    hub.publish(work("t", "go"), routing("asker", "worker"))
        .await;
    hub.publish(
        Message {
            role: Role::Agent.into(),
            ..work("t", "let me help")
        },
        routing("stranger", ""),
    )
    .await;
    assert_eq!(asker.text().await, "let me help");
    let task = hub.task("t").await;
    assert_eq!(
        (task.history.len(), task.state()),
        (1, TaskState::Submitted)
    );
}

/// An agent that sends no statuses: its first answer is the outcome.
///
/// spec: HUB-7
#[tokio::test]
async fn an_answer_completes_the_task() {
    let hub = TestHub::start().await;
    let mut asker = hub
        .agent_events("asker", &["message", "status_update"])
        .await;
    hub.publish(work("t", "hi"), routing("asker", "worker"))
        .await;
    let answer = Message {
        role: Role::Agent.into(),
        ..work("t", "Echo: hi")
    };
    hub.publish(answer, routing("worker", "")).await;
    assert_eq!(asker.word().await, "message Echo: hi");
    let event = asker.next().await;
    assert_eq!(crate::harness::word(&event), "status completed t");
    let task = hub.task("t").await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.outcome_text(), "Echo: hi");
}
