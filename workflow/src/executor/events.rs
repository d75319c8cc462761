//! Messages of the hub that steps wait for.

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::agenthub::{AgentEvent, SubscribeToAgentEventsRequest, agent_event::Payload},
    runs::{EffectFailure, ToolOutput},
};
use serde_json::{Map, Value, json};

use crate::strategy::EventQuery;

/// Kind of the events that are waited for.
const MESSAGE: &str = "message";

/// The position in the hub's log as of which messages are waited for; null if the hub does not say.
pub(super) async fn position(client: &Client) -> Value {
    match subscribe(client, &EventQuery::default()).await {
        Ok(events) => json!(events.position()),
        Err(error) => {
            tracing::warn!(%error, "not known from where on messages are waited for: from now on");
            json!("")
        }
    }
}

/// Waits for the message.
pub(super) async fn wait(client: &Client, query: &EventQuery) -> Result<ToolOutput, EffectFailure> {
    loop {
        let mut events = match subscribe(client, query).await {
            Ok(events) => events,
            Err(error) if error.is_retryable() => {
                return Err(EffectFailure::passing(error.to_string()));
            }
            Err(error) => return Err(EffectFailure::lasting(error.to_string())),
        };
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if let Some(output) = matched(&event, query) {
                        return Ok(ToolOutput::from(output));
                    }
                }
                // The hub no longer has what was there: it goes on with what comes.
                Err(Error::Missed(why)) => {
                    tracing::warn!(event = query.event, why, "messages were missed");
                }
                Err(error) if error.is_retryable() => break,
                Err(error) => return Err(EffectFailure::lasting(error.to_string())),
            }
        }
    }
}

async fn subscribe(client: &Client, query: &EventQuery) -> Result<EventStream, Error> {
    let request = SubscribeToAgentEventsRequest {
        agent_id: client.agent_id().to_owned(),
        event_types: vec![match &*query.event {
            "" => MESSAGE.to_owned(),
            event => event.to_owned(),
        }],
        after: query.after.clone(),
    };
    client.agent_events(request).await
}

/// Output of a wait for a message; nothing if the message is another one.
fn matched(event: &AgentEvent, query: &EventQuery) -> Option<Value> {
    let Some(Payload::Message(message)) = &event.payload else {
        return None;
    };
    let routing = event.routing.as_ref();
    let from = routing.map_or("", |routing| routing.from_agent_id.as_str());
    if message.task_type() != query.event || (!query.from.is_empty() && query.from != from) {
        return None;
    }
    let data = message.data().next().unwrap_or_default();
    let mut output = match data {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        data => Map::from_iter([("data".to_owned(), data)]),
    };
    for (name, value) in [("text", message.text()), ("from", from.to_owned())] {
        output.entry(name).or_insert_with(|| value.into());
    }
    let wanted = query.matching.as_object();
    let is_so = |(field, wanted): (&String, &Value)| output.get(field) == Some(wanted);
    let is_meant = wanted.into_iter().flatten().all(is_so);
    is_meant.then(|| Value::Object(output))
}
