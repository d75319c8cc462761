//! Identities of callers and what they may do.
//!
//! A [`Token`] or another [`Credential`] names a principal (`token.rs`, `store.rs`). The [`Policy`] is data: roles and principals, each with
//! [permits](Permit) (`policy.rs`, `permit.rs`). From both comes a [`Caller`], and [`decide`] says of a caller and an [`Action`] whether it is allowed
//! and by which rule (`decision.rs`). [`rpc`] and [`route`] say what a call needs before it is read and what it
//! leaves in the audit (`calls.rs`, `needs.rs`). [`Identities`] is all of it for
//! a running server: it authenticates, rereads its files, and ends the streams of callers whose rights are gone (`identities.rs`, `streams.rs`).
//! Decisions are in the [`audit`]. A [`Quota`] bounds what a caller uses, counted by its [`Meter`] (`quota.rs`, `meter.rs`).
//!
//! Tokens of issuers elsewhere are checked with keys that somebody else fetches (`oidc/`), and who logs in with a browser has a session
//! (`sessions.rs`).
//!
//! Without any identity everyone is [`Caller::anonymous`] and may do everything. Once a token was issued or a policy is set, every call needs an
//! identity, and what no rule allows is denied.

#[macro_use]
mod kept_as_text;
mod action;
mod agent_id;
pub mod audit;
mod caller;
mod calls;
mod cookies;
mod decision;
mod identities;
mod meter;
mod namespace;
mod namespace_store;
mod needs;
mod oidc;
mod permit;
mod policy;
mod principal;
mod private_files;
mod quota;
mod sessions;
mod sharing;
mod store;
mod streams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod token;

pub use action::{Action, UnknownAction};
pub use agent_id::fault_of_agent_id;
pub use caller::{ANONYMOUS, Caller, DEFAULT_NAMESPACE, Grants};
pub use calls::{ROUTES, Route, Rpc, SERVICES, route, route_line, rpc};
pub use cookies::{SessionCookies, cookie};
pub use decision::{Decision, decide, decide_everyone, decide_for};
pub use identities::{Admitted, Credential, Denied, Identities, NameSources, ReadError, Sources};
pub use meter::{Meter, StreamPermit};
pub use namespace::{InvalidNamespace, Namespace};
pub use namespace_store::{MAX_NAMESPACES, NamespaceStore, NamespacesError};
pub use needs::{Needs, PageRefusal};
pub use oidc::{Algorithm, InvalidIssuer, InvalidKeys, Issuer, IssuerSettings, KeySet};
pub use permit::{InvalidPermit, Permit};
pub use policy::{BUILT_IN, InvalidPolicy, Policy, PrincipalPolicy, Quotas, Role};
pub use principal::{InvalidPrincipal, Principal, SHARED_WITH, foreign, is_foreign};
pub use quota::{HubUse, Quota, QuotaExceeded, mail_again};
pub use sessions::{NoSession, SessionId};
pub use sharing::{InvalidShare, Loan, Share, SharedAgent};
pub use store::{Issued, NewToken, StoreError, TokenRecord, TokenStore};
pub use streams::{Ending, StreamEnd};
pub use token::{InvalidToken, Token, TokenHash};
