//! The hub, as screens ask it: in the name of whoever looks at them.

use std::{future::ready, time::Duration};

use agenthub_proto::{
    a2a::{Message, Task},
    agenthub::{
        AgentEntry, AgentEventMetadata, CancelTaskRequest, DropDeadLetterRequest, GetAgentRequest,
        GetTaskRequest, ListAgentsRequest, ListAgentsResponse, ListDeadLettersRequest,
        ListDeadLettersResponse, ListMailboxesRequest, ListMailboxesResponse, ListTasksRequest,
        ListTasksResponse, PublishMessageRequest, RetryDeadLetterRequest, RetryDeadLetterResponse,
        SubscribeToAgentEventsRequest, agent_hub_client::AgentHubClient,
    },
    grpc::{InProcess, Messages, Transport, call, framed},
};
use futures_util::stream;
use tokio::time::timeout;

use crate::{
    backend::{DEADLINE, within},
    trouble::Trouble,
};

/// The call for events.
const EVENTS: &str = "/agenthub.AgentHub/SubscribeToAgentEvents";

/// Largest answer of the hub, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Time for a task that is called back, whose agent the hub gives 10 s to stop.
const CANCELLING: Duration = Duration::from_secs(20);

/// The hub. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    agent_id: String,
    services: InProcess,
    client: AgentHubClient<Transport>,
}

impl Hub {
    pub(crate) fn new(agent_id: String, services: InProcess) -> Self {
        let client = AgentHubClient::new(Transport::from(services.clone()));
        Self {
            agent_id,
            services,
            client: client.max_decoding_message_size(MAX_BYTES),
        }
    }

    fn client(&self) -> AgentHubClient<Transport> {
        self.client.clone()
    }

    /// The id that pages publish under.
    pub(crate) fn agent_id(&self) -> &str {
        &self.agent_id
    }

    pub(crate) async fn agents(
        &self,
        request: ListAgentsRequest,
    ) -> Result<ListAgentsResponse, Trouble> {
        within(self.client().list_agents(request)).await
    }

    pub(crate) async fn agent(&self, id: &str) -> Result<AgentEntry, Trouble> {
        let request = GetAgentRequest {
            agent_id: id.to_owned(),
        };
        within(self.client().get_agent(request)).await
    }

    /// The tasks that the request matches, as far as the caller may see them.
    pub(crate) async fn tasks(
        &self,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Trouble> {
        within(self.client().list_tasks(request)).await
    }

    /// A task with its latest `history` messages; 0 is all.
    pub(crate) async fn task(&self, id: &str, history: i32) -> Result<Task, Trouble> {
        let request = GetTaskRequest {
            task_id: id.to_owned(),
            history_length: history,
        };
        within(self.client().get_task(request)).await
    }

    pub(crate) async fn cancel_task(&self, id: &str, reason: &str) -> Result<Task, Trouble> {
        let request = CancelTaskRequest {
            task_id: id.to_owned(),
            reason: reason.to_owned(),
        };
        let mut client = self.client();
        let cancelled = tokio::time::timeout(CANCELLING, client.cancel_task(request)).await;
        Ok(cancelled.map_err(|_| Trouble::late())??.into_inner())
    }

    pub(crate) async fn publish(
        &self,
        message: Message,
        routing: AgentEventMetadata,
    ) -> Result<(), Trouble> {
        let request = PublishMessageRequest {
            message: Some(message),
            routing: Some(routing),
            ..Default::default()
        };
        let answer = within(self.client().publish_message(request)).await?;
        match answer.success {
            true => Ok(()),
            false => Err(Trouble::refused(answer.error)),
        }
    }

    /// Events as they happen, encoded, until the first error.
    pub(crate) async fn agent_events(
        &self,
        request: SubscribeToAgentEventsRequest,
    ) -> Result<Messages, Trouble> {
        let request = stream::once(ready(framed(&request)));
        let events = call(self.services.clone(), EVENTS, request, MAX_BYTES);
        let events = timeout(DEADLINE, events).await;
        Ok(events.map_err(|_| Trouble::late())??)
    }

    pub(crate) async fn mailboxes(
        &self,
        request: ListMailboxesRequest,
    ) -> Result<ListMailboxesResponse, Trouble> {
        within(self.client().list_mailboxes(request)).await
    }

    pub(crate) async fn dead_letters(
        &self,
        request: ListDeadLettersRequest,
    ) -> Result<ListDeadLettersResponse, Trouble> {
        within(self.client().list_dead_letters(request)).await
    }

    pub(crate) async fn retry_dead_letter(
        &self,
        id: &str,
    ) -> Result<RetryDeadLetterResponse, Trouble> {
        let request = RetryDeadLetterRequest { id: id.to_owned() };
        within(self.client().retry_dead_letter(request)).await
    }

    pub(crate) async fn drop_dead_letter(&self, id: &str) -> Result<(), Trouble> {
        let request = DropDeadLetterRequest { id: id.to_owned() };
        within(self.client().drop_dead_letter(request)).await?;
        Ok(())
    }
}
