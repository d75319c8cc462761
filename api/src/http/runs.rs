//! The requests that there are, and their answers.

use agenthub_cortex::brief::{Budget, Constraints};
use agenthub_sdk::{durable::ForkChanges, runs::Decision};
use axum::{
    Json,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::{
    BASE, accept,
    asking::Asking,
    body::{Body, OptionalBody, Parameters},
    events::{self, EVENTS},
    key::idempotency_key,
    problem::{Details, Kind, Problem},
};
use crate::runs::{Error, ListQuery, RunPage, RunState, RunView, StartRequest};

const JSON: &str = "application/json";

/// Form of an idempotency key.
const KEY: &str = "1 to 255 printable ASCII characters, with or without quotes";

/// Name of the decider where the request gives none.
const SOMEBODY: &str = "somebody over HTTP";

/// The longest text for the record, in characters.
const MAX_WORDS: usize = 1_000;

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

/// Starts a run: of a brief, or of a workflow with its input.
///
/// It is answered as soon as the run has begun, or as `submitted` if it has not after 5 s; the run goes on whether or not anybody watches. A client that prefers `text/event-stream` gets
/// all frames of the run instead, as from `/v1/runs/{id}/events`; if it leaves, the run goes on.
///
/// The same `Idempotency-Key` with the same body is the same run, however often it comes.
#[utoipa::path(
    post, path = "/runs", tag = "runs", operation_id = "startRun",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = KEY)),
    request_body(content = StartRequest, example = json!({
        "objective": "Announce the opening of our second bakery",
        "payload": {"audience": "neighbours"},
        "constraints": {"qualityThreshold": 0.8, "executionDepth": 3, "acceptanceCriteria": ["It names the street"]},
    })),
    responses(
        (status = 201, description = "The run has begun, or had with this key", body = RunView,
            headers(("Location" = String, description = "The run"))),
        (status = 200, description = "The frames of the run. The `data` of each event is a `Frame`.", body = String,
            content_type = "text/event-stream", headers(("Location" = String, description = "The run"))),
        (status = 409, description = "Another run of the thread is active: `run`", body = Details,
            content_type = "application/problem+json"),
        (status = 422, description = "A field is not as it must be, or the key is that of another body", body = Details,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn start(
    http: Asking,
    headers: HeaderMap,
    Body(asked): Body<StartRequest>,
) -> Result<Response, Problem> {
    let form = accept::choose(&headers, &[(Form::Json, JSON), (Form::Events, EVENTS)])?;
    let key = idempotency_key(&headers)?;
    let permit = match form {
        Form::Json => None,
        Form::Events => Some(http.stream()?),
    };
    let runs = http.runs()?;
    let trace = headers.get("traceparent");
    let trace = trace.and_then(|t| t.to_str().ok()?.parse().ok());
    let started = match asked {
        StartRequest::Brief(brief) => runs.start(*brief, key.as_deref(), trace).await?,
        StartRequest::Workflow(asked) => runs.carry_out(*asked, key.as_deref(), trace).await?,
    };
    let run = started.run;
    let Some(permit) = permit else {
        return Ok(created(run));
    };
    let frames = runs.frames(&run.id, 0).await?;
    let mut answer = located(&run.id, events::stream(frames, http.closing()));
    answer.extensions_mut().insert(permit);
    Ok(answer)
}

/// Lists runs, latest first.
#[utoipa::path(
    get, path = "/runs", tag = "runs", operation_id = "listRuns", params(Listing),
    responses((status = 200, description = "A page of runs", body = RunPage))
)]
pub(super) async fn list(
    http: Asking,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<RunPage>, Problem> {
    let page = http.runs()?.list(listing.into()).await;
    Ok(Json(page.map_err(|error| match error {
        Error::Invalid { at, why } => Kind::InvalidParameter.with(format!("`{at}` {why}")),
        error => error.into(),
    })?))
}

/// Filter of listed runs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Those in this state.
    state: Option<RunState>,
    /// Those of this thread.
    thread_id: Option<String>,
    /// `app`, `chat`, or the name of a strategy.
    mode: Option<String>,
    /// The most on a page; 50 if not given.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `nextPageToken` of the page before.
    page_token: Option<String>,
    /// Only runs that no other run led to.
    #[serde(default)]
    top_only: bool,
}

