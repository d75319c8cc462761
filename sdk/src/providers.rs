//! Agents on the models of one provider, in one call.

use std::{sync::Arc, time::Duration};

use agenthub_proto::a2a::AgentCard;
use agenthub_runs::Journal;

use crate::{
    Agent, AgentType, Error, Tool, ToolLoopSettings,
    model::{Secret, Settings},
};

/// Declaration of an agent for [`bedrock_agent`] and [`openai_agent`].
#[derive(Clone, Debug)]
pub struct ProviderAgent<P> {
    /// Worker unless given.
    pub agent_type: AgentType,
    /// The agent's description of itself.
    pub card: AgentCard,
    /// The provider's name of the model.
    pub model: String,
    /// Tools of the model. A worker needs at least one; a supervisor has the agents of the hub besides.
    pub tools: Vec<Tool>,
    /// Access to the provider; as its environment variables say unless given.
    pub provider: P,
    /// Settings of the tool loop.
    pub config: ToolLoopSettings,
    /// Journal of runs, if they are to survive the process.
    pub journal: Option<Arc<dyn Journal>>,
}

impl<P: Default> ProviderAgent<P> {
    /// A worker with this card on this model, without tools yet.
    pub fn worker(card: impl Into<AgentCard>, model: impl Into<String>) -> Self {
        Self {
            agent_type: AgentType::Worker,
            card: card.into(),
            model: model.into(),
            tools: Vec::new(),
            provider: P::default(),
            config: ToolLoopSettings::default(),
            journal: None,
        }
    }

    /// A supervisor with this card on this model.
    pub fn supervisor(card: impl Into<AgentCard>, model: impl Into<String>) -> Self {
        Self {
            agent_type: AgentType::Supervisor,
            ..Self::worker(card, model)
        }
    }
}

/// Access to Amazon Bedrock.
#[derive(Clone, Debug, Default)]
pub struct Bedrock {
    /// Else `AWS_REGION`, else `us-east-1`.
    pub region: Option<String>,
    /// A Bedrock API key; else `AWS_BEARER_TOKEN_BEDROCK`.
    pub api_key: Option<Secret>,
    /// The base URL, where it is not the provider's own.
    pub endpoint: Option<String>,
    /// Deadline of a call, retries included; two minutes unless given.
    pub timeout: Option<Duration>,
}

/// Access to OpenAI, or to a server that speaks its protocol.
#[derive(Clone, Debug, Default)]
pub struct OpenAi {
    /// Else `OPENAI_API_KEY`.
    pub api_key: Option<Secret>,
    /// The base URL with the version in its path; else `OPENAI_BASE_URL`.
    pub base_url: Option<String>,
    /// Deadline of a call, retries included; two minutes unless given.
    pub timeout: Option<Duration>,
}

/// An agent on a model of Amazon Bedrock: a worker with the tools given, or a supervisor that finds the agents of the hub by itself.
///
/// # Errors
///
/// [`Error::Invalid`] for a worker without tools, for settings without which the provider can't be reached, and else as
/// [`AgentBuilder::build`](crate::AgentBuilder::build).
pub fn bedrock_agent(options: ProviderAgent<Bedrock>) -> Result<Agent, Error> {
    let Bedrock {
        region,
        api_key,
        endpoint,
        timeout,
    } = options.provider.clone();
    let mut settings = Settings::new(format!("bedrock/{}", options.model));
    settings.location = region;
    settings.api_key = api_key;
    settings.endpoint = endpoint;
    build(options, settings, timeout)
}

/// An agent on a model of OpenAI: a worker with the tools given, or a supervisor that finds the agents of the hub by itself.
///
/// # Errors
///
/// As [`bedrock_agent`].
pub fn openai_agent(options: ProviderAgent<OpenAi>) -> Result<Agent, Error> {
    let OpenAi {
        api_key,
        base_url,
        timeout,
    } = options.provider.clone();
    let mut settings = Settings::new(format!("openai/{}", options.model));
    settings.api_key = api_key;
    settings.endpoint = base_url;
    build(options, settings, timeout)
}

fn build<P>(
    options: ProviderAgent<P>,
    mut settings: Settings,
    timeout: Option<Duration>,
) -> Result<Agent, Error> {
    if let Some(timeout) = timeout {
        settings.timeout = timeout;
    }
    let builder = match options.agent_type {
        AgentType::Worker if options.tools.is_empty() => {
            return Err(Error::Invalid(format!(
                "the worker {} has no tools, and on its own a model does no work: give it some, or make it a supervisor",
                options.card.name
            )));
        }
        AgentType::Worker => Agent::worker(options.card),
        AgentType::Supervisor => Agent::supervisor(options.card),
    };
    let builder = builder
        .model(settings)
        .tools(options.tools)
        .tool_loop(options.config);
    match options.journal {
        Some(journal) => builder.journal(journal),
        None => builder,
    }
    .build()
}
