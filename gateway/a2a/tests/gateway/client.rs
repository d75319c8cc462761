//! The client of agents elsewhere: the same tests over each binding, against the gateway, and against servers of 0.3.

mod credentials;
mod old;

use std::net::SocketAddr;

use agenthub_a2a::{
    client::{Binding, CardUrl, Failure, Fetched, Following, Options, Remote, fetch},
    error::Kind,
    v1::{self, TaskState, part::Content, send_message_response, stream_response::Payload},
};
use agenthub_outbound::{Connector, Settings};

use crate::{
    elsewhere::{Elsewhere, Line},
    harness::{Stage, gate, soon},
};

pub(crate) fn connector() -> Connector {
    Connector::new(Settings {
        allow: vec!["127.0.0.0/8".parse().expect("a network")],
        ..Settings::default()
    })
}

/// The agent with this card.
pub(crate) async fn remote(url: &str, options: Options) -> Result<Remote, Failure> {
    let connector = connector();
    let card_url = CardUrl::of(url)?;
    match soon(fetch(&connector, &card_url, "")).await? {
        Fetched::Card { card, url, .. } => Remote::new(&connector, *card, &url, options),
        Fetched::Unchanged => panic!("nothing was known of it"),
    }
}

fn over(binding: Binding) -> Options {
    Options {
        binding: Some(binding),
        ..Options::default()
    }
}

/// The painter behind a gateway that is served.
pub(crate) struct Behind {
    pub(crate) stage: Stage,
    pub(crate) served: Elsewhere,
}

impl Behind {
    pub(crate) async fn start() -> Self {
        let stage = Stage::start().await;
        let served = Elsewhere::serve(stage.router.clone()).await;
        Self { stage, served }
    }

    async fn remote(&self, binding: Binding) -> Remote {
        let remote = remote(&url(self.served.address), over(binding)).await;
        let remote = remote.expect("it is there");
        assert_eq!(remote.interface().binding, binding);
        remote
    }
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}/agents/painter")
}

