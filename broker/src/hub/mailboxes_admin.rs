//! What an operator can do about mailboxes.

use agenthub_proto::agenthub::{
    GetMailboxRequest, GetMailboxResponse, ListMailboxesRequest, ListMailboxesResponse, Mailbox,
    PurgeMailboxRequest, SeekMailboxRequest, SeekMailboxResponse, seek_mailbox_request::To,
};

use super::{
    Hub,
    core::{Core, Now},
};
use crate::{
    Error,
    access::{Call, decide},
    caller::Caller,
    id::{Address, AgentId, MailboxId},
    limits::{self, PAGE_BYTES},
    log::{Again, Entry, Position},
    mailbox::Mail,
    mailboxes::{Lifetime, Seen},
    routing::Route,
    state::Delivering,
};

/// The most events that one seek brings back, and their bytes.
const REREAD: (usize, usize) = (10_000, 64 * 1024 * 1024);
/// Events of one record.
const CHUNK: usize = 100;
/// The most events of one peek.
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
        let after = request.page_token.split_once('\n');
        let names = core.state.mailboxes.names().into_iter();
        let mut rest = names
            .filter(|(a, n)| after.is_none_or(|after| (&**a, n.as_str()) > after))
            .filter(|(a, _)| request.agent_id.is_empty() || **a == *request.agent_id);
        let mailboxes: Vec<Mailbox> = rest
            .by_ref()
            .filter_map(|(a, n)| core.state.mailboxes.see(&a, &n).map(|s| shown(&a, &n, &s)))
            .take(limit)
            .collect();
        let next_page_token = match (rest.next(), mailboxes.last()) {
            (Some(_), Some(last)) => format!("{}\n{}", last.agent_id, last.name),
            _ => String::new(),
        };
        Ok(ListMailboxesResponse {
            mailboxes,
            next_page_token,
        })
    }

    pub(crate) fn mailbox(
        &self,
        caller: &Caller,
        request: &GetMailboxRequest,
    ) -> Result<GetMailboxResponse, Error> {
        decide(Call::GetMailbox, caller, "")?;
        limits::required("agent_id", &request.agent_id)?;
        let (agent, name) = (AgentId::from(request.agent_id.as_str()), &request.name);
        let core = self.core();
        let seen = core.state.mailboxes.see(&agent, name);
        let seen = seen.ok_or_else(|| no_mailbox(&agent, name))?;
        let peek = usize::try_from(request.peek).unwrap_or(PEEK).min(PEEK);
        let mut events = Vec::new();
        let mut bytes = 0;
        for mail in seen.waiting.iter().take(peek) {
            bytes += mail.bytes();
            if bytes > PAGE_BYTES && !events.is_empty() {
                break;
            }
            events.push((*mail.event).clone());
        }
        Ok(GetMailboxResponse {
            mailbox: Some(shown(&agent, name, &seen)),
            events,
        })
    }

    pub(crate) fn seek_mailbox(
        &self,
        caller: &Caller,
        request: &SeekMailboxRequest,
    ) -> Result<SeekMailboxResponse, Error> {
        decide(Call::SeekMailbox, caller, "")?;
        self.core().seek(caller, request, Now::read())
    }

    pub(crate) fn purge_mailbox(
        &self,
        caller: &Caller,
        request: &PurgeMailboxRequest,
    ) -> Result<u64, Error> {
        decide(Call::PurgeMailbox, caller, "")?;
        limits::required("agent_id", &request.agent_id)?;
        let (agent, name) = (AgentId::from(request.agent_id.as_str()), &request.name);
        let mut core = self.core();
        if core.state.mailboxes.see(&agent, name).is_none() {
            return Err(no_mailbox(&agent, name));
        }
        let why = "an operator purged the mailbox that it waited in";
        Ok(core.skip(caller, &agent, name, Position(u64::MAX), why, Now::read()))
    }
}

