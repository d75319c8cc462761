//! Tests of tokens of issuers elsewhere, as a server's identities take them.

mod arbitrary;
mod login;
mod tricks;

use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::*;
use crate::{
    Action, Admitted, Credential, Denied, Ending, Identities, Policy, Sources, decide,
    store::now,
    testing::{IssuerKey, claims, key_set, sign_with_secret, unsigned},
};

const ISSUER: &str = "https://id.example";

/// The beginning of a certificate, as `x5c` has them.
const CERTIFICATE: &str = "MIIBszCCAVmgAwIBAgIUa0NVPeS9Yw==";

fn settings(more: &str) -> IssuerSettings {
    let text = format!("issuer = '{ISSUER}'\naudience = 'hub'\ndefault_roles = ['user']\n{more}");
    let mut settings: IssuerSettings = toml::from_str(&text).expect("settings");
    settings.name = "corp".to_owned();
    settings
}

fn identities(more: &str) -> Identities {
    let sources = Sources {
        issuers: vec![settings(more)],
        ..Sources::default()
    };
    Identities::open(sources).expect("right")
}

fn give(identities: &Identities, keys: &[&IssuerKey]) {
    let keys = key_set(keys).to_string();
    let keys = KeySet::read(keys.as_bytes()).expect("keys");
    identities.issuers()[0].set_keys(keys);
}

fn let_in(identities: &Identities, token: &str) -> Result<Admitted, Denied> {
    identities.authenticate(Credential::Authorization(&format!("Bearer {token}")))
}

fn of(others: &Value) -> Value {
    claims(ISSUER, "hub", others)
}

/// Waits for what time brings.
fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_token_of_a_trusted_issuer_is_an_identity_with_the_roles_that_it_gives() {
    let identities = identities("namespace = 'org'");
    assert!(!identities.is_open());
    let keys = [
        IssuerKey::ed25519("a"),
        IssuerKey::p256("b"),
        IssuerKey::rsa("c"),
    ];
    give(&identities, &keys.each_ref());
    for key in &keys {
        let token = key.sign(&of(&json!({"org": "blue"})));
        // The second time it is known.
        for _ in 0..2 {
            let admitted = let_in(&identities, &token).expect("it is right");
            assert_eq!(admitted.caller.principal, "corp:alice");
            assert_eq!(admitted.caller.namespace, "blue");
            assert!(decide(&admitted.caller, &Action::Chat).is_ok());
            assert!(decide(&admitted.caller, &Action::Operate).is_err());
        }
    }
    let pss = json!({"alg": "PS256", "kid": "c"});
    let pss = keys[2].sign_with_header(&pss, &of(&json!({"org": "x", "aud": ["other", "hub"]})));
    assert!(let_in(&identities, &pss).is_ok());
    assert_eq!(identities.remembered(), 4);
}

