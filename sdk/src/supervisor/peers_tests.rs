use super::*;
use crate::{Card, Skill};

fn entry(name: &str, online: bool) -> DirectoryEntry {
    let skill = Skill::new("work", "Work", "Works").examples(["do it"]);
    let card = Card::new(name, format!("The agent\n {name}")).skill(skill);
    DirectoryEntry {
        card: Arc::new(card.into()),
        online,
    }
}

fn entries(names: &[&str]) -> Vec<DirectoryEntry> {
    names.iter().map(|name| entry(name, true)).collect()
}

fn own(name: &str) -> Offered {
    let tool = Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    Offered { tool, agent: None }
}

fn tool_names(offered: &[Offered]) -> Vec<&str> {
    offered.iter().map(|o| &*o.tool.name).collect()
}

fn check_names(own_tools: &[&str], agents: &[&str], expected: &[&str]) {
    let own = own_tools.iter().map(|name| own(name)).collect();
    let offered = offered(own, &entries(agents), &[], &Query::default());
    assert_eq!(tool_names(&offered), expected);
}

/// spec: AGT-12.5
#[test]
fn an_agents_tool_is_called_after_its_slug() {
    check_names(&[], &[], &[]);
    check_names(&["add"], &["Hello World"], &["add", "agent_hello-world"]);
    check_names(&[], &["agent_echo"], &["agent_echo"]);
    check_names(
        &[],
        &["agent_echo", "echo"],
        &["agent_agent_echo", "agent_echo"],
    );
    check_names(
        &["agent_echo"],
        &["agent_echo"],
        &["agent_echo", "agent_agent_echo"],
    );
}

/// spec: AGT-12.4
#[test]
fn who_is_away_or_excluded_is_not_offered() {
    let mut all = entries(&["a", "b", "me"]);
    all.push(entry("away", false));
    let excluded = ["me".to_owned(), "b".to_owned()];
    let offered = offered(Vec::new(), &all, &excluded, &Query::default());
    assert_eq!(tool_names(&offered), ["agent_a"]);
}

#[test]
fn there_is_room_for_64_and_for_what_was_found() {
    let mut names: Vec<String> = (0..70).map(|n| format!("a{n:02}")).collect();
    names.push("translator".to_owned());
    let all: Vec<DirectoryEntry> = names.iter().map(|name| entry(name, true)).collect();
    let query = Query {
        words: "ask the translator".to_owned(),
        found: vec!["a69".to_owned()],
    };
    let many = offered(vec![own("add")], &all, &[], &query);
    assert_eq!(many.len(), 64);
    let names = tool_names(&many);
    for name in [
        "add",
        "find_agents",
        "agent_translator",
        "agent_a69",
        "agent_a00",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(!names.contains(&"agent_a68"), "{names:?}");
    let find = many.iter().find(|o| o.tool.name == "find_agents");
    let told = find.map(|o| o.tool.description.clone()).unwrap_or_default();
    assert!(told.contains("9 agents are here"), "{told}");

    let few = offered(vec![own("add")], &all[..63], &[], &query);
    assert_eq!(few.len(), 64);
    assert!(!tool_names(&few).contains(&"find_agents"));
}

/// spec: AGT-12.5
#[test]
fn what_a_supervisor_offers() {
    let schema = json!({"type": "object", "properties": {"lang": {"type": "string"}}});
    let translator = Card::new("Translator", "Translates\n\u{7}texts\ninto other languages")
        .skill(
            Skill::new("translate", "Translate", "Translates a text")
                .examples(["say hi in French"]),
        )
        .skill(Skill::new("detect", "Detect", "Tells the language"))
        .input_schema("translate", schema);
    let shout = Card::new("agent_shout", "Makes texts louder")
        .skill(Skill::new("shout", "Shout", "Says it in capitals"))
        .input_schema("shout", json!({"type": "object", "required": ["text"]}));
    let bare = Card::new("bare", "");
    let all: Vec<DirectoryEntry> = [translator, shout, bare]
        .map(|card| DirectoryEntry {
            card: Arc::new(card.into()),
            online: true,
        })
        .into();
    insta::assert_json_snapshot!(offered(vec![own("add")], &all, &[], &Query::default()));
}

#[test]
fn schemas_that_refer_to_themselves_are_written_out_or_left_out() {
    let size = json!({"enum": ["small", "large"]});
    let refers = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"size": {"$ref": "#/$defs/Size"}},
        "$defs": {"Size": size},
    });
    let whole = standing_alone(&refers).expect("it can be written out");
    assert_eq!(
        whole,
        json!({"type": "object", "properties": {"size": size}})
    );
    let circular = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert_eq!(standing_alone(&circular), None);
    let remote = json!({"$ref": "https://example.com/s.json"});
    assert_eq!(standing_alone(&remote), None);
    let long = json!({"type": "object", "title": "x".repeat(MAX_SCHEMA)});
    assert_eq!(standing_alone(&long), None);
}

#[test]
fn what_agents_answer_is_bounded() {
    let delegated = bounded(Delegated {
        text: "x".repeat(100_000),
        data: vec![json!("y".repeat(100_000)), json!(1)],
        ..Delegated::default()
    });
    assert!(delegated.text.len() < bounds::MAX_TOLD + 64);
    assert_eq!(delegated.data.len(), 1);
    assert!(delegated.data[0].to_string().len() < bounds::MAX_TOLD + 1_000);
}
