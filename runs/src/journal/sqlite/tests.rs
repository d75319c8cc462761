use std::sync::Arc;

use super::*;
use crate::journal::contract::{ended, keeps_its_promises, run, saw, showed, started};

const LEASE: Duration = Duration::from_secs(60);

fn claim(driver: &str) -> Claim<'_> {
    Claim {
        driver,
        lease: LEASE,
    }
}

async fn made(journal: &SqliteJournal, run: &RunId) -> u64 {
    let first = started();
    let opened = Journal::open(
        journal,
        run,
        "owner",
        claim("a"),
        std::slice::from_ref(&first),
    )
    .await;
    opened.expect("it is free").epoch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_its_promises() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made/on/the/way/runs.db");
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(path).expect("it opens"));
    keeps_its_promises(&journal).await;
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let run = run("kept");
    let large = saw("x".repeat(200_000));
    let journal = SqliteJournal::open(&path).expect("it opens");
    let epoch = made(&journal, &run).await;
    let appended = journal.append(&run, epoch, 1, std::slice::from_ref(&large));
    assert_eq!(appended.await, Ok(()));
    drop(journal);

    let journal = SqliteJournal::open(&path).expect("it opens");
    let held = Journal::open(&journal, &run, "owner", claim("b"), &[]).await;
    assert!(matches!(held, Err(JournalError::Leased { .. })), "{held:?}");
    let opened = Journal::open(&journal, &run, "owner", claim("a"), &[]).await;
    let opened = opened.expect("it is its own");
    assert_eq!(opened.epoch, epoch + 1);
    assert_eq!(opened.entries[1].event, large);
}

#[tokio::test]
async fn runs_that_ask_are_found_without_looking_at_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    drop(SqliteJournal::open(&path).expect("it opens"));
    let sql = Connection::open(&path).expect("it opens");
    let plan = |condition: &str| {
        let explain =
            format!("EXPLAIN QUERY PLAN SELECT run FROM runs WHERE {condition} ORDER BY id DESC");
        let plan = sql.query_row(&explain, [], |row| row.get::<_, String>(3));
        plan.expect("it is SQL")
    };
    assert_eq!(plan(&schema::asks()), "SCAN runs USING INDEX runs_that_ask");
    assert_eq!(plan("true"), "SCAN runs");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made/runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    made(&journal, &run("private")).await;
    let mode = |path: &std::path::Path| {
        let metadata = path.metadata().expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(path.parent().expect("a folder")), 0o700);
    let files = ["db", "db-wal", "db-shm"].map(|end| path.with_extension(end));
    assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);

    // Wider permissions are removed again, even while another process has the file open.
    for file in &files {
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(file, open).expect("it is ours");
    }
    let other = SqliteJournal::open(&path).expect("it opens");
    assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
    made(&other, &run("other")).await;
    made(&journal, &run("private")).await;
}

#[tokio::test]
async fn two_programs_share_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let one = SqliteJournal::open(&path).expect("it opens");
    let other = SqliteJournal::open(&path).expect("it opens beside the first");
    let run = run("shared");
    let epoch = made(&one, &run).await;
    let appended = other.append(&run, epoch, 1, &[saw(1)]).await;
    assert_eq!(appended, Ok(()));
    let stale = one.append(&run, epoch, 1, &[saw(2)]).await;
    assert_eq!(stale, Err(JournalError::Fenced(run.clone())));
    assert_eq!(one.read(&run, 0, 9).await.expect("it is there").len(), 2);
}

