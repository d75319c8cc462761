//! Execution of one run.

use std::{fmt, sync::Arc, time::Duration};

use agenthub_sdk::{
    AgentBuilder,
    durable::{ExecuteError, Executed, ExecutedRun, Journal},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    executor::{NAME, agent_of_run},
    over_bus::BusRoute,
};

/// Pause before a hub is tried again that is not there.
const NO_HUB: Duration = Duration::from_millis(500);

/// Time for what is at work to end when an executor is told to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// Place of runs: their hub and their journal.
#[derive(Clone)]
pub struct Place {
    /// Address of the hub.
    pub hub: String,
    /// The journal. It must survive the process.
    pub journal: Arc<dyn Journal>,
    /// The way of steps to their agents, where it is not the hub.
    pub route: Option<BusRoute>,
    /// Adds what all agents of the process have, such as spans.
    pub dressed: Arc<dyn Fn(AgentBuilder) -> AgentBuilder + Send + Sync>,
}

impl Place {
    /// A place where steps go over the hub and agents have nothing that is added.
    pub fn new(hub: impl Into<String>, journal: Arc<dyn Journal>) -> Self {
        Self {
            hub: hub.into(),
            journal,
            route: None,
            dressed: Arc::new(|agent| agent),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("hub", &self.hub)
            .field("journal", &self.journal)
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

/// Executes one run that the journal has, and ends with it. Waits for a hub that is not there, and for the lease of a run that
/// another executor has. Once `stop` is cancelled, the run is let go for another one.
///
/// spec: EXE-1.1, EXE-1.4
///
/// # Errors
///
/// [`ExecuteError`].
pub async fn execute(
    place: &Place,
    executed: ExecutedRun,
    stop: CancellationToken,
) -> Result<Executed, ExecuteError> {
    let mut is_told = false;
    loop {
        let (journal, route) = (Arc::clone(&place.journal), place.route.clone());
        let agent = agent_of_run(&place.hub, journal, route, &executed.run);
        let agent = (place.dressed)(agent.drain_timeout(DRAIN)).build()?;
        let executing = agent.execute(&*place.hub, executed.clone(), stop.cancelled());
        match executing.await {
            Err(ExecuteError::Hub(error)) if error.is_out_of_reach() => {
                if !std::mem::replace(&mut is_told, true) {
                    let run = &executed.run;
                    tracing::warn!(%run, agent = NAME, "the run waits for the hub: {error}");
                }
            }
            executed => return executed,
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(Executed::Left),
            () = sleep(NO_HUB) => {}
        }
    }
}
