//! The subscription calls of older clients.

use agenthub_proto::agenthub::{
    EventKind, SubscribeToAgentEventsRequest, SubscribeToMessagesRequest, SubscribeToTasksRequest,
};
use prost::Message;
use tonic::{Status, body::Body, codegen::http::Request};

use super::{
    request::{Extent, decoded, message},
    status::status,
    stream::{self, EventBody},
};
use crate::{
    Caller, Error,
    access::Call,
    filter::{Filter, known},
    hub::{Hub, StreamRequest},
    mailboxes::Observed,
};

/// The most of the log's latest records that a stream rereads which begins with them.
const MAX_RECENT: u32 = 10_000;

/// Opens a client's stream, and reports the position after which its events begin.
///
/// # Errors
///
/// The status for the client.
pub(super) async fn subscribe<R>(
    hub: Hub,
    request: Request<Body>,
    most_bytes: usize,
) -> Result<(EventBody, String), Status>
where
    R: Message + Default + TryInto<StreamRequest, Error = Error>,
{
    let caller = Caller::of_request(request.extensions());
    let request: R = decoded(message(request, most_bytes, Extent::First).await?)?;
    let wanted = request.try_into().map_err(status)?;
    let session = hub.open_stream(&caller, wanted).await.map_err(status)?;
    let begins_after = session.begins_after();
    Ok((stream::start(&hub, session), begins_after))
}

impl TryFrom<SubscribeToMessagesRequest> for StreamRequest {
    type Error = Error;

    fn try_from(request: SubscribeToMessagesRequest) -> Result<Self, Error> {
        Ok(Self {
            call: Call::SubscribeToMessages,
            agent: request.agent_id.into(),
            filter: Filter {
                types: request.message_types,
                contexts: request.contexts,
                ..Filter::kinds(&[EventKind::Message])
            },
            after: request.after,
            observes: None,
            recent: 0,
        })
    }
}

impl TryFrom<SubscribeToTasksRequest> for StreamRequest {
    type Error = Error;

    fn try_from(request: SubscribeToTasksRequest) -> Result<Self, Error> {
        Ok(Self {
            call: Call::SubscribeToTasks,
            agent: request.agent_id.into(),
            filter: Filter {
                types: request.task_types,
                states: known(&request.states, "states", |n| n.try_into().ok())?,
                tasks: request.task_ids.into_iter().map(Into::into).collect(),
                ..Filter::kinds(&[
                    EventKind::Task,
                    EventKind::StatusUpdate,
                    EventKind::ArtifactUpdate,
                ])
            },
            after: request.after,
            observes: request.observe.then_some(Observed::All),
            recent: 0,
        })
    }
}

impl TryFrom<SubscribeToAgentEventsRequest> for StreamRequest {
    type Error = Error;

    fn try_from(request: SubscribeToAgentEventsRequest) -> Result<Self, Error> {
        Ok(Self {
            call: Call::SubscribeToAgentEvents,
            agent: request.agent_id.into(),
            filter: Filter {
                types: request.event_types,
                ..Filter::kinds(&[
                    EventKind::Message,
                    EventKind::Task,
                    EventKind::StatusUpdate,
                    EventKind::ArtifactUpdate,
                    EventKind::AgentCard,
                ])
            },
            after: request.after,
            observes: request
                .observe
                .then(|| match request.observed_agent_id.as_str() {
                    "" => Observed::All,
                    agent => Observed::Agent(agent.into()),
                }),
            recent: request.recent.min(MAX_RECENT),
        })
    }
}