/// Issue 25: wrong, expired, other audience, `alg: none`, key confusion, clock skew, downgrade, missing claims.
#[test]
fn every_token_that_is_not_right_is_refused() {
    let identities = identities("algorithms = ['EdDSA', 'ES256']\nleeway_seconds = 30");
    let (key, other, rsa) = (
        IssuerKey::ed25519("a"),
        IssuerKey::ed25519("a"),
        IssuerKey::rsa("r"),
    );
    let p256 = IssuerKey::p256("p");
    give(&identities, &[&key, &rsa, &p256]);
    let good = of(&json!({}));
    let with = |others: Value| key.sign(&of(&others));
    let headed = |header: Value| key.sign_with_header(&header, &good);
    let confused = |key: &IssuerKey, alg: &str, kid: &str| {
        sign_with_secret(&key.public_bytes(), &json!({"alg": alg, "kid": kid}), &good)
    };
    let jwk = other.public();
    let now = now();
    for (token, said) in [
        (other.sign(&good), "signature does not fit"),
        (with(json!({"exp": now - 31})), "it has expired"),
        (with(json!({"nbf": now + 60})), "not valid yet"),
        (with(json!({"aud": "other"})), "another audience"),
        (with(json!({"aud": ["x", "y"]})), "another audience"),
        (with(json!({"aud": null})), "`aud` is missing"),
        (
            with(json!({"iss": "https://evil.example"})),
            "no issuer that this hub trusts",
        ),
        (
            with(json!({"iss": [ISSUER]})),
            "no issuer that this hub trusts",
        ),
        (
            with(json!({"iss": format!("{ISSUER}/")})),
            "no issuer that this hub trusts",
        ),
        (with(json!({"iss": null})), "no issuer that this hub trusts"),
        (with(json!({"exp": null})), "`exp` is missing"),
        (with(json!({"exp": "tomorrow"})), "`exp` is missing"),
        (with(json!({"nbf": "yesterday"})), "`nbf` has another form"),
        (
            with(json!({"sub": null})),
            "`sub`, which names the principal, is missing",
        ),
        (
            unsigned(&json!({"alg": "none", "kid": "a"}), &good),
            "no signed JWT",
        ),
        (
            unsigned(&json!({"alg": "None", "kid": "a"}), &good),
            "no signed JWT",
        ),
        (
            unsigned(&json!({"alg": "EdDSA", "kid": "a"}), &good),
            "signature does not fit",
        ),
        (confused(&key, "HS256", "a"), "do not allow"),
        (confused(&rsa, "HS256", "r"), "do not allow"),
        (confused(&key, "EdDSA", "a"), "signature does not fit"),
        // A key of one kind is for no other algorithm, and RSA is not allowed here.
        (confused(&p256, "EdDSA", "p"), "do not allow"),
        (rsa.sign(&good), "do not allow"),
        (headed(json!({"alg": "ES256", "kid": "a"})), "do not allow"),
        (
            headed(json!({"alg": "EdDSA", "kid": "b"})),
            "not one of its issuer",
        ),
        (
            headed(json!({"alg": "EdDSA", "kid": "a", "crit": ["b64"], "b64": false})),
            "no signed JWT",
        ),
        (headed(json!({"kid": "a"})), "no signed JWT"),
        // A key that the token brings is not looked at.
        (
            other.sign_with_header(&json!({"alg": "EdDSA", "jwk": jwk}), &good),
            "signature does not fit",
        ),
        (
            other.sign_with_header(&json!({"alg": "EdDSA", "jwk": jwk, "kid": "a"}), &good),
            "signature does not fit",
        ),
        (
            other.sign_with_header(
                &json!({"alg": "EdDSA", "kid": "a", "x5u": "https://evil.example/", "x5c": [CERTIFICATE]}),
                &good,
            ),
            "signature does not fit",
        ),
        (
            other.sign_with_header(
                &json!({"alg": "EdDSA", "kid": "a", "jku": "https://evil.example/"}),
                &good,
            ),
            "signature does not fit",
        ),
        (
            headed(json!({"alg": "EdDSA", "kid": "a", "crit": ["exp"]})),
            "no signed JWT",
        ),
        (with(json!({"azp": ["pages"]})), "`azp` has another form"),
        (
            other.sign_with_header(
                &json!({"alg": "EdDSA", "jwk": jwk, "kid": "evil", "jku": "https://evil.example/"}),
                &good,
            ),
            "not one of its issuer",
        ),
        (
            with(json!({"padding": "x".repeat(MAX_TOKEN)})),
            "not known to this hub",
        ),
    ] {
        let refused = let_in(&identities, &token).expect_err(said).to_string();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(!refused.contains(&token), "a token is not quoted");
    }
    // Clocks may differ by the leeway.
    for others in [
        json!({"exp": now - 25}),
        json!({"nbf": now + 25}),
        json!({"iat": now + 900}),
    ] {
        assert!(let_in(&identities, &with(others)).is_ok());
    }
    assert_eq!(
        identities.remembered(),
        3,
        "what is refused is not remembered"
    );
}

#[test]
fn keys_come_later_and_change() {
    let identities = identities("");
    let (first, second) = (IssuerKey::ed25519("1"), IssuerKey::ed25519("2"));
    let (old, new) = (first.sign(&of(&json!({}))), second.sign(&of(&json!({}))));
    let issuer = &identities.issuers()[0];
    assert!(!issuer.is_due());
    let away = let_in(&identities, &old).expect_err("no keys");
    assert!(
        matches!(&away, Denied::Unavailable(why) if why.contains("try again")),
        "{away}"
    );
    assert!(issuer.is_due());
    issuer.begin_fetch();
    give(&identities, &[&first]);
    let admitted = let_in(&identities, &old).expect("the keys are there");
    let end = identities.waiting(&admitted);
    // Keys were fetched a moment ago: they are not fetched for every name that somebody invents.
    let unknown = let_in(&identities, &new).expect_err("unknown");
    assert!(matches!(unknown, Denied::Unauthenticated(_)), "{unknown}");
    assert!(!issuer.is_due());
    // Both are there for a while, then the old one is gone.
    give(&identities, &[&first, &second]);
    assert!(let_in(&identities, &old).is_ok() && let_in(&identities, &new).is_ok());
    identities.refresh().expect("nothing is read");
    assert_eq!(end.reason(), None);
    give(&identities, &[&second]);
    let gone = let_in(&identities, &old).expect_err("gone").to_string();
    assert!(gone.contains("not one of its issuer any more"), "{gone}");
    identities.refresh().expect("nothing is read");
    assert!(matches!(end.reason(), Some(Ending::Unauthenticated(why)) if why.contains("any more")));
}

