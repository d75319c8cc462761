//! Tests of a bridge that takes its tasks from the hub.

use agenthub_bus::{
    Bus, Delivery, Group, Groups, HubBus, HubGroups,
    messages::{Envelope, Inbox, TASKS, message},
};
use agenthub_sdk::testing::TestHub;
use tokio_util::sync::CancellationToken;

use super::*;

/// A hub with a bridge in a group that has two deliveries out, at most.
struct Running {
    world: World,
    bus: Arc<HubBus>,
    groups: Arc<HubGroups>,
    bridge: JoinSet<()>,
    stop: CancellationToken,
    input: String,
    _hub: TestHub,
}

impl Running {
    async fn start() -> Self {
        let (hub, world) = (TestHub::start().await, World::start(false).await);
        let bus = Arc::new(HubBus::new(hub.client().await));
        let groups = Arc::new(HubGroups::new(hub.url()));
        let inbox = Inbox::join(groups.clone(), Self::group(), bus.clone()).await;
        let (inbox, stop) = (inbox.expect("it joins"), CancellationToken::new());
        let (running, stopped) = (world.bridge.clone(), stop.clone());
        let mut bridge = JoinSet::new();
        bridge.spawn(async move {
            let ended = running.run(inbox, stopped).await;
            ended.expect("the hub has it");
        });
        let plain = "text/plain".parse().expect("a content type");
        let input = world.claims.put("write".into(), &plain).await;
        Self {
            input: input.expect("it is put").to_string(),
            world,
            bus,
            groups,
            bridge,
            stop,
            _hub: hub,
        }
    }

    fn group() -> Group {
        Group {
            in_flight: 2,
            ..Group::new("bridges", [TASKS])
        }
    }

    /// Publishes a task, as a message with this id: the hub leaves out what has the same.
    async fn publish(&self, id: &str, task: &str, agent: &str) {
        let task = TaskRequest {
            run_id: "run-1".into(),
            task_id: task.into(),
            agent_name: agent.into(),
            input_claim_check: self.input.clone(),
            correlation_id: "correlation-1".into(),
        };
        let envelope = Envelope {
            id: id.to_owned(),
            source: "/test".to_owned(),
            time: std::time::SystemTime::now(),
            traceparent: None,
            task_id: None,
        };
        let published = self.bus.publish(TASKS, &[message(&task, envelope)]).await;
        published.expect("it is taken");
    }

    /// Waits for the result of a task.
    async fn result(&self, task: &str) -> TaskResult {
        let mut published = self.world.bus.published();
        let of_task = |all: &Vec<(String, Message)>| {
            let results = all.iter().filter(|(topic, _)| topic == RESULTS);
            let mut results = results.map(|(_, message)| read::<TaskResult>(message));
            results.find_map(|result| result.ok().filter(|result| result.task_id == task))
        };
        let all = published.wait_for(|all| of_task(all).is_some());
        let all = timeout(PATIENCE, all).await.expect("a result comes");
        of_task(&all.expect("a bus")).expect("a result")
    }
}

/// A task whose result does not come is published again while it is at work.
#[tokio::test]
async fn a_task_that_comes_again_while_it_is_at_work_has_one_place_and_stays_out() {
    let mut running = Running::start().await;
    for again in 1..=5 {
        running
            .publish(&format!("slow-{again}"), "slow", "never")
            .await;
    }
    running.world.answers(200, &said("a poem"));
    running.publish("quick", "quick", "writer").await;
    let result = running.result("quick").await;
    assert_eq!(running.world.output(&result).await, "a poem");
    // It stops without a result of the other one, of which the latest message is left to the next member.
    running.stop.cancel();
    let stopped = running.bridge.join_next().await.expect("it runs");
    stopped.expect("no panic");
    let next = running.groups.join(Running::group()).await;
    let mut next = next.expect("it joins");
    let left = timeout(PATIENCE, next.next()).await.expect("it comes");
    let left: Delivery = left.expect("a member");
    assert_eq!(left.message.id, "slow-5");
}

#[tokio::test]
async fn a_task_that_breaks_off_is_tried_again() {
    let running = Running::start().await;
    running.world.directory.breaks.store(1, SeqCst);
    running.world.answers(200, &said("a poem"));
    running.publish("task", "task", "writer").await;
    let result = running.result("task").await;
    assert_eq!(running.world.output(&result).await, "a poem");
}
