//! Whether a rule holds always, by what it stands under. Of headings that code does not know, only a model can tell.

use std::sync::LazyLock;

use regex::Regex;

use super::duty::{is_conditional, regex};
use crate::Rule;

/// Headings and lines whose rules hold always.
const PLAIN: [&str; 40] = [
    "",
    "rules",
    "the rules",
    "house rules",
    "general rules",
    "general",
    "always",
    "constraints",
    "requirements",
    "steps",
    "the steps",
    "procedure",
    "the procedure",
    "process",
    "workflow",
    "work",
    "your work",
    "how you work",
    "how to work",
    "answer",
    "the answer",
    "your answer",
    "answers",
    "how you answer",
    "how to answer",
    "what to answer",
    "what to look for",
    "what to do",
    "output",
    "format",
    "form",
    "style",
    "tone",
    "guidelines",
    "principles",
    "duties",
    "limits",
    "instructions",
    "overview",
    "you must",
];

/// True if the rule holds always, as far as what it stands under says.
pub(super) fn holds_always(rule: &Rule) -> bool {
    match rule.above.is_empty() {
        true => is_plain(&rule.section),
        false => rule.above.iter().all(|above| is_plain(above)),
    }
}

/// True of headings that are known, and of those of numbered steps that name no case.
fn is_plain(text: &str) -> bool {
    static STEP: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)^(?:step )?\d+[.):]?\s+(?<what>\S+)"));
    const CASES: [&str; 12] = [
        "on", "in", "at", "for", "during", "after", "before", "by", "with", "without", "example",
        "examples",
    ];
    if is_conditional(text) {
        return false;
    }
    if let Some(step) = STEP.captures(text.trim()) {
        return !CASES.contains(&&*step["what"].to_lowercase());
    }
    let words = text.to_lowercase();
    let words = words.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    PLAIN.contains(&&*words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: SOP-8.6
    #[test]
    fn only_headings_that_are_known_hold_always() {
        for plain in [
            "",
            "Rules",
            "**Constraints:**",
            "How you work",
            "1. Ask the researcher",
            "Step 2: Write",
            "The answer",
        ] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "When it rains",
            "On Sundays",
            "In winter",
            "Express repairs",
            "Examples of bad rules",
            "Not true:",
            "1. If it rains",
            "2. On Sundays",
            "Gift wrapping",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }
}
