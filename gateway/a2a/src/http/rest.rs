//! HTTP+JSON (specification §11).

use agenthub_access::StreamPermit;
use axum::{
    http::{HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::StreamExt;
use prost::{Message, Name};
use serde_json::{Map, Value, json};

use super::{ParsedRequest, not_allowed, path::Operation, query, reply};
use crate::{
    Gateway,
    error::{Error, Kind},
    json::{from_json, parse, to_json},
    operations::Shows,
    v1,
    version::Version,
};

/// Parameters of queries that are no text.
const NUMBERS: [&str; 2] = ["pageSize", "historyLength"];
const FLAGS: [&str; 1] = ["includeArtifacts"];

pub(super) async fn answer(
    gateway: &Gateway,
    asked: &ParsedRequest,
    operation: Operation,
) -> Response {
    let allow = methods(&operation);
    if !allow.split(", ").any(|m| m == asked.method.as_str()) {
        return not_allowed(allow);
    }
    let answered = answered(gateway, asked, operation).await;
    in_kind(asked, answered.unwrap_or_else(|error| failed(&error)))
}

/// The answer as `application/json` to a request of that type, which clients of 1.0.0 send. To others it is what it should be (§11.1).
fn in_kind(asked: &ParsedRequest, mut response: Response) -> Response {
    let names = |name, media_type| asked.header(name).is_some_and(|h| h.contains(media_type));
    let is_plain = names("content-type", reply::JSON) && !names("accept", reply::A2A_JSON);
    let headers = response.headers_mut();
    let content_type = headers.get(header::CONTENT_TYPE);
    if is_plain && content_type.is_some_and(|t| t == reply::A2A_JSON) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply::JSON));
    }
    response
}

/// The methods of an operation (§5.3). To subscribe is both: the table of the specification says POST, its service GET.
fn methods(operation: &Operation) -> &'static str {
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::CancelTask(_) => {
            "POST"
        }
        Operation::ListTasks | Operation::GetTask(_) | Operation::ExtendedCard => "GET",
        Operation::SubscribeToTask(_) => "GET, POST",
        Operation::Configs(_) => "GET, POST",
        Operation::Config(..) => "GET, DELETE",
    }
}

async fn answered(
    gateway: &Gateway,
    asked: &ParsedRequest,
    operation: Operation,
) -> Result<Response, Error> {
    Version::one(asked.version().as_deref())?;
    let (operations, call) = (gateway.operations(), asked.call());
    let tenant = asked.path.tenant.as_str();
    Ok(match operation {
        Operation::SendMessage => {
            let request = body(asked)?;
            done(&operations.send_message(&call, request).await?)
        }
        Operation::SendStreamingMessage => {
            let request = body(asked)?;
            let permit = call.stream()?;
            let shows = operations.send_streaming_message(&call, request);
            streamed(shows.await?, permit)
        }
        Operation::GetTask(id) => {
            let request = from_query(asked, &[("id", &id)])?;
            done(&operations.get_task(&call, request).await?)
        }
        Operation::ListTasks => {
            let request = from_query(asked, &[])?;
            let page = operations.list_tasks(&call, request).await?;
            reply::json(StatusCode::OK, reply::A2A_JSON, &list_json(&page))
        }
        Operation::CancelTask(id) => {
            let mut request: v1::CancelTaskRequest = match asked.body.is_empty() {
                true => v1::CancelTaskRequest {
                    tenant: tenant.to_owned(),
                    ..Default::default()
                },
                false => body(asked)?,
            };
            request.id = as_in_path("id", &request.id, id)?;
            done(&operations.cancel_task(&call, request).await?)
        }
        Operation::SubscribeToTask(id) => {
            let request = v1::SubscribeToTaskRequest {
                tenant: tenant.to_owned(),
                id,
            };
            let permit = call.stream()?;
            streamed(operations.subscribe_to_task(&call, request).await?, permit)
        }
        Operation::Configs(task_id) if asked.method == Method::POST => {
            let mut request: v1::TaskPushNotificationConfig = body(asked)?;
            request.task_id = as_in_path("taskId", &request.task_id, task_id)?;
            done(&operations.create_push_config(&call, request).await?)
        }
        Operation::Configs(task_id) => {
            let request = from_query(asked, &[("taskId", &task_id)])?;
            let page = operations.list_push_configs(&call, request).await?;
            reply::json(StatusCode::OK, reply::A2A_JSON, &configs_json(&page))
        }
        Operation::Config(task_id, id) if asked.method == Method::DELETE => {
            let request = v1::DeleteTaskPushNotificationConfigRequest {
                tenant: tenant.to_owned(),
                task_id,
                id,
            };
            operations.delete_push_config(&call, request).await?;
            reply::json(StatusCode::OK, reply::A2A_JSON, &json!({}))
        }
        Operation::Config(task_id, id) => {
            let request = v1::GetTaskPushNotificationConfigRequest {
                tenant: tenant.to_owned(),
                task_id,
                id,
            };
            done(&operations.get_push_config(&call, request).await?)
        }
        Operation::ExtendedCard => {
            let request = v1::GetExtendedAgentCardRequest {
                tenant: tenant.to_owned(),
            };
            done(&gateway.extended_card(&call, request).await?)
        }
    })
}

