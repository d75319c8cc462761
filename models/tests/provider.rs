//! A provider on this machine: it answers with what a test prepared and remembers what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agenthub_models::providers::{Genai, Secret, Settings};
use agenthub_models::{
    Completion, DeltaSink, LanguageModel, ModelError, PromptMessage, Request, ToolCall, deltas,
};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const KEY: &str = "key-of-the-test";

/// What the provider was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| {
            value.to_str().expect("headers of the test are text")
        })
    }
}

/// What the provider does with a request.
pub(crate) enum Reply {
    Answer(Box<Response>),
    /// Says nothing and keeps the connection.
    Silence,
}

/// An answer with a status, headers and a body.
pub(crate) fn status(status: u16, headers: &[(&str, &str)], body: impl ToString) -> Reply {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Reply::Answer(Box::new(
        response
            .body(Body::from(body.to_string()))
            .expect("a valid response"),
    ))
}

/// The mark with which OpenAI closes its events.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// Server-sent events, one after the other.
pub(crate) fn frames(events: &[Value]) -> String {
    events.iter().map(event).collect()
}

/// A response of server-sent events, one chunk each.
pub(crate) fn events(events: &[Value]) -> Reply {
    streamed("text/event-stream", events.iter().map(event).collect())
}

/// A response of server-sent events with the mark at the end.
pub(crate) fn events_done(events: &[Value]) -> Reply {
    let chunks = events.iter().map(event).chain([DONE.to_owned()]);
    streamed("text/event-stream", chunks.collect())
}

/// The first event at once, the others when the sender says so; when it is dropped, never.
pub(crate) fn gated(first: &str, then: String) -> (Reply, oneshot::Sender<()>) {
    gated_as("text/event-stream", first.to_owned(), then)
}

/// The first chunk at once, the other when the sender says so; when it is dropped, never.
pub(crate) fn gated_as<T>(content_type: &str, first: T, then: T) -> (Reply, oneshot::Sender<()>)
where
    T: Into<Bytes> + Send + 'static,
{
    let (open, gate) = oneshot::channel();
    let tail = stream::once(async move {
        if gate.await.is_err() {
            std::future::pending::<()>().await;
        }
        then
    });
    let body = stream::iter([first]).chain(tail).map(Ok::<_, Infallible>);
    (reply(content_type, Body::from_stream(body)), open)
}

/// A body of several chunks.
pub(crate) fn streamed(content_type: &str, chunks: Vec<String>) -> Reply {
    streamed_bytes(content_type, chunks.into_iter().map(String::into_bytes))
}

/// A body of several chunks that are no text.
pub(crate) fn streamed_bytes(
    content_type: &str,
    chunks: impl IntoIterator<Item = Vec<u8>>,
) -> Reply {
    let chunks: Vec<Vec<u8>> = chunks.into_iter().collect();
    reply(
        content_type,
        Body::from_stream(stream::iter(chunks).map(Ok::<_, Infallible>)),
    )
}

fn reply(content_type: &str, body: Body) -> Reply {
    let response = Response::builder()
        .header("content-type", content_type)
        .body(body);
    Reply::Answer(Box::new(response.expect("a valid response")))
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

type Script = Arc<dyn Fn(&Asked) -> Option<Reply> + Send + Sync>;

#[derive(Clone)]
struct Shared {
    script: Script,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// The provider. Dropping it closes its port.
pub(crate) struct Provider {
    pub(crate) url: String,
    shared: Shared,
    server: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Provider {
    /// Gives these replies, one per request, then HTTP 599.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let queue: Mutex<VecDeque<Reply>> = Mutex::new(replies.into_iter().collect());
        Self::with(Arc::new(move |_| {
            queue.lock().expect("no panic under the lock").pop_front()
        }))
        .await
    }

    /// Gives the same reply to every request.
    pub(crate) async fn always(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Arc::new(move |_| Some(reply()))).await
    }

    /// Gives the reply that the request deserves.
    pub(crate) async fn answering(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Arc::new(move |asked| Some(reply(asked)))).await
    }

    async fn with(script: Script) -> Self {
        let shared = Shared {
            script,
            asked: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!(
            "http://{}",
            listener.local_addr().expect("a bound port has an address")
        );
        let app = Router::new().fallback(serve).with_state(shared.clone());
        let server = tokio::spawn(async move {
            axum::serve(listener, app)
                .await
                .expect("the server runs until it is aborted");
        });
        Self {
            url,
            shared,
            server,
        }
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared
            .asked
            .lock()
            .expect("no panic under the lock")
            .clone()
    }

    /// The one request that was made.
    pub(crate) fn asked_once(&self) -> Asked {
        let mut asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
    }

    /// Settings that lead here, with a key and hardly any pauses.
    pub(crate) fn settings(&self, model: &str, path: &str) -> Settings {
        Settings {
            endpoint: Some(format!("{}{path}", self.url)),
            api_key: Some(Secret::new(KEY)),
            timeout: Duration::from_secs(20),
            backoff: Duration::from_millis(1),
            ..Settings::new(model)
        }
    }
}

async fn serve(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let asked = Asked {
        path: uri.to_string(),
        headers,
        body,
    };
    let reply = (shared.script)(&asked);
    shared
        .asked
        .lock()
        .expect("no panic under the lock")
        .push(asked);
    match reply {
        Some(Reply::Answer(response)) => *response,
        Some(Reply::Silence) => std::future::pending().await,
        None => Response::builder()
            .status(599)
            .body(Body::empty())
            .expect("a valid response"),
    }
}

/// Asks a model with these settings.
pub(crate) async fn ask(settings: Settings, request: Request) -> Result<Completion, ModelError> {
    Genai::new(settings)
        .expect("complete settings")
        .complete(request, DeltaSink::ignored())
        .await
}

/// A question with an instruction before it.
pub(crate) fn question() -> Request {
    Request::new(vec![
        PromptMessage::system("Be brief."),
        PromptMessage::user("Say hello."),
    ])
}

/// A call of a tool.
pub(crate) fn made(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
    }
}

/// Checks that "Hel" is handed out while a provider still holds "lo" back, until `open` is sent.
pub(crate) async fn hands_out_while_it_grows(
    settings: Settings,
    request: Request,
    open: oneshot::Sender<()>,
) {
    let model = Genai::new(settings).expect("complete settings");
    let (sink, mut reader) = deltas();
    let read = async {
        assert_eq!(reader.next().await.as_deref(), Some("Hel"));
        open.send(()).expect("the provider waits for the reader");
        assert_eq!(reader.next().await.as_deref(), Some("lo"));
        assert_eq!(reader.next().await, None);
    };
    let (completion, ()) = tokio::join!(model.complete(request, sink), read);
    assert_eq!(completion.expect("an answer").text, "Hello");
}
