//! Settings of what is carried and where to, as they are written down and checked.

use agenthub_bus::messages::events::TaskStateName;
use serde::Deserialize;

use crate::pattern::Pattern;

/// Longest name of a connector, in bytes: topics and agents are named after it.
const LONGEST_NAME: usize = 64;

/// Longest name of a topic of Kafka, in bytes.
const LONGEST_TOPIC: usize = 249;

/// The table `[connect.kafka]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Name of the connector; `agenthub` if not given. Its positions are kept under it, and one connector of a name works at a time.
    pub name: Option<String>,
    /// From the hub to Kafka.
    pub out: Vec<Out>,
    /// From Kafka to the hub.
    #[serde(rename = "in")]
    pub inward: Vec<In>,
}

/// A table `[[connect.kafka.out]]`: messages or states of tasks that go to a topic of Kafka.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Out {
    /// Topics of the hub whose messages are carried.
    pub messages: Vec<String>,
    /// Agents the states of whose tasks are carried.
    pub tasks: Vec<String>,
    /// States that are carried; all if none is given.
    pub states: Vec<TaskStateName>,
    /// Topic of Kafka.
    pub to: String,
    /// Source of the key: the context of messages, and the task of states, if not given.
    pub key: Option<KeyBy>,
}

/// A table `[[connect.kafka.in]]`: records that become messages to an agent, or on a topic of the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct In {
    /// Topics of Kafka.
    pub from: Vec<String>,
    /// Agent for which each record is a task.
    pub agent: Option<String>,
    /// Topic of the hub on which each record is a message.
    pub topic: Option<String>,
    /// Skill or kind of work; that of the header `task_type` if not given.
    pub task_type: Option<String>,
}

/// Source of a record's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyBy {
    /// Conversation.
    Context,
    /// Task.
    Task,
    /// Agent or client that sent it.
    Sender,
    /// Agent that it is for.
    Recipient,
}

/// Events and records that a connector carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Name of the connector.
    pub name: String,
    /// From the hub to Kafka.
    pub out: Vec<OutRule>,
    /// From Kafka to the hub: one rule for each topic.
    pub inward: Vec<InRule>,
}

/// Events that go to a topic of Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutRule {
    /// The events.
    pub events: Events,
    /// Topic of Kafka.
    pub to: String,
    /// Source of the key.
    pub key: KeyBy,
}

/// Events of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Events {
    /// Messages on these topics.
    Messages(Vec<Pattern>),
    /// States of the tasks of these agents.
    States {
        /// The agents, as either party.
        agents: Vec<Pattern>,
        /// The states; empty for all.
        states: Vec<TaskStateName>,
    },
}

/// Use of the records of a topic of Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InRule {
    /// Topic of Kafka.
    pub from: String,
    /// Their receiver.
    pub target: Target,
    /// Skill or kind of work; that of the header if `None`.
    pub task_type: Option<String>,
}

/// Receiver of the messages of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A task for this agent.
    Agent(String),
    /// A message on this topic of the hub.
    Topic(String),
}

impl Settings {
    /// Checks them.
    ///
    /// # Errors
    ///
    /// What is wrong, where, and what to do.
    pub fn rules(&self) -> Result<Rules, String> {
        let name = self.name.clone().unwrap_or_else(|| "agenthub".to_owned());
        if name.len() > LONGEST_NAME || !is_topic(&name) {
            return Err(format!(
                "connect.kafka.name is {name:?}: letters, digits, `.`, `_` and `-` make a name, {LONGEST_NAME} at most"
            ));
        }
        if self.out.is_empty() && self.inward.is_empty() {
            return Err("nothing is to be carried: name it with --messages, --tasks, --to-agent or --to-topic, or in [[connect.kafka.out]] and [[connect.kafka.in]] of agenthub.toml".to_owned());
        }
        let out = numbered("out", &self.out, out_rule)?;
        let inward: Vec<InRule> = numbered("in", &self.inward, in_rules)?
            .into_iter()
            .flatten()
            .collect();
        for (at, rule) in inward.iter().enumerate() {
            if inward[..at].iter().any(|other| other.from == rule.from) {
                return Err(format!(
                    "[[connect.kafka.in]]: the topic {} is taken from twice; each of its records becomes one message",
                    rule.from
                ));
            }
        }
        Ok(Rules { name, out, inward })
    }
}

