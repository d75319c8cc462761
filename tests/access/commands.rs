//! The commands that issue tokens, and commands with a token.

use std::{fs, path::PathBuf};

use agenthub_proto::bearer::TOKEN_VARIABLE;

use super::Guarded;
use crate::harness::{Process, System, eventually, free_address, until_known};

/// Issue 25: nobody is by its name what the hub is.
#[test]
fn no_token_is_issued_for_a_name_of_the_hub() {
    let system = System::bare(free_address());
    for name in ["cortex", "a2a", "shared-with.team-b.writer"] {
        let refused = system.run(&["tokens", "issue", name, "--role", "agent"], "");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let said = format!("such as ops-{name}");
        assert!(refused.stderr.contains(&said), "{refused:?}");
    }
    assert!(
        !system
            .folder()
            .join(".agenthub/access/tokens.json")
            .exists()
    );
}

/// Issue 25: with tokens every command works as without; a person does nothing for the processes that `up` starts inside itself.
#[test]
fn commands_work_with_a_token_and_say_what_to_do_without() {
    let guarded = Guarded::start("up");
    let open = guarded
        .system
        .run(&["publish", "--to", "agent_echo", "--wait", "hi"], "");
    assert_eq!(open.code, Some(0), "{open:?}");
    let (alice, id) = guarded.issue(&["alice", "--role", "user"]);
    let refused = guarded.system.run(&["agents", "list"], "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--token-file"), "{refused:?}");
    for (args, said) in [
        (&["agents", "list"][..], "echo"),
        (
            &["publish", "--to", "agent_echo", "--wait", "hello there"],
            "hello there",
        ),
        (&["tasks", "list"], "completed"),
        (&["access", "whoami"], "alice (user)"),
        (&["runs", "list"], ""),
    ] {
        let done = guarded.run_as(&alice, args);
        assert_eq!(done.code, Some(0), "{args:?}: {done:?}");
        assert!(done.stdout.contains(said), "{args:?}: {done:?}");
    }
    let environment = PathBuf::from(&alice);
    let chat = Process::start_in(
        &[(TOKEN_VARIABLE, &environment)],
        guarded.system.folder(),
        &guarded.system.hub(),
        &["chat"],
    );
    let chat = chat.finish("hello\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    let denied = guarded.run_as(&alice, &["mailboxes", "list"]);
    assert_eq!(denied.code, Some(1));
    assert!(
        denied.stderr.contains("no rule allows operate"),
        "{denied:?}"
    );
    let (root, _) = guarded.issue(&["root", "--role", "admin"]);
    let args = [
        "access", "explain", "--as", "alice", "--do", "send", "--on", "qa",
    ];
    let explained = guarded.run_as(&root, &args);
    assert_eq!(explained.code, Some(0), "{explained:?}");
    assert_eq!(
        explained.stdout.trim(),
        "allowed: alice send:qa: role user allows send:*"
    );
    let behalf = [&args[..], &["--for", "alcie"]].concat();
    let explained = guarded.run_as(&root, &behalf);
    assert!(
        explained.stdout.contains("alcie has no token")
            && explained.stdout.contains("did you mean `alice`?"),
        "{explained:?}"
    );
    let wrong = guarded.run_as(
        &root,
        &["access", "explain", "--as", "alice", "--do", "fly"],
    );
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let listed = guarded.system.run(&["tokens", "list"], "");
    assert!(
        listed.stdout.contains("alice") && listed.stdout.contains("valid"),
        "{listed:?}"
    );
    assert!(!listed.stdout.contains(&alice[3..]), "no secret");
    let kept = fs::read_to_string(guarded.system.folder().join(".agenthub/access/tokens.json"));
    assert!(
        !kept.expect("it is there").contains(&alice[3..]),
        "no secret"
    );
    let revoked = guarded.system.run(&["tokens", "revoke", &id], "");
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    eventually("alice is not let in any more", || {
        let refused = guarded.run_as(&alice, &["agents", "list"]);
        refused.stderr.contains("was revoked").then_some(())
    });
}

