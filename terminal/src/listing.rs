//! Agents, tasks, mail and runs as people read them.

pub mod mail;
pub mod refusal;
pub mod runs;
pub mod state;
pub mod steps;
pub mod watched;

use std::time::SystemTime;

use agenthub_proto::{
    a2a::{AgentCard, Message, Role, Task},
    agenthub::{AgentEntry, AgentEvent, AgentState, agent_event::Payload},
    wkt::Timestamp,
};
use agenthub_sdk::internal::task_type;

use crate::output::{cut, fitted, plain, table};

/// The longest text of a message in one line, in characters.
const MAX_TEXT: usize = 100;

/// The agents as a table.
pub fn agents(agents: &[AgentEntry]) -> String {
    if agents.is_empty() {
        return "no agents".to_owned();
    }
    let rows = agents.iter().map(|agent| {
        let card = agent.agent_card.clone().unwrap_or_default();
        [
            agent.agent_id.clone(),
            presence(agent).to_owned(),
            skills(&card),
            card.description,
        ]
    });
    table(["AGENT", "STATE", "SKILLS", "DESCRIPTION"], rows)
}

/// One agent with all that is known of it.
pub fn agent(agent: &AgentEntry) -> String {
    let card = agent.agent_card.clone().unwrap_or_default();
    let mut lines = vec![
        format!("{} is {}", agent.agent_id, presence(agent)),
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
        let (id, kind) = (&skill.id, task_type(&card, skill));
        lines.push(format!("  skill {id}: {}", skill.description));
        if kind != id {
            lines.push(format!("    task type {kind}"));
        }
        if !skill.tags.is_empty() {
            lines.push(format!("    tags      {}", skill.tags.join(", ")));
        }
        if !skill.examples.is_empty() {
            lines.push(format!("    examples  {}", skill.examples.join("; ")));
        }
    }
    plain(&lines.join("\n")).into_owned()
}

/// The tasks as a table, for a terminal of this width: there, ids are as long as it takes to tell them apart.
pub fn tasks(tasks: &[Task], now: SystemTime, width: Option<usize>) -> String {
    if tasks.is_empty() {
        return "no tasks".to_owned();
    }
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let length = match width {
        Some(_) => telling_apart(&ids),
        None => usize::MAX,
    };
    let rows = tasks.iter().map(|task| {
        let since = task.status.as_ref().and_then(|status| status.timestamp);
        let asked = task.history.first().map(Message::text);
        [
            task.id.chars().take(length).collect(),
            state::task(task),
            since.map(|at| when(&at, now)).unwrap_or_default(),
            task.task_type().to_owned(),
            task.requester().to_owned(),
            task.assignee().to_owned(),
            asked.unwrap_or_default(),
        ]
    });
    let headings = [
        "TASK",
        "STATE",
        "SINCE (UTC)",
        "TYPE",
        "FROM",
        "AGENT",
        "REQUEST",
    ];
    match width {
        Some(width) => fitted(headings, rows.collect(), width),
        None => table(headings, rows),
    }
}

/// The characters from the beginning by which ids differ, at least 8.
fn telling_apart(ids: &[&str]) -> usize {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |pair: &[&str]| {
        let both = pair[0].chars().zip(pair[1].chars());
        both.take_while(|(one, other)| one == other).count()
    };
    let longest = sorted.windows(2).map(shared).max();
    longest.map_or(8, |shared| (shared + 1).max(8))
}

/// The time of day; of what is older than half a day, the day as well.
fn when(at: &Timestamp, now: SystemTime) -> String {
    let text = Timestamp {
        seconds: at.seconds,
        nanos: 0,
    }
    .to_string();
    let now = now.duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs().cast_signed());
    let text = text.trim_end_matches('Z').replace('T', " ");
    match (now - at.seconds).abs() < 12 * 60 * 60 {
        true => text
            .split_once(' ')
            .map_or(text.clone(), |(_, time)| time.to_owned()),
        // The minute is enough.
        false => text
            .rsplit_once(':')
            .map_or(text.clone(), |(minute, _)| minute.to_owned()),
    }
}

/// One task with its messages and what came out of it.
pub fn task(task: &Task) -> String {
    let mut lines = vec![format!("task {} is {}", task.id, state::task(task))];
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
pub fn event(event: &AgentEvent) -> Option<String> {
    let time = event.timestamp.map(|t| t.to_string()).unwrap_or_default();
    let what = match event.payload.as_ref()? {
        Payload::Message(message) => {
            let (from, text) = (event.sender(), message.text());
            format!("{}  message from {from}: {text}", message.task_id)
        }
        Payload::Task(task) => format!("{}  {}", task.id, state::task(task)),
        Payload::StatusUpdate(update) => {
            let status = update.status.clone().unwrap_or_default();
            let (state, text) = (state::status(&status, &[]), status.text());
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

fn presence(agent: &AgentEntry) -> &'static str {
    match agent.state() {
        AgentState::Online => "online",
        AgentState::Offline => "offline",
        AgentState::Unspecified => "unknown",
    }
}

fn skills(card: &AgentCard) -> String {
    let types: Vec<&str> = card.skills.iter().map(|s| task_type(card, s)).collect();
    types.join(", ")
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

    /// spec: HUB-5.2
    #[test]
    fn an_agent_that_goes_by_names_is_listed_by_them() {
        let mut entry = echo();
        let card = entry.agent_card.as_mut().expect("it has one");
        card.skills[0].id = "skill_0".into();
        card.skills[0].name = "Echo Messages".into();
        assert!(agents(&[entry.clone()]).contains("Echo Messages"));
        assert!(agent(&entry).contains("task type Echo Messages"));
    }

    #[test]
    fn lists_and_details() {
        let parts = [
            agents(&[echo()]),
            agent(&echo()),
            tasks(&[done()], SystemTime::UNIX_EPOCH, None),
            task(&done()),
        ];
        insta::assert_snapshot!(parts.join("\n---\n"));
    }

    #[test]
    fn tasks_have_times_and_fit_the_terminal() {
        let at = |id: &str, seconds: i64| {
            let mut task = done();
            task.id = id.to_owned();
            task.history = vec![Message::new(Role::User, "long ".repeat(40))];
            if let Some(status) = &mut task.status {
                status.timestamp = Some(Timestamp { seconds, nanos: 5 });
            }
            task
        };
        let day = 24 * 60 * 60;
        let listed = [
            at("0199a1b2-c3d4-7aaa-8000-000000000001", 100 * day + 3_661),
            at("0199a1b2-c3d5-7aaa-8000-000000000002", day),
        ];
        let now =
            SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(100 * 24 * 60 * 60 + 4_000);
        let text = tasks(&listed, now, Some(80));
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            lines[1].starts_with("0199a1b2-c3d4  completed  01:01:01 "),
            "{text}"
        );
        assert!(
            lines[2].starts_with("0199a1b2-c3d5  completed  1970-01-02 00:00"),
            "{text}"
        );
        let piped = tasks(&listed, now, None);
        assert!(
            piped.contains("0199a1b2-c3d4-7aaa-8000-000000000001"),
            "{piped}"
        );
    }

    #[test]
    fn empty_lists_say_so() {
        assert_eq!(agents(&[]), "no agents");
        assert_eq!(tasks(&[], SystemTime::UNIX_EPOCH, None), "no tasks");
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
