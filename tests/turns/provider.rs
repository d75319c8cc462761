//! A local provider of models, which speaks OpenAI's chat completions and counts its calls.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, sync::watch};

use crate::harness::eventually;

/// The provider. Dropping it closes its port.
pub(crate) struct Provider {
    pub(crate) url: String,
    shared: Shared,
    _runtime: Runtime,
}

#[derive(Clone)]
struct Shared {
    asked: Arc<Mutex<Vec<Question>>>,
    is_held: watch::Sender<bool>,
}

/// A call of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// The user's message.
    pub(crate) words: String,
    /// True if the results of agents were there.
    pub(crate) has_results: bool,
}

impl Provider {
    /// A provider whose model delegates everything to `agent`, and answers with its result.
    pub(crate) fn start(agent: &'static str) -> Self {
        let runtime = Runtime::new().expect("threads");
        let shared = Shared {
            asked: Arc::default(),
            is_held: watch::Sender::new(false),
        };
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let answer = move |State(shared): State<Shared>, Json(body): Json<Value>| async move {
            answer(&shared, agent, &body).await
        };
        let app = Router::new().fallback(answer).with_state(shared.clone());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("http://{address}/v1"),
            shared,
            _runtime: runtime,
        }
    }

    /// Holds answers back until [released](Self::let_go).
    pub(crate) fn hold(&self) {
        self.shared.is_held.send_replace(true);
    }

    /// Releases the answers.
    pub(crate) fn let_go(&self) {
        self.shared.is_held.send_replace(false);
    }

    /// The calls so far.
    pub(crate) fn asked(&self) -> Vec<Question> {
        self.shared.asked.lock().expect("no panic").clone()
    }

    /// Waits until this many calls have arrived.
    pub(crate) fn wait_asked(&self, count: usize) {
        eventually(&format!("the model was asked {count} times"), || {
            (self.asked().len() >= count).then_some(())
        });
    }
}

async fn answer(shared: &Shared, agent: &str, body: &Value) -> Response {
    let question = question(body);
    let decision = match &results(body) {
        Some(results) => json!({"type": "chat.response", "text": format!("It says: {results}")}),
        None => json!({"type": "task.request", "targetAgent": agent, "taskType": "echo"}),
    };
    shared.asked.lock().expect("no panic").push(question);
    let mut is_held = shared.is_held.subscribe();
    is_held
        .wait_for(|held| !held)
        .await
        .expect("the provider is there");
    streamed(&json!({ "actions": [decision] }).to_string())
}

fn question(body: &Value) -> Question {
    let texts = texts(body);
    let said = texts
        .iter()
        .rev()
        .find(|(role, text)| role == "user" && !text.starts_with("<data"));
    Question {
        words: said.map(|(_, text)| text.clone()).unwrap_or_default(),
        has_results: results(body).is_some(),
    }
}

/// The text of the first result.
fn results(body: &Value) -> Option<String> {
    let texts = texts(body);
    let block = texts.iter().find_map(|(_, text)| {
        text.strip_prefix("<data label=\"results\">")?
            .strip_suffix("</data>")
    })?;
    let results: Value = serde_json::from_str(block).expect("results are JSON");
    results[0]["text"].as_str().map(str::to_owned)
}

fn texts(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

fn streamed(text: &str) -> Response {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    let events = [
        chunk(json!({"role": "assistant", "content": text}), None),
        chunk(json!({}), Some("stop")),
    ];
    let events: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    let body = Body::from(events + "data: [DONE]\n\n");
    ([("content-type", "text/event-stream")], body).into_response()
}
