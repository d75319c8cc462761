//! A Cortex that does what a test tells it, over a real socket.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
};

use agenthub_proto::cortex::{
    self as pb, Frame,
    cortex_server::{Cortex, CortexServer},
};
use tokio::{net::TcpListener, sync::watch};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, transport::Server};

use super::line::Line;

type Answer<T> = Result<Response<T>, Status>;
type Frames = Pin<Box<dyn Stream<Item = Result<Frame, Status>> + Send>>;

/// Script of one stream of frames.
#[derive(Clone, Debug)]
pub(super) enum StreamScript {
    /// A refusal.
    Refused(Status),
    /// A number of frames, and then this end, if there is one.
    Frames(Vec<Frame>, Option<Status>),
}

/// Requests that it got, and its answers.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) streams: VecDeque<StreamScript>,
    /// Behind which frame each stream was asked for.
    pub(super) asked: Vec<u64>,
    pub(super) started: Vec<pb::StartRunRequest>,
    pub(super) start: VecDeque<Result<pb::Run, Status>>,
    pub(super) decided: Vec<pb::DecideApprovalRequest>,
    pub(super) pages: VecDeque<pb::ListRunsResponse>,
}

/// The server. Dropping it ends it.
pub(super) struct Fake {
    pub(super) script: Arc<Mutex<Script>>,
    pub(super) address: SocketAddr,
    pub(super) approvals: watch::Sender<Vec<pb::Approval>>,
    cuts: watch::Sender<u32>,
    _serving: AbortOnDropHandle<()>,
}

struct Service {
    script: Arc<Mutex<Script>>,
    approvals: watch::Receiver<Vec<pb::Approval>>,
    cuts: watch::Receiver<u32>,
}

impl Fake {
    pub(super) async fn start(script: Script) -> Self {
        let script = Arc::new(Mutex::new(script));
        let (approvals, pending) = watch::channel(Vec::new());
        let (cuts, cut) = watch::channel(0);
        let service = Service {
            script: script.clone(),
            approvals: pending,
            cuts: cut,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = Server::builder()
            .add_service(CortexServer::new(service))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let serving = tokio::spawn(async { serving.await.expect("it serves") });
        Self {
            script,
            address,
            approvals,
            cuts,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// Ends the streams of approvals.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub(super) fn line(&self) -> Line {
        Line::to(&self.address.to_string()).expect("it is an address")
    }
}

/// Frames of a run from `first` on, the last of which ends it if `is_over`.
pub(super) fn frames(first: u64, last: u64, is_over: bool) -> Vec<Frame> {
    let kind = |n| {
        if is_over && n == last {
            "complete"
        } else {
            "message"
        }
    };
    let frame = |sequence| Frame {
        r#type: kind(sequence).to_owned(),
        sequence,
        message: format!("m{sequence}"),
        ..Frame::default()
    };
    (first..=last).map(frame).collect()
}

#[tonic::async_trait]
impl Cortex for Service {
    type ChatStream = Frames;
    type WatchRunStream = Frames;
    type WatchApprovalsStream = Pin<Box<dyn Stream<Item = Result<pb::Approval, Status>> + Send>>;

    async fn chat(&self, _: Request<pb::ChatRequest>) -> Answer<Frames> {
        Err(Status::unimplemented("chat"))
    }

    async fn start_run(&self, request: Request<pb::StartRunRequest>) -> Answer<pb::Run> {
        let mut script = self.script.lock().expect("nobody panics");
        script.started.push(request.into_inner());
        let answer = script.start.pop_front();
        answer
            .unwrap_or_else(|| Ok(pb::Run::default()))
            .map(Response::new)
    }

    async fn get_run(&self, request: Request<pb::GetRunRequest>) -> Answer<pb::Run> {
        Err(Status::not_found(format!(
            "there is no run {}",
            request.into_inner().id
        )))
    }

    async fn list_runs(&self, _: Request<pb::ListRunsRequest>) -> Answer<pb::ListRunsResponse> {
        let page = self.script.lock().expect("nobody panics").pages.pop_front();
        Ok(Response::new(page.unwrap_or_default()))
    }

    async fn watch_run(&self, request: Request<pb::WatchRunRequest>) -> Answer<Frames> {
        let mut script = self.script.lock().expect("nobody panics");
        script.asked.push(request.into_inner().after_sequence);
        let stream = script.streams.pop_front();
        match stream.unwrap_or_else(|| StreamScript::Refused(Status::not_found("no such run"))) {
            StreamScript::Refused(status) => Err(status),
            StreamScript::Frames(frames, end) => {
                let shown = tokio_stream::iter(frames.into_iter().map(Ok));
                Ok(Response::new(match end {
                    Some(status) if status.code() == tonic::Code::Ok => Box::pin(shown),
                    Some(status) => Box::pin(shown.chain(tokio_stream::once(Err(status)))),
                    None => Box::pin(shown.chain(tokio_stream::pending())),
                }))
            }
        }
    }

    async fn get_run_plan(&self, _: Request<pb::GetRunPlanRequest>) -> Answer<pb::RunPlan> {
        Err(Status::unavailable(
            "Cortex is not connected to its hub yet",
        ))
    }

    async fn get_run_graph(&self, _: Request<pb::GetRunGraphRequest>) -> Answer<pb::RunGraph> {
        Err(Status::unimplemented(""))
    }

    async fn cancel_run(&self, _: Request<pb::CancelRunRequest>) -> Answer<pb::Run> {
        Err(Status::failed_precondition("it is over"))
    }

    async fn resume_run(&self, _: Request<pb::ResumeRunRequest>) -> Answer<pb::Run> {
        Err(Status::failed_precondition("it is not over"))
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
        let request = request.into_inner();
        let run = pb::Run {
            id: request.run_id.clone(),
            ..pb::Run::default()
        };
        self.script
            .lock()
            .expect("nobody panics")
            .decided
            .push(request);
        Ok(Response::new(run))
    }

    async fn watch_approvals(
        &self,
        request: Request<pb::WatchApprovalsRequest>,
    ) -> Answer<Self::WatchApprovalsStream> {
        let waiting = self.approvals.borrow().clone();
        let shown = tokio_stream::iter(waiting.into_iter().map(Ok));
        Ok(Response::new(match request.into_inner().follow {
            true => {
                let mut cuts = self.cuts.clone();
                cuts.mark_unchanged();
                let cut = async move {
                    // Either way it is over.
                    let _ = cuts.changed().await;
                    Err(Status::unavailable("the hub stops"))
                };
                Box::pin(shown.chain(futures_util::stream::once(cut)))
            }
            false => Box::pin(shown),
        }))
    }

    async fn record_results(&self, _: Request<pb::RecordResultsRequest>) -> Answer<pb::Run> {
        Err(Status::resource_exhausted(""))
    }
}
