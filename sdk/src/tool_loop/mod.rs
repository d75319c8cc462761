//! Agents that think with a model: their messages become runs of [`runs::tool_loop`](agenthub_runs::tool_loop).
//!
//! `request.rs` says what the model is asked, `conversation.rs` what it is told of earlier turns, `statuses.rs` and `growing.rs` what those
//! who watch see; `world.rs` does what a run asks for.

mod answer;
mod conversation;
mod display;
mod growing;
mod request;
mod settings;
mod statuses;
mod world;

use std::{fmt, sync::Arc};

use agenthub_proto::a2a::{self, AgentCard, Part, Role};
use agenthub_runs::{
    Budget, RunId, RunOutcome, Strategy, World,
    tool_loop::{ErrorMode, Input, Limits, ToolLoop},
};
use serde_json::{Value, json};

pub(crate) use settings::ModelSettings;
pub use settings::ToolLoopSettings;
use world::TaskWorld;

use crate::{
    AgentType, Beginning, Conductor, Failure, ForkChanges, Identity, Peers, Reply, TaskContext,
    contract::refusal,
    form::{Filled, Forms},
    hooks::HookChain,
    model::{self, LanguageModel},
    takes::{Intake, RequestData},
    tool::Toolbox,
};

const WORKER: &str = include_str!("../../prompts/worker.md");
const SUPERVISOR: &str = include_str!("../../prompts/supervisor.md");

/// The model of an agent, with its tools, peers and settings.
pub(crate) struct Mind {
    pub(crate) agent_type: AgentType,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) tools: Toolbox,
    pub(crate) card: AgentCard,
    pub(crate) forms: Forms,
    pub(crate) intake: Intake,
    pub(crate) settings: ToolLoopSettings,
    pub(crate) peers: Peers,
    pub(crate) hooks: HookChain,
}

impl Mind {
    /// The system prompt: what holds for all agents, and these words of the agent's own.
    fn instructions(&self, own: &str) -> String {
        let general = match self.agent_type {
            AgentType::Worker => WORKER,
            AgentType::Supervisor => SUPERVISOR,
        };
        match own.trim() {
            "" => general.trim().to_owned(),
            own => format!("{own}\n\n{}", general.trim()),
        }
    }

    /// The form that the task is to be answered with, if with one, and the data of the request.
    ///
    /// # Errors
    ///
    /// The data does not fit.
    fn form(&self, task: &TaskContext) -> Result<Option<(&Filled, Value)>, Failure> {
        let wanted = self.forms.wanted(&self.card, task.task_type(), task.data());
        wanted.map_err(Failure::rejected)
    }

    /// Context of a request that is answered in words.
    ///
    /// # Errors
    ///
    /// The data does not fit.
    fn given(&self, task: &TaskContext) -> Result<RequestData, Failure> {
        if self.forms.of(&self.card, task.task_type()).is_some() {
            return Ok(RequestData::default());
        }
        let has_words = !task.text().trim().is_empty();
        let given = self
            .intake
            .given(&self.card, task.task_type(), task.data(), has_words);
        given.map_err(Failure::rejected)
    }
}

impl fmt::Debug for Mind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mind")
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}

/// True if the message wants something of this agent. Broadcasts and answers do not, or two agents would answer each other for ever.
fn is_request(task: &TaskContext) -> bool {
    let is_for_this = !task.routing().to_agent_id.is_empty() || !task.task_type().is_empty();
    !task.task_id().is_empty() || (is_for_this && task.message().role() != Role::Agent)
}

/// Reaction to a failing agent that the request asks for, in the metadata `error_mode`: it goes before what the author wants who says
/// anything else than that the model decides.
fn wanted_mode(task: &TaskContext) -> Option<ErrorMode> {
    let mode = task.message().metadata_str("error_mode");
    serde_json::from_value(mode.into()).ok()
}

/// Makes runs of what an agent is asked.
#[derive(Clone, Debug)]
pub(crate) struct Thinking(pub(crate) Arc<Mind>);

