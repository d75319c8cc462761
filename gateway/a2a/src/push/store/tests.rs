use super::*;

fn config(id: &str) -> Config {
    Config {
        id: id.into(),
        url: "https://hook.example/".into(),
        token: String::new(),
        scheme: String::new(),
        credentials: String::new(),
        owner: "alice".into(),
    }
}

/// Shows a status update of a state, which ends the task if it is the second one.
fn show(
    state: i32,
) -> impl Fn(Option<i32>) -> (Option<StreamResponse>, Option<i32>, bool) + Send + Clone + 'static {
    move |_| (Some(StreamResponse::default()), Some(state), state == 2)
}

async fn store_with(id: &str) -> (Store, i64) {
    let store = Store::open(None).expect("memory");
    let added = store.add("t", config(id), StartPoint::default(), 1).await;
    let Ok(Added::New(key)) = added else {
        panic!("it is new")
    };
    (store, key)
}

async fn waiting(store: &Store, key: i64) -> usize {
    let mut count = 0;
    while let Some(front) = store.front(key).await.expect("it reads") {
        store
            .settle(key, front.seq, Settled::Delivered, None)
            .await
            .expect("it writes");
        count += 1;
    }
    count
}

#[tokio::test]
async fn an_event_is_recorded_once_and_in_order() {
    let (store, key) = store_with("a").await;
    for position in ["l-1", "l-2", "l-2", "l-1", "l-3"] {
        store
            .record("t", position, 5, show(1))
            .await
            .expect("it writes");
    }
    store
        .record("other", "l-4", 5, show(1))
        .await
        .expect("it writes");
    assert_eq!(store.position().await.expect("it reads"), "l-4");
    assert_eq!(waiting(&store, key).await, 3);
    store
        .record("t", "l-5", 5, show(2))
        .await
        .expect("it writes");
    let late = store.record("t", "l-6", 5, show(1)).await;
    assert_eq!(late.expect("it writes"), [0; 0], "the task has ended");
}

#[tokio::test]
async fn a_failure_keeps_the_front_and_counts() {
    let (store, key) = store_with("a").await;
    store
        .record("t", "l-1", 5, show(1))
        .await
        .expect("it writes");
    let first = store.front(key).await.expect("it reads").expect("one");
    let again = Settled::Again { due_ms: 77 };
    store
        .settle(key, first.seq, again, None)
        .await
        .expect("it writes");
    let front = store.front(key).await.expect("it reads").expect("one");
    assert_eq!((front.seq, front.id), (first.seq, first.id));
    assert_eq!((front.tries, front.failures, front.due_ms), (1, 1, 77));
    let given_up = Settled::GivenUp { due_ms: 0 };
    store
        .settle(key, first.seq, given_up, None)
        .await
        .expect("it writes");
    assert_eq!(store.front(key).await.expect("it reads"), None);
}

#[tokio::test]
async fn too_much_mail_becomes_the_task_itself() {
    let (store, key) = store_with("a").await;
    for n in 1..=WAITING + 3 {
        store
            .record("t", &format!("l-{n}"), 5, show(1))
            .await
            .expect("it writes");
    }
    let first = store.front(key).await.expect("it reads").expect("one");
    assert!(first.body.is_some(), "what may be on its way stays");
    store
        .settle(key, first.seq, Settled::Delivered, None)
        .await
        .expect("it writes");
    let second = store.front(key).await.expect("it reads").expect("one");
    assert_eq!(second.body, None);
    assert_eq!(
        waiting(&store, key).await,
        1 + 2,
        "what came later is behind it"
    );
}

#[tokio::test]
async fn a_gap_is_bridged_by_the_task_once() {
    let (store, key) = store_with("a").await;
    store
        .record("t", "l-1", 5, show(1))
        .await
        .expect("it writes");
    for _ in 0..3 {
        assert_eq!(store.record_gap(5).await.expect("it writes"), [key]);
    }
    assert_eq!(waiting(&store, key).await, 2);
    store
        .record("t", "other-1", 5, show(1))
        .await
        .expect("it writes");
    assert_eq!(
        waiting(&store, key).await,
        1,
        "positions of the next log count"
    );
}

#[tokio::test]
async fn configurations_are_replaced_listed_removed_and_bounded() {
    let (store, key) = store_with("a").await;
    let again = store.add("t", config("a"), StartPoint::default(), 1).await;
    assert_eq!(again.expect("it writes"), Added::Changed(key));
    for n in 1..PER_TASK {
        let added = store
            .add("t", config(&n.to_string()), StartPoint::default(), 1)
            .await;
        assert!(matches!(added, Ok(Added::New(_))));
    }
    let full = store
        .add("t", config("more"), StartPoint::default(), 1)
        .await;
    assert_eq!(full.expect("it writes"), Added::Full);
    let page = store.list("t", 0, 10).await.expect("it reads");
    let rest = store.list("t", page.next.expect("more"), 10).await;
    let rest = rest.expect("it reads");
    assert_eq!(
        (page.configs.len() + rest.configs.len(), rest.next),
        (16, None)
    );
    assert_eq!(store.remove("t", "a").await.expect("it writes"), Some(key));
    assert_eq!(store.remove("t", "a").await.expect("it writes"), None);
    assert_eq!(store.get("t", "a").await.expect("it reads"), None);
}

