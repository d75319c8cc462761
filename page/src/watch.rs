//! Looks at the hub's metrics every ten seconds, from the start to the end.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use agenthub_metrics::Snapshot;
use maud::Markup;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    numbers::{INTERVAL, Numbers},
    trends,
};

/// The numbers of the last hour. Clones are the same; dropping the last one ends the looking.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    numbers: Arc<Mutex<Numbers>>,
    looking: OnceLock<AbortOnDropHandle<()>>,
}

impl Watch {
    /// Begins to look, until `closing`. Only the first call has an effect.
    pub(crate) fn start(
        &self,
        collect: impl Fn(&mut Snapshot) + Send + 'static,
        closing: CancellationToken,
    ) {
        self.0.looking.get_or_init(|| {
            let numbers = Arc::clone(&self.0.numbers);
            let look = async move {
                let mut ticks = interval(INTERVAL);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    ticks.tick().await;
                    let mut metrics = Snapshot::default();
                    collect(&mut metrics);
                    let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
                    numbers.add(jiff::Timestamp::now(), &metrics);
                }
            };
            AbortOnDropHandle::new(tokio::spawn(async move {
                closing.run_until_cancelled(look).await;
            }))
        });
    }

    /// Health and the last hour, drawn.
    pub(crate) fn drawn(&self) -> Markup {
        let numbers = &self.0.numbers;
        trends::drawn(&numbers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
