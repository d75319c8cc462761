//! Certificates of a system for tests of TLS, in its folder.

use super::{Finished, System};

/// Flags of a program that serves with TLS.
pub(crate) const SERVER: [&str; 4] = [
    "--tls-cert",
    "certs/server.pem",
    "--tls-key",
    "certs/server.key",
];

/// The flag of a program that takes certificates of clients, too.
pub(crate) const CLIENT_CA: [&str; 2] = ["--client-ca", "certs/ca.pem"];

/// Flags of a client that trusts the hub and shows the certificate of `writer`.
pub(crate) const WRITER: [&str; 6] = [
    "--ca",
    "certs/ca.pem",
    "--cert",
    "certs/writer.pem",
    "--key",
    "certs/writer.key",
];

impl System {
    /// Makes the hub's certificate, and one for the client `writer`.
    pub(crate) fn make_certificates(&self) -> Finished {
        let made = self.run(&["certs", "dev", "--client", "writer"], "");
        assert_eq!(made.code, Some(0), "{made:?}");
        made
    }
}
