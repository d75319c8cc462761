//! The hub's calls for operators.

use agenthub_proto::agenthub::{
    DropDeadLetterRequest, GetMailboxRequest, GetMailboxResponse, ListDeadLettersRequest,
    ListDeadLettersResponse, ListMailboxesRequest, ListMailboxesResponse, PurgeMailboxRequest,
    PurgeMailboxResponse, RetryDeadLetterRequest, RetryDeadLetterResponse, SeekMailboxRequest,
    SeekMailboxResponse,
};

use super::{Client, calls::within};
use crate::Error;

/// Calls for operators, under the rules of the other calls: [`Client::CALL_DEADLINE`] each, and no wait for a reconnect.
impl Client {
    /// The durable mailboxes, a page of them, and the mail that waits for agents without one.
    pub async fn mailboxes(
        &self,
        request: ListMailboxesRequest,
    ) -> Result<ListMailboxesResponse, Error> {
        within(self.inner.calls.hub().list_mailboxes(request)).await
    }

    /// One mailbox and the first events that wait in it, which stay there.
    pub async fn mailbox(&self, request: GetMailboxRequest) -> Result<GetMailboxResponse, Error> {
        within(self.inner.calls.hub().get_mailbox(request)).await
    }

    /// Moves a durable mailbox to a position.
    pub async fn seek_mailbox(
        &self,
        request: SeekMailboxRequest,
    ) -> Result<SeekMailboxResponse, Error> {
        within(self.inner.calls.hub().seek_mailbox(request)).await
    }

    /// Skips all that waits in a mailbox. Tasks that it was work on fail.
    pub async fn purge_mailbox(
        &self,
        request: PurgeMailboxRequest,
    ) -> Result<PurgeMailboxResponse, Error> {
        within(self.inner.calls.hub().purge_mailbox(request)).await
    }

    /// Mail that was given up, a page of it, latest first.
    pub async fn dead_letters(
        &self,
        request: ListDeadLettersRequest,
    ) -> Result<ListDeadLettersResponse, Error> {
        within(self.inner.calls.hub().list_dead_letters(request)).await
    }

    /// Delivers a dead letter again, or makes another task of it if its own has ended.
    pub async fn retry_dead_letter(
        &self,
        id: impl Into<String>,
    ) -> Result<RetryDeadLetterResponse, Error> {
        let request = RetryDeadLetterRequest { id: id.into() };
        within(self.inner.calls.hub().retry_dead_letter(request)).await
    }

    /// Forgets a dead letter.
    pub async fn drop_dead_letter(&self, id: impl Into<String>) -> Result<(), Error> {
        let request = DropDeadLetterRequest { id: id.into() };
        let done = within(self.inner.calls.hub().drop_dead_letter(request)).await;
        done.map(|_| ())
    }
}
