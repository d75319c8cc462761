//! Certificates to try TLS with: a CA, and certificates of a server and of clients that it has signed.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};

/// A day.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Validity of the CA.
const CA_DAYS: u32 = 3650;

/// Validity of certificates. Browsers take none for longer.
const DAYS: u32 = 397;

/// Name of the CA; certificates name it as their issuer.
const CA_NAME: &str = "AgentHub development CA";

/// The names of this machine for itself, which every server certificate has.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The beginning of a SPIFFE id.
const SPIFFE: &str = "spiffe://";

/// A certificate and its key, in PEM.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) cert: String,
    pub(crate) key: String,
}

/// A CA that signs certificates.
pub(crate) struct Ca(Issuer<'static, KeyPair>);

impl Ca {
    /// A CA that is new, and its certificate.
    pub(crate) fn make() -> anyhow::Result<(Self, Pair)> {
        let key = KeyPair::generate()?;
        let key_pem = key.serialize_pem();
        let issuer = CertifiedIssuer::self_signed(ca_params(), key)?;
        let cert = issuer.pem();
        let ca = Self::of_key(&key_pem)?;
        Ok((ca, Pair { cert, key: key_pem }))
    }

    /// The CA that has this key, in PEM.
    pub(crate) fn of_key(key: &str) -> anyhow::Result<Self> {
        let key = KeyPair::from_pem(key).context("the key of the CA cannot be read")?;
        Ok(Self(Issuer::new(ca_params(), key)))
    }

    /// A certificate of a server with these names, and those of this machine for itself.
    pub(crate) fn server(&self, hosts: &[String]) -> anyhow::Result<Pair> {
        let mut names: Vec<&str> = hosts.iter().map(String::as_str).collect();
        names.extend(
            LOCAL
                .iter()
                .filter(|name| !hosts.iter().any(|host| host == *name)),
        );
        let mut params = leaf(names[0], ExtendedKeyUsagePurpose::ServerAuth);
        params.subject_alt_names = names.into_iter().map(host).collect::<Result<_, _>>()?;
        self.sign(&params)
    }

    /// A certificate of a client. Its name is a SPIFFE id, or the common name of its subject.
    pub(crate) fn client(&self, name: &str) -> anyhow::Result<Pair> {
        let mut params = leaf(&file_name(name), ExtendedKeyUsagePurpose::ClientAuth);
        if name.starts_with(SPIFFE) {
            let id = name.try_into();
            let id = id.with_context(|| format!("`{name}` is no SPIFFE id"))?;
            params.subject_alt_names.push(SanType::URI(id));
        }
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> anyhow::Result<Pair> {
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &self.0)?.pem();
        let key = key.serialize_pem();
        Ok(Pair { cert, key })
    }
}

/// The name of the files of a client: of a SPIFFE id, the last part.
pub(crate) fn file_name(client: &str) -> String {
    let last = match client.strip_prefix(SPIFFE) {
        Some(id) => id.rsplit('/').next().unwrap_or(id),
        None => client,
    };
    last.to_owned()
}

/// Refuses a name that is none of a client.
///
/// # Errors
///
/// It is empty or would lead to another folder.
pub(crate) fn client_name(text: &str) -> Result<String, String> {
    let file = file_name(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if file.is_empty() || file.starts_with('.') || !file.chars().all(is_plain) {
        return Err(
            "letters, digits and -_.@, or a SPIFFE id such as spiffe://example.org/writer"
                .to_owned(),
        );
    }
    if ["ca", "server"].contains(&&*file) {
        return Err(format!("the files {file}.pem and {file}.key are others'"));
    }
    Ok(text.to_owned())
}

fn ca_params() -> CertificateParams {
    let mut params = params(CA_NAME, CA_DAYS);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn leaf(name: &str, purpose: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = params(name, DAYS);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params
}

fn params(name: &str, days: u32) -> CertificateParams {
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // Clocks of other machines may be behind.
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * days).into();
    params
}

fn host(name: &str) -> anyhow::Result<SanType> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-.*".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        anyhow::bail!("`{name}` is no name of a host: no scheme, no port");
    }
    Ok(SanType::DnsName(name.try_into()?))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::PeerCertificate;
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};

    use super::*;

    #[test]
    fn a_client_is_known_by_its_name() {
        let (ca, _) = Ca::make().expect("a CA");
        for name in ["writer", "spiffe://example.org/agents/writer"] {
            let pair = ca.client(name).expect("a certificate");
            let der = CertificateDer::from_pem_slice(pair.cert.as_bytes()).expect("it is PEM");
            let peer = PeerCertificate::of_der(&der).expect("it names somebody");
            assert_eq!(peer.name(), name);
            assert_eq!(file_name(name), "writer");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for wrong in [
            "",
            "..",
            "a/b",
            "ca",
            "server",
            "spiffe://",
            "spiffe://a/",
            "a b",
        ] {
            assert!(client_name(wrong).is_err(), "{wrong}");
        }
        let (ca, _) = Ca::make().expect("a CA");
        for wrong in ["", "https://h", "h:1"] {
            assert!(ca.server(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
