//! One request in a session: sent, watched, and called off when nobody waits for it.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::runs::ToolOutput;
use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
        ListToolsRequest, PaginatedRequestParams, RequestId, RequestMetaObject, ServerResult,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{Error, http, result, session::Session, why};

/// The most tools of a server that are looked at.
const MAX_TOOLS: usize = 512;

/// The most pages of a list that are turned.
const MAX_PAGES: usize = 64;

/// The key of `_meta` under which a call says what it is known by: the same when it is made again after a crash, and only then.
const KEY: &str = "agenthub/idempotency-key";

/// Deadline for calling something off.
const CALLING_OFF: Duration = Duration::from_secs(5);

/// Failure of a request.
pub(super) enum Failed {
    /// Not sent: the session is over.
    NotSent,
    Broken(Error),
}

impl Session {
    /// Calls a tool. Dropping this calls it off at the server.
    pub(super) async fn call(
        &self,
        tool: &str,
        input: Value,
        key: Option<&str>,
        progress: &impl Fn(String),
    ) -> Result<ToolOutput, Failed> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        if let Some(key) = key {
            let mut meta = RequestMetaObject::default();
            meta.insert(KEY.to_owned(), key.into());
            params.meta = Some(meta);
        }
        if let Value::Object(input) = input {
            params = params.with_arguments(input);
        }
        let request = CallToolRequest::new(params);
        let result = self.ask(ClientRequest::CallToolRequest(request), progress);
        Ok(result::output(&result.await?))
    }

    /// All that the server lists, up to a bound.
    pub(super) async fn list(&self) -> Result<Arc<[Value]>, Failed> {
        if let Some(listed) = self.listed() {
            return Ok(listed);
        }
        let changes = self.handler.changes();
        let mut tools: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut page = self.page(cursor.take()).await?;
            if let Value::Array(more) = page["tools"].take() {
                tools.extend(more);
            }
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() || tools.len() > MAX_TOOLS {
                break;
            }
        }
        if cursor.is_some() || tools.len() > MAX_TOOLS {
            let server = self.server.as_str();
            tracing::warn!(
                server,
                "the MCP server has too many tools: what comes after the first {MAX_TOOLS} of them is left out"
            );
        }
        tools.truncate(MAX_TOOLS);
        let tools: Arc<[Value]> = tools.into();
        self.keep_listed(changes, &tools);
        Ok(tools)
    }

    async fn page(&self, cursor: Option<String>) -> Result<Value, Failed> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest {
            method: Default::default(),
            params: Some(params),
            extensions: Default::default(),
        };
        self.ask(ClientRequest::ListToolsRequest(request), &|_| {})
            .await
    }

    /// The result as it came: what one part of it has of its own is no reason to lose the rest.
    async fn ask(
        &self,
        request: ClientRequest,
        progress: &impl Fn(String),
    ) -> Result<Value, Failed> {
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_request_with_option(request, options).await;
        let mut handle = sent.map_err(|_| Failed::NotSent)?;
        let mut shown = self.handler.watch(handle.progress_token.clone());
        let mut unanswered = Unanswered {
            peer: &self.peer,
            tasks: &self.tasks,
            id: Some(handle.id.clone()),
        };
        let answer = loop {
            tokio::select! {
                answer = &mut handle.rx => break answer,
                text = shown.next() => progress(text),
            }
        };
        unanswered.id = None;
        let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
        if let Err(ServiceError::TransportSend(error)) = &answer
            && why::is_broken_pipe(error.error.as_ref())
        {
            // Nobody has read it: the program is gone, though that may not have been noticed yet.
            self.give_up();
            return Err(Failed::NotSent);
        }
        self.answer(answer).map_err(Failed::Broken)
    }

    fn answer(&self, answer: Result<ServerResult, ServiceError>) -> Result<Value, Error> {
        let server = self.server.clone();
        match answer {
            Ok(result) => {
                self.answered();
                serde_json::to_value(result).map_err(|error| Error::Refused {
                    server,
                    message: error.to_string(),
                })
            }
            Err(ServiceError::McpError(error)) if is_of_an_old_session(&error.message) => {
                let why = "its session has ended, and another has begun".to_owned();
                Err(Error::Lost { server, why })
            }
            Err(ServiceError::McpError(error)) => {
                self.answered();
                let message = why::refused(&error);
                Err(Error::Refused { server, message })
            }
            Err(ServiceError::TransportSend(error)) => {
                let why = why::chain(error.error.as_ref());
                match http::is_unreachable(error.error.as_ref()) {
                    true => Err(Error::Unavailable { server, why }),
                    false => Err(Error::Lost { server, why }),
                }
            }
            Err(ServiceError::TransportClosed) => {
                self.give_up();
                let why = "the connection ended".to_owned();
                Err(Error::Lost { server, why })
            }
            Err(error) => Err(Error::Lost {
                server,
                why: why::chain(&error),
            }),
        }
    }
}

/// The transport answers so for a server that has forgotten the session in which it was asked.
fn is_of_an_old_session(message: &str) -> bool {
    message == "streamable HTTP session was re-initialized before the response arrived"
}

/// A request that is called off when this is dropped with its id.
struct Unanswered<'a> {
    peer: &'a Peer<RoleClient>,
    tasks: &'a TaskTracker,
    id: Option<RequestId>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let reason = "nobody waits for the result any more".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(reason));
        let calling_off = async move {
            // A server that does not hear it works for nothing, and that is all.
            let _ = timeout(CALLING_OFF, peer.notify_cancelled(params)).await;
        };
        self.tasks.spawn_on(calling_off, &runtime);
    }
}