impl Rules {
    /// Topic of the connector's positions.
    pub fn positions_topic(&self) -> String {
        format!("agenthub.connect.{}.positions", self.name)
    }

    /// One line for each way that is taken.
    pub fn in_words(&self) -> Vec<String> {
        let list = |patterns: &[Pattern]| {
            let texts: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            texts.join(", ")
        };
        let out = self.out.iter().map(|rule| match &rule.events {
            Events::Messages(topics) => format!("messages on {} → {}", list(topics), rule.to),
            Events::States { agents, .. } => {
                format!("states of the tasks of {} → {}", list(agents), rule.to)
            }
        });
        let inward = self.inward.iter().map(|rule| match &rule.target {
            Target::Agent(agent) => format!("{} → tasks for {agent}", rule.from),
            Target::Topic(topic) => format!("{} → messages on {topic}", rule.from),
        });
        out.chain(inward).collect()
    }

    /// Id under which the connector is on the hub.
    pub fn agent_id(&self) -> String {
        format!("connect-{}", self.name)
    }
}

/// Checks tables, and says which one is wrong.
fn numbered<T, R>(
    tables: &str,
    all: &[T],
    read: impl Fn(&T) -> Result<R, String>,
) -> Result<Vec<R>, String> {
    let read = |(at, table)| {
        read(table).map_err(|why| format!("[[connect.kafka.{tables}]], table {}: {why}", at + 1))
    };
    all.iter().enumerate().map(read).collect()
}

fn out_rule(out: &Out) -> Result<OutRule, String> {
    topic("to", &out.to)?;
    let (events, key) = match (out.messages.is_empty(), out.tasks.is_empty()) {
        (false, true) if !out.states.is_empty() => {
            return Err("`states` belongs to `tasks`, and here are `messages`".to_owned());
        }
        (false, true) => (
            Events::Messages(patterns("messages", &out.messages)?),
            KeyBy::Context,
        ),
        (true, false) => (
            Events::States {
                agents: patterns("tasks", &out.tasks)?,
                states: out.states.clone(),
            },
            KeyBy::Task,
        ),
        (true, true) => {
            return Err("`messages` (topics of the hub) or `tasks` (agents) is missing".to_owned());
        }
        (false, false) => {
            return Err("`messages` and `tasks` have a table each".to_owned());
        }
    };
    Ok(OutRule {
        events,
        to: out.to.clone(),
        key: out.key.unwrap_or(key),
    })
}

fn in_rules(inward: &In) -> Result<Vec<InRule>, String> {
    if inward.from.is_empty() {
        return Err("`from` (topics of Kafka) is missing".to_owned());
    }
    let target = match (&inward.agent, &inward.topic) {
        (Some(agent), None) if !agent.is_empty() => Target::Agent(agent.clone()),
        (None, Some(topic)) if !topic.is_empty() => Target::Topic(topic.clone()),
        (Some(_), Some(_)) => {
            return Err("`agent` and `topic` have a table each".to_owned());
        }
        _ => return Err("`agent` or `topic` (of the hub) is missing".to_owned()),
    };
    let rule = |from: &String| {
        topic("from", from)?;
        Ok(InRule {
            from: from.clone(),
            target: target.clone(),
            task_type: inward.task_type.clone(),
        })
    };
    inward.from.iter().map(rule).collect()
}

fn patterns(field: &str, texts: &[String]) -> Result<Vec<Pattern>, String> {
    let read = |text: &String| text.parse().map_err(|why| format!("`{field}`: {why}"));
    texts.iter().map(read).collect()
}

fn topic(field: &str, name: &str) -> Result<(), String> {
    match name {
        "" => Err(format!("`{field}` (a topic of Kafka) is missing")),
        name if is_topic(name) => Ok(()),
        name => Err(format!(
            "`{field}`: {name:?} is no topic of Kafka; letters, digits, `.`, `_` and `-` make one, {LONGEST_TOPIC} at most"
        )),
    }
}

