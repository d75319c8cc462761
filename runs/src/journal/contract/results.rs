//! Contract: results that are taken in for the driver of a run.

use std::{sync::Arc, time::Duration};

use super::{ended, make, run, started};
use crate::journal::Journal;

/// spec: EXE-3.2
pub(super) async fn takes_results_in(journal: &Arc<dyn Journal>) {
    let (one, other) = (run("one"), run("other"));
    let opened = make(journal, &one, "a").await;
    make(journal, &other, "a").await;
    assert_eq!(journal.taken_in(&one, "t1").await, Ok(None));
    assert_eq!(journal.take_in(&one, "t1", "first").await, Ok(true));
    assert_eq!(journal.take_in(&one, "t1", "second").await, Ok(true));
    let found = async |run, task| journal.taken_in(run, task).await.expect("it works");
    assert_eq!(found(&one, "t1").await.as_deref(), Some("first"));
    assert_eq!(found(&one, "t2").await, None, "another task");
    assert_eq!(found(&other, "t1").await, None, "another run");
    // Whoever has the lease keeps it.
    let more = journal.append(&one, opened.epoch, 1, &[ended()]).await;
    assert_eq!(more, Ok(()));
    assert_eq!(found(&one, "t1").await.as_deref(), Some("first"));
    assert_eq!(journal.take_in(&one, "t2", "late").await, Ok(false));
    let nowhere = run("nowhere");
    assert_eq!(journal.take_in(&nowhere, "t1", "lost").await, Ok(false));
    assert_eq!(found(&nowhere, "t1").await, None);
}

pub(super) async fn results_go_with_their_run(journal: &Arc<dyn Journal>) {
    let (short, long) = (run("short"), run("long"));
    for (run, events) in [(&short, 0), (&long, 1)] {
        let opened = make(journal, run, "a").await;
        assert_eq!(journal.take_in(run, "t", "r").await, Ok(true));
        let mut more = vec![super::saw(1); events];
        more.push(ended());
        let over = journal.append(run, opened.epoch, 1, &more).await;
        assert_eq!(over, Ok(()));
    }
    journal
        .condense("owner", Duration::ZERO)
        .await
        .expect("it works");
    assert_eq!(journal.taken_in(&long, "t").await, Ok(None), "compacted");
    journal
        .forget("owner", Duration::ZERO)
        .await
        .expect("it works");
    assert_eq!(journal.taken_in(&short, "t").await, Ok(None), "deleted");
    let again = journal
        .open(
            &short,
            "owner",
            super::claim("a", super::LONG),
            &[started()],
        )
        .await;
    assert!(again.expect("it is free").is_new);
    assert_eq!(journal.taken_in(&short, "t").await, Ok(None));
}
