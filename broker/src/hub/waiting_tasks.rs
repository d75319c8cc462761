//! Waiting tasks for agents of older libraries that subscribe to tasks and to no messages: on connecting, such an agent
//! gets the tasks that wait for it as events. Their messages go on waiting for a subscription to messages, until the
//! tasks have ended.

use std::sync::Arc;

use agenthub_proto::agenthub::{AgentEventMetadata, Concern, EventKind, agent_event::Payload};

use super::core::{Core, Now, event};
use crate::{
    filter::Filter,
    id::{AgentId, MailboxId, OrderKey},
    log::Position,
    mailbox::Mail,
    mailboxes::Lifetime,
    tasks::shown,
    traits::Traits,
};

/// True if a subscription gets events of waiting tasks.
pub(super) fn is_told(lifetime: &Lifetime, filter: &Filter) -> bool {
    matches!(lifetime, Lifetime::Stream(_))
        && filter.takes(EventKind::Task)
        && !filter.takes(EventKind::Message)
}

impl Core {
    /// Checks at most `limit` waiting events of an agent after a position, and sends the tasks that they created to one
    /// of its streams.
    pub(super) fn tell_of_waiting_tasks(
        &mut self,
        agent: &AgentId,
        mailbox: MailboxId,
        filter: &Filter,
        after: Position,
        limit: usize,
        now: Now,
    ) {
        let waiting = self.state.mailboxes.unclaimed.of(agent, after);
        let told: Vec<Mail> = waiting
            .take(limit)
            .filter_map(|mail| self.as_task(agent, mail, filter, now))
            .collect();
        for mail in told {
            self.state.mailboxes.put(mailbox, mail, now.instant);
        }
    }

    /// The task that a piece of mail created, as an unlogged event, if it waits for this agent and passes the filter.
    fn as_task(&self, agent: &AgentId, mail: &Mail, filter: &Filter, now: Now) -> Option<Mail> {
        let made_by = mail.event.look();
        let known = self.state.tasks.get(made_by.task_id())?;
        let is_its = known.assignee() == Some(agent) && known.made_at() == mail.position;
        if !is_its || known.is_terminal() {
            return None;
        }
        let task_type = known.task_type().to_owned();
        let task = known.content().task().ok()?;
        let routing = AgentEventMetadata {
            to_agent_id: agent.to_string(),
            ..made_by.routing.clone().unwrap_or_default()
        };
        let event = event(Payload::Task(shown(task)), Some(routing), now);
        let traits = Traits::of(&event).with_task_type(&task_type);
        if !filter.accepts(&traits, Concern::Work) {
            return None;
        }
        Some(Mail {
            order: OrderKey::of(event.context_id(), event.task_id(), event.sender()),
            event: Arc::new(event.into()),
            recipient: agent.clone(),
            position: None,
            concern: Concern::Work,
            version: mail.version.clone(),
            is_directed: true,
            is_copy: false,
            timing: self.state.mailboxes.timing_again(now.instant),
        })
    }
}
