//! `agenthub sop ask`

mod absent;
mod recording;
mod show;
mod start;
mod taking_over;
mod turns;
mod words;

use std::{
    future::{Future, pending},
    pin::pin,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use agenthub_sdk::{Agent, Client, Delegation, Error, Outcome, Pending};
use agenthub_terminal::{calls, output, stop::Signals, usage::WrongUsage};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use self::{absent::ShownFaults, show::Screen, start::Here, words::request};
use super::{
    args::{Ask, ErrorMode},
    inputs::{inputs, missing},
    program::{Program, Settings},
    progress::Progress,
    team_folder::{TeamFolder, look},
};
use crate::{Definition, ErrorMode as Written};

/// Time for a request to end once it is cancelled.
const CANCELLING: Duration = Duration::from_secs(15);

/// The exit code of a request that was cancelled.
const CANCELLED: u8 = 130;

/// A request, and the agent that it is for.
struct Question<'a> {
    args: &'a Ask,
    leads: &'a Definition,
    request: String,
    data: Option<Value>,
    told: &'a ShownFaults,
    program: &'a Arc<dyn Program>,
}

/// Asks a team once.
pub(super) async fn run(
    args: Ask,
    settings: &Settings,
    program: &Arc<dyn Program>,
) -> anyhow::Result<ExitCode> {
    let told = ShownFaults::default();
    let result = asked(&args, settings, &told, program).await;
    let faults = told.faults();
    let fault = faults.iter().find(|fault| fault.is_error());
    let fault = fault.map(ToString::to_string);
    let error = match (&result, fault) {
        (Ok(Some(code)), _) => return Ok(*code),
        (Ok(None), fault) => fault.unwrap_or_default(),
        (Err(error), Some(fault)) if error.is::<WrongUsage>() => fault,
        (Err(error), _) => format!("{error:#}"),
    };
    if args.json {
        let refused = json!({"ok": false, "error": error, "faults": faults});
        output::line(refused.to_string())?;
    }
    result.map(|_| ExitCode::FAILURE)
}

/// Asks, and shows the answer. `None` where there is no team to ask; then it was told why.
async fn asked(
    args: &Ask,
    settings: &Settings,
    told: &ShownFaults,
    program: &Arc<dyn Program>,
) -> anyhow::Result<Option<ExitCode>> {
    let wrong = |why: String| anyhow::Error::from(WrongUsage(why));
    let request = request(args).map_err(|error| wrong(format!("{error:#}")))?;
    let found = match look(&args.dir(), settings) {
        Ok(found) => found,
        Err(faults) => {
            told.show(faults);
            return Err(wrong("nothing was asked".to_owned()));
        }
    };
    let leads = &found.leads;
    let data = inputs(&leads.schema, &args.inputs).map_err(wrong)?;
    // What is not given as data, the request may say in words.
    if let Some(data) = &data
        && let Some(name) = missing(&leads.schema, data).first()
    {
        return Err(wrong(format!(
            "{} needs the input {name}: give it with --input {name}=…",
            leads.name
        )));
    }
    let question = Question {
        args,
        leads,
        request,
        data,
        told,
        program,
    };
    let mut signals = Signals::new()?;
    let mut here = Here::default();
    let result = question
        .answered(&found, settings, &mut here, &mut signals)
        .await;
    if !here.is_left {
        let left = signals.leave(here.leave()).await;
        let code = result?;
        left?;
        return Ok(code);
    }
    result
}

