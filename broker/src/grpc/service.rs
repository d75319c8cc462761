//! `agenthub.AgentHub`: checks required fields of each call and passes it to the hub.

use agenthub_access::audit::Refusal;
use agenthub_proto::{
    AS_OF,
    a2a::{AgentCard, Task},
    agenthub::{
        AgentEntry, AgentEvent, AgentEventMetadata, AgentFrame, CancelTaskRequest, ChargeRequest,
        ChargeResponse, DropDeadLetterRequest, DropDeadLetterResponse, GetAgentRequest,
        GetMailboxRequest, GetMailboxResponse, GetTaskRequest, HubFrame, ListAgentsRequest,
        ListAgentsResponse, ListDeadLettersRequest, ListDeadLettersResponse, ListMailboxesRequest,
        ListMailboxesResponse, ListTasksRequest, ListTasksResponse, PublishMessageRequest,
        PublishResponse, PublishTaskArtifactRequest, PublishTaskUpdateRequest, PurgeMailboxRequest,
        PurgeMailboxResponse, RegisterAgentRequest, RegisterAgentResponse, RetryDeadLetterRequest,
        RetryDeadLetterResponse, SeekMailboxRequest, SeekMailboxResponse,
        SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, SubscribeToTasksRequest,
        UnregisterAgentRequest, UnregisterAgentResponse, agent_hub_server::AgentHub,
    },
    trace::TraceContext,
};
use tokio_stream::Empty;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};

use super::status::{explanation, published, status};
use crate::{
    Caller, Error,
    hub::{Body, Hub, Receipt, Repetition},
    log::Registration,
};

/// The generated service of a hub, without its streams; the served one is [`Front`](super::front::Front).
#[derive(Clone, Debug)]
pub(super) struct HubService {
    hub: Hub,
}

impl HubService {
    pub(super) fn new(hub: Hub) -> Self {
        Self { hub }
    }

    /// The hub itself.
    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    async fn publish(
        &self,
        body: Result<Body, Error>,
        routing: Option<AgentEventMetadata>,
        headers: &MetadataMap,
        caller: &Caller,
        repetition: Repetition,
    ) -> Result<Receipt, Error> {
        let body = body?;
        if let Body::Message(message) = &body {
            crate::limits::required("message.message_id", &message.message_id)?;
        }
        let routing =
            routing.ok_or_else(|| Error::Incomplete("routing metadata is required".to_owned()))?;
        let routing = with_trace(routing, headers);
        let receipt = self.hub.publish(caller, body, routing, repetition)?;
        self.hub.safe(receipt.safe_at).await?;
        Ok(receipt)
    }

    /// Read barrier: answers once everything that was read is durable, so that a crash takes nothing back that was
    /// answered.
    async fn settled<T>(&self, read: Result<T, Error>) -> Result<Response<T>, Status> {
        self.hub.settled().await;
        read.map(Response::new).map_err(status)
    }

    /// Answers once the change is durable.
    async fn safe<T>(&self, done: Result<T, Error>) -> Result<Response<T>, Status> {
        let done = done.map_err(status)?;
        self.hub.synced().await.map_err(status)?;
        Ok(Response::new(done))
    }
}

/// The envelope with the trace of the call's headers (W3C Trace Context), if the envelope has none.
fn with_trace(routing: AgentEventMetadata, headers: &MetadataMap) -> AgentEventMetadata {
    if !routing.traceparent.is_empty() {
        return routing;
    }
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let traceparent = header("traceparent").filter(|text| text.parse::<TraceContext>().is_ok());
    let Some(traceparent) = traceparent else {
        return routing;
    };
    AgentEventMetadata {
        traceparent: traceparent.to_owned(),
        tracestate: match routing.tracestate.is_empty() {
            true => header("tracestate").unwrap_or_default().to_owned(),
            false => routing.tracestate,
        },
        ..routing
    }
}

/// Error for calls that [`Front`](super::front::Front) serves itself.
fn elsewhere() -> Status {
    Status::internal("this call is served elsewhere")
}

fn missing(what: &str) -> Error {
    Error::InvalidArgument(format!("{what} is required"))
}

#[tonic::async_trait]
impl AgentHub for HubService {
    type ConnectStream = Empty<Result<HubFrame, Status>>;
    type SubscribeToMessagesStream = Empty<Result<AgentEvent, Status>>;
    type SubscribeToTasksStream = Empty<Result<AgentEvent, Status>>;
    type SubscribeToAgentEventsStream = Empty<Result<AgentEvent, Status>>;

