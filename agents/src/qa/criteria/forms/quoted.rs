//! Criteria that quote what has to be there or not.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{super::test::Test, DUTY, NEGATED, anchored};

/// A text in quotation marks of one kind.
const QUOTED: &str =
    r#"(?:"[^"“”„]+"|“[^"“”„]+”|„[^"“”„]+[“”]|«[^«»]+»|»[^«»]+«|‘[^‘’]+’|'[^'"]+'|`[^`]+`)"#;

/// A name for what is quoted.
const NOUN: &str = "(?:(?:(?:the|a|an) )?(?:exact |literal )?(?:words?|phrases?|terms?|texts?|strings?|names?|hashtags?|expressions?|sentences?|lines?|links?) )?";

/// Junction of several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// One text.
    Single,
    And,
    Or,
    Commas,
    Mixed,
}

struct Form {
    pattern: Regex,
    reading: fn(&Captures<'_>) -> Option<Vec<Test>>,
}

/// The tests of a criterion that is of one of these forms.
pub(super) fn read(text: &str) -> Option<Vec<Test>> {
    FORMS
        .iter()
        .find_map(|form| (form.reading)(&form.pattern.captures(text)?))
}

static FORMS: LazyLock<[Form; 6]> = LazyLock::new(|| {
    let list = format!("{NOUN}(?<q>{QUOTED}(?:(?:, ?| or | and | nor |, or |, and ){QUOTED})*)");
    let form = |pattern: String, reading| Form {
        pattern: anchored(&pattern),
        reading,
    };
    let positive = "(?:contain|include|mention|say|use|have|has|state)s?";
    let negative = "(?:contain|include|mention|say|use|have|state)s?";
    [
        form(
            format!(
                "{DUTY}{positive} (?:both )?{list}(?: at least once| somewhere| verbatim| word for word)?"
            ),
            |c| match joined(c) {
                Joined::Single | Joined::And => Some(vec![Test::All(quotations(c))]),
                Joined::Or => Some(vec![Test::Any(quotations(c))]),
                Joined::Commas | Joined::Mixed => None,
            },
        ),
        form(
            format!(
                "{DUTY}{positive} (?<which>any|one|at least one|all|each|either)(?: of)? (?:these |the following )?{list}"
            ),
            |c| {
                let which = c["which"].to_ascii_lowercase();
                let is_mixed = joined(c) == Joined::Mixed;
                let texts = quotations(c);
                (!is_mixed).then(|| match which.as_str() {
                    "all" | "each" => vec![Test::All(texts)],
                    _ => vec![Test::Any(texts)],
                })
            },
        ),
        form(
            format!("{NEGATED}{negative} (?<any>any of |either )?{list}(?: anywhere| at all)?"),
            |c| {
                // "not a and b" may be about both at once.
                let is_clear =
                    c.name("any").is_some() || !matches!(joined(c), Joined::And | Joined::Mixed);
                is_clear.then(|| lacks(c))
            },
        ),
        form(
            format!("{DUTY}avoids? (?:using |saying |mentioning )?{list}"),
            |c| Some(lacks(c)),
        ),
        form(format!("{DUTY}{positive} neither {list}"), |c| {
            (joined(c) == Joined::Or).then(|| lacks(c))
        }),
        form(
            format!(
                "{DUTY}(?<where>starts?|begins?|opens?|ends?|closes?) with {NOUN}(?<q>{QUOTED})"
            ),
            |c| {
                let text = quotations(c).pop()?;
                let is_end = c["where"].to_ascii_lowercase().starts_with(['e', 'c']);
                Some(vec![if is_end {
                    Test::EndsWith(text)
                } else {
                    Test::StartsWith(text)
                }])
            },
        ),
    ]
});

fn lacks(captures: &Captures<'_>) -> Vec<Test> {
    quotations(captures).into_iter().map(Test::Lacks).collect()
}

fn each_quotation() -> &'static Regex {
    static EACH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(QUOTED).expect("the pattern is a constant that a test compiles")
    });
    &EACH
}

/// The texts between quotation marks.
fn quotations(captures: &Captures<'_>) -> Vec<String> {
    let found = each_quotation().find_iter(&captures["q"]);
    let inside = found.map(|quotation| {
        let mut chars = quotation.as_str().chars();
        chars.next();
        chars.next_back();
        chars.as_str().to_owned()
    });
    inside.collect()
}

fn joined(captures: &Captures<'_>) -> Joined {
    let between: Vec<String> = each_quotation()
        .split(&captures["q"])
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |word: &str| between.iter().any(|b| b.contains(word));
    let has_or = has("or");
    match (has("and"), has_or, has(",")) {
        (true, true, _) => Joined::Mixed,
        (true, ..) => Joined::And,
        (_, true, _) => Joined::Or,
        (_, _, true) => Joined::Commas,
        _ => Joined::Single,
    }
}
