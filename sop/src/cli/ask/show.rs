//! Prints what happens, and the answer.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use agenthub_sdk::{Error, Outcome, proto::a2a::TaskState, runs::Missing};
use agenthub_terminal::{
    output,
    partial::{self, Extent},
};
use anyhow::{Context, anyhow};
use serde_json::{Value, json};

use super::{super::progress::Show, Asked, CANCELLED, Question, absent::Absent};

/// The longest reason in a warning, in characters.
const MAX_WHY: usize = 300;

/// Difference that clocks may have.
const CLOCKS: Duration = Duration::from_millis(250);

impl Question<'_> {
    /// Prints the answer, or why there is none.
    pub(super) fn show(&self, asked: &Asked, absent: &Absent) -> anyhow::Result<ExitCode> {
        let Asked {
            run,
            outcome,
            progress,
            is_cancelled,
            ..
        } = asked;
        let ok = outcome.as_ref().is_ok_and(Outcome::is_completed);
        let error = match outcome {
            Ok(outcome) => outcome.error.clone(),
            Err(error) => error.to_string(),
        };
        let has_failed = match outcome {
            Ok(outcome) => outcome.state == TaskState::Failed,
            Err(error) => matches!(error, Error::DeadlineExceeded { .. }),
        };
        let limit = Duration::from_secs(self.args.timeout);
        let error = match has_failed && is_over(asked.took, limit) {
            true => format!(
                "it was not done within {} s: --timeout SECONDS gives it longer ({error})",
                self.args.timeout
            ),
            false => error,
        };
        let shortfall = outcome.as_ref().ok().and_then(partial::shortfall);
        let extent = Extent::of(shortfall.as_ref());
        let mut failed = partial::missing(shortfall.as_ref());
        if !ok && failed.is_empty() && !is_cancelled {
            // What comes after the first is called back, where the first one ends it.
            let most = if self.is_fail_fast() { 1 } else { usize::MAX };
            failed = progress.failed().take(most).collect();
        }
        if ok {
            // An answer in a form of its own does not say what it lacks.
            if shortfall.is_none() {
                failed.extend(progress.failed());
            }
            failed.retain(|missing| !progress.is_partial(&missing.name));
            failed.extend(progress.partial());
        }
        let is_any_missing = !(failed.is_empty() && absent.agents.is_empty());
        let extent = match is_any_missing {
            true if !progress.has_any_completed() => Extent::Nothing,
            true => extent.max(Extent::Part),
            false => extent,
        };
        let extent = match absent.unusable.is_empty() {
            true => extent,
            false => extent.max(Extent::Part),
        };
        let is_partial = ok && extent != Extent::Whole;
        let code = match (ok, *is_cancelled) {
            (true, _) => extent.code(),
            (false, true) => ExitCode::from(CANCELLED),
            (false, false) => ExitCode::FAILURE,
        };
        if self.args.json {
            let (text, data, task) = match outcome {
                Ok(outcome) => (
                    ok.then(|| answer(outcome, absent)),
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
                "partial": is_partial,
                "undone": shortfall.and_then(|shortfall| shortfall.undone),
                "failed": without(&failed, absent),
                "unusable": absent.unusable,
                "agents": progress.agents(),
                "error": (!ok).then_some(error),
            });
            output::line(value.to_string())?;
            warn(&failed, absent, ok);
            return Ok(code);
        }
        let Ok(outcome) = outcome else {
            if *is_cancelled {
                output::aside("cancelled: there is no answer");
                return Ok(code);
            }
            return Err(anyhow!(error)).context("there is no answer");
        };
        if !ok {
            if *is_cancelled {
                output::aside("cancelled: there is no answer");
                return Ok(code);
            }
            warn(&[], absent, ok);
            if !outcome.text.is_empty() && outcome.text != error {
                tracing::debug!(text = outcome.text, "what there was of an answer");
            }
            output::aside(format!("error: {}", output::plain(&error)));
            return Ok(code);
        }
        let answer = answer(outcome, absent);
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
        warn(&failed, absent, ok);
        Ok(code)
    }
}

/// The agents and tools that the answer is without, and why.
fn without(failed: &[Missing], absent: &Absent) -> Vec<Value> {
    let absent = absent.agents.iter().map(|(agent, why)| (agent, why));
    let failed = failed.iter().map(|missing| (&missing.name, &missing.why));
    let all = absent.chain(failed);
    all.map(|(agent, why)| json!({"agent": agent, "error": why}))
        .collect()
}

/// Says whom the answer is without, if there is one, and which files are nobody.
fn warn(failed: &[Missing], absent: &Absent, is_answered: bool) {
    if is_answered {
        for (agent, why) in &absent.agents {
            partial::warn(agent, "could not start", why);
        }
        failed.iter().for_each(partial::warn_missing);
    }
    for fault in absent.files() {
        output::aside(format!(
            "warning: the team was without {}, which cannot be used: {}",
            fault.path.display(),
            output::cut(&fault.message, MAX_WHY)
        ));
    }
}

/// True if the time of a request is over. Its hub may have rounded it, or have a clock of its own.
fn is_over(took: Duration, limit: Duration) -> bool {
    took + CLOCKS >= limit
}

/// View of a request: the answer on stdout as it grows, if that is a terminal, everything else on stderr.
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

/// The answer in words, and a line for each agent that it is without since it could not start, and for each file that is nobody.
fn answer(outcome: &Outcome, absent: &Absent) -> String {
    let said = outcome.message.as_ref().map(|m| m.text());
    let mut answer = said
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| outcome.text.clone());
    for (agent, why) in &absent.agents {
        let why = output::cut(why, MAX_WHY);
        answer.push_str(&format!("\n{agent} could not start: {why}"));
    }
    for fault in absent.files() {
        let why = output::cut(&fault.message, MAX_WHY);
        answer.push_str(&format!("\n{} was left out: {why}", fault.path.display()));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_late_when_its_own_time_is_over_and_not_before() {
        let limit = Duration::from_secs(900);
        assert!(is_over(limit, limit));
        assert!(is_over(limit - Duration::from_millis(2), limit));
        assert!(!is_over(Duration::from_secs(30), limit));
    }
}
