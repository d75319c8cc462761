//! Secrets that workflows name, on a hub with identities.

use std::{fs, path::PathBuf};

use crate::harness::{System, free_address};

const SECRET: &str = "s3cr3t-of-the-hub";

/// A workflow that hands a secret to an agent. Its caller could be the agent's owner.
const WORKFLOW: &str =
    "steps:\n  a: { agent: agent_echo, text: 'key ${secret.TOKEN}' }\noutput: ${a.output.text}\n";

/// Issue 25: what somebody sends names no secret of the hub, unless that one may administer it; a file of its folder may.
#[test]
fn only_administrators_send_workflows_that_name_secrets() {
    let system = System::bare(free_address());
    let written = |path: &str, text: &str| {
        fs::write(system.folder().join(path), text).expect("it is written");
    };
    fs::create_dir(system.folder().join("served")).expect("a folder");
    written("sent.yaml", WORKFLOW);
    written("served/keyed.yaml", &format!("name: keyed\n{WORKFLOW}"));
    for (name, role) in [("alice", "user"), ("root", "admin")] {
        let file = format!("{name}.token");
        let issue = ["tokens", "issue", name, "--role", role, "--out", &file];
        let issued = system.run(&issue, "");
        assert_eq!(issued.code, Some(0), "{issued:?}");
    }
    let secret = PathBuf::from(SECRET);
    let _up = system.serve_in(
        &[("AGENTHUB_SECRET_TOKEN", &secret)],
        &["up", "--workflows", "served"],
    );
    let sent = |token: &str| {
        let args = ["workflow", "run", "sent.yaml", "--token-file", token];
        system.run(&args, "")
    };
    let refused = sent("alice.token");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("\"alice\" may not name secrets in a workflow"),
        "{refused:?}"
    );
    assert!(!format!("{refused:?}").contains(SECRET), "{refused:?}");
    let allowed = sent("root.token");
    assert_eq!(allowed.stdout.trim(), "Echo: key [secret TOKEN]");
    let served = [
        "publish",
        "--to",
        "keyed",
        "--wait",
        "--data",
        "{}",
        "--token-file",
        "alice.token",
    ];
    let served = system.run(&served, "");
    assert!(served.stdout.contains("key [secret TOKEN]"), "{served:?}");
}
