//! `agenthub.Access`: identity of the caller, and decisions with the rules that decide.

use std::time::Instant;

use agenthub_access::{
    Action, Caller, Decision, Identities, InvalidPrincipal, Namespace, Principal, decide,
};
use agenthub_proto::agenthub::{
    ExplainRequest, ExplainResponse, QuotaUse, WhoAmIRequest, WhoAmIResponse, access_server::Access,
};
use tonic::{Request, Response, Status};

use crate::Hub;

/// Maximum number of agents that are decided about in one call.
const MOST_AGENTS: usize = 10_000;

/// The service.
#[derive(Debug)]
pub(crate) struct AccessService {
    hub: Hub,
    identities: Identities,
}

impl AccessService {
    pub(crate) fn new(hub: Hub, identities: Identities) -> Self {
        Self { hub, identities }
    }
}

#[tonic::async_trait]
impl Access for AccessService {
    async fn who_am_i(
        &self,
        request: Request<WhoAmIRequest>,
    ) -> Result<Response<WhoAmIResponse>, Status> {
        let caller = Caller::of_request(request.extensions());
        let WhoAmIRequest { send_to } = request.into_inner();
        if send_to.len() > MOST_AGENTS {
            return Err(Status::invalid_argument(format!(
                "`send_to` names {} agents: {MOST_AGENTS} at most, so ask about the others in a further call",
                send_to.len()
            )));
        }
        let may_not_send_to = send_to
            .into_iter()
            .filter(|to| decide(&caller, &Action::Send { to }).is_err())
            .collect();
        let used = self.hub.usage(&caller.principal);
        let uses = self.identities.meter(&caller).uses(used, Instant::now());
        let quotas = uses.into_iter().map(|(whose, what, limit, used)| QuotaUse {
            whose,
            what: what.to_owned(),
            limit,
            used,
        });
        Ok(Response::new(WhoAmIResponse {
            quotas: quotas.collect(),
            principal: caller.principal.clone(),
            namespace: caller.namespace.clone(),
            roles: caller.roles().to_vec(),
            anonymous: caller.is_anonymous(),
            may_not_send_to,
        }))
    }

    async fn explain(
        &self,
        request: Request<ExplainRequest>,
    ) -> Result<Response<ExplainResponse>, Status> {
        // Of another namespace nothing is said: a principal of the same name is another one there.
        let namespace: Result<Namespace, _> =
            Caller::of_request(request.extensions()).namespace.parse();
        let namespace = namespace.map_err(|error| invalid(&error))?;
        let ExplainRequest {
            principal,
            roles,
            action,
            resource,
            on_behalf_of,
        } = request.into_inner();
        let principal: Principal = principal
            .parse()
            .map_err(|error: InvalidPrincipal| invalid(&error))?;
        let policy = self.identities.policy();
        policy
            .check_roles("roles", &roles)
            .map_err(|error| invalid(&error))?;
        let owner = self.hub.owner(&resource);
        let action = Action::of_words(&action, &resource, owner.as_deref());
        let action = action.map_err(|error| invalid(&error))?;
        let initiator = match &*on_behalf_of {
            "" => None,
            name => Some(
                name.parse()
                    .map_err(|error: InvalidPrincipal| invalid(&error))?,
            ),
        };
        let as_caller = |principal: &Principal, roles: &[String]| match self.identities.is_open() {
            true => Caller::anonymous(),
            false => self.identities.caller_of(principal, &namespace, roles),
        };
        let caller = as_caller(&principal, &roles);
        let asked_by = initiator.as_ref().map(|name| as_caller(name, &[]));
        let Decision { is_allowed, rule } = Decision::of(&caller, asked_by.as_ref(), &action);
        let other = initiator.as_ref().filter(|name| **name != principal);
        let names = [Some(&principal), other].into_iter().flatten();
        let names = names.filter(|_| !is_allowed);
        let unknown = names.filter_map(|name| self.identities.unknown_principal(name, &namespace));
        let rule = [rule].into_iter().chain(unknown).collect::<Vec<_>>();
        let rule = rule.join("; ");
        Ok(Response::new(ExplainResponse {
            allowed: is_allowed,
            rule,
            right: action.right(),
        }))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> Status {
    Status::invalid_argument(error.to_string())
}
