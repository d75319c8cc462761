//! Compliance reports as people read them.

use agenthub_sdk::proto::wkt::Timestamp;
use agenthub_terminal::output::plain;

use crate::{
    Level,
    compliance::{By, Finding, Report, Verdict},
};

/// The narrowest and the widest report, in characters.
const WIDTH: std::ops::RangeInclusive<usize> = 40..=120;

/// Indent of what belongs to a rule.
const INDENT: usize = 6;

/// Look of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The width of a line, in characters.
    pub(crate) width: usize,
    /// True if the reader sees colours.
    pub(crate) is_coloured: bool,
}

/// A report, section by section.
pub(crate) fn report(report: &Report, look: Look) -> String {
    let width = look.width.clamp(*WIDTH.start(), *WIDTH.end());
    let mut lines = heading(report, width);
    let mut section = None;
    for finding in &report.rules {
        if section != Some(&finding.section) {
            lines.push(String::new());
            if !finding.section.is_empty() {
                lines.push(bold(&plain(&finding.section), look));
            }
            section = Some(&finding.section);
        }
        lines.extend(of(finding, &report.procedure.file, width, look));
    }
    lines.push(String::new());
    lines.push(counts(report));
    lines.join("\n")
}

/// The agents whose runs could not be reported on as well.
pub(crate) fn absent(agents: &[String]) -> Option<String> {
    let names = plain(&agents.join(", ")).into_owned();
    let told = format!("also asked, but with no run of an SOP in this data folder: {names}");
    (!agents.is_empty()).then_some(told)
}

fn heading(report: &Report, width: usize) -> Vec<String> {
    let procedure = &report.procedure;
    let version = procedure.version.as_ref().map(|v| format!(", version {v}"));
    let version = version.unwrap_or_default();
    let state = match (report.is_over(), report.ended_ms) {
        (_, Some(ended)) => {
            let took = seconds(ended.saturating_sub(report.started_ms));
            let undone = report.undone.map(|undone| format!(", {}", undone.label()));
            format!(
                "{}{}, took {took}",
                report.state,
                undone.unwrap_or_default()
            )
        }
        _ => "not over: this is how things stand".to_owned(),
    };
    let model = match &report.model {
        Some(model) => format!("; judged by {model}"),
        None => String::new(),
    };
    let texts = [
        format!("{} ({}{version})", procedure.name, procedure.file),
        format!("run {}", report.run),
        format!("{}, {state}{model}", when(report.started_ms)),
    ];
    texts
        .iter()
        .flat_map(|text| wrapped(text, width, 0))
        .collect()
}

fn of(finding: &Finding, file: &str, width: usize, look: Look) -> Vec<String> {
    let mark = mark(finding.verdict, look);
    let level = match finding.level {
        Level::Must => "MUST",
        Level::MustNot => "MUST NOT",
        Level::Should => "SHOULD",
        Level::ShouldNot => "SHOULD NOT",
        Level::May => "MAY",
    };
    let verdict = match finding.verdict {
        Verdict::Kept => "kept",
        Verdict::Broken => "broken",
        Verdict::NotApplicable => "not applicable",
        Verdict::NotChecked => "not checked",
    };
    let who = match finding.by {
        By::Code => "code: ",
        By::Model => "model: ",
        By::Nobody => "",
    };
    let line = finding.line;
    let mut lines = vec![format!(
        "  {mark} {level}, {verdict}  {}",
        dim(&plain(&format!("{file}:{line}")), look)
    )];
    lines.extend(wrapped(&finding.text, width, INDENT));
    lines.extend(wrapped(
        &format!("{who}{}", finding.evidence),
        width,
        INDENT,
    ));
    if let Some(quotation) = &finding.quotation {
        let source = finding.source.as_deref().unwrap_or("what happened");
        lines.extend(wrapped(&format!("“{quotation}” ({source})"), width, INDENT));
    }
    lines
}

fn counts(report: &Report) -> String {
    let counts = report.counts;
    if report.rules.is_empty() {
        let file = plain(&report.procedure.file).into_owned();
        return format!(
            "{file} has no MUST, MUST NOT, SHOULD or SHOULD NOT, so there is nothing to check"
        );
    }
    let s = if report.rules.len() == 1 { "" } else { "s" };
    format!(
        "{} rule{s}: {} kept, {} broken, {} not applicable, {} not checked",
        report.rules.len(),
        counts.kept,
        counts.broken,
        counts.not_applicable,
        counts.not_checked
    )
}

