//! Prints what happens, and the answer.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use agenthub_sdk::{Error, Outcome, proto::a2a::TaskState};
use anyhow::{Context, anyhow};
use serde_json::json;

use super::{CANCELLED, Question};
use crate::{
    cmd::sop::progress::{Progress, Show, failed},
    output,
};

impl Question<'_> {
    /// Prints the answer, or why there is none.
    pub(super) fn show(
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

/// Where a request is shown: the answer on stdout as it grows, if that is a terminal, everything else on stderr.
pub(super) struct Screen {
    is_silent: bool,
    grows: bool,
    /// The cursor of the terminal is behind a piece of the answer.
    is_within: bool,
}

impl Screen {
    pub(super) fn new(is_silent: bool) -> Self {
        Self {
            is_silent,
            grows: !is_silent && io::stdout().is_terminal(),
            is_within: false,
        }
    }

    pub(super) fn show(&mut self, show: Show) -> io::Result<()> {
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

    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
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
