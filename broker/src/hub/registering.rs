//! Registration of agents and the choice of the current card. The decision itself is in `current_card.rs`.

use agenthub_access::Action;
use agenthub_proto::{
    a2a::AgentCard,
    event::{card_change, timestamp},
};

use super::core::{Core, Now, hub};
use crate::{
    Caller, Error, access,
    current_card::{Holder, Place, place, successor},
    id::{AgentId, InstanceId, Version},
    log::{Entry, Registration},
    presence::{Declared, Instance},
    registry::Change,
};

impl Core {
    /// Checks a registration, and returns what it would change. `instance` is the registering process, if known.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] while another instance is connected with another card of the version,
    /// [`Error::ResourceExhausted`] if the directory is full, and those of
    /// [`Registry::check`](crate::registry::Registry::check).
    pub(super) fn check_registration(
        &self,
        registration: &Registration,
        instance: Option<&InstanceId>,
    ) -> Result<(Change, Place), Error> {
        let registry = &self.state.registry;
        let change = registry.check(registration)?;
        if change == Change::New && registry.len() >= self.settings.agents {
            return Err(Error::ResourceExhausted(format!(
                "the directory is full: {} agents",
                self.settings.agents
            )));
        }
        let card = &registration.card;
        let agent = AgentId::from(card.name.as_str());
        let version = Version::from(card.version.as_str());
        let known = registry.get(&agent).and_then(|a| a.card(Some(&version)));
        let others = self.presence.holders(&agent, instance);
        match place(&version, known == Some(card), others) {
            Ok(place) => Ok((change, place)),
            Err(holder) => Err(is_held(&agent, holder)),
        }
    }

    /// True if a registration must be recorded.
    pub(super) fn is_news(
        &self,
        caller: &Caller,
        registration: &Registration,
        change: Change,
        place: Place,
    ) -> bool {
        let card = &registration.card;
        let known = self.state.registry.get(&card.name.as_str().into());
        let current = || known.map(|known| known.latest());
        let beside = || known?.card(Some(&card.version.as_str().into()));
        match place {
            Place::Current => {
                change != Change::Nothing || current() != Some(card) || self.claims(caller, card)
            }
            Place::Beside => beside() != Some(card),
        }
    }

    /// True if the agent belongs to nobody, and to this caller from now on.
    fn claims(&self, caller: &Caller, card: &AgentCard) -> bool {
        access::owner(&caller.principal).is_some()
            && self.state.registry.owner(&card.name).is_none()
    }

    /// Checks whether a caller may act as an agent.
    ///
    /// # Errors
    ///
    /// See [`access::may`].
    pub(crate) fn may_be(&self, caller: &Caller, agent: &str) -> Result<(), Error> {
        // The way of every call of a hub without identities.
        if caller.is_unrestricted() {
            return Ok(());
        }
        let owner = self.state.registry.owner(agent);
        access::may(caller, Action::Be { id: agent, owner })
    }

    /// Registers or updates an agent. Returns whether watchers were notified.
    pub(crate) fn register(
        &mut self,
        caller: &Caller,
        registration: Registration,
        instance: Option<&InstanceId>,
        now: Now,
    ) -> Result<bool, Error> {
        let (change, place) = self.check_registration(&registration, instance)?;
        let is_news = self.is_news(caller, &registration, change, place);
        if is_news {
            self.admit()?;
        }
        let agent = AgentId::from(registration.card.name.as_str());
        self.note_presence_if_old(&agent, now);
        match instance {
            Some(instance) => {
                let declared = Declared::of(&registration);
                self.presence.declare(&agent, instance, declared);
            }
            None => {
                let version = registration.card.version.as_str().into();
                self.presence.registered_by_call(&agent, version);
            }
        }
        match place {
            Place::Beside => self.register_beside(caller, registration, &agent, now),
            Place::Current => {
                if is_news {
                    self.register_current(caller, registration, &agent, change, now);
                }
                return Ok(is_news);
            }
        }
        Ok(false)
    }

    /// Makes the card the current one.
    fn register_current(
        &mut self,
        caller: &Caller,
        registration: Registration,
        agent: &AgentId,
        change: Change,
        now: Now,
    ) {
        let event_type = match change {
            Change::New => card_change::REGISTERED,
            Change::Differs | Change::Nothing => card_change::UPDATED,
        };
        if registration.health_check_url.is_empty() {
            self.probes.remove(agent);
            self.presence.probed(agent, false);
        } else {
            self.probes.add(agent);
        }
        self.record(caller, Entry::Registered(registration), now);
        tracing::info!(%agent, change = event_type, "agent registered");
        self.tell(agent, event_type, now);
    }

    /// Adds the card beside the current one. In the log the card registered last is the current one.
    fn register_beside(
        &mut self,
        caller: &Caller,
        registration: Registration,
        agent: &AgentId,
        now: Now,
    ) {
        let Some(known) = self.state.registry.get(agent) else {
            return;
        };
        let version = Version::from(registration.card.version.as_str());
        if known.card(Some(&version)) == Some(&registration.card) {
            return;
        }
        let current = Registration {
            card: known.latest().clone(),
            topics: known.topics.clone(),
            health_check_url: known.health_check_url.clone(),
        };
        tracing::info!(%agent, %version, current = current.card.version, "an older version was registered");
        self.record(caller, Entry::Registered(registration), now);
        self.record(caller, Entry::Registered(current), now);
    }

    /// Handles the end of an instance. If it had the current card, the card of another present instance becomes
    /// current.
    pub(super) fn succeed(&mut self, agent: &AgentId, gone: &Instance, now: Now) {
        let Some(known) = self.state.registry.get(agent) else {
            return;
        };
        let current = &known.latest().version;
        let had_current = gone.declared().is_some_and(|d| *d.version == **current);
        let others = || self.presence.holders(agent, None);
        if !had_current || others().any(|other| other.version == current) {
            return;
        }
        let Some(next) = successor(others()).map(|next| InstanceId::from(next.instance)) else {
            return;
        };
        let Some(Declared {
            version,
            topics,
            health_check_url,
        }) = self.presence.declared(agent, &next)
        else {
            return;
        };
        let Some(card) = known.card(Some(version)) else {
            return;
        };
        let registration = Registration {
            card: card.clone(),
            topics: topics.clone(),
            health_check_url: health_check_url.clone(),
        };
        self.register_current(&hub(), registration, agent, Change::Differs, now);
    }
}

fn is_held(agent: &AgentId, holder: Holder<'_>) -> Error {
    let Holder {
        instance,
        version,
        since,
        ..
    } = holder;
    Error::AlreadyExists(format!(
        "instance \"{instance}\" of agent \"{agent}\" has been connected with another card of version \"{version}\" since {}; stop it first, or register another id or version",
        timestamp(since)
    ))
}
