//! A model that hands tasks over by calling a tool, as hosted models do.

use std::sync::Arc;

use agenthub_sdk::model::{Completion, DeltaSink, LanguageModel, ModelError, Request, ToolCall};
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    frames::{chat, serve},
    harness::*,
};

/// Has agent_a work, and tells what came back in words, the last of which it holds until the first were shown.
#[derive(Debug, Default)]
struct Calling {
    was_shown: Arc<Notify>,
}

#[tonic::async_trait]
impl LanguageModel for Calling {
    fn name(&self) -> &str {
        "calling"
    }

    fn calls_tools(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: Request,
        deltas: DeltaSink,
    ) -> Result<Completion, ModelError> {
        let Some(results) = results(&request) else {
            let text = "I ask agent_a.\n";
            deltas.push(text);
            return Ok(Completion {
                text: text.to_owned(),
                tool_calls: vec![ToolCall {
                    id: "call_1".to_owned(),
                    name: request.tools[0].name.clone(),
                    arguments: json!({"targetAgent": "agent_a", "taskType": "work"}),
                }],
                ..Completion::default()
            });
        };
        let begins = "It came back";
        deltas.push(begins);
        self.was_shown.notified().await;
        let ends = format!(" with: {results}");
        deltas.push(&ends);
        Ok(Completion {
            text: format!("{begins}{ends}"),
            ..Completion::default()
        })
    }
}

/// spec: HUB-4, HUB-7
#[tokio::test]
async fn tasks_go_out_by_calls_and_words_are_shown_as_they_come() {
    let model = Calling::default();
    let was_shown = model.was_shown.clone();
    let world = World::new(model).await;
    let work = |_| async { Ok("a hole".to_owned()) };
    let _agent = world.agent(worker("agent_a", work)).await;
    let mut client = serve(&world.cortex).await;

    let frames = client.chat(chat("dig")).await.expect("it is taken");
    let mut frames = frames.into_inner();
    let mut shown = Vec::new();
    while let Some(frame) = within(frames.message()).await.expect("frames") {
        if frame.message == "It came back" {
            was_shown.notify_one();
        }
        shown.push((frame.r#type, frame.message));
    }
    let is_told = |kind: &str| matches!(kind, "delta" | "message" | "handoff");
    let told = shown.iter().filter(|(kind, _)| is_told(kind));
    let told: Vec<(&str, &str)> = told.map(|(kind, text)| (&**kind, &**text)).collect();
    assert_eq!(
        told,
        [
            ("delta", "I ask agent_a."),
            ("message", "I ask agent_a."),
            ("handoff", "requested"),
            ("handoff", "occurred"),
            ("handoff", "returned"),
            ("delta", "It came back"),
            ("delta", " with: a hole"),
            ("message", "It came back with: a hole"),
        ]
    );
    world.end().await;
}
