//! Places that identities come from.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{
    IssuerSettings, Namespace, NamespaceStore, Policy, SessionCookies, audit::AuditSettings,
};

/// Places that identities come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The file of tokens.
    pub tokens: Option<PathBuf>,
    /// The policy of the settings. That it is set makes identities necessary, even if it says nothing.
    pub policy: Option<Policy>,
    /// The file of a policy, instead of that of the settings; it is reread when it changes.
    pub policy_file: Option<PathBuf>,
    /// Cookies of the sessions of those who log in with a browser.
    pub cookies: SessionCookies,
    /// Issuers elsewhere whose tokens are identities, too. One makes identities necessary.
    pub issuers: Vec<IssuerSettings>,
    /// The file with the token of the server's own parts, so that processes that outlive the server keep theirs.
    pub own_token: Option<PathBuf>,
    /// The audit, if one is written.
    pub audit: Option<AuditSettings>,
    /// Names that a policy may use beside those of tokens and issuers. With `None` unknown names are not told.
    pub names: Option<NameSources>,
}

/// Sources of the names that a policy may use, beside tokens and issuers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameSources {
    /// Namespaces of the settings.
    pub namespaces: BTreeSet<Namespace>,
    /// The file of those that were added.
    pub namespace_file: Option<NamespaceStore>,
    /// True if certificates are identities, so that anybody may come.
    pub takes_certificates: bool,
}