/// Wrong usage gets words that help.
#[test]
fn wrong_usage_of_tokens_is_told() {
    let system = System::bare(free_address());
    for (args, said) in [
        (
            &["tokens", "issue", "alice"][..],
            "--role worker, agent, user, operator or admin",
        ),
        (
            &["tokens", "issue", "alice", "--role", "king"],
            "there is no role `king`",
        ),
        (
            &["tokens", "issue", "a*", "--role", "user"],
            "no name of a principal",
        ),
        (
            &["tokens", "issue", "alice", "--allow", "fly"],
            "`fly` is no right",
        ),
        (
            &[
                "tokens",
                "issue",
                "alice",
                "--role",
                "user",
                "--expires",
                "soon",
            ],
            "90d",
        ),
        (&["agents", "list", "--token-file", "no"], "--token-file no"),
    ] {
        let wrong = system.run(args, "");
        assert_eq!(wrong.code, Some(2), "{args:?}: {wrong:?}");
        assert!(wrong.stderr.contains(said), "{args:?}: {wrong:?}");
    }
    let unknown = system.run(&["tokens", "revoke", "x"], "");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("tokens list"), "{unknown:?}");
}

/// Issue 25: a token goes into a file that only its owner reads, and over no other file.
#[test]
fn a_token_is_written_into_a_file_of_its_owner_alone() {
    let system = System::bare(free_address());
    let issue = [
        "tokens", "issue", "alice", "--role", "user", "--out", "a.token",
    ];
    let issued = system.run(&issue, "");
    assert_eq!((issued.code, &*issued.stdout), (Some(0), ""), "{issued:?}");
    let file = system.folder().join("a.token");
    let token = fs::read_to_string(&file).expect("it is written");
    assert!(token.starts_with("ah_"), "{token}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0);
    }
    let again = system.run(&issue, "");
    assert_eq!(again.code, Some(2), "{again:?}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), token);
    let tokens = system.json(&["tokens", "list", "--json"]);
    assert_eq!(tokens.len(), 1, "none is issued that nobody has");
}

/// Commands, the rights that they need besides being somebody, and the right that the refusal names.
const NEEDS: [(&[&str], &[&str], &str); 8] = [
    (&["agents", "list"], &["see:directory"], "see:directory"),
    (&["tasks", "list"], &["see:own-tasks"], "see:own-tasks"),
    (
        &["publish", "--to", "agent_echo", "hi"],
        &["send:agent_echo", "see:directory"],
        "see:directory",
    ),
    (&["runs", "list"], &["runs"], "runs"),
    (&["mailboxes", "list"], &["operate"], "operate"),
    (&["mailboxes", "dead-letters"], &["operate"], "operate"),
    (&["agents", "outside"], &["see:directory"], "see:directory"),
    (
        &["access", "explain", "--as", "alice", "--do", "chat"],
        &["administer"],
        "administer",
    ),
];

/// Issue 25: the rights that commands need are those that are written down: with them a command works, and without the refusal names what is missing.
#[test]
fn commands_need_what_is_written_down() {
    let guarded = Guarded::start("up");
    let own = ["--allow", "be:{self}", "--allow", "be:{self}~*"];
    let few = guarded.issue(&[&["few"], &own[..]].concat()).0;
    let tokens: Vec<String> = NEEDS
        .iter()
        .enumerate()
        .map(|(n, (_, rights, _))| {
            let name = format!("caller-{n}");
            let rights = rights.iter().flat_map(|right| ["--allow", right]);
            let args: Vec<&str> = [&*name].into_iter().chain(own).chain(rights).collect();
            guarded.write_token(&args).0
        })
        .collect();
    let last = tokens.len() - 1;
    until_known(&format!("caller-{last}"), |whoami| {
        guarded.run_as(&tokens[last], whoami)
    });
    for ((args, rights, missing), token) in NEEDS.iter().zip(&tokens) {
        let done = guarded.run_as(token, args);
        assert_eq!(done.code, Some(0), "{args:?} with {rights:?}: {done:?}");
        let refused = guarded.run_as(&few, args);
        assert_ne!(refused.code, Some(0), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(missing), "{args:?}: {refused:?}");
    }
}
