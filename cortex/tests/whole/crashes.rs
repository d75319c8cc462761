//! A Cortex that dies in the middle of a turn, and comes back.

pub(crate) mod stage;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_cortex::{
    Asked,
    brief::{Brief, Mode},
};
use agenthub_sdk::{
    Outcome,
    proto::a2a::{Message, Role},
};
use tokio::sync::mpsc;

use self::stage::{Digger, Lasting, Mind, System, has_nothing_left, hears, talkative};
use crate::harness::*;

/// spec: HUB-7
#[tokio::test]
async fn before_the_model_has_answered() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "hello").await;
    within(told.recv()).await.expect("it is asked");
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "you said: hello");
    let hello = ("hello".to_owned(), false);
    assert_eq!(mind.questions(), [hello.clone(), hello]);
    hears(&ann, &mut messages, &["you said: hello"]).await;
    second.stop().await;
}

/// The hub knows the task of a run that Cortex began by itself, and the journal has nothing but its beginning.
///
/// spec: ORC-8
#[tokio::test]
async fn before_anything_was_done_for_a_run_of_its_own() {
    let system = System::new().await;
    let (mind, _) = Mind::new(|_| false);
    let (tell, mut told) = mpsc::channel(1);
    let silent = Lasting {
        inner: system.journal.clone(),
        left: AtomicUsize::new(1),
        writes_last: false,
        tell,
    };
    let first = system.cortex_on(Arc::new(silent), mind.model()).await;
    let asked = Asked {
        brief: Brief {
            objective: "hello".to_owned(),
            mode: Mode::Chat,
            ..Brief::default()
        },
        key: None,
        resumes: None,
        on_behalf_of: String::new(),
        trace: None,
    };
    let (message, routing) = asked.message(asked.task_id());
    let task_id = message.task_id.clone();
    let starter = first.handle().starter().clone();
    let began = within(starter.begin(message.clone(), routing.clone())).await;
    assert_eq!(began, Ok(true));
    within(told.recv()).await.expect("it goes on");
    let again = within(starter.begin(message.clone(), routing.clone())).await;
    assert_eq!(again, Ok(false), "it is in hand");
    drop(first);

    let second = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let task = within(async {
        loop {
            let task = ann
                .client
                .task(&task_id, 10)
                .await
                .expect("the hub knows it");
            if task.state().is_terminal() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(said(&Outcome::of(&task)), "you said: hello");
    assert_eq!((task.requester(), task.assignee()), ("cortex", "cortex"));
    assert_eq!(mind.questions(), [("hello".to_owned(), false)]);
    let starter = second.handle().starter().clone();
    let again = within(starter.begin(message, routing)).await;
    assert_eq!(again, Ok(false), "it is over");
    second.stop().await;
}

/// spec: HUB-7
#[tokio::test]
async fn while_an_agent_works() {
    let system = System::new().await;
    let mind = talkative();
    let first = system.cortex(mind.model()).await;
    let mut digger = Digger::start(&system.hub, &first).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(digger.started.recv()).await.expect("it is at work");
    drop(first);

    let second = system.cortex(mind.model()).await;
    digger.release.notify_one();
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    let question = |has_results| ("agent_dig deep".to_owned(), has_results);
    assert_eq!(mind.questions(), [question(false), question(true)]);
    hears(&ann, &mut messages, &["One moment.", "a hole"]).await;
    second.stop().await;
}

/// The agent ends while there is no Cortex.
///
/// spec: HUB-7
#[tokio::test]
async fn while_an_agent_ends() {
    let system = System::new().await;
    let (mind, _told) = Mind::new(|_| false);
    let first = system.cortex(mind.model()).await;
    let mut digger = Digger::start(&system.hub, &first).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(digger.started.recv()).await.expect("it is at work");
    drop(first);
    digger.release.notify_one();
    has_nothing_left(&ann, "agent_dig").await;

    let second = system.cortex(mind.model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    assert_eq!(mind.questions().len(), 2);
    hears(&ann, &mut messages, &["a hole"]).await;
    second.stop().await;
}

/// spec: HUB-7
#[tokio::test]
async fn after_the_result_has_come() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|request| results(request).is_some());
    let first = system.cortex(mind.model()).await;
    let digger = Digger::start(&system.hub, &first).await;
    digger.release.notify_one();
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    within(told.recv())
        .await
        .expect("it is asked about the result");
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(said(&outcome), "a hole");
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1);
    let question = |has_results| ("agent_dig deep".to_owned(), has_results);
    assert_eq!(
        mind.questions(),
        [question(false), question(true), question(true)]
    );
    hears(&ann, &mut messages, &["a hole"]).await;
    second.stop().await;
}

/// What waits for its turn is not lost either.
#[tokio::test]
async fn with_a_conversation_that_waits() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let mut pending = vec![ann.send("c", "0").await];
    within(told.recv()).await.expect("it is asked");
    for n in 1..4 {
        pending.push(ann.send("c", &n.to_string()).await);
    }
    drop(first);

    let second = system.cortex(mind.awake().model()).await;
    for (n, pending) in pending.into_iter().enumerate() {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), format!("you said: {n}"));
    }
    assert_eq!(mind.questions().len(), 5, "one of them was asked twice");
    second.stop().await;
}

