//! Tests of policies.

use super::*;
use crate::{Action, Decision, decide, decide_everyone, decide_for};

fn caller(policy: &Policy, name: &str, roles: &[&str]) -> Caller {
    let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
    policy.caller(
        &name.parse().expect("a name"),
        &Namespace::default(),
        &roles,
        &[],
    )
}

/// Every action, once each way.
const ACTIONS: [Action<'_>; 19] = [
    Action::Be {
        id: "alice",
        owner: None,
    },
    Action::Be {
        id: "alice~cli-1",
        owner: Some("alice"),
    },
    Action::Be {
        id: "alice",
        owner: Some("bob"),
    },
    Action::Be {
        id: "bob",
        owner: None,
    },
    Action::Send { to: "qa" },
    Action::Send { to: "" },
    Action::Delegate { to: "qa" },
    Action::SeeDirectory,
    Action::SeeTask { is_own: true },
    Action::SeeTask { is_own: false },
    Action::SeeEvents,
    Action::SeeAllRuns,
    Action::Chat,
    Action::Runs,
    Action::Approve { is_own: true },
    Action::Approve { is_own: false },
    Action::Impersonate,
    Action::Operate,
    Action::Administer,
];

/// Issue 25: built-in roles agent, user, operator, admin; deny by default.
#[test]
fn built_in_roles() {
    let policy = Policy::default();
    for (role, allowed) in [
        ("worker", "yynnnnyyynnnnnnnnnn"),
        ("agent", "yynnyyyyynnnnnnnnnn"),
        ("user", "yynnyyyyynnnyyynnnn"),
        ("operator", "yynnyyyyyyyyyyyynyn"),
        ("admin", "yynyyyyyyyyyyyyyyyy"),
    ] {
        let caller = caller(&policy, "alice", &[role]);
        let found = ACTIONS.map(|action| match decide(&caller, &action) {
            Ok(()) => 'y',
            Err(_) => 'n',
        });
        assert_eq!(found.iter().collect::<String>(), allowed, "{role}");
    }
    let nobody = caller(&policy, "alice", &[]);
    assert!(
        ACTIONS
            .iter()
            .all(|action| decide(&nobody, action).is_err())
    );
    let anonymous = Caller::anonymous();
    assert!(
        ACTIONS
            .iter()
            .all(|action| decide(&anonymous, action).is_ok())
    );
}

#[test]
fn what_is_denied_is_denied_whatever_allows_it_and_the_rule_is_named() {
    let policy = Policy::of_toml(
        r#"
        [roles.reviewer]
        extends = ["agent"]
        allow = ["be:review-*", "approve:others"]
        deny = ["send:writer"]

        [principals.alice]
        roles = ["reviewer"]
        deny = ["see:directory"]
        "#,
    );
    let alice = caller(&policy.expect("right"), "alice", &[]);
    let check = |action: Action<'_>, is_allowed: bool, rule: &str| {
        let decided = Decision::of(&alice, None, &action);
        assert_eq!(decided.rule, rule);
        assert_eq!(decided.is_allowed, is_allowed, "{rule}");
        assert_eq!(decide(&alice, &action).is_ok(), is_allowed);
    };
    let be = |id| Action::Be { id, owner: None };
    check(be("review-1"), true, "role reviewer allows be:review-*");
    check(be("alice"), true, "role agent allows be:{self}");
    check(Action::Send { to: "qa" }, true, "role agent allows send:*");
    check(
        Action::Send { to: "writer" },
        false,
        "role reviewer denies send:writer",
    );
    check(
        Action::SeeDirectory,
        false,
        "principal alice denies see:directory",
    );
    check(
        Action::Approve { is_own: true },
        false,
        "no rule allows approve:own (roles: reviewer)",
    );
    check(
        Action::Approve { is_own: false },
        true,
        "role reviewer allows approve:others",
    );
    check(
        Action::Be {
            id: "alice",
            owner: Some("bob"),
        },
        false,
        "the id belongs to \"bob\", who registered it first",
    );
    let said = decide(&alice, &Action::Operate).expect_err("not allowed");
    assert_eq!(
        said,
        "\"alice\" may not operate the hub: no rule allows operate (roles: reviewer)"
    );
}

