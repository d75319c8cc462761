//! What a turn shows: the same on a task and on a call.

use std::net::Ipv4Addr;

use agenthub_agents::echo;
use agenthub_api::{Runs, Service};
use agenthub_cortex::Running;
use agenthub_sdk::{
    Update,
    internal::assemble,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Offline, Request, Scripted},
    proto::{
        cortex::{ChatRequest, Frame, cortex_client::CortexClient, cortex_server::CortexServer},
        json,
    },
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, transport::Server};

use crate::harness::*;

/// Serves Cortex's own service for as long as the test runs.
pub(crate) async fn serve(cortex: &Running) -> CortexClient<tonic::transport::Channel> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let service = Service::default();
    service.open(&Runs::of(cortex.handle()));
    let serving = Server::builder()
        .add_service(CortexServer::new(service))
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::spawn(serving);
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
    let channel = channel.expect("an address").connect().await;
    CortexClient::new(channel.expect("it listens"))
}

pub(crate) fn chat(text: &str) -> ChatRequest {
    ChatRequest {
        text: text.to_owned(),
        context_id: "c".to_owned(),
    }
}

pub(crate) async fn frames(
    client: &mut CortexClient<tonic::transport::Channel>,
    text: &str,
) -> Vec<Frame> {
    let mut stream = client
        .chat(chat(text))
        .await
        .expect("it is taken")
        .into_inner();
    let mut frames = Vec::new();
    while let Some(frame) = within(stream.message()).await.expect("frames") {
        frames.push(frame);
    }
    frames
}

/// A frame without what differs between two runs.
fn shape(kind: &str, phase: &str, message: &str, data: Option<Value>) -> Value {
    let mut data = data.unwrap_or_default();
    if let Some(fields) = data.as_object_mut() {
        fields.remove("taskId");
    }
    json!([kind, phase, message, data])
}

/// spec: HUB-7, ORC-4
#[tokio::test]
async fn the_task_and_the_call_show_the_same_frames() {
    let world = World::new(Offline).await;
    let _echo = world.agent(echo::agent("agent_echo")).await;

    let mut client = serve(&world.cortex).await;
    let on_the_call = frames(&mut client, "echo \"hello\"").await;
    let sequences: Vec<u64> = on_the_call.iter().map(|f| f.sequence).collect();
    assert_eq!(
        sequences,
        (1..=on_the_call.len() as u64).collect::<Vec<_>>()
    );
    assert!(on_the_call.iter().all(|f| f.context_id == "c"));
    assert!(
        on_the_call
            .iter()
            .all(|f| f.correlation_id == on_the_call[0].correlation_id)
    );
    let is_text = |f: &&Frame| f.r#type != "delta";
    let call: Vec<Value> = on_the_call
        .iter()
        .filter(is_text)
        .map(|f| {
            shape(
                &f.r#type,
                &f.phase,
                &f.message,
                f.data.as_ref().map(json::from_struct),
            )
        })
        .collect();

    let ann = world.user("ann").await;
    let mut pending = ann.send("c", "echo \"hello\"").await;
    let mut updates = pending.updates();
    let (mut task, mut artifacts, mut sequence) = (Vec::new(), Vec::new(), 0);
    while let Some(update) = within(updates.next()).await {
        let frame = match &update {
            Update::Status(status) => frame_of(status.metadata.as_ref()),
            Update::Artifact(artifact) => {
                assemble(&mut artifacts, artifact);
                frame_of(artifact.artifact.as_ref().and_then(|a| a.metadata.as_ref()))
            }
            _ => None,
        };
        let Some(frame) = frame else { continue };
        sequence += 1;
        assert_eq!(frame["sequence"], json!(sequence), "{frame}");
        let text = |key: &str| frame[key].as_str().unwrap_or_default();
        if text("type") != "delta" {
            task.push(shape(
                text("type"),
                text("phase"),
                text("message"),
                frame.get("data").cloned(),
            ));
        }
    }
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(task, call);
    let kinds: Vec<&str> = call.iter().filter_map(|f| f[0].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "start", "phase", "handoff", "handoff", "handoff", "phase", "message", "metrics",
            "complete"
        ]
    );

    let answer = said(&outcome);
    assert_eq!(artifacts.len(), 1);
    assert_eq!(
        (&*artifacts[0].artifact_id, artifacts[0].text()),
        ("answer", answer.clone())
    );
    let deltas: String = on_the_call
        .iter()
        .filter(|f| f.r#type == "delta")
        .map(|f| &*f.message)
        .collect();
    assert_eq!(deltas, answer);
    let complete = on_the_call
        .last()
        .and_then(|f| f.data.as_ref())
        .map(json::from_struct);
    assert_eq!(complete, Some(json!({"message": answer})));
    world.end().await;
}

