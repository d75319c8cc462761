//! `docs/asyncapi.yaml` follows from the types. `INSTA_UPDATE=always cargo test -p agenthub-bus asyncapi` writes it.

use std::{env, fs, path::Path};

use serde_json::{Map, Value, json};

use super::{
    Body, MONITORING, MonitoringUpdate, REASON, RESULTS, StreamChunk, TASK_ID, TASKS, TaskRequest,
    TaskResult, dead_letters,
    events::{self, Gap, MirroredMessage, MirroredState},
    reading::schema,
};

struct Channel {
    name: &'static str,
    address: String,
    schema: Value,
    event: &'static str,
}

fn channel<B: Body>(name: &'static str, address: &str) -> Channel {
    Channel {
        name,
        address: address.to_owned(),
        schema: schema::<B>(),
        event: B::TYPE,
    }
}

fn document() -> Value {
    let all = [
        channel::<TaskRequest>("tasks", TASKS),
        channel::<TaskResult>("results", RESULTS),
        channel::<MonitoringUpdate>("monitoring", MONITORING),
        channel::<StreamChunk>("streams", "stream.{agent_name}"),
    ];
    let mut channels = Map::new();
    let mut messages = Map::new();
    let mut operations = Map::new();
    for Channel {
        name,
        address,
        mut schema,
        event,
    } in all
    {
        schema
            .as_object_mut()
            .map(|schema| schema.remove("$schema"));
        let mut open = json!({
            "address": address,
            "messages": { "message": { "$ref": format!("#/components/messages/{name}") } },
        });
        let mut dead = json!({
            "address": dead_letters(&address),
            "description": "What did not fit the schema, as it came",
            "messages": { "message": { "$ref": "#/components/messages/misfit" } },
        });
        if name == "streams" {
            let of_agent = json!({ "agent_name": { "description": "Slug of the agent" } });
            open["parameters"] = of_agent.clone();
            dead["parameters"] = of_agent;
        }
        for action in ["send", "receive"] {
            let operation = json!({
                "action": action,
                "channel": { "$ref": format!("#/channels/{name}") },
            });
            operations.insert(format!("{action}-{name}"), operation);
        }
        channels.insert(name.to_owned(), open);
        channels.insert(format!("{name}-dead-letters"), dead);
        messages.insert(name.to_owned(), json!({
            "name": event,
            "contentType": "application/json",
            "headers": headers(event, name == "streams"),
            "payload": {
                "schemaFormat": "application/schema+json;version=draft-07",
                "schema": schema,
            },
            "bindings": { "kafka": { "key": { "type": "string", "description": "The run_id" } } },
        }));
    }
    for (name, event, schema) in [
        (
            "mirrored-message",
            events::MESSAGE,
            schema::<MirroredMessage>(),
        ),
        ("mirrored-state", events::STATE, schema::<MirroredState>()),
        ("gap", events::GAP, schema::<Gap>()),
    ] {
        messages.insert(name.to_owned(), mirrored(name, event, schema));
    }
    let parameters =
        json!({ "topic": { "description": "A topic that a connector's settings name" } });
    channels.insert(
        "mirrored".to_owned(),
        json!({
            "address": "{topic}",
            "parameters": parameters,
            "description": "What `agenthub connect kafka` mirrors of the hub",
            "messages": {
                "message": { "$ref": "#/components/messages/mirrored-message" },
                "state": { "$ref": "#/components/messages/mirrored-state" },
                "gap": { "$ref": "#/components/messages/gap" },
            },
        }),
    );
    channels.insert("taken-in-dead-letters".to_owned(), json!({
        "address": dead_letters("{topic}"),
        "parameters": parameters,
        "description": "Records that `agenthub connect kafka` could not take into the hub, as they came",
        "messages": { "message": { "$ref": "#/components/messages/misfit" } },
    }));
    let operation = json!({ "action": "send", "channel": { "$ref": "#/channels/mirrored" } });
    operations.insert("send-mirrored".to_owned(), operation);
    messages.insert(
        "misfit".to_owned(),
        json!({
            "name": "misfit",
            "headers": {
                "type": "object",
                "required": [REASON],
                "properties": { REASON: { "type": "string" } },
            },
            "payload": {},
        }),
    );
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "AgentHub on Kafka",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Messages of executors, of the bridge to agents over HTTP, and of the connector that mirrors the hub. Bodies are JSON; the envelope is that of CloudEvents in binary mode.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": { "messages": messages },
    })
}

/// A message of a connector. Its key is what the settings choose.
fn mirrored(name: &str, event: &str, mut schema: Value) -> Value {
    schema
        .as_object_mut()
        .map(|schema| schema.remove("$schema"));
    let mut headers = headers(event, false);
    headers["properties"]["ce_subject"] = json!({ "type": "string", "description": "The task" });
    headers["properties"][events::VIA] = json!({ "type": "string", "description": "Topics that the message came through, with commas in between" });
    json!({
        "name": name,
        "contentType": "application/json",
        "headers": headers,
        "payload": {
            "schemaFormat": "application/schema+json;version=draft-07",
            "schema": schema,
        },
        "bindings": { "kafka": { "key": { "type": "string" } } },
    })
}

fn headers(event: &str, is_stream: bool) -> Value {
    let text = json!({ "type": "string" });
    let mut headers = json!({
        "type": "object",
        "required": ["ce_id", "ce_source", "ce_specversion", "ce_time", "ce_type", "content-type", "schema_version"],
        "properties": {
            "ce_id": text,
            "ce_source": text,
            "ce_specversion": { "const": "1.0" },
            "ce_time": { "type": "string", "format": "date-time" },
            "ce_type": { "const": event },
            "content-type": { "const": "application/json" },
            "schema_version": { "const": "1" },
            "traceparent": text,
        },
    });
    if is_stream {
        headers["properties"][TASK_ID] = text;
        let required = headers["required"].as_array_mut();
        required.expect("a list").push(json!(TASK_ID));
    }
    headers
}

/// A value as YAML, in blocks; texts as JSON has them, which YAML reads.
fn yaml(value: &Value, depth: usize, to: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                to.push_str(&format!("\n{indent}{key}:"));
                yaml(value, depth + 1, to);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                to.push_str(&format!("\n{indent}-"));
                yaml(item, depth + 1, to);
            }
        }
        plain => to.push_str(&format!(" {plain}")),
    }
}

#[test]
fn the_asyncapi_document_follows_from_the_types() {
    let mut text = "# Made from the types in bus/src/messages: INSTA_UPDATE=always cargo test -p agenthub-bus asyncapi".to_owned();
    yaml(&document(), 0, &mut text);
    text.push('\n');
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/asyncapi.yaml");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, &text).expect("it is written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "docs/asyncapi.yaml is not what the types say: INSTA_UPDATE=always writes it anew"
    );
}
