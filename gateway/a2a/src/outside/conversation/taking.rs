//! Taking a turn: the message is handed on, once, and what comes of it is shown, over breaks.

use std::io;

use agenthub_sdk::{ArtifactUpdate, Error as HubError, Failure, TaskUpdate};
use tokio::time::sleep;

use super::{
    super::{
        outcome::{self, said, text_of},
        proxy::key,
        tasks::{RemoteTask, now},
    },
    Conversation, MOST_BREAKS, MOST_TRIES, Next, PAUSE, Turn, get, request,
};
use crate::{
    client::{self, Following, Remote},
    convert::artifact_to_hub,
    error::Kind,
    v1::{TaskState, TaskStatus, stream_response::Payload},
};

/// Failure of a task that its agent does not know any more. The id that the agent gave it says nothing here.
const LOST: &str = "the agent elsewhere does not know the task any more, as if it was started anew without it; ask again";

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

impl Conversation<'_> {
    /// Takes a turn, again and again while the agent does not answer.
    pub(super) async fn patiently(&self, turn: &Turn) -> Result<Next, Failure> {
        let (mut tries, mut breaks, mut pause) = (0, 0, PAUSE.0);
        loop {
            tries += 1;
            let remote = self.proxy.remote();
            let failure = match self.take(&remote, turn, tries).await {
                Ok(next) => return Ok(next),
                Err(Stop::Remote(failure)) => failure,
                Err(Stop::Hub(error)) => return Err(error.into()),
                Err(Stop::Disk(error)) => return Err(error.into()),
            };
            let is_unknown = self.noted.borrow().is_none();
            breaks += u32::from(failure.is_break() && is_unknown);
            let goes_on = tries < MOST_TRIES
                && breaks < MOST_BREAKS
                && match failure.is_retryable() {
                    true => {
                        tracing::debug!(%failure, tries, "an agent elsewhere does not answer");
                        if tries == 1 {
                            let said = format!("{failure}; it is asked again");
                            self.task.publish_update(TaskUpdate::new(said)).await?;
                        }
                        self.proxy.doubt.notify_one();
                        sleep(pause).await;
                        pause = (pause * 2).min(PAUSE.1);
                        true
                    }
                    false => failure.may_have_moved() && self.proxy.has_moved(&remote).await,
                };
            if !goes_on {
                self.proxy.forget(key(self.task)).await;
                return Err(Failure::failed(match failure.is(Kind::TaskNotFound) {
                    true => LOST.to_owned(),
                    false => failure.to_string(),
                }));
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
        let hops = self.task.routing().hops.saturating_add(1);
        let request = request(&turn.message, hops, known);
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
}

async fn has_ended(remote: &Remote, known: &RemoteTask) -> bool {
    let task = remote.get_task(get(known)).await;
    task.is_ok_and(|task| outcome::has_ended(&task))
}
