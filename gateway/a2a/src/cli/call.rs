//! `agenthub a2a call`

use std::{
    future::pending,
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use crate::{
    client::{Failure, Following, Options, Remote},
    error::Kind,
    json::{from_json, to_json},
    v1::{CancelTaskRequest, Message, Part, Role, SendMessageRequest, TaskState, part::Content},
};
use agenthub_outbound::Connector;
use agenthub_sdk::proto::json::to_struct;
use agenthub_terminal::{
    output,
    partial::{self, Extent},
    stop::Signals,
    usage::WrongUsage,
};
use anyhow::{anyhow, bail};
use http::{HeaderName, HeaderValue};
use serde_json::json;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::args::{Call, HeaderText};
use super::printer::{Piece, Printer};

/// Time to cancel a task after `--timeout`: longer than a hub waits for its agent.
const CANCEL: Duration = Duration::from_secs(12);

/// Time to cancel it on Ctrl-C.
const INTERRUPT: Duration = Duration::from_secs(5);

/// Time for which words of an agent at work are held back: they are dropped if its next words are the same.
const HOLD: Duration = Duration::from_millis(150);

/// Exit code of a call that was interrupted.
const INTERRUPTED: u8 = 130;

/// Asks an agent elsewhere; questions of it are asked at the terminal.
pub(super) async fn run(connector: &Connector, mut args: Call) -> anyhow::Result<ExitCode> {
    let auth = std::mem::take(&mut args.who).auth();
    let options = Options {
        auth: auth.clone(),
        binding: args.binding,
        headers: headers(&args.header)?,
        ..Options::default()
    };
    let mut parts: Vec<Part> = Vec::new();
    let is_blank = |words: &str| words.trim().is_empty();
    match args.text.as_deref().filter(|words| !is_blank(words)) {
        Some("-") => parts.push(text(agenthub_terminal::message::read(io::stdin().lock())?)),
        Some(words) => parts.push(text(words.to_owned())),
        None if args.data.is_empty() => {
            return Err(WrongUsage("say something: TEXT, --data or both".to_owned()).into());
        }
        None => {}
    }
    for data in &args.data {
        parts.push(from_json(json!({ "data": data }))?);
    }
    let found = super::find(connector, &args.url, auth.as_ref()).await?;
    let name = output::plain(&found.card.name).into_owned();
    let remote = Remote::new(connector, found.card, &found.url, options)?;
    let mut signals = Signals::new()?;
    let mut message = message(parts);
    message.context_id = args.context.clone().unwrap_or_default();
    message.task_id = args.task.clone().unwrap_or_default();
    if let Some(skill) = &args.skill {
        message.metadata = Some(to_struct(&json!({ "task_type": skill })));
    }
    loop {
        let request = SendMessageRequest {
            message: Some(message),
            ..Default::default()
        };
        let mut following = remote.send_streaming_message(request);
        let mut printer = Printer::default();
        let followed = tokio::select! {
            followed = follow(&mut following, &mut printer, args.json.json) => followed,
            seconds = over(args.timeout) => {
                tokio::select! {
                    () = cancel(&remote, following.task_id(), CANCEL) => {}
                    _ = signals.next() => {}
                }
                bail!("the agent was not done within {seconds} s");
            }
            _ = signals.next() => {
                cancel(&remote, following.task_id(), INTERRUPT).await;
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        followed.map_err(|error| about(error, args.task.as_deref()))?;
        match printer.state {
            None | Some(TaskState::Completed) => {
                if let Some(shortfall) = &printer.shortfall {
                    partial::tell(&name, shortfall);
                }
                return Ok(Extent::of(printer.shortfall.as_ref()).code());
            }
            Some(TaskState::InputRequired) if can_ask(&args) => {
                let question = output::plain(&printer.words).into_owned();
                let answer = tokio::select! {
                    answer = ask(question) => match answer? {
                        Some(answer) => answer,
                        None => bail!(waits(&args.url, &printer.task_id)),
                    },
                    _ = signals.next() => {
                        cancel(&remote, &printer.task_id, INTERRUPT).await;
                        return Ok(ExitCode::from(INTERRUPTED));
                    }
                };
                message = self::message(vec![text(answer)]);
                message.task_id = printer.task_id;
            }
            Some(TaskState::InputRequired) => {
                bail!("{}: {}", waits(&args.url, &printer.task_id), printer.words)
            }
            Some(TaskState::AuthRequired) => bail!(
                "task {id} waits for somebody to sign in: {}; go on afterwards with `agenthub a2a call {} --task {id} TEXT`",
                printer.words,
                args.url,
                id = printer.task_id,
            ),
            Some(state) => bail!(
                "task {} is {}: {}",
                printer.task_id,
                label(state),
                printer.words
            ),
        }
    }
}

async fn follow(
    following: &mut Following,
    printer: &mut Printer,
    json: bool,
) -> anyhow::Result<()> {
    loop {
        // What is said right before the task ends or asks is mostly said again with that.
        let event = match printer.is_holding() {
            true => match timeout(HOLD, following.next()).await {
                Ok(event) => event,
                Err(_) => {
                    print(printer.release())?;
                    continue;
                }
            },
            false => following.next().await,
        };
        let Some(event) = event else {
            print(printer.release())?;
            break;
        };
        let event = event?;
        let Some(payload) = &event.payload else {
            continue;
        };
        let pieces = printer.take(payload);
        match json {
            true => output::line(to_json(&event).to_string())?,
            false => print(pieces)?,
        }
    }
    if let (None, "") = (printer.state, printer.words.as_str())
        && printer.task_id.is_empty()
    {
        bail!("the agent gives no answer");
    }
    Ok(())
}

fn print(pieces: Vec<Piece>) -> io::Result<()> {
    for piece in pieces {
        match piece {
            Piece::Aside(line) => output::aside(line),
            Piece::Text(text) => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()?;
            }
        }
    }
    Ok(())
}

/// Waits until the time is over, if there is a limit.
async fn over(seconds: Option<u64>) -> u64 {
    match seconds {
        Some(seconds) => {
            sleep(Duration::from_secs(seconds)).await;
            seconds
        }
        None => pending().await,
    }
}

/// The failure of a call, with the task that was named.
fn about(error: anyhow::Error, task: Option<&str>) -> anyhow::Error {
    match (error.downcast_ref::<Failure>(), task) {
        (Some(failure), Some(task)) if failure.is(Kind::TaskNotFound) => {
            anyhow!("the agent has no task {task}: {failure}")
        }
        _ => error,
    }
}

/// The way to go on with a task that waits.
fn waits(url: &str, task: &str) -> String {
    format!(
        "task {task} waits for an answer; give it with `agenthub a2a call {url} --task {task} TEXT`"
    )
}

/// The task is told that nobody waits for it any more. It may have ended meanwhile.
async fn cancel(remote: &Remote, task_id: &str, patience: Duration) {
    if task_id.is_empty() {
        return;
    }
    let request = CancelTaskRequest {
        id: task_id.to_owned(),
        ..Default::default()
    };
    let line = match timeout(patience, remote.cancel_task(request)).await {
        Ok(Ok(_)) => format!("task {task_id} is cancelled"),
        Ok(Err(error)) => format!("task {task_id} cannot be cancelled: {error}"),
        Err(_) => format!("task {task_id} may not have been cancelled"),
    };
    output::aside(output::plain(&line));
}

/// True if a question can be asked: a person is there, and what is said is not what comes on stdin.
fn can_ask(args: &Call) -> bool {
    let is_here = io::stdin().is_terminal() && io::stderr().is_terminal();
    is_here && !args.json.json && args.text.as_deref() != Some("-")
}

/// Asks at the terminal; `None` if the person leaves the question.
async fn ask(question: String) -> anyhow::Result<Option<String>> {
    let asked = tokio::task::spawn_blocking(move || {
        output::aside(question);
        let mut err = io::stderr().lock();
        err.write_all(b"> ").and_then(|()| err.flush())?;
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = asked.await??;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn message(parts: Vec<Part>) -> Message {
    Message {
        message_id: Uuid::now_v7().to_string(),
        role: Role::User.into(),
        parts,
        ..Default::default()
    }
}

fn text(text: String) -> Part {
    Part {
        content: Some(Content::Text(text)),
        ..Default::default()
    }
}

fn headers(written: &[(String, HeaderText)]) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let header = |(name, text): &(String, HeaderText)| {
        let wrong = |why: &str| WrongUsage(format!("--header {name}: {why}"));
        let key = HeaderName::try_from(name).map_err(|_| wrong("that is no header"))?;
        let value = match text {
            HeaderText::Text(text) => text.clone(),
            HeaderText::Named(secret) => secret.reveal()?,
        };
        let mut value =
            HeaderValue::try_from(value).map_err(|_| wrong("no header has such a value"))?;
        value.set_sensitive(matches!(text, HeaderText::Named(_)));
        Ok((key, value))
    };
    written.iter().map(header).collect()
}

/// The state in words.
fn label(state: TaskState) -> String {
    let name = state.as_str_name().trim_start_matches("TASK_STATE_");
    name.to_ascii_lowercase().replace('_', "-")
}
