//! Record of a request for which nobody could be asked: without it, a report on the latest request would be one on an earlier one.

use std::time::{SystemTime, UNIX_EPOCH};

use agenthub_sdk::{
    model::PromptMessage,
    runs::{
        Budget, Journal, RunEvent, RunId, RunOutcome, RunStarted, Spent, Strategy,
        journal::JournalError,
        tool_loop::{Input, ToolLoop},
    },
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Definition, Named, agent::about};

/// Adds the request as a run of the orchestrator that has failed.
///
/// # Errors
///
/// The journal does not work.
pub(super) async fn record(
    journal: &dyn Journal,
    leads: &Definition,
    request: &str,
    why: &str,
) -> Result<RunId, JournalError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let at_ms = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let input = Input {
        instructions: leads.body.clone(),
        messages: vec![PromptMessage::user(request)],
        about: about(leads, &Named::default()),
        ..Input::default()
    };
    let started = RunEvent::Started(RunStarted {
        strategy: ToolLoop.name().to_owned(),
        input: json!(input),
        thread: String::new(),
        origin: Value::Null,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms,
    });
    let ended = RunEvent::Ended {
        outcome: RunOutcome::failed(why),
        spent: Spent::default(),
        at_ms,
    };
    let run = RunId::new(Uuid::now_v7().to_string());
    journal.add(&run, &leads.name, &[started, ended]).await?;
    Ok(run)
}
