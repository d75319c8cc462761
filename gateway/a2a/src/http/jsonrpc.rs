//! JSON-RPC (specification §9), of A2A 1.0 and 0.3: the version of a request decides which methods there are.

use agenthub_access::{StreamPermit, audit::Refusal};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use prost::{Message, Name};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    ParsedRequest, reply,
    rest::{configs_json, list_json},
};
use crate::{
    Gateway,
    error::{Error, Kind},
    json::{from_json, parse, to_json},
    old,
    operations::{Call, Operations, Shows},
    v1,
    version::Version,
};

/// Codes of JSON-RPC itself (§9.5).
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;

/// The methods of A2A 1.0.
const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

/// The result of a method.
enum Outcome {
    Done(Value),
    Stream(Shows, fn(&v1::StreamResponse) -> Value, StreamPermit),
}

/// Id of a request, as the text of its JSON: it comes back as it was sent (JSON-RPC 2.0 §5), also a number that no type here holds.
struct Id(String);

/// The id of an answer to what has none.
impl Default for Id {
    fn default() -> Self {
        Self("null".to_owned())
    }
}

impl Id {
    /// The id of a request, which was read as `id`.
    fn sent(body: &[u8], id: &Value) -> Self {
        #[derive(Deserialize)]
        struct Request<'a> {
            #[serde(borrow)]
            id: &'a RawValue,
        }
        let request = serde_json::from_slice::<Request<'_>>(body);
        // A request may have several ids: the last one is read.
        Self(request.map_or_else(|_| id.to_string(), |request| request.id.get().to_owned()))
    }

    /// An answer with this member, which is `result` or `error`.
    fn answer(&self, member: &str, value: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"{member}":{value}}}"#, self.0)
    }
}

