//! The hub's calls that are no part of the stream.

use std::{collections::HashSet, time::Duration};

use agenthub_proto::{
    AS_OF,
    a2a::{Message, Task},
    agenthub::{
        AgentEntry, AgentEventMetadata, CancelTaskRequest, GetAgentRequest, GetTaskRequest,
        ListAgentsRequest, ListAgentsResponse, ListTasksRequest, ListTasksResponse,
        PublishMessageRequest, RegisterAgentRequest, SubscribeToAgentEventsRequest,
        SubscribeToTasksRequest, WhoAmIRequest, access_client::AccessClient,
        agent_hub_client::AgentHubClient,
    },
    grpc::Transport,
};
use tokio::time::timeout;
use tonic::{Response, Status};

use super::{Client, EventStream, events::Subscription};
use crate::{Error, Published, connection::MAX_RECEIVED_BYTES};

/// Time for which a hub waits for the agent at work to confirm that it stopped.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// The entries that a hub gives at once.
const LARGEST_PAGE: i32 = 1000;

/// The unary calls, each with its deadline. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    transport: Transport,
}

impl Calls {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport }
    }

    pub(crate) fn hub(&self) -> AgentHubClient<Transport> {
        AgentHubClient::new(self.transport.clone()).max_decoding_message_size(MAX_RECEIVED_BYTES)
    }

    pub(crate) fn access(&self) -> AccessClient<Transport> {
        AccessClient::new(self.transport.clone())
    }

    pub(crate) async fn task(&self, task_id: &str, history: i32) -> Result<Task, Error> {
        let request = GetTaskRequest {
            task_id: task_id.to_owned(),
            history_length: history,
        };
        within(self.hub().get_task(request)).await
    }

    pub(crate) async fn cancel_task(&self, task_id: &str, reason: &str) -> Result<Task, Error> {
        let request = CancelTaskRequest {
            task_id: task_id.to_owned(),
            reason: reason.to_owned(),
        };
        let limit = Client::CALL_DEADLINE + CANCEL_GRACE;
        within_time(limit, self.hub().cancel_task(request)).await
    }
}

