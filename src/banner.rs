//! Banner of `up` and `broker`, printed when everything is ready.

use std::{net::SocketAddr, path::PathBuf};

use agenthub_terminal::calls::hub_flag;
use serde_json::{Value, json};

use crate::{logging::Target, model, reaching::Reaching, settings::Model};

/// Content of the banner.
#[derive(Clone, Debug)]
pub(crate) struct Banner {
    /// The command by which this program was called.
    pub(crate) program: String,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    /// The address for programs on this machine.
    pub(crate) url: String,
    /// Further flags that they need to reach it.
    pub(crate) reaching: Reaching,
    /// Without it there is no Cortex here.
    pub(crate) model: Option<Model>,
    /// The agents that run in this process.
    pub(crate) agents: Vec<String>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) log: Target,
    pub(crate) talk: Talk,
}

/// Place of the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// A prompt follows.
    Here,
    /// A prompt would follow on a terminal that can edit lines.
    Unable,
    /// No prompt is wanted here.
    Elsewhere,
}

impl Banner {
    /// The banner for people.
    pub(crate) fn text(&self) -> String {
        let docs = if self.model.is_some() {
            " /v1/docs"
        } else {
            ""
        };
        let mut lines = vec![
            format!("AgentHub {}", env!("CARGO_PKG_VERSION")),
            String::new(),
            format!("  gRPC    {}", self.grpc),
            format!(
                "  HTTP    {}://{}   /health /ready /metrics{docs}",
                self.scheme(),
                self.http
            ),
            format!(
                "  page    {}://{}/   to look at it in a browser",
                self.scheme(),
                self.http
            ),
        ];
        if let Some(model) = &self.model {
            lines.push(format!("  model   {}", model::described(model)));
            lines.extend(model::advice(model).map(|advice| format!("          {advice}")));
        }
        if !self.agents.is_empty() {
            lines.push(format!("  agents  {}", self.agents.join(", ")));
        }
        lines.extend(match &self.log {
            Target::Stderr => None,
            Target::File(path) => Some(format!("  log     {}", path.display())),
            Target::Nowhere => Some(
                "  log     none, as it would disturb the chat (to see it: --no-chat, or 2>FILE)"
                    .to_owned(),
            ),
        });
        lines.push(String::new());
        lines.push("Try in another terminal:".to_owned());
        lines.extend(
            self.suggestions()
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        lines.push(String::new());
        lines.push(
            match self.talk {
                Talk::Here => {
                    "Say something to Cortex here, or /help. Ctrl-D leaves and stops everything."
                }
                Talk::Unable => {
                    "No chat here: this terminal cannot edit lines (see TERM). Ctrl-C stops everything."
                }
                Talk::Elsewhere => "Ctrl-C stops everything.",
            }
            .to_owned(),
        );
        lines.join("\n")
    }

    fn suggestions(&self) -> Vec<String> {
        let program = &self.program;
        let hub = format!("{}{}", hub_flag(&self.url), self.reaching.flags());
        let mut lines = Vec::new();
        match self.model {
            Some(_) => lines.push(format!("{program} agent echo --name agent_echo2{hub}")),
            None => {
                lines.push(format!("{program} cortex{hub}"));
                lines.push(format!("{program} agent echo{hub}"));
            }
        }
        lines.push(format!("{program} chat{hub}"));
        let address = self
            .url
            .split_once("://")
            .map_or("", |(_, address)| address);
        lines.push(format!("grpcurl{} {address} list", self.reaching.grpcurl()));
        lines
    }

    /// The scheme of both addresses.
    fn scheme(&self) -> &str {
        self.url
            .split_once("://")
            .map_or("http", |(scheme, _)| scheme)
    }

    /// The one line for programs.
    pub(crate) fn json(&self) -> Value {
        let mut value = json!({
            "grpc": self.grpc.to_string(),
            "http": self.http.to_string(),
            "data": self.data,
        });
        if let Some(model) = &self.model {
            value["model"] = model.name.as_str().into();
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cassette::Cassette;

    fn offline() -> Model {
        Model {
            name: "offline".to_owned(),
            endpoint: None,
            api_key: None,
            project: None,
            location: None,
            cassette: Cassette::None,
        }
    }

    fn banner() -> Banner {
        Banner {
            program: "agenthub".to_owned(),
            grpc: "127.0.0.1:50051".parse().expect("an address"),
            http: "127.0.0.1:8080".parse().expect("an address"),
            url: "http://127.0.0.1:50051".to_owned(),
            reaching: Reaching::default(),
            model: Some(offline()),
            agents: vec!["cortex".to_owned(), "agent_echo".to_owned()],
            data: Some("./.agenthub".into()),
            log: Target::File("./.agenthub/agenthub.log".into()),
            talk: Talk::Here,
        }
    }

    fn check(name: &str, banner: &Banner) {
        let text = banner.text().replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(name, text);
    }

    #[test]
    fn everything_with_a_chat() {
        check("everything_with_a_chat", &banner());
    }

    #[test]
    fn a_hub_alone_elsewhere() {
        let hub = Banner {
            grpc: "0.0.0.0:7".parse().expect("an address"),
            url: "http://127.0.0.1:7".to_owned(),
            model: None,
            agents: Vec::new(),
            log: Target::Stderr,
            talk: Talk::Elsewhere,
            ..banner()
        };
        check("a_hub_alone_elsewhere", &hub);
    }

    /// Issue 25: every command works with TLS and a token as without.
    #[test]
    fn suggestions_for_a_hub_with_tls_and_tokens_have_all_they_take() {
        let guarded = Banner {
            url: "https://127.0.0.1:50051".to_owned(),
            reaching: Reaching {
                ca: Some("certs/ca.pem".to_owned()),
                certificate: Some(["certs/client.pem".into(), "certs/client.key".into()]),
                needs_token: true,
            },
            talk: Talk::Elsewhere,
            ..banner()
        };
        check("a_hub_with_tls_and_tokens", &guarded);
    }

    #[test]
    fn a_terminal_without_a_chat_is_told_why() {
        let unable = Banner {
            talk: Talk::Unable,
            ..banner()
        };
        let text = unable.text();
        let last = text.lines().last().expect("a line");
        assert!(last.starts_with("No chat here"), "{last}");
    }

    #[test]
    fn programs_get_one_line() {
        let expected = r#"{"grpc":"127.0.0.1:50051","http":"127.0.0.1:8080","data":"./.agenthub","model":"offline"}"#;
        assert_eq!(banner().json().to_string(), expected);
        let nothing_kept = Banner {
            data: None,
            ..banner()
        };
        assert_eq!(nothing_kept.json()["data"], Value::Null);
    }
}
