//! Watching what runs do and have done.

use std::future::ready;

use axum::{
    Json,
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    accept,
    asking::Asking,
    body::Parameters,
    events::{self, EVENTS, after},
    problem::{Details, Kind, Problem},
};
use crate::runs::{Error, EventPage, GraphView, MomentView, PlanView, StepQuery, StepView};

const JSON: &str = "application/json";
const DOT: &str = "text/vnd.graphviz";
const MERMAID: &str = "text/vnd.mermaid";

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
    http: Asking,
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
pub(super) async fn plan(http: Asking, Path(id): Path<String>) -> Result<Json<PlanView>, Problem> {
    Ok(Json(http.runs()?.plan(&id).await?))
}

/// Shows what each step of a run did, attempt by attempt, in the order in which they began.
#[utoipa::path(
    get, path = "/runs/{id}/steps", tag = "watching", operation_id = "getRunSteps",
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "The steps", body = Vec<StepView>),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn steps(
    http: Asking,
    Path(id): Path<String>,
) -> Result<Json<Vec<StepView>>, Problem> {
    let (steps, _) = http.runs()?.steps(&id, &StepQuery::default()).await?;
    Ok(Json(steps))
}

/// Lists the events of a run's journal, in order.
#[utoipa::path(
    get, path = "/runs/{id}/journal", tag = "watching", operation_id = "listRunEvents",
    params(("id" = String, Path, description = "The run"), Reading),
    responses(
        (status = 200, description = "A page of events", body = EventPage),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn journal(
    http: Asking,
    Path(id): Path<String>,
    Parameters(Reading { after, limit }): Parameters<Reading>,
) -> Result<Json<EventPage>, Problem> {
    let runs = http.runs()?;
    let page = runs.events(&id, after.unwrap_or_default(), limit).await;
    Ok(Json(page.map_err(parameter)?))
}

/// Place in a journal.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Reading {
    /// The events behind the one with this number; all if not given.
    after: Option<u64>,
    /// The most on a page; 100 if not given.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Shows a run as it stood when one of its events was recorded.
#[utoipa::path(
    get, path = "/runs/{id}/journal/{event}", tag = "watching", operation_id = "getRunMoment",
    params(
        ("id" = String, Path, description = "The run"),
        ("event" = u64, Path, description = "The number of the event; 0 is the last one"),
    ),
    responses(
        (status = 200, description = "The run at that moment", body = MomentView),
        (status = 400, description = "The run has no such event", body = Details, content_type = "application/problem+json"),
        (status = 404, description = "There is no such run", body = Details, content_type = "application/problem+json"),
    )
)]
pub(super) async fn moment(
    http: Asking,
    Path((id, event)): Path<(String, String)>,
) -> Result<Json<MomentView>, Problem> {
    let runs = http.runs()?;
    let number = event.parse().map_err(|_| {
        Kind::InvalidParameter.with(format!(
            "`event` is {event:?}; it is the number of an event"
        ))
    })?;
    let moment = runs.moment(&id, number, None).await;
    Ok(Json(moment.map_err(parameter)?))
}

/// A wrong number is a fault of the address.
fn parameter(error: Error) -> Problem {
    match error {
        Error::Invalid { at, why } => Kind::InvalidParameter.with(format!("`{at}` {why}")),
        error => error.into(),
    }
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
    http: Asking,
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

/// Form of a graph.
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
