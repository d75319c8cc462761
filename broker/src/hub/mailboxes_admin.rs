//! Operator calls for mailboxes.

use agenthub_proto::agenthub::{
    AgentEvent, GetMailboxRequest, GetMailboxResponse, ListMailboxesRequest, ListMailboxesResponse,
    Mailbox, PurgeMailboxRequest,
};

use super::{Hub, core::Core};
use crate::{
    Caller, Error,
    access::{Call, decide},
    id::AgentId,
    limits::{self, PAGE_BYTES},
    mailbox::Mail,
    mailboxes::MailboxSummary,
};

/// Maximum events of a peek.
const PEEK: usize = 1000;

impl Hub {
    pub(crate) fn list_mailboxes(
        &self,
        caller: &Caller,
        request: &ListMailboxesRequest,
    ) -> Result<ListMailboxesResponse, Error> {
        decide(Call::ListMailboxes, caller, "")?;
        let limit = page_size(request.page_size)?;
        let core = self.core();
        let mailboxes = &core.state.mailboxes;
        let (agent, name) = request.page_token.split_once('\n').unwrap_or_default();
        let mut names = match request.agent_id.as_str() {
            "" => mailboxes.names_after(agent, name, limit + 1),
            id => mailboxes.names_of(&id.into()),
        };
        names.retain(|(a, n)| (&**a, n.as_str()) > (agent, name));
        let more = names.get(limit..).is_some_and(|rest| !rest.is_empty());
        names.truncate(limit);
        let next_page_token = match names.last().filter(|_| more) {
            Some((agent, name)) => format!("{agent}\n{name}"),
            None => String::new(),
        };
        let seen = names
            .iter()
            .filter_map(|(a, n)| Some(shown(a, n, &mailboxes.see(a, n)?)));
        let mailboxes = seen.collect();
        Ok(ListMailboxesResponse {
            mailboxes,
            next_page_token,
        })
    }

    pub(crate) async fn mailbox(
        &self,
        caller: &Caller,
        request: &GetMailboxRequest,
    ) -> Result<GetMailboxResponse, Error> {
        decide(Call::GetMailbox, caller, "")?;
        limits::required("agent_id", &request.agent_id)?;
        let (agent, name) = (AgentId::from(request.agent_id.as_str()), &request.name);
        let peek = usize::try_from(request.peek).unwrap_or(PEEK).min(PEEK);
        let (mailbox, mail) = self.core().peek(&agent, name, peek)?;
        let events = self.whole(mail).await?;
        let events = events.iter().map(|event| AgentEvent::clone(event));
        Ok(GetMailboxResponse {
            mailbox: Some(mailbox),
            events: events.collect(),
        })
    }

    /// Returns the number of purged events: those that waited at the time of the call. If cancelled or failed, only
    /// some were purged.
    pub(crate) async fn purge_mailbox(
        &self,
        caller: &Caller,
        request: &PurgeMailboxRequest,
    ) -> Result<u64, Error> {
        decide(Call::PurgeMailbox, caller, "")?;
        limits::required("agent_id", &request.agent_id)?;
        let (agent, name) = (AgentId::from(request.agent_id.as_str()), &request.name);
        let upto = {
            let core = self.core();
            if core.state.mailboxes.see(&agent, name).is_none() {
                return Err(no_mailbox(&agent, name));
            }
            core.last()
        };
        let why = "an operator purged the mailbox that it waited in";
        self.skip(caller, &agent, name, upto, why).await
    }
}

impl Core {
    /// A mailbox, and its first waiting events: at most `most`, and as many as fit into an answer.
    fn peek(
        &self,
        agent: &AgentId,
        name: &str,
        most: usize,
    ) -> Result<(Mailbox, Vec<Mail>), Error> {
        let mailboxes = &self.state.mailboxes;
        let seen = mailboxes.see(agent, name);
        let seen = seen.ok_or_else(|| no_mailbox(agent, name))?;
        let mut bytes = 0;
        let mut waiting = mailboxes.waiting(agent, name, most);
        let fits = |mail: &Mail| {
            bytes += mail.bytes();
            bytes <= PAGE_BYTES
        };
        let count = waiting.iter().map(fits).take_while(|fits| *fits).count();
        waiting.truncate(count.max(1));
        Ok((shown(agent, name, &seen), waiting))
    }
}

/// The size of a page: 1 to 1000, or 0 for 100.
pub(super) fn page_size(size: i32) -> Result<usize, Error> {
    match usize::try_from(size) {
        Ok(0) => Ok(100),
        Ok(n) => Ok(n.min(1000)),
        Err(_) => Err(Error::InvalidArgument(format!(
            "page_size is {size}; 1 to 1000, or 0 for 100"
        ))),
    }
}

fn shown(agent: &AgentId, name: &str, seen: &MailboxSummary) -> Mailbox {
    Mailbox {
        agent_id: agent.to_string(),
        name: name.to_owned(),
        waiting: seen.waiting as u64,
        leased: seen.leased as u64,
        bytes: seen.bytes as u64,
        oldest: seen.oldest.as_ref().and_then(|event| event.timestamp),
        ordered: seen.ordered,
    }
}

pub(super) fn no_mailbox(agent: &AgentId, name: &str) -> Error {
    Error::NotFound(match name {
        "" => format!("no mail waits for a first subscription of \"{agent}\""),
        name => format!("agent \"{agent}\" has no durable mailbox \"{name}\""),
    })
}
