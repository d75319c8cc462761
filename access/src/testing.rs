//! Keys and tokens of an issuer, for tests.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    },
};
use serde_json::{Value, json};

use crate::store::now;

/// A key pair of an issuer.
#[derive(Debug)]
pub struct IssuerKey {
    id: String,
    pair: Pair,
}

#[derive(Debug)]
enum Pair {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl IssuerKey {
    /// A key of Ed25519.
    pub fn ed25519(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        let id = id.to_owned();
        Self {
            id,
            pair: Pair::Ed(pair),
        }
    }

    /// A key of P-256.
    pub fn p256(id: &str) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        let id = id.to_owned();
        Self {
            id,
            pair: Pair::Ec(pair),
        }
    }

    /// The key of RSA that there is for tests.
    pub fn rsa(id: &str) -> Self {
        let lines = include_str!("testing.pem").lines();
        let text: String = lines.filter(|line| !line.starts_with('-')).collect();
        let document = STANDARD.decode(text).expect("PEM");
        let pair = RsaKeyPair::from_pkcs8(&document).expect("a key");
        let id = id.to_owned();
        Self {
            id,
            pair: Pair::Rsa(Box::new(pair)),
        }
    }

    /// The algorithm that it signs with.
    pub fn algorithm(&self) -> &'static str {
        match &self.pair {
            Pair::Ed(_) => "EdDSA",
            Pair::Ec(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// The public key, as in a JWKS.
    pub fn public(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
            Pair::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": text(x), "y": text(y)})
            }
            Pair::Rsa(pair) => {
                let public: PublicKeyComponents<Vec<u8>> = pair.public().into();
                let (n, e) = (public.n, public.e);
                json!({"kty": "RSA", "n": text(&n), "e": text(&e)})
            }
        };
        key["kid"] = json!(self.id);
        key["use"] = json!("sig");
        key
    }

    /// Bytes of the public key, as an attacker has them.
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm(), "typ": "JWT", "kid": self.id});
        self.sign_with_header(&header, claims)
    }

    /// A token with this header, signed with this key whatever the header says.
    pub fn sign_with_header(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Ec(pair) => {
                let signature = pair.sign(&random, message.as_bytes());
                signature.expect("it signs").as_ref().to_vec()
            }
            Pair::Rsa(pair) => {
                let padding: &'static dyn ring::signature::RsaEncoding =
                    match header["alg"] == "PS256" {
                        true => &RSA_PSS_SHA256,
                        false => &RSA_PKCS1_SHA256,
                    };
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(padding, &random, message.as_bytes(), &mut signature);
                signed.expect("it signs");
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// A token signed with a shared secret.
pub fn sign_with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signature = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
}

/// A token without a signature.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.", message(header, claims))
}

/// Claims of a token that is valid for five minutes, with these besides or instead; `null` takes one away.
pub fn claims(issuer: &str, audience: &str, others: &Value) -> Value {
    let mut claims = json!({
        "iss": issuer, "aud": audience, "sub": "alice", "iat": now(), "exp": now() + 300,
    });
    for (name, value) in others.as_object().into_iter().flatten() {
        match value {
            Value::Null => {
                claims.as_object_mut().expect("an object").remove(name);
            }
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// A set of these public keys.
pub fn key_set(keys: &[&IssuerKey]) -> Value {
    let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
    json!({ "keys": keys })
}

fn message(header: &Value, claims: &Value) -> String {
    let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", text(header), text(claims))
}
