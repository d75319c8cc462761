//! Criteria that say how many of something there may be.

use std::sync::LazyLock;

use agenthub_sdk::internal::numerals::{NUMBER, number};
use regex::{Captures, Regex};

use super::{
    super::{super::platform_rules::Rule, test::Test},
    DUTY, NEGATED, OPENING, anchored,
};
use crate::text::measured::Measured;

/// Meaning that words before or after a number give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Most,
    Below,
    Least,
    Above,
    Exactly,
}

use Bound::{Above, Below, Exactly, Least, Most};

/// Words before a number. Those that are about length go with what a text is as long as.
const BEFORE: [(&str, Bound, bool); 52] = [
    ("at most", Most, false),
    ("at the most", Most, false),
    ("no more than", Most, false),
    ("not more than", Most, false),
    ("no greater than", Most, false),
    ("not over", Most, false),
    ("not above", Most, false),
    ("up to", Most, false),
    ("a maximum of", Most, false),
    ("maximum of", Most, false),
    ("maximum", Most, false),
    ("max.", Most, false),
    ("max", Most, false),
    ("not exceeding", Most, false),
    ("limited to", Most, false),
    ("limit it to", Most, false),
    ("keep it to", Most, true),
    ("within", Most, true),
    ("no longer than", Most, true),
    ("not longer than", Most, true),
    ("maximum length of", Most, true),
    ("maximum length:", Most, true),
    ("maximum length", Most, true),
    ("max. length", Most, true),
    ("max length", Most, true),
    ("<=", Most, false),
    ("≤", Most, false),
    ("under", Below, false),
    ("below", Below, false),
    ("fewer than", Below, false),
    ("less than", Below, false),
    ("shorter than", Below, true),
    ("<", Below, false),
    ("at least", Least, false),
    ("no fewer than", Least, false),
    ("not fewer than", Least, false),
    ("no less than", Least, false),
    ("not less than", Least, false),
    ("a minimum of", Least, false),
    ("minimum of", Least, false),
    ("minimum", Least, false),
    ("min.", Least, false),
    ("min", Least, false),
    ("no shorter than", Least, true),
    ("not shorter than", Least, true),
    (">=", Least, false),
    ("≥", Least, false),
    ("over", Above, false),
    ("more than", Above, false),
    ("longer than", Above, true),
    (">", Above, false),
    ("exactly", Exactly, false),
];

/// Words after a number and what is counted, or between them.
const AFTER: [(&str, Bound); 17] = [
    ("or fewer", Most),
    ("or less", Most),
    ("or under", Most),
    ("or shorter", Most),
    ("at most", Most),
    ("at the most", Most),
    ("maximum", Most),
    ("max.", Most),
    ("max", Most),
    ("tops", Most),
    ("or more", Least),
    ("or longer", Least),
    ("or over", Least),
    ("at least", Least),
    ("minimum", Least),
    ("min.", Least),
    ("min", Least),
];

/// Of *characters*, fewer than this are those of a story.
const FEWEST_CHARACTERS: u64 = 6;

const WHAT: &str = r"(?<what>[a-z]+(?: (?:marks?|points?))?)";
const LENGTH: &str = r"(?<length> long| in length| in total| total| overall| altogether|,? \(?(?:including|incl\.|with|counting) (?:the )?spaces\)?)?";

/// A form, and how it is read.
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

/// The tests of a criterion that is a number of what a text is made of, and nothing else: `9 words` are exactly so many.
pub(super) fn read_bare(text: &str) -> Option<Vec<Test>> {
    let captures = BARE.captures(text)?;
    let n = number(&captures["n"])?;
    let what = counted(&captures, false, n)?;
    (is_extent(what) || what == Measured::Items).then(|| vec![least(what, n), most(what, n)])
}

static BARE: LazyLock<Regex> =
    LazyLock::new(|| anchored(&format!("{OPENING}(?<n>{NUMBER}) {WHAT}{LENGTH}")));

