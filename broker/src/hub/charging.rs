//! Charges for models that were used without a task that counts them: by parts of the hub on behalf of a principal, and by agents for
//! messages that they were sent.

use std::time::SystemTime;

use agenthub_access::{Action, Identities};
use agenthub_proto::agenthub::{
    AgentEventMetadata, Budget, ChargeRequest, ChargeResponse, agent_event::Payload,
};

use super::{
    Hub,
    core::{Core, Now},
};
use crate::{
    Caller, Error,
    access::{Call, decide, may},
    id::SessionId,
    limits,
    log::{Entry, Position},
    tasks::Spent,
};

impl Hub {
    /// Charges a principal, and says what is left of its day.
    ///
    /// # Errors
    ///
    /// [`Error::OverQuota`] if nothing is left, and nothing was used.
    pub(crate) fn charge(
        &self,
        caller: &Caller,
        request: &ChargeRequest,
    ) -> Result<ChargeResponse, Error> {
        decide(Call::Charge, caller, "")?;
        may(caller, Action::Impersonate)?;
        let ChargeRequest {
            principal,
            tokens,
            cost_micros,
        } = request;
        limits::required("principal", principal)?;
        limits::id("principal", principal)?;
        let spent = Spent {
            tokens: *tokens,
            cost_micros: *cost_micros,
        };
        let (mut core, now) = (self.core(), Now::read());
        core.charge(caller, principal, spent, now)?;
        let left = core.left_of_day(caller, principal, now.time);
        let left = match left {
            Err(_) if spent != Spent::default() => Budget {
                tokens: Some(0),
                cost_micros: Some(0),
                ..Budget::default()
            },
            left => left?,
        };
        Ok(ChargeResponse {
            tokens_left: left.tokens,
            cost_micros_left: left.cost_micros,
        })
    }
}

impl Core {
    /// Charges a principal.
    ///
    /// # Errors
    ///
    /// See [`EventLog::admit_accepted`](crate::log::EventLog::admit_accepted).
    pub(super) fn charge(
        &mut self,
        caller: &Caller,
        principal: &str,
        spent: Spent,
        now: Now,
    ) -> Result<(), Error> {
        if spent == Spent::default() || principal.is_empty() {
            return Ok(());
        }
        self.admit_accepted()?;
        let entry = Entry::Charged {
            principal: principal.to_owned(),
            spent,
        };
        self.record(caller, entry, now);
        Ok(())
    }

    /// Budget that quotas leave a principal of its day.
    ///
    /// # Errors
    ///
    /// [`Error::OverQuota`] if nothing is left.
    fn left_of_day(
        &self,
        caller: &Caller,
        principal: &str,
        now: SystemTime,
    ) -> Result<Budget, Error> {
        let mut routing = AgentEventMetadata::default();
        let identities = self
            .identities
            .as_ref()
            .filter(|known| !Identities::is_open(known));
        if let Some(identities) = identities {
            let payer = identities.rights_of(principal, &caller.namespace);
            self.within_quota(&payer, &mut routing, false, now)?;
        }
        Ok(routing.budget.unwrap_or_default())
    }

    /// The principal on whose behalf a message was sent that belongs to no task, and that this stream was given and has not acknowledged.
    pub(super) fn asked_by(
        &self,
        session: SessionId,
        subscription: u32,
        position: Position,
    ) -> Option<String> {
        let open = self.sessions.get(session)?;
        let index = usize::try_from(subscription).ok()?;
        let mailbox = *open.mailboxes.get(index)?;
        let event = self
            .state
            .mailboxes
            .leased(mailbox, position, &open.instance)?;
        let Some(Payload::Message(message)) = &event.payload else {
            return None;
        };
        let routing = event.routing.as_ref()?;
        let principal = &routing.on_behalf_of;
        (message.task_id.is_empty() && !principal.is_empty()).then(|| principal.clone())
    }
}
