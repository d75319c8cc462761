//! Tokens, claims and keys of any form.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Any text is refused as a token without a panic, with an issuer and without.
    #[test]
    fn nothing_that_was_made_up_lets_anybody_in(text in "\\PC{0,200}", dots in "[A-Za-z0-9_-]{0,80}\\.[A-Za-z0-9_-]{0,80}\\.[A-Za-z0-9_-]{0,90}") {
        let identities = identities("");
        give(&identities, &[&IssuerKey::ed25519("a"), &IssuerKey::p256("b")]);
        for token in [&text, &dots] {
            prop_assert!(let_in(&identities, token).is_err());
            prop_assert!(identities.authenticate(Credential::Authorization(token)).is_err());
            prop_assert!(identities.authenticate(Credential::Session(token)).is_err());
        }
    }

    /// A token of which one byte was changed is none.
    #[test]
    fn a_token_that_was_changed_is_refused(place in any::<prop::sample::Index>(), byte in prop::sample::select(b"ABCabc019_-.".to_vec())) {
        let identities = identities("");
        let key = IssuerKey::ed25519("a");
        give(&identities, &[&key]);
        let token = key.sign(&of(&json!({})));
        let mut bytes = token.clone().into_bytes();
        let place = place.index(bytes.len());
        prop_assume!(bytes[place] != byte);
        bytes[place] = byte;
        let changed = String::from_utf8(bytes).expect("ASCII");
        prop_assert!(let_in(&identities, &changed).is_err(), "{changed}");
        prop_assert!(let_in(&identities, &token).is_ok());
    }

    /// Headers and claims of any form, rightly signed or not.
    #[test]
    fn claims_of_any_form_are_read_or_refused(header in json_value(), claims in json_value()) {
        let identities = identities("groups = 'a'\nroles.x = ['admin']");
        let key = IssuerKey::ed25519("a");
        give(&identities, &[&key]);
        let _ = let_in(&identities, &key.sign(&claims));
        prop_assert!(let_in(&identities, &key.sign_with_header(&header, &claims)).is_err());
    }

    #[test]
    fn keys_of_any_form_are_read_or_refused(set in json_value(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = KeySet::read(set.to_string().as_bytes());
        let _ = KeySet::read(json!({"keys": [set]}).to_string().as_bytes());
        let _ = KeySet::read(&bytes);
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "alg", "kid", "iss", "aud", "exp", "nbf", "sub", "a", "keys", "kty", "crv", "x", "y", "n",
        "e", "use", "crit",
    ]);
    let words = prop::sample::select(vec![
        "EdDSA", "none", "HS256", "a", "hub", ISSUER, "RSA", "OKP", "EC", "Ed25519", "P-256",
        "AQAB",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(names.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