impl Core {
    /// Moves a durable mailbox.
    pub(super) fn seek(
        &mut self,
        caller: &Caller,
        request: &SeekMailboxRequest,
        now: Now,
    ) -> Result<SeekMailboxResponse, Error> {
        limits::required("agent_id", &request.agent_id)?;
        limits::required("name", &request.name)?;
        let agent = AgentId::from(request.agent_id.as_str());
        let (after, skipped_upto) = match &request.to {
            Some(To::After(token)) => {
                let after = self.log.id().position(token)?;
                if after > self.last() {
                    return Err(Error::OutOfRange(format!(
                        "\"{token}\" is behind the end of the log"
                    )));
                }
                (Some(after), after)
            }
            Some(To::Latest(true)) => (None, Position(u64::MAX)),
            Some(To::Latest(false)) | None => {
                return Err(Error::InvalidArgument(
                    "to: `after`, or `latest`, which must be true".to_owned(),
                ));
            }
        };
        let id = self
            .state
            .mailboxes
            .find(&agent, &request.name, &Lifetime::Durable)
            .ok_or_else(|| no_mailbox(&agent, &request.name))?;
        let again = match after {
            Some(after) => self.missing_after(&agent, id, after, now)?,
            None => Vec::new(),
        };
        if !again.is_empty() {
            self.log.admit()?;
        }
        let reread = again.len() as u64;
        let why = "an operator skipped it";
        let skipped = self.skip(caller, &agent, &request.name, skipped_upto, why, now);
        for chunk in again.chunks(CHUNK) {
            let entry = Entry::Reread {
                agent: agent.clone(),
                name: request.name.clone(),
                mail: chunk.to_vec(),
            };
            self.record(caller, entry, now);
        }
        Ok(SeekMailboxResponse { skipped, reread })
    }

    /// What waits in a mailbox up to a position will not be delivered. Tasks that it was work on fail.
    pub(super) fn skip(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
        upto: Position,
        why: &str,
        now: Now,
    ) -> u64 {
        let seen = self.state.mailboxes.see(agent, name);
        let waiting = seen.map(|s| s.waiting).unwrap_or_default().into_iter();
        let skipped: Vec<Mail> = waiting
            .filter(|m| m.position.is_some_and(|p| p <= upto))
            .cloned()
            .collect();
        if skipped.is_empty() {
            return 0;
        }
        let entry = Entry::Acknowledged {
            agent: agent.clone(),
            name: name.to_owned(),
            positions: skipped.iter().filter_map(|m| m.position).collect(),
        };
        self.record(caller, entry, now);
        for mail in &skipped {
            self.fail_work(mail, why, now);
        }
        skipped.len() as u64
    }

    /// What is in the log after a position for a durable mailbox, and not in that.
    fn missing_after(
        &self,
        agent: &AgentId,
        id: MailboxId,
        after: Position,
        now: Now,
    ) -> Result<Vec<Again>, Error> {
        let safe = self.safe();
        let mut found = Vec::new();
        let mut bytes = 0;
        // What is not safe yet is delivered like anything that happens from here on.
        for record in self.log.after(after)?.take_while(|r| r.position <= safe) {
            let Entry::Published(published) = &record.entry else {
                continue;
            };
            let event = &published.event;
            let version = match &published.route {
                Route::Everyone if *event.sender() == **agent => continue,
                Route::Everyone => None,
                Route::To(to) => match to.iter().find(|a| a.agent == *agent) {
                    None => continue,
                    Some(Address { version, .. }) => version.as_ref(),
                },
            };
            let how = Delivering::again(record.position);
            let mail = self
                .state
                .mail_for(id, published, how, version, now.instant);
            let Some(mail) = mail.filter(|_| !self.state.mailboxes.holds(id, record.position))
            else {
                continue;
            };
            bytes += mail.bytes();
            if found.len() >= REREAD.0 || bytes > REREAD.1 {
                return Err(Error::ResourceExhausted(format!(
                    "more than {} events or {} bytes came after that position; seek to a later one",
                    REREAD.0, REREAD.1
                )));
            }
            found.push(Again {
                event: mail.event,
                position: record.position,
                concern: mail.concern,
                version: mail.version,
                is_directed: mail.is_directed,
            });
        }
        Ok(found)
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

fn shown(agent: &AgentId, name: &str, seen: &Seen<'_>) -> Mailbox {
    Mailbox {
        agent_id: agent.to_string(),
        name: name.to_owned(),
        waiting: seen.waiting.len() as u64,
        leased: seen.leased as u64,
        bytes: seen.bytes as u64,
        oldest: seen.waiting.first().and_then(|m| m.event.timestamp),
        ordered: seen.ordered,
    }
}

fn no_mailbox(agent: &AgentId, name: &str) -> Error {
    Error::NotFound(match name {
        "" => format!("no mail waits for a first subscription of \"{agent}\""),
        name => format!("agent \"{agent}\" has no durable mailbox \"{name}\""),
    })
}
