//! JSON-RPC (specification §9), of A2A 1.0 and 0.3.

use std::time::Duration;

use futures_util::StreamExt;
use http::Method;
use prost::{Message, Name};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Failure,
    failure::{of_http, of_json_rpc},
    http::{Answer, Call, Http, events},
    remote::{Ask, Events},
};
use crate::{
    extensions,
    json::{from_json, to_json},
    old, v1,
};

#[derive(Clone, Debug)]
pub(super) struct JsonRpc {
    pub(super) http: Http,
    /// A2A 0.3.
    pub(super) is_old: bool,
}

impl JsonRpc {
    pub(super) async fn send(
        &self,
        request: &v1::SendMessageRequest,
        time: Duration,
    ) -> Result<v1::SendMessageResponse, Failure> {
        let mut call = match self.is_old {
            true => self.call("message/send", old::send_params(request)),
            false => self.call("SendMessage", to_json(request)),
        };
        call.extensions = extensions::header(request.message.as_ref());
        let result = self.answer(&call, time).await?;
        Ok(match self.is_old {
            true => old::read_send(result)?,
            false => from_json(result)?,
        })
    }

    pub(super) async fn get(
        &self,
        request: &v1::GetTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        if self.is_old {
            let result = self.result("tasks/get", to_json(request), time);
            return Ok(old::read_task(result.await?)?);
        }
        self.one("GetTask", request, time).await
    }

    pub(super) async fn list(
        &self,
        request: &v1::ListTasksRequest,
        time: Duration,
    ) -> Result<v1::ListTasksResponse, Failure> {
        if self.is_old {
            let none = crate::error::Kind::UnsupportedOperation;
            return Err(of_json_rpc(&json!({
                "code": none.code(), "message": "A2A 0.3 does not list tasks",
            })));
        }
        self.one("ListTasks", request, time).await
    }

    pub(super) async fn cancel(
        &self,
        request: &v1::CancelTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        if self.is_old {
            let result = self.result("tasks/cancel", to_json(request), time);
            return Ok(old::read_task(result.await?)?);
        }
        self.one("CancelTask", request, time).await
    }

    pub(super) async fn stream(&self, ask: &Ask, time: Duration) -> Result<Events, Failure> {
        let (method, params) = match (ask, self.is_old) {
            (Ask::Send(request), false) => ("SendStreamingMessage", to_json(&**request)),
            (Ask::Send(request), true) => ("message/stream", old::send_params(request)),
            (Ask::Subscribe(request), false) => ("SubscribeToTask", to_json(request)),
            (Ask::Subscribe(request), true) => ("tasks/resubscribe", to_json(request)),
        };
        let read = match self.is_old {
            true => old::read_stream,
            false => from_json::<v1::StreamResponse>,
        };
        let mut call = self.call(method, params);
        if let Ask::Send(request) = ask {
            call.extensions = extensions::header(request.message.as_ref());
        }
        match self.http.call(&call, time).await? {
            Answer::Events(body) => {
                let events = events(body).map(move |event| Ok(read(result_of(event?)?)?));
                Ok(events.boxed())
            }
            // An error, or the only event of a server that does not stream after all.
            Answer::Json(status, answer) => {
                let event = read(answered(status, answer)?)?;
                Ok(futures_util::stream::iter([Ok(event)]).boxed())
            }
        }
    }

    async fn one<A: Message + Name + Default>(
        &self,
        method: &str,
        request: &impl Name,
        time: Duration,
    ) -> Result<A, Failure> {
        Ok(from_json(
            self.result(method, to_json(request), time).await?,
        )?)
    }

    async fn result(&self, method: &str, params: Value, time: Duration) -> Result<Value, Failure> {
        self.answer(&self.call(method, params), time).await
    }

    async fn answer(&self, call: &Call, time: Duration) -> Result<Value, Failure> {
        match self.http.call(call, time).await? {
            Answer::Json(status, answer) => answered(status, answer),
            Answer::Events(_) => Err(Failure::Malformed("it is a stream".to_owned())),
        }
    }

    fn call(&self, method: &str, params: Value) -> Call {
        let id = Uuid::now_v7().to_string();
        Call {
            method: Method::POST,
            path: String::new(),
            query: String::new(),
            body: Some(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})),
            extensions: None,
        }
    }
}

/// The result of a whole answer.
fn answered(status: u16, answer: Value) -> Result<Value, Failure> {
    let is_rpc = answer.get("result").is_some() || answer["error"]["code"].is_i64();
    match (200..300).contains(&status) || is_rpc && !matches!(status, 401 | 403) {
        true => result_of(answer),
        false => Err(of_http(status, &answer)),
    }
}

fn result_of(mut answer: Value) -> Result<Value, Failure> {
    if answer["error"].is_object() {
        return Err(of_json_rpc(&answer["error"]));
    }
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(Failure::Malformed(
            "it has neither result nor error".to_owned(),
        )),
    }
}
