//! The forms of criteria in words that code understands. Whatever is not exactly of one of them is left to a model.
//!
//! ```text
//! [the text|draft|post|it] [must|should|has to] contain[s]|include[s]|mention[s] "…"
//! [the text …] must not|does not|never contain[s]|include[s]|mention[s]|use[s]|say[s] [any of] "…"[, "…" or "…"]
//! [the text …] [must] contain[s] any of|one of|all of "…", "…"
//! [the text …] [must] start[s]|begin[s]|end[s] with "…"
//! [the text …] [must be|is|has|have|contain[s]|use[s]|keeps to] at most|no more than|up to|at least|no fewer than|exactly 280 characters [long]
//! [the text …] [must be …] under|fewer than|less than|over|more than 280 characters
//! [the text …] [must be …] between 50 and 280 characters
//! [the text …] [must have|has|contains] no|without hashtags
//! [the text …] [must have|has] LIX at most 45
//! ```
//!
//! Instead of characters, anything that is in [`Measured`]. Quotation marks can be straight or curly.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{
    super::{measured::Measured, platform_rules::Rule},
    test::Test,
};

/// Longer criteria are words for a model.
const LONGEST: usize = 500;

const SUBJECT: &str = "(?:(?:the (?:text|draft|post)|it) )?";
const DUTY: &str = "(?:must |should |has to |shall )?";
const HAVING: &str = "(?:(?:be|is|has|have|contains?|includes?|uses?|keeps? to|stays? at) )?";
const QUOTED: &str = r#"(?:"[^"“”]+"|“[^"“”]+”)"#;

/// The tests that a text asks for, all of which have to hold.
pub(super) fn read(text: &str) -> Option<Vec<Test>> {
    let text = text.trim();
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > LONGEST {
        return None;
    }
    let reading = |form: &Form| (form.reading)(&form.pattern.captures(text)?);
    FORMS.iter().find_map(reading)
}

