//! Tests of a server's identities.

use std::{task::Context, time::Duration};

use super::*;
use crate::{Action, Namespace, NewToken, TokenStore, decide};

struct Scene {
    folder: tempfile::TempDir,
    store: TokenStore,
    identities: Identities,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let sources = Sources {
            audit: None,
            names: None,
            tokens: Some(store.path().to_owned()),
            policy_file: None,
            policy: None,
            issuers: Vec::new(),
            cookies: crate::SessionCookies::default(),
            own_token: Some(folder.path().join("access/hub.token")),
        };
        let identities = Identities::open(sources).expect("no file is wrong");
        Self {
            folder,
            store,
            identities,
        }
    }

    fn issue(&self, name: &str, role: &str, lasts: Option<Duration>) -> (String, String) {
        let issued = self.store.issue(NewToken {
            principal: name.parse().expect("a name"),
            namespace: Namespace::default(),
            roles: vec![role.to_owned()],
            allow: Vec::new(),
            lasts,
        });
        let issued = issued.expect("a token");
        let header = format!("Bearer {}", issued.token.secret());
        (header, issued.record.id)
    }

    fn let_in(&self, header: &str) -> Result<Admitted, Denied> {
        self.identities
            .authenticate(Credential::Authorization(header))
    }
}

#[test]
fn without_identities_everyone_is_the_same_whatever_is_presented() {
    let scene = Scene::new();
    assert!(scene.identities.is_open());
    for credential in [
        Credential::None,
        Credential::Authorization("Bearer ah_wrong"),
        Credential::Authorization("Basic x"),
    ] {
        let admitted = scene.identities.authenticate(credential).expect("open");
        assert!(admitted.caller.is_anonymous());
    }
    assert!(scene.identities.own_caller().is_anonymous());
}

/// Issue 25: neither a token from before the name was reserved nor a certificate makes anybody a part of the hub.
#[test]
fn nobody_is_let_in_under_a_name_of_the_hub() {
    let scene = Scene::new();
    let (header, id) = scene.issue("alice", "admin", None);
    let (of_bob, _) = scene.issue("bob", "user", None);
    let text = fs::read_to_string(scene.store.path()).expect("a file");
    fs::write(scene.store.path(), text.replace("alice", "cortex")).expect("it is written");
    scene.identities.refresh().expect("it reads");
    let refused = scene.let_in(&header).expect_err("it is reserved");
    assert_eq!(
        refused.to_string(),
        format!(
            "the token {id} is of a principal that has a name of the hub itself: ask for another one"
        )
    );
    assert!(scene.let_in(&of_bob).is_ok());
    let rights = scene.identities.rights_of("cortex", DEFAULT_NAMESPACE);
    assert!(decide(&rights, &Action::Chat).is_err());
    for name in ["cortex", "a2a", "shared-with.team-b.writer"] {
        let shown = scene.identities.authenticate(Credential::Certificate(name));
        let refused = shown.expect_err(name).to_string();
        assert!(refused.contains("a name of the hub itself"), "{refused}");
    }
}

/// Issue 25: a name that is spelt wrong is told of, and nothing of other namespaces.
#[test]
fn a_principal_of_whom_nothing_is_known_may_be_another_one() {
    let scene = Scene::new();
    let default = Namespace::default();
    let unknown = |name: &str, namespace: &Namespace| {
        let name = name.parse().expect("a name");
        scene.identities.unknown_principal(&name, namespace)
    };
    assert_eq!(unknown("alcie", &default), None, "nobody is anybody yet");
    scene.issue("alice", "user", None);
    scene.identities.refresh().expect("it reads");
    assert_eq!(unknown("alice", &default), None);
    let said = "alcie has no token, and the policy says nothing of that name";
    assert_eq!(
        unknown("alcie", &default).expect("nobody"),
        format!("{said}; did you mean `alice`?")
    );
    // Whose tokens are worth nothing any more is nobody, and not meant.
    let (_, id) = scene.issue("alcia", "user", None);
    scene.store.revoke(&id).expect("it is there");
    scene.identities.refresh().expect("it reads");
    assert_eq!(
        unknown("alcia", &default).expect("nobody"),
        "alcia has no valid token, and the policy says nothing of that name; did you mean `alice`?"
    );
    assert!(
        unknown("alcie", &default)
            .expect("nobody")
            .ends_with("`alice`?")
    );
    let other = "team-a".parse().expect("a name");
    assert_eq!(unknown("alcie", &other).expect("nobody there"), said);
    let policy = Policy::of_toml("[quotas.principals.zoe]\nstreams = 1\n");
    let sources = Sources {
        policy: Some(policy.expect("right")),
        ..Sources::default()
    };
    let identities = Identities::open(sources).expect("right");
    let zoe = "zoe".parse().expect("a name");
    assert_eq!(
        identities
            .unknown_principal(&zoe, &default)
            .expect("nobody"),
        "zoe has no token, and the policy says nothing of that name but a quota"
    );
}