/// The request in the body, for the tenant in the path if there is one.
fn body<M: Message + Name + Default>(asked: &ParsedRequest) -> Result<M, Error> {
    if !asked.is_json() {
        let fault = "the Content-Type is application/a2a+json or application/json";
        return Err(Kind::ContentTypeNotSupported.with(fault));
    }
    let mut request = parse(&asked.body)?;
    if let Value::Object(fields) = &mut request
        && !asked.path.tenant.is_empty()
    {
        fields.insert("tenant".to_owned(), asked.path.tenant.clone().into());
    }
    Ok(from_json(request)?)
}

/// The value of a field that the path has; the body may repeat it.
fn as_in_path(field: &str, of_body: &str, of_path: String) -> Result<String, Error> {
    if !of_body.is_empty() && of_body != of_path {
        let fault = format!("{field} is {of_body:?}, and {of_path:?} in the path");
        return Err(Error::field(field, fault));
    }
    Ok(of_path)
}

/// The request in the query (§11.5) and the path.
fn from_query<M: Message + Name + Default>(
    asked: &ParsedRequest,
    path: &[(&str, &str)],
) -> Result<M, Error> {
    let mut request = Map::new();
    for (name, value) in query(&asked.query) {
        let value = if NUMBERS.contains(&name.as_str()) {
            let number: Result<i64, _> = value.parse();
            number
                .map(Value::from)
                .map_err(|_| Error::field(&name, format!("{name} is {value:?}; it is a number")))?
        } else if FLAGS.contains(&name.as_str()) {
            match value.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                _ => {
                    let fault = format!("{name} is {value:?}; it is true or false");
                    return Err(Error::field(&name, fault));
                }
            }
        } else {
            value.into()
        };
        request.insert(name, value);
    }
    for (name, value) in path {
        request.insert((*name).to_owned(), (*value).into());
    }
    if !asked.path.tenant.is_empty() {
        request.insert("tenant".to_owned(), asked.path.tenant.clone().into());
    }
    Ok(from_json(Value::Object(request))?)
}

fn done<M: Message + Name>(message: &M) -> Response {
    reply::json(StatusCode::OK, reply::A2A_JSON, &to_json(message))
}

fn streamed(shows: Shows, permit: StreamPermit) -> Response {
    let documents = shows.map(|shown| match shown {
        Ok(shown) => to_json(&shown).to_string(),
        Err(error) => status(&error).to_string(),
    });
    reply::events(documents, permit)
}

/// A page of tasks, with the fields that are always there (§3.1.4).
pub(super) fn list_json(page: &v1::ListTasksResponse) -> Value {
    let mut json = to_json(page);
    if let Value::Object(fields) = &mut json {
        fields.entry("tasks").or_insert_with(|| json!([]));
        fields.entry("nextPageToken").or_insert_with(|| json!(""));
        fields.entry("pageSize").or_insert_with(|| json!(0));
        fields.entry("totalSize").or_insert_with(|| json!(0));
    }
    json
}

/// A page of configurations, with the list even if it is empty.
pub(super) fn configs_json(page: &v1::ListTaskPushNotificationConfigsResponse) -> Value {
    let mut json = to_json(page);
    if let Value::Object(fields) = &mut json {
        fields.entry("configs").or_insert_with(|| json!([]));
    }
    json
}

/// An error as HTTP+JSON has it (§11.6).
pub(super) fn failed(error: &Error) -> Response {
    let mut response = reply::json(error.kind.http(), reply::A2A_JSON, &status(error));
    reply::challenge(&mut response);
    reply::come_back(&mut response, error);
    response
}

/// The error for a request that is none, or whose body was not read (§11.6).
pub(super) fn refused(status: StatusCode, reason: &str) -> Response {
    let name = match status {
        StatusCode::REQUEST_TIMEOUT => "DEADLINE_EXCEEDED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::METHOD_NOT_ALLOWED => "UNIMPLEMENTED",
        _ => "INVALID_ARGUMENT",
    };
    let error = json!({"error": {
        "code": status.as_u16(),
        "status": name,
        "message": reason,
        "details": [],
    }});
    reply::json(status, reply::A2A_JSON, &error)
}

fn status(error: &Error) -> Value {
    json!({"error": {
        "code": error.kind.http().as_u16(),
        "status": grpc_name(error.kind),
        "message": error.message,
        "details": error.details(),
    }})
}

/// The name of the gRPC status.
fn grpc_name(kind: Kind) -> &'static str {
    use tonic::Code;
    match kind.grpc() {
        Code::NotFound => "NOT_FOUND",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::Unauthenticated => "UNAUTHENTICATED",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::Unavailable => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: A2A 1.0.1 §3.1.4
    #[test]
    fn a_page_without_tasks_has_every_field() {
        let empty = list_json(&v1::ListTasksResponse::default());
        assert_eq!(
            empty,
            json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0})
        );
    }

    /// spec: A2A 1.0.1 §11.6
    #[test]
    fn an_error_says_what_it_is() {
        let error = Error::task_not_found("t");
        assert_eq!(
            status(&error),
            json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "task \"t\" is not known here", "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org", "metadata": {"taskId": "t"},
            }]}})
        );
        assert!(methods(&Operation::SubscribeToTask(String::new())).contains("GET"));
    }
}
