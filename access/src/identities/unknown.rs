//! Names that nothing else has: those of a policy, and of a principal that somebody asks about.

use std::collections::BTreeSet;

use super::{Identities, NameSources, Sources};
use crate::{
    Namespace, Policy, Principal,
    namespace_store::NamespaceStore,
    policy::{faults::meant, unknown::KnownNames},
    store::{TokenRecord, now},
};

/// Sentences about the names of a policy that nothing else has.
pub(super) fn unknown_names(
    policy: &Policy,
    tokens: &[TokenRecord],
    names: &NameSources,
    sources: &Sources,
) -> Vec<String> {
    let added = names.namespace_file.as_ref().map(NamespaceStore::read);
    // Whoever opens the namespaces says what is wrong with their file.
    let added = added.and_then(Result::ok).unwrap_or_default();
    policy.unknown(&KnownNames {
        namespaces: names.namespaces.iter().cloned().chain(added).collect(),
        principals: valid(tokens).map(|token| &token.principal).collect(),
        prefixes: foreign_prefixes(sources),
    })
}

/// Tokens that let somebody in.
fn valid<'a>(
    tokens: impl IntoIterator<Item = &'a TokenRecord>,
) -> impl Iterator<Item = &'a TokenRecord> {
    let now = now();
    let tokens = tokens.into_iter();
    tokens.filter(move |token| token.ended(now).is_none())
}

/// Beginnings of the names of principals who come from elsewhere: of issuers, and any where certificates are taken.
fn foreign_prefixes(sources: &Sources) -> Vec<String> {
    let of_issuers = sources.issuers.iter().map(|issuer| issuer.principal_of(""));
    let names = sources.names.as_ref();
    let of_anybody = names.filter(|names| names.takes_certificates);
    of_issuers
        .chain(of_anybody.map(|_| String::new()))
        .collect()
}

impl Identities {
    /// Words about a principal of this namespace of whom nothing is known, with the one that may be meant, as the rest of a sentence.
    pub fn unknown_principal(
        &self,
        principal: &Principal,
        namespace: &Namespace,
    ) -> Option<String> {
        let known = self.known();
        let of_tokens = known
            .by_head
            .values()
            .flatten()
            .map(|bearer| &bearer.record);
        let of_tokens = of_tokens.filter(|record| record.namespace == *namespace);
        let had_token = of_tokens
            .clone()
            .any(|record| record.principal == *principal);
        let of_policy = known.policy.principals.iter();
        let of_policy = of_policy.filter(|(_, said)| said.namespace == *namespace);
        let all = valid(of_tokens).map(|record| &record.principal);
        let all: BTreeSet<&Principal> = all.chain(of_policy.map(|(name, _)| name)).collect();
        let mut prefixes = foreign_prefixes(&self.0.sources).into_iter();
        let comes_from_elsewhere = prefixes.any(|prefix| principal.as_str().starts_with(&prefix));
        let is_known = self.is_open()
            || comes_from_elsewhere
            || all.contains(principal)
            || !self
                .0
                .verified
                .of(principal.as_str(), namespace.as_str())
                .is_empty();
        if is_known {
            return None;
        }
        let meant = meant(principal.as_str(), all.iter().map(|name| name.as_str()));
        let token = if had_token { "valid token" } else { "token" };
        let but = match known.policy.quotas.principals.contains_key(principal) {
            true => " but a quota",
            false => "",
        };
        Some(format!(
            "{principal} has no {token}, and the policy says nothing of that name{but}{meant}"
        ))
    }
}
