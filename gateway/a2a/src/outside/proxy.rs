//! The handler of an agent elsewhere: each message of the hub is handed on, and what comes of it is shown as it comes.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use agenthub_sdk::{ArtifactUpdate, Error as HubError, Failure, Reply, TaskContext, TaskUpdate};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{
    outcome::{self, said, text_of},
    tasks::{RemoteTask, Tasks, now},
};
use crate::{
    client::{self, Following, Remote},
    convert::{artifact_to_hub, message_from_hub},
    v1::{
        CancelTaskRequest, Message, Role, SendMessageRequest, TaskState, TaskStatus,
        stream_response::Payload,
    },
};

/// Time in which the agent elsewhere has to be told that its task is cancelled.
const CANCEL: Duration = Duration::from_secs(4);

/// Pauses between tries where the agent does not answer: the first, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// Tries of one message, where the agent answers for its card but not for this.
const MOST_TRIES: u32 = 20;

/// One agent elsewhere.
pub(super) struct Proxy {
    /// As its card says at present.
    remote: RwLock<Remote>,
    tasks: Arc<Mutex<Tasks>>,
    /// A call has failed: the agent may be away.
    pub(super) doubt: Notify,
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

impl Proxy {
    pub(super) fn new(remote: Remote, tasks: Arc<Mutex<Tasks>>) -> Self {
        Self {
            remote: RwLock::new(remote),
            tasks,
            doubt: Notify::new(),
        }
    }

    /// Calls from here on are for this one.
    pub(super) fn replace(&self, remote: Remote) {
        *self.remote.write().unwrap_or_else(PoisonError::into_inner) = remote;
    }

    pub(super) fn remote(&self) -> Remote {
        self.remote
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Hands a message on. Dropped at any point, it is taken up where it was when the message is delivered again.
    pub(super) async fn work(self: Arc<Self>, task: TaskContext) -> Result<Reply, Failure> {
        if task.task_id().is_empty() && task.routing().to_agent_id.is_empty() {
            // It was said to everybody.
            return Ok(Reply::none());
        }
        let (mut tries, mut pause) = (0, PAUSE.0);
        loop {
            tries += 1;
            let ended = tokio::select! {
                ended = self.follow(&task, tries) => ended,
                () = task.cancelled() => return self.cancel(&task).await,
            };
            match ended {
                Ok(result) => return result,
                Err(Stop::Remote(failure)) if failure.is_retryable() && tries < MOST_TRIES => {
                    tracing::debug!(%failure, tries, "an agent elsewhere does not answer");
                    self.doubt.notify_one();
                }
                Err(Stop::Remote(failure)) => {
                    self.forget(&task).await;
                    return Err(Failure::failed(failure.to_string()));
                }
                Err(Stop::Hub(error)) => return Err(error.into()),
                Err(Stop::Disk(error)) => return Err(error.into()),
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(PAUSE.1),
                () = task.cancelled() => return self.cancel(&task).await,
            }
        }
    }

    /// Shows what comes of a message, to its end. `tries` counts from 1.
    async fn follow(&self, task: &TaskContext, tries: u32) -> Result<Result<Reply, Failure>, Stop> {
        let remote = self.remote();
        let message_id = &task.message().message_id;
        let known = self.remote_task(task).await?;
        let mut is_noted = known.as_ref().is_some_and(|h| h.message_id == *message_id);
        let mut following = match &known {
            Some(handed) if is_noted => remote.resume(&handed.id, message_id),
            known => self.begin(&remote, task, tries, known.as_ref()).await,
        };
        let (mut state, mut words) = (TaskState::Unspecified, None);
        while let Some(event) = following.next().await {
            let event = event?;
            if !is_noted && !following.task_id().is_empty() {
                let handed = RemoteTask {
                    id: following.task_id().to_owned(),
                    context_id: following.context_id().to_owned(),
                    message_id: message_id.clone(),
                    at: now(),
                };
                self.note(task, handed).await?;
                is_noted = true;
            }
            match event.payload {
                Some(Payload::Message(message)) => {
                    self.forget(task).await;
                    return Ok(Ok(said(message).into()));
                }
                Some(Payload::Task(shown)) => {
                    for artifact in shown.artifacts {
                        task.publish_artifact(artifact_to_hub(artifact)).await?;
                    }
                    if let Some(status) = shown.status {
                        (state, words) = progress(task, status).await?;
                    }
                }
                Some(Payload::StatusUpdate(update)) => {
                    if let Some(status) = update.status {
                        (state, words) = progress(task, status).await?;
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
                    task.publish_artifact(shown).await?;
                }
                None => {}
            }
        }
        if !matches!(state, TaskState::InputRequired | TaskState::AuthRequired) {
            self.forget(task).await;
        }
        Ok(outcome::of(state, words))
    }

    /// Sends the message, unless an earlier delivery or try did.
    async fn begin(
        &self,
        remote: &Remote,
        task: &TaskContext,
        tries: u32,
        known: Option<&RemoteTask>,
    ) -> Following {
        let mut message = Message {
            role: Role::User.into(),
            task_id: String::new(),
            // Ids of the hub say nothing there.
            reference_task_ids: Vec::new(),
            ..message_from_hub(task.message().clone())
        };
        if let Some(handed) = known {
            handed.id.clone_into(&mut message.task_id);
            handed.context_id.clone_into(&mut message.context_id);
        }
        let request = SendMessageRequest {
            message: Some(message),
            ..Default::default()
        };
        if (task.attempt() > 1 || tries > 1)
            && let Some(found) = remote.find_sent(&request).await
        {
            return remote.resume(found.id, &task.message().message_id);
        }
        remote.send_streaming_message(request)
    }

    /// The agent elsewhere is told; the hub knows already.
    async fn cancel(&self, task: &TaskContext) -> Result<Reply, Failure> {
        let known = self.remote_task(task).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a task elsewhere may go on: it cannot be looked up");
            None
        });
        if let Some(handed) = known {
            let request = CancelTaskRequest {
                id: handed.id,
                ..Default::default()
            };
            let remote = self.remote();
            match timeout(CANCEL, remote.cancel_task(request)).await {
                Ok(Ok(_)) => {}
                Ok(Err(failure)) => {
                    tracing::debug!(%failure, "a task elsewhere is not cancelled");
                }
                Err(_) => tracing::warn!("a task elsewhere may go on: the agent does not answer"),
            }
            self.forget(task).await;
        }
        Err(Failure::cancelled("the task was cancelled"))
    }

