//! Sessions of one principal, as clients of the protocol before 2026-07-28 have them: those of others do not exist for it.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    http::Method,
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::handler::{Handler, SESSION};

/// Time for which a session is kept in which nothing happens.
const IDLE: Duration = Duration::from_secs(6 * 60 * 60);

/// Sessions of one principal at a time, and of all where the hub needs no identities.
const MOST_OF_ONE: usize = 100;
const MOST_OF_ALL: usize = 1_000;

/// True if the request may begin a session.
pub(super) fn may_begin(request: &Request) -> bool {
    request.method() == Method::POST && !request.headers().contains_key(SESSION)
}

/// The sessions of a principal. They end when this is dropped.
pub(super) struct Sessions {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    most: usize,
    _end: DropGuard,
}

impl Sessions {
    /// No sessions yet, for calls of at most this time.
    pub(super) fn new(
        config: StreamableHttpServerConfig,
        timeout: Duration,
        is_anonymous: bool,
        stop: &CancellationToken,
    ) -> Self {
        let mut manager = LocalSessionManager::default();
        let idle = IDLE.max(timeout + Duration::from_secs(60));
        manager.session_config = SessionConfig::default();
        manager.session_config.keep_alive = Some(idle);
        let manager = Arc::new(manager);
        let end = stop.child_token();
        let service = StreamableHttpService::new(
            || Ok(Handler::OfRequests),
            Arc::clone(&manager),
            config.with_cancellation_token(end.clone()),
        );
        Self {
            service,
            manager,
            most: match is_anonymous {
                true => MOST_OF_ALL,
                false => MOST_OF_ONE,
            },
            _end: end.drop_guard(),
        }
    }

    /// The most at a time.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// True if there is no room for another one.
    pub(super) async fn is_full(&self) -> bool {
        self.manager.sessions.read().await.len() >= self.most
    }

    /// True if there is none; also while that cannot be seen.
    pub(super) fn is_empty(&self) -> bool {
        let sessions = self.manager.sessions.try_read();
        sessions.is_ok_and(|sessions| sessions.is_empty())
    }

    /// Serves a request.
    pub(super) async fn serve(&self, request: Request) -> Response {
        self.service
            .handle(request)
            .await
            .map(Body::new)
            .into_response()
    }
}
