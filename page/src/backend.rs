//! The hub, and Cortex beside it, as screens ask them.

use std::time::{Duration, Instant};

use agenthub_access::{Action, Admitted};
use agenthub_proto::{
    cortex::{self as pb, cortex_client::CortexClient},
    grpc::{InProcess, Transport},
};
use axum::{extract::FromRequestParts, http::request::Parts};
use futures_util::StreamExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

use crate::{
    Pages, hub::Hub, mail::MailReaders, titles::Titles, trouble::Trouble, viewer::Viewer,
    waiting::Waiting, watch::Watch,
};

/// Deadline of a call.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// Deadline of the call that starts a run, which waits for the journal and for the run's beginning. It is within what `page.js` waits for an answer.
const STARTING: Duration = Duration::from_secs(25);

/// Words for a run that may begin after that. The same form begins it once.
const NOT_STARTED: &str =
    "No answer in time. It may begin all the same: send it again, and it begins only once.";

/// Id of Cortex.
pub(crate) const CORTEX: &str = "cortex";

/// The most attempts of a step of a run, such as items of a loop, that are shown with the run. The list of the step has all.
const ATTEMPTS: u32 = 20;

/// Largest answer of Cortex, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Services of the hub and of its Cortex in this process.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    pub(crate) hub: InProcess,
    /// `None` of a hub without one.
    pub(crate) cortex: Option<InProcess>,
    /// True if Cortex thinks with a stand-in for a model.
    pub(crate) has_stand_in: bool,
    /// Numbers of the hub.
    pub(crate) watch: Watch,
    pub(crate) waiting: Waiting,
    pub(crate) titles: Titles,
    pub(crate) readers: MailReaders,
    pub(crate) closing: CancellationToken,
}

/// The hub and its Cortex, asked in the name of whoever looks at the page. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    hub: Hub,
    cortex: Option<CortexClient<Transport>>,
    viewer: Viewer,
    services: Services,
}

impl Backend {
    /// Asks in the name of a caller who was let in. Each call lets it in again, as rights change while pages are open.
    pub(crate) fn new(services: &Services, admitted: Admitted) -> Self {
        let named = |services: InProcess| services.with_extension(admitted.clone());
        let viewer = Viewer::new(&admitted);
        let cortex = services.cortex.clone().map(|services| {
            let services = Transport::from(named(services));
            CortexClient::new(services).max_decoding_message_size(MAX_BYTES)
        });
        Self {
            hub: Hub::new(viewer.agent_id(), named(services.hub.clone())),
            cortex,
            viewer,
            services: services.clone(),
        }
    }

    /// The hub's numbers of the last hour.
    pub(crate) fn watch(&self) -> &Watch {
        &self.services.watch
    }

    /// True if Cortex thinks with a stand-in for a model.
    pub(crate) fn has_stand_in(&self) -> bool {
        self.services.has_stand_in
    }

    /// Titles of conversations.
    pub(crate) fn titles(&self) -> &Titles {
        &self.services.titles
    }

