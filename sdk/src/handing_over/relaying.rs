//! Questions of an agent that works on behalf of a run: they go up to the run's requester, and the answers back down.

use std::time::Duration;

use agenthub_proto::{
    a2a::{Message, Role, Task},
    agenthub::AgentEventMetadata,
};
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    Client, Delegation, Error, Outcome, Pending, Reply, TaskContext, pending::watch::HISTORY,
};

/// Interval at which the agent's task is looked at while its question is out: it may go on by itself, as when somebody signed in.
const LOOK: Duration = Duration::from_secs(5);

/// Consequence of a question.
pub(super) enum Relayed {
    /// Outcome of the task.
    Outcome(Box<Outcome>),
    /// The task is waited for again.
    Waits(Box<Pending>),
    /// The question has no answer.
    Nobody,
}

/// Asks the requester of `task` what an agent asks, and gives the agent the answer. After a crash it does what is left of that.
pub(super) async fn relay(
    task: &TaskContext,
    client: &Client,
    delegation: &Delegation,
    asked: &Outcome,
) -> Result<Relayed, Error> {
    let question = asked.message.clone().unwrap_or_default();
    let key = format!("{}/{}", asked.task_id, question.message_id);
    let asking = task.ask_in_run(&key, upwards(question.clone()), asked.state);
    let answer = tokio::select! {
        answer = asking => match answer {
            Ok(answer) => answer,
            Err(Error::Invalid(why)) => {
                tracing::debug!(why, "an agent's question is not passed on");
                return Ok(Relayed::Nobody);
            }
            Err(error) => return Err(error),
        },
        found = gone_on(client, &asked.task_id, &question.message_id) => {
            task.withdraw_in_run(&key).await?;
            return followed(client, delegation, found).await;
        }
    };
    let routing = AgentEventMetadata {
        from_agent_id: client.agent_id().to_owned(),
        to_agent_id: delegation.agent.clone(),
        hops: delegation.hops,
        parent_task_id: delegation.parent_task_id.clone(),
        on_behalf_of: delegation.on_behalf_of.clone(),
        ..Default::default()
    };
    let answer = downwards(answer, &key, asked);
    match client.answer_step(answer, routing, delegation).await {
        Ok(pending) => match client.task(&asked.task_id, HISTORY).await {
            // The answer had arrived before a crash, and was followed by something.
            Ok(found) if has_gone_on(&found, &question.message_id) => {
                drop(pending);
                followed(client, delegation, found).await
            }
            Ok(_) | Err(_) => Ok(Relayed::Waits(Box::new(pending))),
        },
        // It has ended meanwhile.
        Err(Error::Conflict(_)) => {
            let found = client.task(&asked.task_id, HISTORY).await?;
            Ok(Relayed::Outcome(Box::new(Outcome::of(&found))))
        }
        Err(error) => Err(error),
    }
}

/// The question as it goes up, without what belongs to the agent's task alone.
fn upwards(question: Message) -> Reply {
    Message {
        content: question.content,
        ..Message::new(Role::Agent, "")
    }
    .into()
}

/// The answer as it goes down: the same content, under an id that follows from the question.
fn downwards(answer: Message, key: &str, asked: &Outcome) -> Message {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{key}/answer").as_bytes());
    Message {
        message_id: format!("msg_{}", id.simple()),
        task_id: asked.task_id.clone(),
        role: Role::User.into(),
        content: answer.content,
        ..Message::default()
    }
}

/// State of a task that does not wait for this answer any more.
async fn followed(client: &Client, delegation: &Delegation, found: Task) -> Result<Relayed, Error> {
    if found.state().is_terminal() || found.state().is_interrupted() {
        return Ok(Relayed::Outcome(Box::new(Outcome::of(&found))));
    }
    // Known by its ids, it is not begun again.
    let pending = client.delegate_step(delegation, true).await?;
    Ok(Relayed::Waits(Box::new(pending)))
}

/// Waits until a task does not wait for the answer to this question any more.
async fn gone_on(client: &Client, task_id: &str, question: &str) -> Task {
    loop {
        sleep(LOOK).await;
        match client.task(task_id, HISTORY).await {
            Ok(task) if has_gone_on(&task, question) => return task,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "not known whether a task still waits"),
        }
    }
}

fn has_gone_on(task: &Task, question: &str) -> bool {
    let asks = task.status.as_ref().and_then(|s| s.update.as_ref());
    !task.state().is_interrupted() || asks.is_some_and(|m| m.message_id != question)
}
