//! The gRPC binding, over a socket.

use agenthub_a2a::v1::{
    self, a2a_service_client::A2aServiceClient, send_message_response, stream_response::Payload,
};
use tonic::{
    Code, Request, Status,
    transport::{Channel, Endpoint},
};

use crate::harness::{Stage, soon};

pub(crate) async fn client(stage: &Stage) -> A2aServiceClient<Channel> {
    let url = format!("http://{}", stage.hub.address());
    let endpoint = Endpoint::from_shared(url).expect("an address");
    A2aServiceClient::new(soon(endpoint.connect()).await.expect("it listens"))
}

pub(crate) fn request<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let version = "1.0".parse().expect("a value");
    request.metadata_mut().insert("a2a-version", version);
    request
}

pub(crate) fn send(text: &str) -> v1::SendMessageRequest {
    v1::SendMessageRequest {
        tenant: "painter".into(),
        message: Some(v1::Message {
            message_id: "m".into(),
            role: v1::Role::User.into(),
            parts: vec![v1::Part {
                content: Some(v1::part::Content::Text(text.into())),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn reason(status: &Status) -> (Code, bool, bool) {
    let details = String::from_utf8_lossy(status.details());
    (
        status.code(),
        details.contains("google.rpc.ErrorInfo"),
        details.contains("a2a-protocol.org"),
    )
}

/// spec: A2A 1.0.1 §5.1, §10.4
#[tokio::test]
async fn grpc_does_the_same() {
    let stage = Stage::start().await;
    let mut client = client(&stage).await;
    let sent = soon(client.send_message(request(send("hello")))).await;
    let sent = sent.expect("an answer").into_inner();
    let Some(send_message_response::Payload::Task(task)) = sent.payload else {
        panic!("a task")
    };
    let state = |task: &v1::Task| task.status.as_ref().map(v1::TaskStatus::state);
    assert_eq!(state(&task), Some(v1::TaskState::Completed));
    let get = v1::GetTaskRequest {
        id: task.id.clone(),
        ..Default::default()
    };
    let got = soon(client.get_task(request(get)))
        .await
        .expect("the default agent has it");
    assert_eq!(got.into_inner().id, task.id);

    let stream = soon(client.send_streaming_message(request(send("draw")))).await;
    let mut stream = stream.expect("a stream").into_inner();
    let mut shown = Vec::new();
    while let Some(event) = soon(stream.message()).await.expect("no error") {
        shown.extend(event.payload);
    }
    assert!(matches!(shown.first(), Some(Payload::Task(_))));
    let Some(Payload::StatusUpdate(last)) = shown.last() else {
        panic!("a status")
    };
    assert_eq!(
        last.status.as_ref().map(v1::TaskStatus::state),
        Some(v1::TaskState::Completed)
    );

    let list = v1::ListTasksRequest::default();
    let page = soon(client.list_tasks(request(list)))
        .await
        .expect("a page");
    assert_eq!(page.into_inner().total_size, 2);
    stage.stop().await;
}

/// spec: A2A 1.0.1 §5.4, §10.2, §10.6
#[tokio::test]
async fn errors_carry_their_reason() {
    let stage = Stage::start().await;
    let mut client = client(&stage).await;
    let get = || v1::GetTaskRequest {
        id: "no".into(),
        ..Default::default()
    };
    let status = soon(client.get_task(request(get())))
        .await
        .expect_err("unknown");
    assert_eq!(reason(&status), (Code::NotFound, true, true));
    let status = soon(client.get_task(get()))
        .await
        .expect_err("no version is 0.3");
    assert_eq!(reason(&status), (Code::FailedPrecondition, true, true));
    let extended = v1::GetExtendedAgentCardRequest::default();
    let status = soon(client.get_extended_agent_card(request(extended))).await;
    assert_eq!(
        reason(&status.expect_err("not offered")),
        (Code::FailedPrecondition, true, true)
    );
    let mut wrong = send("hi");
    wrong.message = None;
    let status = soon(client.send_message(request(wrong)))
        .await
        .expect_err("no message");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(String::from_utf8_lossy(status.details()).contains("google.rpc.BadRequest"));
    stage.stop().await;
}

/// spec: A2A 1.0.1 §10.4.7 to §10.4.10
#[tokio::test]
async fn push_notifications_are_configured_over_grpc() {
    let stage = Stage::start().await;
    let mut client = client(&stage).await;
    let task = stage.send("hello").await;
    let task_id = task["id"].as_str().expect("an id").to_owned();
    let config = v1::TaskPushNotificationConfig {
        tenant: "painter".into(),
        task_id: task_id.clone(),
        url: "https://hook.example/".into(),
        ..Default::default()
    };
    let made = client.create_task_push_notification_config(request(config));
    let made = soon(made).await.expect("an answer").into_inner();
    assert!(!made.id.is_empty());
    let of = v1::GetTaskPushNotificationConfigRequest {
        tenant: "painter".into(),
        task_id: task_id.clone(),
        id: made.id.clone(),
    };
    let got = client.get_task_push_notification_config(request(of.clone()));
    assert_eq!(soon(got).await.expect("an answer").into_inner(), made);
    let all = v1::ListTaskPushNotificationConfigsRequest {
        tenant: "painter".into(),
        task_id: task_id.clone(),
        ..Default::default()
    };
    let all = client.list_task_push_notification_configs(request(all));
    assert_eq!(
        soon(all).await.expect("an answer").into_inner().configs,
        std::slice::from_ref(&made)
    );
    let gone = v1::DeleteTaskPushNotificationConfigRequest {
        tenant: "painter".into(),
        task_id,
        id: made.id,
    };
    let deleted = client.delete_task_push_notification_config(request(gone));
    soon(deleted).await.expect("an answer");
    let missing = client.get_task_push_notification_config(request(of));
    let missing = soon(missing).await.expect_err("it is gone");
    assert_eq!(reason(&missing), (Code::NotFound, true, true));
    stage.stop().await;
}
