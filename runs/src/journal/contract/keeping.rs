//! Contract: retention of runs that ended.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{LONG, claim, ended, events, make, run, saw, showed, started};
use crate::journal::{Filter, Journal, JournalError, ListedRun, ProgressSize, State};

pub(super) async fn condenses_what_is_over(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let (small, large) = (saw(1), saw("x".repeat(100_000)));
    let whole = [started(), showed("a"), small, large, showed("b"), ended()];
    let others = [started(), saw(1), ended()];
    let (over, another, at_work) = (run("condensed"), run("another"), run("working"));
    assert_eq!(journal.add(&over, &owner, &whole).await, Ok(()));
    let short = run("short");
    let both = [started(), ended()];
    assert_eq!(journal.add(&short, &owner, &both).await, Ok(()));
    assert_eq!(journal.add(&another, "another", &others).await, Ok(()));
    let first = started();
    let opened = journal.open(
        &at_work,
        &owner,
        claim("a", LONG),
        std::slice::from_ref(&first),
    );
    let epoch = opened.await.expect("it is free").epoch;
    let more = [saw(1), saw(2)];
    assert_eq!(journal.append(&at_work, epoch, 1, &more).await, Ok(()));
    let listed = async || {
        let filter = Filter {
            owner: Some(owner.clone()),
            states: vec![State::Completed],
            ..Filter::default()
        };
        journal.list(&filter).await.expect("it works")
    };
    let before = listed().await;

    assert_eq!(
        journal.condense(&owner, LONG).await,
        Ok(0),
        "it is too young"
    );
    assert_eq!(events(journal, &over).await, whole);
    assert_eq!(journal.condense(&owner, Duration::ZERO).await, Ok(1));
    assert_eq!(journal.condense(&owner, Duration::ZERO).await, Ok(0));
    assert_eq!(events(journal, &over).await, [started(), ended()]);
    assert_eq!(events(journal, &short).await, [started(), ended()]);
    assert_eq!(events(journal, &another).await, others, "it is another's");
    assert_eq!(events(journal, &at_work).await.len(), 3);
    let said = |mut listed: Vec<ListedRun>| {
        listed.iter_mut().for_each(|listed| listed.last = 0);
        listed
    };
    assert_eq!(said(listed().await), said(before), "lists say the same");
    let opened = make(journal, &over, "a").await;
    assert_eq!((opened.last, opened.progress), (2, ProgressSize::default()));
    assert_eq!(opened.entries.len(), 2);
}

pub(super) async fn forgets_what_is_over(journal: &Arc<dyn Journal>) {
    let (over, at_work) = (run("over"), run("at-work"));
    let opened = make(journal, &over, "a").await;
    make(journal, &at_work, "a").await;
    let large = saw("x".repeat(100_000));
    let end = journal
        .append(&over, opened.epoch, 1, &[large, ended()])
        .await;
    assert_eq!(end, Ok(()));
    let others = super::run("others");
    let whole = [started(), ended()];
    assert_eq!(journal.add(&others, "another", &whole).await, Ok(()));
    journal.forget("owner", LONG).await.expect("it works");
    assert_eq!(events(journal, &over).await.len(), 3, "it is too young");
    let forgotten = journal.forget("owner", Duration::ZERO).await;
    assert_eq!(events(journal, &others).await, whole, "it is another's");
    assert!(forgotten.expect("it works") >= 1);
    let gone = journal.read(&over, 0, 1).await;
    assert_eq!(gone, Err(JournalError::NotFound(over.clone())));
    assert_eq!(events(journal, &at_work).await, [started()]);
    let again = make(journal, &over, "b").await;
    assert!(again.is_new, "what is forgotten can begin again");
    assert_eq!(again.entries.len(), 1);
}
