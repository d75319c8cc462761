//! The work of an agent elsewhere on one task of the hub: messages and answers go there, and what comes of them is shown as it comes.

use std::{io, time::Duration};

use agenthub_sdk::{
    ArtifactUpdate, Error as HubError, Failure, Message as HubMessage, Reply, TaskContext,
    TaskUpdate, internal::follow_up,
};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use super::{
    outcome::{self, question, said, text_of},
    proxy::{Proxy, key},
    tasks::{RemoteTask, now},
};
use crate::{
    client::{self, Following, Remote},
    convert::{artifact_to_hub, message_from_hub},
    v1::{
        GetTaskRequest, Message, Role, SendMessageConfiguration, SendMessageRequest, TaskState,
        TaskStatus, stream_response::Payload,
    },
};

/// Pauses between tries where the agent does not answer: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// Tries of one message, where the agent answers for its card but not for this.
const MOST_TRIES: u32 = 20;

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
    /// It is nobody's turn: the agent went on by itself.
    is_nobodys: bool,
}

/// Continuation after a turn.
enum Next {
    Ended(Result<Reply, Failure>),
    /// The agent waits for its requester.
    Asks(TaskStatus),
}

/// The reason why a task could not be followed to its end.
enum Stop {
    Remote(client::Failure),
    Hub(HubError),
    Disk(io::Error),
}

impl From<client::Failure> for Stop {
    fn from(failure: client::Failure) -> Self {
        Self::Remote(failure)
    }
}

impl From<HubError> for Stop {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
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

