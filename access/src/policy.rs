//! The policy: which roles there are, and what principals may do. Data, as it stands in the settings or in a file of its own.

pub(crate) mod faults;
pub(crate) mod unknown;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Caller, Grants, InvalidPrincipal, InvalidShare, Loan, Namespace, Permit, Principal, Quota,
    Share, SharedAgent, caller::Granted, sharing::loans,
};

/// The built-in roles, each with its permits: an agent that sends only within tasks that it was given, one that also begins tasks, a person who
/// asks, an operator, an administrator.
pub const BUILT_IN: [(&str, &[&str]); 5] = [
    ("worker", WORKER),
    ("agent", AGENT),
    ("user", USER),
    ("operator", OPERATOR),
    ("admin", &["*"]),
];

const WORKER: &[&str] = &[
    "be:{self}",
    "be:{self}~*",
    "delegate:*",
    "see:directory",
    "see:own-tasks",
];
const AGENT: &[&str] = &[
    "be:{self}",
    "be:{self}~*",
    "send:*",
    "see:directory",
    "see:own-tasks",
];
const USER: &[&str] = &[
    "be:{self}",
    "be:{self}~*",
    "send:*",
    "see:directory",
    "see:own-tasks",
    "chat",
    "runs",
    "approve:own",
];
const OPERATOR: &[&str] = &[
    "be:{self}",
    "be:{self}~*",
    "send:*",
    "see:directory",
    "see:own-tasks",
    "see:all-tasks",
    "see:events",
    "see:all-runs",
    "chat",
    "runs",
    "approve",
    "operate",
];

/// Roles beside the built-in ones, and rights of principals beside those of their tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Roles by name.
    #[serde(default)]
    pub roles: BTreeMap<String, Role>,
    /// Principals by name.
    #[serde(default)]
    pub principals: BTreeMap<Principal, PrincipalPolicy>,
    /// Agents that other namespaces may use, by namespace and id.
    #[serde(default)]
    pub shares: BTreeMap<SharedAgent, Share>,
    /// Limits of their use of the hub.
    #[serde(default)]
    pub quotas: Quotas,
    /// Names of client certificates that are worth nothing any more, though their CA is trusted and they have not expired.
    #[serde(default)]
    pub revoked_certificates: BTreeSet<String>,
}

/// Quotas of a policy. For a principal its own holds, and where that says nothing those of its roles, of which the widest; that of its namespace
/// holds as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    /// Quotas of each principal that has a role.
    #[serde(default)]
    pub roles: BTreeMap<String, Quota>,
    /// Quotas of single principals.
    #[serde(default)]
    pub principals: BTreeMap<Principal, Quota>,
    /// Quotas of all principals of a namespace together.
    #[serde(default)]
    pub namespaces: BTreeMap<Namespace, Quota>,
}

impl Quotas {
    /// True if one of them limits what waits in mailboxes.
    pub(crate) fn limit_mailboxes(&self) -> bool {
        let all = self.roles.values().chain(self.principals.values());
        all.chain(self.namespaces.values())
            .any(|quota| quota.mailbox_bytes.is_some())
    }
}

/// A role of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Roles whose rights it has, too.
    #[serde(default)]
    pub extends: Vec<String>,
    /// Rights that it gives.
    #[serde(default)]
    pub allow: Vec<Permit>,
    /// Rights that it takes away, whatever allows them.
    #[serde(default)]
    pub deny: Vec<Permit>,
}

/// Rights of one principal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalPolicy {
    /// The namespace that it belongs to. A principal of this name in another namespace is another one, of which this says nothing.
    #[serde(default)]
    pub namespace: Namespace,
    /// Its roles, besides those of its token.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Rights that it has.
    #[serde(default)]
    pub allow: Vec<Permit>,
    /// Rights that it has not, whatever allows them.
    #[serde(default)]
    pub deny: Vec<Permit>,
}

