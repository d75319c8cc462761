//! Offers of a server, as an agent can use them.

use std::collections::{BTreeMap, BTreeSet};

use agenthub_sdk::{Tool, ToolContext};
use serde_json::Value;
use uuid::Uuid;

use super::{Connection, schema, text};

/// The longest name of a tool at its server, in bytes.
const MAX_NAME: usize = 128;

/// The longest name that models see, in bytes.
const MAX_FULL_NAME: usize = 64;

/// The most of a description that models see, in bytes.
const MAX_DESCRIPTION: usize = 4 * 1024;

/// The most tools that are left out one by one; the rest of them is counted.
const MAX_LEFT_OUT: usize = 64;

/// The tools of a server.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Tools that an agent can use, in the order of the server.
    pub tools: Vec<Offered>,
    /// Tools that no agent can use; the first 64 of them.
    pub left_out: Vec<LeftOut>,
}

/// A tool of a server that no agent can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name at the server, bounded; empty if it has none.
    pub name: String,
    /// The reason, in words for people.
    pub why: String,
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name at the server.
    pub name: String,
    /// The name that models see unless another is chosen: `SERVER_TOOL`.
    pub full_name: String,
    /// Its description for models.
    pub description: String,
    /// The schema of its input.
    pub schema: Value,
    /// Changes of the server's schema, if there are any.
    pub changed: Option<&'static str>,
    /// True if it may destroy something.
    changes: bool,
    connection: Connection,
}

impl Offered {
    /// The tool for an agent, under its full name.
    pub fn tool(&self) -> Tool {
        self.named(&self.full_name)
    }

    /// The tool for an agent, under another name.
    pub fn named(&self, name: &str) -> Tool {
        let (connection, tool) = (self.connection.clone(), self.name.clone());
        let changes = self.changes;
        let call = move |context: ToolContext, input: Value| {
            let (connection, tool) = (connection.clone(), tool.clone());
            async move { connection.call_for(&context, &tool, input, changes).await }
        };
        Tool::new(name, &*self.description, self.schema.clone(), call)
    }
}

/// The name under which a model sees a tool of a server: `SERVER_TOOL`, with `_` for what names may not contain, at most 64 bytes. A
/// longer one is cut and ends with a hash, so that it is the same every time and no other's.
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{server}_{tool}");
    let name = allowed(&whole);
    match name.len() > MAX_FULL_NAME {
        true => hashed(&name, &whole),
        false => name,
    }
}

fn allowed(name: &str) -> String {
    let allowed = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    name.chars().map(allowed).collect()
}

fn hashed(name: &str, whole: &str) -> String {
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, whole.as_bytes());
    let hash = &hash.simple().to_string()[..8];
    let room = MAX_FULL_NAME - 1 - hash.len();
    format!("{}_{hash}", &name[..name.len().min(room)])
}

/// The offer made of a server's list, as an agent can use it.
pub(super) fn offer(connection: &Connection, listed: Vec<Value>) -> Offer {
    let server = connection.name();
    let mut offer = Offer::default();
    let mut names = BTreeSet::new();
    for tool in listed {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        let read = match names.contains(&name) {
            true => Err("another tool of the server has the same name".to_owned()),
            false => offered(connection, &name, &tool),
        };
        match read {
            Ok(tool) => {
                names.insert(name);
                offer.tools.push(tool);
            }
            Err(why) if offer.left_out.len() < MAX_LEFT_OUT => {
                let name = text::line(&name, MAX_NAME);
                offer.left_out.push(LeftOut { name, why });
            }
            Err(_) => {}
        }
    }
    tell_apart(server, &mut offer.tools);
    offer
}

/// True if a tool may destroy something, as its server says; one that says nothing may.
fn changes(annotations: &Value) -> bool {
    annotations["readOnlyHint"] != true && annotations["destructiveHint"] != false
}

fn offered(connection: &Connection, name: &str, tool: &Value) -> Result<Offered, String> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(format!("its name is not 1 to {MAX_NAME} printable bytes"));
    }
    let schema = schema::fit(tool.get("inputSchema"))?;
    Ok(Offered {
        name: name.to_owned(),
        full_name: tool_name(connection.name(), name),
        description: description(tool),
        schema: schema.schema,
        changed: schema.changed,
        changes: changes(&tool["annotations"]),
        connection: connection.clone(),
    })
}

fn description(tool: &Value) -> String {
    let texts = [
        &tool["description"],
        &tool["title"],
        &tool["annotations"]["title"],
    ];
    let said = texts.into_iter().filter_map(Value::as_str).map(str::trim);
    let said = said.into_iter().find(|text| !text.is_empty());
    let near = text::head(said.unwrap_or_default(), MAX_DESCRIPTION);
    let is_plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    near.chars().filter(is_plain).collect()
}

