//! Requests of a client.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CallToolResponse, ConstString, CustomRequest,
        CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;

use super::{Shared, call, tools};

/// The service for one client.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    shared: Arc<Shared>,
}

impl Handler {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
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
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let client = self.shared.hub.connected().await;
        let client = client.map_err(|why| ErrorData::internal_error(why, None))?;
        tools::page(&client.agent_tools().await, cursor.as_deref())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Whoever stops the server waits for the call, and so for the agent to be told.
        let _under_way = self.shared.tasks.token();
        let result = call::call(&self.shared, request, &context).await?;
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
        self.shared.changes.tell(context.peer);
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = Some(true);
        Some(filter)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut count = self.shared.changes.count();
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
            () = self.shared.stop.cancelled() => {}
            () = telling => {}
        }
        Ok(())
    }
}
