//! What outlives a run.

use std::time::Duration;

use super::*;

/// Of an old run what was asked for and what came of it is known, and with it its key, its thread and what was learned.
#[tokio::test]
async fn what_came_of_a_run_outlives_it() {
    let hub = hub().await;
    let journal = Arc::new(Kept::default());
    let kept = || Some(Arc::clone(&journal) as Arc<dyn Journal>);
    let before = cortex(&hub, Offline, |settings| settings.journal = kept()).await;
    let maker = steering::maker().start(url(&hub)).await;
    let _maker = maker.expect("the hub runs");
    knows(&before, "maker").await;
    let mut client = serve(&before).await;
    let request = StartRunRequest {
        thread_id: "thread".to_owned(),
        idempotency_key: "key".to_owned(),
        ..app("a thing")
    };
    let started = within(client.start_run(request.clone())).await;
    let run = started.expect("it is taken").into_inner();
    frames(&mut client, &run.id, 0).await;
    let whole = get(&mut client, &run.id).await;
    within(before.stop()).await;

    let condensed = journal.0.condense(CORTEX, Duration::ZERO).await;
    assert_eq!(condensed, Ok(1));
    let after = cortex(&hub, Offline, |settings| settings.journal = kept()).await;
    knows(&after, "maker").await;
    let mut client = serve(&after).await;
    let again = within(client.start_run(request.clone())).await;
    let again = again.expect("it is known").into_inner();
    assert_eq!(again.id, run.id);
    assert_eq!(again.result, whole.result);
    assert_eq!((again.tokens, again.depth), (whole.tokens, whole.depth));
    let other = StartRunRequest {
        objective: "another thing".to_owned(),
        ..request
    };
    let other = within(client.start_run(other)).await;
    let other = other.expect_err("the key is another run's");
    assert_eq!(other.code(), Code::AlreadyExists, "{other}");
    let (listed, _) = list(&mut client, ListRunsRequest::default()).await;
    assert_eq!(listed, std::slice::from_ref(&run.id));
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown), ["start", "metrics", "complete"]);

    let resume = ResumeRunRequest {
        id: run.id.clone(),
        constraints: None,
        budget: None,
    };
    let resumed = within(client.resume_run(resume)).await.expect("it begins");
    let shown = frames(&mut client, &resumed.into_inner().id, 0).await;
    let last = shown.last().expect("it ends");
    assert!(
        last.message.contains("only what came of it is kept"),
        "{last:?}"
    );
    within(after.stop()).await;
    within(hub.shutdown()).await;
}
