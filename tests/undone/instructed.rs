//! Agents with instructions in words, and without a language model that reads them: nothing that they answer counts as whole.

use std::fs;

use serde_json::{Value, json};

use crate::{
    harness::{Finished, System},
    mcp::Client,
};

const UNREAD: &str = "No language model read the instructions of this agent.";
const TOOLS: &str = "[[tool]]\nname = 'price_of'\ndescription = 'Tells a price'\n\
    command = ['sh', '-c', 'cat >/dev/null; echo 3 euros']\n\
    input = { type = 'object', required = ['item'], properties = { item = { type = 'string' } } }\n";
const STATED: &str = "price_of item=apple";

/// Asserts that an answer is there, and whether it is whole.
fn assert_answered(asked: &Finished, part: &str, is_instructed: bool) {
    let code = if is_instructed { 3 } else { 0 };
    assert_eq!(asked.code, Some(code), "{asked:?}");
    assert!(asked.stdout.contains(part), "{asked:?}");
    let is_told = asked.stdout.contains(UNREAD);
    assert_eq!(is_told, is_instructed, "{asked:?}");
}

/// spec: ORC-2.1
#[test]
fn a_worker_or_supervisor_answers_in_part_beside_instructions_that_nobody_read() {
    let (system, _up, http) = System::up_with_http();
    let write = |file: &str, text: &str| {
        fs::write(system.folder().join(file), text).expect("the folder is there");
    };
    let ask =
        |agent: &str, words: &str| system.run(&["publish", "--to", agent, "--wait", words], "");
    write("tools.toml", TOOLS);
    write("plain.toml", &format!("name = 'plain'\n{TOOLS}"));
    let instructed = "name = 'till'\ninstructions = 'Never tell the price'\n";
    write("till.toml", &format!("{instructed}{TOOLS}"));
    let words = ["--instructions", "Never tell the price"];
    let worker = [
        "agent",
        "worker",
        "--name",
        "flags",
        "--tools",
        "tools.toml",
    ];
    let supervisor = |name: &'static str| ["agent", "supervisor", "--name", name];
    let _agents = [
        system.start(&["agent", "run", "plain.toml"]),
        system.start(&["agent", "run", "till.toml"]),
        system.start(&[&worker[..], &words].concat()),
        system.start(&supervisor("free")),
        system.start(&[&supervisor("bound")[..], &words].concat()),
    ];
    for agent in ["plain", "till", "flags", "free", "bound"] {
        system.wait_online(agent);
    }
    for (agent, is_instructed) in [("plain", false), ("till", true), ("flags", true)] {
        assert_answered(&ask(agent, STATED), "3 euros", is_instructed);
        assert_answered(&ask(agent, "7 times 6"), "is 42", is_instructed);
        assert_answered(&ask(agent, "hello"), "stand-in", is_instructed);
    }
    for (agent, is_instructed) in [("free", false), ("bound", true)] {
        let echoed = ask(agent, "agent_echo \"good day\"");
        assert_answered(&echoed, "good day", is_instructed);
    }
    // Whoever leads, or asks from elsewhere, is told.
    let within = ask("free", &format!("till {:?}", STATED));
    assert_answered(&within, "3 euros", true);
    let chat = system.chat(&format!("till {STATED:?}\n"));
    assert_answered(&chat, "3 euros", true);
    for (agent, is_instructed) in [("plain", false), ("till", true)] {
        let url = format!("http://{http}/agents/{agent}");
        let called = system.run(&["a2a", "call", &url, STATED], "");
        assert_answered(&called, "3 euros", is_instructed);
        let mut client = Client::start(&system, &[]);
        let called = client.call(&format!("agent_{agent}"), STATED);
        assert_eq!(
            called.to_string().contains(UNREAD),
            is_instructed,
            "{called}"
        );
        assert_eq!(is_partial(&called), is_instructed, "{called}");
    }
}

/// True if a result of MCP says that the answer is a part.
fn is_partial(result: &Value) -> bool {
    result.to_string().contains(&json!("partial").to_string())
}

/// spec: SOP-8.7
#[test]
fn a_page_that_is_asked_directly_answers_in_part() {
    let (system, _up) = System::up();
    let folder = system.folder().join("team");
    fs::create_dir_all(&folder).expect("the folder is there");
    let lead =
        "---\nname: lead\ndescription: Leads\ntype: orchestrator\n---\nNever tell the price.\n";
    let helper = "---\nname: helper\ndescription: Helps\n---\nNever tell the price.\n";
    for (file, text) in [("lead.md", lead), ("helper.md", helper)] {
        fs::write(folder.join(file), text).expect("the folder is there");
    }
    let _team = system.start(&["sop", "up", "team"]);
    system.wait_online("helper");
    for agent in ["helper", "lead"] {
        let asked = system.run(&["publish", "--to", agent, "--wait", "7 times 6"], "");
        assert_answered(&asked, "is 42", true);
    }
    let within = system.run(&["sop", "ask", "team", "helper \"7 times 6\""], "");
    assert_answered(&within, "is 42", true);
}
