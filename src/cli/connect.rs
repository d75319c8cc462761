//! Connectors to other systems, on the command line.

use agenthub_connect::settings::{In, Out, Settings as Carried, pair};
use clap::{Args, Subcommand};

use super::{Hub, Layer, Layers, Metrics};
use crate::settings;

/// `agenthub connect`
#[derive(Debug, Subcommand)]
pub(crate) enum Connect {
    /// Mirrors messages and states of tasks to Kafka, and takes records of Kafka as messages, each once in effect
    Kafka(Box<ConnectKafka>),
}

/// `agenthub connect kafka`
#[derive(Debug, Args)]
#[command(after_long_help = MORE)]
pub(crate) struct ConnectKafka {
    /// Kafka's servers; commas in between
    #[arg(long, value_name = "HOST:PORT")]
    kafka: Option<String>,
    #[command(flatten)]
    hub: Hub,
    /// Name of the connector, under which its positions are kept; one of a name works at a time [default: agenthub]
    #[arg(long)]
    name: Option<String>,
    /// Mirrors the messages on a topic of the hub, such as orders.* or *, to a topic of Kafka; may be repeated
    #[arg(long, value_name = "HUB_TOPIC=TOPIC", value_parser = pair)]
    messages: Vec<(String, String)>,
    /// Mirrors the states of the tasks of an agent, or of all with *, to a topic of Kafka; may be repeated
    #[arg(long, value_name = "AGENT=TOPIC", value_parser = pair)]
    tasks: Vec<(String, String)>,
    /// Makes each record of a topic of Kafka a task for an agent; may be repeated
    #[arg(long, value_name = "TOPIC=AGENT", value_parser = pair)]
    to_agent: Vec<(String, String)>,
    /// Makes each record of a topic of Kafka a message on a topic of the hub; may be repeated
    #[arg(long, value_name = "TOPIC=HUB_TOPIC", value_parser = pair)]
    to_topic: Vec<(String, String)>,
    #[command(flatten)]
    metrics: Metrics,
    /// Prints one JSON object once it carries: name, hub and kafka
    #[arg(long)]
    pub(crate) json: bool,
}

impl ConnectKafka {
    /// Events and records to carry: those of the settings, and those that the flags add.
    #[cfg_attr(not(feature = "kafka"), allow(dead_code))]
    pub(crate) fn carried(&self, settings: &Carried) -> Carried {
        let mut carried = settings.clone();
        if self.name.is_some() {
            carried.name.clone_from(&self.name);
        }
        let messages = self.messages.iter().map(|(topic, to)| Out {
            messages: vec![topic.clone()],
            to: to.clone(),
            ..Out::default()
        });
        let tasks = self.tasks.iter().map(|(agent, to)| Out {
            tasks: vec![agent.clone()],
            to: to.clone(),
            ..Out::default()
        });
        carried.out.extend(messages.chain(tasks));
        let to_agent = self.to_agent.iter().map(|(from, agent)| In {
            from: vec![from.clone()],
            agent: Some(agent.clone()),
            ..In::default()
        });
        let to_topic = self.to_topic.iter().map(|(from, topic)| In {
            from: vec![from.clone()],
            topic: Some(topic.clone()),
            ..In::default()
        });
        carried.inward.extend(to_agent.chain(to_topic));
        carried
    }
}

impl Layers for ConnectKafka {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        Layer {
            hub: self.hub.hub.clone(),
            metrics: self.metrics.metrics,
            kafka: settings::Kafka {
                servers: self.kafka.clone(),
                ..settings::Kafka::default()
            },
            ..Layer::default()
        }
    }
}

impl Layers for Connect {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        match self {
            Self::Kafka(args) => args.layer(),
        }
    }
}

const MORE: &str = "\
Examples:
  agenthub connect kafka --kafka localhost:9092 --tasks '*=agents.tasks' --messages 'orders.*=agents.orders'
  agenthub connect kafka --kafka localhost:9092 --to-agent orders=agent_echo

Flags add to the tables [[connect.kafka.out]] and [[connect.kafka.in]] of agenthub.toml, which can say more: keys, states, task types. Servers with TLS or a \
login are in its table [kafka]. Readers of Kafka that take committed records alone (isolation.level=read_committed) see each event once. A record that \
cannot be taken goes to the topic with .dlq behind its name, with the reason. A connector that starts takes the place of one that runs under its name, which \
ends with an error.";

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn flags_add_to_the_tables() {
        let line = "agenthub connect kafka --name lake --messages a.*=k --tasks *=t --to-agent o=echo --to-topic p=q";
        let cli = Cli::try_parse_from(line.split(' ')).expect("right");
        let Command::Connect(Connect::Kafka(args)) = cli.command else {
            panic!("another command");
        };
        let settings = Carried {
            name: Some("other".to_owned()),
            inward: vec![In {
                from: vec!["r".to_owned()],
                topic: Some("s".to_owned()),
                ..In::default()
            }],
            ..Carried::default()
        };
        let rules = args.carried(&settings).rules().expect("right");
        assert_eq!(rules.name, "lake");
        assert_eq!((rules.out.len(), rules.inward.len()), (2, 3));
        let wrong = Cli::try_parse_from(["agenthub", "connect", "kafka", "--tasks", "a"]);
        assert!(wrong.is_err());
    }
}
