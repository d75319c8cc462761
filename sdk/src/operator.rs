//! What operators do with a hub: mailboxes, dead letters, agents that are to be forgotten, approvals.

use agenthub_runs::{Decision, RunId};

use crate::{Client, Error, Published, approvals};

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
}
