//! `agenthub sop ask`

mod show;
mod start;

use std::{
    io::{self, Read},
    process::ExitCode,
    time::Duration,
};

use agenthub_sdk::{Agent, Client, Delegation, Error, Outcome, Pending};
use agenthub_sop::Definition;
use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use self::{show::Screen, start::Here};
use super::{
    found::{Found, find},
    inputs::{inputs, missing},
    progress::Progress,
};
use crate::{
    banner,
    cli::sop::{Ask, ErrorMode},
    cmd::CLIENT_LEVEL,
    logging::{self, Target},
    output,
    settings::{DEFAULT_DATA, Settings},
    stop::Signals,
};

/// How long a request may take to end once it is cancelled.
const CANCELLING: Duration = Duration::from_secs(15);

/// The longest request, in bytes.
const MAX_REQUEST: u64 = 512 * 1024;

/// The exit code of a request that was cancelled.
const CANCELLED: u8 = 130;

/// What is asked, and of whom.
struct Question<'a> {
    args: &'a Ask,
    leads: &'a Definition,
    request: String,
    data: Option<Value>,
}

/// Asks a team once.
pub(super) async fn run(args: Ask, settings: &Settings) -> anyhow::Result<ExitCode> {
    logging::start(settings.log.as_deref(), CLIENT_LEVEL, &Target::Stderr)?;
    let dir = args.dir();
    let request = request(args.request())?;
    let Some(found) = find(&dir, settings)? else {
        return Ok(ExitCode::FAILURE);
    };
    let leads = &found.leads;
    let data = inputs(&leads.schema, &args.inputs).map_err(|why| anyhow!(why))?;
    // What is not given as data, the request may say in words.
    if let Some(data) = &data
        && let Some(name) = missing(&leads.schema, data).first()
    {
        bail!(
            "{} needs the input {name}: give it with --input {name}=…",
            leads.name
        );
    }
    let question = Question {
        args: &args,
        leads,
        request,
        data,
    };
    let mut signals = Signals::new()?;
    let mut here = Here::default();
    let result = question
        .answered(&found, settings, &mut here, &mut signals)
        .await;
    signals.leave(here.leave()).await;
    result
}

impl Question<'_> {
    async fn answered(
        &self,
        found: &Found,
        settings: &Settings,
        here: &mut Here,
        signals: &mut Signals,
    ) -> anyhow::Result<ExitCode> {
        let starting = self.client(found, settings, here);
        let client = tokio::select! {
            client = starting => client?,
            _ = signals.next() => return Ok(ExitCode::from(CANCELLED)),
        };
        let Some(client) = client else {
            return Ok(ExitCode::FAILURE);
        };
        let is_kept = here.is_kept;
        let asking = self.ask(&client, signals);
        let asked = match &mut here.serving {
            None => asking.await,
            Some(serving) => tokio::select! {
                asked = asking => asked,
                error = serving.failed() => Err(error),
            },
        };
        client.close().await;
        let Asked {
            run,
            outcome,
            progress,
            is_cancelled,
        } = asked?;
        let report = match (is_kept, here.team.is_some()) {
            (true, _) => {
                let data = match settings.data() {
                    Some(data) if data != std::path::Path::new(DEFAULT_DATA) => {
                        format!(" --data {}", data.display())
                    }
                    _ => String::new(),
                };
                format!(
                    "; {} sop report {run}{data} says whether it kept to its procedure",
                    banner::program()
                )
            }
            (false, true) => "; it is kept nowhere, so there is no report".to_owned(),
            (false, false) => format!(
                "; {} sop report {run}, in the folder where the team runs, says whether it kept to its procedure",
                banner::program()
            ),
        };
        let code = self.show(&run, &outcome, &progress, is_cancelled)?;
        if !self.args.json {
            output::aside(format!("run {run}{report}"));
        }
        Ok(code)
    }

    /// Asks, and shows what happens until there is an outcome. The first signal cancels.
    async fn ask(&self, client: &Client, signals: &mut Signals) -> anyhow::Result<Asked> {
        let (task, message) = (
            Uuid::now_v7().to_string(),
            format!("msg_{}", Uuid::now_v7()),
        );
        let run = Agent::run_of(&self.leads.name, &task, &message).to_string();
        let mut delegation = Delegation::to(&*self.leads.name)
            .capability(&*self.leads.name)
            .text(&*self.request)
            .task_id(&*task)
            .message_id(message)
            .timeout(Duration::from_secs(self.args.timeout));
        delegation.payload = self.data.clone();
        if let Some(mode) = self.args.error_mode {
            let mode = match mode {
                ErrorMode::FailFast => "fail-fast",
                ErrorMode::Continue => "continue",
            };
            delegation = delegation.metadata("error_mode", mode);
        }
        let mut pending = client.delegate(delegation).await?;
        let mut updates = pending.updates();
        let mut screen = Screen::new(self.args.json);
        let mut progress = Progress::default();
        let mut is_cancelled = false;
        loop {
            let update = tokio::select! {
                update = updates.next() => update,
                _ = signals.next() => {
                    if std::mem::replace(&mut is_cancelled, true) {
                        break;
                    }
                    screen.line("cancelling it; Ctrl-C again leaves at once")?;
                    self.cancel(&pending).await;
                    continue;
                }
            };
            let Some(update) = update else { break };
            for show in progress.apply(&update) {
                screen.show(show)?;
            }
        }
        let outcome = match is_cancelled {
            false => pending.outcome().await,
            true => timeout(CANCELLING, pending.outcome())
                .await
                .unwrap_or_else(|_| Err(Error::Cancelled("by you".to_owned()))),
        };
        Ok(Asked {
            run,
            outcome,
            progress,
            is_cancelled,
        })
    }

    async fn cancel(&self, pending: &Pending) {
        if let Err(error) = pending.cancel("cancelled by the user").await {
            output::aside(format!("warning: it could not be cancelled: {error}"));
        }
    }
}

/// A request that has ended.
struct Asked {
    run: String,
    outcome: Result<Outcome, Error>,
    progress: Progress,
    is_cancelled: bool,
}

/// What is wanted: the words, or what standard input says.
fn request(words: &str) -> anyhow::Result<String> {
    let text = match words {
        "-" => {
            let mut text = String::new();
            let read = io::stdin()
                .lock()
                .take(MAX_REQUEST + 1)
                .read_to_string(&mut text);
            read.context("the request cannot be read from standard input")?;
            text
        }
        words => words.to_owned(),
    };
    if text.len() as u64 > MAX_REQUEST {
        bail!("the request is longer than {} KiB", MAX_REQUEST / 1024);
    }
    match text.trim() {
        "" => bail!("the request is empty: say what is wanted"),
        text => Ok(text.to_owned()),
    }
}
