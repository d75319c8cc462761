//! Watching a run until it ends or its watcher leaves.

use std::{
    collections::VecDeque,
    env,
    io::{self, IsTerminal},
    time::{Duration, SystemTime},
};

use agenthub_proto::cortex::{DecideApprovalRequest, Frame};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    bundle::{Parts, Verdict, parts},
    follow::{Following, News},
    frame,
    keys::Keys,
    line::Line,
    result_file::ResultFile,
    run_view::{Asked, End, Show, View},
    screen::{Screen, width},
};
use crate::{
    calls::{hub_flag, program},
    output::{self, plain},
    stop::{Signal, Signals},
};

/// Interval at which the status is looked at.
const TICK: Duration = Duration::from_millis(500);

/// The width of what is printed where nobody sees it at once, in characters.
const WIDTH: usize = 100;

/// The run to watch, and the form of watching.
#[derive(Clone, Debug)]
pub struct Watching {
    /// To Cortex.
    pub line: Line,
    /// The run's id.
    pub run: String,
    /// Begins behind this frame.
    pub after: u64,
    /// Prints the frames.
    pub json: bool,
    /// File for the result, too.
    pub output: Option<ResultFile>,
    /// Ctrl-C asks whether to cancel the run; otherwise it only leaves.
    pub may_cancel: bool,
    /// Farewell for when the run is left.
    pub farewell: String,
}

/// The reason why nothing more is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The run is over.
    Ended(Verdict),
    /// Whoever watched has left.
    Early,
}

impl Left {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Ended(verdict) => verdict.code(),
            Self::Early => 130,
        }
    }
}

/// Watches a run.
///
/// # Errors
///
/// The run is not known, nobody is there for two minutes, or nothing can be printed.
pub async fn watch(watching: Watching, signals: &mut Signals) -> anyhow::Result<Left> {
    let is_live = !watching.json && io::stderr().is_terminal() && is_able();
    let following = Following::new(watching.line.clone(), watching.run.clone(), watching.after);
    let mut watcher = Watcher {
        keys: is_live.then(Keys::open).flatten(),
        screen: is_live.then(Screen::begin),
        watching,
        view: View::default(),
        asked: VecDeque::new(),
        is_leaving: false,
        is_cut_off: false,
    };
    let left = watcher.run(following, signals).await;
    watcher.end(left)
}

/// True if the terminal can do more than print, by its `TERM`.
fn is_able() -> bool {
    !matches!(env::var("TERM").as_deref(), Err(_) | Ok("" | "dumb"))
}

struct Watcher {
    watching: Watching,
    view: View,
    screen: Option<Screen>,
    keys: Option<Keys>,
    /// Approvals that wait, oldest first.
    asked: VecDeque<Asked>,
    /// The user was asked whether to leave.
    is_leaving: bool,
    is_cut_off: bool,
}

/// Effect of a key or a signal.
enum Next {
    Watch,
    Leave,
}

