//! Notices above a run: its warnings, and agents that have work of it and are not here.

use agenthub_proto::cortex::Frame;
use maud::{Markup, html};

use crate::{elements::agent, screens::waits::Absences};

/// The most warnings that are shown.
const MAX_WARNINGS: usize = 50;

/// The warnings of a run, which stand for themselves however many frames come behind them: the first ones, and how many are left out.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    said: Vec<String>,
    left_out: usize,
}

impl Warnings {
    /// Takes in a frame that may be one.
    pub(super) fn take(&mut self, frame: &Frame) {
        if frame.r#type != "warning" || self.said.contains(&frame.message) {
            return;
        }
        match self.said.len() < MAX_WARNINGS {
            true => self.said.push(frame.message.clone()),
            false => self.left_out += 1,
        }
    }

    pub(super) fn drawn(&self) -> Markup {
        html! {
            @for warning in &self.said { p.notice.warn { (warning) } }
            @if self.left_out > 0 { p.about { "More warnings are not shown here: " (self.left_out) "." } }
        }
    }
}

/// Notices on agents that have work of the run and are not here.
pub(super) fn absent(at_work: &[(String, String)], absences: &Absences) -> Markup {
    let absent = at_work
        .iter()
        .filter_map(|(id, step)| Some((id, step, absences.get(id)?)));
    html! {
        @for (id, step, absence) in absent {
            p.notice.warn { (agent(id)) ", which has " b { (step) } ", " (absence.words()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 26, runs: a warning stays, however much comes behind it.
    #[test]
    fn warnings_stand_for_themselves_and_are_bounded() {
        let frame = |kind: &str, message: String| Frame {
            r#type: kind.into(),
            message,
            ..Frame::default()
        };
        let mut warnings = Warnings::default();
        warnings.take(&frame("warning", "no <x>".into()));
        for n in 0..300 {
            warnings.take(&frame("delta", n.to_string()));
        }
        let shown = warnings.drawn().into_string();
        assert_eq!(shown, "<p class=\"notice warn\">no &lt;x&gt;</p>");
        for n in 0..60 {
            warnings.take(&frame("warning", format!("again {}", n / 2)));
        }
        assert_eq!((warnings.said.len(), warnings.left_out), (31, 0));
        for n in 0..60 {
            warnings.take(&frame("warning", n.to_string()));
        }
        assert_eq!(warnings.said.len(), MAX_WARNINGS);
        assert!(
            warnings
                .drawn()
                .into_string()
                .contains("not shown here: 41")
        );
    }
}
