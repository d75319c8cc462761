//! An agent over HTTP that notes when it answers.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Barrier, task::JoinSet};

use super::AT_ONCE;
use crate::compare::tasks::text;

/// A text that is answered at once.
pub(super) const AT_ONCE_TEXT: &str = "at once";

/// A text that is answered once as many have come as are answered [in the same moment](AT_ONCE).
pub(super) const TOGETHER: &str = "together";

/// The agent. It ends on drop.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) url: String,
    pub(super) answers: Answers,
    _server: JoinSet<()>,
}

/// Moments before answers, by the ids of their messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<Mutex<HashMap<String, Instant>>>);

impl Answers {
    /// Takes note of an answer to this message. The last one counts.
    fn note(&self, message_id: &str) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(message_id.to_owned(), Instant::now());
    }

    /// The moment before the answer to this message.
    pub(super) fn take(&self, message_id: &str) -> Option<Instant> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.remove(message_id)
    }
}

#[derive(Clone, Debug)]
struct Answering {
    answers: Answers,
    together: Arc<Barrier>,
    text: Arc<str>,
}

impl Agent {
    /// # Errors
    ///
    /// There is no free port.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let card = json!({
            "name": "bench", "description": "Answers a question", "version": "1", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "capabilities": {},
            "supportedInterfaces": [{ "url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" }],
        });
        let answers = Answers::default();
        let answering = Answering {
            answers: answers.clone(),
            together: Arc::new(Barrier::new(AT_ONCE)),
            text: text('a').into(),
        };
        let routes = Router::new()
            .route("/.well-known/agent-card.json", get(async || Json(card)))
            .route("/message:send", post(answer))
            .with_state(answering);
        let mut server = JoinSet::new();
        server.spawn(async move {
            // It ends with its task.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self {
            url,
            answers,
            _server: server,
        })
    }
}

/// Each answer is another one, as real ones are: each is an object of its own in the store.
async fn answer(State(answering): State<Answering>, Json(request): Json<Value>) -> Json<Value> {
    let message = &request["message"];
    let id = message["messageId"].as_str().unwrap_or_default();
    if message["parts"][0]["text"] == TOGETHER {
        answering.together.wait().await;
    }
    let text = format!("{} {id}", answering.text);
    let said = json!({ "messageId": id, "role": "ROLE_AGENT", "parts": [{ "text": text }] });
    let response = Json(json!({ "message": said }));
    answering.answers.note(id);
    response
}
