//! Signatures of cards that come from elsewhere (specification §8.4.3): detached JWS over canonical JSON, with keys that are fetched where the
//! signature says.

use std::{fmt, time::Duration};

use agenthub_outbound::{Connector, Limits, parse_url};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, Uri};
use ring::{
    agreement::{self, ECDH_P256, ECDH_P384},
    signature::{
        self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RsaParameters,
        RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use serde_json::Value;

use super::{
    card,
    choice::is_tls,
    keys::{is_ed25519, is_point, is_rsa},
};
use crate::json::to_json;

/// Bounds of a set of keys.
const LIMITS: Limits = Limits {
    headers: Duration::from_secs(10),
    body: Duration::from_secs(10),
    size: 256 * 1024,
};

/// Signatures of one card that are looked at.
const MAX_SIGNATURES: usize = 4;

/// The longest name of a key that is shown, in characters.
const MAX_NAME: usize = 100;

/// Result of looking at a card's signatures. One that fits is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signed {
    /// A signature fits the card.
    Verified {
        /// Algorithm.
        algorithm: String,
        /// Id of the key.
        key: String,
        /// Address of the key.
        keys_url: String,
    },
    /// The card has no signature.
    No,
    /// A signature that cannot be judged; the text says why.
    Unverifiable(String),
    /// A signature is not of this card.
    Wrong,
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified {
                algorithm,
                key,
                keys_url,
            } => write!(f, "verified: {algorithm}, key {key} of {keys_url}"),
            Self::No => f.write_str("not signed"),
            Self::Unverifiable(why) => write!(f, "not verifiable: {why}"),
            Self::Wrong => f.write_str("wrong: the card is not the one that was signed"),
        }
    }
}

/// Looks at the signatures of a card, as it came from this address.
pub async fn verify(connector: &Connector, document: &Value, card_url: &Uri) -> Signed {
    let signatures = document["signatures"].as_array();
    let signatures = signatures.map_or(&[][..], Vec::as_slice);
    let mut verdict = Signed::No;
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        match one(connector, document, signature, card_url).await {
            Ok(Some(verified)) => return verified,
            Ok(None) => verdict = Signed::Wrong,
            Err(why) if verdict == Signed::No => verdict = Signed::Unverifiable(why),
            Err(_) => {}
        }
    }
    verdict
}

/// `None` if the signature does not fit.
///
/// # Errors
///
/// The reason why nothing can be said.
async fn one(
    connector: &Connector,
    document: &Value,
    signature: &Value,
    card_url: &Uri,
) -> Result<Option<Signed>, String> {
    let text = |name: &str| signature[name].as_str().unwrap_or_default();
    let protected = text("protected");
    let header = decoded(protected).ok_or("the signature has no header")?;
    let header: Value =
        serde_json::from_slice(&header).map_err(|_| "the signature's header is no JSON")?;
    let algorithm = header["alg"].as_str().unwrap_or_default();
    if header.get("crit").is_some() {
        return Err("the signature asks for extensions of JWS".to_owned());
    }
    let keys_url = header["jku"]
        .as_str()
        .ok_or("the signature does not say where its key is (jku)")?;
    let url = parse_url(keys_url).map_err(|error| format!("the key's address (jku): {error}"))?;
    if !is_tls(&url) && url.authority() != card_url.authority() {
        return Err(format!(
            "its key is fetched over TLS or from the card's own address, not from {keys_url}"
        ));
    }
    let id = header["kid"].as_str();
    let keys = fetch(connector, &url).await?;
    let key = chosen(&keys, id).ok_or_else(|| format!("{keys_url} has no such key"))?;
    let bytes = decoded(text("signature")).ok_or("the signature is not in base64url")?;
    for payload in payloads(document) {
        let input = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload));
        if fits(algorithm, key, input.as_bytes(), &bytes)? {
            return Ok(Some(Signed::Verified {
                algorithm: algorithm.to_owned(),
                key: id
                    .unwrap_or("without an id")
                    .chars()
                    .take(MAX_NAME)
                    .collect(),
                keys_url: keys_url.to_owned(),
            }));
        }
    }
    Ok(None)
}

