//! The gRPC service of agents elsewhere, and what its errors are on the wire.

use agenthub_sdk::{Error as HubError, proto::json::from_struct};
use tonic::{Request, Response, Status};

use super::{
    OutsideAgents,
    manager::Refusal,
    watching::Trouble,
    wire::{
        AddOutsideAgentRequest, AddOutsideAgentResponse, ListOutsideAgentsRequest,
        ListOutsideAgentsResponse, RemoveOutsideAgentRequest, RemoveOutsideAgentResponse,
        outside_agents_server::OutsideAgents as Service,
    },
};
use crate::client::Auth;

/// Agents elsewhere over gRPC.
#[derive(Clone, Debug)]
pub struct OutsideService(OutsideAgents);

impl From<OutsideAgents> for OutsideService {
    fn from(agents: OutsideAgents) -> Self {
        Self(agents)
    }
}

#[tonic::async_trait]
impl Service for OutsideService {
    async fn add_outside_agent(
        &self,
        request: Request<AddOutsideAgentRequest>,
    ) -> Result<Response<AddOutsideAgentResponse>, Status> {
        let AddOutsideAgentRequest {
            url,
            agent_id,
            auth,
        } = request.into_inner();
        let auth: Option<Auth> = match auth.filter(|auth| !auth.fields.is_empty()) {
            None => None,
            Some(auth) => {
                let read = serde_json::from_value(from_struct(&auth));
                Some(read.map_err(|error| Status::invalid_argument(format!("auth: {error}")))?)
            }
        };
        let agent = self.0.add(&url, &agent_id, auth).await.map_err(status)?;
        Ok(Response::new(AddOutsideAgentResponse {
            agent: Some(agent),
        }))
    }

    async fn remove_outside_agent(
        &self,
        request: Request<RemoveOutsideAgentRequest>,
    ) -> Result<Response<RemoveOutsideAgentResponse>, Status> {
        let id = request.into_inner().agent_id;
        let cancelled = self.0.remove(&id).await.map_err(status)?;
        Ok(Response::new(RemoveOutsideAgentResponse {
            cancelled: cancelled.told,
            left: cancelled.left,
        }))
    }

    async fn list_outside_agents(
        &self,
        _: Request<ListOutsideAgentsRequest>,
    ) -> Result<Response<ListOutsideAgentsResponse>, Status> {
        let agents = self.0.all().await;
        Ok(Response::new(ListOutsideAgentsResponse { agents }))
    }
}

fn status(refusal: Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::NotOpen => Status::unavailable(text),
        Refusal::Id(_) => Status::invalid_argument(text),
        Refusal::Taken(_) => Status::already_exists(text),
        Refusal::Unknown(_) => Status::not_found(text),
        Refusal::TooMany => Status::resource_exhausted(text),
        Refusal::Disk(_) => Status::internal(text),
        Refusal::Trouble(Trouble::Outside(failure)) if failure.is_retryable() => {
            Status::unavailable(text)
        }
        Refusal::Trouble(
            Trouble::Outside(_) | Trouble::Hub(HubError::Invalid(_) | HubError::Refused(_)),
        ) => Status::invalid_argument(text),
        Refusal::Trouble(Trouble::Hub(_)) => Status::unavailable(text),
    }
}