    /// Hands on, without end, the messages that come while the agent is at work.
    pub(super) async fn pass_on(&self) {
        let mut noted = self.noted.subscribe();
        loop {
            let next = follow_up(self.task).await;
            let Some(message) = next.message() else {
                next.done().await;
                continue;
            };
            let Ok(handed) = noted.wait_for(Option::is_some).await.map(|n| n.clone()) else {
                return;
            };
            let (mut tries, mut pause) = (0, PAUSE.0);
            loop {
                tries += 1;
                let is_repeated = next.attempt() > 1 || tries > 1;
                let failure = match self.tell(message, handed.as_ref(), is_repeated).await {
                    Ok(()) => break,
                    Err(failure) => failure,
                };
                if !failure.is_retryable() || tries == MOST_TRIES {
                    let text = format!("the agent did not take a message: {failure}");
                    // An error says that the task is not this handler's any more.
                    let _ = self.task.publish_update(TaskUpdate::new(text)).await;
                    break;
                }
                self.proxy.doubt.notify_one();
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
            next.done().await;
            self.passed.notify_one();
        }
    }

    /// Hands a message on to a task that is at work, without waiting for what comes of it.
    async fn tell(
        &self,
        message: &HubMessage,
        handed: Option<&RemoteTask>,
        is_repeated: bool,
    ) -> Result<(), client::Failure> {
        let remote = self.proxy.remote();
        let request = SendMessageRequest {
            configuration: Some(SendMessageConfiguration {
                return_immediately: true,
                ..Default::default()
            }),
            ..request(message, handed)
        };
        if is_repeated && remote.find_sent(&request).await.is_some() {
            return Ok(());
        }
        remote.send_message(request).await.map(drop)
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

    /// Takes a turn, again and again while the agent does not answer.
    async fn patiently(&self, turn: &Turn) -> Result<Next, Failure> {
        let (mut tries, mut pause) = (0, PAUSE.0);
        loop {
            tries += 1;
            let remote = self.proxy.remote();
            let failure = match self.take(&remote, turn, tries).await {
                Ok(next) => return Ok(next),
                Err(Stop::Remote(failure)) => failure,
                Err(Stop::Hub(error)) => return Err(error.into()),
                Err(Stop::Disk(error)) => return Err(error.into()),
            };
            let goes_on = tries < MOST_TRIES
                && match failure.is_retryable() {
                    true => {
                        tracing::debug!(%failure, tries, "an agent elsewhere does not answer");
                        self.proxy.doubt.notify_one();
                        sleep(pause).await;
                        pause = (pause * 2).min(PAUSE.1);
                        true
                    }
                    false => failure.may_have_moved() && self.proxy.has_moved(&remote).await,
                };
            if !goes_on {
                self.proxy.forget(key(self.task)).await;
                return Err(Failure::failed(failure.to_string()));
            }
        }
    }

    /// Shows what comes of a turn, until the task has ended or waits for its requester. `tries` counts from 1.
    async fn take(&self, remote: &Remote, turn: &Turn, tries: u32) -> Result<Next, Stop> {
        let known = self.noted.borrow().clone();
        let mut is_noted = known.as_ref().is_some_and(|known| self.is_of(known, turn));
        let mut following = self.begin(remote, turn, tries, known.as_ref()).await;
        let mut status = TaskStatus::default();
        let mut is_shown = false;
        while let Some(event) = following.next().await {
            let event = match (event, &known) {
                (Ok(event), _) => event,
                // Nothing can be said to a task that has ended: its end is shown.
                (Err(failure), Some(known))
                    if !is_shown && !failure.is_retryable() && has_ended(remote, known).await =>
                {
                    following = remote.resume(&known.id, "");
                    is_shown = true;
                    continue;
                }
                (Err(failure), _) => return Err(failure.into()),
            };
            is_shown = true;
            if !is_noted && !following.task_id().is_empty() {
                let handed = RemoteTask {
                    id: following.task_id().to_owned(),
                    context_id: following.context_id().to_owned(),
                    message_id: turn.message.message_id.clone(),
                    agent: self.proxy.agent.clone(),
                    handled: self.task.message().message_id.clone(),
                    answers: turn.answers,
                    at: now(),
                };
                self.proxy.note(key(self.task), handed.clone()).await?;
                self.noted.send_replace(Some(handed));
                is_noted = true;
            }
            match event.payload {
                Some(Payload::Message(message)) => {
                    self.proxy.forget(key(self.task)).await;
                    return Ok(Next::Ended(Ok(said(message).into())));
                }
                Some(Payload::Task(shown)) => {
                    for artifact in shown.artifacts {
                        self.task
                            .publish_artifact(artifact_to_hub(artifact))
                            .await?;
                    }
                    if let Some(now) = shown.status {
                        status = self.progress(now).await?;
                    }
                }
                Some(Payload::StatusUpdate(update)) => {
                    if let Some(now) = update.status {
                        status = self.progress(now).await?;
                    }
                }
                Some(Payload::ArtifactUpdate(update)) => {
                    let mut shown =
                        ArtifactUpdate::new(artifact_to_hub(update.artifact.unwrap_or_default()));
                    if update.append {
                        shown = shown.append();
                    }
                    if update.last_chunk {
                        shown = shown.last_chunk();
                    }
                    self.task.publish_artifact(shown).await?;
                }
                None => {}
            }
        }
        let asks = matches!(
            status.state(),
            TaskState::InputRequired | TaskState::AuthRequired
        );
        if asks && !self.task.task_id().is_empty() {
            return Ok(Next::Asks(status));
        }
        if !asks {
            self.proxy.forget(key(self.task)).await;
        }
        let state = status.state();
        Ok(Next::Ended(outcome::of(state, status.message)))
    }

    /// Sends the message of a turn, unless an earlier delivery or try did.
    async fn begin(
        &self,
        remote: &Remote,
        turn: &Turn,
        tries: u32,
        known: Option<&RemoteTask>,
    ) -> Following {
        let message_id = &turn.message.message_id;
        if let Some(known) = known {
            if turn.is_nobodys {
                return remote.resume(&known.id, "");
            }
            if self.is_of(known, turn) {
                return remote.resume(&known.id, message_id);
            }
        }
        let request = request(&turn.message, known);
        if (self.task.attempt() > 1 || tries > 1)
            && let Some(found) = remote.find_sent(&request).await
        {
            return remote.resume(found.id, message_id);
        }
        remote.send_streaming_message(request)
    }

    /// True if the message of this turn was handed on.
    fn is_of(&self, known: &RemoteTask, turn: &Turn) -> bool {
        let is_handled =
            known.handled.is_empty() || known.handled == self.task.message().message_id;
        is_handled && known.answers == turn.answers && known.message_id == turn.message.message_id
    }

    /// Shows progress.
    async fn progress(&self, status: TaskStatus) -> Result<TaskStatus, HubError> {
        if matches!(status.state(), TaskState::Working | TaskState::Submitted)
            && let Some(message) = &status.message
        {
            let text = text_of(message);
            if !text.is_empty() {
                self.task.publish_update(TaskUpdate::new(text)).await?;
            }
        }
        Ok(status)
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

    /// Returns when the agent does not wait in this state any more: somebody has signed in, or answered in another way.
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
            // One that cannot be looked at is taken to wait.
            let Ok(task) = self.proxy.remote().get_task(get(&known)).await else {
                continue;
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

async fn has_ended(remote: &Remote, known: &RemoteTask) -> bool {
    let task = remote.get_task(get(known)).await;
    task.is_ok_and(|task| outcome::has_ended(&task))
}

/// A message of the hub as the agent elsewhere gets it.
fn request(message: &HubMessage, known: Option<&RemoteTask>) -> SendMessageRequest {
    let mut message = Message {
        role: Role::User.into(),
        task_id: String::new(),
        // Ids of the hub say nothing there.
        reference_task_ids: Vec::new(),
        ..message_from_hub(message.clone())
    };
    if let Some(known) = known {
        known.id.clone_into(&mut message.task_id);
        known.context_id.clone_into(&mut message.context_id);
    }
    SendMessageRequest {
        message: Some(message),
        ..Default::default()
    }
}
