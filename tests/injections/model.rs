//! A local provider of models that obey whatever text tells them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

/// The provider. Dropping it closes its port. The name of a model is that of the agent that asks it.
pub(super) struct Obedient {
    pub(super) url: String,
    shared: Arc<Shared>,
    runtime: Runtime,
}

#[derive(Default)]
struct Shared {
    /// Obeyed orders: the model, and the order with its case.
    obeyed: Mutex<HashSet<(String, String)>>,
    /// The targets of plans, by their cases, each with the number of proposals made.
    planned: Mutex<HashMap<String, (String, u32)>>,
}

/// An order for one case: `[[case|kind|object|what is said]]`.
type Order<'a> = [&'a str; 4];

/// An answer of a model.
enum Said {
    Text(String),
    /// Tools with their arguments.
    Calls(Vec<(String, Value)>),
}

impl Obedient {
    pub(super) fn start() -> Self {
        let runtime = Runtime::new().expect("threads");
        let shared = Arc::new(Shared::default());
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url: format!("http://{address}/v1/"),
            shared,
            runtime,
        }
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// True if this agent's model has obeyed the order of a case.
    pub(super) fn has_obeyed(&self, agent: &str, order: &str) -> bool {
        let obeyed = self.shared.obeyed.lock().expect("nothing panics");
        obeyed.contains(&(agent.to_owned(), order.to_owned()))
    }
}

async fn answer(State(shared): State<Arc<Shared>>, Json(body): Json<Value>) -> Response {
    let said = shared.said(&body);
    let model = &body["model"];
    let choice = |delta: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [delta]});
    let (message, end) = match &said {
        Said::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Said::Calls(calls) => {
            let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
                json!({
                    "index": at, "id": format!("call-{at}"), "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()},
                })
            });
            let calls: Vec<Value> = calls.collect();
            let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
            (message, "tool_calls")
        }
    };
    if body["stream"] != true {
        let whole = json!({"index": 0, "message": message, "finish_reason": end});
        return Json(choice(whole)).into_response();
    }
    let events = [
        choice(json!({"index": 0, "delta": message, "finish_reason": null})),
        choice(json!({"index": 0, "delta": {}, "finish_reason": end})),
    ];
    let events: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    let body = Body::from(events + "data: [DONE]\n\n");
    ([("content-type", "text/event-stream")], body).into_response()
}

impl Shared {
    fn said(&self, body: &Value) -> Said {
        let asker = body["model"].as_str().unwrap_or_default();
        // What cards say of agents stands in the descriptions of tools.
        let seen = format!("{} {}", body["messages"], body["tools"]);
        let orders = self.pending(asker, &seen);
        let format = body["response_format"].to_string();
        let is_plan = format.contains("planPatch") || seen.contains("RFC 6902");
        if is_plan {
            return Said::Text(self.proposal(&seen, &orders).to_string());
        }
        let prints = orders.iter().any(|[_, kind, ..]| *kind == "print");
        let words = match prints {
            true => format!("As you wish: {}", seen.replace(['{', '[', '"', '\\'], " ")),
            false => "done".to_owned(),
        };
        let calls: Vec<(&str, String)> = orders
            .iter()
            .filter(|[_, kind, ..]| *kind != "print")
            .map(|[id, _, object, said]| {
                let said = said.replace("<<", "[[").replace(">>", "]]");
                (*object, format!("CASE {id}; {said}"))
            })
            .collect();
        let is_decision = format.contains("targetAgent") || format.contains("json_object");
        if is_decision {
            let actions = calls.iter().map(|(object, said)| {
                json!({"type": "task.request", "taskType": "work", "targetAgent": object, "payload": {"text": said}})
            });
            let mut actions: Vec<Value> = actions.collect();
            if actions.is_empty() {
                actions.push(json!({"type": "chat.response", "text": words}));
            }
            return Said::Text(json!({ "actions": actions }).to_string());
        }
        if calls.is_empty() {
            return Said::Text(words);
        }
        let offered = body["tools"].as_array().cloned().unwrap_or_default();
        let calls = calls.into_iter().map(|(object, said)| {
            let names = offered
                .iter()
                .filter_map(|t| t["function"]["name"].as_str());
            let is_it = |name: &&str| name.trim_start_matches("agent_") == object;
            let name = names.clone().find(is_it).unwrap_or(object);
            let arguments = json!({"request": said, "task": said, "text": said});
            let takes = offered.iter().find(|t| t["function"]["name"] == *name);
            let takes = takes.map(|tool| &tool["function"]["parameters"]["properties"]);
            (name.to_owned(), fitting(arguments, takes))
        });
        Said::Calls(calls.collect())
    }

    /// Orders that this model has seen and not obeyed yet, of cases that it works on.
    fn pending<'a>(&self, asker: &str, seen: &'a str) -> Vec<Order<'a>> {
        let mut obeyed = self.obeyed.lock().expect("nothing panics");
        let orders = seen.split("[[").skip(1).filter_map(|rest| {
            let order = rest.split("]]").next()?;
            let parts: Vec<&str> = order.splitn(4, '|').collect();
            Order::try_from(parts).ok()
        });
        orders
            .filter(|[id, ..]| seen.contains(&format!("CASE {id};")))
            .filter(|[id, kind, object, _]| {
                obeyed.insert((asker.to_owned(), format!("{id}|{kind}|{object}")))
            })
            .collect()
    }

    /// Proposals of an orchestrator: a step for whom the order names, then its handoff, and the end.
    fn proposal(&self, seen: &str, orders: &[Order<'_>]) -> Value {
        let case = seen.split("CASE ").nth(1);
        let case = case.and_then(|rest| rest.split(';').next());
        let case = case.unwrap_or_default().to_owned();
        let mut planned = self.planned.lock().expect("nothing panics");
        let target = orders.iter().find(|[_, kind, ..]| *kind == "agent");
        if let Some([_, _, object, _]) = target {
            planned.insert(case.clone(), ((*object).to_owned(), 0));
        }
        let end = json!({"action": "final", "bundle": {"artifacts": {}, "summary": "done"}});
        let Some((object, number)) = planned.get_mut(&case) else {
            return match orders.is_empty() {
                true => end,
                // It prints all that it knows.
                false => {
                    let seen = seen.replace(['{', '[', '"', '\\'], " ");
                    json!({"action": "final", "bundle": {"artifacts": {}, "summary": seen}})
                }
            };
        };
        *number += 1;
        match *number {
            1 => {
                let step = json!({"capability": "work", "agent": object, "payload": {"text": format!("CASE {case}; pay")}});
                json!({"action": "plan_update", "planPatch": [{"op": "add", "path": "/steps/pay", "value": step}]})
            }
            2 => {
                json!({"action": "handoff", "to": object, "capabilityId": "work", "stepId": "pay", "payload": {}})
            }
            _ => end,
        }
    }
}

/// The arguments that a tool takes, if it says which.
fn fitting(arguments: Value, takes: Option<&Value>) -> Value {
    let Some(takes) = takes.and_then(Value::as_object) else {
        return arguments;
    };
    let Value::Object(arguments) = arguments else {
        return arguments;
    };
    let fitting = arguments.into_iter();
    fitting
        .filter(|(name, _)| takes.contains_key(name))
        .collect()
}
