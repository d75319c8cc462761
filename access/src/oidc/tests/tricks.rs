//! Tokens that try to be taken for what they are not.

use super::*;

/// Issue 25: names of keys that are none, tokens within tokens, times beyond all numbers, and claims that stand twice.
#[test]
fn tricks_with_names_of_keys_times_and_forms_let_nobody_in() {
    let identities = identities("");
    let (first, second) = (IssuerKey::ed25519("a"), IssuerKey::p256("b"));
    give(&identities, &[&first, &second]);
    let good = of(&json!({}));
    let named = |kid: Value| first.sign_with_header(&json!({"alg": "EdDSA", "kid": kid}), &good);
    let with = |others: Value| first.sign(&of(&others));
    for token in [
        named(json!("")),
        named(json!("A")),
        named(json!("a\0")),
        named(json!("../a")),
        named(json!("a' OR 1=1 --")),
        named(json!("https://evil.example/jwks.json")),
        named(json!("b")),
        named(json!("a".repeat(9_000))),
        named(json!(["a"])),
        named(json!({"kid": "a"})),
        named(json!(0)),
        first.sign_with_header(&json!({"alg": ["EdDSA"], "kid": "a"}), &good),
        first.sign_with_header(&json!({"alg": "EdDSA", "kid": "a", "zip": "DEF"}), &good),
        first.sign_with_header(
            &json!({"alg": "EdDSA", "kid": "a", "enc": "A256GCM"}),
            &good,
        ),
        first.sign_with_header(&json!({"alg": "EdDSA", "kid": "a", "crit": []}), &good),
        first.sign_with_header(
            &json!({"alg": "EdDSA", "kid": "a", "cty": "JWT"}),
            &json!(first.sign(&good)),
        ),
        first.sign_with_header(&json!({"alg": "EdDSA", "kid": "a"}), &json!([good])),
        with(json!({"nbf": u64::MAX})),
        with(json!({"nbf": 1e300})),
        with(json!({"nbf": {"$date": 0}})),
        with(json!({"exp": 0})),
        with(json!({"exp": -1})),
        with(json!({"exp": "9999999999"})),
        with(json!({"exp": [9_999_999_999_u64]})),
        with(json!({"sub": ["alice"]})),
        with(json!({"sub": {"name": "alice"}})),
        with(json!({"sub": "alice\u{202e}"})),
        with(json!({"aud": {"hub": true}})),
    ] {
        let refused = let_in(&identities, &token).expect_err(&token).to_string();
        assert!(!refused.contains(&token), "a token is not quoted");
        assert!(refused.len() < 1_000, "{refused}");
    }
    // What the issuer has signed counts as it is, however far away its end is, and up to 16 KiB.
    for others in [
        json!({"nbf": 0, "exp": u64::MAX}),
        json!({"exp": 1e15}),
        json!({"padding": "x".repeat(11_000)}),
    ] {
        assert!(
            let_in(&identities, &with(others.clone())).is_ok(),
            "{others:.40}"
        );
    }
}

/// Issue 25: an issuer that puts another key in the place of one, under the same name, ends what was signed with it.
#[test]
fn a_key_of_the_same_name_is_another_key() {
    let identities = identities("");
    let (before, after) = (IssuerKey::ed25519("a"), IssuerKey::ed25519("a"));
    give(&identities, &[&before]);
    let (old, new) = (before.sign(&of(&json!({}))), after.sign(&of(&json!({}))));
    let admitted = let_in(&identities, &old).expect("it is right");
    assert!(let_in(&identities, &new).is_err());
    give(&identities, &[&after]);
    assert!(
        let_in(&identities, &old).is_err(),
        "though it was taken before"
    );
    assert!(let_in(&identities, &new).is_ok());
    assert!(
        identities
            .authenticate(Credential::Admitted(&admitted))
            .is_err()
    );
}
