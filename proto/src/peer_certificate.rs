//! Identity of a peer by its certificate, which a server has verified.

use std::{fmt, sync::Arc};

use x509_cert::{
    Certificate,
    der::{
        Decode as _,
        asn1::{Ia5StringRef, ObjectIdentifier, PrintableStringRef, Utf8StringRef},
    },
    ext::pkix::{SubjectAltName, name::GeneralName},
    name::Name,
};

/// The beginning of a SPIFFE id.
const SPIFFE: &str = "spiffe://";
/// Maximum length of an identity in bytes, that of a SPIFFE id (SPIFFE-ID, section 2.3).
const LONGEST: usize = 2048;
/// Common name (RFC 4519, section 2.3).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// The identity in the client certificate of a connection: its SPIFFE id, otherwise the common name of its subject. A server
/// puts it into the extensions of each request of a connection whose certificate it has verified; it is not there on
/// connections without a certificate. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerCertificate(Arc<str>);

/// The reason why a certificate gives its peer no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoIdentity {
    /// It cannot be read.
    #[error("it is malformed")]
    Malformed,
    /// A SPIFFE certificate has exactly one URI (X.509-SVID, section 2).
    #[error("it has several URIs, at least one of them a SPIFFE id: exactly one is allowed")]
    Ambiguous,
    /// No trust domain or too long, or its subject pretends to be one.
    #[error("its SPIFFE id is not well-formed")]
    BadSpiffeId,
    /// Neither of both.
    #[error("it has neither a SPIFFE id nor exactly one usable common name")]
    Nameless,
}

impl PeerCertificate {
    /// The identity in a certificate, in DER. The certificate is not verified here.
    ///
    /// # Errors
    ///
    /// See [`NoIdentity`].
    pub fn of_der(der: &[u8]) -> Result<Self, NoIdentity> {
        let certificate = Certificate::from_der(der).map_err(|_| NoIdentity::Malformed)?;
        let body = &certificate.tbs_certificate;
        let names = match body.get::<SubjectAltName>() {
            Ok(names) => names.map(|(_, names)| names.0).unwrap_or_default(),
            Err(_) => return Err(NoIdentity::Malformed),
        };
        let uris: Vec<&str> = names
            .iter()
            .filter_map(|name| match name {
                GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
                _ => None,
            })
            .collect();
        let name = match *uris {
            [uri] if is_spiffe(uri) => spiffe_id(uri)?,
            _ if uris.iter().any(|uri| is_spiffe(uri)) => return Err(NoIdentity::Ambiguous),
            _ => &common_name(&body.subject).ok_or(NoIdentity::Nameless)?,
        };
        Ok(Self(name.into()))
    }

    /// The name of the principal: a SPIFFE id such as `spiffe://example.org/agents/writer`, or a common name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// True if the name is a SPIFFE id.
    pub fn is_spiffe_id(&self) -> bool {
        is_spiffe(&self.0)
    }
}

impl fmt::Display for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The scheme of a URI is the same in any case (RFC 3986, section 3.1).
fn is_spiffe(uri: &str) -> bool {
    uri.get(..SPIFFE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SPIFFE))
}

/// A SPIFFE id as it is, if it is well-formed (SPIFFE-ID, section 2).
fn spiffe_id(uri: &str) -> Result<&str, NoIdentity> {
    let rest = uri.strip_prefix(SPIFFE).ok_or(NoIdentity::BadSpiffeId)?;
    let (domain, path) = rest
        .split_once('/')
        .map_or((rest, None), |(d, p)| (d, Some(p)));
    let is_domain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b);
    let is_path = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let is_segment = |s: &str| !matches!(s, "" | "." | "..") && s.bytes().all(is_path);
    let is_good = uri.len() <= LONGEST
        && !domain.is_empty()
        && domain.len() <= 255
        && domain.bytes().all(is_domain)
        && path.is_none_or(|path| path.split('/').all(is_segment));
    is_good.then_some(uri).ok_or(NoIdentity::BadSpiffeId)
}

/// The common name, if there is exactly one. It cannot pretend to be a SPIFFE id.
fn common_name(subject: &Name) -> Option<String> {
    let attributes = subject.0.iter().flat_map(|name| name.0.iter());
    let mut names = attributes.filter(|attribute| attribute.oid == COMMON_NAME);
    let value = &names.next()?.value;
    if names.next().is_some() {
        return None;
    }
    let utf8 = value.decode_as::<Utf8StringRef<'_>>();
    let printable = value.decode_as::<PrintableStringRef<'_>>();
    let ascii = value.decode_as::<Ia5StringRef<'_>>();
    let name = match (&utf8, &printable, &ascii) {
        (Ok(name), _, _) => name.as_str(),
        (_, Ok(name), _) => name.as_str(),
        (_, _, Ok(name)) => name.as_str(),
        _ => return None,
    };
    let is_good = !name.trim().is_empty()
        && name.len() <= LONGEST
        && !name.chars().any(char::is_control)
        && !is_spiffe(name);
    is_good.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair, SanType};

    use super::*;

    fn identity(names: &[&str], uris: &[&str]) -> Result<String, NoIdentity> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for name in names {
            let name = DnValue::Utf8String((*name).to_owned());
            params.distinguished_name.push(DnType::CommonName, name);
        }
        let uri = |uri: &&str| SanType::URI((*uri).try_into().expect("it is ASCII"));
        params.subject_alt_names = uris.iter().map(uri).collect();
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        PeerCertificate::of_der(certificate.der()).map(|peer| peer.name().to_owned())
    }

    /// Issue 25: "client certificates, whose SPIFFE id or subject is the principal".
    #[test]
    fn a_spiffe_id_comes_before_the_subject() {
        let spiffe = "spiffe://example.org/agents/writer";
        assert_eq!(identity(&["writer"], &[spiffe]), Ok(spiffe.to_owned()));
        assert_eq!(identity(&["writer"], &[]), Ok("writer".to_owned()));
        let elsewhere = "https://example.org/";
        assert_eq!(identity(&["writer"], &[elsewhere]), Ok("writer".to_owned()));
        assert_eq!(
            identity(&["writer"], &[spiffe, elsewhere]),
            Err(NoIdentity::Ambiguous)
        );
    }

    #[test]
    fn a_malformed_spiffe_id_is_nobody() {
        for id in [
            "spiffe://",
            "spiffe:///agents",
            "SPIFFE://example.org/a",
            "spiffe://Example.org/a",
            "spiffe://example.org/",
            "spiffe://example.org/a/../b",
            "spiffe://example.org/a//b",
            "spiffe://user@example.org/a",
            "spiffe://example.org:1/a",
            "spiffe://example.org/a?b",
            "spiffe://example.org/a%2fb",
        ] {
            assert_eq!(
                identity(&["a"], &[id]),
                Err(NoIdentity::BadSpiffeId),
                "{id}"
            );
        }
    }

    #[test]
    fn a_subject_without_a_usable_common_name_is_nobody() {
        for name in ["", " ", "a\nb", "spiffe://example.org/a", "SPIFFE://a"] {
            assert_eq!(
                identity(&[name], &[]),
                Err(NoIdentity::Nameless),
                "{name:?}"
            );
        }
        assert_eq!(identity(&[], &[]), Err(NoIdentity::Nameless));
        assert_eq!(
            PeerCertificate::of_der(b"no certificate"),
            Err(NoIdentity::Malformed)
        );
    }
}
