//! The one way out: calls to addresses that others name, such as webhooks, outside agents and their cards.
//!
//! A [`Connector`] resolves a host, asks [`reachable`] about every address, and connects to the very address that was asked about, so that
//! a name that changes its address in between (DNS rebinding) gains nothing. It follows no redirect, uses no proxy, and bounds time and size.
//! Addresses that are not public are refused, except for the networks in [`Settings::allow`].

mod connector;
mod dial;
mod error;
mod network;
pub mod reachable;
mod reply;
mod tls;
mod url;

pub use connector::{Connector, Http2, Limits, Settings};
pub use error::Error;
pub use network::Network;
pub use reply::{Body, Reply};
pub use url::parse as parse_url;

#[cfg(test)]
mod tests;
