//! Operator calls for dead letters.

use agenthub_proto::{
    a2a,
    agenthub::{
        AgentEvent, AgentEventMetadata, DeadLetter as WireLetter, ListDeadLettersRequest,
        ListDeadLettersResponse, agent_event::Payload,
    },
    event::timestamp,
};
use prost::Message;
use uuid::Uuid;

use super::{
    Body, Hub, Repetition,
    core::{Core, Now, hub},
    delivering::is_void_work,
    mailboxes_admin::page_size,
};
use crate::{
    Caller, Error,
    access::{Call, decide},
    dead_letters::{DeadLetter, GivenUp},
    limits::{self, PAGE_BYTES},
    log::{Entry, LogId, Position},
};

impl Hub {
    pub(crate) fn list_dead_letters(
        &self,
        caller: &Caller,
        request: &ListDeadLettersRequest,
    ) -> Result<ListDeadLettersResponse, Error> {
        decide(Call::ListDeadLetters, caller, "")?;
        let limit = page_size(request.page_size)?;
        let core = self.core();
        let log = core.log.id();
        let before = match request.page_token.as_str() {
            "" => Position(u64::MAX),
            token => log.position(token)?,
        };
        let letters = &core.state.dead_letters;
        let total = match (request.count, request.agent_id.as_str()) {
            (false, _) => 0,
            (true, "") => letters.len(),
            (true, agent) => letters.len_of(agent),
        };
        let total_size = u32::try_from(total).unwrap_or(u32::MAX);
        let mut page: Vec<WireLetter> = Vec::new();
        let mut bytes = 0;
        let (all, of_agent) = match request.agent_id.as_str() {
            "" => (Some(letters.before(before)), None),
            agent => (None, Some(letters.before_of(agent, before))),
        };
        let letters = all.into_iter().flatten();
        for (id, letter) in letters.chain(of_agent.into_iter().flatten()) {
            let letter = shown(log, id, letter);
            bytes += letter.encoded_len();
            if page.len() == limit || (bytes > PAGE_BYTES && !page.is_empty()) {
                return Ok(ListDeadLettersResponse {
                    next_page_token: page.last().map(|l| l.id.clone()).unwrap_or_default(),
                    dead_letters: page,
                    total_size,
                });
            }
            page.push(letter);
        }
        Ok(ListDeadLettersResponse {
            dead_letters: page,
            next_page_token: String::new(),
            total_size,
        })
    }

    /// Returns the new task of the letter, if its own has ended.
    pub(crate) fn retry_dead_letter(&self, caller: &Caller, id: &str) -> Result<String, Error> {
        decide(Call::RetryDeadLetter, caller, "")?;
        limits::required("id", id)?;
        self.core().retry_dead_letter(caller, id, Now::read())
    }

    pub(crate) fn drop_dead_letter(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        decide(Call::DropDeadLetter, caller, "")?;
        limits::required("id", id)?;
        let mut core = self.core();
        let (letter, _) = core.dead_letter(id)?;
        let again = false;
        core.record(caller, Entry::Settled { letter, again }, Now::read());
        Ok(())
    }
}

impl Core {
    fn dead_letter(&self, id: &str) -> Result<(Position, DeadLetter), Error> {
        let position = self.log.id().position(id)?;
        match self.state.dead_letters.get(position) {
            Some(letter) => Ok((position, letter.clone())),
            None => Err(Error::NotFound(format!("there is no dead letter \"{id}\""))),
        }
    }

    pub(super) fn retry_dead_letter(
        &mut self,
        caller: &Caller,
        id: &str,
        now: Now,
    ) -> Result<String, Error> {
        let (letter, DeadLetter { given_up, .. }) = self.dead_letter(id)?;
        self.admit()?;
        let GivenUp { agent, mail, .. } = &given_up;
        if !is_void_work(&mail.event, mail.concern, &self.state.tasks) {
            let again = true;
            self.record(caller, Entry::Settled { letter, again }, now);
            let mailboxes = &mut self.state.mailboxes;
            mailboxes.claim_for_open(agent, mail.position, now.instant);
            return Ok(String::new());
        }
        let Some(Payload::Message(message)) = &mail.event.payload else {
            return Ok(String::new());
        };
        let task_id = Uuid::now_v7().to_string();
        let message = a2a::Message {
            message_id: Uuid::now_v7().to_string(),
            task_id: task_id.clone(),
            ..message.clone()
        };
        let to_agent_id = match &mail.version {
            Some(version) => format!("{agent}@{version}"),
            None => agent.to_string(),
        };
        let routing = AgentEventMetadata {
            to_agent_id,
            deadline: None,
            deliver_at: None,
            idempotency_key: String::new(),
            ..mail.event.routing.clone().unwrap_or_default()
        };
        let body = Body::Message(message.with_metadata("retry_of", mail.event.task_id()));
        // For the sender, on behalf of the principal who asked first: not in the name of the operator.
        self.publish(&hub(), body, routing, Repetition::Refuse, now)?;
        let again = false;
        self.record(caller, Entry::Settled { letter, again }, now);
        Ok(task_id)
    }
}

fn shown(log: LogId, id: Position, letter: &DeadLetter) -> WireLetter {
    let DeadLetter { time, given_up } = letter;
    WireLetter {
        id: log.token(id),
        agent_id: given_up.agent.to_string(),
        mailbox: given_up.name.clone(),
        reason: given_up.reason.clone(),
        attempts: given_up.attempts,
        given_up_at: Some(timestamp(*time)),
        event: Some(AgentEvent::clone(&given_up.mail.event)),
    }
}
