//! `agenthub publish`

use std::{
    cell::Cell,
    convert::Infallible,
    io,
    process::ExitCode,
    time::{Duration, Instant},
};

use agenthub_proto::{
    a2a::{Message, Part, Role},
    agenthub::{
        AgentEntry, AgentEventMetadata, AgentState, ListAgentsRequest, TaskStatusUpdateEvent,
    },
    json,
    trace::TraceContext,
};
use agenthub_sdk::{
    Client, Delegation, Error, Outcome, Update, Updates,
    internal::{known_as, task_type, unknown_agent},
};
use anyhow::bail;
use serde_json::json;

use super::args::Publish;
use crate::{
    calls::{hub_flag, program},
    connect, message, output,
    partial::{self, Extent},
    stop::Signals,
    usage::WrongUsage,
};

/// Stands for what comes on standard input.
const STDIN: &str = "-";

/// Publishes a message, and waits for the answer if that is wanted.
pub async fn run(mut args: Publish, hub: &str) -> anyhow::Result<ExitCode> {
    if args.wait && args.to.is_none() && args.task_type.is_none() {
        let why = "nobody to wait for: add --to AGENT or --task-type TYPE";
        return Err(WrongUsage(why.to_owned()).into());
    }
    let is_blank = args.text.trim().is_empty() && args.data.is_none();
    if args.wait && is_blank {
        let why = "nothing to ask: the text is blank, and there is no --data";
        return Err(WrongUsage(why.to_owned()).into());
    }
    if args.text == STDIN {
        args.text = message::read(io::stdin().lock())?;
    }
    let client = connect::watching(hub, args.from.as_deref()).await?;
    let mut is_here = true;
    if let Some(to) = &args.to {
        let entry = client.agent(to).await;
        if let Err(Error::NotFound(_)) = &entry {
            let why = unknown(&client, to).await?;
            match args.wait {
                true => bail!(why),
                false => output::aside(format!("the message waits ten minutes: {why}")),
            }
        }
        if let Some(line) = absence(to, &entry, args.wait) {
            output::aside(line);
        }
        is_here = entry
            .as_ref()
            .is_ok_and(|entry| entry.state() != AgentState::Offline);
        let card = entry.ok().and_then(|entry| entry.agent_card);
        args.task_type = known_as(args.task_type, &card.unwrap_or_default());
    }
    let code = match args.wait {
        true => ask(&client, args, is_here, hub).await?,
        false => publish(&client, args).await?,
    };
    client.close().await;
    Ok(code)
}

/// Text on an agent that the hub does not know, with those that may be meant.
async fn unknown(client: &Client, to: &str) -> Result<String, Error> {
    let all = client.agents(ListAgentsRequest::default()).await?.agents;
    let names = all.iter().map(|entry| entry.agent_id.as_str());
    let why = unknown_agent(to, names);
    Ok(output::plain(&why).into_owned())
}

/// Text on a recipient that will not have the message at once.
fn absence(to: &str, entry: &Result<AgentEntry, Error>, waits: bool) -> Option<String> {
    // Whether anything else is in the way turns out when it is published.
    let entry = entry.as_ref().ok()?;
    let is_away = entry.state() == AgentState::Offline;
    is_away.then(|| away(to, waits.then_some(Delegation::DEFAULT_TIMEOUT)))
}

/// Text on a recipient that is away, and on how long it is waited for, if anybody waits.
fn away(to: &str, left: Option<Duration>) -> String {
    let how_long = left.map_or(String::new(), |left| {
        format!(" for {} s at most", left.as_secs())
    });
    output::plain(&format!(
        "{to} is offline: the message waits for it{how_long}"
    ))
    .into_owned()
}

fn back(to: &str) -> String {
    output::plain(&format!("{to} is back")).into_owned()
}

