//! Requests of a client.

use std::sync::Arc;

use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CallToolResponse, ConstString, CustomRequest,
        CustomResult, ErrorCode, Extensions, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;

use super::{call, caller::Caller, tools};

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// The service for one client.
#[derive(Clone, Debug)]
pub(super) enum Handler {
    /// The one client of a process, which asks as this process.
    Only(Arc<Caller>),
    /// A client whose requests of HTTP each have their caller among their extensions.
    OfRequests,
}

impl Handler {
    /// The caller in whose name a request is carried out.
    ///
    /// # Errors
    ///
    /// The request has none.
    fn caller(&self, extensions: &Extensions) -> Result<Arc<Caller>, ErrorData> {
        match self {
            Self::Only(caller) => Ok(Arc::clone(caller)),
            Self::OfRequests => {
                let caller = extensions.get().and_then(|p: &Parts| p.extensions.get());
                let none = || ErrorData::internal_error("it is not known who asks", None);
                caller.cloned().ok_or_else(none)
            }
        }
    }

    /// The session of a request; empty if it has none.
    fn session(extensions: &Extensions) -> &str {
        let parts: Option<&Parts> = extensions.get();
        let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
        session.unwrap_or_default()
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools();
        let server = Implementation::new("agenthub", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(tools.enable_tool_list_changed().build())
            .with_server_info(server.with_title("AgentHub"))
            .with_instructions(
                "Each tool hands work to one agent of a hub and gives what comes of it. An agent sees nothing of this conversation: say all \
                 that it needs in `request`. Calls may take minutes and run side by side. The tools change as agents come and go.",
            )
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context.extensions)?;
        let session = Self::session(&context.extensions);
        if !session.is_empty() {
            // It may have come with another token than before.
            caller.changes.tell(session, &context.peer);
        }
        let cursor = request.and_then(|request| request.cursor);
        let client = caller.hub.connected().await;
        let client = client.map_err(|why| ErrorData::internal_error(why, None))?;
        tools::page(&client.agent_tools().await, cursor.as_deref())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context.extensions)?;
        // Whoever stops the server waits for the call, and so for the agent to be told.
        let _under_way = caller.tasks.token();
        let result = call::call(&caller, request, &context).await?;
        Ok(result.into())
    }

    /// Answers a method that this protocol does not have; of a method that it has, the parameters are wrong.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != CallToolRequestMethod::VALUE {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ));
        }
        let params = request.params.unwrap_or_else(|| json!({}));
        let why = match serde_json::from_value::<CallToolRequestParams>(params) {
            Err(error) => error.to_string(),
            Ok(_) => "they cannot be read".to_owned(),
        };
        Err(ErrorData::invalid_params(
            format!(
                "the parameters of {} are the `name` of a tool and its `arguments`, an object: {why}",
                CallToolRequestMethod::VALUE
            ),
            None,
        ))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Ok(caller) = self.caller(&context.extensions) {
            let session = Self::session(&context.extensions);
            caller.changes.tell(session, &context.peer);
        }
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        Some(filter)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let caller = self.caller(&subscription.request_context().extensions)?;
        let mut count = caller.changes.count();
        let telling = async {
            while count.changed().await.is_ok() {
                if let Err(error) = subscription.sink().notify_tool_list_changed().await {
                    tracing::debug!(%error, "a client was not told of the change");
                    return;
                }
            }
        };
        tokio::select! {
            () = subscription.cancelled() => {}
            () = caller.ended() => {}
            () = telling => {}
        }
        Ok(())
    }
}
