//! Properties of credentials that hold for any bytes. Fuzz targets call these, and so does the replay of their corpus (`access/tests/fuzzed.rs`).

use std::sync::LazyLock;

use agenthub_access::{
    Action, Admitted, Credential, Denied, Identities, IssuerSettings, KeySet, Namespace, Permit,
    Policy, Principal, SessionCookies, Sources, Token, TokenHash, cookie, decide,
};
use agenthub_proto::{PeerCertificate, bearer::Bearer};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, SanType, string::Ia5String,
};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Map, Value, json};

const ISSUER: &str = "https://id.example";

/// Name of the issuer's key.
const KEY: &str = "a";

const LEEWAY_SECONDS: u64 = 30;

/// The roles that words of the claim `groups` give.
const SETTINGS: &str = "issuer = 'https://id.example'\naudience = ['hub', 'hub.example']\nalgorithms = ['EdDSA', 'ES256', 'RS256']\n\
     groups = 'realm.groups'\nroles.ops = ['operator']\ndefault_roles = ['agent']\n";

/// A certificate of this name is revoked.
const POLICY: &str = "revoked_certificates = ['lost']\n[principals.writer]\nroles = ['user']\n";

/// The issuer's key. It is the same in each run, so that a corpus may hold tokens.
static PAIR: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("32 bytes"));

static IDENTITIES: LazyLock<Identities> = LazyLock::new(|| {
    let identities = identities();
    let keys = KeySet::read(public().to_string().as_bytes()).expect("keys");
    identities.issuers()[0].set_keys(keys);
    identities
});

fn identities() -> Identities {
    let mut settings: IssuerSettings = toml::from_str(SETTINGS).expect("settings");
    settings.name = "corp".to_owned();
    let sources = Sources {
        issuers: vec![settings],
        policy: Some(Policy::of_toml(POLICY).expect("a policy")),
        ..Sources::default()
    };
    Identities::open(sources).expect("right")
}

/// The public key, and one of RSA beside it.
fn public() -> Value {
    let x = URL_SAFE_NO_PAD.encode(PAIR.public_key().as_ref());
    let n = URL_SAFE_NO_PAD.encode([0xc5; 256]);
    json!({"keys": [
        {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": KEY, "use": "sig"},
        {"kty": "RSA", "n": n, "e": "AQAB", "kid": "r", "use": "sig"},
    ]})
}

/// A token of the issuer with these parts, as they are.
pub(crate) fn signed(header: &[u8], claims: &[u8]) -> String {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let message = format!("{}.{}", text(header), text(claims));
    let signature = PAIR.sign(message.as_bytes());
    format!("{message}.{}", text(signature.as_ref()))
}

fn now() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.expect("it is later than 1970").as_secs()
}

fn bearing(identities: &Identities, token: &str) -> Result<Admitted, Denied> {
    identities.authenticate(Credential::Authorization(&format!("Bearer {token}")))
}

/// Any text in the place of each kind of credential. Nobody is let in by one that was made up, and a refusal quotes none.
pub(crate) fn presented(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for credential in [
        Credential::Authorization(text),
        Credential::Session(text),
        Credential::Authorization(&format!("Bearer {text}")),
    ] {
        match IDENTITIES.authenticate(credential) {
            Ok(admitted) => {
                let token = text.rsplit(' ').find(|word| !word.trim().is_empty());
                is_signed_as_it_stands(token.expect("a token").trim());
                assert_eq!(&*admitted.caller.namespace, "default");
            }
            Err(denied) => {
                let quoted = data.len() > 20 && denied.to_string().contains(text);
                assert!(!quoted, "a refusal quotes what was presented: {denied}");
            }
        }
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!((token.secret(), text.len()), (text, 46));
        let hash = TokenHash::of_presented(text).expect("it has the form of one");
        assert!(hash.is(&token.hash()));
    }
    if let Ok(bearer) = Bearer::new(text) {
        let header = bearer.header().to_str().expect("printable");
        assert_eq!(header, format!("Bearer {}", text.trim()));
    }
}

