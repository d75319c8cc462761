//! Bodies and queries of requests, read within bounds.

use std::time::Duration;

use axum::{
    body::HttpBody,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderMap, header, request::Parts},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mediatype::{MediaType, names};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};
use tokio::time::timeout;

use super::problem::{Kind, Problem};
use crate::runs::StartRequest;

/// The largest body, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The longest that a body may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body of JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

/// A body of JSON that may be missing.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

/// The parameters of the query.
#[derive(Debug)]
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        check_type(&head.headers)?;
        parse(&read(body).await?).map(Self)
    }
}

/// A brief, or a workflow with its input, by its field `workflow`.
impl<S: Sync> FromRequest<S> for Body<StartRequest> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        check_type(&head.headers)?;
        let bytes = read(body).await?;
        let kind = serde_json::from_slice::<Kinds>(&bytes);
        let asked = match kind.is_ok_and(|kind| kind.workflow.is_some()) {
            true => StartRequest::Workflow(Box::new(parse(&bytes)?)),
            false => StartRequest::Brief(Box::new(parse(&bytes)?)),
        };
        Ok(Self(asked))
    }
}

/// The field by which requests for runs are told apart.
#[derive(Deserialize)]
struct Kinds {
    workflow: Option<IgnoredAny>,
}

impl<S: Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(body).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_type(&head.headers)?;
        parse(&bytes).map(Self)
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&head.uri);
        let Query(parameters) = query.map_err(|rejection| {
            let text = rejection.body_text();
            let why = text
                .rsplit_once("query string: ")
                .map_or(&*text, |(_, why)| why);
            Kind::InvalidParameter.with(format!("in the query, {why}"))
        })?;
        Ok(Self(parameters))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let said = headers.get(header::CONTENT_TYPE);
    let said = said
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let is_json = MediaType::parse(said).is_ok_and(|media| {
        media.ty == names::APPLICATION
            && (media.subty == names::JSON || media.suffix == Some(names::JSON))
    });
    match is_json {
        true => Ok(()),
        false => Err(Kind::UnsupportedMediaType
            .with("only JSON is read: send it with `Content-Type: application/json`")),
    }
}

async fn read(body: axum::body::Body) -> Result<Vec<u8>, Problem> {
    let too_large = || Kind::TooLarge.with(format!("at most {MAX_BYTES} bytes are taken"));
    // A client that asks before it sends is told before it sends.
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return Err(too_large());
    }
    let all = Limited::new(body, MAX_BYTES).collect();
    match timeout(PATIENCE, all).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Kind::InvalidJson.with(format!("the body broke off: {error}"))),
        Err(_) => Err(Kind::TooSlow.with(format!(
            "it has {} s to come as a whole",
            PATIENCE.as_secs()
        ))),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|first| b"[\"tfn-0123456789".contains(first)) {
        return Err(Problem::field("", "the body is not an object"));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| explain(&path(error.path()), error.inner()))?;
    reader.end().map_err(|error| explain("", &error))?;
    Ok(value)
}

fn explain(at: &str, error: &serde_json::Error) -> Problem {
    match error.classify() {
        Category::Data => Problem::field(at, format!("is wrong: {error}")),
        Category::Syntax | Category::Eof | Category::Io => {
            Kind::InvalidJson.with(error.to_string())
        }
    }
}

/// A path as people write it.
fn path(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Unknown => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_cortex::brief::Brief;

    fn problem(text: &str) -> Problem {
        parse::<Brief>(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn what_is_no_json_is_said_with_its_place() {
        for (text, place) in [
            ("", "line 1 column 0"),
            ("{\"objective\":\n  oops}", "line 2 column 3"),
            ("{\"objective\": \"a\"} more", "line 1 column 20"),
            ("{\"objective\": \"a", "line 1 column 16"),
            (
                &format!(
                    r#"{{"objective": "a", "payload": {{"a": {}"#,
                    "[".repeat(10_000)
                ),
                "recursion",
            ),
        ] {
            let problem = problem(text);
            assert_eq!(problem.details().status, 400, "{problem:?}");
            assert!(problem.details().detail.contains(place), "{problem:?}");
        }
    }

    #[test]
    fn a_field_that_does_not_fit_is_said_with_its_path() {
        for (text, pointer, part) in [
            ("[\"objective\"]", "#", "not an object"),
            ("null", "#", "not an object"),
            ("{}", "#", "missing field `objective`"),
            (r#"{"objective": 7}"#, "#/objective", "string"),
            (
                r#"{"objective": "a", "mood": 1}"#,
                "#/mood",
                "unknown field `mood`",
            ),
            (
                r#"{"objective": "a", "constraints": {"executionDepth": -1}}"#,
                "#/constraints/executionDepth",
                "u32",
            ),
            (r#"{"objective": "a", "objective": "b"}"#, "#", "duplicate"),
            (r#"{"objective": "a", "mode": "x"}"#, "#/mode", "`app`"),
        ] {
            let problem = problem(text);
            assert_eq!(problem.details().status, 422, "{problem:?}");
            assert_eq!(problem.details().errors[0].pointer, pointer, "{problem:?}");
            assert!(problem.details().detail.contains(part), "{problem:?}");
        }
    }

    #[test]
    fn json_under_any_of_its_names_is_read() {
        let is_read = |said: &str| {
            let mut headers = HeaderMap::new();
            if !said.is_empty() {
                headers.insert(header::CONTENT_TYPE, said.parse().expect("a header"));
            }
            check_type(&headers).is_ok()
        };
        assert!(is_read("application/json"));
        assert!(is_read("Application/JSON; charset=utf-8"));
        assert!(is_read("application/vnd.example+json"));
        assert!(!is_read(""));
        assert!(!is_read("text/plain"));
        assert!(!is_read("text/json"));
        assert!(!is_read("application/x-www-form-urlencoded"));
    }

    /// A body that never ends is not waited for.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_given_up() {
        let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
        let slow = read(axum::body::Body::from_stream(never)).await;
        assert_eq!(slow.expect_err("it is given up").details().status, 408);
    }
}
