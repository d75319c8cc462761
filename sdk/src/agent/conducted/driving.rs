//! A run in hand, driven to its end or as far as this process may go.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use agenthub_runs::{Command, DriveError, LeasedRun, World};
use futures_util::FutureExt;
use tokio::{sync::watch, time::sleep};

use super::{
    super::{
        StopReason,
        duty::End,
        ending,
        giving_up::GivingUp,
        hosted::Hosted,
        work::{self, panicked},
    },
    Conducted, conclude_failed,
};
use crate::{Failure, Spans, connection::Lease};

/// Deadline for a run to call back what it has out, once it was told to stop.
const GRACE: Duration = Duration::from_secs(15);

/// Deadline for a run to let go.
const LET_GO: Duration = Duration::from_secs(5);

impl Conducted {
    /// Drives the run until it is over or somebody else's; one that breaks off is given up. `gone` says that nobody is to be told.
    pub(in crate::agent) async fn drive(
        mut self,
        hand: LeasedRun,
        world: Arc<dyn World>,
        gone: Option<String>,
    ) -> Option<Lease> {
        match self.try_to_drive(hand, world, gone.clone()).await {
            Ok(lease) => lease,
            Err(failure) => self.give_up(&failure.text, gone).await,
        }
    }

    /// Ends a run that cannot go on, in its journal and for who waits.
    pub(in crate::agent) async fn give_up(
        mut self,
        why: &str,
        gone: Option<String>,
    ) -> Option<Lease> {
        if self.runs.journal().is_some() {
            self.conductor = GivingUp::because(why);
            let hand = self.open(&[]).await?;
            let world = self.conductor.world(&self.context, self.held.run());
            if let Ok(lease) = self.try_to_drive(hand, world, gone).await {
                return lease;
            }
        }
        conclude_failed(&self.context, why, self.lease.take()).await;
        self.held.abandon();
        None
    }

    /// # Errors
    ///
    /// It broke off.
    async fn try_to_drive(
        &mut self,
        hand: LeasedRun,
        world: Arc<dyn World>,
        gone: Option<String>,
    ) -> Result<Option<Lease>, Failure> {
        let is_quiet = gone.is_some();
        let first = match (gone, self.guard.signal.why()) {
            (Some(gone), _) => Command::Cancel(gone),
            (None, Some(StopReason::Stopping)) => Command::Suspend,
            (None, Some(why)) => Command::Cancel(why.to_string()),
            (None, None) => Command::Go,
        };
        let (commands, orders) = watch::channel(first);
        let commands = Arc::new(commands);
        let spans = self.spans();
        spans.catch_up(hand.first_shown()).await;
        let hosted = Arc::new(Hosted::new(
            (world, spans),
            Arc::clone(&self.conductor),
            self.context.clone(),
            self.held.run().clone(),
            self.lease.take(),
            is_quiet,
            Arc::clone(&commands),
        ));
        let world: Arc<dyn World> = Arc::clone(&hosted) as _;
        let driving = hand.drive(self.conductor.strategy(), world, orders);
        let driven = tokio::select! {
            biased;
            () = self.command(&commands) => None,
            driven = AssertUnwindSafe(driving).catch_unwind() => Some(driven),
        };
        let lease = hosted.take_lease();
        let result = match driven {
            Some(Ok(result)) => result,
            Some(Err(panic)) => {
                let failure = panicked(panic.as_ref());
                tracing::error!(run = %self.held.run(), error = %failure, "a run broke off");
                self.lease = lease;
                return Err(failure);
            }
            None if self.is_to_go_on_elsewhere() => return Ok(lease),
            None => {
                tracing::warn!(run = %self.held.run(), "a run did not stop in time and was broken off");
                ending::stopped(&self.context, lease).await;
                return Ok(None);
            }
        };
        Ok(match result {
            Ok(outcome) => {
                tracing::debug!(run = %self.held.run(), outcome = outcome.label(), "a run is over");
                if let Some(execution) = self.runs.duty.execution() {
                    execution.ends(End::Over(outcome));
                }
                ending::acknowledge(&self.context, lease).await;
                None
            }
            Err(DriveError::Suspended) if hosted.is_superseded() => {
                self.held.abandon();
                // It is the other instance's, and may come back.
                ending::hand_back(&self.context, lease, "another instance has the task").await;
                None
            }
            Err(DriveError::Suspended) => lease,
            Err(error) => {
                tracing::warn!(run = %self.held.run(), %error, "a run is not driven any further here");
                work::put_off(&self.context, lease, "its run cannot be driven at present").await;
                None
            }
        })
    }

    /// Report for those who watch the run.
    fn spans(&self) -> Spans {
        let run = self.held.run().clone();
        let identity = self.conductor.identity();
        Spans::of_task(run, identity, &self.context, self.runs.spans().cloned())
            .journal(self.runs.journal().cloned())
    }

    /// Tells the driver to stop when that is so. Returns when it has had its time to do so.
    async fn command(&self, commands: &watch::Sender<Command>) {
        let signal = &self.guard.signal;
        let deadline = || work::over(&self.context);
        let suspended = || async {
            match self.runs.is_durable() {
                true => self.runs.stop.cancelled().await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = signal.token.cancelled() => {}
            // The step is performed again where the run goes on, and finds its question there.
            () = suspended() => if self.context.is_asking() {
                signal.stop(StopReason::Stopping);
            } else {
                commands.send_replace(Command::Drain);
                // Whoever has not ended when the agent's time to drain is over, is told to stop.
                tokio::select! {
                    () = signal.token.cancelled() => {}
                    () = deadline() => signal.stop(StopReason::Deadline),
                }
            },
            () = deadline() => signal.stop(StopReason::Deadline),
        }
        if !self.is_to_go_on_elsewhere() {
            let why = signal.why().map(ToString::to_string).unwrap_or_default();
            commands.send_replace(Command::Cancel(why));
            tokio::select! {
                () = sleep(GRACE) => return,
                () = suspended() => {}
            }
        }
        commands.send_replace(Command::Suspend);
        sleep(LET_GO).await;
    }

    fn is_to_go_on_elsewhere(&self) -> bool {
        self.guard.signal.why() == Some(&StopReason::Stopping)
    }
}
