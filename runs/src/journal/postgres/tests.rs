//! These tests run if `AGENTHUB_TEST_POSTGRES` names a server (`.ci/run` starts one), each in its own schema.

use std::sync::Arc;

use tokio_postgres::NoTls;
use uuid::Uuid;

use super::*;
use crate::journal::{
    State,
    contract::{ended, keeps_its_promises, run, saw, showed, started},
    encode,
};

const LEASE: Duration = Duration::from_secs(60);

/// Connection string of a new schema.
async fn fresh() -> Option<String> {
    let Ok(server) = std::env::var("AGENTHUB_TEST_POSTGRES") else {
        eprintln!("skipped: AGENTHUB_TEST_POSTGRES names no server");
        return None;
    };
    let schema = format!("t{}", Uuid::new_v4().simple());
    admin(&server, &format!("CREATE SCHEMA {schema}")).await;
    Some(format!("{server} options='-c search_path={schema}'"))
}

/// Runs a statement on its own connection.
async fn admin(server: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(server, NoTls)
        .await
        .expect("the server named by AGENTHUB_TEST_POSTGRES is there");
    let done = async {
        client.batch_execute(sql).await.expect("it is SQL");
        drop(client);
    };
    let ((), closed) = tokio::join!(done, connection);
    closed.expect("it was closed in order");
}

fn text(event: &RunEvent) -> String {
    String::from_utf8(encode(event)).expect("JSON is UTF-8")
}

async fn made(journal: &PostgresJournal, run: &RunId) -> u64 {
    let claim = Claim {
        driver: "a",
        lease: LEASE,
    };
    let opened = Journal::open(journal, run, "owner", claim, &[started()]).await;
    opened.expect("it is free").epoch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_keeps_its_promises() {
    let Some(server) = fresh().await else { return };
    let journal = PostgresJournal::open(&server).await.expect("it opens");
    let journal: Arc<dyn Journal> = Arc::new(journal);
    keeps_its_promises(&journal).await;
}

#[tokio::test]
async fn many_programs_may_open_it_at_once() {
    let Some(server) = fresh().await else { return };
    let opening = (0..4).map(|_| PostgresJournal::open(&server));
    for opened in futures_util::future::join_all(opening).await {
        opened.expect("it opens");
    }
}

#[tokio::test]
async fn connections_that_were_cut_come_back() {
    let Some(server) = fresh().await else { return };
    let journal = PostgresJournal::open(&server).await.expect("it opens");
    let run = run("cut");
    let epoch = made(&journal, &run).await;
    let name = format!("cut-{}", Uuid::new_v4());
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ";
    let by_name = format!("{server} application_name={name}");
    let named = PostgresJournal::open(&by_name).await.expect("it opens");
    admin(&server, &format!("{others}'{name}'")).await;
    let mut seq = 1;
    // The call that finds the connection dead may fail; the next one uses another.
    while let Err(error) = named.append(&run, epoch, seq, &[saw(1)]).await {
        assert!(error.is_retryable(), "{error}");
        assert!(seq == 1, "it came back once");
        seq = named.read(&run, 0, 9).await.map_or(1, |e| e.len() as u64);
    }
    let read = journal.read(&run, 0, 9).await.expect("it is there");
    assert_eq!(read.len(), 2);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let refused = PostgresJournal::open("host=127.0.0.1 port=1 user=nobody").await;
    let refused = refused.expect_err("nobody listens");
    assert!(refused.is_retryable());
    assert!(refused.to_string().contains("PostgreSQL"), "{refused}");
    let unreadable = PostgresJournal::open("host=").await;
    assert!(matches!(unreadable, Err(JournalError::Unavailable(_))));
}

#[tokio::test]
async fn tables_of_a_later_release_are_refused() {
    let Some(server) = fresh().await else { return };
    drop(PostgresJournal::open(&server).await.expect("it opens"));
    admin(&server, "UPDATE agenthub_journal SET version = 4").await;
    let refused = PostgresJournal::open(&server).await;
    let refused = refused.expect_err("it is later");
    assert!(refused.to_string().contains("a later release"), "{refused}");
}

#[tokio::test]
async fn tables_of_an_earlier_release_list_the_runs_that_are_in_them() {
    let Some(server) = fresh().await else { return };
    let over = format!(
        "{}; INSERT INTO agenthub_journal VALUES (1);
         INSERT INTO agenthub_runs (run, owner, driver, epoch, until, last, ended_at)
         VALUES ('working', 'o', 'd', 1, now(), 2, NULL), ('over', 'o', 'd', 1, now(), 2, to_timestamp(5));
         INSERT INTO agenthub_run_events VALUES (1, 1, '{}'), (1, 2, '{}'), (2, 1, '{}'), (2, 2, '{}'); COMMIT",
        schema::TABLES,
        text(&started()),
        text(&showed("planning")),
        text(&started()),
        text(&ended()),
    );
    admin(&server, &over).await;
    let opening = (0..4).map(|_| PostgresJournal::open(&server));
    let opened = futures_util::future::join_all(opening).await;
    let journal = opened
        .into_iter()
        .map(|o| o.expect("it is brought up to date"));
    let journal: Arc<dyn Journal> = Arc::new(journal.last().expect("there are four"));
    let listed = journal.list(&Filter::default()).await.expect("it works");
    let said: Vec<_> = listed
        .iter()
        .map(|l| {
            (
                l.run.as_str(),
                &*l.strategy,
                &*l.thread,
                l.state,
                l.started_ms,
                l.ended_ms,
            )
        })
        .collect();
    let wanted = [
        ("over", "test", "t-1", State::Completed, 1, Some(5_000)),
        ("working", "test", "t-1", State::Working, 1, None),
    ];
    assert_eq!(said, wanted);
    let claim = Claim {
        driver: "d",
        lease: LEASE,
    };
    let working = Journal::open(&*journal, &RunId::new("working"), "o", claim, &[]).await;
    let working = working.expect("it is its own");
    assert_eq!((working.entries.len(), working.progress.pieces), (1, 1));
    let phases: Vec<_> = listed
        .iter()
        .map(|l| l.summary.as_ref().map(|s| &*s.phase))
        .collect();
    assert_eq!(
        phases,
        [Some(""), Some("")],
        "what was shown before is not read"
    );
    keeps_its_promises(&journal).await;
}
