//! Rights over tasks and recipients: what a caller may see of tasks, on whose behalf it sends, and to whom it may send.

use std::sync::Arc;

use agenthub_access::{Action, Identities, decide_everyone, decide_for, is_foreign};
use agenthub_proto::{
    a2a::Message,
    agenthub::{AgentEventMetadata, ListTasksRequest},
};

use super::super::{
    Hub,
    core::{Core, Now},
};
use crate::{
    Caller, Error,
    access::may,
    behalf::{Behalf, Facts, Parent, behalf},
    routing::{self, Route, route},
    tasks::Known,
};

/// Task type of a message that answers a question of a run to a person.
const DECISION: &str = "agenthub.approval.decision";

/// A caller that sends, on behalf of a principal or for itself.
#[derive(Debug)]
pub(super) struct Acting<'a> {
    caller: &'a Caller,
    /// The principal on whose behalf it sends, if that is another one.
    behalf_of: Option<Arc<Caller>>,
    /// The same if its rights limit whom the message may reach: those of a principal of another namespace neither limit a shared agent nor give it anything.
    initiator: Option<Arc<Caller>>,
    /// True within a task that the caller is a party of, and that another one asked for.
    is_within_task: bool,
}

impl<'a> Acting<'a> {
    /// A caller that acts for itself.
    pub(super) fn itself(caller: &'a Caller) -> Self {
        Self {
            caller,
            behalf_of: None,
            initiator: None,
            is_within_task: false,
        }
    }

    /// The caller whose quotas count: the one that asked first.
    pub(super) fn payer(&self) -> &Caller {
        self.behalf_of.as_deref().unwrap_or(self.caller)
    }

    /// True if nothing limits to whom it sends.
    fn is_unlimited(&self) -> bool {
        self.caller.is_unrestricted() && self.initiator.is_none()
    }

    fn decide(&self, action: Action<'_>) -> Result<(), Error> {
        let initiator = self.initiator.as_deref();
        decide_for(self.caller, initiator, &action).map_err(Error::PermissionDenied)
    }

    /// Checks whether it may send to an agent; to whoever subscribes or is able, if the id is empty.
    fn may_send(&self, to: &str) -> Result<(), Error> {
        match self.is_within_task {
            true => self.decide(Action::Delegate { to }),
            false => self.decide(Action::Send { to }),
        }
    }
}

impl Core {
    /// True if the caller may know of a task: it may see all, or the task is its own, as it is on its behalf, or the caller may be the
    /// requester or the receiver.
    pub(crate) fn sees(&self, caller: &Caller, task: Known<'_>) -> bool {
        let see = |is_own| may(caller, Action::SeeTask { is_own }).is_ok();
        see(false) || see(true) && (is_for(caller, task.initiator()) || self.is_party(caller, task))
    }

