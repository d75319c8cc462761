//! `cortex.Cortex` over gRPC.

mod convert;
mod status;

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
};

use agenthub_access::Caller;
use agenthub_proto::{
    cortex::{
        self as pb, ChatRequest, DecideApprovalRequest, Frame as Wire, GetRunGraphRequest,
        GetRunPlanRequest, GetRunRequest, ListRunsRequest, ListRunsResponse, RecordResultsRequest,
        ResumeRunRequest, Run, RunGraph, RunPlan, StartRunRequest, WatchApprovalsRequest,
        WatchRunRequest, cortex_server::Cortex,
    },
    json,
};
use agenthub_sdk::runs::Decision;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use crate::runs::{Runs, StartRequest};

/// Name of the decider where the request gives none.
const SOMEBODY: &str = "somebody over gRPC";

/// The longest reason or comment, in bytes.
const MAX_WORDS_BYTES: usize = 4 << 10;

/// The service. Without identities whoever knows a context's id takes part in that conversation.
///
/// A server can have it before there is a Cortex: until it is [opened](Self::open), calls are answered with UNAVAILABLE. Clones are
/// the same service.
#[derive(Clone, Debug, Default)]
pub struct Service(Arc<OnceLock<Runs>>);

impl Service {
    /// Lets these runs, and their Cortex, answer. Only the first ones do.
    pub fn open(&self, runs: &Runs) {
        self.0.get_or_init(|| runs.clone());
    }

    // A `Status` is what the service speaks.
    #[allow(clippy::result_large_err)]
    fn runs<T>(&self, request: &Request<T>) -> Result<Runs, Status> {
        let runs = self.0.get().ok_or_else(|| {
            Status::unavailable("Cortex is not connected to its hub yet: try again in a moment")
        })?;
        Ok(runs.seen_by(Caller::of_request(request.extensions())))
    }
}

/// A stream of answers, which ends with UNAVAILABLE when Cortex stops, so that the caller comes back.
type Streaming<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn streaming<T: Send + 'static>(
    runs: &Runs,
    items: impl Stream<Item = Result<T, Status>> + Send + 'static,
) -> Response<Streaming<T>> {
    let closed = runs.cortex().closed();
    let is_closed = closed.clone();
    let stopped = stream::once(async move {
        let stopped = Status::unavailable("Cortex is about to stop: come back in a moment");
        is_closed.is_cancelled().then_some(Err(stopped))
    });
    let items = items.take_until(closed.cancelled_owned());
    let stopped = stopped.filter_map(std::future::ready);
    Response::new(Box::pin(items.chain(stopped)))
}

#[tonic::async_trait]
impl Cortex for Service {
    type ChatStream = Streaming<Wire>;

    async fn chat(
        &self,
        request: Request<ChatRequest>,
    ) -> Result<Response<Self::ChatStream>, Status> {
        let runs = self.runs(&request)?;
        let frames = runs.cortex().chat(request)?;
        Ok(Response::new(Box::pin(frames)))
    }

