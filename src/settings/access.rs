//! Settings of identities and rights.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use agenthub_access::{
    Identities, IssuerSettings, MAX_NAMESPACES, NameSources, Namespace, Policy, Principal,
    PrincipalPolicy, Quotas, Role, SessionCookies, Share, SharedAgent, Sources, TokenStore,
};
use agenthub_oidc::{Logins, keep_keys};
use agenthub_page::Login;
use agenthub_terminal::usage::WrongUsage;
use serde::{Deserialize, Deserializer, de::Error as _};
use tokio_util::task::AbortOnDropHandle;

use super::Settings;

/// The table `[access]`. That it is there makes identities necessary.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Access {
    /// The file of a policy, which is reread when it changes; instead of the tables here.
    #[serde(default)]
    policy: Option<PathBuf>,
    /// The file of issued tokens; in the data folder if not given.
    #[serde(default)]
    tokens: Option<PathBuf>,
    /// Namespaces beside `default`.
    #[serde(default, deserialize_with = "bounded")]
    pub(super) namespaces: Vec<Namespace>,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    #[serde(default)]
    principals: BTreeMap<Principal, PrincipalPolicy>,
    #[serde(default)]
    quotas: Quotas,
    #[serde(default)]
    revoked_certificates: BTreeSet<String>,
    /// Agents that other namespaces may use.
    #[serde(default)]
    shares: BTreeMap<SharedAgent, Share>,
    /// Issuers elsewhere whose tokens are taken, by their names.
    #[serde(default)]
    oidc: BTreeMap<String, IssuerSettings>,
}

impl Access {
    fn issuers(&self) -> Vec<IssuerSettings> {
        let named = |(name, settings): (&String, &IssuerSettings)| IssuerSettings {
            name: name.clone(),
            ..settings.clone()
        };
        self.oidc.iter().map(named).collect()
    }
}

/// Namespaces, of which there are not too many.
fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Namespace>, D::Error> {
    let namespaces = Vec::deserialize(from)?;
    match namespaces.len() > MAX_NAMESPACES {
        true => Err(D::Error::custom(format!(
            "a hub has {MAX_NAMESPACES} namespaces at most beside default"
        ))),
        false => Ok(namespaces),
    }
}

impl Settings {
    /// The file of issued tokens.
    ///
    /// # Errors
    ///
    /// There is no place for it.
    pub(crate) fn token_store(&self) -> anyhow::Result<TokenStore> {
        match self.token_file() {
            Some(store) => Ok(store),
            None => Err(WrongUsage(
                "a hub with --ephemeral has no folder for tokens: name a file with `tokens` in [access]"
                    .to_owned(),
            )
            .into()),
        }
    }

    fn token_file(&self) -> Option<TokenStore> {
        let named = self
            .access
            .as_ref()
            .and_then(|access| access.tokens.clone());
        named
            .map(TokenStore::at)
            .or_else(|| self.data().map(TokenStore::in_folder))
    }

