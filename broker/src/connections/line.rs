//! The connection of a call, as far as the call needs it.

use std::{pin::pin, sync::Arc, time::Duration};

use agenthub_proto::socket::Progress;
use tokio::time::{error::Elapsed, timeout};

use super::patience::{Patience, Standing};

/// Handle to the progress of a connection. Each call has one: their number tells how many calls share the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Arc<Progress>);

impl Line {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        Self(progress)
    }

    pub(super) fn begin(&self) -> Patience {
        Patience::begin(self.0.taken())
    }

    pub(super) fn standing(&self) -> Standing {
        Standing {
            taken: self.0.taken(),
            has_backlog: self.0.has_backlog(),
            calls: Arc::strong_count(&self.0),
        }
    }

    /// Waits for a future that completes when the peer reads.
    ///
    /// # Errors
    ///
    /// [`Elapsed`] if it did not complete within `stall` and a slow link is not the reason.
    pub(crate) async fn wait<T>(
        &self,
        stall: Duration,
        waiting: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let mut waiting = pin!(waiting);
        let mut patience = self.begin();
        loop {
            match timeout(stall, &mut waiting).await {
                Err(_) if patience.lasts(self.standing()) => {}
                done => return done,
            }
        }
    }
}