    async fn start_run(&self, request: Request<StartRunRequest>) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let trace = request.metadata().get("traceparent");
        let trace = trace.and_then(|t| t.to_str().ok()?.parse().ok());
        let mut request = request.into_inner();
        let key = std::mem::take(&mut request.idempotency_key);
        let key = convert::key(&key)?;
        let started = match convert::asked(request)? {
            StartRequest::Brief(brief) => runs.start(*brief, key, trace).await?,
            StartRequest::Workflow(asked) => runs.carry_out(*asked, key, trace).await?,
        };
        Ok(Response::new(started.run.into()))
    }

    async fn get_run(&self, request: Request<GetRunRequest>) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let run = runs.get(&request.into_inner().id).await?;
        Ok(Response::new(run.into()))
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        let runs = self.runs(&request)?;
        let query = convert::query(request.into_inner())?;
        let page = runs.list(query).await?;
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
        let runs = self.runs(&request)?;
        let WatchRunRequest { id, after_sequence } = request.into_inner();
        let frames = runs.frames(&id, after_sequence).await?;
        let frames = frames.map(|frame| frame.map_err(Status::from));
        Ok(streaming(&runs, frames))
    }

    async fn get_run_plan(
        &self,
        request: Request<GetRunPlanRequest>,
    ) -> Result<Response<RunPlan>, Status> {
        let runs = self.runs(&request)?;
        let plan = runs.plan(&request.into_inner().id).await?;
        Ok(Response::new(plan.into()))
    }

    async fn get_run_graph(
        &self,
        request: Request<GetRunGraphRequest>,
    ) -> Result<Response<RunGraph>, Status> {
        let runs = self.runs(&request)?;
        let graph = runs.graph(&request.into_inner().id).await?;
        Ok(Response::new(graph.into()))
    }

    async fn cancel_run(
        &self,
        request: Request<pb::CancelRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let pb::CancelRunRequest { id, reason } = request.into_inner();
        is_short("reason", &reason)?;
        let run = runs.cancel(&id, &reason).await?;
        Ok(Response::new(run.into()))
    }

    async fn resume_run(
        &self,
        request: Request<ResumeRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let request = request.into_inner();
        let constraints = request.constraints.map(convert::constraints);
        let budget = request.budget.map(convert::budget);
        let started = runs.resume(&request.id, constraints, budget).await?;
        Ok(Response::new(started.run.into()))
    }

    async fn get_run_steps(
        &self,
        request: Request<pb::GetRunStepsRequest>,
    ) -> Result<Response<pb::RunSteps>, Status> {
        let runs = self.runs(&request)?;
        let (id, query) = convert::step_query(request.into_inner());
        let (steps, next) = runs.steps(&id, &query).await?;
        Ok(Response::new(pb::RunSteps {
            steps: steps.into_iter().map(Into::into).collect(),
            next_page_token: next.unwrap_or_default(),
        }))
    }

    async fn retry_run(
        &self,
        request: Request<pb::RetryRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let pb::RetryRunRequest {
            id,
            from,
            input,
            idempotency_key,
        } = request.into_inner();
        let key = convert::key(&idempotency_key)?;
        let from = (!from.is_empty()).then_some(from);
        let input = input.map(|input| convert::fields(Some(input)));
        let started = runs.retry(&id, (from, input), key).await?;
        Ok(Response::new(started.run.into()))
    }

    async fn fork_run(
        &self,
        request: Request<pb::ForkRunRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let request = request.into_inner();
        let key = convert::key(&request.idempotency_key)?.map(str::to_owned);
        let (id, at) = (request.id.clone(), request.at);
        let changes = convert::changes(request);
        let started = runs.fork(&id, (at, changes), key.as_deref());
        Ok(Response::new(started.await?.run.into()))
    }

    async fn list_run_events(
        &self,
        request: Request<pb::ListRunEventsRequest>,
    ) -> Result<Response<pb::ListRunEventsResponse>, Status> {
        let runs = self.runs(&request)?;
        let request = request.into_inner();
        let limit = (request.page_size > 0).then_some(request.page_size);
        let page = runs.events(&request.id, request.after, limit).await?;
        Ok(Response::new(page.into()))
    }

    async fn get_run_moment(
        &self,
        request: Request<pb::GetRunMomentRequest>,
    ) -> Result<Response<pb::RunMoment>, Status> {
        let runs = self.runs(&request)?;
        let request = request.into_inner();
        let most = (request.attempts > 0).then_some(request.attempts as usize);
        let moment = runs.moment(&request.id, request.event, most).await?;
        Ok(Response::new(moment.into()))
    }

    async fn decide_approval(
        &self,
        request: Request<DecideApprovalRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
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
        let run = runs.decide(&request.run_id, &request.approval_id, decision);
        Ok(Response::new(run.await?.into()))
    }

    type WatchApprovalsStream = Streaming<pb::Approval>;

    async fn watch_approvals(
        &self,
        request: Request<WatchApprovalsRequest>,
    ) -> Result<Response<Self::WatchApprovalsStream>, Status> {
        let runs = self.runs(&request)?;
        let approvals = runs.approvals(request.into_inner().follow);
        Ok(streaming(
            &runs,
            approvals.map(|approval| Ok(approval.into())),
        ))
    }

    async fn record_results(
        &self,
        request: Request<RecordResultsRequest>,
    ) -> Result<Response<Run>, Status> {
        let runs = self.runs(&request)?;
        let RecordResultsRequest { id, metrics } = request.into_inner();
        let metrics = match json::from_struct(&metrics.unwrap_or_default()) {
            Value::Object(metrics) => metrics,
            _ => Default::default(),
        };
        let run = runs.record(&id, metrics).await?;
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
