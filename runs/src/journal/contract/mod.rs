//! Contract tests of every journal.

mod events;
mod keeping;
mod lists;
mod results;
mod showing;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use uuid::Uuid;

pub use events::{ended, forms, saw, showed, started};

use super::{Claim, Entry, Filter, Journal, JournalError, OpenedRun, State};
use crate::{event::RunEvent, id::RunId};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(150);
const PATIENCE: Duration = Duration::from_secs(10);

/// Checks all guarantees of a journal. It may contain other runs, which are left alone unless they ended.
pub async fn keeps_its_promises(journal: &Arc<dyn Journal>) {
    begins_and_goes_on(journal).await;
    begins_with_several_events(journal).await;
    holds_leases(journal).await;
    ends_leases_by_its_clock(journal).await;
    fences(journal).await;
    closes_unread(journal).await;
    adds_whole_runs(journal).await;
    keeps_every_form(journal).await;
    keeps_large_events(journal).await;
    reads_on(journal).await;
    showing::leaves_progress_out(journal).await;
    showing::sums_up_with_every_event(journal).await;
    finds_what_is_to_be_done(journal).await;
    lists::finds_runs(journal).await;
    lists::goes_on_page_by_page(journal).await;
    lists::leaves_out_parts(journal).await;
    lists::finds_runs_by_the_beginning_of_their_ids(journal).await;
    keeping::condenses_what_is_over(journal).await;
    keeping::forgets_what_is_over(journal).await;
    results::takes_results_in(journal).await;
    results::results_go_with_their_run(journal).await;
    gives_a_run_to_one(journal).await;
    lets_one_of_two_append(journal).await;
}

/// A run id with this name, unique per test.
pub fn run(name: &str) -> RunId {
    RunId::new(format!("{name}-{}", Uuid::new_v4()))
}

fn claim(driver: &str, lease: Duration) -> Claim<'_> {
    Claim { driver, lease }
}

async fn make(journal: &Arc<dyn Journal>, run: &RunId, driver: &str) -> OpenedRun {
    journal
        .open(run, "owner", claim(driver, LONG), &[started()])
        .await
        .expect("it is free")
}

async fn events(journal: &Arc<dyn Journal>, run: &RunId) -> Vec<RunEvent> {
    let entries = journal.read(run, 0, usize::MAX).await.expect("it is there");
    let places: Vec<u64> = entries.iter().map(|e| e.seq).collect();
    let wanted: Vec<u64> = (1..=entries.len() as u64).collect();
    assert_eq!(places, wanted, "without gaps, from 1");
    entries.into_iter().map(|e| e.event).collect()
}

