//! Checks for tests of metrics.

use crate::Snapshot;

/// Checks that each metric of a snapshot has its row in `docs/METRICS.md`: name, kind, labels in order, meaning.
///
/// # Panics
///
/// Panics with the row that is missing.
pub fn assert_documented(snapshot: &Snapshot) {
    let documented = include_str!("../../docs/METRICS.md");
    for series in snapshot.series() {
        let metric = series.metric;
        let mut labels: Vec<String> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
        labels.sort();
        let row = format!(
            "| `{}` | {} | {} | {} |",
            metric.name,
            format!("{:?}", metric.kind).to_lowercase(),
            labels.join(", "),
            metric.help
        );
        assert!(
            documented.lines().any(|line| line == row),
            "docs/METRICS.md has to have\n{row}"
        );
    }
}