impl From<Listing> for ListQuery {
    fn from(listing: Listing) -> Self {
        let Listing {
            state,
            thread_id,
            mode,
            limit,
            page_token,
            top_only,
        } = listing;
        Self {
            state,
            thread_id,
            mode,
            limit,
            page_token,
            top_only,
        }
    }
}

/// Shows a run.
#[utoipa::path(
    get, path = "/runs/{id}", tag = "runs", operation_id = "getRun",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "The run", body = RunView),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn get(http: Asking, Path(id): Path<String>) -> Result<Json<RunView>, Problem> {
    Ok(Json(http.runs()?.get(&id).await?))
}

/// Calls a run back.
///
/// It is answered when the run is told to stop; it is over when everything that it has out has stopped.
#[utoipa::path(
    post, path = "/runs/{id}/cancel", tag = "runs", operation_id = "cancelRun",
    params(("id" = String, Path, description = "The run")),
    request_body = Option<Cancelling>,
    responses(
        (status = 202, description = "The run is told to stop, or was before", body = RunView),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "It has ended by itself", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    http: Asking,
    Path(id): Path<String>,
    OptionalBody(Cancelling { reason }): OptionalBody<Cancelling>,
) -> Result<Response, Problem> {
    let reason = bounded("reason", reason)?;
    let run = http.runs()?.cancel(&id, &reason).await?;
    Ok((StatusCode::ACCEPTED, Json(run)).into_response())
}

/// Why a run is called back.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CancelRequest)]
pub(super) struct Cancelling {
    /// In words, for the record.
    #[serde(default)]
    #[schema(max_length = 1000)]
    reason: String,
}