    /// Never called: [`Front`](super::front::Front) serves `Connect` itself.
    async fn connect(
        &self,
        _: Request<Streaming<AgentFrame>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        Err(elsewhere())
    }

    async fn publish_message(
        &self,
        request: Request<PublishMessageRequest>,
    ) -> Result<Response<PublishResponse>, Status> {
        let (headers, extensions, request) = request.into_parts();
        let caller = Caller::of_request(&extensions);
        let PublishMessageRequest {
            message,
            routing,
            refuse_known_id,
        } = request;
        let repetition = match refuse_known_id {
            true => Repetition::Refuse,
            false => Repetition::Accept,
        };
        let body = message.map(Body::Message).ok_or_else(|| missing("message"));
        let receipt = self
            .publish(body, routing, &headers, &caller, repetition)
            .await;
        published(receipt).map(Response::new)
    }

    async fn publish_task_update(
        &self,
        request: Request<PublishTaskUpdateRequest>,
    ) -> Result<Response<PublishResponse>, Status> {
        let (headers, extensions, request) = request.into_parts();
        let caller = Caller::of_request(&extensions);
        let PublishTaskUpdateRequest { update, routing } = request;
        let body = update.map(Body::Status).ok_or_else(|| missing("update"));
        let receipt = self.publish(body, routing, &headers, &caller, Repetition::Accept);
        published(receipt.await).map(Response::new)
    }

    async fn publish_task_artifact(
        &self,
        request: Request<PublishTaskArtifactRequest>,
    ) -> Result<Response<PublishResponse>, Status> {
        let (headers, extensions, request) = request.into_parts();
        let caller = Caller::of_request(&extensions);
        let PublishTaskArtifactRequest { artifact, routing } = request;
        let body = artifact
            .map(Body::Artifact)
            .ok_or_else(|| missing("artifact"));
        let receipt = self.publish(body, routing, &headers, &caller, Repetition::Accept);
        published(receipt.await).map(Response::new)
    }

    /// Never called, as the other two subscriptions: see [`subscribe`](super::subscriptions::subscribe).
    async fn subscribe_to_messages(
        &self,
        _: Request<SubscribeToMessagesRequest>,
    ) -> Result<Response<Self::SubscribeToMessagesStream>, Status> {
        Err(elsewhere())
    }

    async fn subscribe_to_tasks(
        &self,
        _: Request<SubscribeToTasksRequest>,
    ) -> Result<Response<Self::SubscribeToTasksStream>, Status> {
        Err(elsewhere())
    }

    async fn subscribe_to_agent_events(
        &self,
        _: Request<SubscribeToAgentEventsRequest>,
    ) -> Result<Response<Self::SubscribeToAgentEventsStream>, Status> {
        Err(elsewhere())
    }

    async fn get_task(&self, request: Request<GetTaskRequest>) -> Result<Response<Task>, Status> {
        let caller = Caller::of_request(request.extensions());
        let request = request.into_inner();
        let task = self
            .hub
            .task(&caller, &request.task_id, request.history_length)
            .await;
        let (task, as_of) = task.map_err(status)?;
        let mut answer = Response::new(task);
        if let Ok(as_of) = as_of.parse() {
            answer.metadata_mut().insert(AS_OF, as_of);
        }
        Ok(answer)
    }

    async fn cancel_task(
        &self,
        request: Request<CancelTaskRequest>,
    ) -> Result<Response<Task>, Status> {
        let caller = Caller::of_request(request.extensions());
        let request = request.into_inner();
        let task = self
            .hub
            .cancel_task(&caller, &request.task_id, &request.reason)
            .await;
        task.map(Response::new).map_err(status)
    }

