//! What waits for a person, among the runs that this process drives.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agenthub_sdk::runs::{Approval, Decision, RunId};
use futures_util::{Stream, stream};
use tokio::sync::{oneshot, watch};

/// The approvals that wait for an answer. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Approvals(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<BTreeMap<Place, Waiting>>,
    /// How many were ever asked.
    asked: watch::Sender<u64>,
}

/// A run and an approval's id.
type Place = (RunId, String);

#[derive(Debug)]
struct Waiting {
    approval: Approval,
    /// Counts from 1.
    number: u64,
    answer: oneshot::Sender<Decision>,
}

impl Approvals {
    /// Asks, and waits for the answer. Dropping the future withdraws the question. The same question asked again takes the place of the one
    /// before.
    pub async fn ask(&self, run: &RunId, approval: &Approval) -> Decision {
        let mut asking = self.put(run, approval);
        match (&mut asking.answer).await {
            Ok(decision) => decision,
            // Another one has asked the same in its place: that one is answered.
            Err(_) => std::future::pending().await,
        }
    }

    fn put(&self, run: &RunId, approval: &Approval) -> Asking {
        let (answer, answered) = oneshot::channel();
        let place = (run.clone(), approval.id.clone());
        let mut number = 0;
        let mut waiting = self.lock();
        self.0.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        waiting.insert(
            place.clone(),
            Waiting {
                approval: approval.clone(),
                number,
                answer,
            },
        );
        drop(waiting);
        Asking {
            answer: answered,
            _place: Withdrawn {
                approvals: self.clone(),
                place,
                number,
            },
        }
    }

    /// Answers a question. Only the first answer counts; `false` says that nobody waits for this one.
    pub fn answer(&self, run: &RunId, approval: &str, decision: Decision) -> bool {
        let waiting = self.lock().remove(&(run.clone(), approval.to_owned()));
        waiting.is_some_and(|waiting| waiting.answer.send(decision).is_ok())
    }

    /// What waits, in the order in which it was asked; with `follow` also what comes.
    pub fn all(
        &self,
        follow: bool,
    ) -> impl Stream<Item = (RunId, Approval)> + Send + 'static + use<> {
        let state = (self.clone(), self.0.asked.subscribe(), 0_u64);
        stream::unfold(
            state,
            move |(approvals, mut changes, mut seen)| async move {
                loop {
                    changes.borrow_and_update();
                    if let Some((number, asked)) = approvals.first_behind(seen) {
                        seen = number;
                        return Some((asked, (approvals, changes, seen)));
                    }
                    if !follow || changes.changed().await.is_err() {
                        return None;
                    }
                }
            },
        )
    }

    fn first_behind(&self, seen: u64) -> Option<(u64, (RunId, Approval))> {
        let waiting = self.lock();
        let behind = waiting.iter().filter(|(_, waiting)| waiting.number > seen);
        let ((run, _), first) = behind.min_by_key(|(_, waiting)| waiting.number)?;
        Some((first.number, (run.clone(), first.approval.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Place, Waiting>> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who waits.
struct Asking {
    answer: oneshot::Receiver<Decision>,
    _place: Withdrawn,
}

/// Takes the question back when it is dropped.
struct Withdrawn {
    approvals: Approvals,
    place: Place,
    number: u64,
}

impl Drop for Withdrawn {
    fn drop(&mut self) {
        let mut waiting = self.approvals.lock();
        if waiting
            .get(&self.place)
            .is_some_and(|w| w.number == self.number)
        {
            waiting.remove(&self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};
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
        let approvals = Approvals::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut asking = Box::pin(approvals.ask(&run, &shown));
        assert!(asking.as_mut().now_or_never().is_none());
        assert!(!approvals.answer(&run, "another", yes()));
        assert!(!approvals.answer(&RunId::new("q"), &shown.id, yes()));
        assert!(approvals.answer(&run, &shown.id, yes()));
        assert!(!approvals.answer(&run, &shown.id, yes()), "it is used up");
        assert_eq!(asking.await, yes());
    }

    #[tokio::test]
    async fn a_question_that_is_dropped_waits_no_more() {
        let approvals = Approvals::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut asking = Box::pin(approvals.ask(&run, &shown));
        assert!(asking.as_mut().now_or_never().is_none());
        drop(asking);
        assert!(!approvals.answer(&run, &shown.id, yes()));
        assert_eq!(approvals.all(false).count().await, 0);
    }

    #[tokio::test]
    async fn a_question_asked_again_is_answered_where_it_was_asked_last() {
        let approvals = Approvals::default();
        let (run, shown) = (RunId::new("r"), approval("send"));
        let mut first = Box::pin(approvals.ask(&run, &shown));
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(approvals.ask(&run, &shown));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_none());
        drop(first);
        assert!(approvals.answer(&run, &shown.id, yes()));
        assert_eq!(second.await, yes());
    }

    #[tokio::test]
    async fn who_follows_sees_each_question_in_order() {
        let approvals = Approvals::default();
        let run = RunId::new("r");
        let (one, two) = (approval("one"), approval("two"));
        let mut first = Box::pin(approvals.ask(&run, &one));
        assert!(first.as_mut().now_or_never().is_none());
        let mut seen = Box::pin(approvals.all(true));
        let step = |asked: Option<(RunId, Approval)>| asked.map(|(_, asked)| asked.subject);
        assert_eq!(step(seen.next().await).as_deref(), Some("one"));
        assert!(seen.next().now_or_never().is_none(), "it waits");
        let mut second = Box::pin(approvals.ask(&run, &two));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(step(seen.next().await).as_deref(), Some("two"));
    }
}
