//! Contract: progress, and summaries of runs.

use std::sync::Arc;

use uuid::Uuid;

use super::{LONG, claim, ended, events, forms, make, run, saw, showed, started};
use crate::{
    event::RunEvent,
    id::RunId,
    journal::{Entry, Filter, Journal, ListedRun, ProgressSize, Summary, encode},
};

/// Opening a run returns no progress, only its size.
pub(super) async fn leaves_progress_out(journal: &Arc<dyn Journal>) {
    let run = run("showing");
    let epoch = make(journal, &run, "a").await.epoch;
    let large = showed(&"x".repeat(100_000));
    let all = [
        showed("one"),
        saw(3),
        showed("two"),
        large,
        saw("y".repeat(100_000)),
        showed("three"),
    ];
    let appended = journal.append(&run, epoch, 1, &all).await;
    assert_eq!(appended, Ok(()));

    let opened = make(journal, &run, "a").await;
    let places: Vec<u64> = opened.entries.iter().map(|e| e.seq).collect();
    assert_eq!(places, [1, 3, 6]);
    assert_eq!(opened.entries[1].event, all[1]);
    assert_eq!(opened.last, 7);
    let is_progress = |event: &&RunEvent| matches!(event, RunEvent::Progressed { .. });
    let shown = all.iter().filter(is_progress);
    let bytes = shown.clone().map(|event| encode(event).len() as u64).sum();
    assert_eq!(opened.progress, ProgressSize { pieces: 4, bytes });
    assert_eq!(opened.progress, ProgressSize::of(shown));

    let (epoch, more) = (opened.epoch, [showed("four")]);
    assert_eq!(journal.append(&run, epoch, 7, &more).await, Ok(()));
    let again = make(journal, &run, "a").await;
    assert_eq!((again.last, again.progress.pieces), (8, 5));

    let first = [started()];
    let whole: Vec<&RunEvent> = first.iter().chain(&all).chain(&more).collect();
    let read = events(journal, &run).await;
    assert_eq!(read.iter().collect::<Vec<_>>(), whole, "who reads gets all");
    for after in 0..8 {
        let page = journal.read(&run, after, 2).await.expect("it is there");
        let page: Vec<&RunEvent> = page.iter().map(|e| &e.event).collect();
        let until = whole.len().min(after as usize + 2);
        assert_eq!(page, whole[after as usize..until]);
    }
}

/// Summaries in lists follow every append.
pub(super) async fn sums_up_with_every_event(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let run = run("summed");
    let first = started();
    let opened = journal.open(&run, &owner, claim("a", LONG), std::slice::from_ref(&first));
    let epoch = opened.await.expect("it is free").epoch;
    let summed = async |run: &RunId| {
        let entries = journal.read(run, 0, usize::MAX).await;
        let entries = entries.expect("it is there");
        let listed = listed(journal, &owner, run).await;
        assert_eq!(listed.last, entries.len() as u64);
        let summary = Summary::of(&entries);
        assert_eq!(summary.on_behalf_of, "alice");
        let asking = Filter {
            owner: Some(owner.clone()),
            asks: true,
            ..Filter::default()
        };
        let asking = journal.list(&asking).await.expect("it works");
        let is_found = asking.iter().any(|listed| listed.run == *run);
        assert_eq!(is_found, summary.asks(), "{summary:?}");
        assert_eq!(listed.summary, Some(summary));
        entries
    };
    summed(&run).await;
    let (mut last, forms) = (1, forms());
    let mut asked = 0;
    for event in &forms {
        let appended = journal.append(&run, epoch, last, std::slice::from_ref(event));
        assert_eq!(appended.await, Ok(()));
        last += 1;
        let entries = summed(&run).await;
        asked += usize::from(Summary::of(&entries).asks());
    }
    assert!(
        asked > 0 && asked < forms.len(),
        "it asked, and was answered"
    );
    let refused = journal.append(&run, epoch, 1, &[showed("late")]).await;
    assert!(refused.is_err());
    let entries = summed(&run).await;
    assert_ne!(Summary::of(&entries), Summary::default());

    let (added, whole) = (super::run("summed-whole"), [vec![first], forms].concat());
    assert_eq!(journal.add(&added, &owner, &whole).await, Ok(()));
    let entries: Vec<Entry> = summed(&added).await;
    assert_eq!(entries.len(), whole.len());

    let closed = super::run("summed-closed");
    let opened = journal.open(&closed, &owner, claim("a", LONG), &whole[..1]);
    let epoch = opened.await.expect("it is free").epoch;
    let asks = &whole[1..8];
    assert_eq!(journal.append(&closed, epoch, 1, asks).await, Ok(()));
    summed(&closed).await;
    let end = journal.close(&closed, claim("a", LONG), &ended()).await;
    assert_eq!(end, Ok(()));
    summed(&closed).await;
}

async fn listed(journal: &Arc<dyn Journal>, owner: &str, run: &RunId) -> ListedRun {
    let filter = Filter {
        owner: Some(owner.to_owned()),
        ..Filter::default()
    };
    let listed = journal.list(&filter).await.expect("it works");
    let listed = listed.into_iter().find(|listed| listed.run == *run);
    listed.expect("it is there")
}