/// Says when the agent goes away or comes back while its answer is waited for. Never ends.
async fn watch(client: &Client, to: &str, was_here: &Cell<bool>) -> Infallible {
    let directory = client.directory();
    let mut changed = directory.changed();
    let began = Instant::now();
    loop {
        let is_here = match directory.get(to) {
            Some(entry) => entry.online,
            None => was_here.get(),
        };
        if is_here != was_here.replace(is_here) {
            let left = Delegation::DEFAULT_TIMEOUT.saturating_sub(began.elapsed());
            output::aside(match is_here {
                true => back(to),
                false => away(to, Some(left)),
            });
        }
        if changed.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Tells the question of the agent to a person, and how to answer. Never ends.
async fn tell_questions(mut updates: Updates, hub: &str) -> Infallible {
    while let Some(update) = updates.next().await {
        if let Update::Status(status) = update
            && let Some(question) = question(&status, hub)
        {
            output::aside(output::plain(&question));
        }
    }
    std::future::pending().await
}

/// The question to a person in a status, with the commands that answer it.
fn question(status: &TaskStatusUpdateEvent, hub: &str) -> Option<String> {
    let metadata = status.metadata.as_ref().map(json::from_struct)?;
    let approval = &metadata["approval"];
    let text = |field: &str| approval[field].as_str();
    let (run, id, agent) = (text("run")?, text("id")?, text("agent")?);
    let (question, step) = (text("question")?, text("step").unwrap_or_default());
    let (program, hub) = (program(), hub_flag(hub));
    let command = |word: &str| format!("{program} runs {word} {run} {id} --agent {agent}{hub}");
    Some(format!(
        "? {question} (step {step})\n  allow it: {}\n  refuse it: {}",
        command("approve"),
        command("refuse")
    ))
}

async fn publish(client: &Client, args: Publish) -> anyhow::Result<ExitCode> {
    let mut message = Message::new(Role::User, args.text);
    message.content.extend(args.data.as_ref().map(Part::data));
    if let Some(task_type) = args.task_type {
        message = message.with_metadata("task_type", task_type);
    }
    message.context_id = args.context.unwrap_or_default();
    message.task_id = args.task.unwrap_or_default();
    let routing = AgentEventMetadata {
        to_agent_id: args.to.unwrap_or_default(),
        traceparent: TraceContext::start().to_string(),
        ..args
            .event
            .as_deref()
            .map_or_else(AgentEventMetadata::default, AgentEventMetadata::of_event)
    };
    let task_type = message.task_type().to_owned();
    let is_addressed = !routing.to_agent_id.is_empty();
    let published = client.publish(message, routing).await?;
    if let Some(event) = args.event.filter(|_| !is_addressed) {
        output::aside(output::plain(&format!(
            "an event of the type {event}: runs of workflows have it that wait for it, and who observes such events"
        )));
    } else if !is_addressed {
        let all = client.agents(ListAgentsRequest::default()).await?.agents;
        output::aside(output::plain(&takers_told(&task_type, &all)));
    }
    match args.query.json.json {
        true => output::line(json!({"eventId": published.event_id}).to_string())?,
        false => output::line(published.event_id)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// True if the agent says that it takes tasks of this type.
fn takes(entry: &AgentEntry, wanted: &str) -> bool {
    let card = entry.agent_card.clone().unwrap_or_default();
    let mut skills = card.skills.iter();
    entry.subscriptions.iter().any(|known| known == wanted)
        || skills.any(|skill| task_type(&card, skill) == wanted)
}

/// Text on the agents that take a message that is addressed to nobody, as far as those that are here say it.
fn takers_told(wanted: &str, agents: &[AgentEntry]) -> String {
    if wanted.is_empty() {
        return "it names no agent and no task type: only who subscribes to all messages has it, if anybody does; --to AGENT addresses one".to_owned();
    }
    let takers = agents
        .iter()
        .filter(|entry| entry.state() == AgentState::Online && takes(entry, wanted));
    let takers: Vec<&str> = takers.map(|entry| entry.agent_id.as_str()).collect();
    match takers.as_slice() {
        [] => format!(
            "no agent that is here says that it takes tasks of the type {wanted}: nobody may have it"
        ),
        takers => format!(
            "taken by who takes tasks of the type {wanted}: {}",
            takers.join(", ")
        ),
    }
}

async fn ask(client: &Client, args: Publish, is_here: bool, hub: &str) -> anyhow::Result<ExitCode> {
    let to = args.to.unwrap_or_default();
    let mut delegation = Delegation::to(&*to)
        .capability(args.task_type.unwrap_or_default())
        .context_id(args.context.unwrap_or_default())
        .text(args.text);
    if let Some(data) = args.data {
        delegation = delegation.payload(data);
    }
    if let Some(task) = args.task {
        delegation = delegation.task_id(task);
    }
    if delegation.agent.is_empty() {
        let all = client.agents(ListAgentsRequest::default()).await?.agents;
        if !all.iter().any(|entry| takes(entry, &delegation.capability)) {
            let wanted = output::plain(&delegation.capability).into_owned();
            bail!(
                "no agent that is known here says that it takes tasks of the type {wanted}: nothing was sent; --to AGENT addresses one"
            );
        }
    }
    let mut signals = Signals::new()?;
    let mut pending = client.delegate(delegation).await?;
    let updates = pending.updates();
    let task_id = pending.task_id().to_owned();
    let was_here = Cell::new(is_here);
    let outcome = tokio::select! {
        outcome = pending.outcome() => outcome?,
        never = watch(client, &to, &was_here) => match never {},
        never = tell_questions(updates, hub) => match never {},
        _ = signals.next() => {
            client.cancel_task(&task_id, "cancelled by the user").await?;
            bail!("task {task_id} was cancelled");
        }
    };
    // The answer may be faster than the news of who gives it.
    if outcome.is_completed() && !was_here.get() {
        output::aside(back(&to));
    }
    print(&outcome, args.query.json.json)
}

fn print(outcome: &Outcome, json: bool) -> anyhow::Result<ExitCode> {
    let shortfall = partial::shortfall(outcome);
    let extent = Extent::of(shortfall.as_ref());
    let failed = partial::missing(shortfall.as_ref());
    if let Some(shortfall) = &shortfall {
        partial::tell(&outcome.agent, shortfall);
    }
    if json {
        let value = json!({
            "taskId": outcome.task_id,
            "agent": outcome.agent,
            "state": outcome.state.label(),
            "text": outcome.text,
            "error": outcome.error,
            "partial": extent != Extent::Whole,
            "undone": shortfall.and_then(|shortfall| shortfall.undone),
            "failed": failed.iter().map(|missing| json!({"agent": missing.name, "error": missing.why})).collect::<Vec<_>>(),
        });
        output::line(value.to_string())?;
    } else if outcome.is_completed() {
        output::line(output::plain(&outcome.text))?;
    } else {
        let (id, state) = (&outcome.task_id, outcome.state.label());
        bail!("task {id} is {state}: {}", outcome.error);
    }
    Ok(match outcome.is_completed() {
        true => extent.code(),
        false => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    /// spec: EXE-2.2
    #[test]
    fn a_question_to_a_person_is_told_with_the_commands_that_answer_it() {
        let status = |metadata: serde_json::Value| TaskStatusUpdateEvent {
            metadata: Some(json::to_struct(&metadata)),
            ..TaskStatusUpdateEvent::default()
        };
        let approval = json!({"run": "r", "id": "a", "agent": "press", "step": "may", "question": "Print it?"});
        let told = question(&status(json!({"approval": approval})), "http://hub:1");
        let told = told.expect("it asks");
        assert!(
            told.starts_with("? Print it? (step may)\n  allow it: "),
            "{told}"
        );
        for word in ["approve", "refuse"] {
            let command = format!(" runs {word} r a --agent press --hub http://hub:1");
            assert!(told.contains(&command), "{command}: {told}");
        }
        assert_eq!(question(&status(json!({"tool": {}})), "http://hub:1"), None);
    }

    #[test]
    fn who_takes_what_is_addressed_to_nobody_is_told() {
        let entry = |state: AgentState| AgentEntry {
            agent_id: "singer".to_owned(),
            state: state.into(),
            subscriptions: vec!["sing".to_owned()],
            ..AgentEntry::default()
        };
        let here = [entry(AgentState::Online)];
        assert!(takers_told("sing", &here).ends_with("singer"));
        assert!(takers_told("dance", &here).starts_with("no agent that is here"));
        assert!(takers_told("sing", &[entry(AgentState::Offline)]).starts_with("no agent"));
        assert!(takers_told("", &here).contains("names no agent"));
    }

    #[test]
    fn who_is_not_there_is_told() {
        let entry = |state: AgentState| {
            Ok(AgentEntry {
                state: state.into(),
                ..Default::default()
            })
        };
        let said = |entry| absence("ghost", &entry, false).unwrap_or_default();
        assert_eq!(
            said(entry(AgentState::Offline)),
            "ghost is offline: the message waits for it"
        );
        let waiting = absence("ghost", &entry(AgentState::Offline), true);
        assert_eq!(
            waiting.as_deref(),
            Some("ghost is offline: the message waits for it for 300 s at most")
        );
        assert_eq!(said(entry(AgentState::Online)), "");
        assert_eq!(said(Err(Error::Unavailable("later".into()))), "");
    }
}
