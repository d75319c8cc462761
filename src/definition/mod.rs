//! An agent that thinks with a model, as the command line or a file describes it.

mod command;
mod file;
mod named;
mod text;

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use agenthub_cortex::CORTEX;
use agenthub_mcp::toolshed::Toolshed;
use agenthub_proto::slug::slug;
use agenthub_sdk::{
    Agent, AgentBuilder, AgentType, Card, Skill, Tool,
    model::LanguageModel,
    runs::{Budget, tool_loop::Limits},
};
use anyhow::{Context, bail};
use serde_json::{Value, json};
use toml::Spanned;

use self::{
    command::Command,
    file::{AgentFile, Kind, SkillTable, Source, ToolTable, ToolsFile},
    named::Named,
    text::Instructions,
};
use crate::cli::Thinking;

/// Time by which a call of a tool may last longer than its program.
const STOPPING: Duration = Duration::from_secs(5);

/// An agent, but for its model and its hub.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The id that the hub knows it by.
    pub(crate) name: String,
    /// What it is.
    pub(crate) agent_type: AgentType,
    /// The model, if one is named.
    pub(crate) model: Option<String>,
    card: Card,
    instructions: String,
    temperature: Option<f64>,
    limits: Limits,
    budget: Budget,
    tools: Vec<CommandTool>,
    named: Named,
}

/// A tool that is a program.
#[derive(Clone, Debug)]
struct CommandTool {
    name: String,
    description: String,
    schema: Value,
    command: Command,
}

impl Definition {
    /// The agent of the command line.
    ///
    /// # Errors
    ///
    /// A file that it names cannot be used; in one line that says which, and where in it.
    pub(crate) fn of_arguments(agent_type: AgentType, args: &Thinking) -> anyhow::Result<Self> {
        let description = args.description.clone().unwrap_or_else(|| {
            let what = match agent_type {
                AgentType::Supervisor => "Leads other agents and answers with their help",
                AgentType::Worker => "Answers with a language model and its tools",
            };
            what.to_owned()
        });
        let instructions = match args.instructions.clone().map(Instructions::from) {
            Some(instructions) => instructions.read(Path::new(""))?,
            None => String::new(),
        };
        let tools = match &args.tools {
            Some(path) => {
                let source = Source::read(path)?;
                tools(&source, source.parse::<ToolsFile>()?.tools)?
            }
            None => Vec::new(),
        };
        let mut limits = Limits::default();
        limits.turns = args.turns.unwrap_or(limits.turns);
        Ok(Self {
            name: args.name.clone(),
            agent_type,
            model: args.place.model.model.clone(),
            card: Card::new(&*args.name, description),
            instructions,
            temperature: None,
            limits,
            budget: Budget {
                tokens: args.tokens,
                ..Budget::default()
            },
            tools,
            named: Named::default(),
        })
    }

