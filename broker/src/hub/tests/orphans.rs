//! Orphaned tasks after a restart.

use agenthub_proto::{a2a::TaskStatus, agenthub::TaskStatusUpdateEvent};

use super::*;

#[test]
fn what_an_earlier_hub_did_not_call_back_is_called_back_by_the_next() {
    let mut b = Bench::new(Settings::default());
    b.work("t", "asker", "lead").expect("good");
    let message = Message {
        task_id: "child".into(),
        ..Message::new(Role::User, "go")
    };
    let on_behalf = AgentEventMetadata {
        from_agent_id: "lead".into(),
        to_agent_id: "worker".into(),
        parent_task_id: "t".into(),
        ..Default::default()
    };
    let caller = Caller::anonymous();
    b.core
        .publish(
            &caller,
            Body::Message(message),
            on_behalf,
            Repetition::Accept,
            b.now,
        )
        .expect("good");
    let failed = TaskStatusUpdateEvent {
        task_id: "t".into(),
        status: Some(TaskStatus {
            state: TaskState::Failed.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    b.publish(Body::Status(failed), "lead", "").expect("good");
    assert_eq!(b.state("child"), TaskState::Submitted, "no tick has come");

    let mut next = b.restarted();
    next.wait(Duration::from_millis(50));
    assert_eq!(next.state("child"), TaskState::Cancelled);
}
