//! An open stream, as its service holds it.

use std::sync::Arc;

use agenthub_proto::agenthub::{Ack, AgentEventMetadata};
use tokio::task::yield_now;

use super::{
    Body, Hub, Opened, Outgoing, Passing, Receipt, Repetition, Run, core::Now, enders,
    locked::Locked,
};
use crate::{
    Caller, Error,
    id::{AgentId, SessionId},
    log::Position,
    tasks::Spent,
};

/// An open stream. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) hub: Hub,
    pub(super) caller: Caller,
    pub(super) opened: Opened,
    pub(super) said_goodbye: bool,
}

impl Session {
    pub(crate) fn id(&self) -> SessionId {
        self.opened.id
    }

    /// The position after which its events begin.
    pub(crate) fn begins_after(&self) -> String {
        self.hub.log().token(self.opened.begins_after)
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.opened.agent
    }

    /// Completes the opening of the stream.
    pub(super) async fn open(&mut self) -> Result<(), Error> {
        while self.opened.is_under_way() {
            // Lets other tasks take the lock.
            yield_now().await;
            let mut core = self.hub.core();
            core.open_more(&self.caller, &mut self.opened, Now::read())?;
        }
        Ok(())
    }

    /// Notified when there may be something to send.
    pub(crate) fn wake(&self) -> Arc<tokio::sync::Notify> {
        self.opened.wake.clone()
    }

    /// See [`Core::take`].
    pub(crate) fn take(&self, credits: &[u32], limit: usize) -> Outgoing {
        self.hub.core().take(self.id(), credits, limit, Now::read())
    }

    /// Groups several operations, which become durable together.
    pub(crate) fn together(&self) -> Together<'_> {
        Together {
            core: self.hub.core(),
            session: self,
        }
    }

    /// The same for cleanup code; `None` if the hub has failed.
    pub(crate) fn try_together(&self) -> Option<Together<'_>> {
        let core = self.hub.try_core()?;
        Some(Together {
            core,
            session: self,
        })
    }

    /// Ends the stream for good: others get its deliveries at once.
    pub(crate) fn say_goodbye(&mut self) {
        self.said_goodbye = true;
    }
}

/// The operations of one frame of a session.
pub(crate) struct Together<'a> {
    core: Locked<'a>,
    session: &'a Session,
}

impl Together<'_> {
    /// True if the hub has ended the stream: publishes would not be answered.
    pub(crate) fn has_ended(&self) -> bool {
        let open = self.core.sessions.get(self.session.id());
        open.is_none_or(|open| open.end.is_some())
    }

    pub(crate) fn publish(
        &mut self,
        body: Body,
        routing: AgentEventMetadata,
    ) -> Result<Receipt, Error> {
        let caller = &self.session.caller;
        let lease = self.core.check_lease(self.session.id(), body.task_id());
        let ended = enders::ended(&body);
        let result = lease.and_then(|()| {
            self.core
                .publish(caller, body, routing, Repetition::Refuse, Now::read())
        });
        match (&result, ended) {
            (Err(_), _) => self.refused(1),
            (Ok(_), Some(task)) => self.core.note_ender(self.session.id(), &task, Now::read()),
            (Ok(_), None) => {}
        }
        result
    }

    /// Charges who sent the message that is acknowledged for the models that were used for it.
    pub(crate) fn charge(&mut self, ack: &Ack, spent: Spent) {
        let log = self.session.hub.log();
        let (caller, id) = (&self.session.caller, self.session.id());
        for token in &ack.position {
            let position = log.position(token).ok();
            let asked_by = position.and_then(|at| self.core.asked_by(id, ack.subscription, at));
            if let Some(principal) = asked_by {
                let charged = self.core.charge(caller, &principal, spent, Now::read());
                if let Err(error) = charged {
                    tracing::warn!(principal, %error, "the use of models for a message is not counted");
                }
                return;
            }
        }
    }

    /// Counts a refused publish that was not decoded.
    pub(crate) fn refuse_publish(&self, error: Error) -> Result<Receipt, Error> {
        self.refused(1);
        Err(error)
    }

    /// See [`Core::publish_passing`].
    pub(crate) fn publish_passing(&mut self, passing: &Passing) -> Result<bool, Error> {
        let caller = &self.session.caller;
        let result = self.core.publish_passing(caller, passing, Now::read());
        if result.is_err() {
            self.refused(passing.run.len());
        }
        result
    }

    /// Result of each publish, see [`Core::publish_logged`].
    pub(crate) fn publish_logged(&mut self, run: &Run) -> Vec<Result<Receipt, Error>> {
        let caller = &self.session.caller;
        let results = self.core.publish_logged(caller, run, Now::read());
        let results = results.unwrap_or_else(|error| vec![Err(error); run.len()]);
        self.refused(results.iter().filter(|result| result.is_err()).count());
        results
    }

    fn refused(&self, count: usize) {
        let refused = &self.session.hub.shared.metrics.refused;
        refused.inc_by(count as u64);
    }

    /// See [`Core::acknowledge_at`].
    ///
    /// # Errors
    ///
    /// A position is invalid, or of another log.
    pub(crate) fn acknowledge(
        &mut self,
        subscription: u32,
        positions: &[String],
    ) -> Result<(), Error> {
        let log = self.session.hub.log();
        let positions = positions.iter().map(|token| log.position(token));
        self.acknowledge_at(subscription, positions.collect::<Result<_, _>>()?)
    }

    /// See [`Core::acknowledge_at`].
    pub(crate) fn acknowledge_at(
        &mut self,
        subscription: u32,
        positions: Vec<Position>,
    ) -> Result<(), Error> {
        let Session { caller, opened, .. } = self.session;
        self.core
            .acknowledge_at(caller, opened.id, subscription, &positions, Now::read())
    }

    pub(crate) fn refuse(
        &mut self,
        subscription: u32,
        position: Position,
        delay: std::time::Duration,
        reason: &str,
    ) -> Result<(), Error> {
        let id = self.session.id();
        self.core
            .refuse(id, subscription, position, delay, reason, Now::read())
    }

    pub(crate) fn extend(
        &mut self,
        subscription: u32,
        positions: &[Position],
    ) -> Result<(), Error> {
        let id = self.session.id();
        self.core.extend(id, subscription, positions, Now::read())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(mut core) = self.hub.try_core() {
            core.close(self.id(), self.said_goodbye, Now::read());
        }
    }
}
