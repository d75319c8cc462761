//! Seeking: moves a durable mailbox to a position. Waiting events before it are dropped, and events after it are
//! redelivered.

use agenthub_proto::agenthub::{SeekMailboxRequest, SeekMailboxResponse, seek_mailbox_request::To};

use tokio::task::yield_now;

use super::{
    Hub,
    core::{Core, Now},
    mailboxes_admin::no_mailbox,
};
use crate::{
    Caller, Error,
    access::{Call, decide},
    id::{Address, AgentId, MailboxId},
    limits,
    log::{Again, Entry, Position, Record},
    mailboxes::Lifetime,
    routing::Route,
    state::Delivering,
};

/// Events per record, and maximum events dropped per acquisition of the lock.
const CHUNK: usize = 100;

/// Plan of a seek.
#[derive(Debug)]
pub(super) struct Seek {
    pub(super) agent: AgentId,
    pub(super) name: String,
    /// Range of events to redeliver: after the first position, up to the second.
    pub(super) again: Option<(Position, Position)>,
    /// Waiting events up to here are dropped.
    pub(super) skipped: Position,
}

impl Hub {
    /// Returns the numbers of dropped and of redelivered events. If cancelled or failed, only some were processed.
    pub(crate) async fn seek_mailbox(
        &self,
        caller: &Caller,
        request: &SeekMailboxRequest,
    ) -> Result<SeekMailboxResponse, Error> {
        decide(Call::SeekMailbox, caller, "")?;
        let seek = self.core().plan_seek(request)?;
        let mut again = Vec::new();
        if let Some((mut after, upto)) = seek.again {
            while after < upto {
                let page = self.reread(after, upto).await?;
                self.core()
                    .missing(&seek, &page.events, &mut again, Now::read())?;
                after = page.upto;
            }
            // Dropping frees room; redelivery needs it.
            self.core().admit()?;
        }
        let why = "an operator skipped it";
        let Seek { agent, name, .. } = &seek;
        let skipped = self.skip(caller, agent, name, seek.skipped, why).await?;
        let mut reread = 0;
        for chunk in again.chunks(CHUNK) {
            reread += self.core().put_again(caller, &seek, chunk, Now::read())?;
            self.synced().await?;
        }
        Ok(SeekMailboxResponse { skipped, reread })
    }

    /// Drops waiting events of a mailbox up to a position. Tasks whose work was among them fail. Returns their number.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the log fails before all of it is durable.
    pub(super) async fn skip(
        &self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
        upto: Position,
        why: &str,
    ) -> Result<u64, Error> {
        let mut skipped = 0;
        loop {
            let some = self
                .core()
                .skip_some(caller, agent, name, upto, why, Now::read());
            skipped += some as u64;
            if some < CHUNK {
                return Ok(skipped);
            }
            // Lets other tasks take the lock, and keeps the effects from queuing up at the log.
            match skipped % (10 * CHUNK as u64) {
                0 => self.synced().await?,
                _ => yield_now().await,
            }
        }
    }
}

impl Core {
    pub(super) fn plan_seek(&self, request: &SeekMailboxRequest) -> Result<Seek, Error> {
        limits::required("agent_id", &request.agent_id)?;
        limits::required("name", &request.name)?;
        let (again, skipped) = match &request.to {
            Some(To::After(token)) => {
                let after = self.log.id().position(token)?;
                if after > self.last() {
                    return Err(Error::OutOfRange(format!(
                        "\"{token}\" is behind the end of the log"
                    )));
                }
                // Undelivered events will be delivered anyway.
                (Some((after, self.delivered())), after)
            }
            Some(To::Latest(true)) => (None, self.last()),
            Some(To::Latest(false)) | None => {
                return Err(Error::InvalidArgument(
                    "to: `after`, or `latest`, which must be true".to_owned(),
                ));
            }
        };
        let seek = Seek {
            agent: request.agent_id.as_str().into(),
            name: request.name.clone(),
            again,
            skipped,
        };
        self.sought(&seek).map(|_| seek)
    }

    /// Collects events among the records that are for the mailbox and not in it.
    ///
    /// # Errors
    ///
    /// [`Error::ResourceExhausted`] if the mailbox has no room for them.
    pub(super) fn missing(
        &self,
        seek: &Seek,
        records: &[Record],
        found: &mut Vec<Again>,
        now: Now,
    ) -> Result<(), Error> {
        let id = self.sought(seek)?;
        let missing = records.iter().filter_map(|r| self.missed(seek, id, r, now));
        found.extend(missing);
        let (events, bytes) = (self.settings.mailbox_events, self.settings.mailbox_bytes);
        let size = |again: &Again| again.event.size();
        let held = self.state.mailboxes.held(id);
        if held.0 + found.len() > events || held.1 + found.iter().map(size).sum::<usize>() > bytes {
            return Err(Error::ResourceExhausted(format!(
                "the mailbox has no room for all that came after that position ({events} events, {bytes} bytes); seek to a later one"
            )));
        }
        Ok(())
    }

    /// Puts events into the mailbox again, unless they are in it by then.
    pub(super) fn put_again(
        &mut self,
        caller: &Caller,
        seek: &Seek,
        again: &[Again],
        now: Now,
    ) -> Result<u64, Error> {
        self.admit()?;
        let id = self.sought(seek)?;
        let holds = |m: &&Again| self.state.mailboxes.holds(id, m.position);
        let mail: Vec<Again> = again.iter().filter(|m| !holds(m)).cloned().collect();
        let put = mail.len() as u64;
        if put > 0 {
            let (agent, name) = (seek.agent.clone(), seek.name.clone());
            self.record(caller, Entry::Reread { agent, name, mail }, now);
        }
        Ok(put)
    }

    /// Drops the first waiting events of a mailbox up to a position. Returns their number: less than a chunk at the
    /// end.
    pub(super) fn skip_some(
        &mut self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
        upto: Position,
        why: &str,
        now: Now,
    ) -> usize {
        let mailboxes = &self.state.mailboxes;
        let skipped = mailboxes.waiting_upto(agent, name, upto, CHUNK);
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
        skipped.len()
    }

    fn sought(&self, seek: &Seek) -> Result<MailboxId, Error> {
        let mailboxes = &self.state.mailboxes;
        let id = mailboxes.find(&seek.agent, &seek.name, &Lifetime::Durable);
        id.ok_or_else(|| no_mailbox(&seek.agent, &seek.name))
    }

    /// The event of a record, if it is for the mailbox and not in it.
    fn missed(&self, seek: &Seek, id: MailboxId, record: &Record, now: Now) -> Option<Again> {
        let Entry::Published(published) = &record.entry else {
            return None;
        };
        let version = match &published.route {
            Route::Everyone if *published.event.sender() == *seek.agent => return None,
            Route::Everyone => None,
            Route::To(to) => {
                let its = to.iter().find(|a| a.agent == seek.agent);
                let Address { version, .. } = its?;
                version.as_ref()
            }
        };
        let how = Delivering::again(record.position);
        let mail = self
            .state
            .mail_for(id, published, how, version, now.instant)?;
        let is_held = self.state.mailboxes.holds(id, record.position);
        (!is_held).then_some(Again {
            event: mail.event,
            position: record.position,
            concern: mail.concern,
            version: mail.version,
            is_directed: mail.is_directed,
        })
    }
}
