//! Topics on the hub: a group is an agent that registers for them, and its members are the agent's instances, which share its mailbox.

use std::{collections::BTreeMap, time::Duration};

use agenthub_sdk::{
    Agent, Card, Client, Error, Failure, Message as Wire, Part, Reply, Role, TaskContext,
    proto::{agenthub::AgentEventMetadata, json},
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{Bus, BusError, Consumer, Delivery, Group, Groups, Message};

/// Name of the headers in the metadata of a message.
const HEADERS: &str = "headers";

/// The bus that the hub is.
#[derive(Debug)]
pub struct HubBus {
    client: Client,
}

impl HubBus {
    /// A bus on which messages come from this client's agent.
    pub fn new(client: Client) -> Self {
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

/// The groups of a hub. The name of a group is the id of its agent.
#[derive(Clone, Debug)]
pub struct HubGroups {
    hub: String,
}

impl HubGroups {
    /// The groups of the hub at this address.
    pub fn new(hub: impl Into<String>) -> Self {
        Self { hub: hub.into() }
    }
}

#[async_trait]
impl Groups for HubGroups {
    async fn join(&self, group: Group) -> Result<Consumer, BusError> {
        let in_flight = group.in_flight.max(1);
        let (sender, deliveries) = mpsc::channel(in_flight);
        let card = Card::new(&*group.name, "Shares the messages of topics");
        let agent = Agent::worker(card)
            .topics(group.topics)
            .concurrency(u32::try_from(in_flight).unwrap_or(u32::MAX))
            .drain_timeout(Duration::ZERO)
            .on_any(move |task: TaskContext| {
                let (acknowledge, acknowledged) = oneshot::channel();
                let topic = task.routing().event_type.clone();
                let delivery = Delivery::new(topic, read(task.message()), || {
                    // The member may have left.
                    let _ = acknowledge.send(());
                });
                // Here, and not in the future, as these are called in the order of the messages. There is room for all that are out.
                let is_here = sender.try_send(Ok(delivery)).is_ok();
                async move {
                    match is_here && acknowledged.await.is_ok() {
                        true => Ok::<_, Failure>(Reply::none()),
                        // It is given back when the member leaves.
                        false => std::future::pending().await,
                    }
                }
            });
        let agent = agent.start(&*self.hub).await.map_err(failure)?;
        Ok(Consumer::new(deliveries, agent.stop()))
    }
}

fn wire(message: &Message) -> Wire {
    let body = match serde_json::from_slice::<Value>(&message.body) {
        Ok(body) => Part::data(&body),
        Err(_) => Part::text(String::from_utf8_lossy(&message.body)),
    };
    let wire = Wire {
        message_id: message.id.clone(),
        context_id: message.key.clone(),
        content: vec![body],
        ..Wire::new(Role::Agent, "")
    };
    match message.headers.is_empty() {
        true => wire,
        false => wire.with_metadata(HEADERS, serde_json::json!(message.headers)),
    }
}

fn read(wire: &Wire) -> Message {
    let body = match wire.data().next() {
        Some(body) => Bytes::from(body.to_string()),
        None => wire.text().into(),
    };
    Message {
        id: wire.message_id.clone(),
        key: wire.context_id.clone(),
        headers: headers(wire),
        body,
    }
}

fn headers(wire: &Wire) -> BTreeMap<String, String> {
    let fields = wire.metadata.as_ref().map(json::from_struct);
    let Some(Value::Object(headers)) =
        fields.and_then(|mut fields| fields.get_mut(HEADERS).map(Value::take))
    else {
        return BTreeMap::new();
    };
    let texts = headers.into_iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        _ => None,
    });
    texts.collect()
}

fn failure(error: Error) -> BusError {
    match error.is_retryable() || matches!(error, Error::Closed(_)) {
        true => BusError::Unavailable(error.to_string()),
        false => BusError::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use agenthub_sdk::testing::TestHub;

    use super::*;
    use crate::contract;

    #[tokio::test]
    async fn the_hub_keeps_the_promises_of_a_bus() {
        let hub = TestHub::start().await;
        let bus = HubBus::new(hub.client().await);
        contract::keeps_its_promises(&bus, &HubGroups::new(hub.url())).await;
    }

    #[tokio::test]
    async fn a_body_that_is_not_json_passes_as_text() {
        let hub = TestHub::start().await;
        let bus = HubBus::new(hub.client().await);
        let groups = HubGroups::new(hub.url());
        let mut member = groups
            .join(Group::new("readers", ["t"]))
            .await
            .expect("a hub");
        let strange = Message {
            body: "not { JSON".into(),
            ..Message::json("m", "k", &Value::Null)
        };
        bus.publish("t", slice::from_ref(&strange))
            .await
            .expect("it is taken");
        assert_eq!(member.next().await.expect("it comes").message, strange);
    }
}