#[test]
fn streams_and_sessions_end_with_the_token() {
    let identities = identities("leeway_seconds = 0");
    let key = IssuerKey::p256("a");
    give(&identities, &[&key]);
    let token = |lasts| key.sign(&of(&json!({"exp": now() + lasts})));
    let short = let_in(&identities, &token(1)).expect("for a second");
    let long = let_in(&identities, &token(300)).expect("for minutes");
    let session = identities.begin_session(&long).expect("random");
    let of_session = identities.authenticate(Credential::Session(session.secret()));
    let of_session = of_session.expect("logged in");
    assert_eq!(of_session.caller, long.caller);
    let short_session = identities.begin_session(&short).expect("random");
    let [ended, lasting, paged] =
        [&short, &long, &of_session].map(|admitted| identities.waiting(admitted));
    let again = identities.authenticate(Credential::Admitted(&of_session));
    assert!(again.is_ok());
    soon("it has expired", || {
        identities.refresh().expect("nothing is read");
        ended.reason().is_some()
    });
    assert!(
        matches!(ended.reason(), Some(Ending::Unauthenticated(why)) if why.contains("expired"))
    );
    let over = identities.authenticate(Credential::Session(short_session.secret()));
    assert!(over.expect_err("expired").to_string().contains("expired"));
    let mut context = Context::from_waker(Waker::noop());
    assert!(lasting.poll(&mut context).is_pending() && paged.poll(&mut context).is_pending());
    identities.end_session(session.secret());
    assert!(matches!(
        paged.poll(&mut context),
        Poll::Ready(Ending::Unauthenticated(_))
    ));
    assert!(
        lasting.poll(&mut context).is_pending(),
        "the token is as it was"
    );
    for credential in [
        Credential::Session(session.secret()),
        Credential::Session("x"),
        Credential::Admitted(&of_session),
    ] {
        let denied = identities.authenticate(credential).expect_err("left");
        assert!(denied.to_string().contains("log in again"), "{denied}");
    }
}

#[test]
fn roles_that_do_not_exist_are_named_at_the_start() {
    let open = |more: &str, policy| {
        let sources = Sources {
            issuers: vec![settings(more)],
            policy,
            ..Sources::default()
        };
        Identities::open(sources)
    };
    let error = open("groups = 'g'\nroles.ops = ['chief']", None).expect_err("no role");
    let error = error.to_string();
    assert!(
        error.contains("oidc.corp.roles.ops: there is no role `chief`"),
        "{error}"
    );
    let policy = Policy::of_toml("[roles.chief]\nextends = ['admin']").expect("right");
    assert!(open("groups = 'g'\nroles.ops = ['chief']", Some(policy)).is_ok());
}

#[test]
fn sets_of_keys_are_bounded_and_hold_no_secrets() {
    let read = |set: Value| KeySet::read(set.to_string().as_bytes()).map(drop);
    let key = IssuerKey::ed25519("a").public();
    assert_eq!(read(json!({"keys": [key]})), Ok(()));
    assert_eq!(
        read(json!({"keys": vec![key.clone(); 65]})),
        Err(InvalidKeys::TooMany)
    );
    assert_eq!(read(json!({"keys": []})), Err(InvalidKeys::None));
    assert_eq!(read(json!([])), Err(InvalidKeys::Form));
    assert_eq!(KeySet::read(b"<html>").map(drop), Err(InvalidKeys::Form));
    let secret = json!({"kty": "oct", "k": "c2VjcmV0", "kid": "a"});
    assert_eq!(read(json!({"keys": [secret]})), Err(InvalidKeys::None));
    let mut encryption = key.clone();
    encryption["use"] = json!("enc");
    assert_eq!(read(json!({"keys": [encryption]})), Err(InvalidKeys::None));
    // What is not known is left out.
    assert_eq!(read(json!({"keys": [{"kty": "new"}, 7, key]})), Ok(()));
}
