//! Frames of a run, followed from one position to the next.

use std::time::Duration;

use agenthub_proto::cortex::{Frame, WatchRunRequest};
use tokio::time::{Instant, timeout, timeout_at};
use tonic::Streaming;

use crate::{backend::Backend, trouble::Trouble};

/// Time in which the next frame of those that there are is read. Once it is over, there are no more for now.
const NEXT: Duration = Duration::from_millis(20);

/// Time for all frames that there are. The others are read later.
const ALL: Duration = Duration::from_secs(2);

/// Reader of a run's frames: each is read once.
#[derive(Debug)]
pub(crate) struct Feed {
    run: String,
    /// Sequence number of the last frame that was read.
    last: u64,
    coming: Option<Streaming<Frame>>,
    is_over: bool,
}

impl Feed {
    pub(crate) fn new(run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            last: 0,
            coming: None,
            is_over: false,
        }
    }

    /// True once the last frame was read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the frames that are there and were not taken yet.
    ///
    /// # Errors
    ///
    /// They cannot be read now. The next call goes on behind the last one.
    pub(crate) async fn take(
        &mut self,
        backend: &Backend,
        mut into: impl FnMut(Frame),
    ) -> Result<(), Trouble> {
        let until = Instant::now() + ALL;
        while !self.is_over && Instant::now() < until {
            if self.coming.is_none() {
                let request = WatchRunRequest {
                    id: self.run.clone(),
                    after_sequence: self.last,
                };
                self.coming = Some(backend.watch_run(request).await?);
            }
            match timeout(NEXT, self.next()).await {
                Ok(Some(frame)) => into(frame?),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Waits for the next frame, until this time. A feed that is not open waits to the end.
    pub(crate) async fn wait(&mut self, until: Instant) -> Option<Frame> {
        if self.coming.is_none() || self.is_over {
            tokio::time::sleep_until(until).await;
            return None;
        }
        let frame = timeout_at(until, self.next()).await.ok()??;
        frame.ok()
    }

    /// The next frame; `None` behind the last one. An error closes the feed until frames are taken again.
    async fn next(&mut self) -> Option<Result<Frame, Trouble>> {
        let coming = self.coming.as_mut()?;
        match coming.message().await {
            Ok(Some(frame)) => {
                self.last = frame.sequence;
                Some(Ok(frame))
            }
            Ok(None) => {
                self.is_over = true;
                self.coming = None;
                None
            }
            Err(status) => {
                self.coming = None;
                Some(Err(status.into()))
            }
        }
    }
}
