//! Servers that are reached over HTTP.

use std::{net::SocketAddr, sync::Arc};

use agenthub_mcp::client::{Connection, Error};
use agenthub_sdk::runs::ToolOutput;
use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware::{self, Next},
    response::Response,
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{call, noted, over_http, tools::Tools, until};

/// A server that runs until it is stopped.
struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    async fn start(address: SocketAddr, tools: Tools, token: Option<&'static str>) -> Self {
        let stop = CancellationToken::new();
        let config =
            StreamableHttpServerConfig::default().with_cancellation_token(stop.child_token());
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
        let check =
            middleware::from_fn(move |request: Request, next: Next| checked(token, request, next));
        let router = Router::new().nest_service("/mcp", service).layer(check);
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener.local_addr().expect("it is bound");
        let ending = stop.clone();
        let serving = tokio::spawn(async move {
            let served = axum::serve(listener, router);
            tokio::select! {
                served = served => served.expect("it serves"),
                () = ending.cancelled() => {}
            }
        });
        Self {
            address,
            stop,
            serving,
        }
    }

    async fn anywhere(tools: Tools, token: Option<&'static str>) -> Self {
        Self::start(SocketAddr::from(([127, 0, 0, 1], 0)), tools, token).await
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.expect("it ends");
    }
}

async fn checked(token: Option<&str>, request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get("authorization")
        .and_then(|v| v.to_str().ok());
    if token.is_some_and(|token| given != Some(&format!("Bearer {token}"))) {
        let mut refused = Response::default();
        *refused.status_mut() = StatusCode::UNAUTHORIZED;
        return refused;
    }
    next.run(request).await
}

/// spec: SOP-1.4
#[tokio::test]
async fn it_is_used_like_any_other() {
    let server = Server::anywhere(Tools::default(), None).await;
    let connection = Connection::new(over_http(&server.url(), None));
    let offer = connection.tools().await.expect("it lists them");
    assert_eq!(offer.tools.len(), 10);
    let said = call(&connection, "echo", json!({"text": "hello"})).await;
    assert_eq!(said, Ok(ToolOutput::from("hello")));
    connection.close().await;
    server.stop().await;
}

#[tokio::test]
async fn cancelling_calls_it_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tools = Tools {
        notes: Some(folder.path().to_owned()),
        ..Tools::default()
    };
    let server = Server::anywhere(tools, None).await;
    let connection = Connection::new(over_http(&server.url(), None));
    let at_work = until("it works", || noted(folder.path(), "at-work").is_some());
    let told = std::cell::Cell::new(0);
    let ended = connection
        .call("slow", json!({}), at_work, |_| told.set(told.get() + 1))
        .await;
    assert_eq!(ended, Err(Error::Cancelled));
    until("it is called off", || {
        noted(folder.path(), "cancelled").is_some()
    })
    .await;
    connection.close().await;
    server.stop().await;
}

/// A server that has begun anew knows no session of before, and answers 404.
#[tokio::test]
async fn a_session_that_is_forgotten_begins_again() {
    let server = Server::anywhere(Tools::default(), None).await;
    let connection = Connection::new(over_http(&server.url(), None));
    call(&connection, "echo", json!({"text": "a"}))
        .await
        .expect("it is there");
    let address = server.address;
    server.stop().await;
    let away = call(&connection, "echo", json!({"text": "b"}))
        .await
        .expect_err("it is away");
    let again = Server::start(address, Tools::default(), None).await;
    let said = call(&connection, "echo", json!({"text": "c"})).await;
    assert_eq!(said, Ok(ToolOutput::from("c")), "after {away}");
    connection.close().await;
    again.stop().await;
}

#[tokio::test]
async fn its_token_comes_from_the_environment() {
    // A variable that is there wherever tests run: its value is the token.
    let token = env!("CARGO_PKG_NAME");
    let server = Server::anywhere(Tools::default(), Some(token)).await;
    let knows = Connection::new(over_http(&server.url(), Some("CARGO_PKG_NAME")));
    assert_eq!(knows.tools().await.expect("it is let in").tools.len(), 10);
    knows.close().await;
    for (token_env, part) in [
        (None, "name the variable with its token in `token_env`"),
        (
            Some("CARGO_PKG_VERSION"),
            "does not accept the token in the variable CARGO_PKG_VERSION",
        ),
        (
            Some("NO_SUCH_VARIABLE"),
            "the variable NO_SUCH_VARIABLE, which is not set",
        ),
    ] {
        let connection = Connection::new(over_http(&server.url(), token_env));
        let error = connection.tools().await.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
        connection.close().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn one_that_is_not_there_is_explained_and_found_later() {
    let server = Server::anywhere(Tools::default(), None).await;
    let (address, url) = (server.address, server.url());
    server.stop().await;
    let connection = Connection::new(over_http(&url, None));
    let error = connection
        .tools()
        .await
        .expect_err("nobody is there")
        .to_string();
    assert!(
        error.contains(&format!("nothing answers at {url}")),
        "{error}"
    );
    let with_secrets = format!("http://ann:hunter2@{address}/mcp?key=hunter2");
    let other = Connection::new(over_http(&with_secrets, None));
    let error = other.tools().await.expect_err("nobody is there");
    let error = error.to_string();
    assert!(error.contains("nothing answers at http://"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    other.close().await;

    let server = Server::start(address, Tools::default(), None).await;
    assert_eq!(
        connection.tools().await.expect("it is there").tools.len(),
        10
    );
    connection.close().await;
    server.stop().await;
}
