//! The tools of an agent, checked.

use std::{panic::AssertUnwindSafe, sync::Arc};

use agenthub_runs::{ToolOutput, model::ToolCall};
use futures_util::FutureExt;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Tool, ToolContext, input};
use crate::bounds;

/// The most tools that a model is offered.
pub(crate) const MAX_TOOLS: usize = 64;

/// The longest name of a tool.
const MAX_NAME: usize = 64;

/// Tools whose names are their own and whose schemas are compiled. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolbox(Arc<[Checked]>);

#[derive(Debug)]
struct Checked {
    tool: Tool,
    validator: Validator,
}

impl Toolbox {
    /// Checks the tools.
    ///
    /// # Errors
    ///
    /// The tool that cannot be used, why, and what to do about it.
    pub(crate) fn new(tools: Vec<Tool>) -> Result<Self, String> {
        if tools.len() > MAX_TOOLS {
            let count = tools.len();
            return Err(format!(
                "it has {count} tools, and a model is offered {MAX_TOOLS} at most: leave some out"
            ));
        }
        let mut checked: Vec<Checked> = Vec::new();
        for tool in tools {
            let name = tool.name();
            if !is_name(name) {
                return Err(format!(
                    "the tool name {name:?} is not one to {MAX_NAME} of the characters A-Z, a-z, 0-9, _ and -"
                ));
            }
            if checked.iter().any(|c| c.tool.name() == name) {
                return Err(format!("two tools are called {name}: rename one"));
            }
            let validator = input::compile(tool.schema())
                .map_err(|error| format!("the tool {name} cannot be used: {error}"))?;
            checked.push(Checked { tool, validator });
        }
        Ok(Self(checked.into()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.0.iter().map(|checked| &checked.tool)
    }

    /// True if a person has to allow calls of one of them.
    pub(crate) fn needs_approval(&self) -> bool {
        self.tools().any(Tool::needs_approval)
    }

    /// The reason why a call cannot be made, if there is one.
    pub(crate) fn refusal(&self, tool: &str, arguments: &Value) -> Option<String> {
        let found = self.0.iter().find(|c| c.tool.name() == tool);
        let Some(Checked { validator, .. }) = found else {
            return Some(format!("there is no tool {tool}"));
        };
        input::violations(validator, &given(arguments))
    }

    /// Calls a tool. What is wrong with the call, or goes wrong in it, is an output for the model as well.
    pub(crate) async fn call(&self, context: ToolContext, call: &ToolCall) -> ToolOutput {
        let Some(Checked { tool, validator }) = self.0.iter().find(|c| c.tool.name() == call.name)
        else {
            return ToolOutput::error(format!("there is no tool {}", call.name));
        };
        let arguments = given(&call.arguments);
        if let Some(violations) = input::violations(validator, &arguments) {
            return ToolOutput::error(violations);
        }
        let calling = AssertUnwindSafe(async { (tool.function)(context, arguments).await });
        let output = calling.catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(tool = tool.name(), "a tool panicked");
            ToolOutput::error("it broke off; the log of its agent says more")
        });
        ToolOutput {
            value: bounds::told(output.value),
            ..output
        }
    }
}

/// Models write nothing at all where there is nothing to say.
fn given(arguments: &Value) -> Value {
    match arguments {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    }
}

fn is_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        let schema = json!({"type": "object"});
        Tool::new(name, "", schema, async |_, _| Ok(""))
    }

    fn refused(tools: Vec<Tool>) -> String {
        Toolbox::new(tools).expect_err("they cannot be used")
    }

    /// spec: AGT-11.3
    #[test]
    fn names_are_checked_and_each_is_there_once() {
        for name in ["", "two words", "ä", &"x".repeat(65)] {
            let error = refused(vec![tool(name)]);
            assert!(error.contains("the tool name"), "{error}");
        }
        let error = refused(vec![tool("a"), tool("b"), tool("a")]);
        assert_eq!(error, "two tools are called a: rename one");
        let many = (0..65).map(|n| tool(&n.to_string())).collect();
        assert!(refused(many).contains("65 tools"));
        let fine = Toolbox::new(vec![tool("Add-1"), tool(&"x".repeat(64))]);
        assert_eq!(fine.map(|t| t.tools().count()), Ok(2));
    }

    #[test]
    fn what_is_no_struct_is_no_input() {
        let tool = Tool::typed("t", "", async |_: ToolContext, _: String| Ok(""));
        let error = refused(vec![tool]);
        assert!(error.contains("the tool t"), "{error}");
        assert!(error.contains("use a struct"), "{error}");
    }
}
