//! Events of the hub that steps wait for.

use agenthub_sdk::{
    Client, Error,
    hub::EventStream,
    proto::{
        agenthub::{AgentEvent, SubscribeToAgentEventsRequest, agent_event::Payload},
        event::topic,
    },
    runs::{EffectFailure, ToolOutput},
};
use serde_json::{Map, Value, json};

use crate::strategy::EventQuery;

/// Waits for the event. Where the hub no longer has all that came behind its position, those that come from now on count.
pub(super) async fn wait(client: &Client, query: &EventQuery) -> Result<ToolOutput, EffectFailure> {
    let mut after = query.after.clone();
    loop {
        let mut events = match subscribe(client, query, &after).await {
            Ok(events) => events,
            Err(Error::Invalid(why)) if !after.is_empty() => {
                tracing::warn!(event = query.event, why, "events were missed");
                after.clear();
                continue;
            }
            Err(error) if error.is_retryable() => {
                return Err(EffectFailure::passing(error.to_string()));
            }
            Err(error) => return Err(EffectFailure::lasting(error.to_string())),
        };
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if let Some(message) = matched(&event, query) {
                        let output = json!({ "message": message, "position": event.position });
                        return Ok(ToolOutput::from(output));
                    }
                }
                // The hub no longer has what was there: it goes on with what comes.
                Err(Error::Missed(why)) => {
                    tracing::warn!(event = query.event, why, "events were missed");
                }
                Err(error) if error.is_retryable() => break,
                Err(error) => return Err(EffectFailure::lasting(error.to_string())),
            }
        }
        events.position().clone_into(&mut after);
    }
}

async fn subscribe(client: &Client, query: &EventQuery, after: &str) -> Result<EventStream, Error> {
    let request = SubscribeToAgentEventsRequest {
        agent_id: client.agent_id().to_owned(),
        event_types: vec![topic(&query.event)],
        after: after.to_owned(),
        observe: true,
        ..Default::default()
    };
    client.agent_events(request).await
}

/// Output of a wait for an event; nothing if it is another one.
fn matched(event: &AgentEvent, query: &EventQuery) -> Option<Value> {
    let Some(Payload::Message(message)) = &event.payload else {
        return None;
    };
    let routing = event.routing.as_ref()?;
    let from = &routing.from_agent_id;
    let is_of_type = routing.event_type == topic(&query.event);
    if !is_of_type || (!query.from.is_empty() && query.from != *from) {
        return None;
    }
    let data = message.data().next().unwrap_or_default();
    let mut output = match data {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        data => Map::from_iter([("data".to_owned(), data)]),
    };
    for (name, value) in [("text", message.text()), ("from", from.clone())] {
        output.entry(name).or_insert_with(|| value.into());
    }
    let wanted = query.matching.as_object();
    let is_so = |(field, wanted): (&String, &Value)| output.get(field) == Some(wanted);
    let is_meant = wanted.into_iter().flatten().all(is_so);
    is_meant.then(|| Value::Object(output))
}