fn frame_of(metadata: Option<&agenthub_sdk::proto::wkt::Struct>) -> Option<Value> {
    json::from_struct(metadata?).get("frame").cloned()
}

/// What somebody has read who follows the text, and the warnings.
fn read(frames: Vec<Frame>) -> (String, usize) {
    let (mut text, mut warnings) = (String::new(), 0);
    for frame in frames {
        let data = frame.data.as_ref().map(json::from_struct);
        let begins = data.is_some_and(|d| d["append"] == json!(false));
        match &*frame.r#type {
            "delta" if begins => text = frame.message,
            "delta" => text.push_str(&frame.message),
            "warning" => warnings += 1,
            _ => {}
        }
    }
    (text, warnings)
}

#[tokio::test]
async fn an_answer_that_begins_again_says_so() {
    let half = r#"{"actions": [{"type": "chat.response", "text": "wrong"}, {"type": "nonsense"}]}"#;
    let world = World::new(Scripted::texts([half.to_owned(), respond("right")])).await;
    let mut client = serve(&world.cortex).await;
    let frames = frames(&mut client, "hi").await;
    assert_eq!(read(frames), ("right".to_owned(), 1));
    world.end().await;
}

#[tokio::test]
async fn text_that_turns_out_not_to_be_the_answer_is_replaced() {
    // Of two fields of one name the last one counts.
    let twice = r#"{"actions": [{"type": "chat.response", "text": "wrong", "text": "right"}]}"#;
    let world = World::new(Scripted::texts([twice])).await;
    let mut client = serve(&world.cortex).await;
    let frames = frames(&mut client, "hi").await;
    assert_eq!(read(frames), ("right".to_owned(), 0));
    world.end().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_cancels_its_turn() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let (tell, mut told) = mpsc::channel(2);
    let _agent = world.agent(cancelled("agent_a", tell)).await;
    let mut client = serve(&world.cortex).await;
    let stream = client.chat(chat("agent_a")).await.expect("it is taken");
    assert_eq!(within(told.recv()).await, Some("at work"));
    drop(stream);
    assert_eq!(within(told.recv()).await, Some("cancelled"));
    world.end().await;
}

#[tokio::test]
async fn the_last_frame_of_a_failure_is_an_error() {
    let world = World::new(Scripted::texts(Vec::<String>::new())).await;
    let mut client = serve(&world.cortex).await;
    let frames = frames(&mut client, "hi").await;
    let last = frames.last().expect("frames");
    assert_eq!(last.r#type, "error");
    assert!(last.message.contains("unavailable"), "{}", last.message);
    assert_eq!(frames.iter().filter(|f| f.r#type == "error").count(), 1);
    world.end().await;
}

#[tokio::test]
async fn an_empty_or_huge_text_is_refused() {
    let world = World::new(Offline).await;
    let mut client = serve(&world.cortex).await;
    for text in [" ".to_owned(), "x".repeat((1 << 20) + 1)] {
        let refused = client.chat(chat(&text)).await.expect_err("a refusal");
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
    world.end().await;
}

/// A model whose first answer breaks off.
#[derive(Debug, Default)]
struct BreaksOff(std::sync::atomic::AtomicUsize);

#[tonic::async_trait]
impl LanguageModel for BreaksOff {
    fn name(&self) -> &str {
        "breaks-off"
    }

    async fn complete(&self, _: Request, deltas: DeltaSink) -> Result<Completion, ModelError> {
        let answer = respond("the whole answer");
        match self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => {
                deltas.push(answer.split_once(" answer").expect("it is there").0);
                Err(ModelError::Unavailable("the answer broke off".to_owned()))
            }
            _ => {
                deltas.push(&answer);
                Ok(Completion {
                    text: answer,
                    ..Completion::default()
                })
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_withdrawn_and_asked_for_again() {
    let world = World::new(BreaksOff::default()).await;
    let mut client = serve(&world.cortex).await;
    let frames = frames(&mut client, "hi").await;
    let shown = frames.iter().filter_map(|frame| {
        let append = frame.data.as_ref().map(json::from_struct);
        let append = append.is_none_or(|data| data["append"] != false);
        let is_of_it = matches!(&*frame.r#type, "delta" | "warning" | "complete" | "error");
        is_of_it.then(|| (&*frame.r#type, &*frame.message, append))
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            ("delta", "the whole", false),
            (
                "warning",
                "the model did not answer and is asked again",
                true
            ),
            ("delta", "", false),
            ("delta", "the whole answer", false),
            ("complete", "", true),
        ]
    );
    world.end().await;
}
