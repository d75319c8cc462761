use std::time::Duration;

use agenthub_proto::a2a::{Message, Role};
use futures_util::FutureExt;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::{
    RetainedLog, Settings, Storage,
    hub::{Body, Repetition},
};

/// Delay until records are durable.
const DELAY: Duration = Duration::from_secs(1);

fn service() -> HubService {
    let settings = Settings {
        storage: Storage::Retained(RetainedLog::new(DELAY)),
        ..Settings::default()
    };
    HubService::new(Hub::start(settings).expect("it is empty"))
}

/// Checks that a read waits until its data is durable, and answers then.
async fn waits<T>(read: impl Future<Output = Result<T, Status>>) -> bool {
    tokio::pin!(read);
    let early = read.as_mut().now_or_never();
    let answer = tokio::time::timeout(2 * DELAY, read.as_mut());
    early.is_none() && answer.await.is_ok_and(|a| a.is_ok())
}

/// A registration that is not durable yet.
async fn registering(service: &HubService) -> AbortOnDropHandle<()> {
    let asked = service.clone();
    let registered = tokio::spawn(async move {
        let request = RegisterAgentRequest {
            agent_card: Some(AgentCard {
                name: "echo".into(),
                ..AgentCard::default()
            }),
            ..RegisterAgentRequest::default()
        };
        let answer = asked.register_agent(Request::new(request)).await;
        assert!(answer.expect("an answer").into_inner().success);
    });
    while service.hub.agent(&Caller::anonymous(), "echo").is_err() {
        tokio::task::yield_now().await;
    }
    AbortOnDropHandle::new(registered)
}

/// Reads a task.
async fn get(service: &HubService, task: &str) -> Result<Response<Task>, Status> {
    let request = GetTaskRequest {
        task_id: task.to_owned(),
        history_length: 0,
    };
    service.get_task(Request::new(request)).await
}

/// A task is answered once its last change is durable, whatever else is not.
///
/// promise 1
#[tokio::test(start_paused = true)]
async fn a_task_waits_for_its_own_changes_alone() {
    let service = service();
    let publish = async |task: &str, id: &str| {
        let message = Message {
            task_id: task.to_owned(),
            message_id: id.to_owned(),
            ..Message::new(Role::User, "text")
        };
        let routing = AgentEventMetadata {
            from_agent_id: "asker".to_owned(),
            to_agent_id: "echo".to_owned(),
            ..AgentEventMetadata::default()
        };
        let (caller, hub) = (Caller::anonymous(), &service.hub);
        let receipt = hub.publish(&caller, Body::Message(message), routing, Repetition::Accept);
        receipt.expect("it is good").safe_at
    };
    publish("t", "one").await;
    assert!(waits(get(&service, "t")).await, "it is new");
    let safe_at = publish("t", "two").await;
    assert!(waits(get(&service, "t")).await, "it has changed");

    publish("another", "three").await;
    assert!(service.hub.synced().now_or_never().is_none());
    let answer = get(&service, "t").now_or_never().expect("it is durable");
    let answer = answer.expect("it is there");
    let as_of = answer.metadata().get(AS_OF).expect("it says so");
    assert_eq!(*as_of, service.hub.log().token(safe_at));
    assert_eq!(answer.into_inner().history.len(), 2);
    service.hub.stop().await;
}

/// promise 1
#[tokio::test(start_paused = true)]
async fn what_is_read_is_safe() {
    let service = service();
    macro_rules! check {
        ($call:ident($request:expr)) => {
            let _registering = registering(&service).await;
            let read = service.$call(Request::new($request));
            assert!(waits(read).await, stringify!($call));
            let gone = service
                .hub
                .unregister(&Caller::anonymous(), "echo", "")
                .await;
            gone.expect("it is there");
            service.hub.synced().await.expect("the log is there");
        };
    }
    check!(get_agent(GetAgentRequest {
        agent_id: "echo".into()
    }));
    check!(list_agents(ListAgentsRequest::default()));
    check!(list_tasks(ListTasksRequest::default()));
    check!(list_mailboxes(ListMailboxesRequest::default()));
    check!(list_dead_letters(ListDeadLettersRequest::default()));
    service.hub.stop().await;
}
