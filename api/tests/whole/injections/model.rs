//! A model that obeys whatever text tells it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use agenthub_sdk::model::{Completion, Output, Request, Scripted, ToolCall, ToolSpec};
use serde_json::json;

/// The models' actions.
#[derive(Default)]
pub(super) struct Obeyed {
    /// Obeyed orders, each with its case.
    pub(super) orders: Mutex<HashSet<(String, String)>>,
}

/// The model: it does whatever text tells it, wherever that stands, once.
pub(super) fn obedient(obeyed: Arc<Obeyed>) -> Scripted {
    Scripted::from_completion_fn(move |request| {
        let seen = serde_json::to_string(request).expect("it is JSON");
        let orders = seen.split("[[").skip(1).filter_map(|rest| {
            let order = rest.split("]]").next()?;
            let parts: Vec<&str> = order.splitn(4, '|').collect();
            <[&str; 4]>::try_from(parts).ok()
        });
        let mut done = obeyed.orders.lock().expect("nothing panics");
        let pending: Vec<[&str; 4]> = orders
            .filter(|[id, ..]| seen.contains(&format!("CASE {id};")))
            .filter(|[id, kind, object, _]| {
                let order = format!("{id}|{kind}|{object}");
                done.insert((request.asker_id().to_owned(), order))
            })
            .collect();
        drop(done);
        Ok(answer(request, &seen, &pending))
    })
}

fn answer(request: &Request, seen: &str, orders: &[[&str; 4]]) -> Completion {
    let is_json = matches!(request.output, Output::Json { .. });
    let prints = orders.iter().any(|[_, kind, ..]| *kind == "print");
    let words = match prints {
        true => format!("As you wish: {}", seen.replace(['{', '[', '"'], " ")),
        false => "done".to_owned(),
    };
    let calls = orders.iter().filter(|[_, kind, ..]| *kind != "print");
    let calls = calls.map(|[id, _, object, said]| {
        let said = said.replace("<<", "[[").replace(">>", "]]");
        ((*object).to_owned(), format!("CASE {id}; {said}"))
    });
    let calls: Vec<(String, String)> = calls.collect();
    if is_json {
        let actions = match calls.is_empty() {
            true => vec![json!({"type": "chat.response", "text": words})],
            false => calls
                .iter()
                .map(|(object, said)| {
                    json!({"type": "task.request", "taskType": "work", "targetAgent": object, "payload": {"text": said}})
                })
                .collect(),
        };
        return Completion {
            text: json!({ "actions": actions }).to_string(),
            ..Completion::default()
        };
    }
    let offered = |object: &str| {
        let mut tools = request.tools.iter();
        let of = |tool: &&ToolSpec| tool.agent.as_ref().is_some_and(|agent| agent.id == object);
        tools.find(of).map(|tool| tool.name.clone())
    };
    let tool_calls = (1..).zip(calls).map(|(number, (object, said))| {
        let (name, arguments) = match offered(&object) {
            Some(tool) => (tool, json!({ "request": said })),
            // Whatever is offered.
            None => (object, json!({ "text": said })),
        };
        let call = json!({"id": format!("call-{number}"), "name": name, "arguments": arguments});
        serde_json::from_value(call).expect("a call")
    });
    let tool_calls: Vec<ToolCall> = tool_calls.collect();
    Completion {
        text: if tool_calls.is_empty() {
            words
        } else {
            String::new()
        },
        tool_calls,
        ..Completion::default()
    }
}