async fn fetch(connector: &Connector, url: &Uri) -> Result<Value, String> {
    let request = Request::get(url.clone()).body(Bytes::new());
    let request = request.map_err(|error| error.to_string())?;
    let reply = connector.request(request, LIMITS).await;
    let reply = reply.map_err(|error| format!("its key cannot be fetched: {error}"))?;
    if !reply.status.is_success() {
        return Err(format!(
            "its key cannot be fetched: {url} answers with HTTP {}",
            reply.status.as_u16()
        ));
    }
    serde_json::from_slice(&reply.body).map_err(|_| format!("{url} has no keys (JWKS)"))
}

/// The key with this id; without one, the only one.
fn chosen<'a>(keys: &'a Value, id: Option<&str>) -> Option<&'a Value> {
    let keys = keys["keys"].as_array()?;
    match id {
        Some(id) => keys.iter().find(|key| key["kid"] == id),
        None => keys.first().filter(|_| keys.len() == 1),
    }
}

/// Fields of a card that its canonical form has though they are empty: required ones, and those whose absence says something else (§8.4.1).
const KEPT: [&str; 28] = [
    "authorizationUrl",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "description",
    "deviceAuthorizationUrl",
    "documentationUrl",
    "extendedAgentCard",
    "flows",
    "iconUrl",
    "id",
    "location",
    "name",
    "openIdConnectUrl",
    "organization",
    "protocolBinding",
    "protocolVersion",
    "pushNotifications",
    "scheme",
    "scopes",
    "skills",
    "streaming",
    "supportedInterfaces",
    "tags",
    "tokenUrl",
    "uri",
    "url",
    "version",
];

/// The payloads that signers make of a card: its canonical form; the document as it comes; without all that is empty, as the SDK for Python has
/// it; and the fields of A2A 1.0 alone, where there are others for clients of 0.3.
fn payloads(document: &Value) -> Vec<Vec<u8>> {
    let mut card = document.clone();
    if let Value::Object(fields) = &mut card {
        fields.remove("signatures");
    }
    let mut all = vec![without_empty(&card)];
    all.extend(as_python_signs(&card));
    if let Ok(defined) = card::of(card.clone()) {
        let defined = to_json(&defined);
        all.extend(as_python_signs(&defined));
        all.push(defined);
    }
    all.push(card);
    let canonical = all.iter();
    let canonical = canonical.filter_map(|card| serde_json_canonicalizer::to_vec(card).ok());
    let mut canonical: Vec<Vec<u8>> = canonical.collect();
    canonical.dedup();
    canonical
}

/// The value without fields that are empty, but for [`KEPT`].
fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    match value {
        Value::Object(fields) => {
            let inner = fields.iter().map(|(name, value)| match name.as_str() {
                // Anybody's own JSON.
                "params" => (name.clone(), value.clone()),
                _ => (name.clone(), without_empty(value)),
            });
            let inner =
                inner.filter(|(name, value)| !is_empty(value) || KEPT.contains(&name.as_str()));
            Value::Object(inner.collect())
        }
        Value::Array(all) => all.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

/// The value as the SDK for Python signs it: without texts, lists and objects that are empty, wherever they are; `None` if nothing is left.
fn as_python_signs(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(all) => {
            let left: Vec<Value> = all.iter().filter_map(as_python_signs).collect();
            (!left.is_empty()).then(|| left.into())
        }
        Value::Object(fields) => {
            let left = fields.iter();
            let left =
                left.filter_map(|(name, value)| Some((name.clone(), as_python_signs(value)?)));
            let left: serde_json::Map<_, _> = left.collect();
            (!left.is_empty()).then(|| left.into())
        }
        other => Some(other.clone()),
    }
}

