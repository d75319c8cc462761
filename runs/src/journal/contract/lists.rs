//! Contract: lists of runs.

use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::{LONG, claim, ended, run, started};
use crate::{
    event::{RunEvent, RunOutcome, RunStarted},
    id::RunId,
    journal::{Filter, Journal, JournalError, ListedRun, State},
};

/// Adds a run of this owner, strategy and conversation, with this outcome.
async fn make(
    journal: &Arc<dyn Journal>,
    owner: &str,
    (strategy, thread): (&str, &str),
    outcome: Option<RunOutcome>,
) -> RunId {
    let run = run("listed");
    let RunEvent::Started(first) = started() else {
        unreachable!("it is how runs begin");
    };
    let first = RunEvent::Started(RunStarted {
        strategy: strategy.into(),
        thread: thread.into(),
        at_ms: 1_234,
        ..first
    });
    let opened = journal
        .open(&run, owner, claim("a", LONG), std::slice::from_ref(&first))
        .await
        .expect("it is free");
    if let Some(outcome) = outcome {
        let RunEvent::Ended { spent, at_ms, .. } = ended() else {
            unreachable!("it is how runs end");
        };
        let end = RunEvent::Ended {
            outcome,
            spent,
            at_ms,
        };
        let ended = journal.append(&run, opened.epoch, 1, &[end]).await;
        assert_eq!(ended, Ok(()));
    }
    run
}

async fn list(journal: &Arc<dyn Journal>, filter: Filter) -> Vec<ListedRun> {
    journal.list(&filter).await.expect("it works")
}

fn of(owner: &str) -> Filter {
    Filter {
        owner: Some(owner.to_owned()),
        ..Filter::default()
    }
}

pub(super) async fn finds_runs(journal: &Arc<dyn Journal>) {
    let (owner, other) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let cancelled = RunOutcome::Cancelled {
        reason: "enough".into(),
    };
    let a = make(journal, &owner, ("chat", "t-1"), None).await;
    let done = Some(RunOutcome::completed("done"));
    let b = make(journal, &owner, ("chat", "t-1"), done).await;
    let c = make(
        journal,
        &owner,
        ("plan", "t-2"),
        Some(RunOutcome::failed("no")),
    )
    .await;
    let d = make(journal, &owner, ("plan", "t-1"), Some(cancelled)).await;
    let e = make(journal, &other, ("chat", "t-1"), None).await;

    let found = async |filter| {
        let listed = list(journal, filter).await;
        listed.into_iter().map(|l| l.run).collect::<Vec<_>>()
    };
    let all = [d.clone(), c.clone(), b.clone(), a.clone()];
    assert_eq!(found(of(&owner)).await, all, "latest first");
    let of_thread = Filter {
        thread: Some("t-1".into()),
        ..of(&owner)
    };
    assert_eq!(found(of_thread).await, [d.clone(), b.clone(), a.clone()]);
    for (states, wanted) in [
        (vec![State::Working], vec![a.clone()]),
        (vec![State::Completed], vec![b.clone()]),
        (vec![State::Failed], vec![c.clone()]),
        (
            vec![State::Cancelled, State::Working],
            vec![d.clone(), a.clone()],
        ),
    ] {
        let filter = Filter {
            states,
            ..of(&owner)
        };
        assert_eq!(found(filter).await, wanted);
    }
    for (strategies, wanted) in [
        (vec!["plan"], vec![d.clone(), c.clone()]),
        (vec!["plan", "chat"], all.to_vec()),
        (vec!["\"quoted\""], vec![]),
    ] {
        let filter = Filter {
            strategies: strategies.into_iter().map(str::to_owned).collect(),
            ..of(&owner)
        };
        assert_eq!(found(filter).await, wanted);
    }
    let everybodys = found(Filter {
        limit: 5,
        ..Filter::default()
    });
    assert_eq!(everybodys.await, [e, d.clone(), c, b.clone(), a]);

    let listed = list(journal, of(&owner)).await;
    let [last, _, done, working] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((&last.owner, &*last.strategy), (&owner, "plan"));
    assert_eq!((&*last.thread, last.state), ("t-1", State::Cancelled));
    assert_eq!((last.started_ms, done.state), (1_234, State::Completed));
    assert!(done.ended_ms.is_some_and(|at| at > 0));
    assert_eq!((working.ended_ms, working.state), (None, State::Working));
}

/// Issue 26, runs: of a request that leads to others, only its own run is listed.
pub(super) async fn leaves_out_parts(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let whole = make(journal, &owner, ("chat", ""), None).await;
    let part = run("part");
    let RunEvent::Started(first) = started() else {
        unreachable!("it is how runs begin");
    };
    let first = RunEvent::Started(RunStarted {
        origin: json!({ "is_part": true }),
        ..first
    });
    let opened = journal
        .open(&part, &owner, claim("a", LONG), &[first])
        .await;
    opened.expect("it is free");
    let found = async |top_only| {
        let filter = Filter {
            top_only,
            ..of(&owner)
        };
        let listed = list(journal, filter).await;
        listed.into_iter().map(|l| l.run).collect::<Vec<_>>()
    };
    assert_eq!(found(true).await, std::slice::from_ref(&whole));
    assert_eq!(found(false).await, [part, whole]);
}

/// Issue 26: an id may be given by its beginning.
pub(super) async fn finds_runs_by_the_beginning_of_their_ids(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let one = make(journal, &owner, ("chat", ""), None).await;
    make(journal, &owner, ("chat", ""), None).await;
    let found = async |prefix: &str| {
        let filter = Filter {
            prefix: Some(prefix.to_owned()),
            ..of(&owner)
        };
        let listed = list(journal, filter).await;
        listed.into_iter().map(|l| l.run).collect::<Vec<_>>()
    };
    let id = one.as_str();
    assert_eq!(found(id).await, std::slice::from_ref(&one));
    assert_eq!(found(&id[..id.len() - 1]).await, std::slice::from_ref(&one));
    assert_eq!(found(&format!("{id}-")).await, []);
    assert_eq!(found("%").await, [], "it is no pattern");
}

pub(super) async fn goes_on_page_by_page(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let mut all = Vec::new();
    for _ in 0..7 {
        all.insert(0, make(journal, &owner, ("chat", ""), None).await);
    }
    let mut found = Vec::new();
    let mut before = None;
    for length in [3, 3, 1, 0] {
        let page = Filter {
            before: before.clone(),
            limit: 3,
            ..of(&owner)
        };
        let page = list(journal, page).await;
        assert_eq!(page.len(), length);
        before = page.last().map(|l| l.cursor.clone()).or(before);
        found.extend(page.into_iter().map(|l| l.run));
        // Runs that begin between two pages do not appear in the later one.
        make(journal, &owner, ("chat", ""), None).await;
    }
    assert_eq!(found, all);
    let nothing = Filter {
        limit: 0,
        ..of(&owner)
    };
    assert_eq!(list(journal, nothing).await, []);
    let unknown = Filter {
        before: Some("x".into()),
        ..of(&owner)
    };
    let refused = journal.list(&unknown).await;
    assert_eq!(refused, Err(JournalError::Cursor("x".into())));
}
