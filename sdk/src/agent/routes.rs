//! Choice of the handler for a message.

use agenthub_proto::a2a::{AgentCard, Message, Role};

/// Routes from messages to handlers.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    agent_id: String,
    /// The task types, in the order of the handlers.
    names: Vec<String>,
    /// Other names of skills that a handler is for: the name, and the handler's place.
    aliases: Vec<(String, usize)>,
    has_any: bool,
}

/// Decision on a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The handler at this place.
    Handler(usize),
    /// The handler for any.
    Any,
    /// Refuses work that the agent does not do; the text says what it does.
    Reject(String),
    /// Leaves alone what is no work for this agent.
    Ignore(&'static str),
}

impl Routes {
    pub(super) fn new(card: &AgentCard, names: Vec<String>, has_any: bool) -> Self {
        let alias = |name: &String| {
            let skill = card
                .skills
                .iter()
                .find(|s| s.id == *name || s.name == *name)?;
            let place = names.iter().position(|n| n == name)?;
            Some([(skill.id.clone(), place), (skill.name.clone(), place)])
        };
        Self {
            agent_id: card.name.clone(),
            aliases: names.iter().filter_map(alias).flatten().collect(),
            names,
            has_any,
        }
    }

    /// Chooses for a message from `sender`; `is_directed` says that it names this agent as its recipient.
    pub(super) fn choose(&self, message: &Message, sender: &str, is_directed: bool) -> Choice {
        if sender == self.agent_id {
            return Choice::Ignore("it is the agent's own");
        }
        let task_type = message.task_type();
        if !task_type.is_empty()
            && let Some(place) = self.find(task_type)
        {
            return Choice::Handler(place);
        }
        if self.has_any {
            return Choice::Any;
        }
        let is_answer = message.role() == Role::Agent && message.task_id.is_empty();
        match (task_type.is_empty(), is_directed) {
            (true, true) if !is_answer && !self.names.is_empty() => Choice::Handler(0),
            (_, true) if !message.task_id.is_empty() => Choice::Reject(self.refusal(task_type)),
            _ => Choice::Ignore("the agent has no handler for it"),
        }
    }

    fn find(&self, task_type: &str) -> Option<usize> {
        let exact = self.names.iter().position(|name| name == task_type);
        exact.or_else(|| {
            let alias = self.aliases.iter().find(|(name, _)| name == task_type);
            alias.map(|(_, place)| *place)
        })
    }

    fn refusal(&self, task_type: &str) -> String {
        format!(
            "{} does not handle {task_type:?}; it handles {}",
            self.agent_id,
            self.names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Card, Skill};

    fn routes(has_any: bool) -> Routes {
        let card = Card::new("me", "").skill(Skill::new("echo", "Echo Messages", ""));
        let names = ["echo_request", "echo"].map(String::from).to_vec();
        Routes::new(&card.into(), names, has_any)
    }

    fn message(task_type: &str, task_id: &str, role: Role) -> Message {
        let mut message = Message::new(role, "hi");
        message.task_id = task_id.into();
        match task_type {
            "" => message,
            _ => message.with_metadata("task_type", task_type),
        }
    }

    fn check(task_type: &str, task_id: &str, role: Role, directed: bool, expect: &Choice) {
        let choice = routes(false).choose(&message(task_type, task_id, role), "you", directed);
        assert_eq!(&choice, expect, "{task_type:?} {task_id:?} {role:?}");
    }

    /// spec: HUB-5.2
    #[test]
    fn task_types_and_skills_have_their_handler() {
        check("echo_request", "t", Role::User, true, &Choice::Handler(0));
        check("echo", "", Role::Agent, false, &Choice::Handler(1));
        check("Echo Messages", "t", Role::User, true, &Choice::Handler(1));
    }

    #[test]
    fn what_has_no_handler_is_rejected_if_somebody_waits() {
        let refusal = "me does not handle \"dance\"; it handles echo_request, echo";
        check(
            "dance",
            "t",
            Role::User,
            true,
            &Choice::Reject(refusal.into()),
        );
        let ignored = Choice::Ignore("the agent has no handler for it");
        check("dance", "", Role::User, true, &ignored);
        check("dance", "t", Role::User, false, &ignored);
        let any = routes(true).choose(&message("dance", "t", Role::User), "you", true);
        assert_eq!(any, Choice::Any);
    }

    #[test]
    fn without_a_task_type_the_first_handler_is_asked_but_answers_are_no_requests() {
        check("", "t", Role::User, true, &Choice::Handler(0));
        let ignored = Choice::Ignore("the agent has no handler for it");
        check("", "", Role::Agent, true, &ignored);
        check("", "", Role::User, false, &ignored);
    }

    #[test]
    fn no_agent_answers_itself() {
        let choice = routes(true).choose(&message("echo", "t", Role::User), "me", true);
        assert!(matches!(choice, Choice::Ignore(_)));
    }
}