/// Faults of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    /// It is no policy at all.
    #[error("{0}")]
    Form(String),
    /// A role that nobody defines.
    #[error("{place}: there is no role `{role}`{meant} (there are {known})")]
    UnknownRole {
        /// Place in the file at which it is named.
        place: String,
        /// The name.
        role: String,
        /// The role that may be meant, as the rest of a sentence.
        meant: String,
        /// The roles that exist.
        known: String,
    },
    /// A role that extends itself.
    #[error("roles.{0}: it extends itself")]
    Circle(String),
    /// A right of which no id can ever be one.
    #[error("{place}: `{permit}` can match no id: it {why}")]
    Unmatchable {
        /// Place of the rule in the policy.
        place: String,
        /// The right.
        permit: Permit,
        /// The fault, as the rest of a sentence.
        why: &'static str,
    },
    /// A certificate that cannot be.
    #[error("revoked_certificates: `{name}` is the name of none: {why}")]
    Certificate {
        /// The name.
        name: String,
        /// The fault.
        why: InvalidPrincipal,
    },
    /// A built-in role again.
    #[error("roles.{0}: this role is built in; give yours another name, with extends = [\"{0}\"]")]
    BuiltIn(String),
    /// An agent that cannot be shared so.
    #[error(transparent)]
    Share(#[from] InvalidShare),
}

impl Policy {
    /// Reads a policy from the TOML of its own file.
    ///
    /// # Errors
    ///
    /// It is no TOML, or no policy; the line is named.
    pub fn of_toml(text: &str) -> Result<Self, InvalidPolicy> {
        let policy: Self = toml::from_str(text)
            .map_err(|error| InvalidPolicy::Form(faults::of_form(&error, text)))?;
        let checked = policy.checked();
        checked.map_err(|(keys, fault)| {
            let place = faults::place_of(text, &keys);
            InvalidPolicy::Form(format!("{place}{fault}"))
        })?;
        Ok(policy)
    }

