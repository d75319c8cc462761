//! TLS: the files of certificates and keys, the settings of clients, and the reasons of failures.

mod client;
mod fault;
mod material;

pub use client::ClientTls;
pub use fault::{explain, hinted};
pub use material::{Error, certificates, key, provider, read, roots, validity};
