//! What becomes of mail that was not handled: it is a dead letter, and the work that it asked for fails.

use agenthub_proto::{
    a2a::{Message, Role, TaskState},
    agenthub::{Concern, agent_event::Payload},
};

use super::core::{Core, Now, hub};
use crate::{
    dead_letters::GivenUp,
    id::TaskId,
    log::{Again, Entry},
    mailbox::{Mail, Undelivered},
};

impl Core {
    /// Mail was given up. Where it was work for a task's assignee, the task fails.
    pub(crate) fn give_up(&mut self, undelivered: Vec<Undelivered>, now: Now) {
        // Telling of it may push other mail out of a full mailbox, which comes back here.
        let is_under_way = !self.given_up.is_empty();
        self.given_up.extend(undelivered);
        if is_under_way {
            return;
        }
        while let Some(next) = self.given_up.front().cloned() {
            self.bury(&next, now);
            self.fail_work(&next.mail, &next.reason, now);
            self.given_up.pop_front();
        }
    }

    /// Puts into the log that mail is a dead letter.
    fn bury(&mut self, undelivered: &Undelivered, now: Now) {
        let Undelivered {
            mail,
            attempts,
            reason,
            mailbox,
        } = undelivered;
        self.counters.undelivered.inc();
        tracing::warn!(event_id = mail.event.event_id, task_id = mail.event.task_id(), recipient = %mail.recipient, %reason, "event was not delivered");
        let known = match mailbox {
            Some(id) => self.state.mailboxes.name_in_log(*id),
            None => Some((&mail.recipient, "")),
        };
        let (Some((agent, name)), Some(position)) = (known, mail.position) else {
            return;
        };
        let entry = Entry::GivenUp(GivenUp {
            agent: agent.clone(),
            name: name.to_owned(),
            reason: reason.clone(),
            attempts: *attempts,
            mail: Again {
                event: mail.event.clone(),
                position,
                concern: mail.concern,
                version: mail.version.clone(),
                is_directed: mail.is_directed,
            },
        });
        self.record(&hub(), entry, now);
    }

    /// Nobody will do what mail asks for: where it is work for a task's assignee, the task fails, and its requester is told.
    pub(super) fn fail_work(&mut self, mail: &Mail, reason: &str, now: Now) {
        let Some(Payload::Message(message)) = &mail.event.payload else {
            return;
        };
        let task = TaskId::from(message.task_id.as_str());
        let entry = self.state.tasks.get(&task);
        let Some(entry) = entry.filter(|t| t.assignee() == Some(&mail.recipient)) else {
            return;
        };
        if mail.concern == Concern::Work {
            // The assignee does not take its mail: a status for it would only push out more.
            let requester = entry.requester();
            let to = Vec::from_iter((*requester != mail.recipient).then(|| requester.clone()));
            let said = Message::new(Role::Agent, reason);
            self.complete_and_tell(&task, TaskState::Failed, said, to, now);
            self.stop_work(&task, reason);
        }
    }
}
