//! Models whose answers break off on their way.

use std::sync::atomic::{AtomicUsize, Ordering};

use agenthub_sdk::{
    Agent, Card, Delegation, Update,
    model::{Completion, DeltaSink, LanguageModel, ModelError, Request},
    proto::{a2a::TaskState, json},
    runs::{
        Journal, RunEvent, StepResult,
        journal::{Filter, MemoryJournal},
    },
};
use async_trait::async_trait;

use crate::harness::{hub, soon, url, user};

/// A model of which these answers break off, and no later one.
#[derive(Debug, Default)]
struct Breaking {
    broken: &'static [&'static str],
    asked: AtomicUsize,
}

#[async_trait]
impl LanguageModel for Breaking {
    fn name(&self) -> &str {
        "breaking"
    }

    async fn complete(&self, _: Request, deltas: DeltaSink) -> Result<Completion, ModelError> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        match self.broken.get(asked) {
            Some(half) => {
                deltas.push(half);
                Err(ModelError::Unavailable("the answer broke off".to_owned()))
            }
            None => {
                deltas.push("the whole answer");
                Ok(Completion {
                    text: "the whole answer".to_owned(),
                    ..Completion::default()
                })
            }
        }
    }
}

/// Each try is in the journal, and who watches knows that what they saw is no part of the answer.
#[tokio::test]
async fn an_answer_that_breaks_off_is_withdrawn_and_asked_for_again() {
    let hub = hub().await;
    let journal = std::sync::Arc::new(MemoryJournal::default());
    let model = Breaking {
        broken: &["half an ", ""],
        ..Breaking::default()
    };
    let _agent = Agent::worker(Card::new("a", ""))
        .model(model)
        .journal(journal.clone())
        .start(url(&hub))
        .await
        .expect("it starts");
    let client = user(&hub).await;
    let pending = client.delegate(Delegation::to("a").text("go")).await;
    let mut pending = pending.expect("it is taken");
    let mut updates = pending.updates();
    let mut shown = Vec::new();
    while let Some(update) = soon(updates.next()).await {
        if let Update::Artifact(update) = update {
            let artifact = update.artifact.expect("there is one");
            let metadata = artifact.metadata.as_ref().map(json::from_struct);
            let is_withdrawn = metadata.is_some_and(|m| m["withdrawn"] == true);
            shown.push((artifact.text(), update.append, is_withdrawn));
        }
    }
    assert_eq!(
        shown,
        [
            ("half an ".to_owned(), false, false),
            (String::new(), false, true),
            ("the whole answer".to_owned(), false, false)
        ]
    );
    let outcome = soon(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Completed, "{}", outcome.error);
    assert_eq!(outcome.text, "the whole answer");

    let runs = journal.list(&Filter::default()).await.expect("it works");
    let entries = journal.read(&runs[0].run, 0, 100).await;
    let tries = entries.expect("it is there").into_iter();
    let tries = tries.filter_map(|entry| match entry.event {
        RunEvent::StepEnded {
            attempt, result, ..
        } => Some((attempt, matches!(result, StepResult::Failed(_)))),
        _ => None,
    });
    assert_eq!(
        tries.collect::<Vec<_>>(),
        [(1, true), (2, true), (3, false)]
    );
}
