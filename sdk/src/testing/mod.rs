//! Tests of agents, with the feature `testing`: a hub in the test's own process, a task without a hub, and models that follow a script.
//!
//! ```
//! use agenthub_sdk::{prelude::*, testing::{FakeTask, Scripted, TestHub}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Failure> {
//! // A handler, without a hub.
//! let shouter = Agent::worker(Card::new("shouter", "Shouts")).on_any(async |task: TaskContext| {
//!     task.publish_update("taking a breath").await?;
//!     Ok(Reply::text(task.text().to_uppercase()))
//! });
//! let task = FakeTask::new("hello");
//! let reply = task.given_to(shouter).await?;
//! assert_eq!(reply.message().map(Message::text).as_deref(), Some("HELLO"));
//! assert_eq!(task.seen().await.updates, ["taking a breath"]);
//!
//! // A whole agent, on a hub, with a model that does as it is told.
//! let hub = TestHub::start().await;
//! let poet = Agent::worker(Card::new("poet", "Writes")).model(Scripted::texts(["O rose"]));
//! let _poet = poet.start(hub.url()).await?;
//! assert_eq!(hub.client().await.ask("poet", "a line").await?.text, "O rose");
//! # Ok(())
//! # }
//! ```

mod hub;
mod task;

pub use crate::model::Scripted;
pub use hub::TestHub;
pub use task::{FakeTask, TaskTranscript};

use serde_json::Value;

use crate::model::{Completion, ModelError, ToolCall};

/// A turn of a model that answers with this text, for [`Scripted::answers`].
///
/// # Errors
///
/// None: a script is a list of results.
pub fn says(text: impl Into<String>) -> Result<Completion, ModelError> {
    Ok(Completion {
        text: text.into(),
        ..Completion::default()
    })
}

/// A turn of a model that calls these tools with these arguments, for [`Scripted::answers`].
///
/// # Errors
///
/// None: a script is a list of results.
pub fn calls<'a>(
    calls: impl IntoIterator<Item = (&'a str, Value)>,
) -> Result<Completion, ModelError> {
    let calls = (1..)
        .zip(calls)
        .map(|(number, (name, arguments))| ToolCall {
            id: format!("call_{number}"),
            name: name.to_owned(),
            arguments,
        });
    Ok(Completion {
        tool_calls: calls.collect(),
        ..Completion::default()
    })
}
