//! A scripted Cortex.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
};

use agenthub_proto::{
    cortex::{
        self as pb, Frame,
        cortex_server::{Cortex, CortexServer},
    },
    json,
};
use serde_json::Value;
use tokio::{net::TcpListener, runtime::Runtime, sync::watch};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status, transport::Server};

use crate::harness::eventually;

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Its run.
pub(crate) const RUN: &str = "0198f0aa-run";

/// Received requests and scripted responses.
#[derive(Default)]
struct Script {
    started: Vec<pb::StartRunRequest>,
    refusal: Option<Status>,
    waiting: Vec<pb::Approval>,
    decided: Vec<pb::DecideApprovalRequest>,
    cancelled: Vec<pb::CancelRunRequest>,
}

/// The server. Dropping it closes its port.
pub(crate) struct Scripted {
    script: Arc<Mutex<Script>>,
    frames: watch::Sender<Vec<Frame>>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

#[derive(Clone)]
struct Service {
    script: Arc<Mutex<Script>>,
    frames: watch::Receiver<Vec<Frame>>,
}

impl Scripted {
    pub(crate) fn start() -> Self {
        let mut scripted = Self {
            script: Arc::default(),
            frames: watch::Sender::new(Vec::new()),
            address: ([127, 0, 0, 1], 0).into(),
            runtime: None,
        };
        scripted.serve();
        scripted
    }

