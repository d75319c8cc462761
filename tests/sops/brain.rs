//! A local provider of models that fail, wait or answer, by their names.

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, sync::watch};

use crate::harness::eventually;

/// A model that fails; first it waits until the other one was called.
pub(crate) const FAILS: &str = "openai/fails";
/// A model that answers when [released](Brain::let_go).
pub(crate) const WAITS: &str = "openai/waits";

/// The provider. Dropping it closes its port.
pub(crate) struct Brain {
    pub(crate) url: String,
    shared: Shared,
    _runtime: Runtime,
}

#[derive(Clone)]
struct Shared {
    asked: watch::Sender<Vec<String>>,
    is_let_go: watch::Sender<bool>,
}

impl Brain {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().expect("threads");
        let shared = Shared {
            asked: watch::Sender::default(),
            is_let_go: watch::Sender::new(false),
        };
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let app = Router::new().fallback(answer).with_state(shared.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("http://{address}/v1/"),
            shared,
            _runtime: runtime,
        }
    }

    /// Releases the waiting answers.
    pub(crate) fn let_go(&self) {
        self.shared.is_let_go.send_replace(true);
    }

    /// Number of calls of a model.
    pub(crate) fn asked(&self, model: &str) -> usize {
        let model = model.trim_start_matches("openai/");
        let asked = self.shared.asked.borrow();
        asked.iter().filter(|one| *one == model).count()
    }

    /// Waits until a model was called this often.
    pub(crate) fn wait_asked(&self, model: &str, count: usize) {
        eventually(&format!("{model} was asked {count} times"), || {
            (self.asked(model) >= count).then_some(())
        });
    }
}

async fn answer(State(shared): State<Shared>, Json(body): Json<Value>) -> Response {
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    shared.asked.send_modify(|asked| asked.push(model.clone()));
    if model == "fails" {
        let mut asked = shared.asked.subscribe();
        asked
            .wait_for(|asked| asked.iter().any(|one| one == "waits"))
            .await
            .expect("the provider is there");
        let error = json!({"error": {"message": "this model is out of order", "type": "invalid_request_error"}});
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    }
    let mut is_let_go = shared.is_let_go.subscribe();
    is_let_go
        .wait_for(|go| *go)
        .await
        .expect("the provider is there");
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    let events = [
        chunk(
            json!({"role": "assistant", "content": "It was worth the wait."}),
            None,
        ),
        chunk(json!({}), Some("stop")),
    ];
    let events: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    let body = Body::from(events + "data: [DONE]\n\n");
    ([("content-type", "text/event-stream")], body).into_response()
}
