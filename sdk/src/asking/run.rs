//! Questions of a run to its requester. Each is asked once, in however many processes the run is driven: question and answer are in the hub's
//! log, and a step that is performed again finds them there by the question's id.

use std::future::pending;

use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    json::from_value,
};
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use super::{LOOK, RETRY};
use crate::{
    Client, Error, Reply, TaskContext,
    agent::{self, Answer, OpenQuestion, Questions, StopReason},
};

/// Metadata of a message that is a run's question: its id.
const MARK: &str = "urn:agenthub:run-question";

/// Times that a question lets another one of its run go first, which was out when the run was taken up.
const YIELDS: u32 = 5;

/// A question in the history of its task.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    /// Not asked.
    No,
    /// Asked, without an answer; `is_last` if no other question came after it.
    Open { is_last: bool },
    /// Answered; `is_last` as above.
    Answered { answer: Box<Message>, is_last: bool },
}

impl TaskContext {
    /// True if a run of this task can ask somebody: the task has a requester, which is not the agent itself.
    pub(crate) fn has_requester(&self) -> bool {
        !self.task_id().is_empty() && self.sender() != self.client().agent_id()
    }

    /// Asks the requester on behalf of a step of this task's run, and waits for the answer. `key` names the question: the same key is the
    /// same question, and asked once. Updates of the task wait meanwhile, and so do other questions.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where nobody can be asked, [`Error::Cancelled`] when the task has ended, the hub's refusal.
    pub(crate) async fn ask_in_run(
        &self,
        key: &str,
        question: Reply,
        state: TaskState,
    ) -> Result<Message, Error> {
        if !self.has_requester() {
            let why = "nobody can be asked: the task has no requester but this agent";
            return Err(Error::Invalid(why.to_owned()));
        }
        let id = question_id(key);
        let mut yields = 0;
        let (_floor, asked) = loop {
            self.may_publish()?;
            let floor = self.inner.floor.write().await;
            let (history, state) = self.history().await?;
            if state.is_terminal() {
                return Err(Error::Cancelled(format!("the task is {}", state.label())));
            }
            let asked = find(&history, &id);
            let is_first =
                matches!(asked, Asked::No) && is_open(&history) && state.is_interrupted();
            if !(is_first && self.is_taken_up() && yields < YIELDS) {
                break (floor, (asked, state));
            }
            // The step of that question is performed again, too, and goes first.
            yields += 1;
            drop(floor);
            sleep(RETRY).await;
        };
        let Some(open) = Questions::open(&self.inner.questions, self.task_id()) else {
            let why = "another question of this task has no answer yet";
            return Err(Error::Invalid(why.to_owned()));
        };
        let is_interrupted = asked.1.is_interrupted();
        match asked.0 {
            Asked::Answered { answer, is_last } => {
                if is_last && is_interrupted {
                    self.publish_begun().await?;
                }
                return Ok(*answer);
            }
            Asked::Open { is_last: true } if is_interrupted => {}
            Asked::Open { .. } => self.put(question, state, &id, false).await?,
            Asked::No => self.put(question, state, &id, true).await?,
        }
        // Without a place, no answer could come.
        let _lent = self.inner.slots.lend_for_person().await;
        let answer = self.answer_in_run(open, &id).await?;
        self.publish_begun().await?;
        Ok(answer)
    }

    /// Shows the task as at work again where the last question is this one, and nobody waits for its answer any more.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`], [`Error::Closed`], the hub's refusal.
    pub(crate) async fn withdraw_in_run(&self, key: &str) -> Result<(), Error> {
        // Whoever has the floor asks something else, or shows the task as at work.
        let Ok(_floor) = self.inner.floor.try_write() else {
            return Ok(());
        };
        let (history, state) = self.history().await?;
        let is_last = match find(&history, &question_id(key)) {
            Asked::No => false,
            Asked::Open { is_last } | Asked::Answered { is_last, .. } => is_last,
        };
        match is_last && state.is_interrupted() {
            true => self.publish_begun().await,
            false => Ok(()),
        }
    }

    /// Publishes a question: the state, and with `is_new` the message before it.
    async fn put(
        &self,
        question: Reply,
        state: TaskState,
        id: &str,
        is_new: bool,
    ) -> Result<(), Error> {
        let mut message = question
            .message
            .unwrap_or_else(|| Message::new(Role::Agent, ""))
            .with_metadata(MARK, json!(id));
        id.clone_into(&mut message.message_id);
        message.role = Role::Agent.into();
        let question = Reply {
            message: Some(message),
            asks: Some(state),
            ..question
        };
        let mut publishes = agent::publishes_of(self, question);
        if !is_new {
            publishes.drain(..publishes.len() - 1);
        }
        loop {
            let told = self
                .client()
                .link()
                .publish(publishes.clone(), None, self.scope());
            let refused = match told.await {
                Ok(results) => results.into_iter().find_map(Result::err),
                Err(error) => Some(error),
            };
            match refused {
                None => return Ok(()),
                Some(Error::Closed(_)) => return pending().await,
                Some(error) if error.is_retryable() => {
                    self.may_publish()?;
                    tracing::warn!(%error, "the hub could not take the question, trying again");
                    sleep(error.pause(RETRY)).await;
                }
                Some(error) => return Err(error),
            }
        }
    }

