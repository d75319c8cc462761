//! Questions, answers, further messages and cancellations between a hub and an agent elsewhere.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agenthub_a2a::{
    EXTENSIONS_HEADER,
    client::{Binding, Following, Options, Remote},
    json::to_json,
    v1::{
        CancelTaskRequest, Message, SendMessageConfiguration, SendMessageRequest, Task, TaskState,
        part::Content, send_message_response::Payload,
    },
};
use agenthub_sdk::proto::a2a::{AgentCard, AgentExtension};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::Method,
    middleware::{Next, from_fn},
    response::Response,
    routing::get,
};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::sleep};

use super::{Here, open, tasks_there};
use crate::{
    client::{self, Behind, all, done, follow_up, last_state, send, state},
    elsewhere::Elsewhere,
    harness::{Stage, card, gate, soon},
};

/// An agent elsewhere, on a hub as "far".
async fn far() -> (Behind, Here) {
    let (there, here) = (Behind::start().await, Here::start().await);
    let url = client::url(there.served.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    (there, here)
}

async fn stop(there: Behind, here: Here) {
    here.stop().await;
    there.stage.stop().await;
}

/// Follows a stream up to this state, and gives the task.
async fn until(events: &mut Following, wanted: TaskState) -> String {
    while events.state() != Some(wanted) {
        soon(events.next()).await.expect("more").expect("no error");
    }
    events.task_id().to_owned()
}

/// Waits until there are tasks there, all of them in this state.
async fn until_there(there: &Behind, wanted: TaskState) -> Vec<Task> {
    let all_are = async {
        loop {
            let tasks = tasks_there(there).await;
            if !tasks.is_empty() && tasks.iter().all(|task| state(task) == wanted) {
                return tasks;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(all_are).await
}

async fn cancel(remote: &Remote, id: &str) -> Task {
    let request = CancelTaskRequest {
        id: id.into(),
        ..Default::default()
    };
    let cancelled = soon(remote.cancel_task(request)).await;
    cancelled.expect("it has not ended")
}

/// A message for a task, of which nobody waits for what comes of it.
fn at_once(text: &str, task_id: &str) -> SendMessageRequest {
    SendMessageRequest {
        configuration: Some(SendMessageConfiguration {
            return_immediately: true,
            ..Default::default()
        }),
        ..follow_up(text, task_id)
    }
}

fn text(message: Option<&Message>) -> String {
    let parts = message.iter().flat_map(|m| &m.parts);
    let texts = parts.filter_map(|part| match &part.content {
        Some(Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Waits until a task is completed that waits for its requester at first.
async fn completed(remote: &Remote, id: &str) {
    let completed = async {
        while last_state(&all(remote.subscribe_to_task(id)).await) != TaskState::Completed {}
    };
    soon(completed).await;
}

async fn state_of(remote: &Remote, id: &str) -> TaskState {
    let request = agenthub_a2a::v1::GetTaskRequest {
        id: id.into(),
        ..Default::default()
    };
    state(&soon(remote.get_task(request)).await.expect("it is there"))
}

/// The last words of a task.
async fn words(remote: &Remote, id: &str) -> String {
    let request = agenthub_a2a::v1::GetTaskRequest {
        id: id.into(),
        ..Default::default()
    };
    let task = soon(remote.get_task(request)).await.expect("it is there");
    text(task.status.expect("a status").message.as_ref())
}

/// spec: A2A 1.0.1 §3.1.5, §4.1.3
#[tokio::test]
async fn cancelling_a_task_that_waits_reaches_its_agent() {
    let (there, here) = far().await;
    let remote = here.remote("far").await;
    for (word, waits) in [
        ("ask", TaskState::InputRequired),
        ("auth", TaskState::AuthRequired),
    ] {
        let asked = all(remote.send_streaming_message(send(word))).await;
        assert_eq!(last_state(&asked), waits, "{asked:?}");
        let [task] = &tasks_there(&there).await[..1] else {
            panic!("there is one")
        };
        assert_eq!(state(task), waits);
        let id = client::task_id(&asked);
        assert_eq!(state(&cancel(&remote, &id).await), TaskState::Canceled);
        until_there(&there, TaskState::Canceled).await;
    }
    stop(there, here).await;
}

/// The agent answers late: which task it is there is not known yet as the hub's is cancelled.
#[tokio::test]
async fn a_message_that_is_under_way_is_cancelled_once_it_is_a_task() {
    let (there, here) = (Behind::start().await, Here::start().await);
    let late = Arc::new(Semaphore::new(0));
    let (gate, arrived) = (late.clone(), Arc::new(Semaphore::new(0)));
    let came = arrived.clone();
    let slow = move |request: Request, next: Next| {
        let (gate, came) = (gate.clone(), came.clone());
        async move {
            let is_message = request.method() == Method::POST;
            let answer = next.run(request).await;
            if is_message && !gate.is_closed() {
                came.add_permits(1);
                // Whoever closes it lets all go.
                let _ = gate.acquire().await;
            }
            answer
        }
    };
    let router = there.stage.router.clone().layer(from_fn(slow));
    let served = Elsewhere::serve(router).await;
    let url = client::url(served.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    let remote = here.remote("far").await;
    let mut events = remote.send_streaming_message(send("wait"));
    let id = until(&mut events, TaskState::Working).await;
    soon(arrived.acquire()).await.expect("open").forget();
    let letting_go = async {
        // Calls behind that which cancels: the hub has taken it by then, and waits for the work to stop.
        for _ in 0..20 {
            state_of(&remote, &id).await;
        }
        late.close();
    };
    tokio::join!(cancel(&remote, &id), soon(letting_go));
    until_there(&there, TaskState::Canceled).await;
    stop(there, here).await;
}

#[tokio::test]
async fn a_task_that_was_cancelled_while_the_hub_was_down_is_cancelled_there_afterwards() {
    let (there, mut here) = far().await;
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("ask"))).await;
    here.crash().await;
    here.until("far", false).await;
    cancel(&remote, &client::task_id(&asked)).await;
    until_there(&there, TaskState::InputRequired).await;
    here.outside = open(&here.stage, here.folder.path()).await;
    until_there(&there, TaskState::Canceled).await;
    stop(there, here).await;
}

/// Texts of the messages that arrive at an agent elsewhere, however often each was sent: the agent's hub knows one again that comes twice.
#[derive(Clone, Default)]
struct Arrived(Arc<Mutex<Vec<String>>>);

impl Arrived {
    async fn note(&self, request: Request, next: Next) -> Response {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        if let Ok(sent) = serde_json::from_slice::<Value>(&body)
            && let Some(text) = sent["params"]["message"]["parts"][0]["text"].as_str()
        {
            self.0.lock().expect("no panic").push(text.to_owned());
        }
        next.run(Request::from_parts(parts, Body::from(body))).await
    }

    fn texts(&self) -> Vec<String> {
        self.0.lock().expect("no panic").clone()
    }
}

/// The hub crashes while the first question waits, while its answer is at work, and while the second question waits: each time the
/// conversation goes on where it was, and nothing that was handed on is sent again.
///
/// spec: A2A 1.0.1 §3.4.3
#[tokio::test]
async fn an_answer_is_handed_on_once_over_a_crash() {
    let (there, mut here) = (Behind::start().await, Here::start().await);
    let arrived = Arrived::default();
    let noting = arrived.clone();
    let note = move |request: Request, next: Next| {
        let noting = noting.clone();
        async move { noting.note(request, next).await }
    };
    let served = Elsewhere::serve(there.stage.router.clone().layer(from_fn(note))).await;
    let url = client::url(served.address);
    here.add(&url, "far", json!({})).await.expect("it is added");
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("survey once"))).await;
    assert_eq!(last_state(&asked), TaskState::InputRequired);
    let id = client::task_id(&asked);
    let crash = async |here: &mut Here| {
        here.crash().await;
        here.until("far", false).await;
    };
    let start = async |here: &mut Here| here.outside = open(&here.stage, here.folder.path()).await;
    crash(&mut here).await;
    start(&mut here).await;
    here.until("far", true).await;
    let sent = soon(remote.send_message(at_once("blue", &id))).await;
    sent.expect("it is taken");
    until_there(&there, TaskState::Working).await;
    // The answer is at work there.
    let mut events = remote.subscribe_to_task(&id);
    until(&mut events, TaskState::Working).await;
    crash(&mut here).await;
    gate("once").add_permits(1);
    start(&mut here).await;
    let asked = all(events).await;
    assert_eq!(last_state(&asked), TaskState::InputRequired, "{asked:?}");
    assert_eq!(words(&remote, &id).await, "which shape?");
    crash(&mut here).await;
    start(&mut here).await;
    here.until("far", true).await;
    let done = done(&remote, follow_up("square", &id)).await;
    assert_eq!(state(&done), TaskState::Completed, "{done:?}");
    assert_eq!(words(&remote, &id).await, "a blue square");
    assert_eq!(tasks_there(&there).await.len(), 1);
    assert_eq!(arrived.texts(), ["survey once", "blue", "square"]);
    stop(there, here).await;
}

/// spec: A2A 1.0.1 §3.4.2
#[tokio::test]
async fn a_message_to_a_task_at_work_reaches_its_agent() {
    let (there, here) = far().await;
    let remote = here.remote("far").await;
    let mut events = remote.send_streaming_message(send("listen"));
    let id = until(&mut events, TaskState::Working).await;
    let sent = soon(remote.send_message(at_once("a whisper", &id))).await;
    sent.expect("it is taken");
    let rest = all(events).await;
    assert_eq!(last_state(&rest), TaskState::Completed, "{rest:?}");
    assert_eq!(words(&remote, &id).await, "heard a whisper");
    stop(there, here).await;
}

#[tokio::test]
async fn of_two_answers_at_once_none_is_lost() {
    let (there, here) = far().await;
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("poll"))).await;
    let id = client::task_id(&asked);
    let (one, other) = tokio::join!(
        remote.send_message(at_once("blue", &id)),
        remote.send_message(at_once("red", &id)),
    );
    one.and(other).expect("both are taken");
    completed(&remote, &id).await;
    let words = words(&remote, &id).await;
    assert!(
        ["blue and red", "red and blue"].contains(&&*words),
        "{words}"
    );
    stop(there, here).await;
}

/// spec: A2A 1.0.1 §7.6
#[tokio::test]
async fn a_task_goes_on_once_somebody_has_signed_in_elsewhere() {
    let (there, here) = far().await;
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("signin far"))).await;
    assert_eq!(last_state(&asked), TaskState::AuthRequired, "{asked:?}");
    let id = client::task_id(&asked);
    gate("far").add_permits(1);
    completed(&remote, &id).await;
    assert_eq!(words(&remote, &id).await, "welcome");
    stop(there, here).await;
}

/// The question was acknowledged as it was asked: no message comes again that would bring a handler.
///
/// spec: A2A 1.0.1 §7.6
#[tokio::test]
async fn a_task_goes_on_over_a_crash_once_somebody_has_signed_in_elsewhere() {
    let (there, mut here) = far().await;
    let remote = here.remote("far").await;
    let asked = all(remote.send_streaming_message(send("signin over a crash"))).await;
    assert_eq!(last_state(&asked), TaskState::AuthRequired, "{asked:?}");
    let id = client::task_id(&asked);
    here.crash().await;
    here.until("far", false).await;
    gate("over a crash").add_permits(1);
    until_there(&there, TaskState::Completed).await;
    here.outside = open(&here.stage, here.folder.path()).await;
    completed(&remote, &id).await;
    assert_eq!(words(&remote, &id).await, "welcome");
    stop(there, here).await;
}

/// spec: A2A 1.0.1 §3.2.6, §4.6.2
#[tokio::test]
async fn extensions_that_a_client_asks_for_are_asked_for_elsewhere() {
    let mut card = AgentCard::from(card());
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.extensions.push(AgentExtension {
        uri: "urn:x:oil".into(),
        required: true,
        ..Default::default()
    });
    let (stage, here) = (Stage::with(card).await, Here::start().await);
    let served = Elsewhere::serve(stage.router.clone()).await;
    let options = |binding| Options {
        binding: Some(binding),
        headers: vec![(
            EXTENSIONS_HEADER.parse().expect("a header"),
            "urn:x:oil".parse().expect("a value"),
        )],
        ..Options::default()
    };
    // The hub calls it over each binding in turn.
    for (id, binding) in [
        ("rpc", Binding::JsonRpc),
        ("rest", Binding::Rest),
        ("grpc", Binding::Grpc),
    ] {
        let only = OnlyBinding::of(served.address, binding).await;
        here.add(&only.url(), id, json!({}))
            .await
            .expect("it is added");
        let url = format!("http://{}/agents/{id}", here.served.address);
        let remote = client::remote(&url, options(Binding::JsonRpc)).await;
        let task = done(&remote.expect("it is there"), send("hello")).await;
        assert_eq!(state(&task), TaskState::Completed, "{binding:?}: {task:?}");
    }
    here.stop().await;
    stage.stop().await;
}

/// The card of an agent with one of its interfaces alone.
struct OnlyBinding(Elsewhere);

impl OnlyBinding {
    async fn of(agent: std::net::SocketAddr, binding: Binding) -> Self {
        let remote = client::remote(&client::url(agent), Options::default()).await;
        let mut card = remote.expect("it is there").card().clone();
        let interfaces = &mut card.supported_interfaces;
        interfaces.retain(|interface| interface.protocol_binding == binding.name());
        let card = to_json(&card).to_string();
        let router = Router::new().route("/card.json", get(async move || card));
        Self(Elsewhere::serve(router).await)
    }

    fn url(&self) -> String {
        format!("http://{}/card.json", self.0.address)
    }
}

#[tokio::test]
async fn removing_an_agent_cancels_what_is_open_there() {
    let (there, here) = far().await;
    let remote = here.remote("far").await;
    let mut waiting = remote.send_streaming_message(send("wait"));
    until(&mut waiting, TaskState::Working).await;
    all(remote.send_streaming_message(send("ask"))).await;
    let removed = here.remove("far").await.expect("it is there");
    assert_eq!((removed.cancelled, removed.left), (2, 0));
    assert_eq!(until_there(&there, TaskState::Canceled).await.len(), 2);
    assert_eq!(last_state(&all(waiting).await), TaskState::Failed);
    stop(there, here).await;
}

/// A message that takes longer to become a task than its handler is left to live once it is cancelled.
///
/// spec: A2A 1.0.1 §3.1.5
#[tokio::test]
async fn cancelling_reaches_a_task_whose_message_was_under_way() {
    let (there, here) = (Behind::start().await, Here::start().await);
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = {
        let is_slow = Arc::clone(&is_slow);
        from_fn(move |request: Request, next: Next| {
            let waits = request.method() == Method::POST && is_slow.swap(false, Ordering::SeqCst);
            async move {
                // What has arrived is worked on, though its sender has gone.
                let answered = tokio::spawn(async move {
                    if waits {
                        sleep(Duration::from_secs(4)).await;
                    }
                    next.run(request).await
                });
                answered.await.expect("nothing panics")
            }
        })
    };
    let served = Elsewhere::serve(there.stage.router.clone().layer(slow)).await;
    here.add(&client::url(served.address), "far", json!({}))
        .await
        .expect("it is added");
    let remote = here.remote("far").await;
    is_slow.store(true, Ordering::SeqCst);
    let request = SendMessageRequest {
        configuration: Some(SendMessageConfiguration {
            return_immediately: true,
            ..Default::default()
        }),
        ..send("steps under-way")
    };
    let sent = soon(remote.send_message(request)).await.expect("a task");
    let Some(Payload::Task(task)) = sent.payload else {
        panic!("it is a task: {sent:?}");
    };
    let taken = async {
        while is_slow.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    soon(taken).await;
    let cancel = CancelTaskRequest {
        id: task.id,
        ..Default::default()
    };
    soon(remote.cancel_task(cancel)).await.expect("it is taken");
    until_there(&there, TaskState::Canceled).await;
    stop(there, here).await;
}
