//! A receiver of push notifications on a socket of this machine, which answers as a test says.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::any,
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};

use crate::harness::soon;

/// A request that came.
pub(crate) struct Posted {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    /// The kind of update and the state that it shows, such as `statusUpdate WORKING`.
    pub(crate) fn shows(&self) -> String {
        let (kind, update) = self
            .body
            .as_object()
            .and_then(|o| o.iter().next())
            .expect("one");
        let state = update["status"]["state"].as_str().unwrap_or_default();
        let state = state.trim_start_matches("TASK_STATE_");
        format!("{kind} {state}").trim().to_owned()
    }
}

/// States that requests show, in their order, each once in a row: an agent may say twice that it is at work.
pub(crate) fn shown(posted: &[(String, String)]) -> Vec<&str> {
    let mut shown: Vec<&str> = posted.iter().map(|(_, shows)| shows.as_str()).collect();
    shown.dedup();
    shown
}

/// The way in which a request is answered.
pub(crate) enum Answer {
    Status(u16),
    /// A redirect to this path of the receiver's own.
    Redirect(&'static str),
    /// Not before [`Receiver::let_go`].
    Hang,
}

struct Script {
    answers: Mutex<VecDeque<Answer>>,
    let_go: Semaphore,
    posted: mpsc::Sender<Posted>,
}

/// Posts that wait to be looked at. A sender waits where there are more.
const MOST_WAITING: usize = 10_000;

pub(crate) struct Receiver {
    pub(crate) url: String,
    script: std::sync::Arc<Script>,
    posted: mpsc::Receiver<Posted>,
    serving: JoinHandle<()>,
}

impl Receiver {
    /// Answers like this, one after the other, and 200 from then on.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
        let address = listener.local_addr().expect("it has an address");
        let (sender, posted) = mpsc::channel(MOST_WAITING);
        let script = std::sync::Arc::new(Script {
            answers: Mutex::new(answers.into_iter().collect()),
            let_go: Semaphore::new(0),
            posted: sender,
        });
        let router = Router::new()
            .fallback(any(receive))
            .with_state(script.clone());
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            url: format!("http://{address}/hook"),
            script,
            posted,
            serving,
        }
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Posted {
        soon(self.posted.recv()).await.expect("it receives")
    }

    /// The next requests, up to one that shows this: the id of each and what it shows.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        while all.last().is_none_or(|(_, shows)| shows != last) {
            let posted = self.next().await;
            all.push((posted.header("webhook-id").to_owned(), posted.shows()));
        }
        all
    }

    /// True if nothing comes for so long that it would have come.
    pub(crate) async fn is_left_alone(&mut self) -> bool {
        timeout(Duration::from_millis(300), self.posted.recv())
            .await
            .is_err()
    }

    /// Answers what hangs.
    pub(crate) fn let_go(&self) {
        self.script.let_go.add_permits(1_000);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn receive(
    State(script): State<std::sync::Arc<Script>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let posted = Posted {
        headers,
        bytes,
        body,
    };
    // The test may be over.
    let _ = script.posted.send(posted).await;
    let answer = script.answers.lock().expect("no panic").pop_front();
    match answer {
        None => StatusCode::OK.into_response(),
        Some(Answer::Status(code)) => StatusCode::from_u16(code).expect("one").into_response(),
        Some(Answer::Redirect(to)) => {
            (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response()
        }
        Some(Answer::Hang) => {
            let _let_go = script.let_go.acquire().await;
            StatusCode::OK.into_response()
        }
    }
}
