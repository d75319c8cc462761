use std::fs;

use agenthub_mcp::toolshed::{Names, Servers};
use agenthub_sdk::model::Offline;

use super::*;

const WHOLE: &str = r#"
name = "agent_words"
description = "Counts words"
type = "worker"
version = "1.2.0"
model = "offline"
instructions = "Count with the tool."
temperature = 0.2

[limits]
turns = 4
tool_calls = 8
model_timeout_s = 30

[budget]
tokens = 10000
time_s = 60

[[skill]]
id = "count"
description = "Counts the words of a text"
tags = ["text"]
examples = ["count the words of this"]

[[tool]]
name = "count_words"
description = "Counts words"
command = ["wc", "-w"]
timeout_s = 5
env = ["LANG"]
input = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }
"#;

fn read(text: &str) -> anyhow::Result<Definition> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("agent.toml");
    fs::write(&path, text)?;
    fs::write(folder.path().join("who.md"), "You count.")?;
    Definition::of_file(&path)
}

/// The error with the folder left out.
fn wrong(text: &str) -> String {
    let error = format!("{:#}", read(text).expect_err(text));
    match error.find("agent.toml") {
        Some(start) => error[start..].to_owned(),
        None => error,
    }
}

/// spec: AGT-9.1, AGT-11.3
#[test]
fn everything_in_a_file_becomes_the_agent() {
    let agent = read(WHOLE).expect("it is right");
    assert_eq!(agent.agent_type, AgentType::Worker);
    assert_eq!(agent.model.as_deref(), Some("offline"));
    assert_eq!(agent.instructions, "Count with the tool.");
    assert_eq!((agent.limits.turns, agent.limits.tool_calls), (4, 8));
    assert_eq!(agent.limits.model_timeout_ms, 30_000);
    assert_eq!(
        agent.limits.agent_timeout_ms,
        Limits::default().agent_timeout_ms
    );
    assert_eq!(agent.budget.tokens, Some(10_000));
    assert_eq!(agent.budget.time_ms, Some(60_000));
    let tool = &agent.tools[0];
    assert_eq!(tool.command.line, ["wc", "-w"]);
    assert_eq!(tool.command.timeout.as_secs(), 5);
    assert_eq!(tool.command.environment, ["LANG"]);
    assert!(tool.command.folder.is_absolute());
    assert_eq!(tool.schema["properties"]["text"]["type"], "string");

    let builder = agent.builder(Arc::new(Offline));
    let card = builder.card();
    assert_eq!((&*card.name, &*card.version), ("agent_words", "1.2.0"));
    assert_eq!(card.skills[0].id, "count");
    assert_eq!(card.skills[0].name, "count");
    builder.build().expect("it is an agent");
}

/// spec: AGT-1.3, AGT-5.1, AGT-5.4
#[test]
fn a_name_is_enough_and_makes_a_worker() {
    let agent = read("name = 'a'").expect("it is right");
    assert_eq!(agent.agent_type, AgentType::Worker);
    assert_eq!(agent.limits, Limits::default());
    agent.builder(Arc::new(Offline)).build().expect("an agent");
    let lead = read("name = 'a'\ntype = 'supervisor'").expect("it is right");
    assert_eq!(lead.agent_type, AgentType::Supervisor);
}

/// A file from before there were types is read as it was, and gives the agent that it gives as a worker's.
///
/// spec: AGT-5.1, AGT-5.4
#[test]
fn a_file_without_a_type_gives_what_it_gives_as_a_workers() {
    let typed = |line: &str| {
        let text = WHOLE.replace("type = \"worker\"\n", line);
        assert_eq!(
            text.contains("type = \"worker\"\n"),
            line.contains("worker")
        );
        let definition = read(&text).expect("it is right");
        let parts = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            definition.model,
            definition.instructions,
            definition.temperature,
            definition.limits,
            definition.budget,
            definition.tools().collect::<Vec<_>>(),
        );
        let agent = definition.builder(Arc::new(Offline)).build();
        let agent = agent.expect("it is an agent");
        (agent.agent_type(), agent.card().clone(), parts)
    };
    let untyped = typed("");
    assert_eq!(untyped, typed("type = \"worker\"\n"));
    assert_eq!(untyped.0, AgentType::Worker);
    assert_eq!(AgentType::of(&untyped.1), AgentType::Worker);
    let lead = typed("type = \"supervisor\"\n");
    assert_ne!(untyped.1, lead.1, "the card says which it is");
    assert_eq!(AgentType::of(&lead.1), AgentType::Supervisor);
    assert_eq!(untyped.2, lead.2, "all else is as the file says");
}

#[test]
fn instructions_may_stand_in_a_file_beside_it() {
    let agent = read("name = 'a'\ninstructions = '@who.md'").expect("it is there");
    assert_eq!(agent.instructions, "You count.");
    let error = wrong("name = 'a'\ninstructions = '@nobody.md'");
    assert!(error.contains("cannot read the instructions"), "{error}");
    assert!(error.contains("nobody.md"), "{error}");
}

