//! Public keys of an issuer (JWKS, RFC 7517).

use jsonwebtoken::{
    AlgorithmFamily, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::settings::Algorithm;

/// Maximum number of keys of an issuer.
const MAX_KEYS: usize = 64;

/// Hash of a key, by which a token that was checked with it remembers it.
pub(crate) type KeyId = [u8; 32];

/// Public keys of an issuer.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    id: KeyId,
    /// The name that tokens call it by.
    name: Option<String>,
    /// The one algorithm that it is for, if it says so.
    algorithm: Option<jsonwebtoken::Algorithm>,
    /// The curve, of keys with one.
    curve: Option<EllipticCurve>,
    key: DecodingKey,
}

/// Faults of a set of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeys {
    /// It is no JWKS.
    #[error("that is no set of keys (JWKS): it is JSON with a list `keys`")]
    Form,
    /// There are more keys than are looked at.
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
    /// No key is one that signatures can be checked with.
    #[error("none of its keys is one for signatures of RSA, P-256, P-384 or Ed25519")]
    None,
}

impl KeySet {
    /// Reads a set of keys. Keys for other purposes, and those that are not known here, are left out.
    ///
    /// # Errors
    ///
    /// It is none, is too large, or has no key that is of use.
    pub fn read(bytes: &[u8]) -> Result<Self, InvalidKeys> {
        let set: Value = serde_json::from_slice(bytes).map_err(|_| InvalidKeys::Form)?;
        let keys = set["keys"].as_array().ok_or(InvalidKeys::Form)?;
        if keys.len() > MAX_KEYS {
            return Err(InvalidKeys::TooMany);
        }
        let keys: Vec<Key> = keys.iter().filter_map(Key::read).collect();
        match keys.is_empty() {
            true => Err(InvalidKeys::None),
            false => Ok(Self { keys }),
        }
    }

    /// The key for a token that names it so, or names none.
    pub(super) fn find(
        &self,
        name: Option<&str>,
        algorithm: jsonwebtoken::Algorithm,
    ) -> Option<(&KeyId, &DecodingKey)> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| name.is_none() || key.name.as_deref() == name)
            .filter(|key| key.is_for(algorithm));
        let found = fitting.next()?;
        // Without a name, the only one.
        if name.is_none() && fitting.next().is_some() {
            return None;
        }
        Some((&found.id, &found.key))
    }

    /// True if there is a key of this name, for whatever algorithm.
    pub(super) fn knows(&self, name: Option<&str>) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|key| name.is_none() || key.name.as_deref() == name)
    }

    pub(super) fn has(&self, id: &KeyId) -> bool {
        self.keys.iter().any(|key| key.id == *id)
    }
}

impl Key {
    fn read(value: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
        let is_other = jwk.common.public_key_use.as_ref();
        if is_other.is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
            return None;
        }
        let curve = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => None,
            AlgorithmParameters::EllipticCurve(parameters) => Some(parameters.curve.clone()),
            AlgorithmParameters::OctetKeyPair(parameters) => Some(parameters.curve.clone()),
            // A shared secret is no public key, whatever it is published for.
            _ => return None,
        };
        // One that says an algorithm that is not known here is for nothing else.
        let algorithm = match &jwk.common.key_algorithm {
            None => None,
            Some(named) => Some(named.to_string().parse().ok()?),
        };
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let text = serde_json::to_vec(&jwk).ok()?;
        let mut id = [0; 32];
        id.copy_from_slice(digest(&SHA256, &text).as_ref());
        Some(Self {
            id,
            name: jwk.common.key_id,
            algorithm,
            curve,
            key,
        })
    }

    fn is_for(&self, algorithm: jsonwebtoken::Algorithm) -> bool {
        use jsonwebtoken::Algorithm::{ES256, ES384, EdDSA};
        let is_curve = match (algorithm, &self.curve) {
            (ES256, Some(curve)) => *curve == EllipticCurve::P256,
            (ES384, Some(curve)) => *curve == EllipticCurve::P384,
            (EdDSA, Some(curve)) => *curve == EllipticCurve::Ed25519,
            (_, curve) => curve.is_none(),
        };
        is_curve
            && self.algorithm.is_none_or(|only| only == algorithm)
            && self.key.family() == algorithm.family()
            && self.key.family() != AlgorithmFamily::Hmac
    }
}

impl From<Algorithm> for jsonwebtoken::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::ES256 => Self::ES256,
            Algorithm::ES384 => Self::ES384,
            Algorithm::RS256 => Self::RS256,
            Algorithm::RS384 => Self::RS384,
            Algorithm::RS512 => Self::RS512,
            Algorithm::PS256 => Self::PS256,
            Algorithm::PS384 => Self::PS384,
            Algorithm::PS512 => Self::PS512,
            Algorithm::EdDSA => Self::EdDSA,
        }
    }
}