/// Signatures of Ed25519 are the only ones for their message: a token that is taken is the one that the issuer makes of its first two parts.
fn is_signed_as_it_stands(token: &str) {
    let mut parts = token.split('.');
    let mut part = || {
        let part = parts.next().expect("three parts");
        URL_SAFE_NO_PAD.decode(part).expect("strict base64")
    };
    assert_eq!(
        token,
        signed(&part(), &part()),
        "another signature is taken"
    );
}

/// True if a header `authorization` lets somebody in.
pub(crate) fn is_taken(header: &str) -> bool {
    let credential = Credential::Authorization(header);
    IDENTITIES.authenticate(credential).is_ok()
}

/// True if a token with this header and these claims lets somebody in, once the issuer has signed it.
pub(crate) fn is_let_in(data: &[u8]) -> bool {
    let (header, claims) = parts(data);
    bearing(&IDENTITIES, &signed(header, claims)).is_ok()
}

/// Header and claims, parted by a zero byte. Without one, all are claims.
fn parts(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == 0) {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (br#"{"alg":"EdDSA","kid":"a"}"#, data),
    }
}

/// A header and claims of a token that the issuer has signed. Who is let in is who the claims name, for this hub and now.
pub(crate) fn claims(data: &[u8]) {
    let (header, claims) = parts(data);
    let token = signed(header, claims);
    let Ok(admitted) = bearing(&IDENTITIES, &token) else {
        return;
    };
    let header: Value = serde_json::from_slice(header).expect("a header is JSON");
    assert_eq!(header["alg"], "EdDSA");
    assert!(header.get("crit").is_none_or(Value::is_null), "{header}");
    assert!(["a"].map(Value::from).contains(&header["kid"]) || header["kid"].is_null());
    let claims: Map<String, Value> = serde_json::from_slice(claims).expect("claims are JSON");
    assert_eq!(claims["iss"], ISSUER);
    let is_ours = |audience: &Value| audience == "hub" || audience == "hub.example";
    let aud = &claims["aud"];
    assert!(is_ours(aud) || aud.as_array().is_some_and(|all| all.iter().any(is_ours)));
    let seconds = |claim: &Value| claim.as_f64().expect("a number");
    // A second, as it may be another one by now.
    #[allow(clippy::cast_precision_loss)]
    let (now, leeway) = (now() as f64, LEEWAY_SECONDS as f64 + 1.0);
    assert!(seconds(&claims["exp"]) >= now - leeway, "{claims:?}");
    if let Some(nbf) = claims.get("nbf").filter(|nbf| !nbf.is_null()) {
        assert!(seconds(nbf) <= now + leeway, "{claims:?}");
    }
    let subject = claims["sub"].as_str().expect("a text");
    assert_eq!(&*admitted.caller.principal, format!("corp:{subject}"));
    let groups = claims.get("realm.groups").or_else(|| {
        let realm = claims.get("realm")?;
        realm.get("groups")
    });
    let mentions = groups.is_some_and(|groups| groups.to_string().contains("ops"));
    let operates = decide(&admitted.caller, &Action::Operate).is_ok();
    assert!(mentions || !operates, "{claims:?}");
    assert!(decide(&admitted.caller, &Action::Administer).is_err());
}

/// A set of keys of an issuer. With keys of others no token of this issuer is taken.
pub(crate) fn keys(data: &[u8]) {
    let Ok(keys) = KeySet::read(data) else { return };
    static OTHER: LazyLock<Identities> = LazyLock::new(identities);
    OTHER.issuers()[0].set_keys(keys);
    let claims = json!({"iss": ISSUER, "aud": "hub", "sub": "alice", "exp": now() + 300});
    let token = signed(
        br#"{"alg":"EdDSA","kid":"a"}"#,
        claims.to_string().as_bytes(),
    );
    let x = URL_SAFE_NO_PAD.encode(PAIR.public_key().as_ref());
    let is_there = serde_json::from_slice::<Value>(data).is_ok_and(|set| {
        let keys = set["keys"].as_array();
        keys.is_some_and(|keys| keys.iter().any(|key| key["x"] == *x))
    });
    if bearing(&OTHER, &token).is_ok() {
        assert!(is_there, "a token is taken without its key");
    }
    let message = token.rsplit_once('.').expect("three parts").0;
    for forged in [format!("{message}."), format!("{message}.{x}")] {
        assert!(bearing(&OTHER, &forged).is_err());
    }
}

