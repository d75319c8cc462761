//! The requests that there are, and their answers.

use std::future::ready;

use agenthub_sdk::runs::Decision;
use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::{
    BASE, Http, accept,
    body::{Body, OptionalBody, Parameters},
    events::{self, after},
    key::idempotency_key,
    problem::{Details, Kind, Problem},
};
use crate::runs::{
    Brief, Budget, Constraints, Error, GraphView, ListQuery, PlanView, RunPage, RunState, RunView,
};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const DOT: &str = "text/vnd.graphviz";
const MERMAID: &str = "text/vnd.mermaid";

/// Who decides where nobody says so.
const SOMEBODY: &str = "somebody over HTTP";

/// The longest text for the record, in characters.
const MAX_WORDS: usize = 1_000;

/// Which form an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

/// Starts a run.
///
/// It is answered as soon as the run has begun; the run goes on whether or not anybody watches. A client that prefers `text/event-stream` gets
/// all frames of the run instead, as from `/v1/runs/{id}/events`; if it leaves, the run goes on.
///
/// The same `Idempotency-Key` with the same brief is the same run, however often it comes.
#[utoipa::path(
    post, path = "/runs", tag = "runs", operation_id = "startRun",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255,
        description = "1 to 255 printable ASCII characters, with or without quotes")),
    request_body(content = Brief, example = json!({
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
        (status = 422, description = "A field is not as it must be, or the key is that of another brief", body = Details,
            content_type = "application/problem+json"),
    )
)]
pub(super) async fn start(
    State(http): State<Http>,
    headers: HeaderMap,
    Body(brief): Body<Brief>,
) -> Result<Response, Problem> {
    let form = accept::choose(&headers, &[(Form::Json, JSON), (Form::Events, EVENTS)])?;
    let key = idempotency_key(&headers)?;
    let runs = http.runs()?;
    let run = runs.start(brief, key.as_deref()).await?.run;
    if form == Form::Json {
        return Ok(created(run));
    }
    let frames = runs.frames(&run.id, 0).await?;
    Ok(located(&run.id, events::stream(frames, http.closing())))
}

/// Lists runs, latest first.
#[utoipa::path(
    get, path = "/runs", tag = "runs", operation_id = "listRuns", params(Listing),
    responses((status = 200, description = "A page of runs", body = RunPage))
)]
pub(super) async fn list(
    State(http): State<Http>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<RunPage>, Problem> {
    let page = http.runs()?.list(listing.into()).await;
    Ok(Json(page.map_err(|error| match error {
        Error::Invalid { at, why } => Kind::InvalidParameter.with(format!("`{at}` {why}")),
        error => error.into(),
    })?))
}

/// Which runs to list.
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
}