/// The reason why there is none.
enum Fault {
    Protocol(i32, String),
    Failed(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<crate::json::Malformed> for Fault {
    fn from(malformed: crate::json::Malformed) -> Self {
        Self::Failed(malformed.into())
    }
}

pub(super) async fn answer(gateway: &Gateway, asked: &ParsedRequest) -> Response {
    if !asked.is_json() {
        let fault = Kind::ContentTypeNotSupported.with("the Content-Type is application/json");
        let answer = failed(&Id::default(), &fault.into());
        return reply::written(StatusCode::UNSUPPORTED_MEDIA_TYPE, reply::JSON, answer);
    }
    let (id, request) = read(&asked.body);
    let is_notification = id.is_none() && request.is_ok();
    let id = id.unwrap_or_default();
    let outcome = match request {
        Ok((method, params)) => call(gateway, asked, &method, params).await,
        Err(fault) => Err(fault),
    };
    match outcome {
        // Nobody waits for an answer (JSON-RPC 2.0 §4.1).
        _ if is_notification => StatusCode::NO_CONTENT.into_response(),
        Ok(Outcome::Done(result)) => {
            reply::written(StatusCode::OK, reply::JSON, id.answer("result", &result))
        }
        Ok(Outcome::Stream(shows, written, permit)) => {
            let documents = shows.map(move |shown| match shown {
                Ok(shown) => id.answer("result", &written(&shown)),
                Err(error) => failed(&id, &error.into()),
            });
            reply::events(documents, permit)
        }
        Err(fault) => {
            let status = match &fault {
                Fault::Failed(error) if error.kind == Kind::Unauthenticated => error.kind.http(),
                _ => StatusCode::OK,
            };
            let mut response = reply::written(status, reply::JSON, failed(&id, &fault));
            reply::challenge(&mut response);
            if let Fault::Failed(error) = &fault {
                reply::come_back(&mut response, error);
            }
            if let Fault::Failed(error) = &fault
                && error.kind == Kind::PermissionDenied
            {
                let refusal = Refusal(error.message.clone());
                response.extensions_mut().insert(refusal);
            }
            response
        }
    }
}

/// The error for a body that was not read (§9.5). Nothing is known of the request's id.
pub(super) fn refused(status: StatusCode, reason: String) -> Response {
    let fault = Fault::Protocol(INVALID_REQUEST, reason);
    reply::written(status, reply::JSON, failed(&Id::default(), &fault))
}

/// The id of a request, if it has one; its method and parameters, or what is wrong.
fn read(body: &[u8]) -> (Option<Id>, Result<(String, Value), Fault>) {
    let mut request = match parse(body) {
        Ok(request) => request,
        Err(malformed) => {
            let fault = Fault::Protocol(PARSE_ERROR, malformed.description);
            return (None, Err(fault));
        }
    };
    let invalid = |why: &str| Err(Fault::Protocol(INVALID_REQUEST, why.to_owned()));
    if !request.is_object() {
        return (None, invalid("a request is one object"));
    }
    let id = request.get_mut("id").map(Value::take);
    if !matches!(
        id,
        None | Some(Value::Null | Value::String(_) | Value::Number(_))
    ) {
        return (None, invalid("id is a text or a number"));
    }
    let id = id.map(|id| Id::sent(body, &id));
    if request["jsonrpc"] != "2.0" {
        return (id, invalid("jsonrpc is \"2.0\""));
    }
    let Value::String(method) = request["method"].take() else {
        return (id, invalid("method is a text"));
    };
    let read = match request["params"].take() {
        Value::Null => Ok((method, json!({}))),
        params @ Value::Object(_) => Ok((method, params)),
        _ => Err(Error::field("params", "params is an object").into()),
    };
    (id, read)
}

async fn call(
    gateway: &Gateway,
    asked: &ParsedRequest,
    method: &str,
    params: Value,
) -> Result<Outcome, Fault> {
    let (operations, mut call) = (gateway.operations(), asked.call());
    call.witness = call.witness.of_part(method);
    match Version::of(asked.version().as_deref())? {
        Version::One => one(gateway, &call, method, params).await,
        Version::Old => {
            call.is_old = true;
            old(operations, &call, method, params).await
        }
    }
}

async fn one(
    gateway: &Gateway,
    call: &Call,
    method: &str,
    params: Value,
) -> Result<Outcome, Fault> {
    let operations = gateway.operations();
    Ok(match method {
        "SendMessage" => done(&operations.send_message(call, from_json(params)?).await?),
        "GetTask" => done(&operations.get_task(call, from_json(params)?).await?),
        "CancelTask" => done(&operations.cancel_task(call, from_json(params)?).await?),
        "ListTasks" => {
            let page = operations.list_tasks(call, from_json(params)?).await?;
            Outcome::Done(list_json(&page))
        }
        "SendStreamingMessage" => {
            let permit = call.stream()?;
            let shows = operations.send_streaming_message(call, from_json(params)?);
            Outcome::Stream(shows.await?, to_json, permit)
        }
        "SubscribeToTask" => {
            let permit = call.stream()?;
            let shows = operations.subscribe_to_task(call, from_json(params)?);
            Outcome::Stream(shows.await?, to_json, permit)
        }
        "GetExtendedAgentCard" => {
            let card = gateway.extended_card(call, from_json(params)?);
            done(&card.await?)
        }
        "CreateTaskPushNotificationConfig" => {
            let config = operations.create_push_config(call, from_json(params)?);
            done(&config.await?)
        }
        "GetTaskPushNotificationConfig" => {
            let config = operations.get_push_config(call, from_json(params)?);
            done(&config.await?)
        }
        "ListTaskPushNotificationConfigs" => {
            let page = operations.list_push_configs(call, from_json(params)?);
            Outcome::Done(configs_json(&page.await?))
        }
        "DeleteTaskPushNotificationConfig" => {
            let deleted = operations.delete_push_config(call, from_json(params)?);
            deleted.await?;
            Outcome::Done(Value::Null)
        }
        method => return Err(no_method(method, &METHODS)),
    })
}

async fn old(
    operations: &Operations,
    call: &Call,
    method: &str,
    params: Value,
) -> Result<Outcome, Fault> {
    Ok(match method {
        "message/send" => {
            let request = old::send_request(params)?;
            let answer = operations.send_message(call, request).await?;
            Outcome::Done(old::send_response(&answer))
        }
        "message/stream" => {
            let request = old::send_request(params)?;
            let permit = call.stream()?;
            let shows = operations.send_streaming_message(call, request).await?;
            Outcome::Stream(shows, old::stream_response, permit)
        }
        "tasks/get" => {
            let task = operations.get_task(call, from_json(params)?).await?;
            Outcome::Done(old::task(&task))
        }
        "tasks/cancel" => {
            let task = operations.cancel_task(call, from_json(params)?).await?;
            Outcome::Done(old::task(&task))
        }
        "tasks/resubscribe" => {
            let permit = call.stream()?;
            let shows = operations
                .subscribe_to_task(call, from_json(params)?)
                .await?;
            Outcome::Stream(shows, old::stream_response, permit)
        }
        "tasks/pushNotificationConfig/set" => {
            let request = old::set_config_request(params)?;
            let config = operations.create_push_config(call, request).await?;
            Outcome::Done(old::config(&config))
        }
        "tasks/pushNotificationConfig/get" => {
            let request = from_json(old::config_params(params))?;
            let config = operations.get_push_config(call, request).await?;
            Outcome::Done(old::config(&config))
        }
        "tasks/pushNotificationConfig/list" => {
            let request = from_json(old::config_params(params))?;
            let page = operations.list_push_configs(call, request).await?;
            Outcome::Done(page.configs.iter().map(old::config).collect())
        }
        "tasks/pushNotificationConfig/delete" => {
            let request = from_json(old::config_params(params))?;
            operations.delete_push_config(call, request).await?;
            Outcome::Done(Value::Null)
        }
        method => return Err(no_method(method, &old::METHODS)),
    })
}

fn no_method(method: &str, methods: &[&str]) -> Fault {
    let hint = match METHODS.contains(&method) {
        true => "; it is one of A2A 1.0: send the header A2A-Version: 1.0".to_owned(),
        false => format!("; there are {}", methods.join(", ")),
    };
    Fault::Protocol(METHOD_NOT_FOUND, format!("no method {method:?}{hint}"))
}

fn done<M: Message + Name>(message: &M) -> Outcome {
    Outcome::Done(to_json(message))
}

fn failed(id: &Id, fault: &Fault) -> String {
    let error = match fault {
        Fault::Protocol(code, message) => json!({"code": code, "message": message}),
        Fault::Failed(error) => {
            let mut json = json!({"code": error.kind.code(), "message": error.message});
            let details = error.details();
            if !details.is_empty() {
                json["data"] = details.into();
            }
            json
        }
    };
    id.answer("error", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(body: &str) -> Value {
        let (id, request) = read(body.as_bytes());
        let Err(fault) = request else {
            return Value::Null;
        };
        let answer = failed(&id.unwrap_or_default(), &fault);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        json!([answer["id"], answer["error"]["code"]])
    }

    /// spec: A2A 1.0.1 §9.3, §9.5
    #[test]
    fn what_is_no_request_is_answered_as_json_rpc_says() {
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#),
            Value::Null
        );
        assert_eq!(fault("{"), json!([null, PARSE_ERROR]));
        assert_eq!(fault("[]"), json!([null, INVALID_REQUEST]));
        assert_eq!(
            fault(r#"{"id":"a","method":"GetTask"}"#),
            json!(["a", INVALID_REQUEST])
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#),
            json!([null, INVALID_REQUEST])
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":5}"#),
            json!([1, INVALID_REQUEST])
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":5,"id":"b"}"#),
            json!(["b", INVALID_REQUEST])
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#),
            json!([1, -32602])
        );
    }
}