impl Question<'_> {
    async fn answered(
        &self,
        found: &TeamFolder,
        settings: &Settings,
        here: &mut Here,
        signals: &mut Signals,
    ) -> anyhow::Result<Option<ExitCode>> {
        let starting = self.client(found, settings, here);
        let client = tokio::select! {
            client = starting => client?,
            _ = signals.next() => {
                if self.args.json {
                    let cancelled = json!({"ok": false, "error": "cancelled", "faults": self.told.faults()});
                    output::line(cancelled.to_string())?;
                }
                return Ok(Some(ExitCode::from(CANCELLED)));
            }
        };
        let Some(client) = client else {
            return Ok(None);
        };
        if here.team.is_none() {
            here.absent = self.absent_there(&client, found).await?;
        }
        let asked = match &mut here.hosted {
            None if here.team.is_none() => {
                let taking_over = self.take_over(&client, found, settings, here);
                self.ask(&client, signals, taking_over).await
            }
            None => self.ask(&client, signals, pending()).await,
            Some(hosted) => tokio::select! {
                asked = self.ask(&client, signals, pending()) => asked,
                error = hosted.failed() => Err(error),
            },
        };
        here.is_left = asked.as_ref().is_ok_and(|asked| asked.is_left);
        if !here.is_left {
            client.close().await;
        }
        let asked = asked?;
        let (run, is_kept) = (&asked.run, here.is_kept);
        let report = match (is_kept, here.team.is_some()) {
            (true, _) => {
                let data = settings
                    .data
                    .as_deref()
                    .map(calls::data_flag)
                    .unwrap_or_default();
                format!(
                    "; {} sop report {run}{data} says whether it kept to its procedure",
                    calls::program()
                )
            }
            (false, true) => "; it is kept nowhere, so there is no report".to_owned(),
            (false, false) => format!(
                "; {} sop report {run}, in the folder where the team runs, says whether it kept to its procedure",
                calls::program()
            ),
        };
        let code = self.show(&asked, &here.absent)?;
        if !self.args.json {
            output::aside(format!("run {run}{report}"));
        }
        Ok(Some(code))
    }

    /// True if the first agent that fails ends the request.
    fn is_fail_fast(&self) -> bool {
        match self.args.error_mode {
            Some(mode) => mode == ErrorMode::FailFast,
            None => self.leads.error_mode.unwrap_or_default() == Written::FailFast,
        }
    }

    /// Asks, and shows what happens until there is an outcome. The first signal cancels, and the second one leaves.
    /// Meanwhile the team may have to be `taken_over`.
    async fn ask(
        &self,
        client: &Client,
        signals: &mut Signals,
        taken_over: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Asked> {
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
        let began = Instant::now();
        let mut pending = client.delegate(delegation).await?;
        let mut updates = pending.updates();
        let mut screen = Screen::new(self.args.json);
        let mut progress = Progress::default();
        let mut cancelled_at = None;
        let mut is_left = false;
        let mut taken_over = pin!(taken_over);
        let mut is_taken_over = false;
        loop {
            tokio::select! {
                update = updates.next() => {
                    let Some(update) = update else { break };
                    for show in progress.apply(&update) {
                        screen.show(show)?;
                    }
                }
                _ = signals.next() => {
                    is_left = cancelled_at.replace(Instant::now()).is_some();
                    if !is_left {
                        screen.line("cancelling it; Ctrl-C again leaves at once")?;
                        tokio::select! {
                            () = self.cancel(&pending) => {}
                            _ = signals.next() => is_left = true,
                        }
                    }
                    if is_left {
                        break;
                    }
                }
                done = &mut taken_over, if !is_taken_over => {
                    done?;
                    is_taken_over = true;
                }
                () = given_up(cancelled_at) => break,
            }
        }
        let cancelled = || Err(Error::Cancelled("by you".to_owned()));
        let outcome = match is_left {
            true => cancelled(),
            false => tokio::select! {
                biased;
                outcome = pending.outcome() => outcome,
                _ = signals.next() => {
                    is_left = cancelled_at.replace(Instant::now()).is_some();
                    cancelled()
                }
                () = given_up(cancelled_at) => cancelled(),
            },
        };
        Ok(Asked {
            run,
            outcome,
            progress,
            took: began.elapsed(),
            is_cancelled: cancelled_at.is_some(),
            is_left,
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
    /// From the request to its end.
    took: Duration,
    is_cancelled: bool,
    /// No end is waited for any more.
    is_left: bool,
}

/// Waits until a request that was cancelled then should have ended; for ever if it was not.
async fn given_up(cancelled_at: Option<Instant>) {
    match cancelled_at {
        Some(at) => sleep_until(at + CANCELLING).await,
        None => pending().await,
    }
}
