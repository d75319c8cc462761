//! Tools of a file that are programs.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use agenthub_sdk::Tool;
use serde_json::{Value, json};
use toml::Spanned;

use crate::{
    command::Command,
    file::{Source, ToolTable},
};

/// Time by which a call of a tool may last longer than its program.
const STOPPING: Duration = Duration::from_secs(5);

/// A tool that is a program.
#[derive(Clone, Debug)]
pub(crate) struct CommandTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) command: Command,
}

impl CommandTool {
    pub(crate) fn tool(&self) -> Tool {
        let command = Arc::new(self.command.clone());
        let call = move |context, input| {
            let command = Arc::clone(&command);
            async move { command.call(context, input).await }
        };
        Tool::new(&*self.name, &*self.description, self.schema.clone(), call)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.command.timeout.saturating_add(STOPPING)
    }
}

/// The tools of a file, each of which an agent would take.
pub(crate) fn tools(
    source: &Source,
    tables: Vec<Spanned<ToolTable>>,
) -> anyhow::Result<Vec<CommandTool>> {
    let folder = source.folder()?;
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for table in tables {
        let start = table.span().start;
        let table = table.into_inner();
        let name_at = table.name.span().start;
        let name = table.name.into_inner().0;
        if !names.insert(name.clone()) {
            return Err(source.error(name_at, &format!("two tools are called {name}: rename one")));
        }
        let (schema, schema_at) = match table.input {
            Some(input) => {
                let at = input.span().start;
                let input = input.into_inner();
                if input.get("type") != Some(&json!("object")) {
                    return Err(source.error(at, &format!(
                        "the tool {name} cannot be used: its input is no JSON schema of an object, such as \
                         {{ type = \"object\", properties = {{ text = {{ type = \"string\" }} }}, required = [\"text\"] }}"
                    )));
                }
                (Value::Object(input), at)
            }
            None => (
                json!({"type": "object", "additionalProperties": false}),
                start,
            ),
        };
        let tool = CommandTool {
            name,
            description: table.description,
            schema,
            command: Command {
                line: table.command.0,
                folder: folder.clone(),
                environment: table.env.into_iter().map(|v| v.0).collect(),
                timeout: table.timeout_s.duration(),
            },
        };
        Tool::check_schema(&tool.schema).map_err(|error| {
            source.error(
                schema_at,
                &format!("the tool {} cannot be used: {error}", tool.name),
            )
        })?;
        tools.push(tool);
    }
    Ok(tools)
}
