//! Explanation of a miss: the difference between a request and those in the recording.

use std::{collections::HashMap, path::Path, time::Duration};

use similar::{ChangeTag, TextDiff};

use super::{
    super::Request,
    shown::{asker, cut, shown},
};

/// The lines of a difference that are shown, at most.
const MAX_LINES: usize = 60;

/// The characters of a line that changed, and of one that did not, at most.
const MAX_CHANGED: usize = 200;
const MAX_UNCHANGED: usize = 72;

/// The names of those who were recorded that are listed, at most.
const MAX_LISTED: usize = 6;

/// From here on, two requests of different askers are alike.
const ALIKE: f64 = 0.5;

/// After this a difference is looked for more roughly.
const SEARCH: Duration = Duration::from_millis(500);

/// The first lines of a difference.
const BEFORE: &str = "--- recorded";
const AFTER: &str = "+++ asked";

/// A recorded request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    /// Its line in the file.
    pub(super) line: usize,
    /// The request with placeholders.
    pub(super) request: &'a Request,
    /// True if it was answered already.
    pub(super) is_used: bool,
}

/// Says what is different about a request, in a few lines, the first of which say who asked and what to do.
pub(super) fn described(file: &Path, asked: &Request, recorded: &[Candidate<'_>]) -> String {
    let file = file.display();
    let who = asker(asked);
    let again = format!("to record again: --record {file}");
    if recorded.is_empty() {
        return format!(
            "the recording {file} has no request at all, so none by \u{201c}{who}\u{201d}; {again}"
        );
    }
    let Some(nearest) = nearest(asked, recorded) else {
        return format!(
            "the recording {file} has nothing like what \u{201c}{who}\u{201d} asks; in it are {}; {again}",
            listed(recorded)
        );
    };
    let used = match nearest.is_used {
        true => ", which was asked as well",
        false => "",
    };
    format!(
        "the recording {file} has no answer for this prompt of \u{201c}{who}\u{201d}; {again}, or take back the change. Nearest is line {}{used}:\n{}",
        nearest.line,
        difference(nearest.request, asked)
    )
}

/// An error without the difference that it may show: that is for whoever asked, and logs leave it out.
pub fn without_difference(error: &str) -> &str {
    match error.find(&format!("\n{BEFORE}\n{AFTER}")) {
        Some(at) => &error[..at],
        None => error,
    }
}

/// The recorded request that is most like one: of the same asker if there is any, one that was not asked for yet if there is any.
fn nearest<'a>(asked: &Request, recorded: &[Candidate<'a>]) -> Option<Candidate<'a>> {
    let (who, text) = (asker(asked), shown(asked));
    let ranked = recorded.iter().map(|candidate| {
        let is_same = asker(candidate.request) == who;
        let likeness = likeness(&text, &shown(candidate.request));
        (is_same, !candidate.is_used, likeness, *candidate)
    });
    let related = ranked.filter(|(is_same, _, likeness, _)| *is_same || *likeness >= ALIKE);
    let best = related.reduce(|best, other| {
        let is_better = (other.0, other.1, other.2) > (best.0, best.1, best.2);
        if is_better { other } else { best }
    });
    best.map(|(.., candidate)| candidate)
}

/// Share of two requests that is in both, by lines: from 0 to 1.
fn likeness(one: &str, two: &str) -> f64 {
    let said = |text| str::lines(text).filter(|line| !line.starts_with('['));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut lines = 0;
    for line in said(one) {
        *counts.entry(line).or_default() += 1;
        lines += 1;
    }
    let mut both = 0;
    for line in said(two) {
        lines += 1;
        if let Some(left @ 1..) = counts.get_mut(line) {
            *left -= 1;
            both += 1;
        }
    }
    match lines {
        0 => 1.0,
        lines => 2.0 * f64::from(both) / f64::from(lines),
    }
}

/// The difference of two requests, with a line around it, shortened.
fn difference(recorded: &Request, asked: &Request) -> String {
    let (before, after) = (shown(recorded), shown(asked));
    let diff = TextDiff::configure()
        .timeout(SEARCH)
        .diff_lines(&*before, &*after);
    let mut unified = diff.unified_diff();
    unified.context_radius(1);
    let mut lines = vec![BEFORE.to_owned(), AFTER.to_owned()];
    for hunk in unified.iter_hunks() {
        lines.push(hunk.header().to_string());
        let changes: Vec<_> = hunk.iter_changes().collect();
        for (at, change) in changes.iter().enumerate() {
            let text = change.value().trim_end();
            let other = || counterpart(&changes, at).map_or("", |other| other.value().trim_end());
            lines.push(match change.tag() {
                ChangeTag::Equal => format!(" {}", cut(text, MAX_UNCHANGED)),
                ChangeTag::Delete => format!("-{}", around(text, other())),
                ChangeTag::Insert => format!("+{}", around(text, other())),
            });
        }
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… and {more} more lines"));
    }
    lines.join("\n")
}

/// The line that stands for this one on the other side, if it was changed rather than put in or taken out.
fn counterpart<'c, 'a>(
    changes: &'c [similar::Change<&'a str>],
    at: usize,
) -> Option<&'c similar::Change<&'a str>> {
    let tag = changes[at].tag();
    let is_changed = |change: &similar::Change<&str>| change.tag() != ChangeTag::Equal;
    let before = changes[..at].iter().rev().take_while(|c| is_changed(c));
    let begin = at - before.count();
    let block = changes[begin..].iter().take_while(|c| is_changed(c));
    let own = changes[begin..at].iter().filter(|c| c.tag() == tag).count();
    block.filter(|c| c.tag() != tag).nth(own)
}

/// The line; of a long one the part where it begins to differ from the other.
fn around(text: &str, other: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_CHANGED {
        return text.to_owned();
    }
    let same = text
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let from = same.saturating_sub(MAX_CHANGED / 4);
    let window: String = text.chars().skip(from).take(MAX_CHANGED).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if from + MAX_CHANGED < length {
        "…"
    } else {
        ""
    };
    format!("{before}{window}{after}")
}

/// The recorded askers, each once.
fn listed(recorded: &[Candidate<'_>]) -> String {
    let mut names: Vec<String> = Vec::new();
    for candidate in recorded {
        let name = format!("\u{201c}{}\u{201d}", asker(candidate.request));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
