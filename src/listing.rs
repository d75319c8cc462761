//! Agents, tasks, mail and runs as people read them.

pub(crate) mod compliance;
pub(crate) mod mail;
pub(crate) mod runs;
pub(crate) mod watched;

use agenthub_proto::{
    a2a::{AgentCard, Message, Role, Task},
    agenthub::{AgentEntry, AgentEvent, AgentState, agent_event::Payload},
};

use crate::output::{cut, plain, table};

/// The longest text of a message in one line, in characters.
const MAX_TEXT: usize = 100;

/// The agents as a table.
pub(crate) fn agents(agents: &[AgentEntry]) -> String {
    if agents.is_empty() {
        return "no agents".to_owned();
    }
    let rows = agents.iter().map(|agent| {
        let card = agent.agent_card.clone().unwrap_or_default();
        [
            agent.agent_id.clone(),
            state(agent).to_owned(),
            skills(&card),
            card.description,
        ]
    });
    table(["AGENT", "STATE", "SKILLS", "DESCRIPTION"], rows)
}

/// One agent with all that is known of it.
pub(crate) fn agent(agent: &AgentEntry) -> String {
    let card = agent.agent_card.clone().unwrap_or_default();
    let mut lines = vec![
        format!("{} is {}", agent.agent_id, state(agent)),
        format!("  {}", card.description),
    ];
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<14}{value}"));
        }
    };
    field("versions", agent.versions.join(", "));
    field("subscriptions", agent.subscriptions.join(", "));
    field("health check", agent.health_check_url.clone());
    field("open tasks", agent.open_tasks.to_string());
    let instances = agent.instances.iter();
    let instances: Vec<&str> = instances.map(|i| i.instance_id.as_str()).collect();
    field("instances", instances.join(", "));
    for skill in &card.skills {
        lines.push(format!("  skill {}: {}", skill.id, skill.description));
        if !skill.tags.is_empty() {
            lines.push(format!("    tags      {}", skill.tags.join(", ")));
        }
        if !skill.examples.is_empty() {
            lines.push(format!("    examples  {}", skill.examples.join("; ")));
        }
    }
    plain(&lines.join("\n")).into_owned()
}

/// The tasks as a table.
pub(crate) fn tasks(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "no tasks".to_owned();
    }
    let rows = tasks.iter().map(|task| {
        let asked = task.history.first().map(Message::text);
        [
            task.id.clone(),
            task.state().label().to_owned(),
            task.task_type().to_owned(),
            task.requester().to_owned(),
            task.assignee().to_owned(),
            asked.unwrap_or_default(),
        ]
    });
    table(["TASK", "STATE", "TYPE", "FROM", "AGENT", "REQUEST"], rows)
}

/// One task with its messages and what came out of it.
pub(crate) fn task(task: &Task) -> String {
    let mut lines = vec![format!("task {} is {}", task.id, task.state().label())];
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("  {name:<9}{value}"));
        }
    };
    field("context", &task.context_id);
    field("type", task.task_type());
    field("from", task.requester());
    field("agent", task.assignee());
    let status = task.status.clone().unwrap_or_default();
    field(
        "since",
        &status.timestamp.map(|t| t.to_string()).unwrap_or_default(),
    );
    field("status", &status.text());
    for message in &task.history {
        lines.push(format!(
            "  {} said: {}",
            who(message.role()),
            message.text()
        ));
    }
    for artifact in &task.artifacts {
        let name = match artifact.name.as_str() {
            "" => &artifact.artifact_id,
            name => name,
        };
        lines.push(format!("  artifact {name}: {}", artifact.text()));
    }
    plain(&lines.join("\n")).into_owned()
}

/// One line for something that happened; `None` for what is not worth one.
pub(crate) fn event(event: &AgentEvent) -> Option<String> {
    let time = event.timestamp.map(|t| t.to_string()).unwrap_or_default();
    let what = match event.payload.as_ref()? {
        Payload::Message(message) => {
            let (from, text) = (event.sender(), message.text());
            format!("{}  message from {from}: {text}", message.task_id)
        }
        Payload::Task(task) => format!("{}  {}", task.id, task.state().label()),
        Payload::StatusUpdate(update) => {
            let status = update.status.clone().unwrap_or_default();
            let (state, text) = (status.state().label(), status.text());
            format!("{}  {state}  {}  {text}", update.task_id, event.sender())
        }
        Payload::ArtifactUpdate(update) => {
            let artifact = update.artifact.clone().unwrap_or_default();
            let (id, text) = (&artifact.artifact_id, artifact.text());
            format!("{}  artifact {id}: {text}", update.task_id)
        }
        Payload::AgentCard(change) => {
            let presence = match change.is_online() {
                true => "online",
                false => "offline",
            };
            let skills = change.agent_card.as_ref().map(skills).unwrap_or_default();
            let (id, kind) = (&change.agent_id, &change.event_type);
            format!("{id}  {kind}  {presence}  {skills}")
        }
    };
    Some(format!("{time}  {}", cut(&what, MAX_TEXT)))
}

fn state(agent: &AgentEntry) -> &'static str {
    match agent.state() {
        AgentState::Online => "online",
        AgentState::Offline => "offline",
        AgentState::Unspecified => "unknown",
    }
}

fn skills(card: &AgentCard) -> String {
    let ids: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
    ids.join(", ")
}

fn who(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent => "agent",
        Role::Unspecified => "somebody",
    }
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{AgentSkill, TaskState, TaskStatus},
        agenthub::{AgentEventMetadata, TaskStatusUpdateEvent},
    };

    use super::*;

    fn echo() -> AgentEntry {
        AgentEntry {
            agent_id: "agent_echo".into(),
            agent_card: Some(AgentCard {
                name: "agent_echo".into(),
                description: "Repeats \u{1b}[31mwhat it is told".into(),
                skills: vec![AgentSkill {
                    id: "echo".into(),
                    description: "Echoes a text".into(),
                    tags: vec!["testing".into()],
                    examples: vec!["Echo this".into()],
                    ..Default::default()
                }],
                ..Default::default()
            }),
            state: AgentState::Online.into(),
            subscriptions: vec!["echo".into(), "echo_request".into()],
            ..Default::default()
        }
    }

    fn done() -> Task {
        let mut message = Message::new(Role::User, "hello");
        message.message_id = "m1".into();
        Task {
            id: "t1".into(),
            context_id: "c1".into(),
            status: Some(TaskStatus {
                state: TaskState::Completed.into(),
                update: Some(Message::new(Role::Agent, "Echo: hello")),
                timestamp: None,
            }),
            history: vec![message],
            ..Default::default()
        }
    }

    #[test]
    fn lists_and_details() {
        let parts = [
            agents(&[echo()]),
            agent(&echo()),
            tasks(&[done()]),
            task(&done()),
        ];
        insta::assert_snapshot!(parts.join("\n---\n"));
    }

    #[test]
    fn empty_lists_say_so() {
        assert_eq!(agents(&[]), "no agents");
        assert_eq!(tasks(&[]), "no tasks");
    }

    #[test]
    fn events_are_one_line() {
        let status = AgentEvent {
            payload: Some(Payload::StatusUpdate(TaskStatusUpdateEvent {
                task_id: "t1".into(),
                status: done().status,
                ..Default::default()
            })),
            routing: Some(AgentEventMetadata {
                from_agent_id: "agent_echo".into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let line = event(&status).expect("a status is worth a line");
        assert_eq!(line, "  t1 completed agent_echo Echo: hello");
        assert_eq!(event(&AgentEvent::default()), None);
    }
}
