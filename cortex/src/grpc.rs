//! `cortex.Cortex` over gRPC.

mod chat;
mod convert;
mod status;

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
};

use agenthub_proto::{
    cortex::{
        self as pb, ChatRequest, DecideApprovalRequest, Frame as Wire, GetRunGraphRequest,
        GetRunPlanRequest, GetRunRequest, ListRunsRequest, ListRunsResponse, RecordResultsRequest,
        ResumeRunRequest, Run, RunGraph, RunPlan, StartRunRequest, WatchApprovalsRequest,
        WatchRunRequest, cortex_server::Cortex,
    },
    json,
};
use agenthub_sdk::{Client, runs::Decision};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use crate::{Running, runs::Runs, shared::Shared};

/// Who decides where nobody says so.
const SOMEBODY: &str = "somebody over gRPC";

/// The longest reason or comment, in bytes.
const MAX_WORDS_BYTES: usize = 4 << 10;

/// The service. Who calls it is not known, so whoever knows a context's id takes part in that conversation.
///
/// A server can have it before there is a Cortex: until it is [opened](Self::open), calls are answered with UNAVAILABLE. Clones are
/// the same service.
#[derive(Clone, Debug, Default)]
pub struct Chat(Arc<OnceLock<Backend>>);

/// What answers the calls.
#[derive(Debug)]
struct Backend {
    shared: Arc<Shared>,
    client: Client,
    runs: Runs,
}

impl Chat {
    /// Lets this Cortex answer. Only the first one does.
    pub fn open(&self, cortex: &Running) {
        self.0.get_or_init(|| Backend {
            shared: Arc::clone(&cortex.shared),
            client: cortex.agent.client().clone(),
            runs: cortex.runs.clone(),
        });
    }

    // A `Status` is what the service speaks.
    #[allow(clippy::result_large_err)]
    fn backend(&self) -> Result<&Backend, Status> {
        self.0.get().ok_or_else(|| {
            Status::unavailable("Cortex is not connected to its hub yet: try again in a moment")
        })
    }
}

/// A stream of answers, which ends with UNAVAILABLE when Cortex stops, so that the caller comes back.
type Streaming<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Backend {
    fn streaming<T: Send + 'static>(
        &self,
        items: impl Stream<Item = Result<T, Status>> + Send + 'static,
    ) -> Response<Streaming<T>> {
        let closed = self.shared.closed();
        let is_closed = closed.clone();
        let stopped = stream::once(async move {
            let stopped = Status::unavailable("Cortex is about to stop: come back in a moment");
            is_closed.is_cancelled().then_some(Err(stopped))
        });
        let items = items.take_until(closed.cancelled_owned());
        let stopped = stopped.filter_map(std::future::ready);
        Response::new(Box::pin(items.chain(stopped)))
    }
}

#[tonic::async_trait]
impl Cortex for Chat {
    type ChatStream = Streaming<Wire>;

