//! The frames of a run, read from its journal as somebody asks for them.

use std::{collections::VecDeque, time::Duration};

use agenthub_cortex::{Frames, LiveRuns, Watched};
use agenthub_sdk::{
    proto::cortex as pb,
    runs::{RunEvent, RunId, journal::Entry},
};
use futures_util::{Stream, stream};
use tokio::time::timeout;

use super::{
    Inner,
    error::Error,
    reading::{PAGE, Shelf},
    viewer::FoundRun,
};

/// Time that a run has for its beginning.
const BEGUN: Duration = Duration::from_secs(5);

impl Inner {
    /// Follows a run behind this frame; one that is on its way is waited for, 5 s at most.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    pub(super) async fn follow(&self, found: &FoundRun, after: u64) -> Result<Following, Error> {
        let Ok(begun) = timeout(BEGUN, self.once_begun(found)).await else {
            let why = format!("run {} has not begun yet: ask again", found.run.as_str());
            return Err(Error::Unavailable(why));
        };
        let (shelf, run) = begun?;
        Following::new(shelf, self.cortex.live(), run, after).await
    }
}

/// Reader of a run's frames.
#[derive(Debug)]
pub(super) struct Following {
    shelf: Shelf,
    run: RunId,
    frames: Frames,
    /// The number of the last frame that was there before.
    after: u64,
    /// The last entry that was read.
    seq: u64,
    ready: VecDeque<pb::Frame>,
    is_over: bool,
    watched: Watched,
}

impl Following {
    /// The frames of a run behind this one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unavailable`].
    async fn new(shelf: Shelf, live: &LiveRuns, run: RunId, after: u64) -> Result<Self, Error> {
        let first = shelf.read(&run, 0, 1).await?.into_iter().next();
        let first = first.ok_or_else(|| Error::no_run(run.as_str()))?;
        let thread = match &first.event {
            RunEvent::Started(started) => started.thread.clone(),
            _ => String::new(),
        };
        Ok(Self {
            frames: Frames::new(run.as_str(), &thread, &shelf.owner),
            watched: live.watch(&run),
            shelf,
            run,
            after,
            seq: 0,
            ready: VecDeque::new(),
            is_over: false,
        })
    }

    /// All of them, as they are asked for. An error is the last item.
    pub(super) fn stream(
        self,
    ) -> impl Stream<Item = Result<pb::Frame, Error>> + Send + 'static + use<> {
        stream::unfold(Some(self), async |following| {
            let mut following = following?;
            match following.next().await {
                Ok(None) => None,
                Ok(Some(frame)) => Some((Ok(frame), Some(following))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    async fn next(&mut self) -> Result<Option<pb::Frame>, Error> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            if self.is_over {
                return Ok(None);
            }
            let entries = self.shelf.read(&self.run, self.seq, PAGE).await?;
            if entries.is_empty() {
                self.watched.more_than(self.seq).await;
            }
            for entry in &entries {
                self.take_in(entry);
            }
        }
    }

    fn take_in(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        let frames = self.frames.of(entry).into_iter();
        let after = self.after;
        self.ready
            .extend(frames.filter(|frame| frame.sequence > after));
        self.is_over |= matches!(entry.event, RunEvent::Ended { .. });
    }
}
