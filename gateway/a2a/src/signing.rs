//! Signatures of cards (specification §8.4): detached JWS (RFC 7515) over the card's canonical JSON (RFC 8785), with ES256 or EdDSA.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};

/// A private key that cards are signed with. Shows nothing of itself.
pub struct CardKey {
    id: String,
    pair: Pair,
}

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

/// Reasons why a text is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCardKey {
    /// Neither PEM nor JWK.
    #[error(
        "it is no private key: PEM (PKCS #8, \"BEGIN PRIVATE KEY\") or a JWK is one; `openssl genpkey -algorithm ed25519` makes them, `openssl pkcs8 -topk8 -nocrypt` converts them"
    )]
    Form,
    /// A key for other algorithms.
    #[error("it is a key for neither ES256 (P-256) nor EdDSA (Ed25519)")]
    Algorithm,
    /// A signature failed.
    #[error("it cannot sign")]
    Unusable,
}

impl CardKey {
    /// Reads a private key: PKCS #8 in PEM, or a JWK.
    ///
    /// # Errors
    ///
    /// The reason why it is none.
    pub fn read(text: &str) -> Result<Self, InvalidCardKey> {
        let (pair, id) = match text.trim_start().starts_with('{') {
            true => of_jwk(text)?,
            false => (of_pem(text)?, None),
        };
        let id = id.unwrap_or_else(|| thumbprint(&pair));
        let key = Self { id, pair };
        key.signature(b"").ok_or(InvalidCardKey::Unusable)?;
        Ok(key)
    }

    /// The id of the key.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The public key, as a set of JWKs (RFC 7517).
    pub(crate) fn key_set(&self) -> Value {
        let mut key = public(&self.pair);
        key["kid"] = json!(self.id);
        key["use"] = json!("sig");
        key["alg"] = json!(self.algorithm());
        json!({"keys": [key]})
    }

    /// Signs a card, whose public key is at this address. Signatures in it are left out.
    pub(crate) fn sign(&self, card: &Value, keys_url: &str) -> Option<Value> {
        let mut card = card.clone();
        if let Value::Object(fields) = &mut card {
            fields.remove("signatures");
        }
        let payload = serde_json_canonicalizer::to_vec(&card).ok()?;
        let header =
            json!({"alg": self.algorithm(), "typ": "JOSE", "kid": self.id, "jku": keys_url});
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = self.signature(input.as_bytes())?;
        Some(json!({"protected": protected, "signature": URL_SAFE_NO_PAD.encode(signature)}))
    }

    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Es256(_) => "ES256",
            Pair::EdDsa(_) => "EdDSA",
        }
    }

    fn signature(&self, input: &[u8]) -> Option<Vec<u8>> {
        match &self.pair {
            Pair::Es256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), input).ok()?;
                Some(signature.as_ref().to_vec())
            }
            Pair::EdDsa(pair) => Some(pair.sign(input).as_ref().to_vec()),
        }
    }
}

fn of_pem(text: &str) -> Result<Pair, InvalidCardKey> {
    let der =
        PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| InvalidCardKey::Form)?;
    let der = der.secret_pkcs8_der();
    // Of Ed25519, OpenSSL writes the private half alone.
    if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
        return Ok(Pair::EdDsa(pair));
    }
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random);
    pair.map(Pair::Es256).map_err(|_| InvalidCardKey::Algorithm)
}

fn of_jwk(text: &str) -> Result<(Pair, Option<String>), InvalidCardKey> {
    let jwk: Value = serde_json::from_str(text).map_err(|_| InvalidCardKey::Form)?;
    let id = jwk["kid"].as_str().map(str::to_owned);
    let bytes = |name: &str| {
        let text = jwk[name].as_str().ok_or(InvalidCardKey::Form)?;
        URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| InvalidCardKey::Form)
    };
    let pair = match (jwk["kty"].as_str(), jwk["crv"].as_str()) {
        (Some("OKP"), Some("Ed25519")) => {
            let pair = Ed25519KeyPair::from_seed_and_public_key(&bytes("d")?, &bytes("x")?);
            Pair::EdDsa(pair.map_err(|_| InvalidCardKey::Form)?)
        }
        (Some("EC"), Some("P-256")) => {
            let public = [vec![4], bytes("x")?, bytes("y")?].concat();
            let pair = EcdsaKeyPair::from_private_key_and_public_key(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &bytes("d")?,
                &public,
                &SystemRandom::new(),
            );
            Pair::Es256(pair.map_err(|_| InvalidCardKey::Form)?)
        }
        _ => return Err(InvalidCardKey::Algorithm),
    };
    Ok((pair, id))
}