pub(crate) async fn within<T>(
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Error> {
    within_time(Client::CALL_DEADLINE, call).await
}

async fn within_time<T>(
    limit: Duration,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Error> {
    match timeout(limit, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(Error::from_status(&status)),
        Err(_) => Err(Error::Timeout(limit)),
    }
}

/// Each of these calls has [`Client::CALL_DEADLINE`] and does not wait for a reconnect; dropping its future gives it up. Errors are
/// those that the hub states, [`Error::Unavailable`] without a connection, and [`Error::Timeout`].
impl Client {
    /// Length of a task's history that stands for all of it.
    pub(crate) const WHOLE_HISTORY: i32 = 0;

    /// Deadline of a call: 10 s.
    pub const CALL_DEADLINE: Duration = Duration::from_secs(10);

    /// Publishes a message as [`publish`](Self::publish) does, but outside of the stream, so that its order among the client's other publishes is
    /// not kept. `None` if the hub has had it before. Spares a client in the hub's process the way over its stream.
    pub async fn publish_call(
        &self,
        message: Message,
        mut routing: AgentEventMetadata,
    ) -> Result<Option<Published>, Error> {
        if routing.from_agent_id.is_empty() {
            self.agent_id().clone_into(&mut routing.from_agent_id);
        }
        let request = PublishMessageRequest {
            message: Some(message),
            routing: Some(routing),
            refuse_known_id: true,
        };
        let answer = within(self.inner.calls.hub().publish_message(request)).await?;
        if !answer.success {
            return Err(Error::Invalid(answer.error));
        }
        Ok((!answer.repeated).then_some(Published {
            event_id: answer.event_id,
            position: answer.position,
        }))
    }

    /// The agents that the request's filters match, a page of them.
    pub async fn agents(&self, request: ListAgentsRequest) -> Result<ListAgentsResponse, Error> {
        within(self.inner.calls.hub().list_agents(request)).await
    }

    /// All agents that the request's filters match, from its page on. Each page has the deadline of a call.
    pub async fn all_agents(
        &self,
        mut request: ListAgentsRequest,
    ) -> Result<Vec<AgentEntry>, Error> {
        if request.page_size <= 0 {
            request.page_size = LARGEST_PAGE;
        }
        let mut all = Vec::new();
        loop {
            let page = self.agents(request.clone()).await?;
            all.extend(page.agents);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Makes an agent known, or known as what it is from here on.
    pub(crate) async fn register(&self, request: RegisterAgentRequest) -> Result<(), Error> {
        let answer = within(self.inner.calls.hub().register_agent(request)).await?;
        match answer.success {
            true => Ok(()),
            false => Err(Error::Refused(answer.error)),
        }
    }

    /// Returns those of these agents to which this client may not send; none if the hub does not say.
    pub(crate) async fn may_not_send_to(
        &self,
        agents: Vec<String>,
    ) -> Result<HashSet<String>, Error> {
        let request = WhoAmIRequest { send_to: agents };
        let who = within(self.inner.calls.access().who_am_i(request)).await?;
        Ok(who.may_not_send_to.into_iter().collect())
    }

    /// One agent, by its id or `id@version`.
    pub async fn agent(&self, agent_id: impl Into<String>) -> Result<AgentEntry, Error> {
        let request = GetAgentRequest {
            agent_id: agent_id.into(),
        };
        within(self.inner.calls.hub().get_agent(request)).await
    }

    /// One task with its latest `history` messages; 0 is all, negative none.
    pub async fn task(&self, task_id: &str, history: i32) -> Result<Task, Error> {
        self.inner.calls.task(task_id, history).await
    }

    /// One task with its latest `history` messages, and the position in the hub's log as of which it is so: [`task_events`](Self::task_events)
    /// after it miss nothing and repeat nothing. Hubs that do not say it give an empty position.
    pub async fn task_as_of(&self, task_id: &str, history: i32) -> Result<(Task, String), Error> {
        let request = GetTaskRequest {
            task_id: task_id.to_owned(),
            history_length: history,
        };
        let mut hub = self.inner.calls.hub();
        let mut as_of = String::new();
        let task = within(async {
            let answer = hub.get_task(request).await?;
            if let Some(Ok(position)) = answer.metadata().get(AS_OF).map(|m| m.to_str()) {
                position.clone_into(&mut as_of);
            }
            Ok(answer)
        });
        Ok((task.await?, as_of))
    }

    /// The tasks that the request's filters match, a page of them, latest change first.
    pub async fn tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, Error> {
        within(self.inner.calls.hub().list_tasks(request)).await
    }

    /// All tasks that the request's filters match, from its page on. Each page has the deadline of a call. What changes meanwhile may
    /// be left out.
    pub async fn all_tasks(&self, mut request: ListTasksRequest) -> Result<Vec<Task>, Error> {
        if request.page_size <= 0 {
            request.page_size = LARGEST_PAGE;
        }
        let mut all = Vec::new();
        loop {
            let page = self.tasks(request.clone()).await?;
            all.extend(page.tasks);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Cancels a task, and waits until the agent at work has stopped, which the hub gives it 10 s for. [`Error::Conflict`] if the task had
    /// ended before.
    pub async fn cancel_task(&self, task_id: &str, reason: &str) -> Result<Task, Error> {
        self.inner.calls.cancel_task(task_id, reason).await
    }

    /// Watches tasks. The deadline is for the beginning of the stream, which comes back by itself after a break.
    pub async fn task_events(
        &self,
        request: SubscribeToTasksRequest,
    ) -> Result<EventStream, Error> {
        EventStream::open(self.clone(), Subscription::Tasks(request)).await
    }

    /// Watches agents, and whatever else comes for the request's agent. The deadline is for the beginning of the stream, which comes back by
    /// itself after a break.
    pub async fn agent_events(
        &self,
        request: SubscribeToAgentEventsRequest,
    ) -> Result<EventStream, Error> {
        EventStream::open(self.clone(), Subscription::Agents(request)).await
    }
}
