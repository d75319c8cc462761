//! A Cortex at work, as the rest of its process uses it.

use std::sync::Arc;

use agenthub_proto::cortex::{ChatRequest, Frame};
use agenthub_sdk::{Client, durable::RunStarter, runs::Journal};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use crate::{chat::call, live::LiveRuns, settings::Others, shared::Shared};

/// A Cortex at work, as the rest of its process uses it. Clones are the same, and do not keep it from stopping.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) client: Client,
    pub(crate) starter: RunStarter,
}

impl Handle {
    /// Cortex's own connection to the hub.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Begins runs of Cortex.
    pub fn starter(&self) -> &RunStarter {
        &self.starter
    }

    /// The journal of Cortex's runs. Its writes wake who waits for more of a run.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        self.shared.journal()
    }

    /// The journals of other agents.
    pub fn others(&self) -> Option<&Arc<dyn Others>> {
        self.shared.settings.others.as_ref()
    }

    /// The runs that are live in this process.
    pub fn live(&self) -> &LiveRuns {
        self.shared.live()
    }

    /// Runs a task until it ends or Cortex stops, which waits for it.
    pub fn keep(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.keep(task);
    }

    /// Cancelled when Cortex stops.
    pub fn closed(&self) -> CancellationToken {
        self.shared.closed()
    }

    /// Begins a chat turn that lasts as long as its frames are read: `cortex.Cortex/Chat`.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT for a text or a context id beyond its bounds, RESOURCE_EXHAUSTED where the conversation or Cortex is full.
    // A `Status` is what the service speaks.
    #[allow(clippy::result_large_err)]
    pub fn chat(
        &self,
        request: Request<ChatRequest>,
    ) -> Result<ReceiverStream<Result<Frame, Status>>, Status> {
        call::begin(&self.shared, &self.client, request)
    }
}
