//! The time in which streams end, by a clock that stands still between steps.

use std::{future::poll_fn, time::Duration};

use agenthub_access::{
    Credential, Ending, Identities, Namespace, NewToken, Sources, StreamEnd, TokenStore,
};
use tokio::time::{sleep, timeout};

use super::watch;

async fn ended(stream: &StreamEnd) -> Ending {
    poll_fn(|context| stream.poll(context).map(Ending::clone)).await
}

/// docs/SECURITY.md: within a second after its token was revoked.
#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_a_second_after_its_token_was_revoked() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TokenStore::in_folder(folder.path());
    let token = |name: &str| {
        let issued = store.issue(NewToken {
            principal: name.parse().expect("a name"),
            namespace: Namespace::default(),
            roles: vec!["user".to_owned()],
            allow: Vec::new(),
            lasts: None,
        });
        issued.expect("a token")
    };
    let (alice, bob) = (token("alice"), token("bob"));
    let identities = Identities::open(Sources {
        tokens: Some(store.path().to_owned()),
        ..Sources::default()
    });
    let identities = identities.expect("no file is wrong");
    let [of_alice, of_bob] = [&alice, &bob].map(|issued| {
        let header = format!("Bearer {}", issued.token.secret());
        let admitted = identities.authenticate(Credential::Authorization(&header));
        let opened = identities.open_stream(&admitted.expect("it is known"));
        opened.expect("there is no quota")
    });
    let watching = tokio::spawn(watch(identities.clone()));
    // Not at a time at which the files are looked at anyway.
    sleep(Duration::from_millis(1_100)).await;
    assert!(of_alice.reason().is_none());

    store.revoke(&alice.record.id).expect("it is there");
    let end = timeout(Duration::from_secs(1), ended(&of_alice)).await;
    let end = format!("{:?}", end.expect("within a second"));
    assert!(end.contains("was revoked"), "{end}");
    assert!(of_bob.reason().is_none(), "the token of another");
    watching.abort();
}
