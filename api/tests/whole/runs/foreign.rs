//! Runs of others: asking for one reads as much as asking for one that is nowhere, so that the time tells nothing.

use agenthub_access::{Caller, Namespace, Policy};
use agenthub_api::{Runs, Service};
use agenthub_sdk::proto::cortex::{
    GetRunMomentRequest, GetRunStepsRequest, ListRunEventsRequest, cortex_server::Cortex,
};
use agenthub_sdk::runs::{Budget, RunEvent, StepId, StepRequest};
use tonic::{Request, Status};

use super::{counting::CountingJournal, *};

/// Has a journal keep a run of somebody.
async fn keep(journal: &CountingJournal, id: &str, principal: &str) {
    let started = started("long", json!({"on_behalf_of": principal}));
    let added = journal.add(&RunId::new(id), CORTEX, &[started]).await;
    added.expect("it is kept");
}

/// Calls since they were counted last.
fn counted(journal: &CountingJournal) -> (usize, usize) {
    let counts = journal.take_counts();
    (counts.reads, counts.lists)
}

/// Every call that takes the id of a run.
async fn call(service: &Service, caller: &Arc<Caller>, which: usize, id: &str) -> Option<Status> {
    fn asked<T>(caller: &Arc<Caller>, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.extensions_mut().insert(Arc::clone(caller));
        request
    }
    let id = id.to_owned();
    let answer = match which {
        0 => service
            .get_run(asked(caller, GetRunRequest { id }))
            .await
            .map(drop),
        1 => {
            let request = GetRunPlanRequest { id };
            service.get_run_plan(asked(caller, request)).await.map(drop)
        }
        2 => {
            let request = GetRunGraphRequest { id };
            service
                .get_run_graph(asked(caller, request))
                .await
                .map(drop)
        }
        3 => {
            let request = GetRunStepsRequest {
                id,
                ..GetRunStepsRequest::default()
            };
            service
                .get_run_steps(asked(caller, request))
                .await
                .map(drop)
        }
        4 => {
            let request = ListRunEventsRequest {
                id,
                ..ListRunEventsRequest::default()
            };
            service
                .list_run_events(asked(caller, request))
                .await
                .map(drop)
        }
        5 => {
            let request = GetRunMomentRequest {
                id,
                event: 1,
                ..GetRunMomentRequest::default()
            };
            service
                .get_run_moment(asked(caller, request))
                .await
                .map(drop)
        }
        6 => {
            let reason = String::new();
            let request = CancelRunRequest { id, reason };
            service.cancel_run(asked(caller, request)).await.map(drop)
        }
        7 => {
            let request = WatchRunRequest {
                id,
                after_sequence: 0,
            };
            service.watch_run(asked(caller, request)).await.map(drop)
        }
        _ => {
            let request = DecideApprovalRequest {
                run_id: id,
                approval_id: "a".to_owned(),
                ..DecideApprovalRequest::default()
            };
            service
                .decide_approval(asked(caller, request))
                .await
                .map(drop)
        }
    };
    answer.err()
}

/// Runs of the hub's own journal, and of that of an agent.
async fn served(home: &Arc<CountingJournal>, other: &Arc<CountingJournal>) -> (World, Service) {
    let shared: Arc<dyn Journal> = other.clone();
    let others = BTreeMap::from([("mailer".to_owned(), shared)]);
    let kept = Arc::clone(home);
    let world = World::with(Offline, |settings| {
        settings.journal = Some(kept);
        settings.others = Some(Arc::new(others));
    })
    .await;
    let service = Service::default();
    service.open(&Runs::of(world.cortex.handle()));
    (world, service)
}

fn user(name: &str) -> Arc<Caller> {
    let caller = Policy::default().caller(
        &name.parse().expect("a name"),
        &Namespace::default(),
        &["user".to_owned()],
        &[],
    );
    Arc::new(caller)
}

/// Issue 25, timing of unknown ids: shown by what is read, not by time.
#[tokio::test]
async fn a_run_of_another_is_looked_for_as_one_of_nobody() {
    const IDS: [&str; 3] = [
        "01930000-aaaa-7000-8000-000000000001",
        "01930000-bbbb-7000-8000-000000000002",
        "01930000-cccc-7000-8000-000000000003",
    ];
    let home = Arc::new(CountingJournal::default());
    let other = Arc::new(CountingJournal::default());
    keep(&home, IDS[0], "alice").await;
    keep(&other, IDS[1], "alice").await;
    keep(&home, "01940000-dddd-7000-8000-000000000004", "bob").await;
    let (world, service) = served(&home, &other).await;
    let bob = user("bob");
    for which in 0..9 {
        let mut seen = Vec::new();
        for id in IDS {
            for id in [id, &id[..13]] {
                counted(&home);
                counted(&other);
                let status = call(&service, &bob, which, id).await;
                let status = status.expect("it is none of bob's");
                let said = (status.code(), status.message().replace(id, "ID"));
                seen.push((id.len(), said, counted(&home), counted(&other)));
            }
        }
        assert_eq!(seen[0].1.0, Code::NotFound, "{seen:?}");
        for (at, found) in seen.iter().enumerate() {
            assert_eq!(found, &seen[4 + at % 2], "call {which}: {seen:#?}");
        }
    }
    // One's own is found, also by its beginning.
    let own = "01940000-dddd-7000-8000-000000000004";
    for id in [own, &own[..8]] {
        assert!(call(&service, &bob, 0, id).await.is_none(), "{id}");
    }
    world.end().await;
}

