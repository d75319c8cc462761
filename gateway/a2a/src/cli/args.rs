//! Arguments of `agenthub a2a`, and of those of `agenthub agents` that are for agents elsewhere.

use crate::client::{
    Auth, Binding,
    auth::{Location, SecretRef},
};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use agenthub_terminal::{
    commands::Query,
    complete,
    flags::{Hub, Json},
};

/// `agenthub a2a`
#[derive(Debug, Subcommand)]
pub enum A2a {
    /// Shows the card of an agent elsewhere
    Card {
        /// The agent's address, or that of its card
        url: String,
        /// Credentials, where the card is not for everybody.
        #[command(flatten)]
        who: Box<Who>,
        /// The form of the card.
        #[command(flatten)]
        json: Json,
    },
    /// Asks an agent elsewhere, and shows what it does as it comes
    Call(Box<Call>),
}

/// `agenthub a2a call`
#[derive(Debug, Args)]
pub struct Call {
    /// The agent's address, or that of its card
    pub url: String,
    /// Words to say; - reads them from standard input
    pub text: Option<String>,
    /// The skill to ask for, where the agent chooses by the message's task_type
    #[arg(long, value_name = "ID")]
    pub skill: Option<String>,
    /// A data part, as JSON; may be repeated
    #[arg(long, value_name = "JSON", value_parser = data)]
    pub data: Vec<serde_json::Value>,
    /// The conversation it belongs to
    #[arg(long, value_name = "ID")]
    pub context: Option<String>,
    /// The task that it goes on with
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// The binding to use: jsonrpc, http or grpc [default: the card's first]
    #[arg(long, value_parser = binding)]
    pub binding: Option<Binding>,
    /// A further header; its value may be named as env:NAME or file:PATH; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub header: Vec<(String, HeaderText)>,
    /// Seconds that the agent may take; then the task is cancelled. Time in which a question waits for you does not count
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub json: Json,
}