    /// Serves, or serves again on the same address.
    pub(crate) fn serve(&mut self) {
        let runtime = Runtime::new().expect("threads");
        let service = Service {
            script: self.script.clone(),
            frames: self.frames.subscribe(),
        };
        let bind = || runtime.block_on(TcpListener::bind(self.address)).ok();
        let listener = eventually("the port is free", bind);
        self.address = listener.local_addr().expect("it is bound");
        runtime.spawn(
            Server::builder()
                .add_service(CortexServer::new(service))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        self.runtime = Some(runtime);
    }

    /// Stops, and breaks every connection.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a frame.
    pub(crate) fn show(&self, kind: &str, message: &str, data: Value) {
        self.frames.send_modify(|frames| {
            frames.push(Frame {
                r#type: kind.to_owned(),
                sequence: frames.len() as u64 + 1,
                correlation_id: RUN.to_owned(),
                context_id: "thread-1".to_owned(),
                message: message.to_owned(),
                data: (!data.is_null()).then(|| json::to_struct(&data)),
                ..Frame::default()
            });
        });
    }

    /// Refuses to start runs, with this status.
    pub(crate) fn refuse(&self, status: Status) {
        self.script().refusal = Some(status);
    }

    /// Adds a pending approval.
    pub(crate) fn ask(&self, approval: pb::Approval) {
        self.script().waiting.push(approval);
    }

    pub(crate) fn started(&self) -> Vec<pb::StartRunRequest> {
        self.script().started.clone()
    }

    pub(crate) fn decided(&self) -> Vec<pb::DecideApprovalRequest> {
        self.script().decided.clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<pb::CancelRunRequest> {
        self.script().cancelled.clone()
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().expect("nobody panics")
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run() -> pb::Run {
    pb::Run {
        id: RUN.to_owned(),
        mode: "app".to_owned(),
        state: "working".to_owned(),
        thread_id: "thread-1".to_owned(),
        ..pb::Run::default()
    }
}

#[tonic::async_trait]
impl Cortex for Service {
    type ChatStream = Streamed<Frame>;
    type WatchRunStream = Streamed<Frame>;
    type WatchApprovalsStream = Streamed<pb::Approval>;

    async fn chat(&self, _: Request<pb::ChatRequest>) -> Answer<Self::ChatStream> {
        Err(Status::unimplemented("chat"))
    }

    async fn start_run(&self, request: Request<pb::StartRunRequest>) -> Answer<pb::Run> {
        let mut script = self.script.lock().expect("nobody panics");
        script.started.push(request.into_inner());
        match script.refusal.clone() {
            Some(status) => Err(status),
            None => Ok(Response::new(run())),
        }
    }

    async fn get_run(&self, request: Request<pb::GetRunRequest>) -> Answer<pb::Run> {
        match request.into_inner().id.as_str() {
            RUN => Ok(Response::new(run())),
            id => Err(Status::not_found(format!("there is no run {id:?}"))),
        }
    }

    async fn list_runs(&self, _: Request<pb::ListRunsRequest>) -> Answer<pb::ListRunsResponse> {
        Ok(Response::new(pb::ListRunsResponse {
            runs: vec![run()],
            next_page_token: String::new(),
        }))
    }

    async fn watch_run(
        &self,
        request: Request<pb::WatchRunRequest>,
    ) -> Answer<Self::WatchRunStream> {
        let seen = usize::try_from(request.into_inner().after_sequence).expect("a small number");
        let state = (self.frames.clone(), seen);
        let next = |(mut frames, seen): (watch::Receiver<Vec<Frame>>, usize)| async move {
            let is_there = |frames: &Vec<Frame>| frames.len() > seen;
            let frame = frames.wait_for(is_there).await.ok()?[seen].clone();
            Some((Ok(frame), (frames, seen + 1)))
        };
        let shown = futures_util::stream::unfold(state, next);
        Ok(Response::new(Box::pin(shown)))
    }

    async fn get_run_plan(&self, _: Request<pb::GetRunPlanRequest>) -> Answer<pb::RunPlan> {
        Ok(Response::new(pb::RunPlan::default()))
    }

    async fn get_run_graph(&self, _: Request<pb::GetRunGraphRequest>) -> Answer<pb::RunGraph> {
        Ok(Response::new(pb::RunGraph {
            mermaid: "flowchart LR\n".to_owned(),
            ..pb::RunGraph::default()
        }))
    }

    async fn cancel_run(&self, request: Request<pb::CancelRunRequest>) -> Answer<pb::Run> {
        let mut script = self.script.lock().expect("nobody panics");
        script.cancelled.push(request.into_inner());
        Ok(Response::new(run()))
    }

    async fn resume_run(&self, _: Request<pb::ResumeRunRequest>) -> Answer<pb::Run> {
        Err(Status::failed_precondition("run is working: wait for it"))
    }

    async fn get_run_steps(&self, _: Request<pb::GetRunStepsRequest>) -> Answer<pb::RunSteps> {
        Ok(Response::new(pb::RunSteps::default()))
    }

    async fn retry_run(&self, _: Request<pb::RetryRunRequest>) -> Answer<pb::Run> {
        Err(Status::failed_precondition("run is working: wait for it"))
    }

    async fn fork_run(&self, _: Request<pb::ForkRunRequest>) -> Answer<pb::Run> {
        Err(Status::invalid_argument("there is no such event"))
    }

    async fn list_run_events(
        &self,
        _: Request<pb::ListRunEventsRequest>,
    ) -> Answer<pb::ListRunEventsResponse> {
        Ok(Response::new(pb::ListRunEventsResponse::default()))
    }

    async fn get_run_moment(&self, _: Request<pb::GetRunMomentRequest>) -> Answer<pb::RunMoment> {
        Ok(Response::new(pb::RunMoment::default()))
    }

    async fn decide_approval(
        &self,
        request: Request<pb::DecideApprovalRequest>,
    ) -> Answer<pb::Run> {
        let mut script = self.script.lock().expect("nobody panics");
        let request = request.into_inner();
        script
            .waiting
            .retain(|asked| asked.id != request.approval_id);
        script.decided.push(request);
        Ok(Response::new(run()))
    }

    async fn watch_approvals(
        &self,
        request: Request<pb::WatchApprovalsRequest>,
    ) -> Answer<Self::WatchApprovalsStream> {
        let waiting = self.script.lock().expect("nobody panics").waiting.clone();
        let shown = tokio_stream::iter(waiting.into_iter().map(Ok));
        Ok(Response::new(match request.into_inner().follow {
            true => Box::pin(shown.chain(tokio_stream::pending())),
            false => Box::pin(shown),
        }))
    }

    async fn record_results(&self, _: Request<pb::RecordResultsRequest>) -> Answer<pb::Run> {
        Ok(Response::new(run()))
    }
}
