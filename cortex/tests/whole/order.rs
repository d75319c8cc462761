//! Order of turns: those that wait for others, and those that do not.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use agenthub_sdk::model::Scripted;
use tokio::sync::{Barrier, Notify, mpsc};

use crate::harness::*;

/// spec: HUB-4
#[tokio::test]
async fn forty_contexts_are_answered_at_the_same_time() {
    const CONTEXTS: usize = 40;
    // Nobody is answered before all have been asked about.
    let all = Arc::new(Barrier::new(CONTEXTS));
    let model = Thinking(move |_| {
        let all = all.clone();
        async move {
            all.wait().await;
            respond("ok")
        }
    });
    let world = World::new(model).await;
    let ann = world.user("ann").await;
    let mut pending = Vec::new();
    for n in 0..CONTEXTS {
        pending.push(ann.send(&format!("c{n}"), "hi").await);
    }
    for pending in pending {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), "ok");
    }
    world.end().await;
}

#[tokio::test]
async fn turns_of_one_context_come_one_after_the_other_and_in_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let busy = Arc::new(AtomicBool::new(false));
    let (asked, alone) = (order.clone(), busy.clone());
    let model = Thinking(move |request| {
        let (asked, busy) = (asked.clone(), busy.clone());
        async move {
            assert!(
                !busy.swap(true, Ordering::SeqCst),
                "another turn is at work"
            );
            let words = words(&request);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            asked.lock().expect("no panic").push(words.clone());
            busy.store(false, Ordering::SeqCst);
            respond(&words)
        }
    });
    let world = World::new(model).await;
    let ann = world.user("ann").await;
    let mut pending = Vec::new();
    for n in 0..10 {
        pending.push(ann.send("c", &n.to_string()).await);
    }
    for (n, pending) in pending.into_iter().enumerate() {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), n.to_string());
    }
    let expected: Vec<String> = (0..10).map(|n: i32| n.to_string()).collect();
    assert_eq!(*order.lock().expect("no panic"), expected);
    assert!(!alone.load(Ordering::SeqCst));
    world.end().await;
}

/// spec: HUB-4
#[tokio::test]
async fn a_long_task_does_not_block_the_chat() {
    let model = Scripted::from_fn(delegating);
    let world = World::new(model.clone()).await;
    let release = Arc::new(Notify::new());
    let (at_work, mut started) = mpsc::channel(1);
    let wait = release.clone();
    let agent = worker("agent_long", move |_| {
        let (wait, at_work) = (wait.clone(), at_work.clone());
        async move {
            at_work.send(()).await?;
            wait.notified().await;
            Ok("at last".to_owned())
        }
    });
    let _agent = world.agent(agent).await;
    let ann = world.user("ann").await;
    let long = ann.send("c", "agent_long dig").await;
    within(started.recv()).await.expect("it is at work");

    assert_eq!(
        ann.answer("c", "are you there?").await,
        "you said: are you there?"
    );
    let running = model.requests()[1].data("running").cloned();
    assert_eq!(
        running,
        Some(serde_json::json!([{"agent": "agent_long", "task_type": "work"}]))
    );

    release.notify_one();
    let outcome = within(long.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "at last");
    world.end().await;
}

#[tokio::test]
async fn the_model_sees_what_was_said_before() {
    let model = Scripted::from_fn(delegating);
    let world = World::new(model.clone()).await;
    let ann = world.user("ann").await;
    ann.ask("c", "my name is Ann").await;
    ann.ask("c", "what is my name?").await;
    let last = model.requests().pop().expect("two requests");
    let said: Vec<String> = last.messages[2..].iter().filter_map(|m| m.text()).collect();
    assert_eq!(
        said,
        [
            "my name is Ann",
            "you said: my name is Ann",
            "what is my name?"
        ]
    );
    world.end().await;
}

#[tokio::test]
async fn too_many_messages_in_one_context_are_refused_and_told_so() {
    let begun = Arc::new(AtomicUsize::new(0));
    let release = Arc::new(Notify::new());
    let (count, wait) = (begun.clone(), release.clone());
    let model = Thinking(move |_| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let wait = wait.clone();
        async move {
            if first {
                wait.notified().await;
            }
            respond("ok")
        }
    });
    let world = World::new(model).await;
    let ann = world.user("ann").await;
    let mut pending = Vec::new();
    for n in 0..33 {
        pending.push(ann.send("c", &n.to_string()).await);
    }
    let last = pending.pop().expect("33 are pending");
    let refused = within(last.outcome()).await.expect("an outcome");
    assert!(
        refused.error.contains("32 of your messages"),
        "{}",
        refused.error
    );
    release.notify_one();
    for pending in pending {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), "ok");
    }
    world.end().await;
}
