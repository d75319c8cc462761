//! Settings of A2A.

use agenthub_a2a::Settings as Gateway;
use agenthub_cortex::CORTEX;
use serde::Deserialize;

use agenthub_terminal::Listen;

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2a {
    /// The address that cards name, such as `https://hub.example`; the one that callers use if not given.
    #[serde(default)]
    public_url: Option<String>,
    /// The same for gRPC, such as `hub.example:443`.
    #[serde(default)]
    public_grpc: Option<String>,
    /// Origins whose pages may ask, such as `https://app.example`; `*` is any.
    #[serde(default)]
    cors: Vec<String>,
    /// Slug of the agent at `/`; Cortex if not given.
    #[serde(default)]
    default_agent: Option<String>,
    /// Streams are offered, which they are if not given.
    #[serde(default)]
    streaming: Option<bool>,
}

impl A2a {
    /// The gateway's settings, where HTTP listens at this address.
    pub(crate) fn gateway(&self, http: Listen) -> Gateway {
        Gateway {
            default_agent: self.default_agent.as_deref().unwrap_or(CORTEX).to_owned(),
            streaming: self.streaming.unwrap_or(true),
            public_url: self.public_url.clone(),
            public_grpc: self.public_grpc.clone(),
            cors: self.cors.clone(),
            // Behind a proxy it has another name.
            local_only: http.0.ip().is_loopback() && self.public_url.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use agenthub_terminal::Listen;

    use crate::settings::Settings;

    #[test]
    fn a_hub_on_loopback_answers_to_this_machine_unless_it_has_a_public_name() {
        let of = |file: &str| {
            let settings = Settings::of_text(file).expect("right");
            settings.a2a.gateway(Listen::loopback(8080))
        };
        let default = of("");
        assert!(default.local_only && default.cors.is_empty() && default.streaming);
        assert_eq!(default.default_agent, "cortex");
        let other = of("[a2a]\ndefault_agent = 'painter'\nstreaming = false\n");
        assert_eq!((&*other.default_agent, other.streaming), ("painter", false));
        let public = of("[a2a]\npublic_url = 'https://hub.example'\ncors = ['*']\n");
        assert!(!public.local_only);
        assert_eq!(public.public_url.as_deref(), Some("https://hub.example"));
        assert!(Settings::of_text("[a2a]\norigins = []\n").is_err());
    }
}
