//! An agent, but for its model and its hub.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agenthub_mcp::toolshed::Toolshed;
use agenthub_sdk::{
    Agent, AgentBuilder, AgentType, Card, Skill,
    model::LanguageModel,
    runs::{Budget, tool_loop::Limits},
};
use anyhow::Context;

use crate::{
    file::{AgentFile, Kind, SkillTable, Source, ToolsFile},
    named::Named,
    tools::{CommandTool, tools},
    values::{Instructions, Seconds},
};

/// An agent, but for its model and its hub: of a [file](Self::of_file), or [without one](Self::of_outline).
#[derive(Clone, Debug)]
pub struct Definition {
    /// The id that the hub knows it by.
    pub name: String,
    /// Worker or supervisor.
    pub agent_type: AgentType,
    /// The model, if one is named.
    pub model: Option<String>,
    card: Card,
    instructions: String,
    temperature: Option<f64>,
    limits: Limits,
    budget: Budget,
    tools: Vec<CommandTool>,
    named: Named,
}

/// An agent in a few words, as a command line has room for.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The id that the hub knows it by.
    pub name: String,
    /// Worker or supervisor.
    pub agent_type: AgentType,
    /// Its purpose, as other agents see it; one for its type if not given.
    pub description: Option<String>,
    /// The model, if one is named.
    pub model: Option<String>,
    /// Its instructions; `@FILE` is a file of them, relative to the working folder.
    pub instructions: Option<String>,
    /// A TOML file of tools.
    pub tools: Option<PathBuf>,
    /// Tokens that a request may cost, those of the agents that it asks among them.
    pub tokens: Option<u64>,
    /// Turns of its model for a request.
    pub turns: Option<u32>,
}

impl Definition {
    /// The agent of an outline.
    ///
    /// # Errors
    ///
    /// A file that it names cannot be used; in one line that says which, and where in it.
    pub fn of_outline(outline: Outline) -> anyhow::Result<Self> {
        let description = outline.description.unwrap_or_else(|| {
            let purpose = match outline.agent_type {
                AgentType::Supervisor => "Leads other agents and answers with their help",
                AgentType::Worker => "Answers with a language model and its tools",
            };
            purpose.to_owned()
        });
        let instructions = match outline.instructions.map(Instructions::from) {
            Some(instructions) => instructions.read(Path::new(""))?,
            None => String::new(),
        };
        let tools = match &outline.tools {
            Some(path) => {
                let source = Source::read(path)?;
                tools(&source, source.parse::<ToolsFile>()?.tools)?
            }
            None => Vec::new(),
        };
        let mut limits = Limits::default();
        limits.turns = outline.turns.unwrap_or(limits.turns);
        Ok(Self {
            card: Card::new(&*outline.name, description),
            name: outline.name,
            agent_type: outline.agent_type,
            model: outline.model,
            instructions,
            temperature: None,
            limits,
            budget: Budget {
                tokens: outline.tokens,
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
    pub fn of_file(path: &Path) -> anyhow::Result<Self> {
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
                time_ms: file.budget.time_s.map(Seconds::millis),
                depth: file.budget.depth,
                ..Budget::default()
            },
            named: Named::read(&source, file.named),
            tools: tools(&source, file.tools)?,
        })
    }

    /// Names of its own tools, and those that it takes from the settings.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let own = self.tools.iter().map(|tool| tool.name.as_str());
        own.chain(self.named.names())
    }

    /// Faults of the names that it takes from the settings, as far as they can be told without asking a server; one line each,
    /// with its place.
    pub fn unknown_names(&self, toolshed: &Toolshed) -> Vec<String> {
        self.named.unknown(self.agent_type, toolshed)
    }

    /// Takes what it names from the toolshed, which connects to the servers among it.
    ///
    /// # Errors
    ///
    /// The faults; one line each, with its place.
    pub async fn equip(&mut self, toolshed: &Toolshed) -> Result<(), Vec<String>> {
        self.named.resolve(self.agent_type, toolshed).await
    }

    /// Programs that its tools run and this machine does not have; one line each.
    pub fn missing_programs(&self) -> Vec<String> {
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
    pub fn builder(&self, model: Arc<dyn LanguageModel>) -> AgentBuilder {
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

fn to_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn millis(seconds: Option<Seconds>, default: u64) -> u64 {
    seconds.map_or(default, Seconds::millis)
}

fn skill(table: SkillTable) -> Skill {
    let name = table.name.unwrap_or_else(|| table.id.0.clone());
    Skill::new(table.id.0, name, table.description)
        .tags(table.tags)
        .examples(table.examples)
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
