//! `agenthub agent`

use std::{path::Path, sync::Arc, time::Duration};

use agenthub_agent_files::{Definition, Outline};
use agenthub_agents::echo;
use agenthub_cortex::CORTEX;
use agenthub_mcp::toolshed::Toolshed;
use agenthub_proto::slug::slug;
use agenthub_sdk::{AgentBuilder, AgentType, RunningAgent, durable::Telemetry};
use agenthub_terminal::{
    connect::until_there,
    output,
    stop::Signals,
    usage::{self, WrongUsage, code_of_faults},
};
use anyhow::{Context, anyhow, bail};

use crate::{
    cli::{Agent, Specialised, Thinking},
    journal::Kept,
    metrics::Metrics,
    model,
    settings::Settings,
    team::Specialist,
};

/// Time for work to go on at the end: the rest of the time that a process has is for its tools and the goodbye.
const DRAIN: Duration = Duration::from_secs(6);

/// Runs an agent until it is told to stop, or checks the file of one.
pub(super) async fn run(args: Agent, settings: &Settings) -> anyhow::Result<()> {
    let flag = args.model().map(str::to_owned);
    let definition = match args {
        Agent::Echo { name, .. } => {
            let line = format!("{name} is connected to {}", settings.hub);
            return serve(echo::agent(&name), settings, line, None).await;
        }
        Agent::Strategy(args) => return specialise(Specialist::Strategy, args, settings).await,
        Agent::Writer(args) => return specialise(Specialist::Writer, args, settings).await,
        Agent::Qa(args) => return specialise(Specialist::Qa, args, settings).await,
        Agent::Check { file, .. } => {
            let checked = check(&file, flag.as_deref(), settings).await;
            // All that is wrong with the file is what the check came to.
            return checked.map_err(|error| match code_of_faults([&*file]) {
                usage::CODE => WrongUsage(format!("{error:#}")).into(),
                _ => anyhow!("{error:#}"),
            });
        }
        Agent::Supervisor(args) => outlined(AgentType::Supervisor, args),
        Agent::Worker(args) => outlined(AgentType::Worker, args),
        Agent::Run { file, .. } => Definition::of_file(&file),
    };
    let definition = definition.and_then(|definition| {
        check_name(&definition.name)?;
        Ok(definition)
    });
    let definition = definition.map_err(|error| WrongUsage(format!("{error:#}")))?;
    let toolshed = Toolshed::new(&settings.servers, &settings.names);
    let ended = think(definition, flag.as_deref(), settings, &toolshed).await;
    // Where the agent could not start, its servers may have.
    toolshed.close().await;
    ended
}

/// The agent of the flags.
fn outlined(agent_type: AgentType, args: Thinking) -> anyhow::Result<Definition> {
    Definition::of_outline(Outline {
        name: args.name,
        agent_type,
        description: args.description,
        model: args.place.model.model,
        instructions: args.instructions,
        tools: args.tools,
        tokens: args.tokens,
        turns: args.turns,
    })
}

/// Refuses the name of the orchestrator for an agent.
fn check_name(name: &str) -> anyhow::Result<()> {
    if slug(name) == slug(CORTEX) {
        bail!(
            "an agent cannot be called \"{name}\": users reach the orchestrator under that name; choose another"
        );
    }
    Ok(())
}

/// Runs a specialist, under its own name or another.
async fn specialise(
    specialist: Specialist,
    args: Specialised,
    settings: &Settings,
) -> anyhow::Result<()> {
    let name = args.name.unwrap_or_else(|| specialist.name().to_owned());
    check_name(&name)?;
    let model = model::model(&settings.model).await?;
    let line = format!(
        "{name} is connected to {}; model: {}",
        settings.hub,
        model::described(&settings.model)
    );
    let kept = Kept::open(settings.data(), &settings.keep_runs, &name).await?;
    let builder = kept.lasting(specialist.builder(model).name(name));
    serve(builder, settings, line, None).await
}