impl From<Listing> for ListQuery {
    fn from(listing: Listing) -> Self {
        let Listing {
            state,
            thread_id,
            mode,
            limit,
            page_token,
        } = listing;
        Self {
            state,
            thread_id,
            mode,
            limit,
            page_token,
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
pub(super) async fn get(
    State(http): State<Http>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Problem> {
    Ok(Json(http.runs()?.get(&id).await?))
}

/// Watches a run.
///
/// All frames behind a number, without gaps, then those that come; the stream ends behind the last one of the run. `event` is the frame's
/// type, `id` its number, and `data` the frame, as JSON in one line. A client that was cut off comes back with `Last-Event-ID`, also after
/// a restart of the server. Every 15 s without a frame there is a comment.
#[utoipa::path(
    get, path = "/runs/{id}/events", tag = "watching", operation_id = "watchRun",
    params(
        ("id" = String, Path, description = "The run"),
        ("after" = Option<u64>, Query, description = "The frames behind this one; all if not given"),
        ("Last-Event-ID" = Option<String>, Header, description = "The same, as browsers say it; it goes before `after`"),
    ),
    responses(
        (status = 200, description = "The frames. The `data` of each event is a `Frame`.", body = String, content_type = "text/event-stream"),
        (status = 204, description = "The run is over and the client has all of it: it need not come back"),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn events(
    State(http): State<Http>,
    Path(id): Path<String>,
    Parameters(Watching { after: asked }): Parameters<Watching>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    accept::choose(&headers, &[((), EVENTS)])?;
    let after = after(&headers, asked)?;
    let runs = http.runs_soon().await?;
    let is_over = runs.get(&id).await?.state.is_over();
    let mut frames = Box::pin(runs.frames(&id, after).await?);
    if !is_over {
        return Ok(events::stream(frames, http.closing()));
    }
    // All that there will be is written, so it is known at once whether anything is left.
    match frames.next().await {
        None => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(first) => {
            let frames = stream::once(ready(first)).chain(frames);
            Ok(events::stream(frames, http.closing()))
        }
    }
}

/// From where to watch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watching {
    after: Option<u64>,
}

/// Shows the plan of a run, with the state of each step.
#[utoipa::path(
    get, path = "/runs/{id}/plan", tag = "watching", operation_id = "getRunPlan",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "The plan", body = PlanView),
        (status = 404, description = "There is no such run, or it has no plan", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn plan(
    State(http): State<Http>,
    Path(id): Path<String>,
) -> Result<Json<PlanView>, Problem> {
    Ok(Json(http.runs()?.plan(&id).await?))
}

/// Shows who handed what to whom in a run.
///
/// As JSON, for Graphviz or for Mermaid: as `format` says, or else `Accept`.
#[utoipa::path(
    get, path = "/runs/{id}/graph", tag = "watching", operation_id = "getRunGraph",
    params(
        ("id" = String, Path, description = "The run"),
        ("format" = Option<GraphForm>, Query, description = "Which form; `Accept` says it if not given"),
    ),
    responses(
        (status = 200, description = "The graph", content(
            (GraphView = "application/json"), (String = "text/vnd.graphviz"), (String = "text/vnd.mermaid"))),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn graph(
    State(http): State<Http>,
    Path(id): Path<String>,
    Parameters(Drawing { format }): Parameters<Drawing>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let offers = [
        (GraphForm::Json, JSON),
        (GraphForm::Dot, DOT),
        (GraphForm::Mermaid, MERMAID),
    ];
    let form = match format {
        Some(form) => form,
        None => accept::choose(&headers, &offers)?,
    };
    let graph = http.runs()?.graph(&id).await?;
    let text =
        |media: &'static str, text: String| ([(header::CONTENT_TYPE, media)], text).into_response();
    Ok(match form {
        GraphForm::Json => Json(graph).into_response(),
        GraphForm::Dot => text("text/vnd.graphviz; charset=utf-8", graph.dot()),
        GraphForm::Mermaid => text("text/vnd.mermaid; charset=utf-8", graph.mermaid()),
    })
}

/// Which form a graph is to have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Drawing {
    format: Option<GraphForm>,
}

/// A form of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum GraphForm {
    /// Nodes and edges.
    Json,
    /// For Graphviz.
    Dot,
    /// For Mermaid.
    Mermaid,
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
    State(http): State<Http>,
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
/// Each approval is answered once, and is for exactly what was shown.
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
    State(http): State<Http>,
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
    /// Whether it may be done.
    approved: bool,
    /// Who decides, for the record; it is not checked.
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
    State(http): State<Http>,
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

/// What is to be otherwise than in the run that is gone on from.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResumeRequest)]
pub(super) struct Resuming {
    /// In place of those that the run had, where they say something.
    constraints: Option<Constraints>,
    /// In place of the one that the run had, where it says something.
    budget: Option<Budget>,
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
    State(http): State<Http>,
    Path(id): Path<String>,
    Body(Recording { metrics }): Body<Recording>,
) -> Result<Json<RunView>, Problem> {
    Ok(Json(http.runs()?.record(&id, metrics).await?))
}

/// What became of a result.
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
