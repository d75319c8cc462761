//! Agents that ask in the middle of a turn: their questions go to the user, and the answers back.

use agenthub_sdk::{
    Agent, AgentBuilder, Card, Delegation, Failure, Outcome, Reply, Skill, TaskContext,
    model::Scripted, proto::a2a::TaskState,
};

use crate::{crashes::stage::System, harness::*};

/// An agent that paints what two questions lead to.
fn painter() -> AgentBuilder {
    let card = Card::new("agent_paint", "Paints").skill(Skill::new("work", "Work", ""));
    Agent::worker(card).on_task_type("work", async |task: TaskContext| {
        let colour = task.ask_requester("Which colour?").await?.text();
        let shop = task.ask_auth("Sign in at the shop.").await?.text();
        Ok::<_, Failure>(Reply::text(format!("{colour}, {shop}")))
    })
}

async fn answered(ann: &User, asked: &Outcome, text: &str) -> Outcome {
    let answer = Delegation::to("cortex")
        .context_id("c")
        .task_id(asked.task_id.clone())
        .text(text);
    let pending = ann.client.delegate(answer).await.expect("it is taken");
    within(pending.outcome()).await.expect("an outcome")
}

fn check(outcome: &Outcome, state: TaskState, text: &str) {
    assert_eq!(
        (outcome.state, &*said(outcome)),
        (state, text),
        "{outcome:?}"
    );
}

/// spec: A2A 1.0.1 §3.4.3, §7.6.1
#[tokio::test]
async fn a_question_of_an_agent_goes_to_the_user_and_the_answer_back() {
    let world = World::new(Scripted::from_fn(delegating)).await;
    let _painter = world.agent(painter()).await;
    let ann = world.user("ann").await;
    let first = ann.ask("c", "agent_paint").await;
    check(&first, TaskState::InputRequired, "Which colour?");
    // The conversation goes on beside it.
    assert_eq!(ann.answer("c", "hello").await, "you said: hello");
    let second = answered(&ann, &first, "blue").await;
    check(&second, TaskState::AuthRequired, "Sign in at the shop.");
    let done = answered(&ann, &first, "signed in").await;
    assert!(done.is_completed(), "{done:?}");
    assert!(said(&done).contains("blue, signed in"), "{done:?}");
    world.end().await;
}

/// Cortex dies while the user thinks, and while the answer waits for it.
#[tokio::test]
async fn a_question_is_passed_on_once_over_crashes_of_cortex() {
    let system = System::new().await;
    let model = Scripted::from_fn(delegating);
    let first_cortex = system.cortex(model.clone()).await;
    let _painter = painter()
        .start(url(&system.hub))
        .await
        .expect("the hub runs");
    knows(&first_cortex, "agent_paint").await;
    let ann = User::new(&system.hub, "ann").await;
    let first = ann.ask("c", "agent_paint").await;
    check(&first, TaskState::InputRequired, "Which colour?");
    drop(first_cortex);
    let answer = Delegation::to("cortex")
        .context_id("c")
        .task_id(first.task_id.clone())
        .text("blue");
    let pending = ann.client.delegate(answer).await.expect("it waits");
    let second_cortex = system.cortex(model.clone()).await;
    let second = within(pending.outcome()).await.expect("an outcome");
    check(&second, TaskState::AuthRequired, "Sign in at the shop.");
    drop(second_cortex);
    let third_cortex = system.cortex(model.clone()).await;
    let done = answered(&ann, &first, "signed in").await;
    assert!(said(&done).contains("blue, signed in"), "{done:?}");
    let task = ann
        .client
        .task(&first.task_id, 0)
        .await
        .expect("it is kept");
    let history: Vec<String> = task.history.iter().map(|m| m.text()).collect();
    assert_eq!(
        history[..5],
        [
            "agent_paint",
            "Which colour?",
            "blue",
            "Sign in at the shop.",
            "signed in"
        ],
        "each was asked once"
    );
    third_cortex.stop().await;
}