    /// Checks that all roles exist, that none extends itself, and that rights and certificates can match something.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        self.checked().map_err(|(_, fault)| fault)
    }

    /// The same, with the keys that lead to the fault.
    fn checked(&self) -> Result<(), (Vec<&str>, InvalidPolicy)> {
        for (name, role) in &self.roles {
            let at = |fault| (vec!["roles", name], fault);
            if built_in(name).is_some() {
                return Err(at(InvalidPolicy::BuiltIn(name.clone())));
            }
            let of = format!("roles.{name}");
            self.check_roles(&format!("{of}.extends"), &role.extends)
                .map_err(|fault| (vec!["roles", name, "extends"], fault))?;
            if self.closure(&role.extends).iter().any(|n| n == name) {
                return Err(at(InvalidPolicy::Circle(name.clone())));
            }
            check_permits(&["roles", name], (&role.allow, &role.deny))?;
        }
        for (name, principal) in &self.principals {
            self.check_roles(&format!("principals.{name}.roles"), &principal.roles)
                .map_err(|fault| (vec!["principals", name.as_str(), "roles"], fault))?;
            let permits = (&principal.allow[..], &principal.deny[..]);
            check_permits(&["principals", name.as_str()], permits)?;
        }
        for name in self.quotas.roles.keys() {
            self.check_roles("quotas.roles", std::slice::from_ref(name))
                .map_err(|fault| (vec!["quotas", "roles", name], fault))?;
        }
        for name in &self.revoked_certificates {
            // Those that are names of the hub let nobody in anyway.
            Principal::check_form(name).map_err(|why| {
                let name = name.clone();
                let fault = InvalidPolicy::Certificate { name, why };
                (vec!["revoked_certificates"], fault)
            })?;
        }
        loans(&self.shares).map_err(|fault| (vec!["shares"], fault.into()))?;
        Ok(())
    }

    /// The agents that are shared, each with each of the namespaces that it is shared with.
    pub fn loans(&self) -> BTreeSet<Loan> {
        // It was checked.
        loans(&self.shares).unwrap_or_default()
    }

    /// Checks that these roles exist.
    ///
    /// # Errors
    ///
    /// The first one that does not.
    pub fn check_roles(&self, place: &str, roles: &[String]) -> Result<(), InvalidPolicy> {
        let is_known = |role: &&String| built_in(role).is_some() || self.roles.contains_key(*role);
        match roles.iter().find(|role| !is_known(role)) {
            None => Ok(()),
            Some(role) => Err(InvalidPolicy::UnknownRole {
                place: place.to_owned(),
                role: role.clone(),
                meant: faults::meant(role, self.role_names()),
                known: self.role_names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    fn role_names(&self) -> impl Iterator<Item = &str> {
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        built_in.chain(self.roles.keys().map(String::as_str))
    }

    /// The namespace of a principal whose credential names none, such as that of a certificate.
    pub fn namespace_of(&self, principal: &Principal) -> Namespace {
        let said = self.principals.get(principal);
        said.map_or_else(Namespace::default, |said| said.namespace.clone())
    }

    /// A principal of this namespace with these roles and permits of its credential, and all that the policy says of it there. Unknown roles give nothing.
    pub fn caller(
        &self,
        principal: &Principal,
        namespace: &Namespace,
        roles: &[String],
        allow: &[Permit],
    ) -> Caller {
        let said = self.principals.get(principal);
        let said = said.filter(|said| said.namespace == *namespace);
        let more = said.map_or(&[][..], |said| &said.roles);
        let roles = [roles, more].concat();
        let mut grants = Grants::default();
        let mut add = |list: &[Permit], from: &str, is_deny: bool| {
            let granted = list.iter().map(|permit| Granted {
                permit: permit.of(principal),
                from: from.to_owned(),
                written: permit.to_string(),
            });
            match is_deny {
                true => grants.deny.extend(granted),
                false => grants.allow.extend(granted),
            }
        };
        if let Some(said) = said {
            let from = format!("principal {principal}");
            add(&said.allow, &from, false);
            add(&said.deny, &from, true);
        }
        add(allow, "the token", false);
        for name in self.closure(&roles) {
            let from = format!("role {name}");
            if let Some(permits) = built_in(&name) {
                add(&permits, &from, false);
            } else if let Some(role) = self.roles.get(&name) {
                add(&role.allow, &from, false);
                add(&role.deny, &from, true);
            }
        }
        grants.quotas = self.quotas(principal, namespace, &roles);
        grants.roles = roles;
        Caller::with(principal.as_str(), namespace.as_str(), grants)
    }

    /// Quota of a principal with these roles, and of its namespace.
    fn quotas(
        &self,
        principal: &Principal,
        namespace: &Namespace,
        roles: &[String],
    ) -> (Quota, Quota) {
        let of_roles = self.closure(roles).into_iter();
        let of_roles = of_roles.filter_map(|role| self.quotas.roles.get(&role));
        let of_roles = of_roles.fold(Quota::NONE, |wider, quota| wider.or(*quota));
        let own = self.quotas.principals.get(principal);
        let own = own.copied().unwrap_or(Quota::NONE).over(of_roles);
        let namespace = self.quotas.namespaces.get(namespace);
        (own, namespace.copied().unwrap_or(Quota::NONE))
    }

    /// These roles and those that they extend, each once.
    fn closure(&self, roles: &[String]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut next: Vec<String> = roles.iter().rev().cloned().collect();
        while let Some(name) = next.pop() {
            if found.contains(&name) {
                continue;
            }
            let extends = self.roles.get(&name).map(|role| &role.extends[..]);
            next.extend(extends.unwrap_or_default().iter().rev().cloned());
            found.push(name);
        }
        found
    }
}

/// Checks that ids can match what is allowed and denied at this place.
fn check_permits<'a>(
    place: &[&'a str],
    (allow, deny): (&[Permit], &[Permit]),
) -> Result<(), (Vec<&'a str>, InvalidPolicy)> {
    for (key, permits) in [("allow", allow), ("deny", deny)] {
        let wrong = permits.iter().find_map(|p| Some((p, p.fault()?)));
        if let Some((permit, why)) = wrong {
            let keys = [place, &[key]].concat();
            let fault = InvalidPolicy::Unmatchable {
                place: keys.join("."),
                permit: permit.clone(),
                why,
            };
            return Err((keys, fault));
        }
    }
    Ok(())
}

/// The permits of a built-in role.
fn built_in(name: &str) -> Option<Vec<Permit>> {
    let (_, permits) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let permits = permits.iter().map(|permit| permit.parse());
    Some(
        permits
            .map(|p| p.expect("the built-in roles are right"))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
