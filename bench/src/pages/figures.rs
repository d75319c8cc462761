//! Figures and their goals.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

/// Measured figures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    name: String,
    value: f64,
    goal: Goal,
}

/// Reference of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    /// Less than this, in a unit.
    Below(f64, &'static str),
    /// A ratio without a goal.
    Any,
}

impl Figure {
    pub(super) fn new(name: &str, value: f64, goal: Goal) -> Self {
        Self {
            name: name.to_owned(),
            value,
            goal,
        }
    }

    pub(super) fn is_reached(&self) -> bool {
        match self.goal {
            Goal::Below(most, _) => self.value < most,
            Goal::Any => true,
        }
    }

    pub(super) fn json(&self) -> Value {
        let (most, unit) = match self.goal {
            Goal::Below(most, unit) => (Some(most), unit),
            Goal::Any => (None, "×"),
        };
        json!({"name": self.name, "value": self.value, "unit": unit, "below": most, "reached": self.is_reached()})
    }
}

pub(super) fn table(figures: &[Figure]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["FIGURE", "MEASURED", "GOAL", ""]);
    for figure in figures {
        let (unit, goal, reached) = match figure.goal {
            Goal::Below(most, unit) => {
                let reached = ["MISSED", "reached"][usize::from(figure.is_reached())];
                (unit, format!("below {most} {unit}"), reached)
            }
            Goal::Any => ("×", String::new(), ""),
        };
        table.add_row([
            figure.name.clone(),
            format!("{:.2} {unit}", figure.value),
            goal,
            reached.to_owned(),
        ]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// The median of some times; nothing without any.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_held_against_its_goal() {
        let goal = Goal::Below(1.0, "% of a core");
        let good = Figure::new("a page", 0.4, goal);
        let bad = Figure::new("all pages", 1.0, goal);
        assert!(good.is_reached() && !bad.is_reached());
        let shown = table(&[good, bad]);
        assert!(
            shown.contains("0.40 % of a core") && shown.contains("MISSED"),
            "{shown}"
        );
    }
}
