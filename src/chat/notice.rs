//! What the chat says itself.

use agenthub_proto::agenthub::{ListAgentsRequest, ListTasksRequest};
use agenthub_sdk::Error;

use super::session::Session;
use crate::listing;

/// What there is to say about a command that there is not.
pub(super) fn unknown(name: &str) -> String {
    format!("there is no command /{name}; /help lists them")
}

/// The agents of the hub, fresh.
pub(super) async fn agents(session: &Session) -> Result<String, Error> {
    let page = session.client.agents(ListAgentsRequest::default()).await?;
    let mut text = listing::agents(&page.agents);
    if !page.next_page_token.is_empty() {
        text.push_str("\nand more: see `agenthub agents list`");
    }
    Ok(text)
}

/// The latest tasks of the conversation.
pub(super) async fn tasks(session: &Session) -> Result<String, Error> {
    let request = ListTasksRequest {
        context_id: session.context.clone(),
        ..Default::default()
    };
    let page = session.client.tasks(request).await?;
    let mut text = listing::tasks(&page.tasks);
    if !page.next_page_token.is_empty() {
        text.push_str("\nand more: see `agenthub tasks list`");
    }
    Ok(text)
}
