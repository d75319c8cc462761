//! The text of Prometheus, read.

use std::collections::{BTreeMap, BTreeSet};

/// Metrics by name.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    pub(super) families: BTreeMap<String, Family>,
}

#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) help: String,
    pub(super) kind: String,
    /// Labels of each series.
    pub(super) series: Vec<BTreeSet<String>>,
}

impl Exposition {
    pub(super) fn read(text: &str) -> Self {
        let mut read = Self::default();
        let mut current = String::new();
        for line in text.lines() {
            if let Some(described) = line.strip_prefix("# HELP ") {
                let (name, help) = described.split_once(' ').unwrap_or((described, ""));
                name.clone_into(&mut current);
                let family = read.families.entry(current.clone()).or_default();
                assert!(family.help.is_empty(), "{name} is described twice");
                help.clone_into(&mut family.help);
            } else if let Some(described) = line.strip_prefix("# TYPE ") {
                let (name, kind) = described.split_once(' ').expect("a kind");
                assert_eq!(name, current, "HELP comes before TYPE");
                let family = read.families.get_mut(name).expect("it is described");
                kind.clone_into(&mut family.kind);
            } else {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                let family = read.families.get_mut(&current).expect("it is described");
                assert!(name.starts_with(&current), "{name} stands below {current}");
                family.series.push(labels(line));
            }
        }
        read
    }

    /// Adds the metrics of a table of the documentation whose names begin so.
    pub(super) fn add_documented(&mut self, text: &str, prefixes: &[&str]) {
        let rows = text.lines().filter_map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, name, kind, labels, help, _] = cells[..] else {
                return None;
            };
            Some((name.trim_matches('`'), kind, labels, help))
        });
        for (name, kind, labels, help) in rows {
            if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            let labels = labels
                .split(", ")
                .map(|label| label.trim_matches('`').to_owned());
            let bucket = (kind == "histogram").then(|| "le".to_owned());
            let family = Family {
                help: help.to_owned(),
                kind: kind.to_owned(),
                series: vec![labels.chain(bucket).collect()],
            };
            self.families.insert(name.to_owned(), family);
        }
    }

    /// The family that a series belongs to, and the labels that its series have.
    pub(super) fn labels_of(&self, series: &str) -> Option<(&str, BTreeSet<String>)> {
        let endings = ["_bucket", "_sum", "_count"];
        let base = endings
            .iter()
            .find_map(|ending| series.strip_suffix(ending));
        let names = [Some(series), base].into_iter().flatten();
        let (name, family) = names
            .filter_map(|name| self.families.get_key_value(name))
            .find(|(name, family)| *name == series || family.kind == "histogram")?;
        let labels = family.series.iter().flatten().cloned();
        Some((name, labels.collect()))
    }

    /// The table of the documentation.
    pub(super) fn table(&self) -> String {
        let mut table = "| metric | kind | labels | meaning |\n|---|---|---|---|\n".to_owned();
        for (name, Family { help, kind, series }) in &self.families {
            let labels: BTreeSet<&String> = series.iter().flatten().collect();
            let labels = labels.into_iter().filter(|label| *label != "le");
            let labels: Vec<String> = labels.map(|label| format!("`{label}`")).collect();
            table += &format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "));
        }
        table
    }
}

/// Names of the labels of a line.
fn labels(line: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Some((_, mut rest)) = line.split_once('{') else {
        return names;
    };
    while let Some((name, after)) = rest.split_once("=\"") {
        names.insert(name.trim_start_matches(',').to_owned());
        let mut is_escaped = false;
        let end = after.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let end = end.expect("a value ends");
        rest = &after[end + 1..];
    }
    names
}