impl Watcher {
    async fn run(
        &mut self,
        mut following: Following,
        signals: &mut Signals,
    ) -> anyhow::Result<Left> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.draw();
            let next = tokio::select! {
                news = following.next() => match news? {
                    Some(news) => {
                        self.news(news)?;
                        Next::Watch
                    }
                    None => {
                        let verdict = self.view.end().map_or(Verdict::Failed, End::verdict);
                        return Ok(Left::Ended(verdict));
                    }
                },
                key = next_key(&mut self.keys) => self.key(key).await,
                signal = signals.next() => self.signal(signal).await,
                _ = ticks.tick() => Next::Watch,
            };
            if let Next::Leave = next {
                return Ok(Left::Early);
            }
        }
    }

    fn news(&mut self, news: News) -> anyhow::Result<()> {
        match news {
            News::Frame(frame) => {
                self.is_cut_off = false;
                self.frame(&frame)?;
            }
            News::Broken(why) => {
                self.is_cut_off = true;
                self.say(&format!("the connection broke, it is tried again ({why})"));
            }
            News::Back => {
                self.is_cut_off = false;
                self.say("the connection is back");
            }
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> anyhow::Result<()> {
        if self.watching.json {
            output::line(frame::json_of(frame).to_string())?;
        }
        for show in self.view.apply(frame) {
            match show {
                Show::Line(line) => self.say(&line),
                Show::Ask(asked) => {
                    self.say(&asked.lines());
                    if self.keys.is_none() {
                        let (run, id) = (&self.watching.run, &asked.id);
                        let (program, hub) = (program(), hub_flag(self.watching.line.url()));
                        self.say(&format!(
                            "  allow it: {program} runs approve {run} {id}{hub}"
                        ));
                        self.say(&format!(
                            "  refuse it: {program} runs refuse {run} {id}{hub}"
                        ));
                    }
                    self.asked.push_back(asked);
                }
                Show::Answered(id) => self.asked.retain(|asked| asked.id != id),
            }
        }
        Ok(())
    }

    async fn key(&mut self, key: char) -> Next {
        match (self.is_leaving, key) {
            (true, 'l') => return Next::Leave,
            (true, 'c') => self.cancel().await,
            (true, _) => self.is_leaving = false,
            (false, 'y' | 'n') if !self.asked.is_empty() => self.answer(key == 'y').await,
            (false, _) => {}
        }
        Next::Watch
    }

    async fn signal(&mut self, signal: Signal) -> Next {
        if signal == Signal::Terminate || !self.watching.may_cancel || self.keys.is_none() {
            return Next::Leave;
        }
        match self.is_leaving {
            true => self.cancel().await,
            false => self.is_leaving = true,
        }
        Next::Watch
    }

    async fn cancel(&mut self) {
        self.is_leaving = false;
        self.say("cancelling");
        let call = self
            .watching
            .line
            .cancel(&self.watching.run, "cancelled by the user");
        if let Err(trouble) = call.await {
            self.say(&format!("it could not be cancelled: {trouble}"));
        }
    }

    async fn answer(&mut self, is_allowed: bool) {
        let Some(asked) = self.asked.pop_front() else {
            return;
        };
        let request = DecideApprovalRequest {
            run_id: self.watching.run.clone(),
            approval_id: asked.id.clone(),
            approved: is_allowed,
            by: user(),
            comment: String::new(),
        };
        match self.watching.line.decide(request).await {
            Ok(_) => {}
            Err(trouble) if trouble.is_retryable() => {
                self.say(&format!("the answer did not arrive: {trouble}"));
                self.asked.push_front(asked);
            }
            Err(trouble) => self.say(&trouble.to_string()),
        }
    }

    /// Says something beside what comes of the run.
    fn say(&self, text: &str) {
        match &self.screen {
            Some(screen) => screen.line(text),
            None if self.watching.json => {}
            None => output::aside(plain(text)),
        }
    }

    fn draw(&self) {
        let Some(screen) = &self.screen else {
            return;
        };
        let status = match (self.is_leaving, self.is_cut_off, self.asked.front()) {
            (true, ..) => "Leave it running (l), cancel it (c), or watch on (Enter)?".to_owned(),
            (_, true, _) => "waiting for the hub".to_owned(),
            (_, _, Some(asked)) if self.keys.is_some() => asked.prompt(screen.status_width()),
            _ => self.view.status(now_ms()),
        };
        let question = self.asked.front().map(Asked::headline);
        screen.update(&self.view, question.as_deref(), &status);
    }

    /// Gives the terminal back, and says what came of it.
    fn end(mut self, left: anyhow::Result<Left>) -> anyhow::Result<Left> {
        self.keys = None;
        if let Some(screen) = self.screen.take() {
            screen.end();
        }
        let left = left?;
        match (left, self.view.end()) {
            (Left::Early, _) | (_, None) => self.say(&self.watching.farewell),
            (_, Some(End::Failed(why))) => self.say(&format!("error: {why}")),
            (Left::Ended(verdict), Some(End::Completed(result))) => self.result(verdict, result)?,
        }
        Ok(left)
    }

    fn result(&self, verdict: Verdict, result: &Value) -> anyhow::Result<()> {
        self.print(verdict, result)?;
        match &self.watching.output {
            Some(file) => file.write(result),
            None => Ok(()),
        }
    }

    fn print(&self, verdict: Verdict, result: &Value) -> anyhow::Result<()> {
        if self.watching.json {
            return Ok(());
        }
        let cost = self
            .view
            .cost()
            .map_or(String::new(), |cost| format!(", {cost}"));
        let met = match verdict {
            Verdict::Met => "completed",
            Verdict::BestEffort => "completed as well as it could be",
            Verdict::Failed => "ended without a result",
        };
        self.say(&format!("run {} {met}{cost}\n", self.watching.run));
        let width = match io::stderr().is_terminal() {
            true => width(),
            false => WIDTH,
        };
        let Parts {
            data,
            result,
            report,
        } = parts(result, width);
        if !data.is_empty() {
            self.say(&format!("{data}\n"));
        }
        // The result alone, so that it can go into a file.
        if !result.is_empty() {
            output::line(result)?;
        }
        if !report.is_empty() {
            self.say(&format!("\n{report}"));
        }
        Ok(())
    }
}

/// The time of this machine, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The next key; never comes where there is no keyboard. Cancel-safe.
async fn next_key(keys: &mut Option<Keys>) -> char {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// The user of this terminal, for the record.
pub fn user() -> String {
    let name = env::var("USER").or_else(|_| env::var("LOGNAME"));
    name.ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "somebody".to_owned())
}
