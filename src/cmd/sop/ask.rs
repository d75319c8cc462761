//! `agenthub sop ask`

use std::{
    io::{self, IsTerminal, Read, Write},
    process::ExitCode,
    time::Duration,
};

use agenthub_proto::agenthub::AgentState;
use agenthub_sdk::{Agent, Client, Delegation, Error, Outcome, Pending, proto::a2a::TaskState};
use agenthub_sop::{Definition, Origin, Team, is_of};
use anyhow::{Context, anyhow, bail};
use axum::Router;
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::service::Routes;
use uuid::Uuid;

use super::{
    found::{Found, find, start_error},
    inputs::{inputs, missing},
    news,
    place::{Place, unreachable},
    progress::{Progress, Show, failed},
    up::folder_argument,
    workshop::Workshop,
};
use crate::{
    banner,
    cli::sop::{Ask, ErrorMode},
    cmd::CLIENT_LEVEL,
    listen::Listen,
    logging::{self, Target},
    output,
    serve::Serving,
    settings::{DEFAULT_DATA, Settings},
    stop::Signals,
};

/// How long agents may go on with what they do once the answer is there.
const DRAIN: Duration = Duration::from_secs(1);

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

/// What runs in this process for the request.
#[derive(Default)]
struct Here {
    serving: Option<Serving>,
    team: Option<Team>,
    workshop: Option<Workshop>,
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
    if let Some(name) = missing(&leads.schema, data.as_ref()).first() {
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
        let is_kept = here.team.is_some() && settings.data().is_some();
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

    /// A client of the hub on which the team is, which is started if it is nowhere. `None` where it cannot be; then it was shown why.
    async fn client(
        &self,
        found: &Found,
        settings: &Settings,
        here: &mut Here,
    ) -> anyhow::Result<Option<Client>> {
        let place = Place::find(&self.args.hub, self.args.here, settings).await;
        let hub = match place {
            Place::There => settings.hub.clone(),
            Place::Own | Place::Here => {
                let mut own = settings.clone();
                // Nobody else is to find a hub that goes with the request.
                own.grpc = Listen::loopback(0);
                own.http = Listen::loopback(0);
                let serving = Serving::start(&own, Routes::default(), Router::new()).await?;
                let hub = serving.url();
                here.serving = Some(serving);
                hub
            }
        };
        let client = match Client::builder(&*hub).connect().await {
            Ok(client) => client,
            Err(error) => return unreachable(error),
        };
        if place == Place::There && self.is_there(&client, &hub).await? {
            let elsewhere = format!("the team at {hub}");
            settings.model.cassette.refuse_elsewhere(&elsewhere)?;
            if self.args.model.model.is_some() {
                output::aside(format!(
                    "warning: {elsewhere} has its own model, so --model changes nothing (with --here, a team of this process is asked)"
                ));
            }
            return Ok(Some(client));
        }
        if !self.args.json {
            let where_to = match place {
                Place::There => {
                    format!("the team is not on the hub at {hub}: it is here for this request")
                }
                Place::Own => format!(
                    "no hub listens at {}: the team and a hub are here for this request",
                    settings.hub
                ),
                Place::Here => "the team and a hub are here for this request".to_owned(),
            };
            output::aside(where_to);
        }
        let workshop = Workshop::new(settings, self.args.model.model.as_deref())?;
        let origin = Origin {
            dir: self.args.dir(),
            default_orchestrator: settings.sop.default_orchestrator,
            fit: workshop.fit(),
            drain: DRAIN,
            tell: news::tell_faults(),
        };
        here.workshop = Some(workshop);
        match Team::start(&hub, origin).await {
            Ok(team) => here.team = Some(team),
            Err(error) => {
                start_error(error)?;
                return Ok(None);
            }
        }
        if found.discovered.agents.is_empty() {
            output::aside(format!(
                "warning: {} has nobody to lead: {} sop new researcher{} begins an agent",
                self.leads.name,
                banner::program(),
                folder_argument(&self.args.dir(), "--dir ")
            ));
        }
        Ok(Some(client))
    }

    /// Whether the orchestrator is on the hub.
    async fn is_there(&self, client: &Client, hub: &str) -> anyhow::Result<bool> {
        let name = &self.leads.name;
        let entry = match client.agent(&**name).await {
            Ok(entry) if entry.state() == AgentState::Online => entry,
            Ok(_) | Err(Error::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let card = entry.agent_card.unwrap_or_default();
        if !is_of(&card, self.leads) {
            bail!(
                "the hub at {hub} has an agent called {name} that is not the one of {}: give the orchestrator another `name:`, name another hub, or ask with --here",
                self.leads.path.display()
            );
        }
        Ok(true)
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

    /// Prints the answer, or why there is none.
    fn show(
        &self,
        run: &str,
        outcome: &Result<Outcome, Error>,
        progress: &Progress,
        is_cancelled: bool,
    ) -> anyhow::Result<ExitCode> {
        let ok = outcome.as_ref().is_ok_and(Outcome::is_completed);
        let error = match outcome {
            Ok(outcome) => outcome.error.clone(),
            Err(error) => error.to_string(),
        };
        let failed = outcome.as_ref().map(failed).unwrap_or_default();
        let code = match (ok, is_cancelled) {
            (true, _) => ExitCode::SUCCESS,
            (false, true) => ExitCode::from(CANCELLED),
            (false, false) => ExitCode::FAILURE,
        };
        if self.args.json {
            let (text, data, task) = match outcome {
                Ok(outcome) => (
                    ok.then(|| answer(outcome)),
                    outcome.message.as_ref().and_then(|m| m.data().next()),
                    Some(&outcome.task_id),
                ),
                Err(_) => (None, None, None),
            };
            let value = json!({
                "ok": ok,
                "run": run,
                "task": task,
                "orchestrator": self.leads.name,
                "answer": text,
                "data": data,
                "partial": !failed.is_empty(),
                "failed": failed.iter().map(|(agent, why)| json!({"agent": agent, "error": why})).collect::<Vec<_>>(),
                "agents": progress.agents(),
                "error": (!ok).then_some(error),
            });
            output::line(value.to_string())?;
            return Ok(code);
        }
        let Ok(outcome) = outcome else {
            let error = match outcome {
                Err(Error::DeadlineExceeded { .. }) => self.too_late(),
                _ => error,
            };
            return Err(anyhow!(error)).context("there is no answer");
        };
        if !ok {
            if is_cancelled {
                output::aside("cancelled: there is no answer");
                return Ok(code);
            }
            let is_late = outcome.state == TaskState::Failed && error.contains("deadline");
            let error = match is_late {
                true => self.too_late(),
                false => error,
            };
            if !outcome.text.is_empty() && outcome.text != error {
                tracing::debug!(text = outcome.text, "what there was of an answer");
            }
            output::aside(format!("error: {}", output::plain(&error)));
            return Ok(code);
        }
        let answer = answer(outcome);
        let is_shown = io::stdout().is_terminal() && progress.has_shown();
        match progress.rest(&answer).filter(|_| is_shown) {
            Some(rest) => output::line(output::plain(rest.trim_end()))?,
            None => {
                if is_shown {
                    output::line("")?;
                }
                output::line(output::plain(answer.trim_end()))?;
            }
        }
        for (agent, why) in failed {
            output::aside(format!(
                "warning: the answer is without {agent}, which failed: {}",
                output::plain(&why)
            ));
        }
        Ok(code)
    }

    fn too_late(&self) -> String {
        format!(
            "it was not done within {} s: --timeout SECONDS gives it longer",
            self.args.timeout
        )
    }
}

/// A request that has ended.
struct Asked {
    run: String,
    outcome: Result<Outcome, Error>,
    progress: Progress,
    is_cancelled: bool,
}

impl Here {
    /// Ends what runs in this process: agents first, so that they can still tell the hub.
    async fn leave(self) {
        if let Some(team) = self.team {
            team.disband().await;
        }
        if let Some(workshop) = self.workshop {
            workshop.close().await;
        }
        if let Some(serving) = self.serving {
            serving.shutdown().await;
        }
    }
}

/// Where a request is shown: the answer on stdout as it grows, if that is a terminal, everything else on stderr.
struct Screen {
    is_silent: bool,
    grows: bool,
    /// The cursor of the terminal is behind a piece of the answer.
    is_within: bool,
}

impl Screen {
    fn new(is_silent: bool) -> Self {
        Self {
            is_silent,
            grows: !is_silent && io::stdout().is_terminal(),
            is_within: false,
        }
    }

    fn show(&mut self, show: Show) -> io::Result<()> {
        match show {
            Show::Line(line) => self.line(&line)?,
            Show::Piece(piece) if self.grows => {
                let mut out = io::stdout().lock();
                out.write_all(output::plain(&piece).as_bytes())?;
                out.flush()?;
                self.is_within = true;
            }
            Show::Anew => self.leave()?,
            Show::Piece(_) => {}
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.leave()?;
        if !self.is_silent {
            output::aside(output::plain(line));
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_within) {
            true => output::line(""),
            false => Ok(()),
        }
    }
}

/// The answer in words.
fn answer(outcome: &Outcome) -> String {
    let said = outcome.message.as_ref().map(|m| m.text());
    said.filter(|text| !text.is_empty())
        .unwrap_or_else(|| outcome.text.clone())
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
