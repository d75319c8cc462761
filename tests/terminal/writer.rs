//! A local provider of models, which speaks OpenAI's chat completions and writes pieces under the test's control.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{Mutex, mpsc},
};

/// Queued pieces.
const PIECES: usize = 64;

/// The provider. Dropping it closes its port.
pub(crate) struct Writer {
    url: String,
    pieces: mpsc::Sender<Option<String>>,
    _runtime: Runtime,
}

impl Writer {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().expect("threads");
        let (sender, pieces) = mpsc::channel(PIECES);
        let pieces = Arc::new(Mutex::new(pieces));
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let app = Router::new().fallback(move || answer(Arc::clone(&pieces)));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("http://{address}/v1"),
            pieces: sender,
            _runtime: runtime,
        }
    }

    /// Environment variables that make the binary use this provider.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("AGENTHUB_MODEL", "openai/m".into()),
            ("AGENTHUB_MODEL_ENDPOINT", (&*self.url).into()),
            ("OPENAI_API_KEY", "none".into()),
        ]
    }

    /// Writes the next piece of the current answer.
    pub(crate) fn write(&self, piece: &str) {
        self.send(Some(piece.to_owned()));
    }

    /// Ends the current answer.
    pub(crate) fn end(&self) {
        self.send(None);
    }

    fn send(&self, piece: Option<String>) {
        self.pieces
            .blocking_send(piece)
            .expect("the provider is there");
    }
}

async fn answer(pieces: Arc<Mutex<mpsc::Receiver<Option<String>>>>) -> Response {
    // Requests are answered one after the other; the next one begins when this one's stream is dropped.
    let pieces = pieces.lock_owned().await;
    let body = stream::unfold(Some(pieces), async |pieces| {
        let mut pieces = pieces?;
        let (text, rest) = match pieces.recv().await? {
            Some(piece) => (chunk(&json!({"content": piece}), None), Some(pieces)),
            None => (chunk(&json!({}), Some("stop")) + "data: [DONE]\n\n", None),
        };
        Some((Ok::<_, Infallible>(text), rest))
    });
    let headers = [("content-type", "text/event-stream")];
    (headers, Body::from_stream(body)).into_response()
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n")
}