/// Runs an agent on its model. Its runs go on where the last process with the same data folder left them.
async fn think(
    mut definition: Definition,
    flag: Option<&str>,
    settings: &Settings,
    toolshed: &Toolshed,
) -> anyhow::Result<()> {
    let model = settings.model.unless(flag, definition.model.as_deref());
    definition.equip(toolshed).await.map_err(several)?;
    let builder = definition.builder(model::model(&model).await?);
    builder.clone().build().context("the agent cannot start")?;
    let kept = Kept::open(settings.data(), &settings.keep_runs, &definition.name).await?;
    let builder = kept.lasting(builder);
    let line = format!(
        "{} ({}) is connected to {}; model: {}",
        definition.name,
        definition.agent_type.as_str(),
        settings.hub,
        model::described(&model)
    );
    serve(builder, settings, line, Some(toolshed)).await
}

/// Shows all errors but the last, and gives that.
fn several(mut errors: Vec<String>) -> anyhow::Error {
    let last = errors.pop().unwrap_or_default();
    for error in errors {
        output::aside(format!("error: {}", output::plain(&error)));
    }
    anyhow!(last)
}

/// Serves until it is told to stop, and then closes the tools.
async fn serve(
    agent: AgentBuilder,
    settings: &Settings,
    line: String,
    toolshed: Option<&Toolshed>,
) -> anyhow::Result<()> {
    let telemetry = Telemetry::start()?;
    let agent = telemetry.of(agent).drain_timeout(DRAIN);
    let mut signals = Signals::new()?;
    let metrics = Metrics::serve(settings, Arc::new(|_| ())).await?;
    let agent: RunningAgent = tokio::select! {
        started = until_there(|| agent.clone().start(&settings.hub)) => started?,
        _ = signals.next() => return Ok(()),
    };
    output::line(output::plain(&format!("{line} (Ctrl-C stops it)")))?;
    let closed = tokio::select! {
        _ = signals.next() => None,
        reason = agent.closed() => Some(reason),
    };
    let leaving = async {
        agent.stop().await;
        if let Some(toolshed) = toolshed {
            toolshed.clone().close().await;
        }
        tokio::join!(Metrics::close(metrics), telemetry.stop());
    };
    let left = signals.leave(leaving).await;
    match closed {
        None => Ok(left?),
        Some(reason) => bail!("the hub closed the connection for good: {reason}"),
    }
}

/// Prints that a file has no errors, or names what keeps its tools from running here.
///
/// # Errors
///
/// The fault of the file, with its place, or the fault of a server that it takes tools from.
async fn check(file: &Path, flag: Option<&str>, settings: &Settings) -> anyhow::Result<()> {
    let mut definition = Definition::of_file(file)?;
    check_name(&definition.name).with_context(|| file.display().to_string())?;
    let toolshed = Toolshed::new(&settings.servers, &settings.names);
    let unknown = definition.unknown_names(&toolshed);
    if !unknown.is_empty() {
        return Err(several(unknown));
    }
    let equipped = definition.equip(&toolshed).await;
    toolshed.close().await;
    equipped.map_err(several)?;
    let model = settings.model.unless(flag, definition.model.as_deref());
    let in_file = || file.display().to_string();
    definition
        .builder(model::model(&model).await.with_context(in_file)?)
        .build()
        .with_context(in_file)?;
    let missing = definition.missing_programs();
    for problem in &missing {
        output::aside(format!("warning: {}: {problem}", file.display()));
    }
    let is = match missing.is_empty() {
        true => "has no errors",
        false => "is well written, but its tools cannot all run here",
    };
    let tools: Vec<&str> = definition.tools().collect();
    let tools = match tools.as_slice() {
        [] => "no tools of its own".to_owned(),
        tools => format!("tools: {}", tools.join(", ")),
    };
    let (name, kind) = (&definition.name, definition.agent_type.as_str());
    let model = model::described(&model);
    let said = format!(
        "{} {is}: {name} ({kind}); {tools}; model: {model}",
        file.display()
    );
    match missing.is_empty() {
        true => Ok(output::line(output::plain(&said))?),
        false => bail!(output::plain(&said).into_owned()),
    }
}