#[test]
fn once_a_token_was_issued_every_call_needs_one() {
    let scene = Scene::new();
    let (header, id) = scene.issue("alice", "user", None);
    scene.identities.refresh().expect("it reads");
    let admitted = scene.let_in(&header).expect("known");
    assert_eq!(admitted.caller.principal, "alice");
    assert!(decide(&admitted.caller, &Action::Chat).is_ok());
    assert!(decide(&admitted.caller, &Action::Administer).is_err());
    let none = scene.identities.authenticate(Credential::None);
    let none = none.expect_err("none").to_string();
    assert!(none.contains("AGENTHUB_TOKEN"), "{none}");
    let similar = format!("{}x", &header[..header.len() - 1]);
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer ah_x",
        &similar,
    ] {
        let error = scene.let_in(wrong).expect_err(wrong);
        assert!(matches!(error, Denied::Unauthenticated(_)), "{wrong}");
        assert!(!error.to_string().contains("ah_x"), "{error}");
    }
    scene.store.revoke(&id).expect("it is there");
    scene.identities.refresh().expect("it reads");
    let revoked = scene.let_in(&header).expect_err("revoked").to_string();
    assert!(
        revoked.contains(&format!("the token {id} was revoked")),
        "{revoked}"
    );
    // With no valid token left it stays shut.
    assert!(!scene.identities.is_open());
    fs::remove_file(scene.store.path()).expect("it is there");
    let gone = scene.identities.refresh().expect_err("it is gone");
    assert!(gone.to_string().contains("though tokens were issued"));
    assert!(!scene.identities.is_open());
    assert!(scene.identities.authenticate(Credential::None).is_err());
}

/// Issue 25: identities that are lost, or about to be written, let nobody in whom they did not, and nobody out.
#[test]
fn what_is_gone_empty_or_half_written_leaves_rights_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("access.toml");
    fs::write(&policy, "[principals.alice]\nallow = ['chat']\n").expect("written");
    let store = TokenStore::in_folder(folder.path());
    let sources = Sources {
        tokens: Some(store.path().to_owned()),
        policy_file: Some(policy.clone()),
        ..Sources::default()
    };
    let new = NewToken {
        principal: "alice".parse().expect("a name"),
        namespace: Namespace::default(),
        roles: Vec::new(),
        allow: Vec::new(),
        lasts: None,
    };
    let issued = store.issue(new.clone()).expect("a token");
    let header = format!("Bearer {}", issued.token.secret());
    let identities = Identities::open(sources.clone()).expect("right");
    let chats = || {
        let admitted = identities.authenticate(Credential::Authorization(&header));
        decide(&admitted.expect("known").caller, &Action::Chat).is_ok()
    };
    for (file, broken, said) in [
        (store.path(), None, "tokens.json is gone"),
        (store.path(), Some(""), "tokens.json is no file of tokens"),
        (store.path(), Some("{\"tokens\": ["), "it ends too early"),
        (&policy, None, "cannot read the policy"),
        (&policy, Some(""), "access.toml is empty"),
        (&policy, Some("\n \n"), "access.toml is empty"),
    ] {
        let text = fs::read(file).expect("it is there");
        match broken {
            None => fs::remove_file(file).expect("it is there"),
            Some(broken) => fs::write(file, broken).expect("it is written"),
        }
        let error = identities.refresh().expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert!(chats(), "{said}");
        let error = Identities::open(sources.clone()).expect_err(said);
        assert!(error.to_string().contains(said), "{said}: {error}");
        fs::write(file, text).expect("it is written");
        identities.refresh().expect("it is there again");
        assert!(chats(), "{said}");
    }
    // Whoever may write there is never locked out.
    fs::remove_file(store.path()).expect("it is there");
    store.issue(new).expect("another one");
    identities.refresh().expect("it reads");
    assert!(
        identities
            .authenticate(Credential::Authorization(&header))
            .is_err()
    );
}

