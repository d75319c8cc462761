//! Signatures of cards that come from elsewhere (specification §8.4.3): detached JWS over canonical JSON, with keys that are fetched where the
//! signature says.

use std::{fmt, time::Duration};

use agenthub_outbound::{Connector, Limits, parse_url};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, Uri};
use serde_json::Value;

use super::{
    choice::is_tls,
    keys::{decoded, fits},
    signed_payloads::payloads,
};

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