fn is_topic(name: &str) -> bool {
    (1..=LONGEST_TOPIC).contains(&name.len())
        && !matches!(name, "." | "..")
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Reads `LEFT=RIGHT` of a flag.
///
/// # Errors
///
/// There is no `=`, or nothing on one side of it.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => {
            Ok((left.to_owned(), right.to_owned()))
        }
        _ => Err("it has the form FROM=TO".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out() -> Out {
        Out {
            messages: vec!["orders.*".to_owned()],
            to: "agents.orders".to_owned(),
            ..Out::default()
        }
    }

    fn inward() -> In {
        In {
            from: vec!["orders".to_owned()],
            agent: Some("agent_echo".to_owned()),
            ..In::default()
        }
    }

    fn refused(out: impl IntoIterator<Item = Out>, inward: impl IntoIterator<Item = In>) -> String {
        let settings = Settings {
            name: None,
            out: out.into_iter().collect(),
            inward: inward.into_iter().collect(),
        };
        settings.rules().expect_err("it is wrong")
    }

    #[test]
    fn messages_are_keyed_by_context_and_states_by_task() {
        let settings = Settings {
            name: Some("lake".to_owned()),
            out: vec![
                out(),
                Out {
                    tasks: vec!["*".to_owned()],
                    to: "agents.tasks".to_owned(),
                    ..Out::default()
                },
                Out {
                    key: Some(KeyBy::Sender),
                    ..out()
                },
            ],
            inward: vec![inward()],
        };
        let rules = settings.rules().expect("right");
        let keys: Vec<KeyBy> = rules.out.iter().map(|rule| rule.key).collect();
        assert_eq!(keys, [KeyBy::Context, KeyBy::Task, KeyBy::Sender]);
        assert_eq!(rules.positions_topic(), "agenthub.connect.lake.positions");
        assert_eq!(rules.agent_id(), "connect-lake");
    }

    #[test]
    fn wrong_tables_are_refused_with_their_place_and_what_to_do() {
        let nothing = refused([], []);
        assert!(nothing.contains("--messages"), "{nothing}");
        let both = Out {
            tasks: vec!["a".to_owned()],
            ..out()
        };
        let error = refused([out(), both], []);
        assert!(error.contains("connect.kafka.out]], table 2"), "{error}");
        for (wrong, why) in [
            (
                Out {
                    to: String::new(),
                    ..out()
                },
                "`to`",
            ),
            (
                Out {
                    to: "a b".to_owned(),
                    ..out()
                },
                "no topic of Kafka",
            ),
            (
                Out {
                    messages: Vec::new(),
                    ..out()
                },
                "is missing",
            ),
            (
                Out {
                    messages: vec!["a*b".to_owned()],
                    ..out()
                },
                "at the end alone",
            ),
            (
                Out {
                    states: vec![TaskStateName::Failed],
                    ..out()
                },
                "`states` belongs to",
            ),
        ] {
            let error = refused([wrong], []);
            assert!(error.contains(why), "{error}");
        }
        for (wrong, why) in [
            (
                In {
                    from: Vec::new(),
                    ..inward()
                },
                "`from`",
            ),
            (
                In {
                    agent: None,
                    ..inward()
                },
                "is missing",
            ),
            (
                In {
                    topic: Some("t".to_owned()),
                    ..inward()
                },
                "a table each",
            ),
        ] {
            let error = refused([], [wrong]);
            assert!(
                error.contains(why) && error.contains("kafka.in]], table 1"),
                "{error}"
            );
        }
        let twice = refused([], [inward(), inward()]);
        assert!(twice.contains("taken from twice"), "{twice}");
        let name = Settings {
            name: Some("a/b".to_owned()),
            out: vec![out()],
            ..Settings::default()
        };
        assert!(name.rules().is_err());
    }

    #[test]
    fn a_flag_has_two_sides() {
        assert_eq!(pair("a.*=b"), Ok(("a.*".to_owned(), "b".to_owned())));
        assert!(pair("a").is_err() && pair("=b").is_err() && pair("a=").is_err());
    }
}