/// Issue 25: a hub that knew who calls does not begin to let everybody in, whatever of its identities is gone.
#[test]
fn a_hub_that_had_identities_does_not_open_without_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = TokenStore::in_folder(folder.path());
    let open = Sources {
        tokens: Some(store.path().to_owned()),
        ..Sources::default()
    };
    let of_policy = Sources {
        policy: Some(Policy::default()),
        ..open.clone()
    };
    assert!(Identities::open(open.clone()).expect("none yet").is_open());
    let identities = Identities::open(of_policy.clone()).expect("right");
    assert!(!identities.is_open());
    identities.keep_own_token().expect("it is kept");
    let error = Identities::open(open.clone())
        .expect_err("the policy is gone")
        .to_string();
    for part in [
        "has no token",
        "tokens issue NAME --role admin",
        "remove ",
        "access-guarded",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let identities = Identities::open(of_policy).expect("without a token");
    assert!(!identities.is_open());
    fs::remove_file(store.mark_file()).expect("it is there");
    assert!(
        Identities::open(open.clone())
            .expect("as was wanted")
            .is_open()
    );
    // An empty list, by somebody's hand.
    fs::write(store.path(), "{\"tokens\": []}").expect("it is written");
    assert!(
        Identities::open(open.clone())
            .expect("none was issued")
            .is_open()
    );
    store.mark(Mark::Tokens).expect("it is written");
    Identities::open(open).expect_err("they are gone");
}

#[test]
fn a_policy_makes_identities_necessary_and_is_reread() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("access.toml");
    fs::write(&policy, "# nobody yet").expect("written");
    let store = TokenStore::in_folder(folder.path());
    let identities = Identities::open(Sources {
        tokens: Some(store.path().to_owned()),
        policy_file: Some(policy.clone()),
        ..Sources::default()
    });
    let identities = identities.expect("right");
    assert!(!identities.is_open());
    let issued = store.issue(NewToken {
        principal: "alice".parse().expect("a name"),
        namespace: Namespace::default(),
        roles: Vec::new(),
        allow: Vec::new(),
        lasts: None,
    });
    let issued = issued.expect("a token");
    identities.refresh().expect("it reads");
    let header = format!("Bearer {}", issued.token.secret());
    let caller = || {
        let admitted = identities.authenticate(Credential::Authorization(&header));
        admitted.expect("known").caller
    };
    assert!(decide(&caller(), &Action::Chat).is_err());
    fs::write(&policy, "[principals.alice]\nallow = ['chat']\n").expect("written");
    identities.refresh().expect("it reads");
    assert!(decide(&caller(), &Action::Chat).is_ok());
    // A fault leaves it as it was.
    fs::write(&policy, "[principals.alice]\nallow = ['fly', 'and more']\n").expect("written");
    let error = identities.refresh().expect_err("a fault").to_string();
    assert!(
        error.contains("access.toml") && error.contains("`fly`"),
        "{error}"
    );
    assert!(decide(&caller(), &Action::Chat).is_ok());
    identities.refresh().expect("it is not read again");
}