    /// The task elsewhere that a message of this task was handed on to.
    async fn remote_task(&self, task: &TaskContext) -> io::Result<Option<RemoteTask>> {
        let key = key(task).to_owned();
        self.on_disk(move |tasks| Ok(tasks.get(&key))).await
    }

    async fn note(&self, task: &TaskContext, handed: RemoteTask) -> io::Result<()> {
        let key = key(task).to_owned();
        self.on_disk(move |tasks| tasks.hand(&key, handed)).await
    }

    async fn forget(&self, task: &TaskContext) {
        let key = key(task).to_owned();
        if let Err(error) = self.on_disk(move |tasks| tasks.forget(&key)).await {
            tracing::warn!(%error, "that a task elsewhere has ended is not noted");
        }
    }

    /// Reads or writes where that holds nobody up: whoever writes keeps the tasks locked until the disk has them.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tasks) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let tasks = Arc::clone(&self.tasks);
        let done = tokio::task::spawn_blocking(move || {
            work(&mut tasks.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.await.map_err(io::Error::other)?
    }
}

/// Shows progress; gives the state and the last words.
async fn progress(
    task: &TaskContext,
    status: TaskStatus,
) -> Result<(TaskState, Option<Message>), HubError> {
    let state = status.state();
    if matches!(state, TaskState::Working | TaskState::Submitted)
        && let Some(message) = &status.message
    {
        let text = text_of(message);
        if !text.is_empty() {
            task.publish_update(TaskUpdate::new(text)).await?;
        }
    }
    Ok((state, status.message))
}

/// The task by which the hub knows it; of a message without one, the message.
fn key(task: &TaskContext) -> &str {
    match task.task_id() {
        "" => &task.message().message_id,
        id => id,
    }
}