/// Lines of the header `Cookie`. One session is named, or none.
pub(crate) fn cookies(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(header::COOKIE, value);
        }
    }
    for (is_secure, name) in [(false, "agenthub"), (true, "__Host-agenthub")] {
        let found = SessionCookies { is_secure }.read(&headers);
        assert_eq!(found, cookie(&headers, name));
        let Some(value) = found else { continue };
        assert!(!value.contains([';', '\n', '\r']));
        // Nobody else's cookie has that name, by the letters alone.
        let lines = headers.get_all(header::COOKIE).into_iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let named = lines
            .flat_map(|line| line.split(';'))
            .filter(|pair| pair.trim_start().starts_with(&format!("{name}=")));
        assert_eq!(named.count(), 1);
        assert!(IDENTITIES.authenticate(Credential::Session(value)).is_err());
    }
}

/// A certificate of a client, in DER.
pub(crate) fn certificates(data: &[u8]) {
    if let Ok(peer) = PeerCertificate::of_der(data) {
        is_a_name(&peer);
    }
}

/// Names in a certificate: common names and, after a zero byte, URIs, one a line.
pub(crate) fn names(data: &[u8]) {
    static KEY_PAIR: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate().expect("a key"));
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for line in text.lines() {
        if let Ok(principal) = line.parse::<Principal>() {
            assert_eq!(principal.as_str(), line);
            assert!(!line.contains(['*', '{', '\n', '\r', '\0']));
        }
        if let Ok(namespace) = line.parse::<Namespace>() {
            assert!(!namespace.as_str().contains(['.', '/', '\\']));
        }
        if let Ok(permit) = line.parse::<Permit>() {
            assert_eq!(permit.to_string(), line);
        }
    }
    let (common, uris) = text.split_once('\0').unwrap_or((text, ""));
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for name in common.lines() {
        let name = DnValue::Utf8String(name.to_owned());
        params.distinguished_name.push(DnType::CommonName, name);
    }
    let uris: Vec<&str> = uris.lines().filter(|uri| uri.is_ascii()).collect();
    let uri = |uri: &&str| SanType::URI(Ia5String::try_from(*uri).expect("ASCII"));
    params.subject_alt_names = uris.iter().map(uri).collect();
    let Ok(certificate) = params.self_signed(&*KEY_PAIR) else {
        return;
    };
    let Ok(peer) = PeerCertificate::of_der(certificate.der()) else {
        return;
    };
    is_a_name(&peer);
    match peer.is_spiffe_id() {
        true => assert_eq!(uris, [peer.name()], "a SPIFFE id is the only URI"),
        // `push` replaces: the last one stands.
        false => assert_eq!(common.lines().last(), Some(peer.name())),
    }
}

fn is_a_name(peer: &PeerCertificate) {
    let name = peer.name();
    assert!(!name.trim().is_empty() && name.len() <= 2048);
    assert!(!name.chars().any(char::is_control), "{name:?}");
    if peer.is_spiffe_id() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        let path = name.strip_prefix("spiffe://").expect("in small letters");
        assert!(path.chars().all(is_plain), "{name}");
        assert!(!path.split('/').any(|part| matches!(part, "" | "." | "..")));
    }
    if let Ok(admitted) = IDENTITIES.authenticate(Credential::Certificate(name)) {
        assert_eq!(&*admitted.caller.principal, name);
        assert_ne!(name, "lost");
        let chats = decide(&admitted.caller, &Action::Chat).is_ok();
        assert_eq!(chats, name == "writer");
    }
}