    async fn chat(
        &self,
        request: Request<ChatRequest>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        let Backend { shared, client, .. } = self.backend()?;
        let frames = chat::begin(shared, client, request)?;
        Ok(Response::new(Box::pin(frames)))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<Run>, Status> {
        let runs = &self.backend()?.runs;
        let trace = request.metadata().get("traceparent");
        let trace = trace.and_then(|t| t.to_str().ok()?.parse().ok());
        let mut request = request.into_inner();
        let key = std::mem::take(&mut request.idempotency_key);
        let key = convert::key(&key)?;
        let started = runs.start(convert::brief(request)?, key, trace).await?;
        Ok(Response::new(started.run.into()))
    }

    async fn get_run(&self, request: Request<GetRunRequest>) -> Result<Response<Run>, Status> {
        let run = self.backend()?.runs.get(&request.into_inner().id).await?;
        Ok(Response::new(run.into()))
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        let query = convert::query(request.into_inner())?;
        let page = self.backend()?.runs.list(query).await?;
        Ok(Response::new(ListRunsResponse {
            runs: page.runs.into_iter().map(Run::from).collect(),
            next_page_token: page.next.unwrap_or_default(),
        }))
    }

    type WatchRunStream = Streaming<Wire>;

    async fn watch_run(
        &self,
        request: Request<WatchRunRequest>,
    ) -> Result<Response<Self::WatchRunStream>, Status> {
        let backend = self.backend()?;
        let WatchRunRequest { id, after_sequence } = request.into_inner();
        let frames = backend.runs.frames(&id, after_sequence).await?;
        let frames = frames.map(|frame| frame.map_err(Status::from));
        Ok(backend.streaming(frames))
    }

    async fn get_run_plan(
        &self,
        request: Request<GetRunPlanRequest>,
    ) -> Result<Response<RunPlan>, Status> {
        let plan = self.backend()?.runs.plan(&request.into_inner().id).await?;
        Ok(Response::new(plan.into()))
    }

    async fn get_run_graph(
        &self,
        request: Request<GetRunGraphRequest>,
    ) -> Result<Response<RunGraph>, Status> {
        let graph = self.backend()?.runs.graph(&request.into_inner().id).await?;
        Ok(Response::new(graph.into()))
    }

    async fn cancel_run(
        &self,
        request: Request<pb::CancelRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let pb::CancelRunRequest { id, reason } = request.into_inner();
        is_short("reason", &reason)?;
        let run = self.backend()?.runs.cancel(&id, &reason).await?;
        Ok(Response::new(run.into()))
    }

    async fn resume_run(
        &self,
        request: Request<ResumeRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = &self.backend()?.runs;
        let request = request.into_inner();
        let constraints = request.constraints.map(convert::constraints);
        let budget = request.budget.map(convert::budget);
        let started = runs.resume(&request.id, constraints, budget).await?;
        Ok(Response::new(started.run.into()))
    }

    async fn decide_approval(
        &self,
        request: Request<DecideApprovalRequest>,
    ) -> Result<Response<Run>, Status> {
        let request = request.into_inner();
        is_short("by", &request.by)?;
        is_short("comment", &request.comment)?;
        let decision = Decision {
            approved: request.approved,
            by: match request.by.trim().is_empty() {
                true => SOMEBODY.to_owned(),
                false => request.by,
            },
            comment: request.comment,
        };
        let runs = &self.backend()?.runs;
        let run = runs.decide(&request.run_id, &request.approval_id, decision);
        Ok(Response::new(run.await?.into()))
    }

    type WatchApprovalsStream = Streaming<pb::Approval>;

    async fn watch_approvals(
        &self,
        request: Request<WatchApprovalsRequest>,
    ) -> Result<Response<Self::WatchApprovalsStream>, Status> {
        let backend = self.backend()?;
        let approvals = backend.runs.approvals(request.into_inner().follow);
        Ok(backend.streaming(approvals.map(|approval| Ok(approval.into()))))
    }

    async fn record_results(
        &self,
        request: Request<RecordResultsRequest>,
    ) -> Result<Response<Run>, Status> {
        let RecordResultsRequest { id, metrics } = request.into_inner();
        let metrics = match json::from_struct(&metrics.unwrap_or_default()) {
            Value::Object(metrics) => metrics,
            _ => Default::default(),
        };
        let run = self.backend()?.runs.record(&id, metrics).await?;
        Ok(Response::new(run.into()))
    }
}

// A `Status` is what the service speaks.
#[allow(clippy::result_large_err)]
fn is_short(what: &str, words: &str) -> Result<(), Status> {
    match words.len() > MAX_WORDS_BYTES {
        true => Err(Status::invalid_argument(format!(
            "{what} has {} bytes; at most {MAX_WORDS_BYTES} are taken",
            words.len()
        ))),
        false => Ok(()),
    }
}