impl Conductor for Thinking {
    fn strategy(&self) -> &dyn Strategy {
        &ToolLoop
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        if !is_request(task) {
            return Err(Failure::rejected("it is no request to this agent"));
        }
        // What is addressed to no one agent may be for whoever subscribes to its type.
        let is_addressed = !task.routing().to_agent_id.is_empty();
        if let Some(why) = refusal(&self.0.card, task.task_type()).filter(|_| is_addressed) {
            return Err(Failure::rejected(why));
        }
        let mut asked = request::of(task.message())
            .ok_or_else(|| Failure::rejected("the message has neither text nor data"))?;
        let form = self.0.form(task)?;
        let given = match &form {
            None => self.0.given(task)?,
            Some((_, input)) => RequestData {
                input: Some(input.clone()),
                lacking: None,
            },
        };
        request::give(&mut asked, given);
        if let Some((filled, input)) = &form {
            request::show(&mut asked, |value| filled.form.shown(value));
            let material = filled.form.material(input).into_iter();
            let parts = material.map(|(label, value)| model::PromptPart::Data { label, value });
            asked.parts.extend(parts);
        }
        let ToolLoopSettings {
            limits,
            budget,
            temperature,
            max_output_tokens,
            on_failure,
            ref about,
            ..
        } = self.0.settings;
        let (run, agent) = match self.0.tools.needs_approval() {
            true => (
                task.run_id().to_string(),
                task.client().agent_id().to_owned(),
            ),
            false => Default::default(),
        };
        let input = Input {
            instructions: self.0.instructions(&self.0.settings.instructions),
            asker: Some(model::Asker {
                id: task.client().agent_id().to_owned(),
                is_instructed: !self.0.settings.instructions.trim().is_empty(),
            }),
            // What is to become data comes with all that is needed for it.
            conversation: form.is_none()
                && !task.task_id().is_empty()
                && !task.context_id().is_empty(),
            messages: vec![asked],
            limits,
            temperature,
            max_output_tokens,
            form: form.map(|(filled, _)| filled.asked()),
            on_failure: wanted_mode(task)
                .filter(|_| on_failure != ErrorMode::Tell)
                .unwrap_or(on_failure),
            about: about.clone(),
            run,
            agent,
        };
        Ok(Beginning {
            input: json!(input),
            budget,
        })
    }

    fn fork(&self, recorded: Value, changes: &ForkChanges) -> Result<Value, Failure> {
        let mut input: Input = serde_json::from_value(recorded).map_err(|error| {
            Failure::rejected(format!("the run's input cannot be read: {error}"))
        })?;
        if let Some(own) = &changes.instructions {
            input.instructions = self.0.instructions(own);
            if let Some(asker) = &mut input.asker {
                asker.is_instructed = !own.trim().is_empty();
            }
        }
        if let Some(given) = &changes.input {
            let Some(words) = given.as_str().filter(|_| input.form.is_none()) else {
                let why = "the input of such a fork is the request in words; ask the agent itself for another answer to other data";
                return Err(Failure::rejected(why).at("input"));
            };
            input.messages = vec![model::PromptMessage::user(words)];
        }
        Ok(json!(input))
    }

    fn identity(&self) -> Identity {
        Identity {
            model: self.0.model.name().to_owned(),
            ..Identity::default()
        }
    }

    fn world(&self, task: &TaskContext, run: &RunId) -> Arc<dyn World> {
        Arc::new(TaskWorld::new(
            Arc::clone(&self.0),
            task.clone(),
            run.clone(),
        ))
    }
    fn reply(&self, _: &TaskContext, outcome: &RunOutcome) -> Result<Reply, Failure> {
        match outcome {
            RunOutcome::Completed { text, data, lacks } => {
                let mut message = a2a::Message::new(Role::Agent, text);
                let own = Some(data).filter(|data| !data.is_null()).map(Part::data);
                // What an answer in a form lacks stands behind what the form wants.
                let lacks = lacks.as_ref().map(|lacks| Part::data(&lacks.to_json()));
                message.content.extend(own.into_iter().chain(lacks));
                Ok(message.into())
            }
            RunOutcome::Failed { error } => Err(Failure::failed(error)),
            RunOutcome::Cancelled { reason } => Err(Failure::cancelled(reason)),
        }
    }
}
