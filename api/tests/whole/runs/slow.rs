//! What is said while the journal takes its time.

use std::pin::pin;

use reqwest::{Method, header::LOCATION};
use tokio::{sync::Semaphore, time::timeout};

use super::*;
use crate::web::{Web, types};

/// A journal that writes some events down only when it may.
#[derive(Debug)]
struct Held {
    journal: MemoryJournal,
    gate: Semaphore,
    is_held: fn(&RunEvent) -> bool,
}

impl Held {
    fn new(is_held: fn(&RunEvent) -> bool) -> Arc<Self> {
        Arc::new(Self {
            journal: MemoryJournal::default(),
            gate: Semaphore::new(0),
            is_held,
        })
    }

    async fn pass(&self, mut events: impl Iterator<Item = &RunEvent> + Send) {
        if events.any(self.is_held) {
            let passed = self.gate.acquire().await;
            drop(passed.expect("it is never closed"));
        }
    }
}

#[tonic::async_trait]
impl JournalDecorator for Held {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        self.pass(first.iter()).await;
        self.journal.open(run, owner, claim, first).await
    }

    async fn append(
        &self,
        run: &RunId,
        epoch: u64,
        after: u64,
        events: &[RunEvent],
    ) -> Result<(), JournalError> {
        self.pass(events.iter()).await;
        self.journal.append(run, epoch, after, events).await
    }
}

/// spec: ORC-3.1, ORC-4
#[tokio::test]
async fn a_run_that_is_only_submitted_is_waited_for_by_those_who_watch_it() {
    let journal = Held::new(|event| matches!(event, RunEvent::Started(_)));
    let kept = Arc::clone(&journal);
    let world = World::with(Offline, |settings| settings.journal = Some(kept)).await;
    let web = Web::of(&world.cortex).await;
    let brief = json!({"objective": "hello", "mode": "chat"});
    let started = web.events(web.posted("/v1/runs", &brief)).await;
    let place = started.response.headers()[LOCATION].to_str();
    let place = place.expect("text").to_owned();
    assert_eq!(web.get(&place).await.json()["state"], "submitted");
    let watched = web.request(Method::GET, &format!("{place}/events"));
    let watched = web.events(watched).await;
    journal.gate.add_permits(1);
    let frames = started.all().await;
    assert_eq!(types(&frames).first(), Some(&"start"), "{frames:?}");
    assert_eq!(types(&frames).last(), Some(&"complete"), "{frames:?}");
    assert_eq!(watched.all().await, frames);
    world.end().await;
}

/// spec: ORC-12.3
#[tokio::test]
async fn nobody_is_told_that_a_decision_stands_before_it_is_written_down() {
    let decided = |event: &RunEvent| {
        let RunEvent::StepEnded { result, .. } = event else {
            return false;
        };
        matches!(result, StepResult::Decided(_))
    };
    let journal = Held::new(decided);
    let kept = Arc::clone(&journal);
    let world = World::with(Offline, |settings| settings.journal = Some(kept)).await;
    let _maker = world.agent(steering::maker()).await;
    let mut client = serve(&world.cortex).await;
    let request = StartRunRequest {
        constraints: Some(Constraints {
            approvals: vec!["*".to_owned()],
            ..Constraints::default()
        }),
        ..app("a thing")
    };
    let run = start(&mut client, request).await;
    let asked = steering::waiting(&mut client).await;
    let decision = DecideApprovalRequest {
        run_id: run.id.clone(),
        approval_id: asked.id.clone(),
        approved: true,
        by: "ann".to_owned(),
        comment: String::new(),
    };
    let answer = within(client.decide_approval(decision)).await;
    let status = answer.expect_err("it is not known whether it stands");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("still waits"), "{status}");
    assert_eq!(get(&mut client, &run.id).await.approvals, [asked]);
    journal.gate.add_permits(1);
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    world.end().await;
}

/// A journal whose runs are taken up only while the gate has a permit.
#[derive(Debug)]
struct TakenUpLate {
    journal: MemoryJournal,
    gate: Semaphore,
}

#[tonic::async_trait]
impl JournalDecorator for TakenUpLate {
    fn inner(&self) -> &dyn Journal {
        &self.journal
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn adoptable(
        &self,
        owner: &str,
        driver: &str,
        limit: usize,
    ) -> Result<Vec<RunId>, JournalError> {
        let passed = self.gate.acquire().await;
        drop(passed.expect("it is never closed"));
        self.journal.adoptable(owner, driver, limit).await
    }
}

/// spec: ORC-12.3
#[tokio::test]
async fn a_decision_right_after_a_restart_waits_for_its_run_to_be_taken_up() {
    let hub = hub().await;
    let late = Arc::new(TakenUpLate {
        journal: MemoryJournal::default(),
        gate: Semaphore::new(1),
    });
    let journal = Arc::clone(&late) as Arc<dyn Journal>;
    let before = steering::cortex_with(&hub, &journal).await;
    let maker = steering::maker().start(url(&hub)).await;
    let _maker = maker.expect("the hub runs");
    knows(&before, "maker").await;
    let mut client = serve(&before).await;
    let request = StartRunRequest {
        constraints: Some(Constraints {
            approvals: vec!["make".to_owned()],
            ..Constraints::default()
        }),
        ..app("a thing")
    };
    let run = start(&mut client, request).await;
    let asked = steering::waiting(&mut client).await;
    drop(client);
    within(before.stop()).await;

    assert_eq!(late.gate.forget_permits(1), 1);
    let after = steering::cortex_with(&hub, &journal).await;
    let mut client = serve(&after).await;
    let decision = DecideApprovalRequest {
        run_id: run.id.clone(),
        approval_id: asked.id.clone(),
        approved: true,
        by: "ann".to_owned(),
        comment: String::new(),
    };
    let mut deciding = client.clone();
    let mut deciding = pin!(deciding.decide_approval(decision));
    let early = timeout(Duration::from_millis(200), deciding.as_mut()).await;
    assert!(early.is_err(), "nobody drives the run yet: {early:?}");
    late.gate.add_permits(1);
    within(deciding).await.expect("the run asks again");
    let shown = frames(&mut client, &run.id, 0).await;
    assert_eq!(kinds(&shown).last(), Some(&"complete"), "{shown:?}");
    within(after.stop()).await;
    within(hub.shutdown()).await;
}
