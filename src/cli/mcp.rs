//! The agents of a hub for MCP clients, on the command line.

use agenthub_terminal::{Listen, flags::ServeTls};
use clap::Args;

use super::{Hub, Layer, Layers, Metrics};

/// `agenthub mcp`
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Mcp {
    #[command(flatten)]
    hub: Hub,
    /// Serves many clients over streamable HTTP, at /mcp of this address, instead of one over stdin and stdout; port 0 is any free one
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<Listen>,
    #[command(flatten)]
    metrics: Metrics,
    #[command(flatten)]
    tls: ServeTls,
    /// The URL by which clients know it, if it is not the one that they send requests to, as behind a proxy
    #[arg(long, requires = "http", value_name = "URL", value_parser = url)]
    pub(crate) public_url: Option<String>,
    /// Listens on addresses that other machines reach, though nobody's identity is checked
    #[arg(long)]
    insecure: bool,
    /// Deadline of a call, after which its task is called off
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,
    /// Maximum calls of each caller under way at a time; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4_096))]
    pub(crate) max_calls: u16,
}

/// The address of an endpoint.
fn url(text: &str) -> Result<String, String> {
    let url: http::Uri = text.parse().map_err(|error| format!("{error}"))?;
    match (url.scheme_str(), url.host(), url.query()) {
        (Some("https" | "http"), Some(_), None) => Ok(text.to_owned()),
        _ => Err("it is a URL such as https://hub.example/mcp".to_owned()),
    }
}

const HELP: &str = "\
Each agent that is online is a tool with its name, such as agent_echo or agent_cortex; the list changes as agents come and go. Without a \
hub the server waits for one.

An entry for the configuration of a client, which starts the server itself:

  { \"mcpServers\": { \"agenthub\": { \"command\": \"agenthub\", \"args\": [\"mcp\"] } } }

Over HTTP each client is served in its own name: on a hub with identities it shows a token of that hub, and sees and asks what that token may. \
The token of this process is for stdin and stdout alone.

On stdin and stdout only the protocol is spoken; what is logged goes to standard error. The end of stdin ends it.";

impl Mcp {
    /// The flags as a layer of the settings. Its own address is no setting.
    pub(super) fn layer(&self) -> Layer {
        Layer {
            hub: self.hub.hub.clone(),
            insecure: self.insecure.then_some(true),
            metrics: self.metrics.metrics,
            tls: self.tls.layer(),
            ..Layer::default()
        }
    }
}
