//! Agents that think with a model.

use std::sync::Arc;

use agenthub_runs::{
    Budget,
    tool_loop::{ErrorMode, FIND_AGENTS, Limits},
};

use super::{AgentBuilder, AgentType, Handler};
use crate::{
    Error, Form, Hooks, IntoModel, Peers, Tool, ToolLoopSettings,
    form::Forms,
    takes::Intake,
    tool::Toolbox,
    tool_loop::{Mind, Thinking},
};

impl AgentBuilder {
    /// Gives the agent a model: its name, such as `openai/gpt-5` or `offline`, or the model itself. Every request that no handler is for
    /// becomes a run in which the model answers and calls tools on the way. Each call is shown in the task's status. A supervisor's
    /// model has the agents of the hub as tools: those that are here before each of its turns, but for this one, Cortex, and those
    /// on whose behalf the task was asked for.
    #[must_use]
    pub fn model(mut self, model: impl IntoModel) -> Self {
        self.thinking.model = Some(model.into_model());
        self
    }

    /// Says who the agent is and how it works, in words for its model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.thinking.settings.instructions = instructions.into();
        self
    }

    /// Gives the model something to call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.thinking.tools.push(tool);
        self
    }

    /// Gives the model several things to call.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.thinking.tools.extend(tools);
        self
    }

    /// Calls this code before and after each question to the model and each call of a tool: see [`Hooks`]. Several are called in the order in
    /// which they were given.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.thinking.hooks.push(hooks);
        self
    }

    /// Has requests for this skill, given by its id, answered with data of this form, where they come with data for it. Data that does not
    /// fit the skill's [input schema](crate::Card::input_schema) is refused. Requests in words alone are answered in words.
    #[must_use]
    pub fn form(mut self, skill: impl Into<String>, form: impl Form + 'static) -> Self {
        self.thinking.forms.push((skill.into(), Arc::new(form)));
        self
    }

    /// Budget of one run; what the requester granted limits it further.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.thinking.settings.budget = budget;
        self
    }

    /// Limits of one run.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.thinking.settings.limits = limits;
        self
    }

    /// Temperature of the model, from 0; the provider's own value if not given.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.thinking.settings.temperature = Some(temperature);
        self
    }

    /// The longest answer of one turn, in tokens; the provider's own limit if not given.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.thinking.settings.max_output_tokens = Some(tokens);
        self
    }

    /// Agents that a supervisor's model is offered and may find, and the form of its calls; all of them if not given. A worker asks nobody.
    #[must_use]
    pub fn peers(mut self, peers: Peers) -> Self {
        self.thinking.peers = peers;
        self
    }

    /// Reaction to the failure of an agent that a supervisor asked; its model is told and decides, if not given.
    #[must_use]
    pub fn error_mode(mut self, mode: ErrorMode) -> Self {
        self.thinking.settings.on_failure = mode;
        self
    }

    /// Data that the journal keeps about each run besides, for those who read it ([`Input::about`](agenthub_runs::tool_loop::Input::about)). No model is
    /// told of it.
    #[must_use]
    pub fn about(mut self, about: serde_json::Value) -> Self {
        self.thinking.settings.about = about;
        self
    }

    /// All of how the model leads the agent, in place of what was said so far.
    #[must_use]
    pub fn tool_loop(mut self, settings: ToolLoopSettings) -> Self {
        self.thinking.settings = settings;
        self
    }

    /// Lets the model have what no handler is for.
    pub(super) fn think(mut self) -> Result<Self, Error> {
        let thinking = std::mem::take(&mut self.thinking);
        let invalid = |why: String| Error::Invalid(format!("the agent {}: {why}", self.card.name));
        let tools = Toolbox::new(thinking.tools).map_err(invalid)?;
        let forms = Forms::new(&self.card, thinking.forms).map_err(invalid)?;
        let intake = Intake::new(&self.card).map_err(invalid)?;
        let Some(model) = thinking.model else {
            let is_bare = tools.is_empty() && forms.is_empty() && thinking.hooks.is_empty();
            return match is_bare && thinking.settings == ToolLoopSettings::default() {
                true => Ok(self),
                false => Err(invalid(
                    "it has tools, forms, hooks or settings for a model, but no model: add .model(\"provider/model\")".to_owned(),
                )),
            };
        };
        let model = model.map_err(|error| invalid(error.to_string()))?;
        if thinking.settings.budget.cost_micros.is_some() {
            return Err(invalid(
                "its budget limits money, but nothing here knows what the model costs: limit tokens instead".to_owned(),
            ));
        }
        let has_find = tools.tools().any(|tool| tool.name() == FIND_AGENTS);
        if self.agent_type == AgentType::Supervisor && has_find {
            return Err(invalid(format!(
                "the tool name {FIND_AGENTS} is a supervisor's own: rename the tool"
            )));
        }
        self.card.capabilities.get_or_insert_default().streaming = true;
        self.watch_agents |= self.agent_type == AgentType::Supervisor;
        let conductor = Arc::new(Thinking(Arc::new(Mind {
            agent_type: self.agent_type,
            model,
            tools,
            card: self.card.clone(),
            forms,
            intake,
            settings: thinking.settings,
            peers: thinking.peers,
            hooks: thinking.hooks,
        })));
        for skill in &self.card.skills {
            let is_for = |(name, _): &(String, Handler)| *name == skill.id || *name == skill.name;
            if !self.handlers.iter().any(is_for) {
                let handler = Handler::Conduct(conductor.clone());
                self.handlers.push((skill.id.clone(), handler));
            }
        }
        self.any.get_or_insert(Handler::Conduct(conductor));
        Ok(self)
    }
}