    /// The agent of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be used; in one line with its path, and the line and column of what is wrong.
    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let source = Source::read(path)?;
        let file: AgentFile = source.parse()?;
        let mut card = Card::new(&*file.name.0, file.description);
        if let Some(version) = file.version {
            card = card.version(version);
        }
        let defaults = Limits::default();
        Ok(Self {
            name: file.name.0,
            agent_type: match file.kind {
                Kind::Worker => AgentType::Worker,
                Kind::Supervisor => AgentType::Supervisor,
            },
            model: file.model,
            card: file.skills.into_iter().map(skill).fold(card, Card::skill),
            instructions: match file.instructions {
                Some(instructions) => instructions.read(&source.folder()?)?,
                None => String::new(),
            },
            temperature: file.temperature,
            limits: Limits {
                turns: file.limits.turns.map_or(defaults.turns, Into::into),
                tool_calls: file.limits.tool_calls.unwrap_or(defaults.tool_calls),
                agent_timeout_ms: millis(file.limits.agent_timeout_s, defaults.agent_timeout_ms),
                model_timeout_ms: millis(file.limits.model_timeout_s, defaults.model_timeout_ms),
                ..defaults
            },
            budget: Budget {
                tokens: file.budget.tokens,
                calls: file.budget.calls,
                time_ms: file.budget.time_s.map(text::Seconds::millis),
                depth: file.budget.depth,
                ..Budget::default()
            },
            named: Named::read(&source, file.named),
            tools: tools(&source, file.tools)?,
        })
    }

    /// Refuses a name that others rely on to be somebody else.
    ///
    /// # Errors
    ///
    /// In one line that says what to do.
    pub(crate) fn check_name(&self) -> anyhow::Result<()> {
        check_name(&self.name)
    }

    /// The names of its own tools, and those that it takes from the settings.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        let own = self.tools.iter().map(|tool| tool.name.as_str());
        own.chain(self.named.names())
    }

    /// What is wrong with the names that it takes from the settings, as far as that can be told without asking a server; one line each,
    /// with its place.
    pub(crate) fn unknown_names(&self, toolshed: &Toolshed) -> Vec<String> {
        self.named.unknown(self.agent_type, toolshed)
    }

    /// Takes what it names from the toolshed, which connects to the servers among it.
    ///
    /// # Errors
    ///
    /// The faults; one line each, with its place.
    pub(crate) async fn equip(&mut self, toolshed: &Toolshed) -> Result<(), Vec<String>> {
        self.named.resolve(self.agent_type, toolshed).await
    }

    /// Programs and variables that its tools need and this machine does not have.
    pub(crate) fn missing_programs(&self) -> Vec<String> {
        let missing = self.tools.iter().filter(|tool| !tool.command.is_there());
        missing
            .map(|tool| {
                let program = tool.command.program();
                format!(
                    "the tool {} runs {}, which is not here",
                    tool.name,
                    program.display()
                )
            })
            .collect()
    }

    /// The agent on a model.
    pub(crate) fn builder(&self, model: Arc<dyn LanguageModel>) -> AgentBuilder {
        let agent = match self.agent_type {
            AgentType::Supervisor => Agent::supervisor(self.card.clone()),
            AgentType::Worker => Agent::worker(self.card.clone()),
        };
        let own = self.tools.iter().map(CommandTool::longest);
        let longest = own.chain(self.named.longest()).max();
        let limits = Limits {
            tool_timeout_ms: longest.map_or(self.limits.tool_timeout_ms, to_millis),
            ..self.limits
        };
        let agent = agent
            .model(model)
            .instructions(&*self.instructions)
            .limits(limits)
            .budget(self.budget)
            .tools(self.tools.iter().map(CommandTool::tool));
        let agent = self.named.given_to(agent);
        match self.temperature {
            Some(temperature) => agent.temperature(temperature),
            None => agent,
        }
    }
}

impl Instructions {
    fn read(self, folder: &Path) -> anyhow::Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::File(file) => {
                let file = folder.join(file);
                fs::read_to_string(&file)
                    .with_context(|| format!("cannot read the instructions {}", file.display()))
            }
        }
    }
}

impl CommandTool {
    fn tool(&self) -> Tool {
        let command = Arc::new(self.command.clone());
        let call = move |context, input| {
            let command = Arc::clone(&command);
            async move { command.call(context, input).await }
        };
        Tool::new(&*self.name, &*self.description, self.schema.clone(), call)
    }

    fn longest(&self) -> Duration {
        self.command.timeout.saturating_add(STOPPING)
    }
}

fn to_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn millis(seconds: Option<text::Seconds>, default: u64) -> u64 {
    seconds.map_or(default, text::Seconds::millis)
}

fn skill(table: SkillTable) -> Skill {
    let name = table.name.unwrap_or_else(|| table.id.0.clone());
    Skill::new(table.id.0, name, table.description)
        .tags(table.tags)
        .examples(table.examples)
}

/// The tools of a file, each of which an agent would take.
fn tools(source: &Source, tables: Vec<Spanned<ToolTable>>) -> anyhow::Result<Vec<CommandTool>> {
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
                (Value::Object(input.into_inner()), at)
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

/// Refuses the name of the orchestrator for an agent.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    if slug(name) == slug(CORTEX) {
        bail!(
            "an agent cannot be called \"{name}\": users reach the orchestrator under that name; choose another"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
