//! The origin of a connection, as far as the server knows it.

use std::sync::Arc;

use agenthub_proto::{PeerCertificate, socket::in_process::ThisProcess};
use tonic::codegen::http::Extensions;

/// The origin of a connection's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A peer that has shown no certificate.
    Unknown,
    /// A peer whose certificate was verified.
    Certified(PeerCertificate),
    /// A part of this process that belongs to this namespace.
    ThisProcess(Arc<str>),
}

impl Origin {
    /// Marks a request: [`PeerCertificate`] or [`ThisProcess`].
    pub(crate) fn mark(&self, extensions: &mut Extensions) {
        match self {
            Self::Unknown => {}
            Self::Certified(peer) => {
                extensions.insert(peer.clone());
            }
            Self::ThisProcess(namespace) => {
                extensions.insert(ThisProcess(Arc::clone(namespace)));
            }
        }
    }
}
