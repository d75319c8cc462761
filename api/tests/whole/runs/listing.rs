//! Reads of journals by lists of runs.

use agenthub_sdk::runs::{
    RunOutcome, Spent, StepId,
    journal::{Filter, State},
};

use super::{counting::CountingJournal, *};

/// A run that is over after so many events.
fn long(events: usize) -> Vec<RunEvent> {
    let started = started("long", Value::Null);
    let noted = (0..events).map(|number| RunEvent::Noted {
        step: StepId::new(format!("note-{number}")),
        value: json!({"type": "phase", "message": "on the way", "phase": format!("phase-{number}")}),
        at_ms: 2,
    });
    let ended = RunEvent::Ended {
        outcome: RunOutcome::completed("done"),
        spent: Spent::default(),
        at_ms: 3,
    };
    [started].into_iter().chain(noted).chain([ended]).collect()
}

async fn listed(client: &mut Client) -> Vec<Run> {
    let page = within(client.list_runs(ListRunsRequest::default())).await;
    page.expect("a page").into_inner().runs
}

#[tokio::test]
async fn a_list_reads_as_much_of_long_runs_as_of_short_ones() {
    let journal = Arc::new(CountingJournal::default());
    for (number, events) in [1, 10, 1_000].into_iter().cycle().take(30).enumerate() {
        let run = RunId::new(format!("run-{number}"));
        let added = journal.add(&run, CORTEX, &long(events)).await;
        added.expect("it is kept");
    }
    let kept = Arc::clone(&journal);
    let world = World::with(Offline, |settings| settings.journal = Some(kept)).await;
    let mut client = serve(&world.cortex).await;
    journal.take_counts();
    let runs = listed(&mut client).await;
    assert_eq!(runs.len(), 30);
    assert_eq!(runs[0].phase, "phase-999");
    assert_eq!(
        journal.take_counts().events,
        60,
        "the first event of each, and the last one"
    );
    world.end().await;
}

/// However it was found out, a run stands the same.
#[tokio::test]
async fn a_list_says_of_each_run_what_is_said_of_it_alone() {
    let journal = Arc::new(CountingJournal::default());
    let kept = Arc::clone(&journal);
    let world = World::with(Offline, |settings| settings.journal = Some(kept)).await;
    let _maker = world.agent(steering::maker()).await;
    let mut client = serve(&world.cortex).await;
    let over = start(&mut client, app("a thing")).await;
    frames(&mut client, &over.id, 0).await;
    let resume = ResumeRunRequest {
        id: over.id.clone(),
        constraints: None,
        budget: None,
    };
    let resumed = within(client.resume_run(resume)).await;
    let resumed = resumed.expect("it is over").into_inner();
    frames(&mut client, &resumed.id, 0).await;
    let said = start(&mut client, chat("hello")).await;
    frames(&mut client, &said.id, 0).await;
    let asks = StartRunRequest {
        constraints: Some(Constraints {
            approvals: vec!["*".to_owned()],
            ..Constraints::default()
        }),
        ..app("a thing")
    };
    let waits = start(&mut client, asks.clone()).await;
    steering::waiting(&mut client).await;
    let stopped = start(&mut client, asks).await;
    cancel(&mut client, &stopped.id)
        .await
        .expect("it is at work");
    within(async {
        let over = Filter {
            states: vec![State::Completed, State::Cancelled],
            ..Filter::default()
        };
        while Journal::list(&*journal, &over)
            .await
            .expect("it works")
            .len()
            < 4
        {
            tokio::task::yield_now().await;
        }
    })
    .await;

    let runs = listed(&mut client).await;
    let ids: Vec<&String> = runs.iter().map(|run| &run.id).collect();
    assert_eq!(
        ids,
        [&stopped.id, &waits.id, &said.id, &resumed.id, &over.id]
    );
    for run in &runs {
        assert_eq!(*run, get(&mut client, &run.id).await);
    }
    assert_eq!(runs[0].state, "cancelled");
    assert_eq!(
        (&*runs[1].state, runs[1].approvals.len()),
        ("awaiting-approval", 1)
    );
    assert_eq!((runs[3].depth, runs[4].depth), (1, 1));
    world.end().await;
}