/// Gives names of their own to tools whose names differ only in what names may not contain.
fn tell_apart(server: &str, tools: &mut [Offered]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for tool in &*tools {
        *counts.entry(tool.full_name.clone()).or_default() += 1;
    }
    for tool in tools {
        let whole = format!("{server}_{}", tool.name);
        if counts[&tool.full_name] > 1 && tool.full_name != whole {
            tool.full_name = hashed(&tool.full_name, &whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::{Reach, ServerSettings};
    use serde_json::json;

    #[test]
    fn a_tool_that_says_nothing_may_destroy_something() {
        for (annotations, expected) in [
            (json!(null), true),
            (json!({"readOnlyHint": false}), true),
            (json!({"readOnlyHint": true}), false),
            (json!({"destructiveHint": false}), false),
            (json!({"destructiveHint": true}), true),
        ] {
            assert_eq!(changes(&annotations), expected, "{annotations}");
        }
    }

    fn connection() -> Connection {
        Connection::new(ServerSettings {
            name: "web".to_owned(),
            reach: Reach::Command {
                line: vec!["true".to_owned()],
                folder: None,
                environment: Vec::new(),
            },
            timeout: Duration::from_secs(1),
        })
    }

    fn of(tools: Value) -> Offer {
        let tools = tools.as_array().expect("an array").clone();
        offer(&connection(), tools)
    }

    /// spec: SOP-1.4
    #[tokio::test]
    async fn a_tool_is_named_after_its_server_and_described_as_by_it() {
        let offer = of(json!([
            {"name": "search", "title": "Search", "description": " Finds\u{7} pages\nfast ", "inputSchema": {"type": "object"}},
            {"name": "fetch page", "title": "Fetches"},
        ]));
        let tools: Vec<_> = offer.tools.iter().map(Offered::tool).collect();
        let told: Vec<_> = tools.iter().map(|t| (t.name(), t.description())).collect();
        assert_eq!(
            told,
            [
                ("web_search", "Finds pages\nfast"),
                ("web_fetch_page", "Fetches")
            ]
        );
        assert_eq!(offer.left_out, []);
        assert_eq!(offer.tools[0].named("find").name(), "find");
    }

    #[tokio::test]
    async fn one_that_cannot_be_used_is_left_out_alone() {
        let offer = of(json!([
            {"name": "a", "inputSchema": {"type": "string"}},
            {"name": "b", "inputSchema": {"type": "object"}},
            {"name": "b", "description": "another"},
            {"name": "x".repeat(200)},
            {"description": "nameless"},
            "nonsense",
        ]));
        assert_eq!(offer.tools.len(), 1);
        let left_out: Vec<_> = offer.left_out.iter().map(|l| (&*l.name, &*l.why)).collect();
        assert_eq!(
            left_out[0],
            ("a", "its input is of type \"string\", not an object")
        );
        assert_eq!(
            left_out[1],
            ("b", "another tool of the server has the same name")
        );
        assert!(
            left_out[2].0.len() < 140 && left_out[2].1.contains("1 to 128"),
            "{left_out:?}"
        );
        assert_eq!(left_out.len(), 5);
    }

    #[tokio::test]
    async fn names_that_clash_are_told_apart_whatever_the_order() {
        let names = |tools: Value| -> BTreeMap<String, String> {
            of(tools)
                .tools
                .into_iter()
                .map(|t| (t.name, t.full_name))
                .collect()
        };
        let one = names(json!([{"name": "a b"}, {"name": "a_b"}, {"name": "a.b"}]));
        let other = names(json!([{"name": "a.b"}, {"name": "a_b"}, {"name": "a b"}]));
        assert_eq!(one, other);
        assert_eq!(one["a_b"], "web_a_b");
        let different: BTreeSet<_> = one.values().collect();
        assert_eq!(different.len(), 3, "{one:?}");
        let long = ["x".repeat(100), format!("{}y", "x".repeat(99))].map(|n| tool_name("web", &n));
        assert_eq!(long.each_ref().map(String::len), [64, 64]);
        assert_ne!(long[0], long[1]);
    }

    #[tokio::test]
    async fn a_huge_description_is_cut() {
        let offer = of(json!([{"name": "a", "description": "x".repeat(1_000_000)}]));
        let description = &offer.tools[0].description;
        assert!(description.len() < MAX_DESCRIPTION + 40);
        assert!(description.ends_with("bytes left out]"), "{description}");
    }
}