/// Commands for agents elsewhere.
#[derive(Debug, Subcommand)]
pub enum Elsewhere {
    /// Makes an agent elsewhere, which speaks A2A, an agent of the hub
    Add(Box<Add>),
    /// Lists the agents elsewhere that are on the hub
    Outside {
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Takes an agent elsewhere from the hub: its open tasks fail, and what waits for it is dropped
    Remove {
        /// Its id
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        id: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
}

/// `agenthub agents add`
#[derive(Debug, Args)]
pub struct Add {
    /// The agent's address, or that of its card
    pub url: String,
    /// Its id on the hub [default: made of the name on its card]
    #[arg(long)]
    pub id: Option<String>,
    #[command(flatten)]
    pub who: Who,
    #[command(flatten)]
    pub query: Query,
}

impl Elsewhere {
    /// The hub that is asked.
    pub fn hub(&self) -> &Hub {
        match self {
            Self::Add(add) => &add.query.hub,
            Self::Outside { query } | Self::Remove { query, .. } => &query.hub,
        }
    }
}

/// Value of a header, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// Itself.
    Text(String),
    /// Its place.
    Named(SecretRef),
}

/// Credentials, by reference: env:NAME or file:PATH.
#[derive(Debug, Default, Args)]
pub struct Who {
    /// A bearer token, as env:NAME or file:PATH
    #[arg(long, value_name = "SECRET", group = "auth")]
    bearer: Option<SecretRef>,
    /// A name, and a password as env:NAME or file:PATH
    #[arg(long, value_name = "USER=SECRET", group = "auth", value_parser = pair)]
    basic: Option<(String, SecretRef)>,
    /// An API key as env:NAME or file:PATH, and its place, such as header:X-Key, if the card does not say it
    #[arg(long, value_name = "[PLACE:NAME=]SECRET", group = "auth", value_parser = api_key)]
    api_key: Option<ApiKey>,
    /// A client of OAuth 2, and its secret as env:NAME or file:PATH
    #[arg(long, value_name = "CLIENT=SECRET", group = "auth", value_parser = pair)]
    oauth2: Option<(String, SecretRef)>,
    /// Address of its tokens, if not the one on the card
    #[arg(long, value_name = "URL", requires = "oauth2")]
    token_url: Option<String>,
    /// A scope of its tokens; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "oauth2")]
    scope: Vec<String>,
}

impl Who {
    /// The credentials that the flags name.
    pub fn auth(self) -> Option<Auth> {
        if let Some(token) = self.bearer {
            return Some(Auth::Bearer { token });
        }
        if let Some((user, password)) = self.basic {
            return Some(Auth::Basic { user, password });
        }
        if let Some(ApiKey { place, key }) = self.api_key {
            let (location, name) = place.unzip();
            return Some(Auth::ApiKey {
                location,
                name,
                key,
            });
        }
        let (client_id, secret) = self.oauth2?;
        Some(Auth::ClientCredentials {
            client_id,
            secret,
            token_url: self.token_url,
            scopes: self.scope,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ApiKey {
    place: Option<(Location, String)>,
    key: SecretRef,
}

fn binding(text: &str) -> Result<Binding, String> {
    match text.to_ascii_lowercase().as_str() {
        "jsonrpc" | "json-rpc" => Ok(Binding::JsonRpc),
        "http" | "rest" | "http+json" => Ok(Binding::Rest),
        "grpc" => Ok(Binding::Grpc),
        _ => Err("a binding is jsonrpc, http or grpc".to_owned()),
    }
}

fn data(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}

fn header(text: &str) -> Result<(String, HeaderText), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE")?;
    let value = value.trim();
    let value = match value.parse() {
        Ok(named) => HeaderText::Named(named),
        Err(_) => HeaderText::Text(value.to_owned()),
    };
    Ok((name.trim().to_owned(), value))
}

fn pair(text: &str) -> Result<(String, SecretRef), String> {
    let (name, secret) = text.split_once('=').ok_or("write NAME=SECRET")?;
    Ok((name.to_owned(), secret.parse()?))
}

fn api_key(text: &str) -> Result<ApiKey, String> {
    let Some((place, key)) = text.split_once('=') else {
        return Ok(ApiKey {
            place: None,
            key: text.parse()?,
        });
    };
    let (location, name) = place.split_once(':').ok_or("write PLACE:NAME=SECRET")?;
    Ok(ApiKey {
        place: Some((location.parse()?, name.to_owned())),
        key: key.parse()?,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        who: Who,
    }

    fn auth(flags: &[&str]) -> Result<Option<Auth>, String> {
        let parsed = Flags::try_parse_from([&["x"], flags].concat());
        parsed
            .map(|f| f.who.auth())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn who_asks_is_named_and_never_given() {
        let env = |name: &str| SecretRef::Env(name.to_owned());
        assert_eq!(auth(&[]), Ok(None));
        assert_eq!(
            auth(&["--bearer", "env:T"]),
            Ok(Some(Auth::Bearer { token: env("T") }))
        );
        assert_eq!(
            auth(&["--basic", "me=env:P"]),
            Ok(Some(Auth::Basic {
                user: "me".into(),
                password: env("P")
            }))
        );
        assert_eq!(
            auth(&["--api-key", "header:X-Key=env:K"]),
            Ok(Some(Auth::ApiKey {
                location: Some(Location::Header),
                name: Some("X-Key".into()),
                key: env("K")
            }))
        );
        let oauth = auth(&["--oauth2", "me=env:S", "--scope", "a", "--scope", "b"]);
        assert!(
            matches!(oauth, Ok(Some(Auth::ClientCredentials { scopes, .. })) if scopes == ["a", "b"])
        );
        for wrong in [
            &["--bearer", "sk-123"][..],
            &["--basic", "me"],
            &["--bearer", "env:T", "--basic", "me=env:P"],
            &["--scope", "a"],
            &["--api-key", "smell:X=env:K"],
        ] {
            assert!(auth(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_header_may_be_named() {
        assert_eq!(
            header("X-A: b: c"),
            Ok(("X-A".into(), HeaderText::Text("b: c".into())))
        );
        assert_eq!(
            header("X-A: env:B"),
            Ok(("X-A".into(), HeaderText::Named(SecretRef::Env("B".into()))))
        );
        assert!(header("X-A").is_err());
    }
}
