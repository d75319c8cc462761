//! The terminal while a turn is watched: a spinner, and the answer as it grows.

use std::{
    env,
    io::{self, Write},
    time::Duration,
};

use agenthub_terminal::output::plain;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

const TICK: Duration = Duration::from_millis(100);

/// A turn that takes longer gets a hint about what can be done.
const PATIENCE: Duration = Duration::from_secs(3);

/// Status while there is no hub.
const WAITING: &str = "waiting for the hub";

const HINT: &str = "(Enter: go on in the background, Ctrl-C: cancel)";

/// The screen of one watched turn. The terminal is in raw mode, so a new line needs its carriage return.
pub(super) struct Screen {
    spinner: Option<ProgressBar>,
    doing: String,
    /// The hub is away, so nobody can tell what is being done.
    is_cut_off: bool,
    typed: String,
    since: Instant,
    /// A line has been begun.
    in_line: bool,
}

impl Screen {
    /// A turn begins.
    pub(super) fn begin() -> Self {
        let mut screen = Self {
            spinner: None,
            doing: "Cortex is thinking".to_owned(),
            is_cut_off: false,
            typed: String::new(),
            since: Instant::now(),
            in_line: false,
        };
        screen.spin();
        screen
    }

    /// Something is being done.
    pub(super) fn doing(&mut self, text: &str) {
        self.doing = plain(text).replace('\n', " ");
        self.spin();
    }

    /// Text that the user has typed meanwhile.
    pub(super) fn typed(&mut self, text: &str) {
        text.clone_into(&mut self.typed);
        if !self.in_line {
            self.spin();
        }
    }

    /// Time has passed. `is_cut_off` while there is no connection to the hub.
    pub(super) fn tick(&mut self, is_cut_off: bool) {
        self.is_cut_off = is_cut_off;
        if self.spinner.is_some() {
            self.spin();
        }
    }

    /// A line above what is being done.
    pub(super) fn line(&mut self, text: &str) {
        let was_spinning = self.stop_spinner();
        self.end_line();
        raw(&format!("{text}\n"));
        if was_spinning {
            self.spin();
        }
    }

    /// A piece of the answer.
    pub(super) fn text(&mut self, piece: &str) {
        self.stop_spinner();
        raw(&plain(piece));
        self.in_line = true;
    }

    /// A whole answer; `shown` if its pieces were.
    pub(super) fn answer(&mut self, text: &str, shown: bool) {
        self.stop_spinner();
        if !(shown && self.in_line) {
            self.end_line();
            raw(&plain(text));
        }
        raw("\n");
        self.in_line = false;
    }

    /// The pieces so far are void.
    pub(super) fn void(&mut self) {
        if self.in_line {
            raw(" …");
        }
        self.end_line();
    }

    /// Ends the screen: nothing more is to see here.
    pub(super) fn end(mut self) {
        self.stop_spinner();
        self.end_line();
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            raw("\n");
        }
    }

    fn spin(&mut self) {
        self.end_line();
        let mut message = match self.is_cut_off {
            true => WAITING.to_owned(),
            false => self.doing.clone(),
        };
        if self.since.elapsed() > PATIENCE {
            message = format!("{message} {HINT}");
        }
        if !self.typed.is_empty() {
            message = format!("{message}  > {}", self.typed);
        }
        match &self.spinner {
            Some(spinner) => spinner.set_message(message),
            None => self.spinner = Some(spinner(message)),
        }
    }

    fn stop_spinner(&mut self) -> bool {
        let spinner = self.spinner.take();
        let was_spinning = spinner.is_some();
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
        was_spinning
    }
}

fn spinner(message: String) -> ProgressBar {
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    spinner.set_style(style.expect("the template is right"));
    spinner.set_message(message);
    spinner.enable_steady_tick(TICK);
    spinner
}

/// Writes to a terminal in raw mode. One that is gone ends the chat elsewhere.
fn raw(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out
        .write_all(text.replace('\n', "\r\n").as_bytes())
        .and_then(|()| out.flush());
}

/// Less conspicuous text, where colours are wanted.
pub(super) fn dim(text: &str) -> String {
    match env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) {
        true => text.to_owned(),
        false => format!("\u{1b}[2m{text}\u{1b}[0m"),
    }
}
