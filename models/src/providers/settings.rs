//! Settings that were left open, read from the providers' usual environment variables.

use genai::adapter::AdapterKind;

use super::aws::{Profiles, Source};
use crate::{ModelError, Secret, Settings};

/// The reason why settings name no model that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The model has no `provider/` before it.
    #[error("model `{0}` names no provider: write provider/model, for example openai/gpt-5")]
    NoProvider(String),
    /// The provider is not known.
    #[error(
        "no model provider `{0}`: there are vertex, openai, anthropic, bedrock, gemini and ollama; write provider/model, for example openai/gpt-5"
    )]
    UnknownProvider(String),
    /// The provider wants a key.
    #[error("{provider} needs a key: set {variable}")]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variable to set.
        variable: &'static str,
    },
    /// Credentials of AWS cannot be taken from where the environment or a profile says, with the reason.
    #[error("bedrock needs credentials: {0}")]
    BadAwsCredentials(String),
    /// A token without a project.
    #[error("vertex with an access token needs a project: set GCP_PROJECT")]
    MissingProject,
    /// The endpoint is no URL.
    #[error("the model endpoint `{0}` is no http or https URL")]
    BadEndpoint(String),
    /// The location could change the host that is asked.
    #[error("`{0}` is no name of a project, location or region")]
    BadName(String),
    /// The HTTP client cannot be built.
    #[error("cannot set up TLS for the model: {0}")]
    Tls(String),
}

impl From<ConfigError> for ModelError {
    fn from(error: ConfigError) -> Self {
        Self::Misconfigured(error.to_string())
    }
}

/// Credential of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    Key(Secret),
    Aws { source: Source, region: String },
    GoogleDefault,
}

/// Address of calls. URLs end with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Fixed(String),
    Vertex(Vertex),
}

/// The address of a location of Vertex, whose path has the project in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vertex {
    host: String,
    location: String,
    /// Project; that of the credentials if not given.
    pub(super) project: Option<String>,
}

impl Vertex {
    /// The URL for a project.
    pub(super) fn url(&self, project: &str) -> String {
        format!(
            "{}v1/projects/{project}/locations/{}/",
            self.host, self.location
        )
    }
}

impl Address {
    /// True if calls stay on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let (Self::Fixed(url) | Self::Vertex(Vertex { host: url, .. })) = self;
        let host = reqwest::Url::parse(url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| {
            let bare = host.trim_matches(['[', ']']);
            bare == "localhost"
                || bare
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|ip| ip.is_loopback())
        })
    }
}

/// Settings in which nothing is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) kind: AdapterKind,
    pub(super) model: String,
    pub(super) address: Address,
    pub(super) credential: Credential,
}

impl Resolved {
    /// True if the model is known to call tools. Not each of Ollama's does, nor does each server of one's own that speaks OpenAI's language.
    pub(super) fn calls_tools(&self) -> bool {
        match self.kind {
            AdapterKind::Ollama => false,
            AdapterKind::OpenAI => self.address == Address::Fixed(OPENAI.to_owned()),
            _ => true,
        }
    }
}

/// Address of OpenAI itself.
const OPENAI: &str = "https://api.openai.com/v1/";

struct Provider {
    name: &'static str,
    kind: AdapterKind,
    key_variables: &'static [&'static str],
    url_variables: &'static [&'static str],
    url: &'static str,
}

const PROVIDERS: [Provider; 6] = [
    Provider {
        name: "vertex",
        kind: AdapterKind::Vertex,
        key_variables: &["VERTEX_ACCESS_TOKEN"],
        url_variables: &[],
        url: "",
    },
    Provider {
        name: "openai",
        kind: AdapterKind::OpenAI,
        key_variables: &["OPENAI_API_KEY"],
        url_variables: &["OPENAI_BASE_URL"],
        url: OPENAI,
    },
    Provider {
        name: "anthropic",
        kind: AdapterKind::Anthropic,
        key_variables: &["ANTHROPIC_API_KEY"],
        url_variables: &["ANTHROPIC_BASE_URL"],
        url: "https://api.anthropic.com/v1/",
    },
    Provider {
        name: "bedrock",
        kind: AdapterKind::BedrockApi,
        key_variables: &["AWS_BEARER_TOKEN_BEDROCK", "BEDROCK_API_KEY"],
        url_variables: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        url: "",
    },
    Provider {
        name: "gemini",
        kind: AdapterKind::Gemini,
        key_variables: &["GEMINI_API_KEY"],
        url_variables: &[],
        url: "https://generativelanguage.googleapis.com/v1beta/",
    },
    Provider {
        name: "ollama",
        kind: AdapterKind::Ollama,
        key_variables: &[],
        url_variables: &[],
        url: "http://localhost:11434/",
    },
];