#[tokio::test]
async fn what_has_ended_goes_once_it_is_delivered_and_old() {
    let (store, key) = store_with("a").await;
    store
        .record("t", "l-1", 100, show(2))
        .await
        .expect("it writes");
    let swept = async |before_ms| {
        store.sweep(before_ms).await.expect("it writes");
        store.tasks().await.expect("it reads")
    };
    assert_eq!(swept(1_000).await, ["t"], "it waits");
    assert_eq!(waiting(&store, key).await, 1);
    assert_eq!(swept(100).await, ["t"], "it can still be looked at");
    assert_eq!(swept(101).await, [""; 0]);
}

#[tokio::test]
async fn what_ended_within_a_gap_goes_once_the_task_itself_is_delivered() {
    let (store, key) = store_with("a").await;
    store.record_gap(5).await.expect("it writes");
    let front = store.front(key).await.expect("it reads").expect("one");
    store
        .settle(key, front.seq, Settled::Delivered, Some(100))
        .await
        .expect("it writes");
    store.sweep(101).await.expect("it writes");
    assert_eq!(store.tasks().await.expect("it reads"), [""; 0]);
}

#[tokio::test]
async fn a_configuration_whose_task_never_came_is_found_and_one_that_began_is_not_dropped() {
    let (store, key) = store_with("a").await;
    assert_eq!(store.unbegun(1).await.expect("it reads"), []);
    let unbegun = store.unbegun(2).await.expect("it reads");
    assert_eq!(unbegun, [(key, "t".to_owned())]);
    store.record_gap(5).await.expect("it writes");
    let front = store.front(key).await.expect("it reads").expect("one");
    assert!(front.is_to_come);
    store
        .record("t", "l-1", 5, show(1))
        .await
        .expect("it writes");
    let front = store.front(key).await.expect("it reads").expect("one");
    assert!(!front.is_to_come);
    store.drop_unbegun(key).await.expect("it writes");
    assert_eq!(store.tasks().await.expect("it reads"), ["t"]);
}

#[tokio::test]
async fn a_file_is_kept_for_its_owner_alone_and_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(Some(folder.path())).expect("it opens");
    store
        .add("t", config("a"), StartPoint::default(), 1)
        .await
        .expect("it writes");
    store
        .record("t", "l-9", 5, show(1))
        .await
        .expect("it writes");
    drop(store);
    let store = Store::open(Some(folder.path())).expect("it opens");
    assert_eq!(store.position().await.expect("it reads"), "l-9");
    assert_eq!(store.with_mail().await.expect("it reads").len(), 1);
    assert_eq!(store.tasks().await.expect("it reads"), ["t"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.path().join("push.db");
        let mode = file.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("push.db");
    std::fs::write(&file, "no database, but long enough to be read as one").expect("written");
    assert!(matches!(
        Store::open(Some(folder.path())),
        Err(OpenError::Damaged(_))
    ));
    std::fs::remove_file(&file).expect("it was there");
    drop(Store::open(Some(folder.path())).expect("it opens"));
    let sql = Connection::open(&file).expect("it opens");
    sql.pragma_update(None, "user_version", 99)
        .expect("written");
    drop(sql);
    let later = Store::open(Some(folder.path()));
    assert!(matches!(later, Err(OpenError::Later { found: 99, .. })));
}

/// A file of an earlier release goes on, with configurations that are nobody's.
#[tokio::test]
async fn a_file_without_owners_gets_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("push.db");
    drop(Store::open(Some(folder.path())).expect("it opens"));
    let sql = Connection::open(&file).expect("it opens");
    sql.execute_batch(
        "ALTER TABLE configs DROP COLUMN owner;
         INSERT INTO configs (task, id, url, token, scheme, credentials, is_old, after, added_ms)
         VALUES ('t', 'a', 'https://hook.example/', '', '', '', 0, '', 1);
         PRAGMA user_version = 1;",
    )
    .expect("written");
    drop(sql);
    for _ in 0..2 {
        let store = Store::open(Some(folder.path())).expect("it opens");
        let found = store.get("t", "a").await.expect("it reads");
        assert_eq!(found, Some(config("a").of(String::new())));
    }
}
