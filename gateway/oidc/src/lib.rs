//! Issuers of identities elsewhere (OpenID Connect).
//!
//! [`keep_keys`] fetches the public keys of each issuer that a server trusts, again and again, so that [`Identities`](agenthub_access::Identities)
//! check their tokens without a call (`keys.rs`, `discovery.rs`). [`Logins`] leads people to an issuer and back, by the authorization code flow with
//! PKCE (`login.rs`, `pending.rs`). All of it goes through the one guarded [`Connector`](agenthub_outbound::Connector).

mod discovery;
mod fetching;
mod keys;
mod login;
mod pending;

pub use fetching::Error;
pub use keys::keep_keys;
pub use login::{Answer, Arrived, Begun, LoginError, Logins};

#[cfg(feature = "testing")]
pub mod testing;
