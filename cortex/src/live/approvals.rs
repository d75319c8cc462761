//! Questions that wait for a person.

use std::pin::pin;

use agenthub_sdk::runs::{Approval, Decision, RunId};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::oneshot;

use super::LiveRuns;

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    approval: Approval,
    /// Counts the questions of all runs, from 1.
    number: u64,
    answer: oneshot::Sender<Decision>,
}

impl LiveRuns {
    /// Asks, and waits for the answer. Dropping the future withdraws the question. The same question asked again takes the place of the one
    /// before.
    pub(crate) async fn ask(&self, run: &RunId, approval: &Approval) -> Decision {
        let mut asking = self.put_question(run, approval);
        match (&mut asking.answer).await {
            Ok(decision) => decision,
            // Another one has asked the same in its place: that one is answered.
            Err(_) => std::future::pending().await,
        }
    }

    fn put_question(&self, run: &RunId, approval: &Approval) -> Asking {
        let (answer, answered) = oneshot::channel();
        let mut state = self.lock();
        let mut number = 0;
        self.0.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let question = Question {
            approval: approval.clone(),
            number,
            answer,
        };
        let before = state
            .run(run)
            .questions
            .insert(approval.id.clone(), question);
        if let Some(before) = before {
            state.questions.remove(&before.number);
        }
        let place = (run.clone(), approval.id.clone());
        state.questions.insert(number, place);
        Asking {
            answer: answered,
            _place: Withdrawn {
                live: self.clone(),
                number,
            },
        }
    }

    /// Answers a question. Only the first answer counts; `false` says that nobody waits for this one.
    pub fn answer(&self, run: &RunId, approval: &str, decision: Decision) -> bool {
        let question = self.lock().take_question(run, approval);
        question.is_some_and(|question| question.answer.send(decision).is_ok())
    }

    /// Waits until this question waits. Cancel-safe.
    pub async fn asks(&self, run: &RunId, approval: &str) {
        let mut questions = pin!(self.questions(true));
        while let Some((asking, asked)) = questions.next().await {
            if asking == *run && asked.id == approval {
                return;
            }
        }
    }

    /// The questions that wait, in the order in which they were asked; with `follow` also those that come.
    pub fn questions(
        &self,
        follow: bool,
    ) -> impl Stream<Item = (RunId, Approval)> + Send + 'static + use<> {
        let state = (self.clone(), self.0.asked.subscribe(), 0_u64);
        stream::unfold(state, move |(live, mut changes, mut seen)| async move {
            loop {
                changes.borrow_and_update();
                if let Some((number, asked)) = live.question_behind(seen) {
                    seen = number;
                    return Some((asked, (live, changes, seen)));
                }
                if !follow || changes.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    fn question_behind(&self, seen: u64) -> Option<(u64, (RunId, Approval))> {
        let state = self.lock();
        let (number, (run, id)) = state.questions.range(seen + 1..).next()?;
        let question = state.runs.get(run)?.questions.get(id)?;
        Some((*number, (run.clone(), question.approval.clone())))
    }
}

impl super::State {
    fn take_question(&mut self, run: &RunId, approval: &str) -> Option<Question> {
        let question = self.runs.get_mut(run)?.questions.remove(approval)?;
        self.questions.remove(&question.number);
        self.settle(run);
        Some(question)
    }
}

/// Wait for an answer.
struct Asking {
    answer: oneshot::Receiver<Decision>,
    _place: Withdrawn,
}

/// Takes the question back when it is dropped.
struct Withdrawn {
    live: LiveRuns,
    number: u64,
}

impl Drop for Withdrawn {
    fn drop(&mut self) {
        let mut state = self.live.lock();
        // An answer, or the same question asked again, has taken it away.
        if let Some((run, id)) = state.questions.get(&self.number).cloned() {
            state.take_question(&run, &id);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn approval(step: &str) -> Approval {
        Approval::new("r", step, "writer", "send", json!({"to": "all"}))
    }

    fn yes() -> Decision {
        Decision {
            approved: true,
            by: "ann".to_owned(),
            comment: String::new(),
        }
    }

    /// spec: ORC-12.3
    #[tokio::test]
    async fn an_answer_reaches_who_asked_once() {
        let live = LiveRuns::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut asking = Box::pin(live.ask(&run, &shown));
        assert!(asking.as_mut().now_or_never().is_none());
        assert!(!live.answer(&run, "another", yes()));
        assert!(!live.answer(&RunId::new("q"), &shown.id, yes()));
        assert!(live.answer(&run, &shown.id, yes()));
        assert!(!live.answer(&run, &shown.id, yes()), "it is used up");
        assert_eq!(asking.await, yes());
    }

    #[tokio::test]
    async fn a_question_can_be_waited_for() {
        let live = LiveRuns::default();
        let (run, other, shown) = (RunId::new("r"), RunId::new("q"), approval("send"));
        let mut another = Box::pin(live.ask(&other, &shown));
        assert!(another.as_mut().now_or_never().is_none());
        let mut asked = Box::pin(live.asks(&run, &shown.id));
        assert!(asked.as_mut().now_or_never().is_none());
        let mut asking = Box::pin(live.ask(&run, &shown));
        assert!(asking.as_mut().now_or_never().is_none());
        assert!(asked.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_question_that_is_dropped_waits_no_more() {
        let live = LiveRuns::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut asking = Box::pin(live.ask(&run, &shown));
        assert!(asking.as_mut().now_or_never().is_none());
        drop(asking);
        assert!(!live.answer(&run, &shown.id, yes()));
        assert_eq!(live.questions(false).count().await, 0);
    }

    #[tokio::test]
    async fn a_question_asked_again_is_answered_where_it_was_asked_last() {
        let live = LiveRuns::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut first = Box::pin(live.ask(&run, &shown));
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(live.ask(&run, &shown));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_none());
        drop(first);
        assert!(live.answer(&run, &shown.id, yes()));
        assert_eq!(second.await, yes());
    }

    #[tokio::test]
    async fn who_follows_sees_each_question_in_order() {
        let live = LiveRuns::default();
        let run = RunId::new("r");
        let (one, two) = (approval("one"), approval("two"));
        let mut first = Box::pin(live.ask(&run, &one));
        assert!(first.as_mut().now_or_never().is_none());
        let mut seen = Box::pin(live.questions(true));
        let step = |asked: Option<(RunId, Approval)>| asked.map(|(_, asked)| asked.subject);
        assert_eq!(step(seen.next().await).as_deref(), Some("one"));
        assert!(seen.next().now_or_never().is_none(), "it waits");
        let mut second = Box::pin(live.ask(&run, &two));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(step(seen.next().await).as_deref(), Some("two"));
    }
}