/// Fills what `settings` leave open from `env`, and checks the rest.
pub(super) fn resolve(
    settings: &Settings,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Resolved, ConfigError> {
    let no_provider = || ConfigError::NoProvider(settings.model.clone());
    let (name, model) = settings.model.split_once('/').ok_or_else(no_provider)?;
    let provider = PROVIDERS.iter().find(|provider| provider.name == name);
    let provider = provider.ok_or_else(|| ConfigError::UnknownProvider(name.to_owned()))?;
    if model.is_empty() {
        return Err(no_provider());
    }
    let first_of = |names: &[&str]| names.iter().find_map(|name| env(name));
    let key = settings
        .api_key
        .clone()
        .or_else(|| first_of(provider.key_variables).map(Secret::new));
    let endpoint = settings
        .endpoint
        .clone()
        .or_else(|| first_of(provider.url_variables));
    let endpoint = endpoint.as_deref().map(base_url).transpose()?;

    let address = match provider.kind {
        AdapterKind::Vertex => {
            let location = settings.location.clone().or_else(|| env("GCP_LOCATION"));
            let location = name_of(location.unwrap_or_else(|| "global".into()))?;
            let project = settings
                .project
                .clone()
                .or_else(|| first_of(&["GCP_PROJECT", "GOOGLE_CLOUD_PROJECT"]));
            let project = project.map(name_of).transpose()?;
            if key.is_some() && project.is_none() {
                return Err(ConfigError::MissingProject);
            }
            let google = match location.as_str() {
                "global" => "https://aiplatform.googleapis.com/".to_owned(),
                location => format!("https://{location}-aiplatform.googleapis.com/"),
            };
            Address::Vertex(Vertex {
                host: endpoint.clone().unwrap_or(google),
                location,
                project,
            })
        }
        AdapterKind::BedrockApi => {
            let region = region(settings, env, &profiles(env)?)?;
            let aws = format!("https://bedrock-runtime.{region}.amazonaws.com/");
            Address::Fixed(endpoint.clone().unwrap_or(aws))
        }
        _ => Address::Fixed(endpoint.clone().unwrap_or_else(|| provider.url.into())),
    };
    let credential = match (key, provider.kind) {
        (Some(key), _) => Credential::Key(key),
        (None, AdapterKind::Vertex) => Credential::GoogleDefault,
        (None, AdapterKind::Ollama) => Credential::Key(Secret::new("")),
        (None, AdapterKind::BedrockApi) => {
            let profiles = profiles(env)?;
            let source = profiles
                .source(env)
                .map_err(ConfigError::BadAwsCredentials)?;
            match source {
                // An instance has no variable to tell it by.
                Source::Instance if endpoint.is_some() => Credential::Key(no_key()),
                source => Credential::Aws {
                    source,
                    region: region(settings, env, &profiles)?,
                },
            }
        }
        (None, _) if endpoint.is_some() => Credential::Key(no_key()),
        (None, _) => {
            let variable = provider.key_variables.first().copied().unwrap_or_default();
            return Err(ConfigError::MissingKey {
                provider: name.to_owned(),
                variable,
            });
        }
    };
    Ok(Resolved {
        kind: provider.kind,
        model: model.to_owned(),
        address,
        credential,
    })
}

/// A server of one's own that speaks a provider's language mostly wants no key.
fn no_key() -> Secret {
    Secret::new("none")
}

fn profiles(env: &dyn Fn(&str) -> Option<String>) -> Result<Profiles, ConfigError> {
    Profiles::read(env).map_err(ConfigError::BadAwsCredentials)
}

fn region(
    settings: &Settings,
    env: &dyn Fn(&str) -> Option<String>,
    profiles: &Profiles,
) -> Result<String, ConfigError> {
    let region = settings.location.clone();
    let region = region
        .or_else(|| env("AWS_REGION"))
        .or_else(|| env("AWS_DEFAULT_REGION"))
        .or_else(|| profiles.region().map(str::to_owned));
    name_of(region.unwrap_or_else(|| "us-east-1".into()))
}

fn base_url(url: &str) -> Result<String, ConfigError> {
    let bad = || ConfigError::BadEndpoint(url.to_owned());
    let parsed = reqwest::Url::parse(url).map_err(|_| bad())?;
    let fits = matches!(parsed.scheme(), "http" | "https")
        && parsed.has_host()
        && parsed.query().is_none();
    if fits {
        Ok(format!("{}/", parsed.as_str().trim_end_matches('/')))
    } else {
        Err(bad())
    }
}

/// Names become part of hosts and paths.
fn name_of(name: String) -> Result<String, ConfigError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if !name.is_empty() && name.chars().all(fits) {
        Ok(name)
    } else {
        Err(ConfigError::BadName(name))
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
