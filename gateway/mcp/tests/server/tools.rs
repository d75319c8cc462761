//! A small MCP server, with tools that do what tests need.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

/// Tools on one page.
const PAGE: usize = 4;

/// The server. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    /// Where it notes what happens to it, a file each.
    pub(crate) notes: Option<PathBuf>,
    /// Further tools.
    pub(crate) many: usize,
    pub(crate) has_more: Arc<AtomicBool>,
    pub(crate) listings: Arc<AtomicUsize>,
}

impl Tools {
    fn note(&self, file: &str, text: &str) {
        if let Some(notes) = &self.notes {
            std::fs::write(notes.join(file), text).expect("the folder is there");
        }
    }

    fn listed(&self) -> Vec<Value> {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let none = json!({"type": "object"});
        let draft_07 = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"pair": {"type": "array", "items": [{"type": "number"}, {"type": "number"}]}},
        });
        let mut tools = vec![
            json!({"name": "echo", "description": "Says it again", "inputSchema": text}),
            json!({"name": "slow", "description": "Works until it is cancelled", "inputSchema": none}),
            json!({"name": "fail", "description": "Fails", "inputSchema": none}),
            json!({"name": "structured", "description": "Gives data", "inputSchema": none}),
            json!({"name": "picture", "description": "Draws", "inputSchema": none}),
            json!({"name": "dies", "description": "Ends the server", "inputSchema": none}),
            json!({"name": "environment", "description": "Names its variables", "inputSchema": none}),
            json!({"name": "learn", "description": "Learns another tool", "inputSchema": none}),
            json!({"name": "pair", "description": "Takes an old schema", "inputSchema": draft_07}),
            json!({"name": "odd", "description": "Takes a text", "inputSchema": {"type": "string"}}),
            json!({"name": "huge", "description": "Says much", "inputSchema": none}),
        ];
        if self.has_more.load(Ordering::SeqCst) {
            tools.push(json!({"name": "learned", "inputSchema": none}));
        }
        let many = (0..self.many).map(|n| json!({"name": format!("tool{n}"), "description": "d".repeat(9_000), "inputSchema": none}));
        tools.extend(many);
        tools
    }

    async fn slow(&self, context: &RequestContext<RoleServer>) -> CallToolResult {
        let token = context.meta.get_progress_token();
        for done in 0.. {
            if let Some(token) = &token {
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(done))
                    .with_total(1_000.0)
                    .with_message("at work");
                let _ = context.peer.notify_progress(progress).await;
            }
            self.note("at-work", "");
            tokio::select! {
                () = context.ct.cancelled() => break,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
        self.note("cancelled", "");
        said("it was cancelled")
    }
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed();
        ServerConfig::new(tools.build())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let start: usize = page
            .and_then(|page| page.cursor)
            .and_then(|cursor| cursor.parse().ok())
            .unwrap_or_default();
        if start == 0 {
            let listings = self.listings.fetch_add(1, Ordering::SeqCst) + 1;
            self.note("listings", &listings.to_string());
        }
        let all = self.listed();
        let tools = all.iter().skip(start).take(PAGE).cloned();
        let tools = tools.map(|tool| serde_json::from_value::<Tool>(tool).expect("a tool"));
        let mut result = ListToolsResult::with_all_items(tools.collect());
        result.next_cursor = (start + PAGE < all.len()).then(|| (start + PAGE).to_string());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = request.arguments.unwrap_or_default();
        let result = match &*request.name {
            "echo" => {
                let key = context.meta.get("agenthub/idempotency-key");
                self.note("key", key.and_then(Value::as_str).unwrap_or_default());
                said(input["text"].as_str().unwrap_or_default())
            }
            "slow" => self.slow(&context).await,
            "fail" => CallToolResult::error(vec![ContentBlock::text("there is no disk")]),
            "structured" => CallToolResult::structured(json!({"n": 1})),
            "picture" => {
                CallToolResult::success(vec![ContentBlock::image("AAAABBBB", "image/png")])
            }
            "dies" => {
                eprintln!("the end is near");
                std::process::exit(3)
            }
            "environment" => {
                let names: Map<String, Value> =
                    std::env::vars().map(|(k, v)| (k, v.into())).collect();
                CallToolResult::structured(Value::Object(names))
            }
            "learn" => {
                self.has_more.store(true, Ordering::SeqCst);
                let _ = context.peer.notify_tool_list_changed().await;
                said("learned")
            }
            "pair" => said(Value::Object(input).to_string()),
            "huge" => said("x".repeat(300_000)),
            name => {
                let message = format!("there is no tool {name}");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(CallToolResponse::Complete(result))
    }
}