    async fn answer_in_run(&self, mut open: OpenQuestion, id: &str) -> Result<Message, Error> {
        loop {
            tokio::select! {
                biased;
                answer = &mut open.answer => match answer {
                    Ok(Answer { message, lease }) => {
                        if let Some(lease) = lease {
                            // It is in the task's history. An error says that the connection is closed.
                            let _ = self.client().link().ack(lease).await;
                        }
                        return Ok(message);
                    }
                    // The agent stops: the step is performed again where the run goes on.
                    Err(_) => return pending().await,
                },
                () = self.cancelled() => match self.inner.signal.why() {
                    Some(StopReason::Stopping) | None => return pending().await,
                    Some(why) => return Err(Error::Cancelled(why.to_string())),
                },
                () = sleep(LOOK) => {
                    let (history, state) = self.history().await?;
                    if state.is_terminal() {
                        return Err(Error::Cancelled(format!("the task is {}", state.label())));
                    }
                    if let Asked::Answered { answer, .. } = find(&history, id) {
                        return Ok(*answer);
                    }
                }
            }
        }
    }

    /// The task's messages and its state. Asked for until the hub answers.
    async fn history(&self) -> Result<(Vec<Message>, TaskState), Error> {
        loop {
            match self
                .client()
                .task(self.task_id(), Client::WHOLE_HISTORY)
                .await
            {
                Ok(task) => {
                    let state = task.state();
                    return Ok((task.history, state));
                }
                Err(Error::Closed(_)) => return pending().await,
                Err(error) if error.is_retryable() => {
                    tracing::debug!(%error, "not known yet whether a question was asked before");
                    self.may_publish()?;
                    sleep(RETRY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Id of the question with this key.
fn question_id(key: &str) -> String {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes());
    format!("msg_{}", id.simple())
}

/// Id of the question that a message is, if it is one of a run.
fn id_of(message: &Message) -> Option<String> {
    let mark = from_value(message.metadata.as_ref()?.fields.get(MARK)?);
    (message.role() == Role::Agent).then_some(mark.as_str()?.to_owned())
}

/// True if a message is a run's question.
pub(crate) fn is_question(message: &Message) -> bool {
    id_of(message).is_some()
}

/// Looks a question up. Its answer is the first message of the requester between it and the next question.
fn find(history: &[Message], id: &str) -> Asked {
    let Some(at) = history
        .iter()
        .rposition(|m| id_of(m).as_deref() == Some(id))
    else {
        return Asked::No;
    };
    let behind = &history[at + 1..];
    let next = behind.iter().position(is_question);
    let is_last = next.is_none();
    let mut until_next = behind[..next.unwrap_or(behind.len())].iter();
    match until_next.find(|m| m.role() != Role::Agent) {
        Some(answer) => Asked::Answered {
            answer: Box::new(answer.clone()),
            is_last,
        },
        None => Asked::Open { is_last },
    }
}

/// True if the last question of a run has no answer.
fn is_open(history: &[Message]) -> bool {
    let last = history.iter().rposition(is_question);
    last.is_some_and(|at| history[at..].iter().all(|m| m.role() == Role::Agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, id: &str) -> Message {
        Message {
            message_id: id.to_owned(),
            ..Message::new(role, id)
        }
    }

    fn question(id: &str) -> Message {
        said(Role::Agent, id).with_metadata(MARK, json!(id))
    }

    fn answered(id: &str, is_last: bool) -> Asked {
        Asked::Answered {
            answer: Box::new(said(Role::User, id)),
            is_last,
        }
    }

    #[test]
    fn an_answer_stands_between_its_question_and_the_next() {
        let user = |id| said(Role::User, id);
        let history = [
            user("m"),
            question("one"),
            said(Role::Agent, "aside"),
            user("a"),
            user("b"),
            question("two"),
            question("three"),
            user("c"),
        ];
        let cases = [
            (4, "two", Asked::No),
            (2, "one", Asked::Open { is_last: true }),
            (3, "one", Asked::Open { is_last: true }),
            (4, "one", answered("a", true)),
            (6, "one", answered("a", false)),
            (8, "two", Asked::Open { is_last: false }),
            (8, "three", answered("c", true)),
        ];
        for (length, id, expected) in cases {
            assert_eq!(find(&history[..length], id), expected, "{id} of {length}");
        }
        let open: Vec<usize> = (0..=8).filter(|n| is_open(&history[..*n])).collect();
        assert_eq!(open, [2, 3, 6, 7]);
    }

    #[test]
    fn what_a_requester_writes_is_no_question() {
        let forged = said(Role::User, "q").with_metadata(MARK, json!("q"));
        assert!(!is_question(&forged));
    }
}