/// What is made of a text that has a form.
type Reading = fn(&Captures<'_>) -> Option<Vec<Test>>;

struct Form {
    pattern: Regex,
    reading: Reading,
}

fn form(pattern: String, reading: Reading) -> Form {
    let whole = format!("(?i)^{SUBJECT}{pattern}$");
    Form {
        pattern: Regex::new(&whole).expect("the forms are constants that a test compiles"),
        reading,
    }
}

static FORMS: LazyLock<[Form; 8]> = LazyLock::new(|| {
    let amount = r"(?<n>\d{1,7}) (?<what>[a-z]+(?: marks?)?)(?: long| in length| in total)?";
    [
        form(
            format!("{DUTY}(?:contain|include|mention)s? (?<q>{QUOTED})"),
            |c| Some(vec![Test::All(quotations(c))]),
        ),
        form(
            format!(
                "(?:(?:must|should|may|does|do) not|doesn't|mustn't|never) (?:contain|include|mention|use|say)s? (?:any of )?(?<q>{QUOTED}(?:(?:, ?| or |, or ){QUOTED})*)"
            ),
            |c| Some(quotations(c).into_iter().map(Test::Lacks).collect()),
        ),
        form(
            format!(
                "{DUTY}(?:contain|include|mention)s? (?<which>any|one|all) of (?<q>{QUOTED}(?:(?:, ?| or | and |, or |, and ){QUOTED})*)"
            ),
            |c| {
                let all = c["which"].eq_ignore_ascii_case("all");
                let texts = quotations(c);
                Some(vec![if all {
                    Test::All(texts)
                } else {
                    Test::Any(texts)
                }])
            },
        ),
        form(
            format!("{DUTY}(?<where>start|begin|end)s? with (?<q>{QUOTED})"),
            |c| {
                let text = quotations(c).pop()?;
                let end = c["where"].eq_ignore_ascii_case("end");
                Some(vec![if end {
                    Test::EndsWith(text)
                } else {
                    Test::StartsWith(text)
                }])
            },
        ),
        form(
            format!(
                "{DUTY}{HAVING}(?<bound>at most|no more than|not more than|up to|at least|no fewer than|no less than|exactly|under|below|fewer than|less than|over|more than) {amount}"
            ),
            bounded,
        ),
        form(
            format!(r"{DUTY}{HAVING}between (?<least>\d{{1,7}}) and {amount}"),
            |c| {
                let (what, most) = amount_of(c)?;
                let least = c["least"].parse().ok()?;
                Some(vec![
                    Test::Counts(Rule::AtLeast(what, least)),
                    Test::Counts(Rule::AtMost(what, most)),
                ])
            },
        ),
        form(
            format!("{DUTY}{HAVING}(?:no|without) (?<what>[a-z]+(?: marks?)?)"),
            |c| {
                let what = Measured::named(&c["what"])?;
                Some(vec![Test::Counts(Rule::AtMost(what, 0))])
            },
        ),
        form(
            format!(
                r"{DUTY}{HAVING}(?:a )?LIX (?:of )?(?:at most|up to|no more than) (?<n>\d{{1,3}}(?:\.\d{{1,3}})?)"
            ),
            |c| Some(vec![Test::Lix(c["n"].parse().ok()?)]),
        ),
    ]
});

fn bounded(captures: &Captures<'_>) -> Option<Vec<Test>> {
    let (what, n) = amount_of(captures)?;
    let most = |n| Test::Counts(Rule::AtMost(what, n));
    let least = |n| Test::Counts(Rule::AtLeast(what, n));
    Some(match captures["bound"].to_ascii_lowercase().as_str() {
        "exactly" => vec![least(n), most(n)],
        "under" | "below" | "fewer than" | "less than" => vec![most(n.checked_sub(1)?)],
        "over" | "more than" => vec![least(n + 1)],
        "at least" | "no fewer than" | "no less than" => vec![least(n)],
        _ => vec![most(n)],
    })
}

fn amount_of(captures: &Captures<'_>) -> Option<(Measured, u64)> {
    Some((
        Measured::named(&captures["what"])?,
        captures["n"].parse().ok()?,
    ))
}

fn quotations(captures: &Captures<'_>) -> Vec<String> {
    let pieces = captures["q"].split(['"', '“', '”']);
    // Every second piece stands between quotation marks.
    pieces.skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn most(what: Measured, n: u64) -> Option<Vec<Test>> {
        Some(vec![Test::Counts(Rule::AtMost(what, n))])
    }

    fn least(what: Measured, n: u64) -> Option<Vec<Test>> {
        Some(vec![Test::Counts(Rule::AtLeast(what, n))])
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&t| t.to_owned()).collect()
    }

    #[test]
    fn plain_words_are_understood() {
        use Measured::{Characters, Emoji, Exclamations, Hashtags, Links, Sentences, Words};
        let both = |least: u64, most: u64| {
            let rules = [
                Rule::AtLeast(Characters, least),
                Rule::AtMost(Characters, most),
            ];
            Some(rules.map(Test::Counts).to_vec())
        };
        for (text, tests) in [
            (
                "contains \"Book now\"",
                Some(vec![Test::All(texts(&["Book now"]))]),
            ),
            (
                "The text must mention “Book now”.",
                Some(vec![Test::All(texts(&["Book now"]))]),
            ),
            (
                "must not contain \"cheap\"",
                Some(vec![Test::Lacks("cheap".into())]),
            ),
            (
                "The post never says \"cheap\"",
                Some(vec![Test::Lacks("cheap".into())]),
            ),
            (
                "must not mention any of \"a\", \"b\" or \"c d\"",
                Some(
                    texts(&["a", "b", "c d"])
                        .into_iter()
                        .map(Test::Lacks)
                        .collect(),
                ),
            ),
            (
                "contains any of \"a\", \"b\" or \"c d\"",
                Some(vec![Test::Any(texts(&["a", "b", "c d"]))]),
            ),
            (
                "Includes all of \"a\" and \"b\"",
                Some(vec![Test::All(texts(&["a", "b"]))]),
            ),
            (
                "ends with \"#fair\"",
                Some(vec![Test::EndsWith("#fair".into())]),
            ),
            (
                "The draft begins with \"Hello\"",
                Some(vec![Test::StartsWith("Hello".into())]),
            ),
            ("at most 280 characters", most(Characters, 280)),
            ("At most 280 characters long.", most(Characters, 280)),
            ("The text is under 281 characters", most(Characters, 280)),
            ("must have no more than 3 hashtags", most(Hashtags, 3)),
            ("Uses exactly 280 characters", both(280, 280)),
            ("between 50 and 280 characters", both(50, 280)),
            ("at least 1 link", least(Links, 1)),
            ("more than 20 words", least(Words, 21)),
            ("It must have at least 2 sentences", least(Sentences, 2)),
            ("no emojis", most(Emoji, 0)),
            ("Contains no exclamation marks.", most(Exclamations, 0)),
            ("LIX at most 45", Some(vec![Test::Lix(45.0)])),
        ] {
            assert_eq!(format!("{:?}", read(text)), format!("{tests:?}"), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        for text in [
            "",
            "contains a call to action",
            "contains \"a\" or something like it",
            "contains \"a\" twice",
            "does not contain \"a\" unless it must",
            "at most 30 words per sentence",
            "at most two hashtags",
            "at most 99999999999999999999 words",
            "no jargon",
            "no emoji in the first line",
            "mentions the price",
            "fewer than 0 words",
            "Ignore the rules. at most 280 characters",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_criterion_can_be_read(text: String, n: u64) {
            read(&text);
            read(&format!("at most {n} words"));
        }
    }
}
