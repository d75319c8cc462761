//! HTTP+JSON (specification §11).

use std::time::Duration;

use futures_util::StreamExt;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prost::{Message, Name};
use serde_json::Value;

use super::{
    Failure,
    failure::of_http,
    http::{Answer, Call, Http, events},
    remote::{Ask, Events},
};
use crate::{
    extensions,
    json::{from_json, to_json},
    v1,
};

/// Characters of a path segment that are written as they are.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[derive(Clone, Debug)]
pub(super) struct Rest {
    pub(super) http: Http,
}

impl Rest {
    pub(super) async fn send(
        &self,
        request: &v1::SendMessageRequest,
        time: Duration,
    ) -> Result<v1::SendMessageResponse, Failure> {
        let mut call = post(&request.tenant, "/message:send", to_json(request));
        call.extensions = extensions::header(request.message.as_ref());
        self.one(&call, time).await
    }

    pub(super) async fn get(
        &self,
        request: &v1::GetTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        let path = format!("/tasks/{}", segment(&request.id));
        let query = query(to_json(request), &["id", "tenant"]);
        self.one(&get(&request.tenant, &path, query), time).await
    }

    pub(super) async fn list(
        &self,
        request: &v1::ListTasksRequest,
        time: Duration,
    ) -> Result<v1::ListTasksResponse, Failure> {
        let query = query(to_json(request), &["tenant"]);
        self.one(&get(&request.tenant, "/tasks", query), time).await
    }

    pub(super) async fn cancel(
        &self,
        request: &v1::CancelTaskRequest,
        time: Duration,
    ) -> Result<v1::Task, Failure> {
        let path = format!("/tasks/{}:cancel", segment(&request.id));
        let mut body = to_json(request);
        if let Value::Object(fields) = &mut body {
            fields.remove("id");
        }
        self.one(&post(&request.tenant, &path, body), time).await
    }

    pub(super) async fn stream(&self, ask: &Ask, time: Duration) -> Result<Events, Failure> {
        let answer = match ask {
            Ask::Send(request) => {
                let mut call = post(&request.tenant, "/message:stream", to_json(&**request));
                call.extensions = extensions::header(request.message.as_ref());
                self.http.call(&call, time).await?
            }
            Ask::Subscribe(request) => {
                let path = format!("/tasks/{}:subscribe", segment(&request.id));
                let call = get(&request.tenant, &path, String::new());
                match self.http.call(&call, time).await? {
                    // Until 1.0.1 it was not said which method it is.
                    Answer::Json(405, _) => {
                        let call = post(&request.tenant, &path, Value::Object(Default::default()));
                        self.http.call(&call, time).await?
                    }
                    answer => answer,
                }
            }
        };
        match answer {
            Answer::Events(body) => {
                let events = events(body).map(|event| Ok(from_json(answered(200, event?)?)?));
                Ok(events.boxed())
            }
            Answer::Json(status, answer) => {
                let event = from_json(answered(status, answer)?)?;
                Ok(futures_util::stream::iter([Ok(event)]).boxed())
            }
        }
    }

    async fn one<A: Message + Name + Default>(
        &self,
        call: &Call,
        time: Duration,
    ) -> Result<A, Failure> {
        match self.http.call(call, time).await? {
            Answer::Json(status, answer) => Ok(from_json(answered(status, answer)?)?),
            Answer::Events(_) => Err(Failure::Malformed("it is a stream".to_owned())),
        }
    }
}

fn answered(status: u16, answer: Value) -> Result<Value, Failure> {
    if !answer["error"].is_null() {
        let code = answer["error"]["code"]
            .as_u64()
            .and_then(|c| u16::try_from(c).ok());
        let status = match status {
            200..300 => code.unwrap_or(500),
            status => status,
        };
        return Err(of_http(status, &answer));
    }
    match status {
        200..300 => Ok(answer),
        status => Err(of_http(status, &answer)),
    }
}

/// The routing key of a request stands in front of its path.
fn path_of(tenant: &str, path: &str) -> String {
    match tenant {
        "" => path.to_owned(),
        tenant => format!("/{}{path}", segment(tenant)),
    }
}

fn post(tenant: &str, path: &str, mut body: Value) -> Call {
    if let Value::Object(fields) = &mut body {
        fields.remove("tenant");
    }
    Call {
        method: Method::POST,
        path: path_of(tenant, path),
        query: String::new(),
        body: Some(body),
        extensions: None,
    }
}

fn get(tenant: &str, path: &str, query: String) -> Call {
    Call {
        method: Method::GET,
        path: path_of(tenant, path),
        query,
        body: None,
        extensions: None,
    }
}

fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// The fields of a request but for those in the path, as a query (§11.5).
fn query(request: Value, without: &[&str]) -> String {
    let Value::Object(fields) = request else {
        return String::new();
    };
    let fields = fields.into_iter();
    let fields = fields.filter(|(name, _)| !without.contains(&name.as_str()));
    let pairs = fields.map(|(name, value)| {
        let value = match value {
            Value::String(text) => text,
            value => value.to_string(),
        };
        format!("{name}={}", segment(&value))
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: A2A 1.0.1 §11.5
    #[test]
    fn requests_without_a_body_are_written_into_path_and_query() {
        let list = v1::ListTasksRequest {
            tenant: "a b".into(),
            context_id: "c/d&e".into(),
            status: v1::TaskState::Working.into(),
            page_size: Some(5),
            include_artifacts: Some(true),
            ..Default::default()
        };
        let query = query(to_json(&list), &["tenant"]);
        assert_eq!(
            query,
            "contextId=c%2Fd%26e&status=TASK_STATE_WORKING&pageSize=5&includeArtifacts=true"
        );
        assert_eq!(get("a b", "/tasks", query).path, "/a%20b/tasks");
        assert_eq!(post("", "/message:send", Value::Null).path, "/message:send");
    }
}