/// True if a signature is of this input, by this key.
///
/// # Errors
///
/// The algorithm is not known here, or the key is none of it, or of a size or form that is not taken.
fn fits(algorithm: &str, key: &Value, input: &[u8], bytes: &[u8]) -> Result<bool, String> {
    let member = |name: &str| {
        let text = key[name].as_str().and_then(decoded);
        text.ok_or_else(|| format!("the key is none of {algorithm}"))
    };
    // A verification says the same of a key that is unusable as of a signature that does not fit, so that the key is looked at first.
    let usable = |is_usable: bool| match is_usable {
        true => Ok(()),
        false => Err(format!("the key is none of {algorithm} that is taken here")),
    };
    let simple = |algorithm: &'static dyn VerificationAlgorithm, public: Vec<u8>| {
        let key = UnparsedPublicKey::new(algorithm, public);
        Ok(key.verify(input, bytes).is_ok())
    };
    let ecdsa = |algorithm, curve: &'static agreement::Algorithm| {
        // Uncompressed: 4, then both coordinates.
        let point = [vec![4], member("x")?, member("y")?].concat();
        usable(is_point(curve, &point))?;
        simple(algorithm, point)
    };
    let eddsa = || {
        let public = member("x")?;
        usable(is_ed25519(&public))?;
        simple(&ED25519, public)
    };
    let rsa = |parameters: &'static RsaParameters| {
        let (n, e) = (member("n")?, member("e")?);
        usable(is_rsa(&n, &e))?;
        let key = RsaPublicKeyComponents { n, e };
        Ok(key.verify(parameters, input, bytes).is_ok())
    };
    match (algorithm, key["kty"].as_str(), key["crv"].as_str()) {
        ("ES256", Some("EC"), Some("P-256")) => ecdsa(&ECDSA_P256_SHA256_FIXED, &ECDH_P256),
        ("ES384", Some("EC"), Some("P-384")) => ecdsa(&ECDSA_P384_SHA384_FIXED, &ECDH_P384),
        ("EdDSA", Some("OKP"), Some("Ed25519")) => eddsa(),
        ("RS256", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        ("RS384", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        ("RS512", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        ("PS256", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA256),
        ("PS384", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA384),
        ("PS512", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA512),
        (
            "ES256" | "ES384" | "EdDSA" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512",
            ..,
        ) => Err(format!("the key is none of {algorithm}")),
        _ => Err("its algorithm is not known here".to_owned()),
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use agenthub_outbound::Settings;
    use axum::{Router, routing::get};
    use serde_json::json;
    use tokio::{net::TcpListener, task::JoinSet};

    use super::*;
    use crate::signing::CardKey;

    const P256: &str = include_str!("../signing/p256.pem");
    const ED25519_PEM: &str = include_str!("../signing/ed25519.pem");

    /// Signatures of "input" by a key of RSA.
    const N: &str = "r0dI_pdN5aBORa751Y7GQjYymAEMWehRzsOBWNyqwRgFq6BVCwoZi-23Rxf-pWGsh1f2-g6SD8FbAcAch9yyHnzVTDh0f6tNYSWYxNq0acZnbt741CMDQdzd2sSWUE7jbv-G3Jrl9EjOhCRdvUpj0xLXSYXV8BaydnHxNrvae1diTznk4h1HeelXCIwMtUEQuhTQjveZlcLC9kBL-hufhzyb6Kc3LjQhc1aQd3vTNkMB6NmlFufOMxxvSzK7rVWbCRoifyUFsPud1f7IXTwTp4ggS49AdbWUS3vf5HMTb2prrpzSYgMo7wLJ2betsUQUbz66MDKEmsZEcwFds8hSwQ";
    const RS256: &str = "rm5Q4wY5-buXR7F8gmSykv5OI_UczXGwbMjukYxxiQN-J5aJpRGhrjNVjsoPHMiLhK13lo8GjeLMVKCtVY7MubXldKXbGq0lQBXd2SCZ6qaIaVU_WuPrPcV5g70xTfWSyGh2H0xXtDGcVQW-RYPNaDMIWni0EQP2OsdTxdnTeOiOkbB9Fi1n6g4zbF0WDugviqW010lb7xO_PfY56UbW_Cx2XVI7tkLGELy67SUu2L2YbhMXcRz3PwpgtpFu6GxG9QsvmD0wXtUlvmeaYTOqzbTyG-NLfFh0BqbU5aD0ETQPMSMqoNVVHNRBGcB7SXn0xm5D93XWL_lOmtN2Nr9yJA";
    const PS256: &str = "F_pv5Vkofdg2h4mhY-J-OwYqRm32Y0zY7nnqMnXj0YKL4iZAFXHzTdBPk3_z7cV--jD5w9LwBlFfQS7djVm0pPcPBeFZk4TvOb3OMprm4iNXE7_B7KWurjEEzystEuSRUWhUjdRPeVHJi7bIvJm_F-stVfIyvntpE8Mw8tj_mtg8Agk_Smgxl6ULRJ8Sc3ltpLKHUAbBo4IZQCHLHizYWcxZRHrkFdQDzJ_ic28e31PR-CLzcV_rTgbNQbsnrQIHhGUS466rUQ9rru3g7nLnqkBGEf2ded0DU8whPEmmvTal6jaxn5KtkC_E54Kt1Z_0M1sTkgz1kmmrHSXT477Skg";

    #[test]
    fn signatures_of_rsa_are_checked_by_their_algorithm() {
        let key = json!({"kty": "RSA", "n": N, "e": "AQAB"});
        let check = |algorithm: &str, input: &[u8], signature: &str| {
            fits(algorithm, &key, input, &decoded(signature).expect("base64"))
        };
        assert_eq!(check("RS256", b"input", RS256), Ok(true));
        assert_eq!(check("PS256", b"input", PS256), Ok(true));
        assert_eq!(check("RS256", b"output", RS256), Ok(false));
        assert_eq!(check("PS256", b"input", RS256), Ok(false));
        assert!(check("ES256", b"input", RS256).is_err());
        assert!(check("none", b"input", RS256).is_err());
        assert!(check("HS256", b"input", RS256).is_err());
    }

    /// Nothing can be said of a card by a key that is not taken: that it is another card's signature was not checked.
    #[test]
    fn a_key_that_is_not_taken_says_nothing_of_a_signature() {
        let n = decoded(N).expect("base64");
        let small = URL_SAFE_NO_PAD.encode(&n[128..]);
        let even = URL_SAFE_NO_PAD.encode([&n[..255], &[0]].concat());
        let padded = URL_SAFE_NO_PAD.encode([&[0], &n[..]].concat());
        let coordinate = URL_SAFE_NO_PAD.encode([7; 32]);
        let short = URL_SAFE_NO_PAD.encode([7; 31]);
        let rsa = |n: &str, e: &str| ("RS256", json!({"kty": "RSA", "n": n, "e": e}));
        let p256 = |x: &str, y: &str| {
            (
                "ES256",
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}),
            )
        };
        let ed25519 = |x: &str| ("EdDSA", json!({"kty": "OKP", "crv": "Ed25519", "x": x}));
        for (algorithm, key) in [
            rsa(&small, "AQAB"),
            rsa(&even, "AQAB"),
            rsa(&padded, "AQAB"),
            rsa("", "AQAB"),
            rsa(N, ""),
            rsa(N, "AQ"),
            rsa(N, "AQAA"),
            rsa(N, "AQAAAAAB"),
            p256(&coordinate, &coordinate),
            p256(&coordinate, &short),
            ed25519(&short),
            // No point of the curve: y = 2, for which x² is no square; and y = p, which is not reduced.
            ed25519(&URL_SAFE_NO_PAD.encode([&[2][..], &[0; 31]].concat())),
            ed25519(&URL_SAFE_NO_PAD.encode([&[0xed][..], &[0xff; 30], &[0x7f]].concat())),
        ] {
            let said = fits(algorithm, &key, b"input", &[0; 64]);
            let why = said.expect_err("nothing can be said");
            assert!(why.ends_with("that is taken here"), "{key}: {why}");
        }
    }

    /// The payload is what `a2a.utils.signing` of a2a-sdk 1.3.0 makes of this card.
    #[test]
    fn a_card_is_read_as_the_sdk_for_python_signs_it() {
        let params = json!({"z": 1.5, "€": {"b": null}, "a": "", "ä": [{}, 10.0]});
        let card = json!({
            "name": "signer", "description": "Signs\tits card", "version": "1.0.0", "documentationUrl": "", "signatures": [{}],
            "capabilities": {"streaming": false, "extensions": [{"uri": "urn:x", "params": params}]}, "skills": [],
        });
        let expected = "{\"capabilities\":{\"extensions\":[{\"params\":{\"z\":1.5,\"ä\":[10]},\"uri\":\"urn:x\"}],\"streaming\":false},\
            \"description\":\"Signs\\tits card\",\"name\":\"signer\",\"version\":\"1.0.0\"}";
        let payloads = payloads(&card);
        assert!(payloads.contains(&expected.as_bytes().to_vec()), "{card}");
    }

    async fn serve(keys: Value) -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is free");
        let address = listener.local_addr().expect("it has an address");
        let router = Router::new().route("/keys", get(async move || keys.to_string()));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        (address, serving)
    }

    /// spec: A2A 1.0.1 §8.4.3
    #[tokio::test]
    async fn a_signature_is_of_one_card_and_one_key() {
        let connector = Connector::new(Settings {
            allow: vec!["127.0.0.0/8".parse().expect("a network")],
            ..Settings::default()
        });
        let card = json!({
            "name": "Painter", "description": "", "version": "1", "capabilities": {"streaming": false}, "skills": [],
            "defaultInputModes": [], "defaultOutputModes": [], "supportedInterfaces":
                [{"url": "http://a/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        });
        for pem in [P256, ED25519_PEM] {
            let key = CardKey::read(pem).expect("a key");
            let (address, _serving) = serve(key.key_set()).await;
            let card_url: Uri = format!("http://{address}/card")
                .parse()
                .expect("an address");
            let keys_url = format!("http://{address}/keys");
            let signed_at = |card: &Value, url: &str| {
                let signature = key.sign(card, url).expect("it signs");
                let mut signed = card.clone();
                signed["signatures"] = json!([signature]);
                signed
            };
            let check = async |document: &Value| verify(&connector, document, &card_url).await;
            assert_eq!(check(&card).await, Signed::No);
            let signed = signed_at(&card, &keys_url);
            let verified = check(&signed).await;
            assert!(
                matches!(&verified, Signed::Verified { keys_url: of, .. } if *of == keys_url),
                "{verified}"
            );
            // Somebody has added what says nothing, such as a default.
            let mut padded = signed.clone();
            padded["securitySchemes"] = json!({});
            padded["provider"] = Value::Null;
            assert!(matches!(check(&padded).await, Signed::Verified { .. }));
            // One that fits is enough.
            let mut twice = signed.clone();
            twice["signatures"] =
                json!([{"protected": "e30", "signature": ""}, signed["signatures"][0]]);
            assert!(matches!(check(&twice).await, Signed::Verified { .. }));

            let mut forged = signed.clone();
            forged["supportedInterfaces"][0]["url"] = json!("http://b/");
            assert_eq!(check(&forged).await, Signed::Wrong);
            let nowhere = signed_at(&card, &format!("http://{address}/nowhere"));
            let unverifiable = check(&nowhere).await.to_string();
            assert!(unverifiable.contains("HTTP 404"), "{unverifiable}");
            let elsewhere = signed_at(&card, "http://keys.example/keys");
            let unverifiable = check(&elsewhere).await.to_string();
            assert!(unverifiable.contains("over TLS"), "{unverifiable}");
            let mut other = signed.clone();
            other["signatures"][0]["protected"] =
                json!(URL_SAFE_NO_PAD.encode(json!({"alg": "none", "jku": keys_url}).to_string()));
            let unverifiable = check(&other).await.to_string();
            assert!(unverifiable.contains("not known here"), "{unverifiable}");
        }
    }
}
