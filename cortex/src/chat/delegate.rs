//! One task at an agent, from the handing over to what becomes of it.

use agenthub_proto::json;
use agenthub_sdk::{
    Update,
    durable::HandedOver,
    runs::{DelegationResult, SentHandoff},
};
use serde_json::Value;

use super::{
    frame_feed::View,
    outcome::{AWAY, LOST, shortened},
    projection::handoff,
};
use crate::{
    frame::{Frame, Stage},
    origin::Origin,
};

/// Hands a task over and waits for what becomes of it, while its progress is shown. An agent that stays away for longer than it may is
/// given up. Dropping the future ends the waiting, not the task.
pub(crate) async fn delegate(origin: &Origin, sent: &SentHandoff, view: &View) -> DelegationResult {
    let handed = match origin.hand_over(sent).await {
        Ok(handed) => handed.relaying_questions(),
        Err(failure) => return without(sent, state_of(failure.is_retryable), failure.message),
    };
    view.show(handoff(Stage::Occurred, sent, ""));
    let directory = origin.client().directory();
    tokio::select! {
        delegated = watched(handed, sent, view) => shortened(delegated),
        () = directory.gone(&sent.handoff.agent) => {
            give_up(origin, sent).await;
            match directory.get(&sent.handoff.agent) {
                Some(_) => without(sent, AWAY, String::new()),
                None => without(sent, "failed", directory.absence(&sent.handoff.agent)),
            }
        }
    }
}

fn state_of(may_pass: bool) -> &'static str {
    match may_pass {
        true => LOST,
        false => "failed",
    }
}

fn without(sent: &SentHandoff, state: &str, error: String) -> DelegationResult {
    DelegationResult {
        agent: sent.handoff.agent.clone(),
        state: state.to_owned(),
        error,
        ..DelegationResult::default()
    }
}

async fn watched(mut handed: HandedOver, sent: &SentHandoff, view: &View) -> DelegationResult {
    let mut updates = handed.updates();
    let progress = async {
        while let Some(update) = updates.next().await {
            if let Some(text) = progress(&update) {
                let mut frame = handoff(Stage::Progress, sent, &text);
                if let Frame::Handoff(handoff) = &mut frame {
                    handoff.approval = approval(&update);
                }
                view.show(frame);
            }
        }
    };
    let (delegated, ()) = tokio::join!(handed.ended(), progress);
    delegated
}

/// Words of the agent while it works.
fn progress(update: &Update) -> Option<String> {
    let Update::Status(update) = update else {
        return None;
    };
    let status = update.status.as_ref()?;
    let text = status.text();
    (!status.state().is_terminal() && !text.is_empty()).then_some(text)
}

/// The approval that the agent asks a person for.
fn approval(update: &Update) -> Option<Value> {
    let Update::Status(update) = update else {
        return None;
    };
    let metadata = json::from_struct(update.metadata.as_ref()?);
    metadata.get("approval").filter(|a| a.is_object()).cloned()
}

/// Cancels a task that is not waited for any longer.
pub(crate) async fn give_up(origin: &Origin, sent: &SentHandoff) {
    let reason = "Cortex does not wait for it any longer";
    match origin.client().cancel_task(&sent.task_id, reason).await {
        Ok(_) | Err(agenthub_sdk::Error::Conflict(_) | agenthub_sdk::Error::NotFound(_)) => {}
        Err(error) => {
            let task_id = &sent.task_id;
            tracing::warn!(task_id, %error, "a task that is given up could not be cancelled");
        }
    }
}
