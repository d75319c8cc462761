//! Time of a check, without a framework: `cargo bench -p agenthub-access`.

use std::{hint::black_box, time::Instant};

use agenthub_access::{
    Action, Credential, Identities, Namespace, NewToken, Sources, TokenStore, decide, decide_for,
};

const ROUNDS: u32 = 1_000_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TokenStore::in_folder(folder.path());
    let issued: Vec<String> = (0..1_000)
        .map(|number| {
            let issued = store.issue(NewToken {
                principal: format!("agent-{number}").parse().expect("a name"),
                namespace: Namespace::default(),
                roles: vec!["agent".to_owned()],
                allow: Vec::new(),
                lasts: None,
            });
            let token = issued.expect("a token").token;
            format!("Bearer {}", token.secret())
        })
        .collect();
    let identities = Identities::open(Sources {
        tokens: Some(store.path().to_owned()),
        ..Sources::default()
    });
    let identities = identities.expect("it reads");
    let credential = Credential::Authorization(&issued[500]);
    let caller = identities.authenticate(credential).expect("known").caller;
    measured("authenticate one of 1,000 tokens", || {
        let admitted = identities.authenticate(black_box(credential));
        black_box(admitted.is_ok());
    });
    let be = Action::Be {
        id: "agent-500~cli-1",
        owner: None,
    };
    measured("decide be, allowed", || {
        black_box(decide(&caller, black_box(&be)).is_ok());
    });
    let send = Action::Send { to: "qa" };
    measured("decide send, allowed", || {
        black_box(decide(&caller, black_box(&send)).is_ok());
    });
    let worker = Action::Delegate { to: "qa" };
    measured("decide for a principal, allowed", || {
        let initiator = identities.rights_of(black_box("agent-499"), "default");
        black_box(decide_for(&caller, Some(&initiator), black_box(&worker)).is_ok());
    });
    let open = Identities::none();
    measured("authenticate without identities", || {
        black_box(open.authenticate(black_box(Credential::None)).is_ok());
    });
}

fn measured(what: &str, mut check: impl FnMut()) {
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        check();
    }
    let each = begun.elapsed().as_nanos() / u128::from(ROUNDS);
    println!("{what}: {each} ns");
}
