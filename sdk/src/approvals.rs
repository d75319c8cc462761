//! Questions of an agent's runs to a person, and the answers.
//!
//! A question waits in the run's journal and, while a process drives the run, here. Its answer comes as a message to the agent.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_proto::{
    a2a::{Message, Part, Role},
    agenthub::AgentEventMetadata,
};
use agenthub_runs::{Approval, Decision, RunId};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::TaskContext;

/// The task type of a message that answers a question. No handler gets it.
pub(crate) const DECISION: &str = "agenthub.approval.decision";

/// The most answers that are kept for questions which are not asked yet: the oldest leave.
const MAX_EARLY: usize = 256;

/// The questions that wait in this process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approvals(Arc<Mutex<Waiting>>);

/// A run and an approval's id.
type Question = (RunId, String);

#[derive(Debug, Default)]
struct Waiting {
    asked: HashMap<Question, oneshot::Sender<Decision>>,
    /// An answer may come before the run is taken up by an agent that has started again.
    early: VecDeque<(Question, Decision)>,
}

/// An answer on its way.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    run: RunId,
    approval: String,
    decision: Decision,
}

impl TaskContext {
    /// Waits for a person's decision on an approval that a step of this task's run asks for: what
    /// [`World::approve`](agenthub_runs::World::approve) of a run does. The message is not among those that the agent handles meanwhile.
    /// Dropping the future withdraws the question.
    pub async fn decision(&self, approval: &Approval) -> Decision {
        // Without a place, no answer could come.
        let _lent = self.inner.slots.lend_for_person().await;
        let approvals = self.client().approvals();
        approvals.ask(&self.run_id(), &approval.id).await
    }
}

impl Approvals {
    /// Waits for the answer. Dropping the future withdraws the question; asking it again takes its place.
    pub(crate) async fn ask(&self, run: &RunId, approval: &str) -> Decision {
        let question = (run.clone(), approval.to_owned());
        let answer = {
            let mut waiting = self.lock();
            let known = waiting.early.iter().position(|(of, _)| *of == question);
            if let Some((_, decision)) = known.and_then(|place| waiting.early.remove(place)) {
                return decision;
            }
            let (answers, answer) = oneshot::channel();
            waiting.asked.insert(question.clone(), answers);
            answer
        };
        let _withdrawn = Withdrawn {
            approvals: self,
            question,
        };
        match answer.await {
            Ok(decision) => decision,
            // Asked again in its place.
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes the answer in a message, if that is one. Only the first answer to a question counts. It is given by the principal whom the hub
    /// names for the message, whatever it says itself; on a hub without identities there is none.
    pub(crate) fn take(&self, message: &Message, principal: &str) {
        let answer = message.data().next();
        let answer = answer.and_then(|data| serde_json::from_value::<Answer>(data).ok());
        let Some(Answer {
            run,
            approval,
            mut decision,
        }) = answer
        else {
            tracing::warn!("a message answers an approval, but does not say which or how");
            return;
        };
        if !principal.is_empty() {
            principal.clone_into(&mut decision.by);
        }
        let question = (run, approval);
        let mut waiting = self.lock();
        let unread = match waiting.asked.remove(&question) {
            Some(asker) => asker.send(decision).err(),
            None => Some(decision),
        };
        if let Some(decision) = unread {
            if waiting.early.len() == MAX_EARLY {
                waiting.early.pop_front();
            }
            waiting.early.push_back((question, decision));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question back when it is dropped, unless another asks it.
struct Withdrawn<'a> {
    approvals: &'a Approvals,
    question: Question,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        let mut waiting = self.approvals.lock();
        let is_own = |answers: &oneshot::Sender<Decision>| answers.is_closed();
        if waiting.asked.get(&self.question).is_some_and(is_own) {
            waiting.asked.remove(&self.question);
        }
    }
}

/// The message by which an agent learns what a person said.
pub(crate) fn message(
    agent: &str,
    run: &RunId,
    approval: &str,
    decision: Decision,
) -> (Message, AgentEventMetadata) {
    let mut message = Message::new(Role::User, "");
    message.message_id = format!("msg_{}", Uuid::now_v7().simple());
    message.content = vec![Part::data(&json!(Answer {
        run: run.clone(),
        approval: approval.to_owned(),
        decision,
    }))];
    let routing = AgentEventMetadata {
        to_agent_id: agent.to_owned(),
        ..Default::default()
    };
    (message.with_metadata("task_type", DECISION), routing)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn decision(by: &str) -> Decision {
        Decision {
            approved: true,
            by: by.to_owned(),
            comment: String::new(),
        }
    }

    fn answer(approvals: &Approvals, approval: &str, by: &str) {
        let (message, _) = message("a", &RunId::new("r"), approval, decision(by));
        approvals.take(&message, "");
    }

    /// Issue 25, on whose behalf: approvals are answered in the name of the principal, whatever `by` says.
    #[tokio::test]
    async fn who_answers_is_the_principal_whom_the_hub_names() {
        let (approvals, run) = (Approvals::default(), RunId::new("r"));
        let (message, _) = message("a", &run, "one", decision("somebody"));
        approvals.take(&message, "ann");
        let decided = approvals.ask(&run, "one").now_or_never();
        assert_eq!(decided, Some(decision("ann")));
    }

    #[tokio::test]
    async fn the_first_answer_counts_and_may_come_before_the_question() {
        let (approvals, run) = (Approvals::default(), RunId::new("r"));
        let mut asking = Box::pin(approvals.ask(&run, "one"));
        assert_eq!((&mut asking).now_or_never(), None);
        answer(&approvals, "another", "ann");
        assert_eq!((&mut asking).now_or_never(), None);
        answer(&approvals, "one", "ann");
        answer(&approvals, "one", "bob");
        assert_eq!(asking.now_or_never(), Some(decision("ann")));
        let early = approvals.ask(&run, "another");
        assert_eq!(early.now_or_never(), Some(decision("ann")));
    }

    #[tokio::test]
    async fn a_question_that_is_dropped_leaves_nothing_and_one_asked_again_stays() {
        let (approvals, run) = (Approvals::default(), RunId::new("r"));
        let mut first = Box::pin(approvals.ask(&run, "one"));
        assert_eq!((&mut first).now_or_never(), None);
        let mut second = Box::pin(approvals.ask(&run, "one"));
        assert_eq!((&mut second).now_or_never(), None);
        drop(first);
        answer(&approvals, "one", "ann");
        assert_eq!(second.now_or_never(), Some(decision("ann")));
        let mut third = Box::pin(approvals.ask(&run, "three"));
        assert_eq!((&mut third).now_or_never(), None);
        drop(third);
        assert!(approvals.lock().asked.is_empty());
    }

    #[test]
    fn answers_that_nobody_waits_for_are_bounded() {
        let approvals = Approvals::default();
        for number in 0..2 * MAX_EARLY {
            answer(&approvals, &number.to_string(), "ann");
        }
        assert_eq!(approvals.lock().early.len(), MAX_EARLY);
    }
}
