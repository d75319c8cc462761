//! Absences of code: unsafe parts, and queues without a bound.

use super::{members, read, sources};

/// Members of the workspace with tests that need unsafe code: the failing disk beneath SQLite, and the simulation,
/// which replaces functions of the system. Their own code forbids it at its root; for the others, the workspace's lints
/// forbid it everywhere.
const UNSAFE_TESTS: [(&str, &str); 2] = [("broker", "broker/src/lib.rs"), (".", "src/main.rs")];

/// Absence 9
#[test]
fn no_code_is_unsafe() {
    let workspace = read("Cargo.toml");
    let (_, lints) = workspace
        .split_once("[workspace.lints.rust]")
        .expect("there are lints");
    let lints = lints.split("\n[").next().unwrap_or_default();
    assert!(lints.contains("unsafe_code = \"forbid\""));
    for member in members() {
        let manifest = read(&format!("{member}/Cargo.toml"));
        let inherits = manifest.contains("[lints]\nworkspace = true");
        let own = UNSAFE_TESTS.iter().find(|(name, _)| *name == member);
        assert_ne!(inherits, own.is_some(), "{member}");
        if let Some((_, file)) = own {
            let forbids = |line: &str| {
                line == "#![forbid(unsafe_code)]"
                    || line == "#![cfg_attr(not(test), forbid(unsafe_code))]"
            };
            assert!(read(file).lines().any(forbids), "{file}");
        }
    }
}

/// An unbounded channel whose sender limits the queue itself.
const COUNTED: &str = "broker/src/log/sqlite/mod.rs";

/// Absence 5
#[test]
fn no_queue_is_without_a_bound() {
    for (file, code) in sources() {
        // The standard library's unbounded channel, also behind code for tests.
        let has_one = file != COUNTED && read(&file).contains("mpsc::channel()");
        assert!(
            !has_one && !code.contains("unbounded"),
            "{file} holds an unbounded queue"
        );
    }
}
