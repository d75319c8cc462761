//! Topics on the hub: an agent subscribes by registering for the topic, and gets its messages in its mailbox.

use agenthub_sdk::{
    Client, Error, Message as Wire, Part, Role, proto::agenthub::AgentEventMetadata,
};
use async_trait::async_trait;
use futures_util::future::join_all;

use super::{Bus, BusError, Message};

/// The bus that the hub is.
#[derive(Debug)]
pub(crate) struct HubBus {
    client: Client,
}

impl HubBus {
    /// A bus on which messages come from this client's agent.
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }
}

#[async_trait]
impl Bus for HubBus {
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError> {
        // They leave in this order, as each is on its way when the next one is polled; the hub keeps the order of a context.
        let published = join_all(messages.iter().map(|message| {
            let routing = AgentEventMetadata {
                event_type: topic.to_owned(),
                subscriptions: vec![topic.to_owned()],
                matching_only: true,
                ..AgentEventMetadata::default()
            };
            self.client.publish(wire(message), routing)
        }));
        for published in published.await {
            published.map_err(failure)?;
        }
        Ok(())
    }
}

fn wire(message: &Message) -> Wire {
    Wire {
        message_id: message.id.clone(),
        context_id: message.key.clone(),
        content: vec![Part::data(&message.body)],
        ..Wire::new(Role::Agent, "")
    }
}

fn failure(error: Error) -> BusError {
    match error.is_retryable() || matches!(error, Error::Closed(_)) {
        true => BusError::Unavailable(error.to_string()),
        false => BusError::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::{Agent, Card, Reply, RunningAgent, TaskContext, testing::TestHub};
    use tokio::sync::mpsc;

    use super::{
        super::contract::{self, Subscriber, Topics},
        *,
    };

    /// Messages that wait for a subscriber; further ones wait at the hub.
    const WAITING: usize = 64;

    struct OnHub(TestHub);

    struct Watcher {
        messages: mpsc::Receiver<Message>,
        _agent: RunningAgent,
    }

    #[async_trait]
    impl Topics for OnHub {
        async fn subscriber(&self, name: &str, topic: &str) -> Box<dyn Subscriber> {
            let (sender, messages) = mpsc::channel(WAITING);
            let agent = Agent::worker(Card::new(name, "Watches"))
                .topics([topic])
                .concurrency(1)
                .on_any(move |task: TaskContext| {
                    let message = Message {
                        id: task.message().message_id.clone(),
                        key: task.context_id().to_owned(),
                        body: task.data().expect("a body"),
                    };
                    let sender = sender.clone();
                    async move {
                        // The test may be over.
                        let _ = sender.send(message).await;
                        Reply::none()
                    }
                });
            let agent = agent.start(self.0.url()).await.expect("a hub");
            Box::new(Watcher {
                messages,
                _agent: agent,
            })
        }
    }

    #[async_trait]
    impl Subscriber for Watcher {
        async fn next(&mut self) -> Message {
            self.messages.recv().await.expect("the agent is there")
        }
    }

    #[tokio::test]
    async fn the_hub_keeps_the_promises_of_a_bus() {
        let hub = TestHub::start().await;
        let bus = HubBus::new(hub.client().await);
        contract::keeps_its_promises(&bus, &OnHub(hub)).await;
    }
}
