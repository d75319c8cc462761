//! Tokens of people who log in.

use super::*;

#[test]
fn whoever_logs_in_brings_the_answer_to_the_question_that_was_asked() {
    let identities = identities("client_id = 'pages'");
    let key = IssuerKey::ed25519("a");
    give(&identities, &[&key]);
    let token = |audience: &str, nonce: Value| {
        key.sign(&claims(ISSUER, audience, &json!({"nonce": nonce})))
    };
    let admitted = identities.logged_in("corp", &token("pages", json!("n")), "n");
    let admitted = admitted.expect("right");
    assert_eq!(admitted.caller.principal, "corp:alice");
    // What agents do in the person's name is decided by these rights, while the token lasts.
    let rights = identities.rights_of("corp:alice", "default");
    assert!(decide(&rights, &Action::Chat).is_ok() && decide(&rights, &Action::Operate).is_err());
    assert!(decide(&identities.rights_of("corp:alice", "blue"), &Action::Chat).is_err());
    give(&identities, &[&IssuerKey::ed25519("another")]);
    soon("with another key, the rights are gone", || {
        let rights = identities.rights_of("corp:alice", "default");
        decide(&rights, &Action::Chat).is_err()
    });
    give(&identities, &[&key]);
    for (issuer, token) in [
        ("corp", token("pages", json!("m"))),
        ("corp", token("pages", Value::Null)),
        ("corp", token("hub", json!("n"))),
        ("other", token("pages", json!("n"))),
    ] {
        assert!(
            identities.logged_in(issuer, &token, "n").is_err(),
            "{issuer}"
        );
    }
    // OpenID Connect Core 1.0 §3.1.3.7: a token for several is one of the client that it was issued to.
    let issued_to = |audience: Value, party: Value| {
        key.sign(&claims(
            ISSUER,
            "",
            &json!({"nonce": "n", "aud": audience, "azp": party}),
        ))
    };
    for (audience, party, said) in [
        (json!(["pages", "hub"]), json!("pages"), None),
        (json!(["pages"]), Value::Null, None),
        (json!("pages"), json!("pages"), None),
        (
            json!(["pages", "hub"]),
            Value::Null,
            Some("`azp` is missing"),
        ),
        (
            json!(["pages", "hub"]),
            json!("hub"),
            Some("issued to another client"),
        ),
        (
            json!("pages"),
            json!("shop"),
            Some("issued to another client"),
        ),
    ] {
        let token = issued_to(audience.clone(), party.clone());
        let refused = identities.logged_in("corp", &token, "n").err();
        let refused = refused.map(|denied| denied.to_string());
        match said {
            None => assert_eq!(refused, None, "{audience} {party}"),
            Some(said) => {
                let refused = refused.expect(said);
                assert!(refused.contains(said), "{audience} {party}: {refused}");
            }
        }
    }
    // A token for the pages is none for other calls.
    assert!(let_in(&identities, &token("pages", json!("n"))).is_err());
}
