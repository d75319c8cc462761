//! What a comparison says in the end.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use super::rows::{Goal, Row};

/// What one side of a row came to in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) figure: f64,
    /// The server's CPU time meanwhile, in microseconds for each delivery, or acknowledgement where nothing is delivered; where that is known.
    pub(super) cpu_us: Option<f64>,
}

impl From<f64> for Sample {
    fn from(figure: f64) -> Self {
        Self {
            figure,
            cpu_us: None,
        }
    }
}

/// The hub and what it is held against, in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) hub: Sample,
    pub(super) other: Sample,
}

impl Ratio {
    fn value(self) -> f64 {
        self.hub.figure / self.other.figure
    }
}

/// All rounds of all rows.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: String,
    goal: Goal,
    /// By rounds; empty where the other system is missing.
    ratios: Vec<Ratio>,
    /// Rounds that gave no figure.
    failed: u32,
}

impl Report {
    pub(super) fn add(&mut self, row: &Row, ratio: Ratio) {
        self.line(row).ratios.push(ratio);
    }

    /// The other system is missing.
    pub(super) fn skip(&mut self, row: &Row) {
        self.line(row);
    }

    /// One of the systems gave no figure in a round.
    pub(super) fn fail(&mut self, row: &Row) {
        self.line(row).failed += 1;
    }

    fn line(&mut self, row: &Row) -> &mut Line {
        let at = match self.rows.iter().position(|line| line.name == row.name) {
            Some(at) => at,
            None => {
                self.rows.push(Line {
                    name: row.name.clone(),
                    goal: row.goal,
                    ratios: Vec::new(),
                    failed: 0,
                });
                self.rows.len() - 1
            }
        };
        &mut self.rows[at]
    }

    /// Whether the median of every row that could be measured reaches its goal, and no row failed in all rounds.
    pub(super) fn is_met(&self) -> bool {
        self.rows.iter().filter_map(Line::met).all(|met| met)
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Line::json).collect();
        json!({ "rows": rows }).to_string()
    }

    /// A table for people.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "what",
            "AgentHub",
            "held against",
            "ratio",
            "range",
            "goal",
            "",
        ]);
        for line in &self.rows {
            let cells = match line.spread() {
                None => [
                    "–".to_owned(),
                    match line.failed {
                        0 => "not installed".to_owned(),
                        _ => "failed".to_owned(),
                    },
                    String::new(),
                    String::new(),
                ],
                Some((low, median, high)) => [
                    plain(middle(line.ratios.iter().map(|r| r.hub.figure))),
                    plain(middle(line.ratios.iter().map(|r| r.other.figure))),
                    format!("{median:.2}"),
                    format!("{low:.2}–{high:.2}"),
                ],
            };
            let met = match line.met() {
                Some(true) => "reached",
                Some(false) => "not reached",
                None => "",
            };
            let [hub, other, ratio, range] = cells;
            table.add_row([
                line.name.clone(),
                hub,
                other,
                ratio,
                range,
                line.goal.described(),
                met.to_owned(),
            ]);
        }
        for column in 1..=5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

impl Line {
    /// The lowest ratio, the median and the highest.
    fn spread(&self) -> Option<(f64, f64, f64)> {
        let mut ratios: Vec<f64> = self.ratios.iter().map(|r| r.value()).collect();
        ratios.sort_by(f64::total_cmp);
        let (low, high) = (*ratios.first()?, *ratios.last()?);
        Some((low, middle(ratios.into_iter()), high))
    }

    fn met(&self) -> Option<bool> {
        match self.spread() {
            Some((_, median, _)) => Some(self.goal.is_met(median)),
            None => (self.failed > 0).then_some(false),
        }
    }

    fn json(&self) -> serde_json::Value {
        let spread = self.spread();
        json!({
            "name": self.name,
            "goal": self.goal.number(),
            "ratio": spread.map(|(_, median, _)| median),
            "low": spread.map(|(low, ..)| low),
            "high": spread.map(|(.., high)| high),
            "met": self.met(),
        })
    }
}

/// The median.
pub(super) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A number with as many digits as it means.
pub(super) fn plain(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n if n >= 1e4 => format!("{:.0} k", n / 1e3),
        n if n >= 100.0 => format!("{n:.0}"),
        n => format!("{n:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::rows::rows, *};

    #[test]
    fn a_goal_is_reached_by_the_median_and_never_by_what_failed() {
        let rows = rows();
        let row = &rows[0];
        let Goal::AtLeast(goal) = row.goal else {
            panic!("it is to be fast");
        };
        let ratio = |value: f64| Ratio {
            hub: value.into(),
            other: 1.0.into(),
        };
        let mut report = Report::default();
        for value in [goal * 2.0, goal, goal / 2.0] {
            report.add(row, ratio(value));
        }
        assert!(report.is_met());
        let line: serde_json::Value = serde_json::from_str(&report.json()).expect("it is JSON");
        let line = &line["rows"][0];
        assert_eq!(line["ratio"], goal);
        assert_eq!(
            (&line["low"], &line["high"]),
            (&json!(goal / 2.0), &json!(goal * 2.0))
        );
        assert_eq!(line["met"], true);
        report.skip(&rows[1]);
        assert!(report.is_met(), "what is not installed counts for nothing");
        report.fail(&rows[2]);
        assert!(!report.is_met());
        assert!(report.table().contains("failed"));
    }
}