fn words<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = all.map(regex::escape).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.join("|")
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let before = words(BEFORE.iter().map(|(word, ..)| *word));
    let after = words(AFTER.iter().map(|(word, _)| *word));
    let amount = format!("(?<n>{NUMBER}) {WHAT}{LENGTH}");
    let form = |pattern: String, reading| Form {
        pattern: anchored(&pattern),
        reading,
    };
    vec![
        form(format!("{OPENING}(?<bound>{before}) ?{amount}"), |c| {
            let (bound, is_length) = before_number(&c["bound"])?;
            bounded(c, bound, is_length)
        }),
        form(
            format!(
                "{NEGATED}(?:(?:be|contain|include|have|use)s? )?(?<bound>more than|over|longer than|fewer than|less than|under|shorter than) {amount}"
            ),
            |c| {
                let (bound, is_length) = before_number(&c["bound"])?;
                bounded(c, if bound == Above { Most } else { Least }, is_length)
            },
        ),
        form(format!("{NEGATED}exceeds? {amount}"), |c| {
            bounded(c, Most, false)
        }),
        form(
            format!("{OPENING}{amount},? \\(?(?<bound>{after})\\)?"),
            |c| bounded(c, after_number(&c["bound"])?, false),
        ),
        form(
            format!("{OPENING}(?<n>{NUMBER}) (?<bound>or (?:fewer|less|more)) {WHAT}{LENGTH}"),
            |c| bounded(c, after_number(&c["bound"])?, false),
        ),
        form(
            format!(
                "{OPENING}(?:(?:between|from) )?(?<least>{NUMBER})(?: ?[-–] ?| to | and ){amount}"
            ),
            |c| {
                // "5 and 10 words" without a "between" is no range.
                let text = c.get(0)?.as_str().to_ascii_lowercase();
                let is_and = text.contains(" and ");
                (is_and == text.contains("between ")).then(|| between(c))?
            },
        ),
        form(
            format!(
                "{OPENING}(?:at least|a minimum of|no fewer than) (?<least>{NUMBER}),? (?:and|but) (?:at most|a maximum of|no more than|not more than) {amount}"
            ),
            between,
        ),
        form(
            format!(
                "{DUTY}(?:(?:be|is|has|have|contains?|includes?|uses?) )?(?:no|without|zero|free of)(?: any)? (?<list>[a-z]+(?: (?:marks?|points?))?(?:(?:, | or |, or | and |, and | nor )(?:no |any |without )?[a-z]+(?: (?:marks?|points?))?)*)"
            ),
            none,
        ),
        form(
            format!(
                "{NEGATED}(?:contain|include|have|use)s? (?:any )?(?<list>[a-z]+(?: (?:marks?|points?))?(?:(?:, | or |, or | nor )(?:any )?[a-z]+(?: (?:marks?|points?))?)*)"
            ),
            none,
        ),
        form(
            format!(
                r"{DUTY}(?:(?:be|is|has|have) )?(?:a )?LIX (?:of )?(?:at most|up to|no more than|not more than) (?<n>\d{{1,3}}(?:\.\d{{1,3}})?)"
            ),
            |c| Some(vec![Test::Lix(c["n"].parse().ok()?)]),
        ),
    ]
});

fn before_number(words: &str) -> Option<(Bound, bool)> {
    let row = BEFORE
        .iter()
        .find(|(word, ..)| word.eq_ignore_ascii_case(words));
    row.map(|(_, bound, is_length)| (*bound, *is_length))
}

fn after_number(words: &str) -> Option<Bound> {
    let row = AFTER
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(words));
    row.map(|(_, bound)| *bound)
}

fn most(what: Measured, n: u64) -> Test {
    Test::Counts(Rule::AtMost(what, n))
}

fn least(what: Measured, n: u64) -> Test {
    Test::Counts(Rule::AtLeast(what, n))
}

fn bounded(captures: &Captures<'_>, bound: Bound, is_length: bool) -> Option<Vec<Test>> {
    let n = number(&captures["n"])?;
    let what = counted(captures, is_length, n)?;
    Some(match bound {
        Most => vec![most(what, n)],
        Below => vec![most(what, n.checked_sub(1)?)],
        Least => vec![least(what, n)],
        Above => vec![least(what, n + 1)],
        Exactly => vec![least(what, n), most(what, n)],
    })
}

fn between(captures: &Captures<'_>) -> Option<Vec<Test>> {
    let (low, high) = (number(&captures["least"])?, number(&captures["n"])?);
    let what = counted(captures, false, high)?;
    (low <= high).then(|| vec![least(what, low), most(what, high)])
}

/// The thing that is counted, where that is clear.
fn counted(captures: &Captures<'_>, is_length: bool, n: u64) -> Option<Measured> {
    let what = unit(&captures["what"])?;
    let length = captures.name("length").map_or("", |length| length.as_str());
    let is_of_length = is_extent(what);
    if is_length && !is_of_length || length.contains("spaces") && what != Measured::Characters {
        return None;
    }
    let says_length =
        is_length || length == " long" || length == " in length" || length.contains("spaces");
    if (length == " long" || length == " in length") && !is_of_length {
        return None;
    }
    let is_of_story = what == Measured::Characters && n < FEWEST_CHARACTERS && !says_length;
    (!is_of_story).then_some(what)
}

/// True if a text is as long as its number of these.
fn is_extent(what: Measured) -> bool {
    matches!(
        what,
        Measured::Characters | Measured::Words | Measured::Sentences | Measured::Lines
    )
}

fn unit(word: &str) -> Option<Measured> {
    match word.to_ascii_lowercase().as_str() {
        "char" | "chars" => Some(Measured::Characters),
        "exclamation point" | "exclamation points" => Some(Measured::ExclamationMarks),
        "question point" | "question points" => None,
        word => Measured::named(word),
    }
}

/// None of these. A text without words or lines is no text, and *no characters* is about a story.
fn none(captures: &Captures<'_>) -> Option<Vec<Test>> {
    let list = captures["list"].to_ascii_lowercase();
    let list = list
        .replace(", or ", ",")
        .replace(", and ", ",")
        .replace(" or ", ",");
    let list = list.replace(" and ", ",").replace(" nor ", ",");
    let one = |item: &str| {
        let item = item.trim();
        let item = ["no ", "any ", "without "]
            .iter()
            .find_map(|start| item.strip_prefix(start))
            .unwrap_or(item);
        let what = unit(item).filter(|what| !is_extent(*what))?;
        Some(most(what, 0))
    };
    list.split(',').map(one).collect()
}
