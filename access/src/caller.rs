//! Caller on whose behalf a server acts.

use std::sync::{Arc, LazyLock};

use crate::{Permit, Quota};

/// The namespace that every hub has, and to which all belong of whom nothing else is said.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Principal of all callers while there are no identities.
pub const ANONYMOUS: &str = "anonymous";

/// Identity, namespace and rights of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Authenticated identity.
    pub principal: String,
    /// Namespace of the agents, tasks and mailboxes that the caller can see.
    pub namespace: String,
    /// Rights; without any said, all.
    grants: Option<Arc<Grants>>,
}

/// Rights of a caller, each with the rule that it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub(crate) roles: Vec<String>,
    pub(crate) allow: Vec<Granted>,
    pub(crate) deny: Vec<Granted>,
    /// Quota of the principal, and that of its namespace.
    pub(crate) quotas: (Quota, Quota),
}

/// A permit and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) permit: Permit,
    /// Such as `role user`.
    pub(crate) from: String,
    /// As it is written there.
    pub(crate) written: String,
}

impl Caller {
    /// The caller while there are no identities: everything is allowed.
    pub fn anonymous() -> Self {
        Self::unrestricted(ANONYMOUS)
    }

    /// A caller that may do everything: a part of the server.
    pub fn unrestricted(principal: &str) -> Self {
        Self::unrestricted_in(principal, DEFAULT_NAMESPACE)
    }

    /// A caller that may do everything in this namespace.
    pub fn unrestricted_in(principal: &str, namespace: &str) -> Self {
        Self {
            principal: principal.to_owned(),
            namespace: namespace.to_owned(),
            grants: None,
        }
    }

    /// The anonymous caller, shared.
    pub fn shared_anonymous() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Caller>> = LazyLock::new(|| Arc::new(Caller::anonymous()));
        Arc::clone(&SHARED)
    }

    /// The caller of a request that has passed a server's gate. One that has passed none is of a server that needs no identities.
    pub fn of_request(extensions: &http::Extensions) -> Arc<Self> {
        let caller = extensions.get::<Arc<Self>>();
        caller.map_or_else(Self::shared_anonymous, Arc::clone)
    }

    /// A caller with these rights alone.
    pub fn with(principal: &str, namespace: &str, grants: Grants) -> Self {
        Self {
            principal: principal.to_owned(),
            namespace: namespace.to_owned(),
            grants: Some(Arc::new(grants)),
        }
    }

    /// True while there are no identities.
    pub fn is_anonymous(&self) -> bool {
        self.grants.is_none() && self.principal == ANONYMOUS
    }

    /// Its principal, if it is one with an identity of its own: not everyone, and no part of the server.
    pub fn named(&self) -> Option<&str> {
        self.grants.as_ref().map(|_| &*self.principal)
    }

    /// True if no rule limits it.
    pub fn is_unrestricted(&self) -> bool {
        self.grants.is_none()
    }

    /// Its rights; `None` if no rule limits it.
    pub(crate) fn grants(&self) -> Option<&Grants> {
        self.grants.as_deref()
    }

    /// Quota of the principal, and that of its namespace. Parts of the server have none.
    pub fn quotas(&self) -> (Quota, Quota) {
        let none = (Quota::NONE, Quota::NONE);
        self.grants.as_ref().map_or(none, |grants| grants.quotas)
    }

    /// True if a quota limits what models may take on its behalf in a day.
    pub fn is_limited_by_day(&self) -> bool {
        let (own, namespace) = self.quotas();
        own.limits_day() || namespace.limits_day()
    }

    /// The ids that its rights let it be, in which `*` stands for any characters; one may be denied nevertheless.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let allow = self.grants.iter().flat_map(|grants| &grants.allow);
        allow.filter_map(|granted| granted.permit.id_to_be())
    }

    /// The names of its roles.
    pub fn roles(&self) -> &[String] {
        self.grants.as_ref().map_or(&[], |grants| &grants.roles)
    }
}
