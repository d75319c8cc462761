//! Every command with TLS and a token, as without (issue 25, *Done when*).

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::Scene;
use crate::harness::Finished;

/// Commands that call a hub or what is beside it, with what is on standard input, the exit code, and a part of the output.
const COMMANDS: &[(&[&str], &str, i32, &str)] = &[
    (&["agents", "list"], "", 0, "agent_echo"),
    (&["agents", "show", "agent_echo"], "", 0, "agent_echo"),
    (&["agents", "outside"], "", 0, "no agents added"),
    (
        &["publish", "--to", "agent_echo", "--wait", "echo \"hello\""],
        "",
        0,
        "hello",
    ),
    (
        &["publish", "--to", "agent_echo", "--task", "t1", "again"],
        "",
        0,
        "",
    ),
    (&["tasks", "watch", "t1"], "", 0, "completed"),
    (&["tasks", "list"], "", 0, "completed"),
    (&["tasks", "show", "t1"], "", 0, "again"),
    (&["tasks", "cancel", "t1"], "", 1, ""),
    (&["mailboxes", "list"], "", 0, "agent_echo"),
    (&["mailboxes", "show", "agent_echo"], "", 0, "agent_echo"),
    (&["mailboxes", "dead-letters"], "", 0, ""),
    (&["access", "whoami"], "", 0, "root (admin)"),
    (
        &["access", "explain", "--as", "root", "--do", "operate"],
        "",
        0,
        "allowed",
    ),
    (&["chat"], "echo \"over TLS\"\n", 0, "over TLS"),
    (&["run", "brief.yaml"], "", 3, "Come to our open day"),
    (&["runs", "list"], "", 0, "over TLS"),
    (&["runs", "show", "latest"], "", 0, ""),
    (&["runs", "steps", "latest"], "", 0, ""),
    (&["runs", "plan", "latest"], "", 0, ""),
    (&["runs", "graph", "latest"], "", 0, ""),
    (&["runs", "events", "latest"], "", 0, ""),
    (&["workflow", "run", "echo.yaml"], "", 0, "over TLS"),
    (&["workflow", "validate", "echo.yaml"], "", 0, ""),
    (
        &["mcp"],
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n",
        0,
        "agenthub",
    ),
    (&["tokens", "list"], "", 0, "root"),
    (&["audit", "verify"], "", 0, ""),
];

/// Commands that serve until they are stopped, with a part of the line that says that they are connected.
const SERVERS: &[(&[&str], &str)] = &[
    (&["agent", "echo", "--name", "agent_echo2"], "connected"),
    (&["agent", "writer", "--name", "writer2"], "connected"),
    (
        &[
            "agent",
            "worker",
            "--name",
            "w2",
            "--instructions",
            "Be brief",
            "--description",
            "Works",
        ],
        "connected",
    ),
    (
        &[
            "agent",
            "supervisor",
            "--name",
            "lead2",
            "--description",
            "Leads",
        ],
        "connected",
    ),
    (&["sop", "up", "team", "--json"], "https://"),
    (&["workflow", "serve", "flows", "--json"], "https://"),
];

/// Commands that need no hub, or work on files and other servers, with the reason why they are not in the tables.
const ELSEWHERE: &[(&str, &str)] = &[
    ("up", "it is the hub"),
    ("broker", "it is the hub"),
    ("cortex", "see cortex.rs"),
    ("sop", "`up` is among those that serve"),
    ("agent", "among those that serve"),
    ("executor", "tests/tls.rs"),
    ("bridge", "Kafka alone"),
    ("connect", "Kafka"),
    ("a2a", "below"),
    ("namespaces", "files of the hub"),
    ("context", "tests/tls.rs"),
    ("certs", "files"),
    ("log", "files of a hub that does not run"),
    ("completions", "no hub"),
    ("help", "no hub"),
];

fn told(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_works_with_tls_and_a_token_as_without() {
    let scene = Scene::start().await;
    scene.issue("root", "admin");
    let folder = scene.system.folder().to_owned();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
        fs::write(file, text).expect("it is written");
    };
    write(
        "brief.yaml",
        "objective: Invite everybody\npayload:\n  clientBrief: Come to our open day on 12 May.\n  mustInclude: ['12 May']\n  language: en\n",
    );
    let workflow =
        "name: echo\nsteps:\n  say:\n    agent: agent_echo\n    text: over TLS\noutput: ${say}\n";
    write("echo.yaml", workflow);
    write("flows/echo.yaml", workflow);
    write("team/helper.sop.md", HELPER);
    let with_token = |args: &[&str]| -> Vec<String> {
        let flags = ["--token-file", "root.token"];
        args.iter()
            .chain(&flags)
            .map(|&arg| arg.to_owned())
            .collect()
    };
    let mut faults = Vec::new();
    for (args, input, code, part) in COMMANDS {
        let args = with_token(args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = scene.run(&args, input);
        if done.code != Some(*code) || !told(&done).contains(part) {
            faults.push(format!("{args:?}: {done:?}"));
        }
    }
    for (args, part) in SERVERS {
        let args = with_token(args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let server = scene.start_client(&args);
        let line = server.line_with(part);
        if line.is_empty() {
            faults.push(format!("{args:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A command that is in no table fails.
#[tokio::test(flavor = "multi_thread")]
async fn every_command_is_in_a_table() {
    let system = crate::harness::System::bare(crate::harness::free_address());
    let help = system.run(&["--help"], "");
    let (_, commands) = help.stdout.split_once("Commands:\n").expect("commands");
    let (commands, _) = commands.split_once("\n\n").expect("options follow");
    let all: BTreeSet<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let tables = COMMANDS.iter().map(|(args, ..)| args[0]);
    let listed: BTreeSet<&str> = tables
        .chain(ELSEWHERE.iter().map(|(name, _)| *name))
        .collect();
    assert_eq!(all, listed);
}

/// The token of a process is its hub's: other servers get the one that is named for them, if any.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_hub_goes_to_no_other_server() {
    let scene = Scene::start().await;
    scene.issue("root", "admin");
    let echo = format!("https://{}/agents/agent_echo", scene.http);
    let call = ["a2a", "call", &echo, "good day"];
    let own = [&call[..], &["--token-file", "root.token"]].concat();
    let refused = scene.run(&own, "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("401"), "{refused:?}");
    let bearer = [&call[..], &["--bearer", "file:root.token"]].concat();
    let done = scene.run(&bearer, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("good day"), "{done:?}");
    let card = [
        "a2a",
        "card",
        &echo,
        "--json",
        "--bearer",
        "file:root.token",
    ];
    let card = scene.run(&card, "");
    let card: Value = serde_json::from_str(&card.stdout).expect("JSON");
    assert_eq!(card["name"], "agent_echo");
}

/// A page of a team.
const HELPER: &str = "---\nname: helper\ndescription: Helps with small things\ntype: orchestrator\n---\n\n# Helper\n\n## Overview\n\nYou help.\n\n## Steps\n\n### 1. Help\n\nHelp with what is asked.\n";