#[test]
fn streams_end_with_the_rights_of_their_callers() {
    let scene = Scene::new();
    let ended = |end: &StreamEnd| {
        let waker = std::task::Waker::noop();
        match end.poll(&mut Context::from_waker(waker)) {
            Poll::Ready(reason) => Some(reason.clone()),
            Poll::Pending => None,
        }
    };
    use std::task::Poll;
    let anonymous = scene
        .identities
        .authenticate(Credential::None)
        .expect("open");
    let anonymous = scene.identities.waiting(&anonymous);
    scene.identities.refresh().expect("nothing has changed");
    assert_eq!(ended(&anonymous), None);
    let (alice, id) = scene.issue("alice", "user", None);
    let (bob, _) = scene.issue("bob", "user", Some(Duration::ZERO));
    scene.identities.refresh().expect("it reads");
    assert_eq!(ended(&anonymous), Some(Ending::Changed));
    assert!(scene.let_in(&bob).is_err());
    let own = format!("Bearer {}", scene.identities.own_token().secret());
    let own = scene
        .identities
        .waiting(&scene.let_in(&own).expect("its own"));
    let alice = scene
        .identities
        .waiting(&scene.let_in(&alice).expect("known"));
    scene.issue("carol", "agent", None);
    scene.identities.refresh().expect("it reads");
    assert_eq!(ended(&alice), None, "the token of another");
    scene.store.revoke(&id).expect("it is there");
    scene.identities.refresh().expect("it reads");
    assert!(matches!(ended(&alice), Some(Ending::Unauthenticated(_))));
    assert_eq!(ended(&own), None);
}

#[test]
fn the_own_token_lasts_over_a_restart() {
    let scene = Scene::new();
    scene.identities.keep_own_token().expect("it is written");
    let again = Identities::open(scene.identities.0.sources.clone()).expect("right");
    assert_eq!(again.own_token(), scene.identities.own_token());
    let file = scene.folder.path().join("access/hub.token");
    fs::write(&file, "damaged").expect("written");
    let again = Identities::open(scene.identities.0.sources.clone()).expect("right");
    assert_ne!(again.own_token(), scene.identities.own_token());
    again.keep_own_token().expect("it is written");
    let kept = fs::read_to_string(&file).expect("it is there");
    assert_eq!(kept.trim(), again.own_token().secret());
}

/// Issue 25, on whose behalf: a principal that is gone has no rights.
#[test]
fn the_rights_of_a_principal_are_those_of_all_its_tokens_while_they_last() {
    let scene = Scene::new();
    assert!(
        scene
            .identities
            .rights_of("alice", "default")
            .is_anonymous()
    );
    let (_, first) = scene.issue("alice", "agent", None);
    let (_, second) = scene.issue("alice", "operator", None);
    scene.identities.refresh().expect("it reads");
    let may = |name: &str, action: Action<'_>| {
        let rights = scene.identities.rights_of(name, "default");
        assert_eq!(rights.principal, name);
        decide(&rights, &action).is_ok()
    };
    assert!(may("alice", Action::Operate) && may("alice", Action::Send { to: "qa" }));
    for name in ["bob", "agenthub", "hub", "anonymous", "", "a*"] {
        assert!(!may(name, Action::SeeDirectory), "{name}");
    }
    scene.store.revoke(&second).expect("it is there");
    scene.identities.refresh().expect("it reads");
    assert!(!may("alice", Action::Operate) && may("alice", Action::Send { to: "qa" }));
    scene.store.revoke(&first).expect("it is there");
    scene.identities.refresh().expect("it reads");
    assert!(!may("alice", Action::Send { to: "qa" }));
}

/// Issue 25: a certificate that is lost is worth nothing, though its CA is trusted; its streams end.
#[test]
fn a_certificate_is_revoked_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("access.toml");
    fs::write(&policy, "# nobody yet").expect("written");
    let identities = Identities::open(Sources {
        policy_file: Some(policy.clone()),
        ..Sources::default()
    });
    let identities = identities.expect("right");
    let laptop = identities.authenticate(Credential::Certificate("laptop"));
    let laptop = laptop.expect("its CA is trusted");
    let stream = identities.waiting(&laptop);
    fs::write(&policy, "revoked_certificates = ['laptop']\n").expect("written");
    identities.refresh().expect("it reads");
    let denied = identities.authenticate(Credential::Certificate("laptop"));
    let denied = denied.expect_err("it is revoked").to_string();
    assert!(denied.contains("was revoked"), "{denied}");
    assert!(matches!(stream.reason(), Some(Ending::Unauthenticated(_))));
    let other = identities.authenticate(Credential::Certificate("desktop"));
    assert!(other.is_ok());
}
