//! Rights of principals by their names, for those who act on their behalf.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use super::Identities;
use crate::{Caller, Grants, Namespace, Principal, Quota, store::now};

/// Time for which the rights of a principal are not computed again; its tokens may have expired meanwhile.
const RIGHTS_LAST: Duration = Duration::from_secs(1);

/// Maximum number of principals whose rights are remembered.
const MAX_RIGHTS: usize = 4_096;

impl Identities {
    /// The caller that a principal of this namespace with these roles would be, with the roles of its tokens if none are given.
    pub fn caller_of(
        &self,
        principal: &Principal,
        namespace: &Namespace,
        roles: &[String],
    ) -> Caller {
        let known = self.known();
        let now = now();
        let mut of_tokens = Vec::new();
        let mut allow = Vec::new();
        if roles.is_empty() {
            let heads = known.heads.get(principal).into_iter().flatten();
            let tokens = heads.filter_map(|head| known.by_head.get(head)).flatten();
            for bearer in tokens {
                let record = &bearer.record;
                let is_its = record.principal == *principal && record.namespace == *namespace;
                if is_its && record.ended(now).is_none() {
                    of_tokens.extend(bearer.record.roles.iter().cloned());
                    allow.extend(bearer.record.allow.iter().cloned());
                }
            }
            let verified = self.0.verified.of(principal.as_str(), namespace.as_str());
            let valid = verified.iter().filter(|token| self.check(token).is_ok());
            of_tokens.extend(valid.flat_map(|token| token.meaning.roles.iter().cloned()));
            of_tokens.sort();
            of_tokens.dedup();
        }
        let roles = match roles.is_empty() {
            true => &of_tokens,
            false => roles,
        };
        known.policy.caller(principal, namespace, roles, &allow)
    }

    /// The caller that a principal of this name and namespace is by all of its valid tokens and the policy. One that is gone has no rights. Cheap where it was
    /// asked for within a second before.
    pub fn rights_of(&self, name: &str, namespace: &str) -> Arc<Caller> {
        if self.is_open() {
            return Caller::shared_anonymous();
        }
        let known = self.known();
        let now = Instant::now();
        let mut rights = known.rights.lock().unwrap_or_else(PoisonError::into_inner);
        let of_namespace = rights.get(namespace);
        if let Some((since, caller)) = of_namespace.and_then(|rights| rights.get(name))
            && now.duration_since(*since) < RIGHTS_LAST
        {
            return Arc::clone(caller);
        }
        let caller = match (name.parse::<Principal>(), namespace.parse::<Namespace>()) {
            (Ok(principal), Ok(namespace)) => self.caller_of(&principal, &namespace, &[]),
            _ => {
                let grants = Grants {
                    quotas: (Quota::NONE, self.namespace_quota(namespace)),
                    ..Grants::default()
                };
                Caller::with(name, namespace, grants)
            }
        };
        let caller = Arc::new(caller);
        if rights.values().map(HashMap::len).sum::<usize>() >= MAX_RIGHTS {
            rights.clear();
        }
        let of_namespace = rights.entry(namespace.to_owned()).or_default();
        of_namespace.insert(name.to_owned(), (now, Arc::clone(&caller)));
        caller
    }
}