/// Polls until there is an answer.
async fn until<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> T {
    let asked = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(asked.elapsed() < PATIENCE, "it never came");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn begins_and_goes_on(journal: &Arc<dyn Journal>) {
    let run = run("begins");
    let nothing = journal.open(&run, "owner", claim("a", LONG), &[]).await;
    assert_eq!(nothing, Err(JournalError::NotFound(run.clone())));
    assert_eq!(
        journal.read(&run, 0, 1).await,
        Err(JournalError::NotFound(run.clone()))
    );
    let lost = journal.append(&run, 1, 0, &[saw(1)]).await;
    assert_eq!(lost, Err(JournalError::NotFound(run.clone())));

    let opened = make(journal, &run, "a").await;
    let first = Entry {
        seq: 1,
        event: started(),
    };
    assert!(opened.is_new);
    assert_eq!(opened.entries, [first]);
    let more = [saw(1), saw("two")];
    let appended = journal.append(&run, opened.epoch, 1, &more).await;
    assert_eq!(appended, Ok(()));
    let nothing = journal.append(&run, opened.epoch, 3, &[]).await;
    assert_eq!(nothing, Ok(()), "nothing can be added as well");

    let again = make(journal, &run, "a").await;
    assert!(!again.is_new, "the first event is that of the first");
    assert!(again.epoch > opened.epoch, "every lease has its epoch");
    let found: Vec<RunEvent> = again.entries.into_iter().map(|e| e.event).collect();
    let [one, two] = more;
    assert_eq!(found, [started(), one, two]);
}

async fn begins_with_several_events(journal: &Arc<dyn Journal>) {
    let run = run("several");
    let first = [started(), saw(1), saw("two")];
    let opened = journal.open(&run, "owner", claim("a", LONG), &first).await;
    let opened = opened.expect("it is free");
    assert!(opened.is_new);
    assert_eq!(opened.last, 3);
    let found: Vec<RunEvent> = opened.entries.into_iter().map(|e| e.event).collect();
    assert_eq!(found, first);
    assert_eq!(events(journal, &run).await, first);
    let appended = journal.append(&run, opened.epoch, 3, &[saw(3)]).await;
    assert_eq!(appended, Ok(()));
    let again = journal
        .open(&run, "owner", claim("a", LONG), &first[..1])
        .await;
    let again = again.expect("it is the driver's own");
    assert_eq!((again.is_new, again.last), (false, 4));
}

async fn holds_leases(journal: &Arc<dyn Journal>) {
    let run = run("held");
    let first = make(journal, &run, "a").await;
    match journal.open(&run, "owner", claim("b", LONG), &[]).await {
        Err(error @ JournalError::Leased { .. }) => {
            assert!(error.is_retryable());
            let JournalError::Leased { driver, left, .. } = error else {
                unreachable!("it was just that");
            };
            assert_eq!(driver, "a");
            assert!(left > LONG / 2 && left <= LONG, "{left:?} are left");
        }
        other => panic!("it is held: {other:?}"),
    }
    let second = make(journal, &run, "a").await;
    assert!(second.epoch > first.epoch, "the same name takes it at once");

    journal.release(&run, first.epoch).await.expect("it works");
    let held = journal.open(&run, "owner", claim("b", LONG), &[]).await;
    assert!(
        matches!(held, Err(JournalError::Leased { .. })),
        "an old lease releases nothing: {held:?}"
    );
    journal.release(&run, second.epoch).await.expect("it works");
    let third = make(journal, &run, "b").await;
    assert!(third.epoch > second.epoch);
}

async fn closes_unread(journal: &Arc<dyn Journal>) {
    let run = run("closed");
    let unknown = journal.close(&run, claim("a", LONG), &ended()).await;
    assert_eq!(unknown, Err(JournalError::NotFound(run.clone())));
    let opened = make(journal, &run, "a").await;
    let held = journal.close(&run, claim("b", LONG), &ended()).await;
    assert!(matches!(held, Err(JournalError::Leased { .. })), "{held:?}");
    let closed = journal.close(&run, claim("a", LONG), &ended()).await;
    assert_eq!(closed, Ok(()));
    let late = journal.append(&run, opened.epoch, 2, &[saw(1)]).await;
    assert_eq!(late, Err(JournalError::Fenced(run.clone())));
    assert_eq!(events(journal, &run).await, [started(), ended()]);
    let again = journal.close(&run, claim("b", LONG), &ended()).await;
    assert_eq!(again, Ok(()), "it is let go, and over");
    assert_eq!(events(journal, &run).await.len(), 2);
}

async fn adds_whole_runs(journal: &Arc<dyn Journal>) {
    let run = run("added");
    let whole = [started(), saw(1), ended()];
    for _ in 0..2 {
        assert_eq!(journal.add(&run, "owner", &whole).await, Ok(()));
        assert_eq!(events(journal, &run).await, whole);
    }
    let filter = Filter {
        states: vec![State::Completed],
        limit: 1_000,
        ..Filter::default()
    };
    let listed = journal.list(&filter).await.expect("it works");
    let listed = listed.iter().find(|listed| listed.run == run);
    let listed = listed.expect("it is over");
    assert_eq!((&*listed.owner, &*listed.strategy), ("owner", "test"));
    let opened = make(journal, &run, "a").await;
    assert!(!opened.is_new, "and let go");
    assert_eq!(opened.entries.len(), whole.len());
}

async fn ends_leases_by_its_clock(journal: &Arc<dyn Journal>) {
    let run = run("expires");
    let began = Instant::now();
    let opened = journal
        .open(&run, "owner", claim("a", SHORT), &[started()])
        .await
        .expect("it is free");
    let next = until(async || {
        journal
            .open(&run, "owner", claim("b", SHORT), &[])
            .await
            .ok()
    })
    .await;
    assert!(began.elapsed() >= SHORT, "not before its time");
    assert!(next.epoch > opened.epoch);
    let late = journal.append(&run, opened.epoch, 1, &[saw(1)]).await;
    assert_eq!(late, Err(JournalError::Fenced(run.clone())));

    let renewed = journal.renew(&run, next.epoch, LONG).await;
    assert_eq!(renewed, Ok(()));
    let held = journal.open(&run, "owner", claim("a", LONG), &[]).await;
    assert!(
        matches!(&held, Err(JournalError::Leased { left, .. }) if *left > LONG / 2),
        "it was renewed: {held:?}"
    );
}

async fn fences(journal: &Arc<dyn Journal>) {
    let run = run("fenced");
    let old = make(journal, &run, "a").await.epoch;
    let epoch = make(journal, &run, "a").await.epoch;
    let fenced = Err(JournalError::Fenced(run.clone()));
    assert_eq!(journal.append(&run, old, 1, &[saw(1)]).await, fenced);
    assert_eq!(journal.renew(&run, old, LONG).await, fenced);
    assert_eq!(journal.append(&run, epoch + 1, 1, &[saw(1)]).await, fenced);
    for after in [0, 2, 100] {
        let two = [saw(1), saw(2)];
        let gap = journal.append(&run, epoch, after, &two).await;
        assert_eq!(gap, fenced, "the last is at 1, not at {after}");
    }
    assert_eq!(events(journal, &run).await, [started()], "all or nothing");
    assert_eq!(journal.append(&run, epoch, 1, &[saw(1)]).await, Ok(()));
}

async fn keeps_every_form(journal: &Arc<dyn Journal>) {
    let run = run("forms");
    let opened = make(journal, &run, "a").await;
    let appended = journal.append(&run, opened.epoch, 1, &forms()).await;
    assert_eq!(appended, Ok(()));
    assert_eq!(events(journal, &run).await[1..], forms());
}

async fn keeps_large_events(journal: &Arc<dyn Journal>) {
    let run = run("large");
    let opened = make(journal, &run, "a").await;
    let sizes = [65_000, 66_000, 1 << 20, 8 << 20];
    let large: Vec<RunEvent> = sizes.map(|size| saw("x".repeat(size))).to_vec();
    let appended = journal.append(&run, opened.epoch, 1, &large).await;
    assert_eq!(appended, Ok(()));
    assert_eq!(events(journal, &run).await[1..], large);
}

async fn reads_on(journal: &Arc<dyn Journal>) {
    let run = run("reads");
    let opened = make(journal, &run, "a").await;
    let many: Vec<RunEvent> = (0..9).map(saw).collect();
    let appended = journal.append(&run, opened.epoch, 1, &many).await;
    assert_eq!(appended, Ok(()));
    let read = async |after, limit| {
        let entries = journal.read(&run, after, limit).await;
        let entries = entries.expect("it is there");
        entries.iter().map(|e| e.seq).collect::<Vec<_>>()
    };
    assert_eq!(read(0, 3).await, [1, 2, 3]);
    assert_eq!(read(3, 3).await, [4, 5, 6]);
    assert_eq!(read(9, 3).await, [10]);
    assert_eq!(read(10, 3).await, [0; 0]);
    assert_eq!(read(u64::MAX, 3).await, [0; 0]);
    assert_eq!(read(0, 0).await, [0; 0]);
}

async fn finds_what_is_to_be_done(journal: &Arc<dyn Journal>) {
    let owner = Uuid::new_v4().to_string();
    let open = async |name: &str, owner: &str, driver: &str, lease| {
        let run = run(name);
        let first = started();
        let opened = journal
            .open(
                &run,
                owner,
                claim(driver, lease),
                std::slice::from_ref(&first),
            )
            .await;
        (run, opened.expect("it is free").epoch)
    };
    let (first, epoch) = open("z", &owner, "a", LONG).await;
    let (over, over_epoch) = open("y", &owner, "a", LONG).await;
    let (third, _) = open("x", &owner, "a", LONG).await;
    let (others, _) = open("w", &owner, "b", LONG).await;
    open("v", "somebody else", "a", LONG).await;
    let end = journal.append(&over, over_epoch, 1, &[ended()]).await;
    assert_eq!(end, Ok(()));

    let find = async |driver: &str, limit| {
        let found = journal.adoptable(&owner, driver, limit).await;
        found.expect("it works")
    };
    let mine = [first.clone(), third.clone()];
    assert_eq!(find("a", 10).await, mine, "my own, oldest first");
    assert_eq!(find("a", 1).await, mine[..1]);
    assert_eq!(find("b", 10).await, std::slice::from_ref(&others));
    assert_eq!(find("c", 10).await, [], "all have a driver");
    journal.release(&first, epoch).await.expect("it works");
    assert_eq!(find("c", 10).await, std::slice::from_ref(&first));
    assert_eq!(find("b", 10).await, [first, others]);
    assert_eq!(find("b", 0).await, []);
}

async fn gives_a_run_to_one(journal: &Arc<dyn Journal>) {
    for _ in 0..8 {
        let run = run("race");
        let mut drivers = JoinSet::new();
        for number in 0..8 {
            let (journal, run) = (Arc::clone(journal), run.clone());
            drivers.spawn(async move {
                let name = number.to_string();
                let first = started();
                journal
                    .open(
                        &run,
                        "owner",
                        claim(&name, LONG),
                        std::slice::from_ref(&first),
                    )
                    .await
            });
        }
        let opened = drivers.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "one has it");
        assert!(
            lost.iter()
                .all(|l| matches!(l, Err(JournalError::Leased { .. }))),
            "{lost:?}"
        );
        assert_eq!(events(journal, &run).await, [started()]);
    }
}

async fn lets_one_of_two_append(journal: &Arc<dyn Journal>) {
    let run = run("appends");
    let opened = make(journal, &run, "a").await;
    for last in 1..=8 {
        let mut writers = JoinSet::new();
        for number in 0..4 {
            let (journal, run, epoch) = (Arc::clone(journal), run.clone(), opened.epoch);
            writers.spawn(async move { journal.append(&run, epoch, last, &[saw(number)]).await });
        }
        let appended = writers.join_all().await;
        let won = appended.iter().filter(|a| a.is_ok()).count();
        assert_eq!(won, 1, "{appended:?}");
        assert_eq!(events(journal, &run).await.len() as u64, last + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::MemoryJournal;

    #[tokio::test]
    async fn memory_keeps_its_promises() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        keeps_its_promises(&journal).await;
    }
}
