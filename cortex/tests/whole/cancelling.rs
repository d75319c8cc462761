//! A request that is not wanted any more.

use agenthub_sdk::{model::Scripted, proto::a2a::TaskState};
use tokio::sync::mpsc;

use crate::harness::*;

#[tokio::test]
async fn cancelling_a_request_cancels_what_it_delegated_and_answers_nothing() {
    let model = Scripted::from_fn(delegating);
    let world = World::new(model.clone()).await;
    let (tell, mut told) = mpsc::channel(2);
    let _agent = world.agent(cancelled("agent_a", tell)).await;
    let ann = world.user("ann").await;
    let mut messages = ann.messages().await;
    let pending = ann.send("c", "agent_a").await;
    assert_eq!(within(told.recv()).await, Some("at work"));
    pending.cancel("enough").await.expect("it is at work");
    assert_eq!(within(told.recv()).await, Some("cancelled"));
    let outcome = within(pending.outcome()).await.expect("an outcome");
    assert_eq!(outcome.state, TaskState::Cancelled);

    assert_eq!(ann.answer("c", "next").await, "you said: next");
    assert_eq!(messages.from("cortex").await.text(), "you said: next");
    assert_eq!(
        model.requests().len(),
        2,
        "no question after the cancel but the next"
    );
    world.end().await;
}

#[tokio::test]
async fn cancelling_stops_the_model_call() {
    struct Dropped(mpsc::Sender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.try_send("dropped").expect("there is room");
        }
    }
    let (tell, mut told) = mpsc::channel(4);
    let model = Thinking(move |request| {
        let tell = tell.clone();
        async move {
            if words(&request) == "next" {
                return respond("ok");
            }
            tell.send("asked").await.expect("the test listens");
            let _dropped = Dropped(tell);
            std::future::pending().await
        }
    });
    let world = World::new(model).await;
    let ann = world.user("ann").await;
    let pending = ann.send("c", "think hard").await;
    assert_eq!(within(told.recv()).await, Some("asked"));
    pending.cancel("enough").await.expect("it is at work");
    assert_eq!(within(told.recv()).await, Some("dropped"));
    assert_eq!(ann.answer("c", "next").await, "ok");
    world.end().await;
}