    fn cortex(&self) -> Result<CortexClient<Transport>, Trouble> {
        self.cortex.clone().ok_or_else(Trouble::without_cortex)
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The viewer of the page.
    pub(crate) fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    pub(crate) async fn start_run(&self, request: pb::StartRunRequest) -> Result<pb::Run, Trouble> {
        let late = |_| Trouble::late().saying(NOT_STARTED);
        let started = timeout(STARTING, self.cortex()?.start_run(request)).await;
        Ok(started.map_err(late)??.into_inner())
    }

    pub(crate) async fn run(&self, id: &str) -> Result<pb::Run, Trouble> {
        within(self.cortex()?.get_run(pb::GetRunRequest { id: id.into() })).await
    }

    pub(crate) async fn runs(
        &self,
        request: pb::ListRunsRequest,
    ) -> Result<pb::ListRunsResponse, Trouble> {
        within(self.cortex()?.list_runs(request)).await
    }

    pub(crate) async fn steps(&self, id: &str) -> Result<Vec<pb::StepAttempt>, Trouble> {
        let request = pb::GetRunStepsRequest {
            id: id.into(),
            ..pb::GetRunStepsRequest::default()
        };
        Ok(self.some_steps(request).await?.steps)
    }

    /// A page of the steps of a run.
    pub(crate) async fn some_steps(
        &self,
        request: pb::GetRunStepsRequest,
    ) -> Result<pb::RunSteps, Trouble> {
        within(self.cortex()?.get_run_steps(request)).await
    }

    /// The plan of a run; `None` of a run without one.
    pub(crate) async fn plan(&self, id: &str) -> Result<Option<pb::RunPlan>, Trouble> {
        let request = pb::GetRunPlanRequest { id: id.into() };
        match within(self.cortex()?.get_run_plan(request)).await {
            Err(trouble) if trouble.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }

    /// Events of a run's journal.
    pub(crate) async fn run_events(
        &self,
        request: pb::ListRunEventsRequest,
    ) -> Result<pb::ListRunEventsResponse, Trouble> {
        within(self.cortex()?.list_run_events(request)).await
    }

    /// A run as it stood when an event was recorded, with some attempts of each step; 0 is the last one.
    pub(crate) async fn moment(&self, id: &str, event: u64) -> Result<pb::RunMoment, Trouble> {
        self.moment_with(id, event, ATTEMPTS).await
    }

    /// A run as it stands, with two attempts of each step, one of which has not ended if any has not.
    pub(crate) async fn glance(&self, id: &str) -> Result<pb::RunMoment, Trouble> {
        self.moment_with(id, 0, 2).await
    }

    async fn moment_with(
        &self,
        id: &str,
        event: u64,
        attempts: u32,
    ) -> Result<pb::RunMoment, Trouble> {
        let request = pb::GetRunMomentRequest {
            id: id.into(),
            event,
            attempts,
        };
        within(self.cortex()?.get_run_moment(request)).await
    }

    pub(crate) async fn fork_run(&self, request: pb::ForkRunRequest) -> Result<pb::Run, Trouble> {
        within(self.cortex()?.fork_run(request)).await
    }

    /// The frames of a run behind a position, and those that come.
    pub(crate) async fn watch_run(
        &self,
        request: pb::WatchRunRequest,
    ) -> Result<Streaming<pb::Frame>, Trouble> {
        within(self.cortex()?.watch_run(request)).await
    }

    /// The approvals that wait for a person.
    pub(crate) async fn approvals(&self) -> Result<Vec<pb::Approval>, Trouble> {
        let request = pb::WatchApprovalsRequest { follow: false };
        let mut waiting = within(self.cortex()?.watch_approvals(request)).await?;
        let mut approvals = Vec::new();
        while let Some(approval) = timeout(DEADLINE, waiting.next())
            .await
            .map_err(|_| Trouble::late())?
        {
            approvals.push(approval?);
        }
        Ok(approvals)
    }

    /// Number of the approvals that wait for the viewer; at most a second old.
    pub(crate) async fn waiting(&self) -> usize {
        if self.cortex.is_none() || !self.viewer.may(&Action::Runs) {
            return 0;
        }
        let (waiting, principal) = (
            &self.services.waiting,
            self.viewer.name().unwrap_or_default(),
        );
        let now = Instant::now();
        if let Some(number) = waiting.fresh(principal, now) {
            return number;
        }
        // Where Cortex does not answer, its own screens say so.
        let number = self
            .approvals()
            .await
            .map_or(0, |approvals| approvals.len());
        waiting.keep(principal, now, number);
        number
    }

    /// Reads the mail of the viewer's id from here on, as what is asked for under it is answered there as well.
    pub(crate) fn read_mail(&self) {
        let Services {
            readers, closing, ..
        } = &self.services;
        readers.read(self.hub.clone(), closing.clone());
    }

    pub(crate) async fn decide(
        &self,
        request: pb::DecideApprovalRequest,
    ) -> Result<pb::Run, Trouble> {
        within(self.cortex()?.decide_approval(request)).await
    }

    pub(crate) async fn cancel_run(&self, id: &str) -> Result<pb::Run, Trouble> {
        let request = pb::CancelRunRequest {
            id: id.into(),
            reason: "cancelled in the browser".into(),
        };
        within(self.cortex()?.cancel_run(request)).await
    }

    pub(crate) async fn retry_run(&self, request: pb::RetryRunRequest) -> Result<pb::Run, Trouble> {
        within(self.cortex()?.retry_run(request)).await
    }
}

/// The answer to a call, within its deadline.
pub(crate) async fn within<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Trouble> {
    let answer = timeout(DEADLINE, call).await.map_err(|_| Trouble::late())?;
    Ok(answer?.into_inner())
}

impl FromRequestParts<Pages> for Backend {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Trouble> {
        let admitted = parts.extensions.get::<Admitted>().cloned();
        let admitted = admitted.unwrap_or_else(Admitted::nobody);
        let backend = Self::new(pages.services()?, admitted);
        let waiting = backend.waiting().await;
        Ok(Self {
            viewer: backend.viewer.clone().with_waiting(waiting),
            ..backend
        })
    }
}