/// Half of an append is written when the other half fails.
#[tokio::test]
async fn an_append_that_fails_midway_leaves_nothing_and_harms_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let (run, other) = (run("torn"), run("other"));
    let epoch = made(&journal, &run).await;
    let other_epoch = made(&journal, &other).await;
    let sql = Connection::open(&path).expect("it opens");
    sql.execute_batch(
        "CREATE TRIGGER torn BEFORE INSERT ON events WHEN NEW.event LIKE '%poison%'
         BEGIN SELECT raise(ABORT, 'poisoned'); END",
    )
    .expect("it is SQL");
    let (halves, whole) = ([saw(1), saw("poison")], [saw(2)]);
    let (torn, kept) = tokio::join!(
        journal.append(&run, epoch, 1, &halves),
        journal.append(&other, other_epoch, 1, &whole),
    );
    let torn = torn.expect_err("it is poisoned");
    assert!(torn.to_string().contains("poisoned"), "{torn}");
    assert_eq!(kept, Ok(()));
    let length = async |run| journal.read(run, 0, 9).await.expect("it is there").len();
    assert_eq!(length(&run).await, 1);
    assert_eq!(length(&other).await, 2);
    assert_eq!(journal.append(&run, epoch, 1, &[saw(3)]).await, Ok(()));
}

#[tokio::test]
async fn a_full_disk_refuses_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let run = run("full");
    let epoch = made(&journal, &run).await;
    let limit = |pages: i64| {
        let set = journal.writer().expect("it writes").run(move |sql| {
            sql.pragma_update(None, "max_page_count", pages)?;
            Ok(Ok(()))
        });
        async move { set.await.expect("it can be set") }
    };
    limit(1).await;
    let much = [saw("x".repeat(1_000_000))];
    let refused = journal.append(&run, epoch, 1, &much).await;
    let refused = refused.expect_err("there is no room");
    assert!(refused.is_retryable());
    assert!(refused.to_string().contains("is full"), "{refused}");
    assert_eq!(
        journal.read(&run, 0, 9).await.expect("reads go on").len(),
        1
    );
    limit(1_000_000).await;
    assert_eq!(journal.append(&run, epoch, 1, &much).await, Ok(()));
}

/// Fills a journal with ended runs, deletes them, and returns the size of the file before and after.
async fn forgotten(path: &Path, journal: &SqliteJournal) -> (u64, u64) {
    for _ in 0..40 {
        let run = run("over");
        let epoch = made(journal, &run).await;
        let much: Vec<RunEvent> = (0..4)
            .flat_map(|_| {
                [
                    showed(&"x".repeat(60_000)),
                    saw("y".repeat(60_000)),
                    saw("z".repeat(90_000)),
                ]
            })
            .chain([ended()])
            .collect();
        assert_eq!(journal.append(&run, epoch, 1, &much).await, Ok(()));
    }
    let size = || path.metadata().expect("it is there").len();
    let before = size();
    let forgotten = journal.forget("owner", Duration::ZERO).await;
    assert_eq!(forgotten, Ok(40));
    (before, size())
}

#[tokio::test]
async fn what_was_forgotten_takes_no_space_any_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let kept = run("kept");
    made(&journal, &kept).await;
    let (before, after) = forgotten(&path, &journal).await;
    assert!(before > 20 << 20, "{before} bytes");
    assert!(after < 1 << 20, "{after} bytes are left of {before}");
    assert_eq!(journal.read(&kept, 0, 9).await.map(|e| e.len()), Ok(1));
}

/// A file without incremental vacuum is rewritten once.
#[tokio::test]
async fn a_file_of_an_earlier_release_gives_space_back_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    drop(SqliteJournal::open(&path).expect("it opens"));
    let sql = Connection::open(&path).expect("it opens");
    sql.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM")
        .expect("it is SQL");
    drop(sql);
    let journal = SqliteJournal::open(&path).expect("it opens");
    let (before, after) = forgotten(&path, &journal).await;
    assert!(after < before / 20, "{after} bytes are left of {before}");
}

