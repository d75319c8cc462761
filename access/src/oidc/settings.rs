//! Settings of an issuer that is trusted.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Maximum difference between the clocks of issuer and hub, in seconds.
const MAX_LEEWAY_SECONDS: u64 = 600;

/// An issuer that is trusted: the table `[access.oidc.NAME]` of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerSettings {
    /// The name of the table, by which the issuer is called in what people read.
    #[serde(skip)]
    pub name: String,
    /// The issuer, exactly as its tokens have it in `iss`.
    pub issuer: String,
    /// The audiences of which a token has to name one in `aud`: the names that the issuer knows this hub by.
    #[serde(deserialize_with = "one_or_more")]
    pub audience: Vec<String>,
    /// Algorithms of signatures that are taken.
    #[serde(default = "Algorithm::asymmetric")]
    pub algorithms: Vec<Algorithm>,
    /// Difference between the clocks of issuer and hub that is put up with, in seconds.
    #[serde(default = "leeway")]
    pub leeway_seconds: u64,
    /// The address of its keys. Without it, its discovery document says where they are.
    #[serde(default)]
    pub jwks: Option<String>,
    /// Interval of fetching the keys, in seconds.
    #[serde(default = "refresh")]
    pub refresh_seconds: u64,
    /// The claim that names the principal; a dot leads into an object.
    #[serde(default = "principal")]
    pub principal: String,
    /// Put before the principal, so that no issuer names a principal of another: the name of the table and a colon if not given.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The claim that names the namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The claim that names groups or roles, in the issuer's words.
    #[serde(default)]
    pub groups: Option<String>,
    /// Roles of the hub that a word of that claim gives. A word that is not here gives nothing.
    #[serde(default)]
    pub roles: BTreeMap<String, Vec<String>>,
    /// Roles that each token of the issuer gives.
    #[serde(default)]
    pub default_roles: Vec<String>,
    /// The id by which the issuer knows the hub's pages; people log in with it.
    #[serde(default)]
    pub client_id: Option<String>,
    /// The file with the secret of that id, if it has one.
    #[serde(default)]
    pub client_secret_file: Option<std::path::PathBuf>,
    /// Scopes that are asked for when people log in.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
}

/// An algorithm of signatures. Those with a shared secret are none: whoever can check could sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    /// ECDSA on P-256.
    ES256,
    /// ECDSA on P-384.
    ES384,
    /// RSA, PKCS #1.
    RS256,
    /// RSA, PKCS #1.
    RS384,
    /// RSA, PKCS #1.
    RS512,
    /// RSA, PSS.
    PS256,
    /// RSA, PSS.
    PS384,
    /// RSA, PSS.
    PS512,
    /// Ed25519.
    EdDSA,
}

/// Faults of an issuer's settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("oidc.{name}: {fault}")]
pub struct InvalidIssuer {
    name: String,
    fault: String,
}

impl IssuerSettings {
    /// Checks what the form of the settings does not.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn check(&self) -> Result<(), InvalidIssuer> {
        let fault = |fault: &str| {
            Err(InvalidIssuer {
                name: self.name.clone(),
                fault: fault.to_owned(),
            })
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if !self.name.chars().all(is_name) {
            return fault("an issuer is called by letters, digits, - and _");
        }
        let is_address = |url: &str| url.starts_with("https://") || url.starts_with("http://");
        if !is_address(&self.issuer) {
            return fault("`issuer` is an address, https://…, as the tokens have it in `iss`");
        }
        if self.jwks.as_deref().is_some_and(|url| !is_address(url)) {
            return fault("`jwks` is an address, https://…");
        }
        if self.audience.iter().any(String::is_empty) || self.audience.is_empty() {
            return fault(
                "`audience` names the hub as the issuer knows it; without it, tokens for others would be taken",
            );
        }
        if self.algorithms.is_empty() {
            return fault("`algorithms` names at least one");
        }
        if self.leeway_seconds > MAX_LEEWAY_SECONDS {
            return fault("`leeway_seconds` is at most 600");
        }
        if !(10..=86_400).contains(&self.refresh_seconds) {
            return fault("`refresh_seconds` is between 10 and 86400");
        }
        if self.groups.is_none() && !self.roles.is_empty() {
            return fault("`roles` gives roles by the words of a claim: `groups` names that claim");
        }
        if self.client_secret_file.is_some() && self.client_id.is_none() {
            return fault("`client_secret_file` is the secret of `client_id`, which is missing");
        }
        Ok(())
    }

    /// The principal that a claim names.
    pub(crate) fn principal_of(&self, claim: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}{claim}"),
            None => format!("{}:{claim}", self.name),
        }
    }

    /// All roles that it may give, each with the place where it stands.
    pub(crate) fn all_roles(&self) -> impl Iterator<Item = (String, &[String])> {
        let name = &self.name;
        let of_words = self.roles.iter();
        of_words
            .map(move |(word, roles)| (format!("oidc.{name}.roles.{word}"), &roles[..]))
            .chain([(
                format!("oidc.{name}.default_roles"),
                &self.default_roles[..],
            )])
    }
}

impl Algorithm {
    /// All of them.
    fn asymmetric() -> Vec<Self> {
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        vec![
            ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512,
        ]
    }
}

fn leeway() -> u64 {
    30
}

fn refresh() -> u64 {
    600
}

fn principal() -> String {
    "sub".to_owned()
}

fn scopes() -> Vec<String> {
    vec!["openid".to_owned()]
}

/// One text, or a list of them.
fn one_or_more<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        One(String),
        More(Vec<String>),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::One(one) => vec![one],
        Either::More(more) => more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IssuerSettings, String> {
        let read: Result<IssuerSettings, _> =
            toml::from_str(&format!("issuer = 'https://id.example'\n{text}"));
        let mut settings = read.map_err(|error| error.to_string())?;
        settings.name = "corp".to_owned();
        settings.check().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn defaults_are_safe_and_faults_say_what_to_do() {
        let settings = read("audience = 'hub'").expect("right");
        assert_eq!(settings.algorithms.len(), 9);
        assert_eq!(settings.principal_of("alice"), "corp:alice");
        for (text, said) in [
            ("", "missing field `audience`"),
            ("audience = []", "`audience` names the hub"),
            ("audience = ''", "`audience` names the hub"),
            (
                "audience = 'a'\nalgorithms = ['none']",
                "unknown variant `none`",
            ),
            (
                "audience = 'a'\nalgorithms = ['HS256']",
                "unknown variant `HS256`",
            ),
            ("audience = 'a'\nalgorithms = []", "at least one"),
            ("audience = 'a'\nleeway_seconds = 601", "at most 600"),
            ("audience = 'a'\nrefresh_seconds = 1", "between 10 and"),
            (
                "audience = 'a'\nroles.x = ['user']",
                "`groups` names that claim",
            ),
            ("audience = 'a'\njwks = 'keys.json'", "`jwks` is an address"),
            (
                "audience = 'a'\nclient_secret_file = 'x'",
                "`client_id`, which is missing",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