fn mark(verdict: Verdict, look: Look) -> String {
    let (mark, colour) = match verdict {
        Verdict::Kept => ("✓", "32"),
        Verdict::Broken => ("✗", "31"),
        Verdict::NotApplicable => ("–", "2"),
        Verdict::NotChecked => ("?", "33"),
    };
    styled(mark, colour, look)
}

fn bold(text: &str, look: Look) -> String {
    styled(text, "1", look)
}

fn dim(text: &str, look: Look) -> String {
    styled(text, "2", look)
}

fn styled(text: &str, code: &str, look: Look) -> String {
    match look.is_coloured {
        true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    }
}

/// A text on lines of at most this width, where its words are not longer; each begins with so many spaces.
fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let most = width.saturating_sub(indent).max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in plain(text).split_whitespace() {
        let letters = word.chars().count();
        match lines.last_mut() {
            Some(line) if length + 1 + letters <= most => {
                line.push(' ');
                line.push_str(word);
                length += 1 + letters;
            }
            _ => {
                lines.push(format!("{:indent$}{word}", ""));
                length = letters;
            }
        }
    }
    lines
}

fn when(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
    Timestamp { seconds, nanos: 0 }.to_string()
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::runs::model::Undone;

    use crate::compliance::{Counts, Procedure};

    use super::*;

    fn finding(level: Level, section: &str, verdict: Verdict, by: By) -> Finding {
        Finding {
            id: "R1".into(),
            level,
            text: "You MUST ask the \u{1b}[31mresearcher before the critic, and tell it what the person has asked for, in full.".into(),
            section: section.into(),
            line: 12,
            verdict,
            by,
            evidence: "researcher was called first".into(),
            quotation: (by == By::Model).then(|| "Find\nthree sources".into()),
            source: (by == By::Model).then(|| "call 1 to researcher".into()),
        }
    }

    fn reported(rules: Vec<Finding>, ended_ms: Option<u64>) -> Report {
        Report {
            run: "0a1b2c3d".into(),
            procedure: Procedure {
                name: "editor".into(),
                version: Some("1.2".into()),
                file: "sops/editor.md".into(),
                ..Procedure::default()
            },
            state: if ended_ms.is_some() {
                "completed"
            } else {
                "working"
            }
            .into(),
            undone: None,
            started_ms: 1_800_000_000_123,
            ended_ms,
            model: ended_ms.map(|_| "openai/gpt-5".to_owned()),
            counts: Counts {
                kept: 1,
                broken: 1,
                not_applicable: 1,
                not_checked: 1,
            },
            rules,
        }
    }

    const PLAIN: Look = Look {
        width: 72,
        is_coloured: false,
    };

    #[test]
    fn reports_are_read_section_by_section() {
        let findings = vec![
            finding(Level::Must, "", Verdict::Kept, By::Code),
            finding(Level::MustNot, "Work", Verdict::Broken, By::Model),
            finding(Level::Should, "Work", Verdict::NotApplicable, By::Model),
            finding(Level::ShouldNot, "Answer", Verdict::NotChecked, By::Nobody),
        ];
        let parts = [
            report(&reported(findings, Some(1_800_000_012_500)), PLAIN),
            report(&reported(Vec::new(), None), PLAIN),
            absent(&["a".to_owned(), "b".to_owned()]).expect("there are some"),
        ];
        insta::assert_snapshot!(parts.join("\n---\n"));
        assert_eq!(absent(&[]), None);
    }

    /// spec: SOP-8.7
    #[test]
    fn a_report_is_headed_by_what_the_answer_lacks() {
        let mut given = reported(Vec::new(), Some(1_800_000_012_500));
        given.undone = Some(Undone::All);
        let text = report(&given, PLAIN);
        assert!(
            text.contains("completed, nothing done, took 12.3 s"),
            "{text}"
        );
    }

    #[test]
    fn colours_only_mark() {
        let findings = vec![finding(Level::Must, "Work", Verdict::Broken, By::Code)];
        let given = reported(findings, Some(1_800_000_012_500));
        let coloured = report(
            &given,
            Look {
                is_coloured: true,
                ..PLAIN
            },
        );
        assert!(coloured.contains("\u{1b}[31m✗\u{1b}[0m MUST"));
        let codes = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m"];
        let bare = codes
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(bare, report(&given, PLAIN));
    }
}
