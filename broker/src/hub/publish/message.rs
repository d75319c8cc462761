//! Publishing of a message: it may create, extend, or answer a task.

use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    agenthub::{AgentEventMetadata, EventKind, agent_event::Payload},
};
use prost::Message as _;

use super::{
    super::core::{Core, Draft, Now, event},
    Receipt,
    run::BESIDES,
    tasks_are_full,
};
use crate::{
    Caller, Error, deadline,
    dedupe::Known,
    id::{AgentId, TaskId},
    routing::{Candidate, Facts, Route, Wants},
    task::{self, Extension, Manner},
    tasks::shown,
};

/// Approximate bytes of a message's event.
fn event_bytes(message: &Message, routing: &AgentEventMetadata) -> usize {
    message.encoded_len() + routing.encoded_len() + BESIDES
}

impl Core {
    pub(super) fn publish_message(
        &mut self,
        caller: &Caller,
        message: Message,
        mut routing: AgentEventMetadata,
        key: Option<Known>,
        is_memory: bool,
        now: Now,
    ) -> Result<Receipt, Error> {
        let sender = AgentId::from(routing.from_agent_id.as_str());
        let task_id = TaskId::from(message.task_id.as_str());
        let known = self.state.tasks.get(&task_id);
        let behalf = self.behalf(caller, known, &routing, now)?;
        let acting = self.may_say(caller, &behalf, known, &message, &routing)?;
        routing.on_behalf_of = behalf.principal;
        routing.chain = behalf.chain;
        let mut extension = Extension::Join;
        if let Some(known) = known {
            if !message.context_id.is_empty() && message.context_id != known.context() {
                return Err(Error::InvalidArgument(format!(
                    "message.context_id is \"{}\", but task \"{task_id}\" belongs to context \"{}\"",
                    message.context_id,
                    known.context()
                )));
            }
            if !self.state.tasks.has_room() {
                return Err(tasks_are_full());
            }
            if known.bytes() + message.encoded_len() > self.settings.task_bytes {
                return Err(Error::InvalidArgument(format!(
                    "task \"{task_id}\" would be larger than {} bytes with this message; go on in another task",
                    self.settings.task_bytes
                )));
            }
            extension = task::extend(
                &known.standing(now.time, self.settings.late_artifacts),
                message.role(),
                &sender,
                self.manner(&sender),
            )?;
        }

        routing.is_answer = known.is_some_and(|known| {
            known.state().is_interrupted() && known.parties().requester == sender
        });
        let is_new = known.is_none() && !task_id.is_empty();
        deadline::reckon(&mut routing, is_new, now.time)?;
        if is_new && !self.state.tasks.has_room_for_another() {
            return Err(tasks_are_full());
        }
        // An answer has nobody work.
        let is_asking = task_id.is_empty() && message.role() != Role::Agent;
        if is_new || is_asking {
            self.within_quota(acting.payer(), &mut routing, is_new, now.time)?;
        }
        let message = Message {
            context_id: known.map_or(message.context_id, |k| k.context().to_owned()),
            ..message
        };
        let facts = Facts {
            sender: sender.clone(),
            recipient: self.recipient(&routing),
            task: known.map(|k| k.parties()),
            wants_one: !task_id.is_empty(),
            wants: Wants {
                topics: [message.task_type()]
                    .into_iter()
                    .chain(routing.subscriptions.iter().map(String::as_str))
                    .filter(|t| !t.is_empty())
                    .collect(),
                tags: &routing.required_tags,
                input_modes: &routing.required_input_modes,
                output_modes: &routing.required_output_modes,
            },
            matching_only: routing.matching_only,
        };
        let route = self.allowed_route(&acting, &facts)?;
        let mut room = self.mail_room(caller, &route);
        // Work that was accepted may end, whether or not anybody reads of it.
        let is_accepted = matches!(extension, Extension::Answer { .. })
            || known.is_some_and(|known| known.assignee() == Some(&sender));
        if !room.is_unlimited() && !is_accepted {
            room.take(event_bytes(&message, &routing))?;
        }
        let assignee = match (&route, &extension) {
            (Route::To(to), _) if is_new => to.first().map(|a| a.agent.clone()),
            (_, Extension::Answer { claims: true }) => Some(sender.clone()),
            _ => None,
        };
        let said = matches!(extension, Extension::Answer { .. }).then(|| message.clone());
        // Almost no subscriber wants the whole task with every message; one that is about to come back wants those of its absence.
        let wants_task = !task_id.is_empty()
            && (now.instant < self.tasks_taken_until
                || self
                    .state
                    .mailboxes
                    .wanted(EventKind::Task, &route, &sender));
        let as_task = wants_task.then(|| routing.clone());
        let draft = Draft {
            event: event(Payload::Message(message), Some(routing), now),
            route: route.clone(),
            assignee,
            passes_by: extension == Extension::Pass,
            key,
        };
        let receipt = self.send(caller, draft, is_memory, now)?;

        if let Some(routing) = as_task {
            self.send_task(caller, &task_id, &route, routing, now);
        }
        if let Some(said) = said {
            self.complete(&task_id, TaskState::Completed, said, now);
        }
        Ok(receipt)
    }

    fn manner(&self, agent: &AgentId) -> Manner {
        match self.reporting.contains(agent) || self.state.mailboxes.takes_tasks(agent) {
            true => Manner::Reports,
            false => Manner::Answers,
        }
    }

    /// Sends the whole task as an event, for subscribers of tasks.
    fn send_task(
        &mut self,
        caller: &Caller,
        task_id: &TaskId,
        route: &Route,
        routing: AgentEventMetadata,
        now: Now,
    ) {
        let Some(task) = self.state.tasks.get(task_id) else {
            return;
        };
        // It has just changed, so it is in memory.
        let Ok(task) = task.content().task() else {
            return;
        };
        let payload = Payload::Task(shown(task));
        let draft = Draft {
            event: event(payload, Some(routing), now),
            route: route.clone(),
            assignee: None,
            passes_by: false,
            key: None,
        };
        self.record_event(caller, draft, now);
    }

    pub(super) fn candidates(&self, wants: &Wants<'_>) -> Vec<Candidate> {
        let able = self.state.registry.able(wants).into_iter();
        able.map(|agent| Candidate {
            online: self.presence.is_online(&agent),
            in_flight: self.state.tasks.in_flight(&agent),
            agent,
        })
        .collect()
    }
}
