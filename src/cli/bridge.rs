//! The bridge to agents over HTTP, on the command line.

use clap::Args;

use super::{Folder, Hub, Kafka, Layer, Layers, Metrics};

/// `agenthub bridge`
#[derive(Debug, Args)]
#[command(after_long_help = MORE)]
pub(crate) struct Bridge {
    #[command(flatten)]
    pub(crate) kafka: Kafka,
    #[command(flatten)]
    pub(crate) hub: Hub,
    /// Where the hub serves A2A, for agents that are on it themselves [default: http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    pub(crate) a2a: Option<String>,
    /// Tasks that are at work at the same time, at most
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) at_once: u16,
    /// Name of this bridge among all: started again under it, such as after a crash, it takes up at once what it had. Without one, Kafka first has to
    /// notice that it is gone
    #[arg(long, value_parser = member_name)]
    pub(crate) name: Option<String>,
    /// Prints one JSON object once tasks are taken: hub, kafka and claims
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    metrics: Metrics,
    #[command(flatten)]
    pub(crate) folder: Folder,
}

/// A name of a member of a group, as Kafka takes it.
fn member_name(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match (1..=200).contains(&name.len()) && name.chars().all(fits) {
        true => Ok(name.to_owned()),
        false => Err("it is of 1 to 200 letters, digits, `.`, `_` and `-`".to_owned()),
    }
}

impl Layers for Bridge {
    type Layer = Layer;

    fn layer(&self) -> Layer {
        self.kafka.over(Layer {
            hub: self.hub.hub.clone(),
            metrics: self.metrics.metrics,
            ..self.folder.layer()
        })
    }
}

const MORE: &str = "\
Takes tasks from the topic orchestrator.tasks.http, calls their agents over A2A, keeps what they answer as claim checks, and publishes results. Agents elsewhere \
are called at their own addresses, with the credentials of [bridge.auth.ID] in agenthub.toml, all others where the hub serves A2A. Any number of \
bridges share the tasks. What one has not finished when it is stopped or killed, another one takes up.";
