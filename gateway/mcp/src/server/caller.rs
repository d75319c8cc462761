//! The hub for one caller: in whose name its agents are listed and called.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Settings, changes::Changes, hub::Hub};

/// The hub, as it serves one caller. It lasts until it [ends](Self::end); [`close`](Self::close) says goodbye to the hub, too.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) hub: Hub,
    pub(super) changes: Changes,
    /// Time for a call until its task is called off.
    pub(super) timeout: Duration,
    pub(super) max_calls: usize,
    /// A permit for each call that may begin.
    pub(super) room: Semaphore,
    /// Spawned tasks, and the calls under way, of all callers.
    pub(super) tasks: TaskTracker,
    end: CancellationToken,
}

impl Caller {
    /// A caller that is served from here on, until it [ends](Self::end), `stop` ends all callers, or the hub does not serve it any more: then
    /// `left` is called with the reason.
    pub(super) fn start(
        settings: &Settings,
        hub: Hub,
        stop: &CancellationToken,
        tasks: &TaskTracker,
        left: impl FnOnce(String) + Send + 'static,
    ) -> Arc<Self> {
        let caller = Arc::new(Self {
            hub,
            changes: Changes::default(),
            timeout: settings.timeout,
            max_calls: settings.max_calls,
            room: Semaphore::new(settings.max_calls),
            tasks: tasks.clone(),
            end: stop.child_token(),
        });
        let kept = Arc::clone(&caller);
        tasks.spawn(async move {
            let why = tokio::select! {
                why = kept.hub.keep() => why,
                () = kept.changes.watch(&kept.hub) => return,
                () = kept.ended() => return,
            };
            kept.end();
            left(why);
        });
        caller
    }

    /// Ends its calls and streams.
    pub(super) fn end(&self) {
        self.end.cancel();
    }

    /// Waits until it ends.
    pub(super) async fn ended(&self) {
        self.end.cancelled().await;
    }

    /// True once it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_cancelled()
    }

    /// Ends it, and says goodbye to the hub.
    pub(super) async fn close(&self) {
        self.end();
        self.hub.close().await;
    }
}
