//! Settings of A2A.

use std::{collections::BTreeMap, env, fs, path::PathBuf, sync::Arc};

use agenthub_a2a::{
    Accepted, CardKey, ExtendedCards, Settings as Gateway,
    push::{self, SigningKey},
};
use agenthub_cortex::CORTEX;
use anyhow::Context as _;
use serde::Deserialize;

use super::Settings;

/// Fields of it that were set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2a {
    /// The address that cards name, such as `https://hub.example`; the one that callers use if not given.
    #[serde(default)]
    pub(super) public_url: Option<String>,
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
    /// Push notifications are offered, which they are if not given.
    #[serde(default)]
    push: Option<bool>,
    /// The variable of the environment with the key that push notifications are signed with.
    #[serde(default)]
    push_key_env: Option<String>,
    /// The file with the private key that cards are signed with, PEM or JWK.
    #[serde(default)]
    card_key_file: Option<PathBuf>,
    /// Files with extended cards, by the slugs of their agents.
    #[serde(default)]
    extended_cards: BTreeMap<String, PathBuf>,
    /// The variable of the environment with the token that extended cards are given for.
    #[serde(default)]
    extended_card_token_env: Option<String>,
}

impl Settings {
    /// Settings of the gateway of A2A.
    ///
    /// # Errors
    ///
    /// A variable that is named is not set, or has no key.
    pub(crate) fn gateway(&self) -> anyhow::Result<Gateway> {
        self.gateway_in(|name| env::var(name).ok())
    }

    fn gateway_in(&self, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Gateway> {
        let a2a = &self.a2a;
        let variable = |setting: &str, name: &Option<String>| {
            let read = name.as_ref().map(|name| {
                env(name).with_context(|| {
                    format!("the setting a2a.{setting} names the variable {name}, which is not set")
                })
            });
            read.transpose()
        };
        let key = variable("push_key_env", &a2a.push_key_env)?;
        let key = key.map(|key| SigningKey::read(&key).context("the variable of a2a.push_key_env"));
        let key = key.transpose()?;
        let token = variable("extended_card_token_env", &a2a.extended_card_token_env)?;
        Ok(Gateway {
            card_key: a2a.card_key()?,
            extended: a2a.extended(token)?,
            default_agent: a2a.default_agent.as_deref().unwrap_or(CORTEX).to_owned(),
            streaming: a2a.streaming.unwrap_or(true),
            public_url: a2a.public_url.clone(),
            public_grpc: a2a.public_grpc.clone(),
            cors: a2a.cors.clone(),
            is_tls: self.tls.cert.is_some(),
            accepted: Accepted {
                certificates: self.tls.client_ca.is_some(),
                issuers: self.issuers(),
            },
            // Behind a proxy it has another name.
            local_only: self.http.0.ip().is_loopback() && a2a.public_url.is_none(),
            push: a2a.push.unwrap_or(true).then(|| push::Settings {
                folder: self.data().map(ToOwned::to_owned),
                key: key.clone(),
                ..push::Settings::default()
            }),
            outbound: agenthub_outbound::Settings {
                allow: self.outbound.allow.clone().unwrap_or_default(),
                ..agenthub_outbound::Settings::default()
            },
        })
    }
}

impl A2a {
    /// The key that cards are signed with.
    fn card_key(&self) -> anyhow::Result<Option<Arc<CardKey>>> {
        let Some(file) = &self.card_key_file else {
            return Ok(None);
        };
        self.needs_address("card_key_file")?;
        let of = || format!("the key of a2a.card_key_file in {}", file.display());
        let text = fs::read_to_string(file).with_context(of)?;
        Ok(Some(Arc::new(CardKey::read(&text).with_context(of)?)))
    }

    fn extended(&self, token: Option<String>) -> anyhow::Result<Option<ExtendedCards>> {
        if self.extended_cards.is_empty() {
            return Ok(None);
        }
        self.needs_address("extended_cards")?;
        let token = token.context(
            "the setting a2a.extended_cards needs a2a.extended_card_token_env: extended cards are for callers with a token",
        )?;
        let read = |(slug, file): (&String, &PathBuf)| {
            let of = || format!("the extended card of {slug} in {}", file.display());
            let text = fs::read_to_string(file).with_context(of)?;
            Ok((slug.clone(), serde_json::from_str(&text).with_context(of)?))
        };
        let cards: anyhow::Result<Vec<_>> = self.extended_cards.iter().map(read).collect();
        Ok(Some(ExtendedCards::new(cards?, token)?))
    }

    /// Checks that the address in cards is known, whoever asks for them.
    fn needs_address(&self, setting: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.public_url.is_some(),
            "the setting a2a.{setting} needs a2a.public_url: such a card says where the agent is"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(file: &str, key: Option<&str>) -> anyhow::Result<Gateway> {
        let settings = Settings::of_text(file).expect("right");
        settings.gateway_in(|name| key.filter(|_| name == "KEY").map(str::to_owned))
    }

    #[test]
    fn a_hub_on_loopback_answers_to_this_machine_unless_it_has_a_public_name() {
        let of = |file: &str| gateway(file, None).expect("right");
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

    #[test]
    fn notifications_are_signed_with_the_key_that_is_named() {
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let named = "[a2a]\npush_key_env = 'KEY'\n";
        let push = |file| gateway(file, Some(key)).expect("right").push;
        assert_eq!(push("").expect("on").key, None);
        assert!(push(named).expect("on").key.is_some());
        assert_eq!(push("[a2a]\npush = false\n"), None);
        for (value, named_in) in [(None, "not set"), (Some("weak"), "push_key_env")] {
            let error = gateway(named, value).expect_err("no key");
            assert!(format!("{error:#}").contains(named_in), "{error:#}");
        }
    }

    #[test]
    fn cards_are_signed_with_the_key_in_a_file() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/gateway/a2a/src/signing/p256.pem"
        );
        let public = "public_url = 'https://hub.example'\n";
        let of = |more: &str, file: &str| {
            gateway(&format!("[a2a]\n{more}card_key_file = '{file}'\n"), None)
        };
        assert!(of(public, file).expect("right").card_key.is_some());
        for (more, file, named_in) in [
            ("", file, "public_url"),
            (public, "/none", "/none"),
            (public, "Cargo.toml", "openssl"),
        ] {
            let error = of(more, file).expect_err("no key");
            assert!(format!("{error:#}").contains(named_in), "{error:#}");
        }
    }

    #[test]
    fn extended_cards_need_a_token_and_an_address() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("card.json");
        fs::write(&file, r#"{"description": "More"}"#).expect("it is written");
        let of = |more: &str, token: Option<&str>| {
            let cards = format!("extended_cards.painter = '{}'\n", file.display());
            gateway(&format!("[a2a]\n{cards}{more}"), token)
        };
        let (address, named) = (
            "public_url = 'https://hub.example'\n",
            "extended_card_token_env = 'KEY'\n",
        );
        let both = [address, named].concat();
        assert!(
            of(&both, Some("0123456789abcdef"))
                .expect("right")
                .extended
                .is_some()
        );
        for (more, token, named_in) in [
            (named, Some("0123456789abcdef"), "public_url"),
            (address, None, "extended_card_token_env"),
            (&both, None, "not set"),
            (&both, Some("short"), "16 characters"),
        ] {
            let error = of(more, token).expect_err("refused");
            assert!(format!("{error:#}").contains(named_in), "{error:#}");
        }
    }
}