/// A Cortex that is told to stop leaves its turns to the next one.
#[tokio::test]
async fn a_turn_goes_on_after_an_orderly_restart() {
    let system = System::new().await;
    let (mind, mut told) = Mind::new(|_| true);
    let first = system.cortex(mind.model()).await;
    let ann = User::new(&system.hub, "ann").await;
    let pending = ann.send("c", "hello").await;
    let waits = ann.send("c", "again").await;
    within(told.recv()).await.expect("it is asked");
    within(first.stop()).await;

    let second = system.cortex(mind.awake().model()).await;
    for (pending, words) in [(pending, "hello"), (waits, "again")] {
        let outcome = within(pending.outcome()).await.expect("an outcome");
        assert_eq!(said(&outcome), format!("you said: {words}"));
    }
    second.stop().await;
}

/// Older clients make the ids of their messages from the time, so that several may have the same.
///
/// spec: HUB-5.3
#[tokio::test]
async fn messages_whose_ids_repeat_are_all_answered() {
    let system = System::new().await;
    let cortex = system.cortex(talkative().model()).await;
    for name in ["ann", "bob"] {
        let user = User::new(&system.hub, name).await;
        let mut messages = user.messages().await;
        for context in ["one", "two"] {
            let question = Message {
                message_id: "msg_1700000000".to_owned(),
                ..message(context, Role::User, name)
            };
            user.publish("cortex", question).await;
            let answer = messages.from("cortex").await;
            assert_eq!(answer.text(), format!("you said: {name}"));
            assert_eq!(answer.context_id, context);
        }
    }
    cortex.stop().await;
}

/// The turn's journal ends anywhere, with what was to be written or without it.
///
/// spec: HUB-7
#[tokio::test]
async fn wherever_the_journal_ends() {
    for boundary in 1.. {
        let mut has_died = false;
        for writes_last in [false, true] {
            has_died = end_at(boundary, writes_last).await;
        }
        if !has_died {
            assert!(
                boundary > 6,
                "a turn is written more often than {boundary} times"
            );
            return;
        }
    }
}

/// Returns whether the turn came that far.
async fn end_at(boundary: usize, writes_last: bool) -> bool {
    let system = System::new().await;
    let (tell, mut died) = mpsc::channel(1);
    let dying = Lasting {
        inner: system.journal.clone(),
        left: AtomicUsize::new(boundary),
        writes_last,
        tell,
    };
    let mind = talkative();
    let first = system.cortex_on(Arc::new(dying), mind.model()).await;
    let digger = Digger::start(&system.hub, &first).await;
    digger.release.notify_one();
    let ann = User::new(&system.hub, "ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_dig deep").await;
    let task_id = pending.task_id().to_owned();
    let outcome = pending.outcome();
    let ended = async {
        let _ = outcome.await;
        // The last event comes after the user was told.
        while !system.is_over().await {
            tokio::task::yield_now().await;
        }
    };
    let has_died = tokio::select! {
        Some(()) = died.recv() => true,
        () = within(ended) => false,
    };
    drop(first);

    let second = system.cortex(mind.model()).await;
    within(async {
        while !ann
            .client
            .task(&task_id, 0)
            .await
            .expect("it is known")
            .state()
            .is_terminal()
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let place = format!("boundary {boundary}, written: {writes_last}");
    hears(&ann, &mut messages, &["One moment.", "a hole"]).await;
    assert_eq!(digger.asked.load(Ordering::SeqCst), 1, "{place}");
    let asked = mind.questions().len() - 1;
    assert!((2..=3).contains(&asked), "{place}: asked {asked} times");
    second.stop().await;
    has_died
}