/// Issue 25, on whose behalf: what an agent may do in a task is what it and the principal may who asked first.
#[test]
fn who_acts_for_another_may_do_what_both_may() {
    let policy = Policy::of_toml(
        r#"
        [principals.alice]
        roles = ["user"]
        deny = ["send:payments"]

        [principals.lead]
        roles = ["worker"]
        deny = ["delegate:archive"]

        [principals.bob]
        roles = ["user"]
        "#,
    );
    let policy = policy.expect("right");
    let named = |name| caller(&policy, name, &[]);
    let (alice, lead, bob) = (named("alice"), named("lead"), named("bob"));
    let (part, gone) = (Caller::unrestricted("agenthub"), named("gone"));
    let send = |to| Action::Send { to };
    let delegate = |to| Action::Delegate { to };
    for (who, initiator, action, is_allowed, rule) in [
        (
            &lead,
            None,
            send("qa"),
            false,
            "no rule allows send:qa (roles: worker)",
        ),
        (
            &lead,
            None,
            delegate("qa"),
            true,
            "role worker allows delegate:*",
        ),
        (
            &lead,
            Some(&bob),
            delegate("payments"),
            true,
            r#"of "lead": role worker allows delegate:*; of "bob": role user allows send:*"#,
        ),
        (
            &lead,
            Some(&alice),
            delegate("qa"),
            true,
            r#"of "lead": role worker allows delegate:*; of "alice": role user allows send:*"#,
        ),
        (
            &lead,
            Some(&alice),
            delegate("payments"),
            false,
            r#"of "alice": principal alice denies send:payments"#,
        ),
        (
            &lead,
            Some(&bob),
            delegate("archive"),
            false,
            "principal lead denies delegate:archive",
        ),
        (
            &lead,
            Some(&lead),
            delegate("qa"),
            false,
            r#"of "lead": no rule allows send:qa (roles: worker)"#,
        ),
        (
            &part,
            Some(&alice),
            send("payments"),
            false,
            r#"of "alice": principal alice denies send:payments"#,
        ),
        (
            &part,
            Some(&alice),
            send("qa"),
            true,
            r#"of "agenthub": it is a part of the hub's own process; of "alice": role user allows send:*"#,
        ),
        (
            &part,
            Some(&gone),
            send("qa"),
            false,
            r#"of "gone": no rule allows send:qa (no roles)"#,
        ),
        (
            &part,
            None,
            send("payments"),
            true,
            "it is a part of the hub's own process",
        ),
    ] {
        let decided = Decision::of(who, initiator, &action);
        assert_eq!(decided.rule, rule);
        assert_eq!(decided.is_allowed, is_allowed, "{rule}");
        assert_eq!(
            decide_for(who, initiator, &action).is_ok(),
            is_allowed,
            "{rule}"
        );
    }
    assert_eq!(
        decide_for(&lead, Some(&alice), &delegate("payments")).expect_err("alice may not"),
        r#""lead" may not send to "payments" on behalf of "alice": of "alice": principal alice denies send:payments"#
    );
    let everyone = |who: &Caller, initiator| decide_everyone(who, initiator).is_ok();
    assert!(everyone(&bob, None) && everyone(&part, Some(&bob)));
    assert!(!everyone(&alice, None) && !everyone(&part, Some(&alice)));
    assert!(!everyone(&lead, Some(&bob)));
}

#[test]
fn faults_are_named_with_their_place() {
    for (text, said) in [
        (
            "[principals.a]\nroles = ['x']",
            "line 2: principals.a.roles: there is no role `x` (there are worker, agent, user, operator, admin)",
        ),
        (
            "[roles.a]\nextends = ['b']",
            "roles.a.extends: there is no role `b` (there are worker, agent, user, operator, admin, a)",
        ),
        (
            "[roles.a]\nextends = ['b']\n[roles.b]\nextends = ['a']",
            "roles.a: it extends itself",
        ),
        (
            "[roles.admin]\nallow = ['chat']",
            "roles.admin: this role is built in",
        ),
        ("[roles.a]\nallow = ['fly']", "`fly` is no right"),
        (
            "# ours\n[roles.a]\nalow = []",
            "line 3: there is no key `alow` here; did you mean `allow`? (there are extends, allow, deny)",
        ),
        (
            "[access.roles.a]\nallow = []",
            "line 1: there is no key `access` here (there are roles, ",
        ),
        (
            "[principals.a]\nroles = ['usr']",
            "there is no role `usr`; did you mean `user`?",
        ),
        (
            "[roles.a]\nallow = [\n'chat',\n'see:all_tasks']",
            "`see:all_tasks` is no right; did you mean `see:all-tasks`?",
        ),
        (
            "[roles.a]\nallow = ['snd:qa']",
            "`snd:qa` is no right; did you mean `send:qa`?",
        ),
        (
            "[roles.a]\n\ndeny = ['be:{slef}~*']",
            "line 3: roles.a.deny: `be:{slef}~*` can match no id: it holds a brace",
        ),
        (
            "[principals.a]\nallow = ['send:a\u{200b}']",
            "line 2: principals.a.allow: ",
        ),
        (
            "[quotas.roles.usr]\nstreams = 1",
            "line 1: quotas.roles: there is no role `usr`; did you mean `user`?",
        ),
        (
            "[quotas.roles.user]\nstream = 1",
            "line 2: there is no key `stream` here; did you mean `streams`?",
        ),
        (
            "revoked_certificates = ['laptop*']",
            "line 1: revoked_certificates: `laptop*` is the name of none",
        ),
        ("[principals.\"a*\"]\n", "no name of a principal"),
        (
            "[principals.ann]\n\n[principals.cortex]\nroles = ['admin']",
            "line 3: `cortex` is a name of the hub itself, for which a rule has no effect: remove it",
        ),
        (
            "[quotas.principals.page]\nstreams = 1",
            "name it ops-page here, give it `allow = [\"be:page\"]` if it is the agent page, and issue it a token of that name (`agenthub tokens issue ops-page`)",
        ),
    ] {
        let error = Policy::of_toml(text).expect_err(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Issue 25: no name of a principal is a pattern, or hides what it is.
#[test]
fn a_policy_names_no_principal_that_cannot_be() {
    for bad in ["a*", "{self}", " a", "a\\n", "a~b", ""] {
        for table in ["principals", "quotas.principals"] {
            let text = format!("[{table}.\"{bad}\"]\n");
            let error = Policy::of_toml(&text).expect_err(bad).to_string();
            assert!(error.contains("no name of a principal"), "{error}");
        }
    }
}

/// A certificate that was revoked stays so, whatever its name: the policy of before is taken.
#[test]
fn certificates_with_names_of_the_hub_can_be_revoked() {
    let policy = Policy::of_toml("revoked_certificates = ['cortex', 'laptop']\n");
    assert_eq!(policy.expect("right").revoked_certificates.len(), 2);
}
