//! Checks the absences of `docs/ARCHITECTURE.md`.

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOMS: [&str; 16] = [
    "agents",
    "api",
    "broker",
    "bus",
    "claims",
    "cortex",
    "documents",
    "gateway",
    "models",
    "proto",
    "runs",
    "sdk",
    "sop",
    "src",
    "terminal",
    "workflow",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The Rust sources of the rooms, without their tests.
fn sources() -> Vec<(String, String)> {
    let mut folders: Vec<PathBuf> = ROOMS.iter().map(|r| root().join(r)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root())
                .expect("below the root")
                .display()
                .to_string();
            let is_test = ["tests", "_tests.rs", "contract"]
                .iter()
                .any(|t| name.contains(t));
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !is_test {
                let text = read(&name);
                let code = text
                    .split("#[cfg(test)]")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                found.push((name, code));
            }
        }
    }
    assert!(found.len() > 50, "the rooms were found");
    found
}

/// Workspace crates that a room depends on, without dev-dependencies.
fn depends_on(room: &str) -> Vec<String> {
    let manifest = read(&format!("{room}/Cargo.toml"));
    let (_, dependencies) = manifest
        .split_once("[dependencies]")
        .expect("it has dependencies");
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    // An optional one is there only for whoever asks for its feature.
    let names = dependencies
        .lines()
        .filter(|line| !line.contains("optional = true"))
        .filter_map(|line| line.split(['.', ' ', '=']).next());
    let mut ours: Vec<String> = names
        .filter_map(|n| n.strip_prefix("agenthub-"))
        .map(str::to_owned)
        .collect();
    ours.sort();
    ours
}

