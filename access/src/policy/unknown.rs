//! Names in a policy that nothing else has: namespaces that are not there, and principals that nobody can be. Whoever they name may come later, so
//! they are no faults.

use std::collections::{BTreeMap, BTreeSet};

use super::{Policy, faults::meant};
use crate::{Namespace, Principal};

/// Maximum names that are told of at once.
const MOST: usize = 20;

/// Names that there are beside the policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownNames<'a> {
    /// Namespaces beside `default`.
    pub(crate) namespaces: BTreeSet<Namespace>,
    /// Principals that have a token.
    pub(crate) principals: BTreeSet<&'a Principal>,
    /// Beginnings of the names that come from elsewhere: of issuers, and any where certificates are taken.
    pub(crate) prefixes: Vec<String>,
}

impl Policy {
    /// A sentence for each name of the policy that nothing else has, 20 at most.
    pub(crate) fn unknown(&self, known: &KnownNames<'_>) -> Vec<String> {
        let namespaces = self.namespaces().into_iter();
        let namespaces = namespaces
            .filter(|(name, _)| !name.is_default() && !known.namespaces.contains(name))
            .map(|(name, place)| {
                let there = known.namespaces.iter().map(Namespace::as_str);
                let meant = meant(name.as_str(), there);
                format!(
                    "the policy names the namespace `{name}` ({place}), which is not there{meant} (`agenthub namespaces add {name}` makes it)"
                )
            });
        let comes_from_elsewhere = |name: &Principal| {
            let mut prefixes = known.prefixes.iter();
            prefixes.any(|prefix| name.as_str().starts_with(prefix))
        };
        let principals = self.named().into_iter();
        let principals = principals.filter(|(name, _)| !known.principals.contains(name));
        let (elsewhere, own): (Vec<_>, Vec<_>) =
            principals.partition(|(name, _)| comes_from_elsewhere(name));
        // Each is compared with all that there are.
        let principals = own.into_iter().chain(elsewhere).take(MOST);
        let principals = principals.filter_map(|(name, place)| {
            let meant = meant(name.as_str(), known.principals.iter().map(|p| p.as_str()));
            // One who may come from elsewhere is told of only where another one seems to be meant.
            let is_told = !comes_from_elsewhere(name) || !meant.is_empty();
            is_told.then(|| {
                format!(
                    "the policy names the principal `{name}` ({place}), who has no token{meant} (`agenthub tokens issue {name}` makes one)"
                )
            })
        });
        namespaces.chain(principals).take(MOST).collect()
    }

    /// Its namespaces, each with the first place that names it.
    fn namespaces(&self) -> BTreeMap<&Namespace, String> {
        let of_principals = self.principals.iter();
        let of_principals = of_principals
            .map(|(name, said)| (&said.namespace, format!("principals.\"{name}\".namespace")));
        let of_shares = self.shares.iter().flat_map(|(shared, share)| {
            let from = (&shared.namespace, format!("shares.\"{shared}\""));
            let with = share.with.iter();
            let with = with.map(move |to| (to, format!("shares.\"{shared}\".with")));
            std::iter::once(from).chain(with)
        });
        let of_quotas = self.quotas.namespaces.keys();
        let of_quotas = of_quotas.map(|name| (name, format!("quotas.namespaces.{name}")));
        // The first place stays.
        let mut all: Vec<_> = of_principals.chain(of_shares).chain(of_quotas).collect();
        all.reverse();
        all.into_iter().collect()
    }

    /// Its principals, each with the first place that names it.
    fn named(&self) -> BTreeMap<&Principal, String> {
        let of_quotas = self.quotas.principals.keys();
        let of_quotas = of_quotas.map(|name| (name, format!("quotas.principals.\"{name}\"")));
        let own = self.principals.keys();
        let own = own.map(|name| (name, format!("principals.\"{name}\"")));
        of_quotas.chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        [principals.alcie]
        roles = ["user"]
        namespace = "tema-a"

        [principals."corp:carol"]
        roles = ["user"]

        [shares."team-a/writer"]
        with = ["team-b", "default", "other"]

        [quotas.principals.bob]
        streams = 1

        [quotas.principals.zoe]
        streams = 1

        [quotas.namespaces.tema-a]
        streams = 1
    "#;

    fn told(prefixes: &[&str]) -> Vec<String> {
        let policy = Policy::of_toml(POLICY).expect("right");
        let principals = ["alice", "bob"].map(|name| name.parse().expect("a name"));
        policy.unknown(&KnownNames {
            namespaces: ["team-a", "team-b"]
                .map(|name| name.parse().expect("a name"))
                .into(),
            principals: principals.iter().collect(),
            prefixes: prefixes.iter().map(|p| (*p).to_owned()).collect(),
        })
    }

    /// Issue 25: a name that is spelt wrong gives nobody anything, and says so.
    #[test]
    fn names_that_nothing_has_are_told_with_the_one_that_may_be_meant() {
        assert_eq!(
            told(&["corp:"]),
            [
                "the policy names the namespace `other` (shares.\"team-a/writer\".with), which is not there (`agenthub namespaces add other` makes it)",
                "the policy names the namespace `tema-a` (principals.\"alcie\".namespace), which is not there; did you mean `team-a`? (`agenthub namespaces add tema-a` makes it)",
                "the policy names the principal `alcie` (principals.\"alcie\"), who has no token; did you mean `alice`? (`agenthub tokens issue alcie` makes one)",
                "the policy names the principal `zoe` (quotas.principals.\"zoe\"), who has no token (`agenthub tokens issue zoe` makes one)",
            ]
        );
    }

    #[test]
    fn where_certificates_may_name_anybody_only_what_is_alike_is_told() {
        let told = told(&[""]);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[2].contains("did you mean `alice`?"), "{told:?}");
    }
}
