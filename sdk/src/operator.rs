//! Calls of operators: mailboxes, dead letters, agents that are to be forgotten, approvals.

use agenthub_proto::agenthub::{
    DropDeadLetterRequest, ExplainRequest, GetMailboxRequest, GetMailboxResponse,
    ListDeadLettersRequest, ListDeadLettersResponse, ListMailboxesRequest, ListMailboxesResponse,
    PurgeMailboxRequest, PurgeMailboxResponse, RetryDeadLetterRequest, RetryDeadLetterResponse,
    SeekMailboxRequest, SeekMailboxResponse, UnregisterAgentRequest,
};
use agenthub_runs::{Decision, RunId};

use crate::{Client, Error, Published, approvals, client::within};

/// The calls of operators; [`Client::operator`] gives it. Each has [`Client::CALL_DEADLINE`] and does not wait for a reconnect.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    client: &'a Client,
}

impl Client {
    /// The calls of operators.
    pub fn operator(&self) -> Operator<'_> {
        Operator { client: self }
    }
}

impl Operator<'_> {
    /// Answers an approval that a run of an agent waits for, such as one of a [tool](crate::Tool::approval). Returns when the hub has the
    /// answer; what the run makes of it is in its journal. Only the first answer counts.
    ///
    /// # Errors
    ///
    /// Those of [`Client::publish`].
    pub async fn decide(
        self,
        agent: &str,
        run: &RunId,
        approval: &str,
        decision: Decision,
    ) -> Result<Published, Error> {
        let (message, routing) = approvals::message(agent, run, approval, decision);
        self.client.publish(message, routing).await
    }

    /// True if a principal may do that, such as `administer`, by the rights that it has now.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] for a caller that may not ask.
    pub async fn is_allowed(
        self,
        principal: impl Into<String>,
        action: impl Into<String>,
    ) -> Result<bool, Error> {
        let request = ExplainRequest {
            principal: principal.into(),
            action: action.into(),
            ..ExplainRequest::default()
        };
        let said = within(self.client.calls().access().explain(request)).await?;
        Ok(said.allowed)
    }

    /// Removes an agent from the hub, with what waits for it.
    pub async fn unregister(
        self,
        agent_id: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), Error> {
        let request = UnregisterAgentRequest {
            agent_id: agent_id.into(),
            reason: reason.into(),
        };
        let response = within(self.client.calls().hub().unregister_agent(request)).await?;
        match response.success {
            true => Ok(()),
            false => Err(Error::Invalid(response.error)),
        }
    }

    /// The durable mailboxes, a page of them, and the mail that waits for agents without one.
    pub async fn mailboxes(
        self,
        request: ListMailboxesRequest,
    ) -> Result<ListMailboxesResponse, Error> {
        within(self.client.calls().hub().list_mailboxes(request)).await
    }

    /// One mailbox and the first events that wait in it, which stay there.
    pub async fn mailbox(self, request: GetMailboxRequest) -> Result<GetMailboxResponse, Error> {
        within(self.client.calls().hub().get_mailbox(request)).await
    }

    /// Moves a durable mailbox to a position.
    pub async fn seek_mailbox(
        self,
        request: SeekMailboxRequest,
    ) -> Result<SeekMailboxResponse, Error> {
        within(self.client.calls().hub().seek_mailbox(request)).await
    }

    /// Skips all that waits in a mailbox. Tasks that it was work on fail.
    pub async fn purge_mailbox(
        self,
        request: PurgeMailboxRequest,
    ) -> Result<PurgeMailboxResponse, Error> {
        within(self.client.calls().hub().purge_mailbox(request)).await
    }

    /// Mail that was given up, a page of it, latest first.
    pub async fn dead_letters(
        self,
        request: ListDeadLettersRequest,
    ) -> Result<ListDeadLettersResponse, Error> {
        within(self.client.calls().hub().list_dead_letters(request)).await
    }

    /// Delivers a dead letter again, or makes another task of it if its own has ended.
    pub async fn retry_dead_letter(
        self,
        id: impl Into<String>,
    ) -> Result<RetryDeadLetterResponse, Error> {
        let request = RetryDeadLetterRequest { id: id.into() };
        within(self.client.calls().hub().retry_dead_letter(request)).await
    }

    /// Forgets a dead letter.
    pub async fn drop_dead_letter(self, id: impl Into<String>) -> Result<(), Error> {
        let request = DropDeadLetterRequest { id: id.into() };
        let done = within(self.client.calls().hub().drop_dead_letter(request)).await;
        done.map(|_| ())
    }
}