/// Absence 1
#[test]
fn decisions_know_neither_runtime_nor_network() {
    for file in [
        "broker/src/routing.rs",
        "broker/src/task.rs",
        "broker/src/access.rs",
        "broker/src/connections/patience.rs",
        "broker/src/deadline.rs",
        "cortex/src/chat/prompt.rs",
        "cortex/src/chat/decision.rs",
        "cortex/src/chat/turn.rs",
        "cortex/src/chat/floor.rs",
        "cortex/src/chat/projection.rs",
        "cortex/src/orchestrator/bundle.rs",
        "cortex/src/orchestrator/handed_on.rs",
        "cortex/src/orchestrator/handoff.rs",
        "cortex/src/orchestrator/left_aside.rs",
        "cortex/src/orchestrator/prompt.rs",
        "cortex/src/orchestrator/proposal.rs",
        "cortex/src/orchestrator/rules.rs",
        "cortex/src/orchestrator/rounds.rs",
        "cortex/src/orchestrator/specialists.rs",
        "cortex/src/orchestrator/strategy.rs",
        "cortex/src/orchestrator/verdicts.rs",
        "cortex/src/frames.rs",
        "cortex/src/frame.rs",
        "cortex/src/asked.rs",
        "cortex/src/brief.rs",
        "cortex/src/brief/material.rs",
        "cortex/src/chat/lacking.rs",
        "api/src/runs/graph.rs",
        "api/src/runs/folded.rs",
        "gateway/a2a/src/admission.rs",
        "gateway/a2a/src/client/catch_up.rs",
        "gateway/a2a/src/client/choice.rs",
        "gateway/a2a/src/client/retry.rs",
        "gateway/a2a/src/client/sse.rs",
        "gateway/a2a/src/outside/outcome.rs",
        "gateway/a2a/src/push/config.rs",
        "gateway/a2a/src/push/delivery.rs",
        "gateway/a2a/src/story.rs",
        "gateway/outbound/src/reachable.rs",
        "gateway/mcp/src/server/progress.rs",
        "gateway/mcp/src/server/result.rs",
        "gateway/mcp/src/server/tools.rs",
        "models/src/cassette/variable.rs",
        "models/src/offline/procedure.rs",
        "models/src/relevance.rs",
        "proto/src/local.rs",
        "proto/src/socket/liveness.rs",
        "runs/src/begin.rs",
        "runs/src/approval.rs",
        "runs/src/changed.rs",
        "runs/src/budget.rs",
        "runs/src/facts.rs",
        "runs/src/plan/admit.rs",
        "runs/src/plan/patch.rs",
        "runs/src/plan/references.rs",
        "runs/src/plan/resolving.rs",
        "runs/src/run.rs",
        "runs/src/schema.rs",
        "runs/src/schema/misfits.rs",
        "runs/src/schema/order.rs",
        "runs/src/share.rs",
        "runs/src/shortfall.rs",
        "runs/src/spans/open.rs",
        "runs/src/spans/projection.rs",
        "runs/src/spans/reading.rs",
        "runs/src/tool_loop.rs",
        "runs/src/tool_loop/arguments.rs",
        "runs/src/tool_loop/consent.rs",
        "runs/src/tool_loop/failures.rs",
        "sdk/src/deadline.rs",
        "sdk/src/agent/routes.rs",
        "sdk/src/contract.rs",
        "sdk/src/supervisor/peers.rs",
        "sop/src/compliance/checks/mod.rs",
        "sop/src/loader/fields.rs",
        "sop/src/loader/inputs.rs",
        "sop/src/loader/rules.rs",
        "sop/src/loader/sections.rs",
        "sop/src/team/changes.rs",
        "workflow/src/building.rs",
        "workflow/src/connecting.rs",
        "workflow/src/executors/admission.rs",
        "workflow/src/executors/restarts.rs",
        "workflow/src/graph.rs",
        "workflow/src/linear.rs",
        "workflow/src/monitoring.rs",
        "runs/src/breakers.rs",
        "workflow/src/serving/changes.rs",
        "workflow/src/shape.rs",
        "workflow/src/strategy.rs",
        "workflow/src/strategy/calling.rs",
        "workflow/src/strategy/compensating.rs",
        "workflow/src/strategy/evaluating.rs",
        "workflow/src/strategy/joining.rs",
        "workflow/src/strategy/looping.rs",
        "workflow/src/strategy/outline.rs",
        "workflow/src/strategy/reusing.rs",
        "workflow/src/strategy/waiting.rs",
        "workflow/src/template.rs",
        "workflow/src/uses.rs",
    ] {
        let text = read(file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for forbidden in [
            "tokio",
            "tonic",
            "rusqlite",
            "reqwest",
            "async ",
            "SystemTime::now",
            "Instant::now",
        ] {
            assert!(!code.contains(forbidden), "{file} holds `{forbidden}`");
        }
    }
}

/// Absences 2 and 3
#[test]
fn rooms_know_only_those_below_them() {
    assert_eq!(depends_on("proto"), [""; 0]);
    assert_eq!(depends_on("runs"), [""; 0]);
    assert_eq!(depends_on("models"), ["proto", "runs"]);
    assert_eq!(depends_on("sdk"), ["models", "proto", "runs", "sdk-macros"]);
    assert_eq!(depends_on("broker"), ["proto"]);
    assert_eq!(depends_on("agents"), ["sdk"]);
    assert_eq!(depends_on("agents/files"), ["mcp", "sdk"]);
    assert_eq!(depends_on("bus"), ["sdk"]);
    assert_eq!(depends_on("claims"), [""; 0]);
    assert_eq!(depends_on("cortex"), ["proto", "sdk"]);
    assert_eq!(depends_on("api"), ["cortex", "proto", "sdk"]);
    assert_eq!(depends_on("gateway/a2a"), ["outbound", "sdk", "terminal"]);
    assert_eq!(
        depends_on("gateway/bridge"),
        ["a2a", "bus", "claims", "outbound", "sdk"]
    );
    assert_eq!(depends_on("gateway/outbound"), [""; 0]);
    assert_eq!(depends_on("gateway/mcp"), ["sdk"]);
    assert_eq!(depends_on("terminal"), ["documents", "proto", "sdk"]);
    assert_eq!(depends_on("documents"), [""; 0]);
    assert_eq!(
        depends_on("sop"),
        ["agents", "documents", "mcp", "sdk", "terminal"]
    );
    assert_eq!(
        depends_on("workflow"),
        ["bus", "claims", "documents", "sdk", "terminal"]
    );
    for (file, code) in sources() {
        let is_choice = file.starts_with("src/") || file.starts_with("models/src");
        assert!(
            is_choice || !code.contains("model::Offline") && !code.contains("Genai::new"),
            "{file} chooses a model"
        );
        let is_choice = file.starts_with("src/") || file.starts_with("runs/src/journal");
        assert!(
            is_choice || !code.contains("SqliteJournal") && !code.contains("PostgresJournal"),
            "{file} chooses a journal"
        );
    }
}

/// Absence 4; spec: ORC-11.6, ORC-3
#[test]
fn what_runs_are_about_is_not_in_the_code() {
    let platforms = [
        "linkedin",
        "twitter",
        "instagram",
        "facebook",
        "tiktok",
        "youtube",
        "mastodon",
        "bluesky",
        "threads.net",
    ];
    let others = [
        "hashtag campaign",
        "tone of voice:",
        "\"english\"",
        "\"german\"",
        "\"dutch\"",
        "\"french\"",
    ];
    let prompts = ["cortex/prompts", "agents/prompts", "sop/prompts"]
        .into_iter()
        .flat_map(|folder| {
            let entries = fs::read_dir(root().join(folder)).expect("a folder of the repository");
            entries.map(|entry| {
                let path = entry.expect("an entry").path();
                let text = fs::read_to_string(&path).expect("a prompt is text");
                (path.display().to_string(), text)
            })
        });
    let rooms = [
        "agents/", "api/", "cortex/", "gateway/", "models/", "runs/", "sdk/", "sop/",
    ];
    let code = sources()
        .into_iter()
        .filter(|(file, _)| rooms.iter().any(|room| file.starts_with(room)));
    for (file, text) in code.chain(prompts) {
        let text = text.to_lowercase();
        for word in platforms.iter().chain(&others) {
            assert!(
                !text.contains(word),
                "{file} holds {word:?}: that comes from payloads"
            );
        }
    }
}

/// Libraries for a protocol, a format or a store, with the rooms that know them.
const LIBRARIES: [(&str, &[&str]); 17] = [
    ("rmcp", &["gateway/mcp"]),
    ("genai", &["models"]),
    ("gcp_auth", &["models"]),
    ("opentelemetry", &["sdk"]),
    ("opentelemetry-otlp", &["sdk"]),
    ("opentelemetry_sdk", &["sdk"]),
    ("rusqlite", &["broker", "gateway/a2a", "runs"]),
    ("tokio-postgres", &["runs"]),
    ("deadpool-postgres", &["runs"]),
    ("object_store", &["claims"]),
    ("rdkafka", &["bus"]),
    ("pulldown-cmark", &["sop"]),
    ("serde-saphyr", &["documents"]),
    ("notify", &["documents"]),
    ("whatlang", &["agents"]),
    ("rustyline", &["."]),
    ("toml", &[".", "agents/files"]),
];

/// The members of the workspace, and the binary.
fn members() -> Vec<String> {
    let workspace = read("Cargo.toml");
    let members = workspace
        .lines()
        .find_map(|line| line.strip_prefix("members = "))
        .expect("there are members");
    let members = members.split('"').skip(1).step_by(2);
    members.chain(["."]).map(str::to_owned).collect()
}

/// Absence 11
#[test]
fn protocols_formats_and_stores_are_known_to_their_rooms_alone() {
    let mut known: Vec<(&str, Vec<String>)> = LIBRARIES
        .iter()
        .map(|(name, _)| (*name, Vec::new()))
        .collect();
    for member in members() {
        let manifest = read(&format!("{member}/Cargo.toml"));
        let Some((_, dependencies)) = manifest.split_once("\n[dependencies]\n") else {
            continue;
        };
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let names = dependencies
            .lines()
            .filter_map(|l| l.split(['.', ' ', '=']).next());
        for name in names {
            if let Some((_, rooms)) = known.iter_mut().find(|(known, _)| *known == name) {
                rooms.push(member.clone());
            }
        }
    }
    for ((name, rooms), (_, expected)) in known.iter_mut().zip(LIBRARIES) {
        rooms.sort();
        assert_eq!(*rooms, *expected, "who knows {name}");
    }
}

/// Files and folders of the repository that a document names in backticks, without placeholders and patterns.
fn named_in(document: &str) -> Vec<String> {
    let names = document.split('`').skip(1).step_by(2);
    let is_path = |name: &&str| {
        let is_plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-".contains(c));
        let rooms = ROOMS
            .into_iter()
            .chain(["bench", "docs", "examples", "tests"]);
        is_plain
            && rooms
                .into_iter()
                .any(|room| name.starts_with(&format!("{room}/")))
    };
    names.filter(is_path).map(str::to_owned).collect()
}

#[test]
fn documents_name_files_that_are_there() {
    let docs = fs::read_dir(root().join("docs")).expect("there are documents");
    let docs = docs.map(|entry| entry.expect("an entry").path());
    let own = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let mut named = 0;
    for document in docs.chain(own) {
        let text = fs::read_to_string(&document).expect("it is text");
        for path in named_in(&text) {
            let shown = document.display();
            assert!(
                root().join(&path).exists(),
                "{shown} names {path}, which is not there"
            );
            named += 1;
        }
    }
    assert!(named > 150, "{named} were found");
}

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
        let has_none = file != COUNTED && read(&file).contains("mpsc::channel()");
        assert!(
            !has_none && !code.contains("unbounded"),
            "{file} holds an unbounded queue"
        );
    }
}