/// Each fault with its place and the values that are allowed there.
#[test]
fn errors_point_at_their_place() {
    let tool = "name = 'a'\n[[tool]]\nname = 't'\ndescription = ''\n";
    for (text, place, part) in [
        ("nme = 'a'", "1:1", "expected one of `name`, `description`"),
        ("description = 'x'", "1:1", "missing field `name`"),
        (
            "name = 'a'\ntype = 'boss'",
            "2:8",
            "expected `worker` or `supervisor`",
        ),
        ("name = ''", "1:8", "is no id"),
        ("name = 'a'\n[limits]\nturns = 0", "3:9", "nonzero"),
        ("name = 'a'\n[limits]\nturnes = 1", "3:1", "`turns`"),
        (
            "name = 'a'\n[budget]\ntokens = 'many'",
            "3:10",
            "invalid type",
        ),
        (
            "name = 'a'\n[budget]\ntime_s = 0",
            "3:10",
            "1 to 86400 seconds",
        ),
        (
            "name = 'a'\n[[skill]]\nid = 's'",
            "2:1",
            "missing field `description`",
        ),
        ("name = 'a'\nname = 'b'", "2:1", "duplicate key"),
        ("name = 'a", "1:10", "invalid literal string"),
        (tool, "2:1", "missing field `command`"),
        (
            &format!("{tool}command = []"),
            "5:11",
            "a program and its arguments",
        ),
        (&format!("{tool}command = 'wc'"), "5:11", "invalid type"),
        (
            &format!("{tool}command = ['wc']\nenv = ['A=b']"),
            "6:7",
            "no name of a variable",
        ),
        (
            &format!("{tool}command = ['wc']\ninput = {{ type = 'object', properties = 1 }}"),
            "6:9",
            "properties",
        ),
        (
            &format!("{tool}command = ['wc']\ninput = {{ text = 'The text' }}"),
            "6:9",
            "no JSON schema of an object",
        ),
        (
            "name = 'a'\n[[tools]]\nname = 't'",
            "2:1",
            "a tool of this file's own is a [[tool]]",
        ),
        (
            &format!(
                "{tool}command = ['wc']\n[[tool]]\nname = 't'\ndescription = ''\ncommand = ['wc']"
            ),
            "7:8",
            "two tools are called t",
        ),
        (
            "name = 'a'\n[[tool]]\nname = 'a b'",
            "3:8",
            "is no name of a tool",
        ),
    ] {
        let error = wrong(text);
        let (found, what) = error.split_once(": ").unwrap_or_default();
        assert_eq!(found, format!("agent.toml:{place}"), "{text}: {error}");
        assert!(what.contains(part), "{text}: {error}");
    }
}

#[test]
fn programs_that_are_not_here_are_named() {
    let tool = |program: &str| {
        format!("name = 'a'\n[[tool]]\nname = 't'\ndescription = ''\ncommand = ['{program}']")
    };
    let missing = |program: &str| read(&tool(program)).expect("right").missing_programs();
    assert_eq!(missing("sh"), [""; 0]);
    assert_eq!(
        missing("no-such-program"),
        ["the tool t runs no-such-program, which is not here"]
    );
    assert_eq!(missing("./nothing").len(), 1);
}

/// spec: SOP-1.4
#[tokio::test]
async fn names_of_the_settings_become_tools_and_agents_or_point_at_their_place() {
    #[derive(serde::Deserialize)]
    struct Settings {
        mcp: Servers,
        tools: Names,
    }
    let file =
        "[mcp.gone]\ncommand = ['no-such-program']\n[tools.translate]\nagent = 'translator'\n";
    let settings: Settings = toml::from_str(file).expect("right");
    let toolshed = Toolshed::new(&settings.mcp, &settings.tools);
    let wrong = async |text: &str| {
        let mut agent = read(text).expect("it is right but for the names");
        let known = agent.unknown_names(&toolshed);
        let errors = agent.equip(&toolshed).await.expect_err(text);
        let cut = |error: &String| error[error.find("agent.toml").unwrap_or(0)..].to_owned();
        let cut = |errors: Vec<String>| errors.iter().map(cut).collect::<Vec<_>>();
        (cut(known), cut(errors))
    };
    let (known, errors) = wrong("name = 'a'\ntools = ['translat',\n  'web.search', 'gone']").await;
    assert_eq!(
        errors,
        [
            "agent.toml:2:10: the settings define no tool `translat`; did you mean `translate`?",
            "agent.toml:3:3: the settings define no tool `web.search`; the settings define `gone`, `translate`",
        ]
    );
    assert_eq!(known, errors);
    let (known, errors) = wrong("name = 'a'\ntools = ['gone.x']").await;
    assert!(known.is_empty(), "{known:?}");
    assert!(
        errors[0].starts_with("agent.toml:2:10: the MCP server gone cannot be used"),
        "{errors:?}"
    );
    let (_, errors) = wrong("name = 'a'\ntools = ['translate']").await;
    assert!(
        errors[0].contains("a worker asks no other agents"),
        "{errors:?}"
    );

    let mut lead = read("name = 'a'\ntype = 'supervisor'\ntools = ['translate']").expect("right");
    lead.equip(&toolshed).await.expect("it is known");
    assert_eq!(lead.tools().collect::<Vec<_>>(), ["translate"]);
    lead.builder(Arc::new(Offline)).build().expect("an agent");
    toolshed.close().await;
}