#[tokio::test]
async fn another_program_that_keeps_the_file_locked_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let hurried = journal
        .writer()
        .expect("it writes")
        .run(|sql| Ok(Ok(sql.busy_timeout(Duration::from_millis(1))?)));
    hurried.await.expect("it can be set");
    let sql = Connection::open(&path).expect("it opens");
    sql.execute_batch("BEGIN IMMEDIATE").expect("it is free");
    let run = run("locked");
    let first = started();
    let refused = Journal::open(
        &journal,
        &run,
        "owner",
        claim("a"),
        std::slice::from_ref(&first),
    )
    .await;
    let refused = refused.expect_err("it is locked");
    assert!(refused.is_retryable());
    assert!(
        refused.to_string().contains("locked by another process"),
        "{refused}"
    );
    sql.execute_batch("ROLLBACK").expect("it was begun");
    made(&journal, &run).await;
}

#[tokio::test]
async fn damage_is_named_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let run = run("damaged");
    let epoch = made(&journal, &run).await;
    let more = [saw(2), saw("x".repeat(100_000)), saw(4)];
    assert_eq!(journal.append(&run, epoch, 1, &more).await, Ok(()));
    let sql = Connection::open(&path).expect("it opens");
    let damage = async |harm: &str, repair: &str| {
        sql.execute_batch(harm).expect("it is SQL");
        let opened = Journal::open(&journal, &run, "owner", claim("a"), &[]).await;
        sql.execute_batch(repair).expect("it is SQL");
        match opened {
            Err(JournalError::Unreadable { seq, why, .. }) => (seq, why),
            other => panic!("{harm}: {other:?}"),
        }
    };
    let text = |seq: u64| format!("UPDATE events SET event = old WHERE seq = {seq}");
    sql.execute_batch("ALTER TABLE events ADD COLUMN old TEXT; UPDATE events SET old = event")
        .expect("it is SQL");
    let (seq, _) = damage("UPDATE events SET event = '{' WHERE seq = 2", &text(2)).await;
    assert_eq!(seq, 2);
    let later = "UPDATE events SET event = '{\"v\":99}' WHERE seq = 4";
    let (seq, why) = damage(later, &text(4)).await;
    assert_eq!(seq, 4);
    assert!(why.contains("format 99"), "{why}");
    let (seq, why) = damage(
        "UPDATE events SET seq = 9 WHERE seq = 4",
        "UPDATE events SET seq = 4 WHERE seq = 9",
    )
    .await;
    assert_eq!((seq, &*why), (4, "it is missing"));
    let (seq, _) = damage("DELETE FROM events WHERE seq = 4", "").await;
    assert_eq!(seq, 4, "the last is missing");
    let (seq, _) = damage("DELETE FROM large_events", "").await;
    assert_eq!(seq, 3);
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_refused_in_plain_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let refused = |name: &str| {
        let opened = SqliteJournal::open(path(name));
        opened.expect_err("it is no journal").to_string()
    };
    std::fs::write(path("garbage.db"), "not a database at all ".repeat(100)).expect("a file");
    assert!(refused("garbage.db").contains("is damaged, or no journal"));

    let sql = Connection::open(path("other.db")).expect("it opens");
    sql.execute_batch("CREATE TABLE t (x)").expect("it is SQL");
    assert!(refused("other.db").contains("the database of something else"));

    drop(SqliteJournal::open(path("later.db")).expect("it opens"));
    let sql = Connection::open(path("later.db")).expect("it opens");
    sql.execute_batch("PRAGMA user_version = 4")
        .expect("it is SQL");
    assert!(refused("later.db").contains("was written by a later release"));

    std::fs::write(path("file"), "").expect("a file");
    assert!(refused("file/runs.db").contains("cannot use the folder"));
}

#[tokio::test]
async fn what_was_asked_is_written_before_the_journal_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.db");
    let journal = SqliteJournal::open(&path).expect("it opens");
    let run = run("closing");
    let epoch = made(&journal, &run).await;
    let last = [ended()];
    {
        let mut append = journal.append(&run, epoch, 1, &last);
        let polled = futures_util::poll!(&mut append);
        assert!(polled.is_pending() || polled.is_ready());
    }
    drop(journal);
    let journal = SqliteJournal::open(&path).expect("it opens");
    let read = journal.read(&run, 0, 9).await.expect("it is there");
    assert_eq!(read.len(), 2);
}
