//! Ways for callers to show who they are, as cards declare it (specification §4.5, §8.4).

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{
    json::from_json,
    v1::{AgentCard, SecurityRequirement, StringList},
};

/// Credentials that a hub with identities takes besides its own tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Client certificates.
    pub certificates: bool,
    /// Tokens of issuers elsewhere: their names, and what `iss` says in them.
    pub issuers: Vec<(String, String)>,
}

impl Accepted {
    /// Declares all of it on a card. One of them is enough.
    pub(crate) fn declare(&self, card: &mut AgentCard) {
        for (name, scheme) in self.schemes() {
            let Ok(scheme) = from_json(scheme) else {
                continue;
            };
            let schemes = HashMap::from([(name.clone(), StringList::default())]);
            card.security_schemes.insert(name, scheme);
            card.security_requirements
                .push(SecurityRequirement { schemes });
        }
    }

    fn schemes(&self) -> Vec<(String, Value)> {
        let bearer = json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "A token of the hub: agenthub tokens issue"}});
        let mut schemes = vec![("bearer".to_owned(), bearer)];
        if self.certificates {
            let mtls = json!({"mtlsSecurityScheme": {"description": "A client certificate of one of the hub's CAs"}});
            schemes.push(("mtls".to_owned(), mtls));
        }
        for (name, issuer) in &self.issuers {
            let base = issuer.trim_end_matches('/');
            let url = format!("{base}/.well-known/openid-configuration");
            let oidc = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": url}});
            schemes.push((format!("oidc-{name}"), oidc));
        }
        schemes
    }
}
