//! Final report of a run.

use std::time::Duration;

use serde::Serialize;

use super::ledger::Verdict;
use crate::table;

/// Figures of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    kills: usize,
    seed: u64,
    acknowledged: u64,
    lost: u64,
    duplicates: u64,
    reordered: u64,
    recovery_ms: Recovery,
    redelivered: u64,
    unsettled: u64,
    turned_away: u64,
    seconds: u64,
}

/// Time from a kill to the first accepted publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Recovery {
    p50: u128,
    max: u128,
}

impl Report {
    pub(crate) fn new(
        kills: usize,
        seed: u64,
        verdict: &Verdict,
        recoveries: &[Duration],
        took: Duration,
    ) -> Self {
        Self {
            kills,
            seed,
            acknowledged: verdict.acknowledged,
            lost: verdict.lost,
            duplicates: verdict.duplicates,
            reordered: verdict.reordered,
            recovery_ms: Recovery::of(recoveries),
            redelivered: verdict.redelivered,
            unsettled: verdict.unsettled,
            turned_away: verdict.turned_away,
            seconds: took.as_secs(),
        }
    }

    /// One line of JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers under names are JSON")
    }

    /// A table.
    pub(crate) fn text(&self) -> String {
        table::of([
            ("kills", self.kills as u64, "with SIGKILL"),
            ("seed", self.seed, "of the moments of the kills"),
            (
                "acknowledged",
                self.acknowledged,
                "publishes that the hub accepted",
            ),
            ("lost", self.lost, "of those, without their effect"),
            ("duplicates", self.duplicates, "effects beyond the first"),
            (
                "reordered",
                self.reordered,
                "first deliveries out of order in their context",
            ),
            (
                "recovery p50",
                Recovery::number(self.recovery_ms.p50),
                "ms from a kill to the next accepted publish",
            ),
            ("recovery max", Recovery::number(self.recovery_ms.max), "ms"),
            (
                "redelivered",
                self.redelivered,
                "deliveries that came again, without another effect",
            ),
            (
                "unsettled",
                self.unsettled,
                "publishes refused or unanswered",
            ),
            (
                "turned away",
                self.turned_away,
                "clients that the hub closed for good",
            ),
            ("seconds", self.seconds, "that it took"),
        ])
    }
}

impl Recovery {
    fn of(recoveries: &[Duration]) -> Self {
        let mut sorted = recoveries.to_vec();
        sorted.sort_unstable();
        let at = |n: usize| sorted.get(n).map_or(0, Duration::as_millis);
        Self {
            p50: at(sorted.len().saturating_sub(1) / 2),
            max: at(sorted.len().saturating_sub(1)),
        }
    }

    fn number(ms: u128) -> u64 {
        u64::try_from(ms).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovery(ms: &[u64]) -> Recovery {
        let durations: Vec<Duration> = ms.iter().map(|n| Duration::from_millis(*n)).collect();
        Recovery::of(&durations)
    }

    #[test]
    fn the_median_and_the_longest_recovery() {
        assert_eq!(recovery(&[30, 10, 20]), Recovery { p50: 20, max: 30 });
        assert_eq!(recovery(&[2, 1]), Recovery { p50: 1, max: 2 });
        assert_eq!(recovery(&[]), Recovery::default());
    }

    #[test]
    fn the_json_has_the_names_that_are_promised() {
        let verdict = Verdict {
            acknowledged: 5,
            lost: 1,
            duplicates: 2,
            reordered: 3,
            redelivered: 4,
            unsettled: 0,
            turned_away: 0,
            examples: Vec::new(),
        };
        let report = Report::new(7, 9, &verdict, &[Duration::from_millis(8)], Duration::ZERO);
        assert_eq!(
            report.json(),
            r#"{"kills":7,"seed":9,"acknowledged":5,"lost":1,"duplicates":2,"reordered":3,"recovery_ms":{"p50":8,"max":8},"redelivered":4,"unsettled":0,"turned_away":0,"seconds":0}"#
        );
        assert!(report.text().contains("acknowledged"));
    }
}
