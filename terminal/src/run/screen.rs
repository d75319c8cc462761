//! A run on a terminal: what happened scrolls by, and below it stand the plan, the text that grows, and what is being done.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{run_view::View, steps::Step};
use crate::output::{cut, plain};

/// Interval at which the spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// The lines of a growing text that are shown.
const TEXT_LINES: usize = 6;

/// The steps of a plan that are shown; of a longer one the last.
const STEPS: usize = 16;

/// The width where the terminal does not tell its own.
const WIDTH: usize = 80;

/// The screen of one run, on standard error.
#[derive(Debug)]
pub(super) struct Screen {
    bar: ProgressBar,
}

impl Screen {
    /// A run begins to be shown.
    pub(super) fn begin() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg}{spinner} {prefix}");
        bar.set_style(style.expect("the template is right"));
        bar.enable_steady_tick(TICK);
        Self { bar }
    }

    /// A line above what is being done.
    pub(super) fn line(&self, text: &str) {
        self.bar.println(plain(text));
    }

    /// Status, and the text or question below it.
    pub(super) fn update(&self, view: &View, status: &str) {
        let width = width();
        self.bar.set_message(block(view, width));
        self.bar.set_prefix(cut(status, width.saturating_sub(3)));
    }

    /// Ends the screen: nothing more is to see here.
    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// The width of this process's terminal, in characters.
pub fn width() -> usize {
    crossterm::terminal::size().map_or(WIDTH, |(columns, _)| usize::from(columns).max(20))
}

/// Text above the status, each line with its end.
fn block(view: &View, width: usize) -> String {
    let mut lines = Vec::new();
    let steps = view.steps();
    let first = steps.len().saturating_sub(STEPS);
    let name = steps[first..].iter().map(|s| s.name.chars().count()).max();
    let name = name.unwrap_or_default();
    lines.extend(steps[first..].iter().map(|step| row(step, name)));
    let text = wrapped(view.text(), width.saturating_sub(4));
    let from = text.len().saturating_sub(TEXT_LINES);
    lines.extend(text[from..].iter().map(|line| format!("  │ {line}")));
    lines
        .iter()
        .map(|line| cut_line(line, width) + "\n")
        .collect()
}

/// A step of the plan in one line.
pub fn row(step: &Step, name: usize) -> String {
    let what = match (step.capability.as_str(), step.agent.as_str()) {
        (what, "") => what.to_owned(),
        ("", agent) => agent.to_owned(),
        (what, agent) => format!("{what} by {agent}"),
    };
    let mut line = format!("  {} {:<name$}  {what}", step.mark(), step.name);
    if let Some(ms) = step.took_ms {
        line += &format!("  {:.1} s", ms as f64 / 1_000.0);
    }
    if step.done + step.open > 1 {
        line += &format!("  {} done, {} at work", step.done, step.open);
    }
    if step.attempt > 1 {
        line += &format!("  attempt {}", step.attempt);
    }
    line
}

/// The lines of a text, none longer than `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in plain(text).lines() {
        let characters: Vec<char> = line.replace('\t', " ").chars().collect();
        match characters.is_empty() {
            true => lines.push(String::new()),
            false => lines.extend(characters.chunks(width.max(1)).map(|c| c.iter().collect())),
        }
    }
    lines
}

fn cut_line(line: &str, width: usize) -> String {
    plain(line).chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::run_view::tests::frame;

    /// spec: ORC-4
    #[test]
    fn the_plan_and_the_text_that_grows_stand_below() {
        let mut view = View::default();
        let steps = json!({
            "draft": {"capability": "write", "agent": "writer"},
            "review": {"capability": "check", "dependsOn": ["draft"]},
        });
        view.apply(&frame("plan_update", "", json!({"plan": {"steps": steps}})));
        view.apply(&frame(
            "handoff",
            "requested",
            json!({"to": "writer", "step": "draft"}),
        ));
        let text = format!("first\n{}\nlast \u{1b}[2J", "long ".repeat(12));
        view.apply(&frame("delta", &text, json!(null)));
        insta::assert_snapshot!(block(&view, 32));
    }

    #[test]
    fn of_much_the_end_is_shown() {
        let mut view = View::default();
        let steps: serde_json::Map<String, serde_json::Value> = (0..40)
            .map(|n| (format!("s{n:02}"), json!({"capability": "c"})))
            .collect();
        view.apply(&frame("plan_update", "", json!({"plan": {"steps": steps}})));
        view.apply(&frame("delta", &"x\n".repeat(50), json!(null)));
        let shown = block(&view, 80);
        assert_eq!(shown.lines().count(), STEPS + TEXT_LINES);
        assert!(shown.contains("s39") && !shown.contains("s01"), "{shown}");
    }
}
