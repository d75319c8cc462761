//! Export of records as JSON.

use agenthub_proto::{event::timestamp, json};
use serde_json::{Value, json};

use super::{Again, Entry, Position, Record, Try};
use crate::{id::Address, routing::Route};

/// A record as an object: position, time, kind, caller, and entry.
pub(crate) fn to_json(record: &Record) -> Value {
    let (kind, what) = describe(&record.entry);
    let mut object = json!({
        "position": record.position.0,
        "time": timestamp(record.time).to_string(),
        "kind": kind,
        "namespace": record.namespace,
        "principal": record.principal,
        "order": &*record.order,
    });
    if let (Value::Object(object), Value::Object(what)) = (&mut object, what) {
        object.extend(what);
    }
    object
}

fn describe(entry: &Entry) -> (&'static str, Value) {
    match entry {
        Entry::Published(published) => {
            let to = match &published.route {
                Route::Everyone => json!("everyone"),
                Route::To(to) => to.iter().map(address).collect(),
            };
            let what = json!({"to": to, "event": json::of(&**published.event)});
            ("published", what)
        }
        Entry::Registered(registration) => {
            let what = json!({
                "topics": registration.topics,
                "healthCheckUrl": registration.health_check_url,
                "card": json::of(&registration.card),
            });
            ("registered", what)
        }
        Entry::Unregistered { agent } => ("unregistered", json!({"agent": &**agent})),
        Entry::Present { agent } => ("present", json!({"agent": &**agent})),
        Entry::Subscribed {
            agent,
            name,
            filter,
            claims,
            ordered,
        } => {
            let what = json!({
                "agent": &**agent,
                "name": name,
                "filter": json::of(&filter.to_wire()),
                "claims": numbers(claims),
                "ordered": ordered,
            });
            ("subscribed", what)
        }
        Entry::Unsubscribed { agent, name } => {
            let what = json!({"agent": &**agent, "name": name});
            ("unsubscribed", what)
        }
        Entry::Acknowledged {
            agent,
            name,
            positions,
        } => {
            let positions = numbers(positions);
            let what = json!({"agent": &**agent, "name": name, "positions": positions});
            ("acknowledged", what)
        }
        Entry::GivenUp(given_up) => {
            let what = json!({
                "agent": &*given_up.agent,
                "name": given_up.name,
                "reason": given_up.reason,
                "attempts": given_up.attempts,
                "mail": again(&given_up.mail),
            });
            ("given_up", what)
        }
        Entry::Settled { letter, again } => {
            let what = json!({"letter": letter.0, "again": again});
            ("settled", what)
        }
        Entry::Tried { agent, name, tries } => {
            let tries: Vec<Value> = tries.iter().map(tried).collect();
            let what = json!({"agent": &**agent, "name": name, "tries": tries});
            ("tried", what)
        }
        Entry::Superseded {
            agent,
            task,
            instances,
        } => {
            let instances: Vec<&str> = instances.iter().map(|i| &**i).collect();
            let what = json!({"agent": &**agent, "task": &**task, "instances": instances});
            ("superseded", what)
        }
        Entry::Charged { principal, spent } => {
            let what = json!({
                "principal": principal,
                "tokens": spent.tokens,
                "costMicros": spent.cost_micros,
            });
            ("charged", what)
        }
        Entry::Reread { agent, name, mail } => {
            let mail: Vec<Value> = mail.iter().map(again).collect();
            let what = json!({"agent": &**agent, "name": name, "mail": mail});
            ("reread", what)
        }
    }
}

fn again(mail: &Again) -> Value {
    json!({"position": mail.position.0, "event": json::of(&**mail.event)})
}

fn tried(tried: &Try) -> Value {
    json!({
        "position": tried.position.0,
        "attempts": tried.attempts,
        "instance": &*tried.instance,
        "isOut": tried.is_out,
    })
}

fn numbers(positions: &[Position]) -> Vec<u64> {
    positions.iter().map(|p| p.0).collect()
}

fn address(address: &Address) -> Value {
    match &address.version {
        None => json!(&*address.agent),
        Some(version) => json!(format!("{}@{version}", address.agent)),
    }
}
