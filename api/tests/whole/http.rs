//! Runs over HTTP, started, watched, called back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agenthub_api::Runs;
use agenthub_sdk::model::{Offline, Request};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    harness::*,
    web::{Web, types},
};

fn chat(objective: &str) -> Value {
    json!({"objective": objective, "mode": "chat", "threadId": "t"})
}

/// A model that answers when it may, and counts how often it was asked.
fn held() -> (
    Arc<Semaphore>,
    Arc<AtomicUsize>,
    impl agenthub_sdk::model::LanguageModel + 'static,
) {
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at, count) = (Arc::clone(&gate), Arc::clone(&asked));
    let model = Thinking(move |request: Request| {
        let (at, count) = (Arc::clone(&at), Arc::clone(&count));
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            at.acquire().await.expect("it is never closed").forget();
            respond(&format!("you said: {}", words(&request)))
        }
    });
    (gate, asked, model)
}

/// Waits until a run is in this state.
async fn reaches(web: &Web, id: &str, state: &str) -> Value {
    within(async {
        loop {
            let run = web.get(&format!("/v1/runs/{id}")).await.json();
            if run["state"] == state {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// Whoever comes back with the number of the last frame misses nothing and sees nothing twice.
///
/// spec: ORC-3.1, ORC-4, ORC-8
#[tokio::test]
async fn a_run_is_started_watched_and_read_again_from_any_frame() {
    let world = World::new(Offline).await;
    let web = Web::of(&world.cortex).await;
    let id = web.start(&chat("hello there")).await;
    let frames = web.watch(&id, None).await.all().await;
    assert_eq!(types(&frames).first(), Some(&"start"), "{frames:?}");
    assert_eq!(types(&frames).last(), Some(&"complete"), "{frames:?}");
    for once in ["start", "complete"] {
        assert_eq!(types(&frames).iter().filter(|t| **t == once).count(), 1);
    }
    assert!(types(&frames).contains(&"metrics"), "{frames:?}");
    for (frame, sequence) in frames.iter().zip(1..) {
        assert_eq!(frame["sequence"], sequence);
        assert_eq!(frame["correlationId"], *id);
        assert_eq!(frame["threadId"], "t");
    }
    let run = reaches(&web, &id, "completed").await;
    assert_eq!(run["mode"], "chat");
    assert_eq!(run["objective"], "hello there");
    assert_eq!(run["result"], frames[frames.len() - 1]["data"]);

    for after in 0..frames.len() {
        let rest = web.watch(&id, Some(after as u64)).await.all().await;
        assert_eq!(rest, frames[after..], "after {after}");
        let asked = web.request(Method::GET, &format!("/v1/runs/{id}/events?after={after}"));
        assert_eq!(web.events(asked).await.all().await, frames[after..]);
    }
    // A browser comes back by itself until it is told that there is nothing more.
    let all = format!("/v1/runs/{id}/events?after={}", frames.len());
    assert_eq!(web.get(&all).await.status, 204);
    world.end().await;
}

/// spec: ORC-3.1, ORC-4
#[tokio::test]
async fn a_run_is_started_and_watched_in_one_request() {
    let world = World::new(Offline).await;
    let web = Web::of(&world.cortex).await;
    let request = web.posted("/v1/runs", &chat("hello"));
    let events = web.events(request).await;
    let place = events.response.headers()["location"]
        .to_str()
        .expect("text")
        .to_owned();
    let frames = events.all().await;
    assert_eq!(types(&frames).first(), Some(&"start"));
    assert_eq!(types(&frames).last(), Some(&"complete"));
    assert_eq!(
        place,
        format!(
            "/v1/runs/{}",
            frames[0]["correlationId"].as_str().expect("an id")
        )
    );
    assert_eq!(web.get(&place).await.json()["state"], "completed");
    world.end().await;
}

#[tokio::test]
async fn a_run_goes_on_when_the_client_leaves() {
    let (gate, _, model) = held();
    let world = World::new(model).await;
    let web = Web::of(&world.cortex).await;
    let mut events = web.events(web.posted("/v1/runs", &chat("hello"))).await;
    let first = events.next().await.expect("a frame");
    drop(events);
    gate.add_permits(10);
    let id = first["correlationId"].as_str().expect("an id");
    let run = reaches(&web, id, "completed").await;
    assert_eq!(run["result"]["message"], "you said: hello");
    world.end().await;
}

#[tokio::test]
async fn the_same_key_and_brief_are_one_run() {
    let (gate, asked, model) = held();
    gate.add_permits(100);
    let world = World::new(model).await;
    let web = Web::of(&world.cortex).await;
    let send = async |key: &str, brief: &Value| {
        let request = web.posted("/v1/runs", brief).header("idempotency-key", key);
        web.send(request).await
    };
    let first = send("\"k\"", &chat("hello")).await;
    assert_eq!(first.status, 201, "{first:?}");
    let id = first.json()["id"].clone();
    reaches(&web, id.as_str().expect("an id"), "completed").await;
    for key in ["\"k\"", "k"] {
        let again = send(key, &chat("hello")).await;
        assert_eq!(
            (again.status, again.json()["id"].clone()),
            (201, id.clone())
        );
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let other = send("k", &chat("something else")).await;
    assert_eq!((other.status, &*other.problem()), (422, "key-reused"));
    assert_eq!(other.json()["run"], id);
    let other = send("another", &chat("hello")).await;
    assert_ne!(other.json()["id"], id);
    world.end().await;
}

#[tokio::test]
async fn a_thread_has_one_run_at_a_time_and_its_run_can_be_called_back() {
    let (gate, _, model) = held();
    let world = World::new(model).await;
    let web = Web::of(&world.cortex).await;
    let id = web.start(&chat("hello")).await;
    let mut watching = web.watch(&id, None).await;
    assert_eq!(watching.next().await.expect("a frame")["type"], "start");

    let busy = web.post("/v1/runs", &chat("me too")).await;
    assert_eq!(
        (busy.status, &*busy.problem()),
        (409, "thread-busy"),
        "{busy:?}"
    );
    assert_eq!(busy.json()["run"], *id);
    assert_eq!(busy.json()["threadId"], "t");
    let early = web.post(&format!("/v1/runs/{id}/resume"), &json!({})).await;
    assert_eq!(
        (early.status, &*early.problem()),
        (409, "wrong-state"),
        "{early:?}"
    );
    let none = web
        .post(
            &format!("/v1/runs/{id}/approvals/none"),
            &json!({"approved": true}),
        )
        .await;
    assert_eq!(
        (none.status, &*none.problem()),
        (409, "wrong-state"),
        "{none:?}"
    );

    let path = format!("/v1/runs/{id}/cancel");
    let cancelled = web
        .post(&path, &json!({"reason": "no longer wanted"}))
        .await;
    assert_eq!(cancelled.status, 202, "{cancelled:?}");
    let rest = watching.all().await;
    assert_eq!(types(&rest).last(), Some(&"error"), "{rest:?}");
    reaches(&web, &id, "cancelled").await;
    let again = web.send(web.request(Method::POST, &path)).await;
    assert_eq!(again.status, 202, "it is as it was wanted: {again:?}");

    let next = web.start(&chat("my turn")).await;
    gate.add_permits(10);
    reaches(&web, &next, "completed").await;
    let late = web
        .post(&format!("/v1/runs/{next}/cancel"), &json!({}))
        .await;
    assert_eq!(
        (late.status, &*late.problem()),
        (409, "wrong-state"),
        "{late:?}"
    );
    assert_eq!(late.json()["run"], *next);
    world.end().await;
}

#[tokio::test]
async fn runs_are_listed_latest_first_by_what_they_are_and_in_pages() {
    let world = World::new(Offline).await;
    let web = Web::of(&world.cortex).await;
    let mut ids = Vec::new();
    for thread in ["a", "b", "a"] {
        let brief = json!({"objective": "hello", "mode": "chat", "threadId": thread});
        let id = web.start(&brief).await;
        reaches(&web, &id, "completed").await;
        ids.insert(0, id);
    }
    let listed = async |query: &str| {
        let page = web.get(&format!("/v1/runs?{query}")).await.json();
        let runs = page["runs"].as_array().expect("runs").clone();
        let ids: Vec<String> = runs
            .iter()
            .filter_map(|run| Some(run["id"].as_str()?.to_owned()))
            .collect();
        (
            ids,
            page["nextPageToken"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    assert_eq!(listed("").await.0, ids);
    assert_eq!(listed("threadId=b").await.0, ids[1..2]);
    assert_eq!(listed("state=completed&mode=chat").await.0, ids);
    assert_eq!(listed("state=failed").await.0, [""; 0]);
    assert_eq!(listed("mode=app").await.0, [""; 0]);
    let (first, next) = listed("limit=2").await;
    assert_eq!(first, ids[..2]);
    let (second, end) = listed(&format!("limit=2&pageToken={next}")).await;
    assert_eq!(second, ids[2..]);
    assert_eq!(end, "");
    for wrong in ["limit=0", "limit=201"] {
        assert_eq!(
            web.get(&format!("/v1/runs?{wrong}")).await.status,
            400,
            "{wrong}"
        );
    }
    world.end().await;
}

/// Streams end when the server is about to, and nothing else is answered; the run is not over.
#[tokio::test]
async fn before_the_server_goes_streams_end_so_that_clients_come_back() {
    let (gate, _, model) = held();
    let world = World::new(model).await;
    let web = Web::of(&world.cortex).await;
    let id = web.start(&chat("hello")).await;
    let mut watching = web.watch(&id, None).await;
    let first = watching.next().await.expect("a frame");
    web.http.close();
    let mut seen = vec![first];
    seen.extend(watching.all().await);
    assert!(!types(&seen).contains(&"complete"), "{seen:?}");
    assert_eq!(web.get(&format!("/v1/runs/{id}")).await.status, 503);

    // Another server of the same Cortex, as after a restart.
    let web = Web::of(&world.cortex).await;
    gate.add_permits(10);
    let last = seen.last().expect("a frame")["sequence"].as_u64();
    seen.extend(web.watch(&id, last).await.all().await);
    for (frame, sequence) in seen.iter().zip(1..) {
        assert_eq!(frame["sequence"], sequence);
    }
    assert_eq!(types(&seen).last(), Some(&"complete"));
    world.end().await;
}

/// A browser takes an error in place of events for good.
#[tokio::test]
async fn who_comes_back_before_cortex_is_there_is_kept_waiting_for_it() {
    let world = World::new(Offline).await;
    let web = Web::of(&world.cortex).await;
    let id = web.start(&chat("hello")).await;
    let early = Web::closed().await;
    let watching = async { early.watch(&id, None).await.all().await };
    let arriving = async {
        assert_eq!(early.get("/v1/runs").await.status, 503);
        early.http.open(&Runs::of(world.cortex.handle()));
    };
    let (frames, ()) = tokio::join!(watching, arriving);
    assert_eq!(types(&frames).last(), Some(&"complete"));
    world.end().await;
}

/// spec: ORC-9
#[tokio::test]
async fn who_handed_what_to_whom_is_drawn_in_three_forms() {
    let world = World::new(Thinking(|request: Request| async move {
        delegating(&request).expect("a decision")
    }))
    .await;
    let _worker = world
        .agent(worker("agent_a", |_| async {
            Ok::<_, agenthub_sdk::Failure>("done".to_owned())
        }))
        .await;
    let web = Web::of(&world.cortex).await;
    let id = web.start(&chat("ask agent_a")).await;
    reaches(&web, &id, "completed").await;
    let path = format!("/v1/runs/{id}/graph");
    let graph = web.get(&path).await.json();
    assert_eq!(graph["edges"][0]["from"], "cortex");
    assert_eq!(graph["edges"][0]["to"], "agent_a");
    for (form, media, part) in [
        ("dot", "text/vnd.graphviz", "digraph"),
        ("mermaid", "text/vnd.mermaid", "flowchart"),
        ("json", "application/json", "edges"),
    ] {
        let asked = web.get(&format!("{path}?format={form}")).await;
        let accepted = web.request(Method::GET, &path).header("accept", media);
        let accepted = web.send(accepted).await;
        assert!(asked.header("content-type").starts_with(media), "{asked:?}");
        assert!(asked.text.contains(part), "{asked:?}");
        assert_eq!(accepted.text, asked.text);
    }
    let none = web.get(&format!("/v1/runs/{id}/plan")).await;
    assert_eq!(none.status, 404, "a chat has no plan: {none:?}");
    world.end().await;
}
