//! Agents whose tools come from configured MCP servers.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::harness::{Process, System, eventually, free_address};

/// A minimal MCP server with one tool.
const SERVER: &str = r#"echo $$ > server.id
tool='{"name":"count_words","description":"Counts the words of a text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}'
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}';;
    *'"tools/list"'*) result="{\"tools\":[$tool]}";;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"there are five words"}]}';;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const SETTINGS: &str = "[mcp.desk]\ncommand = ['sh', 'server.sh']\n";

fn write(system: &System, file: &str, text: &str) {
    fs::write(system.folder().join(file), text).expect("the folder is there");
}

/// An agent with a tool of the server.
fn start(system: &System) -> (Process, Pid) {
    write(system, "server.sh", SERVER);
    write(system, "agenthub.toml", SETTINGS);
    let text = "name = 'clerk'\ndescription = 'Counts'\ntools = ['desk.count_words']\n";
    let agent = system.start_file("clerk", text, &["--ephemeral"]);
    let id = fs::read_to_string(system.folder().join("server.id")).expect("the server has begun");
    let id = id.trim().parse().expect("a process id");
    (agent, Pid::from_raw(id))
}

fn is_gone(process: Pid) -> Option<()> {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let is_over = status.is_ok_and(|status| status.contains("State:\tZ"));
    (is_over || kill(process, None).is_err()).then_some(())
}

/// spec: SOP-1.4, AGT-11.3
#[test]
fn a_tool_of_a_server_is_called_and_the_server_ends_with_its_agent() {
    let (system, _broker) = System::broker();
    let (agent, server) = start(&system);
    let question = [
        "publish",
        "--to",
        "clerk",
        "--wait",
        "desk_count_words \"of this text\"",
    ];
    let answer = system.run(&question, "");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("there are five words"), "{answer:?}");

    kill(server, Signal::SIGKILL).expect("it runs");
    eventually("the server is gone", || is_gone(server));
    let answer = system.run(&question, "");
    assert!(answer.stdout.contains("there are five words"), "{answer:?}");

    agent.signal(Signal::SIGTERM);
    let ended = agent.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let id = fs::read_to_string(system.folder().join("server.id")).expect("it was started again");
    let id = id.trim().parse().expect("a process id");
    assert!(is_gone(Pid::from_raw(id)).is_some());
}

#[test]
fn a_server_does_not_outlive_an_agent_that_is_killed() {
    let (system, _broker) = System::broker();
    let (agent, server) = start(&system);
    agent.kill();
    eventually("the server has ended", || is_gone(server));
}

/// spec: SOP-1.4, SOP-1.5
#[test]
fn a_name_that_the_settings_do_not_define_is_an_error_with_its_place() {
    let system = System::bare(free_address());
    write(&system, "server.sh", SERVER);
    write(&system, "agenthub.toml", SETTINGS);
    let check = |tools: &str, command: &str| {
        write(&system, "a.toml", &format!("name = 'a'\ntools = {tools}\n"));
        system.run(&["agent", command, "a.toml"], "")
    };
    for command in ["check", "run"] {
        let wrong = check("['dsk', 'mail']", command);
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        for part in [
            "a.toml:2:10: ",
            "did you mean `desk`?",
            "a.toml:2:17: ",
            "no tool `mail`",
        ] {
            assert!(wrong.stderr.contains(part), "{part}: {wrong:?}");
        }
    }
    for command in ["check", "run"] {
        let wrong = check("['desk.count']", command);
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(
            wrong.stderr.contains("did you mean `desk.count_words`?"),
            "{wrong:?}"
        );
    }
    let fine = check("['desk']", "check");
    assert_eq!(fine.code, Some(0), "{fine:?}");
    assert!(fine.stdout.contains("tools: desk"), "{fine:?}");
}
