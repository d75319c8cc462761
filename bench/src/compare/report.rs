//! Final report of a comparison.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::json;

use super::{
    figures::{Spread, plain},
    rows::{Goal, Row},
};

/// Prefix of rows about deliveries to many.
const FAN_OUT: &str = "deliveries/s, ";

/// Result of one side of a row in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) figure: f64,
    /// The server's CPU time, in microseconds per delivery, or per acknowledgement if nothing is delivered; if known.
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

/// The hub and its reference, in one round.
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

/// A row about deliveries to many: the hub first, then its reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FanOut {
    pub(super) name: String,
    pub(super) against: String,
    pub(super) per_s: [Spread; 2],
    pub(super) cpu_us: [Spread; 2],
}

/// All rounds of all rows.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: String,
    /// Name of the reference, if it has one.
    against: Option<&'static str>,
    goal: Goal,
    /// By round; empty if the other system is missing.
    ratios: Vec<Ratio>,
    /// Number of failed rounds.
    failed: u32,
}

impl Report {
    pub(super) fn add(&mut self, row: &Row, ratio: Ratio) {
        self.line(row).ratios.push(ratio);
    }

    /// Records that the other system is missing.
    pub(super) fn skip(&mut self, row: &Row) {
        self.line(row);
    }

    /// Records that a system failed in a round.
    pub(super) fn fail(&mut self, row: &Row) {
        self.line(row).failed += 1;
    }

    fn line(&mut self, row: &Row) -> &mut Line {
        let at = match self.rows.iter().position(|line| line.name == row.name) {
            Some(at) => at,
            None => {
                self.rows.push(Line {
                    name: row.name.clone(),
                    against: row.against_name(),
                    goal: row.goal,
                    ratios: Vec::new(),
                    failed: 0,
                });
                self.rows.len() - 1
            }
        };
        &mut self.rows[at]
    }

    /// True if the median of every measured row reaches its goal, and no row failed in all rounds.
    pub(super) fn is_met(&self) -> bool {
        self.rows.iter().filter_map(Line::met).all(|met| met)
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(Line::json).collect();
        json!({ "rows": rows }).to_string()
    }

    /// The measured rows about deliveries to many.
    pub(super) fn fan_outs(&self) -> Vec<FanOut> {
        self.rows.iter().filter_map(Line::fan_out).collect()
    }

    /// A Markdown table.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "what",
            "AgentHub",
            "server CPU, µs",
            "held against",
            "server CPU, µs",
            "ratio",
            "range",
            "goal",
            "",
        ]);
        for line in &self.rows {
            table.add_row(line.cells());
        }
        for column in 1..=7 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

impl Line {
    fn ratio(&self) -> Option<Spread> {
        Spread::of(self.ratios.iter().map(|r| r.value()))
    }

    fn met(&self) -> Option<bool> {
        match self.ratio() {
            Some(ratio) => Some(self.goal.is_met(ratio.middle)),
            None => (self.failed > 0).then_some(false),
        }
    }

    /// One side of the row, over all rounds.
    fn figure(&self, side: fn(&Ratio) -> Sample) -> Option<Spread> {
        Spread::of(self.ratios.iter().map(|r| side(r).figure))
    }

    fn cpu_us(&self, side: fn(&Ratio) -> Sample) -> Option<Spread> {
        Spread::of(self.ratios.iter().filter_map(|r| side(r).cpu_us))
    }

    fn fan_out(&self) -> Option<FanOut> {
        let name = self.name.strip_prefix(FAN_OUT)?;
        let [hub, other]: [fn(&Ratio) -> Sample; 2] = [|r| r.hub, |r| r.other];
        Some(FanOut {
            name: name.to_owned(),
            against: self.against?.to_owned(),
            per_s: [self.figure(hub)?, self.figure(other)?],
            cpu_us: [self.cpu_us(hub)?, self.cpu_us(other)?],
        })
    }

    fn cells(&self) -> [String; 9] {
        let median = |spread: Option<Spread>| spread.map(|spread| plain(spread.middle));
        let other = match (median(self.figure(|r| r.other)), self.against) {
            (Some(figure), Some(against)) => format!("{against}: {figure}"),
            (Some(figure), None) => figure,
            (None, _) if self.failed > 0 => "failed".to_owned(),
            (None, _) => "left out".to_owned(),
        };
        let (ratio, range) = match self.ratio() {
            Some(ratio) => (
                format!("{:.2}", ratio.middle),
                format!("{:.2}–{:.2}", ratio.low, ratio.high),
            ),
            None => Default::default(),
        };
        let met = match self.met() {
            Some(true) => "reached",
            Some(false) => "not reached",
            None => "",
        };
        [
            self.name.clone(),
            median(self.figure(|r| r.hub)).unwrap_or_else(|| "–".to_owned()),
            median(self.cpu_us(|r| r.hub)).unwrap_or_default(),
            other,
            median(self.cpu_us(|r| r.other)).unwrap_or_default(),
            ratio,
            range,
            self.goal.described(),
            met.to_owned(),
        ]
    }

    fn json(&self) -> serde_json::Value {
        let ratio = self.ratio();
        json!({
            "name": self.name,
            "goal": self.goal.number(),
            "ratio": ratio.map(|r| r.middle),
            "low": ratio.map(|r| r.low),
            "high": ratio.map(|r| r.high),
            "met": self.met(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::rows::rows, *};

    fn ratio(hub: f64, other: f64) -> Ratio {
        Ratio {
            hub: Sample {
                figure: hub,
                cpu_us: Some(0.5),
            },
            other: other.into(),
        }
    }

    #[test]
    fn a_goal_is_reached_by_the_median_and_never_by_what_failed() {
        let rows = rows();
        let row = &rows[0];
        let Goal::AtLeast(goal) = row.goal else {
            panic!("it is to be fast");
        };
        let mut report = Report::default();
        for hub in [goal * 2.0, goal, goal / 2.0] {
            report.add(row, ratio(hub, 1.0));
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

    #[test]
    fn a_line_of_the_table_shows_both_sides_and_what_they_cost() {
        let rows = rows();
        let mut report = Report::default();
        report.add(&rows[0], ratio(3_000_000.0, 1_000_000.0));
        let table = report.table();
        let line = table.lines().nth(2).expect("a line after the head");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let expected = [
            "3.00 M",
            "0.500",
            "NATS core: 1.00 M",
            "",
            "3.00",
            "3.00–3.00",
            "≥ 1.2",
            "reached",
        ];
        assert_eq!(cells[2..10], expected, "{table}");
    }

    #[test]
    fn the_chart_shows_every_fan_out_of_which_both_costs_are_known() {
        let mut report = Report::default();
        for row in rows() {
            let mut ratio = ratio(2.0, 1.0);
            ratio.other.cpu_us = Some(1.0);
            report.add(&row, ratio);
        }
        let shown = report.fan_outs();
        let names: Vec<&str> = shown.iter().map(|f| f.name.as_str()).collect();
        assert_eq!((names.len(), names[0]), (12, "256 B, memory, 1→1"));
        assert_eq!(shown[11].against, "JetStream (file)");
    }
}
