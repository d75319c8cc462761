//! Questions of a handler to its requester, in the middle of its work. Those of runs: `run.rs`.

pub(crate) mod run;

use std::time::Duration;

use agenthub_proto::a2a::{Message, Role, TaskState};
use tokio::time::sleep;

use crate::{
    Error, Reply, TaskContext,
    agent::{self, Answer, OpenQuestion, Questions, StopReason},
};

/// Interval at which the hub is asked whether the task still waits: another instance may have got the answer.
const LOOK: Duration = Duration::from_secs(60);

/// Pause before a question that the hub could not take is sent again.
const RETRY: Duration = Duration::from_secs(1);

impl TaskContext {
    /// Asks the requester, and waits for the answer: the task is INPUT_REQUIRED until it comes, WORKING from then on.
    ///
    /// The question outlives this process, which acknowledges the handled message with it. If the answer comes after a restart, or to another
    /// instance, the handler is called again with the message it was called with first, and its questions, which are known by their
    /// order, get the answers that came: do what must not be done twice under a key, or after the last question.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] without a task, in a run, and while another question of this handler is out; [`Error::Cancelled`] when
    /// the task has ended meanwhile; the hub's refusal.
    pub async fn ask_requester(&self, question: impl Into<Reply>) -> Result<Message, Error> {
        self.question(question.into(), TaskState::InputRequired)
            .await
    }

    /// Does the same with AUTH_REQUIRED: the requester signs in where the explanation says, and answers when that is done. Credentials
    /// are not to be sent in the answer, which the hub's log keeps.
    ///
    /// # Errors
    ///
    /// Those of [`ask_requester`](Self::ask_requester).
    pub async fn ask_auth(&self, explanation: impl Into<Reply>) -> Result<Message, Error> {
        self.question(explanation.into(), TaskState::AuthRequired)
            .await
    }

    async fn question(&self, question: Reply, state: TaskState) -> Result<Message, Error> {
        self.may_publish()?;
        if self.task_id().is_empty() {
            let why = "the message belongs to no task, so its sender cannot be asked";
            return Err(Error::Invalid(why.to_owned()));
        }
        if self.inner.run.get().is_some() {
            let why = "a run asks its requester in a tool (ToolContext::ask_requester)";
            return Err(Error::Invalid(why.to_owned()));
        }
        let questions = &self.inner.questions;
        let Some(open) = Questions::open(questions, self.task_id()) else {
            let why = "another question of this task has no answer yet";
            return Err(Error::Invalid(why.to_owned()));
        };
        let asked = &self.inner.asked;
        if let Some(answer) = asked.known() {
            asked.count();
            return Ok(answer);
        }
        self.publish_question(question, state, asked.number())
            .await?;
        asked.count();
        let Some(_lent) = self.inner.slots.lend_for_person().await else {
            tracing::debug!(
                "too many handlers wait for answers: this one is called again with its answer"
            );
            return self.park().await;
        };
        let Answer { message, lease } = self.answer(open).await?;
        self.inner.asked.hold(lease);
        self.publish_begun().await?;
        Ok(message)
    }

    /// Publishes a question, and acknowledges the delivery that led to it in the same commit.
    async fn publish_question(
        &self,
        question: Reply,
        state: TaskState,
        number: u32,
    ) -> Result<(), Error> {
        let message = question
            .message
            .unwrap_or_else(|| Message::new(Role::Agent, ""));
        let message = agent::mark(message, &self.message().message_id, number);
        let question = Reply {
            message: Some(message),
            asks: Some(state),
            ..question
        };
        let publishes = agent::publishes_of(self, question);
        let lease = self.inner.asked.take_lease();
        loop {
            let link = self.client().link();
            let told = link.publish(publishes.clone(), lease.clone(), self.scope());
            let refused = match told.await {
                Ok(results) => results.into_iter().find_map(Result::err),
                Err(error) => Some(error),
            };
            match refused {
                None => return Ok(()),
                Some(error) if error.is_retryable() && self.may_publish().is_ok() => {
                    tracing::warn!(%error, "the hub could not take the question, trying again");
                    sleep(error.pause(RETRY)).await;
                }
                Some(error) => {
                    self.inner.asked.hold(lease);
                    return Err(error);
                }
            }
        }
    }

    async fn answer(&self, mut open: OpenQuestion) -> Result<Answer, Error> {
        loop {
            tokio::select! {
                biased;
                answer = &mut open.answer => return match answer {
                    Ok(answer) => Ok(answer),
                    // The agent stops.
                    Err(_) => self.park().await,
                },
                () = self.cancelled() => {
                    self.may_publish()?;
                }
                () = sleep(LOOK) => match self.client().task(self.task_id(), -1).await {
                    Ok(task) if task.state().is_terminal() => {
                        let why = format!("the task is {}", task.state().label());
                        self.inner.signal.stop(StopReason::Cancelled(why));
                    }
                    Ok(task) if !task.state().is_interrupted() => return self.park().await,
                    Ok(_) => {}
                    Err(error) => tracing::debug!(%error, "not known whether the task still waits"),
                },
            }
        }
    }

    /// Ends this handling without a word: the handler is dropped here, and called again with the answer.
    async fn park<T>(&self) -> T {
        self.inner.signal.stop(StopReason::Stopping);
        std::future::pending().await
    }
}