pub(crate) fn send(text: &str) -> v1::SendMessageRequest {
    v1::SendMessageRequest {
        message: Some(v1::Message {
            message_id: uuid::Uuid::now_v7().to_string(),
            role: v1::Role::User.into(),
            parts: vec![v1::Part {
                content: Some(Content::Text(text.into())),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn follow_up(text: &str, task_id: &str) -> v1::SendMessageRequest {
    let mut request = send(text);
    if let Some(message) = &mut request.message {
        message.task_id = task_id.into();
    }
    request
}

pub(crate) fn state(task: &v1::Task) -> TaskState {
    task.status
        .as_ref()
        .map_or(TaskState::Unspecified, v1::TaskStatus::state)
}

/// The task that a message leads to.
pub(crate) async fn done(remote: &Remote, request: v1::SendMessageRequest) -> v1::Task {
    let answer = soon(remote.send_message(request)).await;
    match answer.expect("an answer").payload {
        Some(send_message_response::Payload::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn all(mut events: Following) -> Vec<Payload> {
    let mut all = Vec::new();
    while let Some(event) = soon(events.next()).await {
        all.extend(event.expect("no error").payload);
    }
    all
}

/// The task that a stream begins with.
pub(crate) fn task_id(events: &[Payload]) -> String {
    match events.first() {
        Some(Payload::Task(task)) => task.id.clone(),
        other => panic!("{other:?}"),
    }
}

/// Texts of artifacts as they were shown, with those of a new beginning after a bar.
pub(crate) fn drawn(events: &[Payload]) -> String {
    let chunk = |event: &Payload| match event {
        Payload::ArtifactUpdate(update) => {
            let parts = update.artifact.iter().flat_map(|a| &a.parts);
            let texts = parts.filter_map(|part| match &part.content {
                Some(Content::Text(text)) => Some(text.as_str()),
                _ => None,
            });
            let bar = if update.append { "" } else { "|" };
            Some(format!("{bar}{}", texts.collect::<String>()))
        }
        _ => None,
    };
    events.iter().filter_map(chunk).collect()
}

pub(crate) fn last_state(events: &[Payload]) -> TaskState {
    match events.last() {
        Some(Payload::StatusUpdate(update)) => update
            .status
            .as_ref()
            .map_or(TaskState::Unspecified, v1::TaskStatus::state),
        Some(Payload::Task(task)) => state(task),
        _ => TaskState::Unspecified,
    }
}

/// spec: A2A 1.0.1 §3.1
#[tokio::test]
async fn every_operation_does_the_same_over_each_binding() {
    let behind = Behind::start().await;
    for binding in Binding::ALL {
        let remote = behind.remote(binding).await;
        check_operations(&remote, binding).await;
    }
    behind.stage.stop().await;
}

/// Sends, gets, lists, streams, answers, subscribes and cancels, and is refused what cannot be.
pub(crate) async fn check_operations(remote: &Remote, binding: Binding) {
    let task = done(remote, send("hello there")).await;
    assert_eq!(state(&task), TaskState::Completed, "{binding:?}");
    let get = |id: &str| v1::GetTaskRequest {
        id: id.into(),
        ..Default::default()
    };
    let got = soon(remote.get_task(get(&task.id)))
        .await
        .expect("it is there");
    assert_eq!((got.id, got.history.len()), (task.id.clone(), 2));
    let list = v1::ListTasksRequest {
        context_id: task.context_id.clone(),
        status: TaskState::Completed.into(),
        page_size: Some(10),
        ..Default::default()
    };
    let page = soon(remote.list_tasks(list)).await.expect("a page");
    assert_eq!(page.tasks.len(), 1, "{binding:?}");
    assert_eq!(page.tasks[0].id, task.id);

    let events = all(remote.send_streaming_message(send("draw"))).await;
    assert!(
        matches!(events.first(), Some(Payload::Task(_))),
        "{binding:?}"
    );
    assert_eq!(drawn(&events), "|a red cat");
    assert_eq!(last_state(&events), TaskState::Completed);

    let asked = all(remote.send_streaming_message(send("ask"))).await;
    assert_eq!(last_state(&asked), TaskState::InputRequired, "{binding:?}");
    let Some(Payload::Task(asked)) = asked.first() else {
        panic!("{asked:?}")
    };
    let answered = done(remote, follow_up("blue", &asked.id)).await;
    assert_eq!(
        (&answered.id, state(&answered)),
        (&asked.id, TaskState::Completed)
    );

    let asked = done(remote, send("ask")).await;
    let events = all(remote.send_streaming_message(follow_up("red", &asked.id))).await;
    assert_eq!(
        last_state(&events),
        TaskState::Completed,
        "{binding:?}: {events:?}"
    );

    let mut waiting = remote.send_streaming_message(send("wait"));
    while waiting.state() != Some(TaskState::Working) {
        soon(waiting.next())
            .await
            .expect("it begins")
            .expect("no error");
    }
    let cancel = |id: &str| v1::CancelTaskRequest {
        id: id.into(),
        ..Default::default()
    };
    let subscribed = remote.subscribe_to_task(waiting.task_id());
    let cancelled = soon(remote.cancel_task(cancel(waiting.task_id()))).await;
    assert_eq!(
        state(&cancelled.expect("it is at work")),
        TaskState::Canceled
    );
    assert_eq!(last_state(&all(waiting).await), TaskState::Canceled);
    assert_eq!(last_state(&all(subscribed).await), TaskState::Canceled);

    let failure = soon(remote.get_task(get("no"))).await.expect_err("unknown");
    assert!(failure.is(Kind::TaskNotFound), "{binding:?}: {failure:?}");
    let failure = soon(remote.cancel_task(cancel(&task.id))).await;
    let failure = failure.expect_err("it has ended");
    assert!(
        failure.is(Kind::TaskNotCancelable),
        "{binding:?}: {failure:?}"
    );
    let failure = soon(remote.send_message(follow_up("more", &task.id))).await;
    let failure = failure.expect_err("it has ended");
    assert!(
        failure.is(Kind::UnsupportedOperation),
        "{binding:?}: {failure:?}"
    );
    let mut empty = send("");
    empty.message.as_mut().expect("one").parts.clear();
    let failure = soon(remote.send_message(empty))
        .await
        .expect_err("no parts");
    assert!(
        matches!(failure, Failure::Refused { .. }),
        "{binding:?}: {failure:?}"
    );
}

/// spec: A2A 1.0.1 §3.5.2
#[tokio::test]
async fn a_stream_that_breaks_goes_on_without_a_gap() {
    let behind = Behind::start().await;
    for binding in Binding::ALL {
        let target = match binding {
            Binding::Grpc => behind.stage.hub.address(),
            _ => behind.served.address,
        };
        let line = Line::to(target).await;
        let name = format!("broken {binding:?}");
        let mut card = behind.remote(binding).await.card().clone();
        for interface in &mut card.supported_interfaces {
            let old = interface
                .url
                .split('/')
                .find(|part| part.contains(':') && !part.ends_with(':'));
            let old = old.expect("an authority").to_owned();
            interface.url = interface.url.replace(&old, &line.address.to_string());
        }
        let card_url = "http://127.0.0.1/".parse().expect("an address");
        let remote = Remote::new(&connector(), card, &card_url, over(binding));
        let remote = remote.expect("it has the binding");
        let mut events = remote.send_streaming_message(send(&format!("steps {name}")));
        let mut shown = Vec::new();
        while drawn(&shown).is_empty() {
            let event = soon(events.next()).await.expect("more").expect("no error");
            shown.extend(event.payload);
        }
        line.cut();
        gate(&name).add_permits(1);
        while drawn(&shown) != "|one two " {
            let event = soon(events.next()).await.expect("more").expect("no error");
            shown.extend(event.payload);
        }
        line.cut();
        gate(&name).add_permits(1);
        shown.extend(all(events).await);
        assert_eq!(drawn(&shown), "|one two three", "{binding:?}");
        assert_eq!(last_state(&shown), TaskState::Completed);
        let tasks = shown
            .iter()
            .filter(|event| matches!(event, Payload::Task(_)));
        assert_eq!(tasks.count(), 1, "{binding:?}");
    }
    behind.stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_does_not_stream_is_asked_again() {
    let behind = Behind::start().await;
    let mut card = behind.remote(Binding::JsonRpc).await.card().clone();
    card.capabilities = None;
    let card_url = "http://127.0.0.1/".parse().expect("an address");
    let remote = Remote::new(&connector(), card, &card_url, Options::default());
    let remote = remote.expect("it can be called");
    let mut events = remote.send_streaming_message(send("steps unstreamed"));
    let mut shown = Vec::new();
    while drawn(&shown).is_empty() {
        let event = soon(events.next()).await.expect("more").expect("no error");
        shown.extend(event.payload);
    }
    gate("unstreamed").add_permits(2);
    shown.extend(all(events).await);
    assert_eq!(drawn(&shown), "|one two three");
    assert_eq!(last_state(&shown), TaskState::Completed);
    behind.stage.stop().await;
}

#[tokio::test]
async fn a_card_that_did_not_change_is_not_sent_again() {
    let behind = Behind::start().await;
    let (connector, url) = (connector(), CardUrl::of(&url(behind.served.address)));
    let url = url.expect("an address");
    let Ok(Fetched::Card { etag, .. }) = soon(fetch(&connector, &url, "")).await else {
        panic!("a card")
    };
    assert!(!etag.is_empty());
    assert_eq!(
        soon(fetch(&connector, &url, &etag)).await,
        Ok(Fetched::Unchanged)
    );
    let nobody = format!("http://{}/agents/nobody", behind.served.address);
    let error = remote(&nobody, Options::default()).await;
    let error = error.expect_err("nobody is there").to_string();
    assert!(error.contains("there is no card"), "{error}");
    behind.stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_may_not_be_reached_is_not_called() {
    let behind = Behind::start().await;
    let remote = behind.remote(Binding::JsonRpc).await;
    let card_url = "http://127.0.0.1/".parse().expect("an address");
    for binding in Binding::ALL {
        let strict = Connector::new(Settings::default());
        let remote = Remote::new(&strict, remote.card().clone(), &card_url, over(binding));
        let failure = soon(remote.expect("it has it").send_message(send("hello"))).await;
        let failure = failure.expect_err("it is on this machine");
        assert!(
            matches!(
                failure,
                Failure::Outbound(agenthub_outbound::Error::Refused { .. })
            ),
            "{binding:?}: {failure:?}"
        );
    }
    behind.stage.stop().await;
}