/// Issue 25: the beginning of an id is one of the caller's runs, whatever begins so of others.
#[tokio::test]
async fn a_run_of_ones_own_is_found_by_what_a_run_of_another_begins_with_too() {
    const OWN: &str = "01940000-dddd-7000-8000-000000000004";
    const OTHERS: [&str; 2] = [
        "01940000-aaaa-7000-8000-000000000005",
        "01940000-eeee-7000-8000-000000000006",
    ];
    let home = Arc::new(CountingJournal::default());
    let other = Arc::new(CountingJournal::default());
    keep(&home, OTHERS[0], "alice").await;
    keep(&other, OTHERS[1], "alice").await;
    let (world, service) = served(&home, &other).await;
    let bob = user("bob");
    let said = async |which, id| {
        let status = call(&service, &bob, which, id).await;
        status.map(|status| {
            let said = status.message().replace(OWN, "ID").replace(id, "ID");
            (status.code(), said)
        })
    };
    let mut before = Vec::new();
    for which in 0..9 {
        before.push(said(which, &OWN[..8]).await);
    }
    assert!(
        before
            .iter()
            .flatten()
            .all(|(code, _)| *code == Code::NotFound),
        "{before:?}"
    );
    keep(&home, OWN, "bob").await;
    for which in 0..9 {
        let [whole, beginning] = [OWN, &OWN[..8]].map(|id| said(which, id));
        let (whole, beginning) = (whole.await, beginning.await);
        assert_eq!(beginning, whole, "call {which}");
        // It has no plan, no task and no approval.
        let is_refused = [1, 6, 8].contains(&which);
        assert_eq!(whole.is_some(), is_refused, "call {which}: {whole:?}");
    }
    world.end().await;
}

/// Issue 25: journals of several agents may have runs of one id.
#[tokio::test]
async fn a_run_of_another_under_the_id_of_ones_own_is_not_shown() {
    const ID: &str = "01940000-dddd-7000-8000-000000000004";
    let home = Arc::new(CountingJournal::default());
    let other = Arc::new(CountingJournal::default());
    let waits = RunEvent::StepBegun {
        step: StepId::new("wait"),
        attempt: 1,
        what: StepRequest::Waiting { until_ms: 9 },
        grant: Budget::default(),
        deadline_ms: None,
        at_ms: 2,
    };
    let alices = [started("long", json!({"on_behalf_of": "alice"})), waits];
    let added = home.add(&RunId::new(ID), CORTEX, &alices).await;
    added.expect("it is kept");
    keep(&other, ID, "bob").await;
    let (world, service) = served(&home, &other).await;
    for name in ["bob", "alice", "bob"] {
        let mut request = Request::new(GetRunRequest { id: ID.to_owned() });
        request.extensions_mut().insert(user(name));
        let run = service.get_run(request).await.expect("it is there");
        assert_eq!(run.into_inner().on_behalf_of, name);
        for event in [0, 1] {
            let mut request = Request::new(GetRunMomentRequest {
                id: ID.to_owned(),
                event,
                ..GetRunMomentRequest::default()
            });
            request.extensions_mut().insert(user(name));
            let moment = service.get_run_moment(request).await.expect("it is there");
            let run = moment.into_inner().run.expect("it has one");
            assert_eq!(run.on_behalf_of, name, "at event {event}");
        }
        let last = {
            let mut request = Request::new(ListRunEventsRequest {
                id: ID.to_owned(),
                ..ListRunEventsRequest::default()
            });
            request.extensions_mut().insert(user(name));
            let events = service.list_run_events(request).await;
            events.expect("it is there").into_inner().last
        };
        assert_eq!(last, if name == "alice" { 2 } else { 1 }, "{name}");
        let mut request = Request::new(GetRunStepsRequest {
            id: ID.to_owned(),
            ..GetRunStepsRequest::default()
        });
        request.extensions_mut().insert(user(name));
        let steps = service.get_run_steps(request).await.expect("it is there");
        let number = steps.into_inner().steps.len();
        assert_eq!(number, usize::from(name == "alice"), "{name}");
    }
    world.end().await;
}