/// Answers what a run asks a person for.
///
/// Each approval is answered once, and is for exactly what was shown. A 503 may say that the answer is not written down yet: see then whether
/// the run still waits for it.
#[utoipa::path(
    post, path = "/runs/{id}/approvals/{approvalId}", tag = "runs", operation_id = "decideApproval",
    params(
        ("id" = String, Path, description = "The run"),
        ("approvalId" = String, Path, description = "One of the run's `approvals`"),
    ),
    request_body(content = Deciding, example = json!({"approved": true, "by": "ann"})),
    responses(
        (status = 200, description = "It is answered", body = RunView),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "The run does not wait for it, or no longer", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn decide(
    http: Asking,
    Path((id, approval)): Path<(String, String)>,
    Body(deciding): Body<Deciding>,
) -> Result<Json<RunView>, Problem> {
    let by = bounded("by", deciding.by)?;
    let decision = Decision {
        approved: deciding.approved,
        by: match by.trim().is_empty() {
            true => SOMEBODY.to_owned(),
            false => by,
        },
        comment: bounded("comment", deciding.comment)?,
    };
    Ok(Json(http.runs()?.decide(&id, &approval, decision).await?))
}

/// A person's answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Decision)]
pub(super) struct Deciding {
    /// True if it may be done.
    approved: bool,
    /// Name of the person who decides, for the record; it is not checked.
    #[serde(default)]
    #[schema(max_length = 1000)]
    by: String,
    /// Why, for the record and for the run.
    #[serde(default)]
    #[schema(max_length = 1000)]
    comment: String,
}

/// Goes on from the plan and the results of a run that is over, as a run of its own in the same thread.
#[utoipa::path(
    post, path = "/runs/{id}/resume", tag = "runs", operation_id = "resumeRun",
    params(("id" = String, Path, description = "The run")),
    request_body = Option<Resuming>,
    responses(
        (status = 201, description = "The new run has begun", body = RunView,
            headers(("Location" = String, description = "The new run"))),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "It is not over, or another run of the thread is active", body = Details,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn resume(
    http: Asking,
    Path(id): Path<String>,
    OptionalBody(resuming): OptionalBody<Resuming>,
) -> Result<Response, Problem> {
    let Resuming {
        constraints,
        budget,
    } = resuming;
    let started = http.runs()?.resume(&id, constraints, budget).await?;
    Ok(created(started.run))
}

/// Differences from the run that is resumed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResumeRequest)]
pub(super) struct Resuming {
    /// In place of those that the run had, where they say something.
    constraints: Option<Constraints>,
    /// In place of the one that the run had, where it says something.
    budget: Option<Budget>,
}

/// Starts a workflow again that has ended, as another run.
///
/// Steps that asked for the same and came to something are not done again. The same `Idempotency-Key` with the same body is the same new run,
/// however often it comes.
#[utoipa::path(
    post, path = "/runs/{id}/retry", tag = "runs", operation_id = "retryRun",
    params(
        ("id" = String, Path, description = "The run"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = KEY),
    ),
    request_body = Option<Retrying>,
    responses(
        (status = 201, description = "The new run has begun, or had with this key", body = RunView,
            headers(("Location" = String, description = "The new run"))),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "It is not over, or carries no workflow out", body = Details,
            content_type = "application/problem+json"),
        (status = 422, description = "There is no such step, the input does not fit, or the key is that of another request", body = Details,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn retry(
    http: Asking,
    Path(id): Path<String>,
    headers: HeaderMap,
    OptionalBody(Retrying { from, input }): OptionalBody<Retrying>,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let started = http
        .runs()?
        .retry(&id, (from, input), key.as_deref())
        .await?;
    Ok(created(started.run))
}

/// Differences from the run that is done again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetryRequest)]
pub(super) struct Retrying {
    /// The step from which on all is done again; the first one that came to nothing if not given.
    from: Option<String>,
    /// In place of the input that the run had.
    #[schema(value_type = Option<Object>)]
    input: Option<Map<String, Value>>,
}

/// Starts a run that begins with what another had recorded up to one of its events, and goes on from there.
///
/// What was recorded is reused; steps that were in flight are asked for anew. The same `Idempotency-Key` with the same body is the same new run, however
/// often it comes.
#[utoipa::path(
    post, path = "/runs/{id}/fork", tag = "runs", operation_id = "forkRun",
    params(
        ("id" = String, Path, description = "The run"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = KEY),
    ),
    request_body(content = Forking, example = json!({"at": 12, "model": "openai/gpt-5"})),
    responses(
        (status = 201, description = "The new run has begun, or had with this key", body = RunView,
            headers(("Location" = String, description = "The new run"))),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "It was not asked for over the hub", body = Details, content_type = "application/problem+json"),
        (status = 422, description = "It cannot be forked there, or so, or the key is that of another request", body = Details,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn fork(
    http: Asking,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(forking): Body<Forking>,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let changes = ForkChanges {
        model: forking.model,
        instructions: forking.instructions,
        input: forking.input,
    };
    let forked = http
        .runs()?
        .fork(&id, (forking.at, changes), key.as_deref())
        .await?;
    Ok(created(forked.run))
}

/// Event of a run from which another one goes on, and its differences.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ForkRequest)]
pub(super) struct Forking {
    /// Number of the event, from 1.
    at: u64,
    /// Another model for what comes after, as `provider/model`.
    model: Option<String>,
    /// Other instructions for what comes after.
    instructions: Option<String>,
    /// Another input: words, the payload of a brief, or the input of a workflow. No recorded step may have got what it changes.
    #[schema(value_type = Option<Value>)]
    input: Option<Value>,
}

/// Adds what became of a run's result, for later runs of its series to learn from.
#[utoipa::path(
    post, path = "/runs/{id}/results", tag = "runs", operation_id = "recordResults",
    params(("id" = String, Path, description = "The run")),
    request_body(content = Recording, example = json!({"metrics": {"clicks": 120}})),
    responses(
        (status = 200, description = "It is written down", body = RunView),
        (status = 404, description = "There is none", body = Details, content_type = "application/problem+json"),
        (status = 409, description = "The run is not over", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn record(
    http: Asking,
    Path(id): Path<String>,
    Body(Recording { metrics }): Body<Recording>,
) -> Result<Json<RunView>, Problem> {
    Ok(Json(http.runs()?.record(&id, metrics).await?))
}

/// Outcome of a result.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Results)]
pub(super) struct Recording {
    /// Numbers by name, such as clicks or likes.
    #[schema(value_type = Object)]
    metrics: Map<String, Value>,
}

fn created(run: RunView) -> Response {
    let id = run.id.clone();
    located(&id, (StatusCode::CREATED, Json(run)).into_response())
}

/// The response with the place of its run.
fn located(id: &str, mut response: Response) -> Response {
    if let Ok(place) = HeaderValue::try_from(format!("{BASE}/runs/{id}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// A short text for the record.
fn bounded(at: &str, text: String) -> Result<String, Problem> {
    match text.chars().count() > MAX_WORDS {
        true => Err(Problem::field(
            at,
            format!("is longer than {MAX_WORDS} characters"),
        )),
        false => Ok(text),
    }
}
