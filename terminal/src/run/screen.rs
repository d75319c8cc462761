//! A run on a terminal: what happened scrolls by, and below it stand the plan, the text that grows, and what is being done.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{choosing::choose, run_view::View, steps::Step, workflow_steps::word};
use crate::output::{cut, plain};

/// Interval at which the spinner turns.
const TICK: Duration = Duration::from_millis(100);

/// The lines of a growing text that are shown at most.
const TEXT_LINES: usize = 6;

/// The steps of a plan that are shown at most.
const STEPS: usize = 16;

/// The columns of the status line that its spinner takes.
const SPINNER: usize = 3;

/// The height where the terminal does not tell its own.
const HEIGHT: usize = 24;

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

    /// Status, and above it the plan, the text that grows and the question that waits for an answer.
    pub(super) fn update(&self, view: &View, question: Option<&str>, status: &str) {
        let (width, height) = size();
        self.bar.set_message(block(view, question, (width, height)));
        self.bar.set_prefix(cut(status, self.status_width()));
    }

    /// The width of the status, in characters.
    pub(super) fn status_width(&self) -> usize {
        width().saturating_sub(SPINNER)
    }

    /// Ends the screen: nothing more is to see here.
    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// The width of this process's terminal, in characters.
pub fn width() -> usize {
    size().0
}

/// Width and height of this process's terminal, in characters.
fn size() -> (usize, usize) {
    let size = crossterm::terminal::size();
    size.map_or((WIDTH, HEIGHT), |(columns, rows)| {
        (usize::from(columns).max(20), usize::from(rows))
    })
}

/// Text above the status, each line with its end. With the status it is lower than the terminal: of more, nothing could be drawn anew.
fn block(view: &View, question: Option<&str>, (width, height): (usize, usize)) -> String {
    let room = height.saturating_sub(2);
    let question = question.map_or_else(Vec::new, |question| {
        let lines = wrapped(&format!("? {question}"), width.saturating_sub(2));
        ended_at(lines, (room / 2).max(1))
    });
    let room = room.saturating_sub(question.len());
    let text = wrapped(view.text(), width.saturating_sub(4));
    let from = text.len().saturating_sub(TEXT_LINES.min(room / 3));
    let text = text[from..].iter().map(|line| format!("  │ {line}"));
    let text: Vec<String> = text.collect();

    let steps = view.steps();
    let chosen = choose(steps, STEPS.min(room.saturating_sub(text.len())));
    let shown = chosen.shown.iter().map(|at| &steps[*at]);
    let name = shown.clone().map(|step| step.name.chars().count()).max();
    let line = |step: &Step| {
        let row = row(step, name.unwrap_or_default());
        match step.state.as_str() {
            state @ ("refused" | "cancelled" | "not-reached") => format!("{row}  {state}"),
            _ => row,
        }
    };
    let mut lines: Vec<String> = shown.map(line).collect();
    lines.extend(chosen.hidden.map(|hidden| format!("  … {hidden}")));
    lines.extend(text);
    lines.extend(question.into_iter().map(|line| format!("  {line}")));
    lines
        .iter()
        .map(|line| cut_line(line, width) + "\n")
        .collect()
}

/// At most this many lines; what is left out is marked.
fn ended_at(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.pop();
            last.push('…');
        }
    }
    lines
}

/// A step of the plan in one line.
pub fn row(step: &Step, name: usize) -> String {
    let what = match (step.capability.as_str(), step.agent.as_str()) {
        (what, "") => what.to_owned(),
        ("", agent) => agent.to_owned(),
        (what, agent) => format!("{what} by {agent}"),
    };
    let mut line = format!("  {} {:<name$}  {what}", step.mark(), step.name);
    if let Some(decision) = step.decision {
        line += &format!(": {}", word(decision));
    }
    if let Some(ms) = step.took_ms {
        line += &format!("  {:.1} s", ms as f64 / 1_000.0);
    }
    if step.done + step.open > 1 {
        line += &format!("  {} done, {} at work", step.done, step.open);
    }
    if step.attempt > 1 {
        line += &format!("  attempt {}", step.attempt);
    }
    match step.state.as_str() {
        "retrying" => line += " follows",
        "skipped" => line += "  skipped",
        "in-part" => line += "  in part",
        _ => {}
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
        insta::assert_snapshot!(block(&view, None, (32, 24)));
    }

    /// A run of 40 steps, of which `s00` to `s19` have ended, `s20` is at work and `s03` has failed.
    fn long() -> View {
        let mut view = View::default();
        let steps: serde_json::Map<String, serde_json::Value> = (0..40)
            .map(|n| (format!("s{n:02}"), json!({"agent": "oven"})))
            .collect();
        view.apply(&frame("plan_update", "", json!({"plan": {"steps": steps}})));
        let mut say = |step: &str, status: &str| {
            let data = json!({"step": step, "stepName": step, "metadata": {}});
            view.apply(&frame("step", status, data));
        };
        for n in 0..20 {
            let step = format!("s{n:02}");
            say(&step, "RUNNING");
            say(&step, if n == 3 { "FAILED" } else { "COMPLETED" });
        }
        say("s20", "RUNNING");
        view
    }

    /// On every terminal, also where text grows and a question waits.
    #[test]
    fn the_block_is_lower_than_the_terminal_and_has_what_is_at_work_and_what_failed() {
        let mut view = long();
        view.apply(&frame("delta", &"x\n".repeat(50), json!(null)));
        let question = "May the bread go out? ".repeat(20);
        for (width, height) in [(60, 10), (60, 15), (100, 30), (200, 60)] {
            for question in [None, Some("Go on?"), Some(&*question)] {
                let shown = block(&view, question, (width, height));
                let lines = shown.lines().count();
                assert!(lines < height - 1, "{lines} lines of {height}:\n{shown}");
                assert!(lines <= STEPS + TEXT_LINES + (height - 2) / 2, "{shown}");
                assert!(shown.contains("▸ s20"), "{width}x{height}:\n{shown}");
                if question.is_none() || height > 10 {
                    assert!(shown.contains("✗ s03"), "{width}x{height}:\n{shown}");
                }
                if let Some(question) = question {
                    assert!(shown.contains(&question[..6]), "{shown}");
                }
            }
        }
        insta::assert_snapshot!(block(&long(), Some("Go on? (step s20)"), (60, 12)));
    }
}
