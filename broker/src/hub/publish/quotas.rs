//! May another task be asked for, and what may it spend, by the quotas of who asks? Is there room for mail, by those of who gets it?

use std::time::SystemTime;

use agenthub_access::{Quota, QuotaExceeded, mail_again};
use agenthub_proto::agenthub::AgentEventMetadata;

use super::super::core::Core;
use crate::{Caller, Error, routing::Route, tasks::until_tomorrow};

/// Room that quotas leave for mail to the recipients of a route. Without quotas there is no limit.
#[derive(Debug, Default)]
pub(super) struct MailRoom(Vec<Room>);

/// Room by one quota.
#[derive(Debug)]
struct Room {
    left: u64,
    /// Mailboxes that count for it.
    copies: u64,
    refusal: QuotaExceeded,
}

impl MailRoom {
    /// True if nothing is limited.
    pub(super) fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// True if so many bytes fit.
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.missing(bytes).is_none()
    }

    /// Takes room for an event of so many bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OverQuota`] if there is none; nothing is taken.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Error> {
        if let Some(refusal) = self.missing(bytes) {
            return Err(refusal.clone().into());
        }
        for room in &mut self.0 {
            room.left -= room.copies * bytes as u64;
        }
        Ok(())
    }

    fn missing(&self, bytes: usize) -> Option<&QuotaExceeded> {
        let full = self
            .0
            .iter()
            .find(|room| room.copies * bytes as u64 > room.left);
        full.map(|room| &room.refusal)
    }
}

impl Core {
    /// Checks the quotas of who asks for a new task, or sends a message that belongs to none and has models work, and of its namespace; and grants
    /// it no more than is left of the day.
    ///
    /// # Errors
    ///
    /// [`Error::OverQuota`] names quota, use and limit, and when to come back.
    pub(in crate::hub) fn within_quota(
        &self,
        payer: &Caller,
        routing: &mut AgentEventMetadata,
        is_task: bool,
        now: SystemTime,
    ) -> Result<(), Error> {
        let (own, all) = payer.quotas();
        if (own, all) == (Quota::NONE, Quota::NONE) {
            return Ok(());
        }
        let (used, used_by_all) = self.state.tasks.used().of(&payer.principal, now);
        let again = until_tomorrow(now);
        let namespace = format!("namespace \"{}\"", payer.namespace);
        for (quota, used, whose) in [
            (own, used, format!("\"{}\"", payer.principal)),
            (all, used_by_all, namespace),
        ] {
            if is_task {
                quota.admits_task(&whose, used)?;
            }
            quota.admits_use(&whose, used, again)?;
            let (tokens, cost_micros) = quota.left_of_day(used);
            if tokens.is_some() || cost_micros.is_some() {
                let budget = routing.budget.get_or_insert_default();
                let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
                budget.tokens = least(budget.tokens, tokens);
                budget.cost_micros = least(budget.cost_micros, cost_micros);
            }
        }
        Ok(())
    }

    /// Room for mail on a route: by the quota of each recipient's owner, and by that of the namespace. What waits counts, and what is on its way.
    pub(super) fn mail_room(&self, caller: &Caller, route: &Route) -> MailRoom {
        let limiting = self.identities.as_ref();
        let Some(identities) = limiting.filter(|known| known.limits_mailboxes()) else {
            return MailRoom::default();
        };
        let to = match route {
            Route::To(to) => to.as_slice(),
            Route::Everyone => &[],
        };
        let mailboxes = &self.state.mailboxes;
        let coming = self.held.coming();
        let mut rooms: Vec<Room> = Vec::new();
        for address in to {
            let agent = &address.agent;
            let Some(owner) = mailboxes.owner(agent) else {
                continue;
            };
            let quotas = identities.rights_of(owner, &caller.namespace).quotas();
            let Some(limit) = quotas.0.mailbox_bytes else {
                continue;
            };
            let used = mailboxes.bytes_of(owner).0 + coming.of(owner);
            let again = mail_again(self.presence.is_online(agent));
            rooms.push(Room {
                left: limit.saturating_sub(used as u64),
                copies: to
                    .iter()
                    .filter(|to| mailboxes.owner(&to.agent) == Some(owner))
                    .count() as u64,
                refusal: QuotaExceeded::of_mailbox(agent, again),
            });
        }
        let of_namespace = identities.namespace_quota(&caller.namespace);
        if let Some(limit) = of_namespace.mailbox_bytes {
            let used = (mailboxes.bytes_of("").1 + coming.all()) as u64;
            let is_online = to.iter().all(|to| self.presence.is_online(&to.agent));
            let again = mail_again(is_online);
            rooms.push(Room {
                left: limit.saturating_sub(used),
                copies: to.len().max(1) as u64,
                refusal: QuotaExceeded::of_namespace_mail(&caller.namespace, limit, used, again),
            });
        }
        MailRoom(rooms)
    }
}
