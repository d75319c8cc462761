//! The rooms and libraries that each room may know.

use super::{members, read, sources};

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

/// Absences 2 and 3
#[test]
fn rooms_know_only_those_below_them() {
    assert_eq!(depends_on("proto"), [""; 0]);
    assert_eq!(depends_on("runs"), [""; 0]);
    assert_eq!(depends_on("models"), ["proto", "runs"]);
    assert_eq!(
        depends_on("sdk"),
        ["metrics", "models", "proto", "runs", "sdk-macros"]
    );
    assert_eq!(depends_on("access"), [""; 0]);
    assert_eq!(depends_on("broker"), ["access", "metrics", "proto"]);
    assert_eq!(depends_on("agents"), ["sdk"]);
    assert_eq!(depends_on("agents/files"), ["mcp", "sdk"]);
    assert_eq!(depends_on("bus"), ["metrics", "sdk"]);
    assert_eq!(depends_on("claims"), [""; 0]);
    assert_eq!(depends_on("cortex"), ["access", "proto", "sdk"]);
    assert_eq!(depends_on("api"), ["access", "cortex", "proto", "sdk"]);
    assert_eq!(
        depends_on("gateway/a2a"),
        ["access", "outbound", "sdk", "terminal"]
    );
    assert_eq!(
        depends_on("gateway/bridge"),
        ["a2a", "bus", "claims", "metrics", "outbound", "sdk"]
    );
    assert_eq!(depends_on("gateway/kafka"), ["bus", "metrics", "sdk"]);
    assert_eq!(
        depends_on("page"),
        [
            "access", "metrics", "oidc", "proto", "sdk", "sop", "terminal", "workflow"
        ]
    );
    assert_eq!(depends_on("gateway/oidc"), ["access", "outbound"]);
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
        ["bus", "claims", "documents", "metrics", "sdk", "terminal"]
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
    ("pulldown-cmark", &["page", "sop"]),
    ("serde-saphyr", &["documents"]),
    ("notify", &["documents"]),
    ("whatlang", &["agents"]),
    ("rustyline", &["."]),
    ("toml", &[".", "access", "agents/files"]),
];

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