    /// A task that the caller may know of.
    pub(crate) fn visible(&self, caller: &Caller, id: &str) -> Option<Known<'_>> {
        let task = self.state.tasks.get(id)?;
        self.sees(caller, task).then_some(task)
    }

    /// True if the caller may be the requester or the receiver.
    fn is_party(&self, caller: &Caller, task: Known<'_>) -> bool {
        let parties = task.assignee().into_iter().chain([task.requester()]);
        parties
            .into_iter()
            .any(|agent| self.may_be(caller, agent).is_ok())
    }

    /// Checks whether the caller may cancel a task that it may know of. What an agent asks on its behalf is part of what it asked for itself,
    /// and stops with that.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`]
    pub(crate) fn may_cancel(&self, caller: &Caller, task: Known<'_>) -> Result<(), Error> {
        let all = Action::SeeTask { is_own: false };
        if may(caller, all).is_ok() || self.is_party(caller, task) {
            return Ok(());
        }
        Err(Error::PermissionDenied(format!(
            "\"{}\" may not cancel what \"{}\" asks on its behalf: cancel the task or the run that it belongs to, with which it stops",
            caller.principal,
            task.requester()
        )))
    }

    /// On whose behalf a message is sent: that of its task, if it belongs to one already.
    ///
    /// # Errors
    ///
    /// See [`behalf`].
    pub(super) fn behalf(
        &self,
        caller: &Caller,
        task: Option<Known<'_>>,
        routing: &AgentEventMetadata,
        now: Now,
    ) -> Result<Behalf, Error> {
        if let Some(of_task) = task.and_then(Known::behalf) {
            return Ok(of_task.clone());
        }
        let none = Behalf::default();
        if self.identities.as_ref().is_none_or(Identities::is_open) {
            return Ok(none);
        }
        let parent_id = &*routing.parent_task_id;
        let parent = match parent_id {
            "" => Parent::None,
            id => match self.state.tasks.get(id) {
                None => Parent::Foreign,
                Some(parent) if !self.is_party(caller, parent) => Parent::Foreign,
                Some(Known::Settled(_)) => Parent::Ended,
                Some(parent)
                    if !caller.is_unrestricted()
                        && !parent.can_change(now.time, self.settings.late_artifacts) =>
                {
                    Parent::Ended
                }
                Some(parent) => Parent::Of(parent.behalf().unwrap_or(&none)),
            },
        };
        behalf(&Facts {
            caller,
            sender: &routing.from_agent_id,
            parent_id,
            parent,
            claimed: &routing.on_behalf_of,
        })
    }

    /// The caller as it acts on this behalf.
    fn acting<'a>(&self, caller: &'a Caller, behalf: &Behalf, is_within_task: bool) -> Acting<'a> {
        let other = Some(&behalf.principal)
            .filter(|principal| !principal.is_empty() && **principal != caller.principal);
        let behalf_of = self
            .identities
            .as_ref()
            .zip(other)
            .map(|(identities, principal)| identities.rights_of(principal, &caller.namespace));
        Acting {
            caller,
            // A part of the hub might reach everybody: in a task that an agent handed on to it, it reaches nobody.
            initiator: behalf_of.clone().filter(|it| {
                !is_foreign(&it.principal) || caller.is_unrestricted() && !behalf.chain.is_empty()
            }),
            behalf_of,
            // A task that the caller began itself gives it no more.
            is_within_task: is_within_task && behalf.principal != caller.principal,
        }
    }

    /// Checks whether a message may be sent to whom its envelope names.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`]
    pub(super) fn may_send(
        &self,
        acting: &Acting<'_>,
        routing: &AgentEventMetadata,
    ) -> Result<(), Error> {
        if acting.is_unlimited() {
            return Ok(());
        }
        let recipient = self.recipient(routing);
        match recipient.as_ref().map_or("", |to| &to.agent) {
            // To itself: a run that an agent begins.
            own if !own.is_empty() && *own == *routing.from_agent_id => Ok(()),
            to => acting.may_send(to),
        }
    }

    /// Checks whether a caller may say something on this behalf, in this task if it is known, and returns how it acts. In tasks of one's own
    /// one may answer whoever asked.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`]
    pub(super) fn may_say<'a>(
        &self,
        caller: &'a Caller,
        behalf: &Behalf,
        task: Option<Known<'_>>,
        message: &Message,
        routing: &AgentEventMetadata,
    ) -> Result<Acting<'a>, Error> {
        let is_within = |is_within| self.acting(caller, behalf, is_within);
        let acting = match task {
            None => {
                let acting = is_within(!routing.parent_task_id.is_empty());
                self.may_send(&acting, routing)?;
                acting
            }
            Some(task) if self.is_party(caller, task) => {
                let acting = is_within(true);
                self.may_tell(&acting, task, routing)?;
                acting
            }
            Some(task)
                if task.assignee().is_none()
                    || may(caller, Action::SeeTask { is_own: false }).is_ok() =>
            {
                let acting = is_within(false);
                self.may_send(&acting, routing)?;
                acting
            }
            Some(_) => {
                return Err(Error::PermissionDenied(format!(
                    "\"{}\" may not add to a task of others: name another task_id, or none",
                    caller.principal
                )));
            }
        };
        if message.task_type() == DECISION {
            acting.decide(Action::Approve { is_own: false })?;
        }
        Ok(acting)
    }

    /// Checks whether what is said in a task of the caller's may reach whom its envelope names: its other party, or an agent to which it
    /// might send anyway.
    fn may_tell(
        &self,
        acting: &Acting<'_>,
        task: Known<'_>,
        routing: &AgentEventMetadata,
    ) -> Result<(), Error> {
        if acting.is_unlimited() {
            return Ok(());
        }
        let recipient = self.recipient(routing);
        let is_party = |agent: &str| {
            **task.requester() == *agent || task.assignee().is_some_and(|a| **a == *agent)
        };
        let third = recipient.filter(|to| !is_party(&to.agent));
        third.map_or(Ok(()), |third| acting.may_send(&third.agent))
    }

    /// Checks whether an update of a task may reach whom its envelope names.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`]
    pub(super) fn may_update(
        &self,
        caller: &Caller,
        task: Known<'_>,
        routing: &AgentEventMetadata,
    ) -> Result<(), Error> {
        let none = Behalf::default();
        let acting = self.acting(caller, task.behalf().unwrap_or(&none), true);
        self.may_tell(&acting, task, routing)
    }

    /// The route of a message. It leads to no agent to which the caller may not send: among those that are able, these are left out.
    ///
    /// # Errors
    ///
    /// [`Error::PermissionDenied`] if it would go to whoever subscribes, and the caller may not send to all of them.
    pub(super) fn allowed_route(
        &self,
        acting: &Acting<'_>,
        facts: &routing::Facts<'_>,
    ) -> Result<Route, Error> {
        if acting.is_unlimited() {
            return Ok(route(facts, |wants| self.candidates(wants)));
        }
        let decided = route(facts, |wants| {
            let mut able = self.candidates(wants);
            able.retain(|candidate| acting.may_send(&candidate.agent).is_ok());
            able
        });
        if decided == Route::Everyone {
            decide_everyone(acting.caller, acting.initiator.as_deref())
                .map_err(Error::PermissionDenied)?;
        }
        Ok(decided)
    }
}

/// True for what was asked on behalf of the caller. What nobody in particular asked, and what principals of other namespaces did, is for nobody.
fn is_for(caller: &Caller, initiator: &str) -> bool {
    !initiator.is_empty() && caller.named() == Some(initiator)
}

impl Hub {
    /// True if the caller may see all tasks that a listing is about: all, those of an agent that it may be, or those on its behalf.
    ///
    /// # Errors
    ///
    /// It may see no tasks at all.
    pub(crate) fn sees_all(
        &self,
        caller: &Caller,
        request: &ListTasksRequest,
    ) -> Result<bool, Error> {
        if may(caller, Action::SeeTask { is_own: false }).is_ok() {
            return Ok(true);
        }
        may(caller, Action::SeeTask { is_own: true })?;
        let agent = &*request.agent_id;
        Ok(is_for(caller, &request.on_behalf_of)
            || !agent.is_empty() && self.core().may_be(caller, agent).is_ok())
    }
}