/// The members of a JWK that the key consists of.
fn public(pair: &Pair) -> Value {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    match pair {
        Pair::Es256(pair) => {
            // Uncompressed: 4, then both coordinates.
            let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
            json!({"crv": "P-256", "kty": "EC", "x": text(x), "y": text(y)})
        }
        Pair::EdDsa(pair) => {
            json!({"crv": "Ed25519", "kty": "OKP", "x": text(pair.public_key().as_ref())})
        }
    }
}

/// The id of a key that has none (RFC 7638): its members are in the order of their names, without spaces.
fn thumbprint(pair: &Pair) -> String {
    let members = public(pair).to_string();
    URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes()))
}

impl PartialEq for CardKey {
    fn eq(&self, other: &Self) -> bool {
        self.key_set() == other.key_set()
    }
}

impl Eq for CardKey {}

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm,
    };

    use super::*;

    const P256: &str = include_str!("signing/p256.pem");
    const ED25519_PEM: &str = include_str!("signing/ed25519.pem");

    /// The example of RFC 8037, appendix A.
    const JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

    /// The payload that a signature is of, as a client of the specification reads it; `None` if it does not fit.
    fn verified(key: &CardKey, card: &Value, signature: &Value) -> bool {
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64");
        let jwk = &key.key_set()["keys"][0];
        let member = |name: &str| decode(jwk[name].as_str().expect("a member"));
        let (algorithm, public): (&'static dyn VerificationAlgorithm, _) = match jwk["kty"].as_str()
        {
            Some("EC") => (
                &ECDSA_P256_SHA256_FIXED,
                [vec![4], member("x"), member("y")].concat(),
            ),
            _ => (&ED25519, member("x")),
        };
        let protected = signature["protected"].as_str().expect("a header");
        let payload = serde_json_canonicalizer::to_vec(card).expect("JSON");
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = decode(signature["signature"].as_str().expect("a signature"));
        UnparsedPublicKey::new(algorithm, public)
            .verify(input.as_bytes(), &signature)
            .is_ok()
    }

    /// spec: A2A 1.0.1 §8.4.1, §8.4.2
    #[test]
    fn a_card_is_signed_with_either_algorithm() {
        for (text, algorithm) in [(P256, "ES256"), (ED25519_PEM, "EdDSA"), (JWK, "EdDSA")] {
            let key = CardKey::read(text).expect("a key");
            let card = json!({"name": "a", "skills": [], "signatures": [{"protected": "", "signature": ""}]});
            let signed = key
                .sign(&card, "https://hub.example/jwks.json")
                .expect("it signs");
            let bare = json!({"skills": [], "name": "a"});
            assert!(verified(&key, &bare, &signed), "{algorithm}");
            assert!(!verified(
                &key,
                &json!({"name": "b", "skills": []}),
                &signed
            ));
            let header = URL_SAFE_NO_PAD.decode(signed["protected"].as_str().expect("text"));
            let header: Value = serde_json::from_slice(&header.expect("base64")).expect("JSON");
            let expect = json!({"alg": algorithm, "typ": "JOSE", "kid": key.id(), "jku": "https://hub.example/jwks.json"});
            assert_eq!(header, expect);
        }
    }

    #[test]
    fn a_key_without_an_id_is_named_by_its_thumbprint() {
        // RFC 8037, appendix A.3.
        let key = CardKey::read(JWK).expect("a key");
        assert_eq!(key.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let named = JWK.replacen('{', "{\"kid\":\"mine\",", 1);
        assert_eq!(CardKey::read(&named).expect("a key").id(), "mine");
        assert!(!format!("{key:?}").contains("nWGxne"));
        assert!(key.key_set()["keys"][0].get("d").is_none());
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_reason() {
        let refused = |text: &str| CardKey::read(text).map(drop).expect_err("no key");
        assert_eq!(refused("no key"), InvalidCardKey::Form);
        assert_eq!(refused("{\"kty\":\"RSA\"}"), InvalidCardKey::Algorithm);
        assert_eq!(
            refused("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}"),
            InvalidCardKey::Form
        );
        let other = JWK.replacen("11qY", "21qY", 1);
        assert_eq!(
            refused(&other),
            InvalidCardKey::Form,
            "its halves are of two keys"
        );
    }

    /// spec: A2A 1.0.1 §8.4.1
    #[test]
    fn json_is_canonical() {
        let card = json!({"name": "Example Agent", "description": "", "capabilities": {"streaming": false, "pushNotifications": false}, "skills": []});
        let canonical = serde_json_canonicalizer::to_string(&card).expect("JSON");
        assert_eq!(
            canonical,
            r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#
        );
    }
}
