//! The work of an agent elsewhere on one task of the hub: messages and answers go there, and what comes of them is shown as it comes.

mod further;
mod taking;

use std::time::Duration;

use agenthub_sdk::{Failure, Message as HubMessage, Reply, TaskContext, TaskUpdate};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use super::{
    outcome::{self, question},
    proxy::{Proxy, key},
    tasks::RemoteTask,
};
use crate::{
    convert::message_from_hub,
    error::Kind,
    hops,
    v1::{GetTaskRequest, Message, Role, SendMessageRequest, TaskState, TaskStatus},
};

/// Pauses between tries where the agent does not answer: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// Tries of one message, where the agent answers for its card but not for this.
const MOST_TRIES: u32 = 20;

/// The same where it breaks off without a word: it may have acted on the message each time.
const MOST_BREAKS: u32 = 4;

/// Pauses between looks at a task that waits for its requester: the first, and the longest.
const LOOK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// The handling of one task. [`hold`](Self::hold) and [`pass_on`](Self::pass_on) go on beside each other.
pub(super) struct Conversation<'a> {
    proxy: &'a Proxy,
    task: &'a TaskContext,
    /// The task elsewhere, once it is known.
    noted: watch::Sender<Option<RemoteTask>>,
    /// A further message was handed on.
    passed: Notify,
}

/// Step of a conversation.
#[derive(Clone)]
struct Turn {
    /// The message that is handed on.
    message: HubMessage,
    /// Questions of the agent before it.
    answers: u32,
    /// No message's turn: the agent went on by itself.
    is_nobodys: bool,
}

/// Continuation after a turn.
enum Next {
    Ended(Result<Reply, Failure>),
    /// The agent waits for its requester.
    Asks(TaskStatus),
}

impl<'a> Conversation<'a> {
    pub(super) fn new(proxy: &'a Proxy, task: &'a TaskContext) -> Self {
        Self {
            proxy,
            task,
            noted: watch::Sender::new(None),
            passed: Notify::new(),
        }
    }

    /// Hands the message on, and each answer to what the agent asks, until the task has ended.
    pub(super) async fn hold(&self) -> Result<Reply, Failure> {
        let mut turn = self.first().await?;
        loop {
            turn = match self.patiently(&turn).await? {
                Next::Ended(result) => return result,
                Next::Asks(status) => self.ask(turn, &status).await?,
            };
        }
    }

    /// Returns once it is known which task elsewhere it is.
    pub(super) async fn is_known(&self) {
        let _ = self.noted.subscribe().wait_for(Option::is_some).await;
    }

    /// The first turn; of a handling that is taken up again, the one that it had come to.
    async fn first(&self) -> Result<Turn, Failure> {
        let known = self.proxy.remote_task(key(self.task)).await?;
        let known = known.filter(|known| !known.id.is_empty());
        let mut turn = Turn {
            message: self.task.message().clone(),
            answers: 0,
            is_nobodys: false,
        };
        if let Some(known) = &known
            && known.handled == turn.message.message_id
        {
            // They were answered, so that these return at once.
            while turn.answers < known.answers {
                turn.message = self.task.ask_requester(outcome::ASKS).await?;
                turn.answers += 1;
            }
        }
        self.noted.send_replace(known);
        Ok(turn)
    }

    /// Asks the requester what the agent asks. The question is withdrawn if the agent goes on without an answer.
    async fn ask(&self, turn: Turn, status: &TaskStatus) -> Result<Turn, Failure> {
        let question = question(status);
        let asked = async {
            match status.state() {
                TaskState::AuthRequired => self.task.ask_auth(question).await,
                _ => self.task.ask_requester(question).await,
            }
        };
        let answers = turn.answers + 1;
        tokio::select! {
            answer = asked => Ok(Turn { message: answer?, answers, is_nobodys: false }),
            () = self.goes_on(status) => {
                self.task.publish_update(TaskUpdate::new("")).await?;
                Ok(Turn { answers, is_nobodys: true, ..turn })
            }
        }
    }

    /// Returns when the agent does not wait in this state any more: somebody has signed in, or answered in another way, or the agent does not
    /// know the task any more.
    async fn goes_on(&self, asked: &TaskStatus) {
        let words = |status: &TaskStatus| status.message.as_ref().map(|m| m.message_id.clone());
        let mut pause = LOOK.0;
        loop {
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(LOOK.1),
                () = self.passed.notified() => pause = LOOK.0,
            }
            let Some(known) = self.noted.borrow().clone() else {
                continue;
            };
            let task = match self.proxy.remote().get_task(get(&known)).await {
                Ok(task) => task,
                Err(failure) if failure.is(Kind::TaskNotFound) => return,
                // One that cannot be looked at is taken to wait.
                Err(_) => continue,
            };
            let now = task.status.unwrap_or_default();
            if now.state() != asked.state() || words(&now) != words(asked) {
                return;
            }
        }
    }
}

/// A look at a task elsewhere, without its messages.
pub(super) fn get(known: &RemoteTask) -> GetTaskRequest {
    GetTaskRequest {
        id: known.id.clone(),
        history_length: Some(0),
        ..Default::default()
    }
}

/// A message of the hub as the agent elsewhere gets it.
fn request(message: &HubMessage, hops: u32, known: Option<&RemoteTask>) -> SendMessageRequest {
    let mut message = Message {
        role: Role::User.into(),
        task_id: String::new(),
        // Ids of the hub say nothing there.
        reference_task_ids: Vec::new(),
        ..message_from_hub(message.clone())
    };
    hops::note(&mut message, hops);
    if let Some(known) = known {
        known.id.clone_into(&mut message.task_id);
        known.context_id.clone_into(&mut message.context_id);
    }
    SendMessageRequest {
        message: Some(message),
        ..Default::default()
    }
}