    async fn list_tasks(
        &self,
        request: Request<ListTasksRequest>,
    ) -> Result<Response<ListTasksResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let page = self.hub.list_tasks(&caller, &request.into_inner()).await;
        self.settled(page).await
    }

    async fn get_agent_card(&self, request: Request<()>) -> Result<Response<AgentCard>, Status> {
        let caller = Caller::of_request(request.extensions());
        self.hub.card(&caller).map(Response::new).map_err(status)
    }

    async fn register_agent(
        &self,
        request: Request<RegisterAgentRequest>,
    ) -> Result<Response<RegisterAgentResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let RegisterAgentRequest {
            agent_card,
            subscriptions,
            health_check_url,
            instance_id,
        } = request.into_inner();
        let agent_id = agent_card
            .as_ref()
            .map(|c| c.name.clone())
            .unwrap_or_default();
        let registered = match agent_card {
            None => Err(Error::Incomplete("agent card is required".to_owned())),
            Some(card) if card.name.is_empty() => {
                Err(Error::Incomplete("agent card name is required".to_owned()))
            }
            Some(card) => self.hub.register(
                &caller,
                Registration {
                    card,
                    topics: subscriptions,
                    health_check_url,
                },
                &instance_id,
            ),
        };
        let registered = match registered {
            Ok(()) => self.hub.synced().await,
            refused => refused,
        };
        let refusal = match &registered {
            Err(Error::PermissionDenied(why)) => Some(Refusal(why.clone())),
            _ => None,
        };
        let mut answer = Response::new(match registered {
            Ok(()) => RegisterAgentResponse {
                success: true,
                error: String::new(),
                agent_id,
            },
            Err(error) => RegisterAgentResponse {
                success: false,
                error: explanation(&error),
                agent_id: String::new(),
            },
        });
        if let Some(refusal) = refusal {
            answer.extensions_mut().insert(refusal);
        }
        Ok(answer)
    }

    async fn unregister_agent(
        &self,
        request: Request<UnregisterAgentRequest>,
    ) -> Result<Response<UnregisterAgentResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let UnregisterAgentRequest { agent_id, reason } = request.into_inner();
        self.hub
            .unregister(&caller, &agent_id, &reason)
            .await
            .map_err(status)?;
        self.hub.synced().await.map_err(status)?;
        Ok(Response::new(UnregisterAgentResponse {
            success: true,
            error: String::new(),
        }))
    }

    async fn list_agents(
        &self,
        request: Request<ListAgentsRequest>,
    ) -> Result<Response<ListAgentsResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let page = self.hub.list_agents(&caller, request.into_inner()).await;
        self.settled(page).await
    }

    async fn get_agent(
        &self,
        request: Request<GetAgentRequest>,
    ) -> Result<Response<AgentEntry>, Status> {
        let caller = Caller::of_request(request.extensions());
        let agent = self.hub.agent(&caller, &request.into_inner().agent_id);
        self.settled(agent).await
    }

    async fn list_mailboxes(
        &self,
        request: Request<ListMailboxesRequest>,
    ) -> Result<Response<ListMailboxesResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let page = self.hub.list_mailboxes(&caller, &request.into_inner());
        self.settled(page).await
    }

    async fn get_mailbox(
        &self,
        request: Request<GetMailboxRequest>,
    ) -> Result<Response<GetMailboxResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let mailbox = self.hub.mailbox(&caller, &request.into_inner()).await;
        self.settled(mailbox).await
    }

    async fn seek_mailbox(
        &self,
        request: Request<SeekMailboxRequest>,
    ) -> Result<Response<SeekMailboxResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let request = request.into_inner();
        let sought = self.hub.seek_mailbox(&caller, &request).await;
        self.safe(sought).await
    }

    async fn purge_mailbox(
        &self,
        request: Request<PurgeMailboxRequest>,
    ) -> Result<Response<PurgeMailboxResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let purged = self.hub.purge_mailbox(&caller, &request.into_inner()).await;
        self.safe(purged.map(|purged| PurgeMailboxResponse { purged }))
            .await
    }

    async fn list_dead_letters(
        &self,
        request: Request<ListDeadLettersRequest>,
    ) -> Result<Response<ListDeadLettersResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let page = self.hub.list_dead_letters(&caller, &request.into_inner());
        self.settled(page).await
    }

    async fn retry_dead_letter(
        &self,
        request: Request<RetryDeadLetterRequest>,
    ) -> Result<Response<RetryDeadLetterResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let id = request.into_inner().id;
        let retried = self.hub.retry_dead_letter(&caller, &id);
        self.safe(retried.map(|task_id| RetryDeadLetterResponse { task_id }))
            .await
    }

    async fn drop_dead_letter(
        &self,
        request: Request<DropDeadLetterRequest>,
    ) -> Result<Response<DropDeadLetterResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let id = request.into_inner().id;
        let dropped = self.hub.drop_dead_letter(&caller, &id);
        self.safe(dropped.map(|()| DropDeadLetterResponse {})).await
    }

    async fn charge(
        &self,
        request: Request<ChargeRequest>,
    ) -> Result<Response<ChargeResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let left = self.hub.charge(&caller, &request.into_inner());
        left.map(Response::new).map_err(status)
    }
}

#[cfg(test)]
mod tests;