    /// The policy, as it is now.
    ///
    /// # Errors
    ///
    /// It is wrong.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        let sources = Sources {
            // They say nothing of it, and may be gone.
            tokens: None,
            own_token: None,
            audit: None,
            names: None,
            ..self.sources()?
        };
        Ok(Identities::open(sources)?.policy())
    }

    /// The identities of a server with these settings.
    ///
    /// # Errors
    ///
    /// A file is wrong, or the policy.
    pub(crate) fn identities(&self) -> anyhow::Result<Identities> {
        Ok(Identities::open(self.sources()?)?)
    }

    /// The names of trusted issuers elsewhere, and what `iss` says in their tokens.
    pub(super) fn issuers(&self) -> Vec<(String, String)> {
        let issuers = self.access.iter().flat_map(|access| &access.oidc);
        issuers
            .map(|(name, issuer)| (name.clone(), issuer.issuer.clone()))
            .collect()
    }

    /// Trusted issuers elsewhere, as `iss` has them, and the scopes that people log in with.
    pub(crate) fn authorization_servers(&self) -> (Vec<String>, Vec<String>) {
        let issuers = self.access.iter().flat_map(|access| access.oidc.values());
        let scopes: BTreeSet<&String> = issuers.clone().flat_map(|i| &i.scopes).collect();
        (
            issuers.map(|issuer| issuer.issuer.clone()).collect(),
            scopes.into_iter().cloned().collect(),
        )
    }

    /// True if a proxy in front of it speaks TLS with browsers.
    fn is_behind_tls(&self) -> bool {
        let url = self.a2a.public_url.as_deref();
        url.is_some_and(|url| url.starts_with("https://"))
    }

    /// Log-ins to the pages.
    pub(crate) fn login(&self, identities: &Identities) -> Login {
        let logins = Logins::new(identities.clone(), self.outbound.connector());
        Login::new(identities.clone(), logins, self.a2a.public_url.clone())
    }

    /// Keeps the keys of issuers elsewhere up to date, until it is dropped.
    pub(crate) fn keep_keys(&self, identities: &Identities) -> AbortOnDropHandle<()> {
        let keeping = keep_keys(identities.clone(), self.outbound.connector());
        AbortOnDropHandle::new(tokio::spawn(keeping))
    }

    fn sources(&self) -> anyhow::Result<Sources> {
        let access = self.access.as_ref();
        let policy_file = access.and_then(|access| access.policy.clone());
        let policy = access.map(|access| Policy {
            roles: access.roles.clone(),
            principals: access.principals.clone(),
            quotas: access.quotas.clone(),
            revoked_certificates: access.revoked_certificates.clone(),
            shares: access.shares.clone(),
        });
        // Whose certificates are asked for is somebody: what no rule allows is denied.
        let policy = policy.or_else(|| self.tls.client_ca.as_ref().map(|_| Policy::default()));
        if policy_file.is_some() && policy.as_ref().is_some_and(|p| *p != Policy::default()) {
            return Err(WrongUsage(
                "in the settings: [access] names a file with `policy` and has roles or principals of its own: keep them in one place"
                    .to_owned(),
            )
            .into());
        }
        Ok(Sources {
            tokens: self.token_file().map(|store| store.path().to_owned()),
            policy,
            policy_file,
            cookies: SessionCookies {
                is_secure: self.tls.cert.is_some() || self.is_behind_tls(),
            },
            issuers: access.map(Access::issuers).unwrap_or_default(),
            own_token: self
                .data()
                .map(|data| data.join("access").join("hub.token")),
            audit: self.audit(),
            names: Some(NameSources {
                namespaces: self.namespaces(),
                namespace_file: self.namespace_store(),
                takes_certificates: self.tls.client_ca.is_some(),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_makes_identities_necessary_and_its_faults_are_named() {
        let of = |text: &str| Settings::of_text(&format!("ephemeral = true\n{text}"));
        let open = of("")
            .expect("right")
            .identities()
            .expect("nothing is wrong");
        assert!(open.is_open());
        let shut = of("[access]\n").expect("right").identities();
        assert!(!shut.expect("nothing is wrong").is_open());
        let policy = of("[access.principals.ann]\nroles = ['user']\nallow = ['operate']\n");
        let policy = policy.expect("right").policy().expect("right");
        assert_eq!(policy.principals.len(), 1);
        for (text, said) in [
            (
                "[access]\nrole = {}",
                "agenthub.toml:3: there is no setting `role` in [access]; did you mean `roles`?",
            ),
            ("[access.roles.a]\nallow = ['fly']", "`fly` is no right"),
            (
                "[access.principals.cortex]\nroles = ['admin']",
                "`cortex` is a name of the hub itself, for which a rule has no effect: remove it",
            ),
            (
                "[access.oidc.corp]\nissuer = 'https://id.example'\n",
                "missing field `audience`",
            ),
            (
                "[access.oidc.corp]\nissuer = 'https://id.example'\naudience = 'hub'\nalgorithms = ['HS256']\n",
                "unknown variant `HS256`",
            ),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
        for (text, said) in [
            (
                "[access.principals.a]\nroles = ['x']",
                "there is no role `x`",
            ),
            (
                "[access.oidc.corp]\nissuer = 'id.example'\naudience = 'hub'",
                "access.oidc.corp: `issuer` is an address",
            ),
            (
                "[access.oidc.corp]\nissuer = 'https://id.example'\naudience = 'hub'\ndefault_roles = ['x']",
                "oidc.corp.default_roles: there is no role `x`",
            ),
            (
                "[access]\npolicy = 'no.toml'",
                "cannot read the policy no.toml",
            ),
            (
                "[access]\npolicy = 'no.toml'\n[access.roles.a]\n",
                "keep them in one place",
            ),
        ] {
            let error = of(text).expect("read").identities().expect_err(text);
            let told = format!("{error:#}");
            assert_eq!(told.matches(said).count(), 1, "it is said once: {told}");
        }
        let error = of("").expect("right").token_store().expect_err("no folder");
        assert!(error.is::<WrongUsage>(), "{error}");
    }
}
