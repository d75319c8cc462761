//! Messages that come again, and those to tasks that there are.

use agenthub_sdk::Client;
use uuid::Uuid;

use super::{ALL, Call, NONE, Operations, sending::Sent};
use crate::{
    error::{Error, Kind},
    feed::Feed,
    hub::Target,
    identity::is_in,
};

/// A message to a task that there is.
pub(super) enum PriorTask {
    /// The task takes it. It was looked at as of this position.
    Next { as_of: String },
    /// The task has it, and has ended since.
    Repeated,
}

impl Operations {
    /// A message that the hub has already, with its task as that is.
    pub(super) async fn sent_before(
        &self,
        call: &Call,
        agent: &Target,
        task_id: String,
        mut feed: Feed,
    ) -> Result<Sent, Error> {
        let (task, as_of) = self.task_of(call, agent, &task_id, ALL).await?;
        feed.skip_to(&as_of);
        Ok(Sent {
            task_id,
            feed,
            prior: Some(task),
        })
    }

    /// True if a message with this identity has made its task before.
    pub(super) async fn is_known(
        &self,
        call: &Call,
        agent: &Target,
        task_id: &str,
        identity: Option<Uuid>,
    ) -> Result<bool, Error> {
        if identity.is_none() {
            return Ok(false);
        }
        match self.task_of(call, agent, task_id, NONE).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == Kind::TaskNotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks a message to a task that there is.
    pub(super) async fn follows_up(
        &self,
        call: &Call,
        client: &Client,
        agent: &Target,
        message: &mut agenthub_sdk::Message,
    ) -> Result<PriorTask, Error> {
        let (task, as_of) = self.task_of(call, agent, &message.task_id, NONE).await?;
        if !message.context_id.is_empty() && message.context_id != task.context_id {
            let fault = format!(
                "message.contextId is \"{}\", and the task's is \"{}\"",
                message.context_id, task.context_id
            );
            return Err(Error::field("message.contextId", fault));
        }
        if task.state().is_terminal() {
            let (whole, _) = self.task_of(call, agent, &message.task_id, ALL).await?;
            // The first message made the task: sent again with its id, it asks for more of a task that has ended.
            if is_in(whole.history.get(1..).unwrap_or_default(), message) {
                return Ok(PriorTask::Repeated);
            }
            return Err(Kind::UnsupportedOperation
                .with(format!(
                    "the task has ended ({}): send the message without taskId to start another",
                    task.state().label()
                ))
                .about("taskId", &task.id));
        }
        if task.requester() != client.agent_id() {
            return Err(Kind::UnsupportedOperation
                .with("the task was asked for over another protocol, and is answered there")
                .about("taskId", &task.id));
        }
        message.context_id = task.context_id;
        Ok(PriorTask::Next { as_of })
    }
}
