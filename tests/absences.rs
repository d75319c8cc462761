//! Checks the absences of `docs/ARCHITECTURE.md`.

mod code;
mod rooms;

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOMS: [&str; 20] = [
    "access",
    "agents",
    "api",
    "bench",
    "broker",
    "bus",
    "claims",
    "cortex",
    "documents",
    "gateway",
    "metrics",
    "models",
    "page",
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
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !is_test(&name) {
                let text = read(&name);
                let code = text.split("#[cfg(test)]\nmod tests {").next();
                found.push((name, code.unwrap_or_default().to_owned()));
            }
        }
    }
    assert!(found.len() > 50, "the rooms were found");
    found
}

/// True if a file has nothing but tests.
fn is_test(file: &str) -> bool {
    let names = file.trim_end_matches(".rs").split('/');
    let mut tests =
        names.filter(|name| *name == "tests" || name.ends_with("_tests") || *name == "contract");
    // What an agent in a test keeps to is part of the SDK.
    file != "sdk/src/contract.rs" && tests.next().is_some()
}

/// Absence 1
#[test]
fn decisions_know_neither_runtime_nor_network() {
    for file in [
        "access/src/action.rs",
        "access/src/agent_id.rs",
        "access/src/audit/records.rs",
        "access/src/audit/repeats.rs",
        "access/src/calls.rs",
        "access/src/calls/routes.rs",
        "access/src/calls/rpcs.rs",
        "access/src/decision.rs",
        "access/src/quota.rs",
        "access/src/needs.rs",
        "access/src/permit.rs",
        "access/src/policy.rs",
        "broker/src/routing.rs",
        "broker/src/behalf.rs",
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
        "cortex/src/orchestrator/echoed.rs",
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
        "gateway/kafka/src/incoming.rs",
        "gateway/kafka/src/outgoing.rs",
        "gateway/kafka/src/outgoing/bodies.rs",
        "gateway/kafka/src/positions.rs",
        "gateway/kafka/src/settings.rs",
        "gateway/kafka/src/starting.rs",
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
        "runs/src/fork.rs",
        "page/src/plan/layers.rs",
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

/// Files and folders of the repository that a document names in backticks, without placeholders and patterns.
fn named_in(document: &str) -> Vec<String> {
    let names = document.split('`').skip(1).step_by(2);
    let is_path = |name: &&str| {
        let is_plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-".contains(c));
        let rooms = ROOMS.into_iter().chain(["docs", "examples", "tests"]);
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
    let docs = docs
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file());
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
