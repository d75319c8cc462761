//! Rules about the words of the answer, as criteria that the `qa` agent's code knows: lengths, counts, and texts that have to be in it or not.

use std::sync::LazyLock;

use agenthub_agents::qa;
use regex::Regex;

use super::duty::{Duty, Subject, regex, the_answer};

/// A criterion of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Criterion {
    /// In words that [`qa::computed`] knows.
    pub(super) words: String,
    /// True if it must not hold.
    pub(super) is_negated: bool,
}

/// The criterion that a duty is.
pub(super) fn read(duty: &Duty) -> Option<Criterion> {
    static FORMS: LazyLock<Forms> = LazyLock::new(Forms::new);
    let what = with_digits(&duty.what);
    let table = match (duty.is_negated, duty.subject) {
        (true, _) => &FORMS.forbidden,
        (false, Subject::Agent) => &FORMS.of_agent,
        (false, Subject::Answer) => &FORMS.of_answer,
    };
    let mut found = table.iter().filter_map(|form| form.read(&what));
    // Code has to know the words, whatever the text.
    found.find(|criterion| qa::computed(&criterion.words, "").is_some())
}

impl Criterion {
    /// True if a text in quotation marks has to be in the answer.
    pub(super) fn wants_a_text(&self) -> bool {
        let is_forbidden = self.is_negated || self.words.starts_with("must not");
        !is_forbidden && self.words.contains(['"', '“'])
    }

    /// Tells whether this answer meets it, if that can be told, and what was found.
    pub(super) fn decide(&self, answer: &str) -> (Option<bool>, String) {
        let Some(computed) = qa::computed(&self.words, answer) else {
            return (None, String::new());
        };
        let evidence = computed.evidence.replace("in the draft", "in it");
        let otherwise = self.without_hyphens(answer);
        if otherwise.is_some_and(|holds| computed.holds != Some(holds)) {
            let evidence = format!("{evidence}; spelt without hyphens it is otherwise");
            return (None, evidence);
        }
        (
            computed.holds.map(|holds| holds != self.is_negated),
            evidence,
        )
    }

    /// Tells whether a criterion with a quotation holds where `e-mail` and `email` are one word, if that can be told.
    fn without_hyphens(&self, answer: &str) -> Option<bool> {
        if !self.words.contains(['"', '“']) {
            return None;
        }
        let (words, answer) = (joined(&self.words), joined(answer));
        qa::computed(&words, &answer)?.holds
    }
}

/// A text without the hyphens inside of its words.
pub(super) fn joined(text: &str) -> String {
    static HYPHENS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?<before>\p{L})[-\u{2010}\u{2011}](?<after>\p{L})"));
    // Twice, as the letter after one may stand before the next.
    let once = HYPHENS.replace_all(text, "$before$after");
    HYPHENS.replace_all(&once, "$before$after").into_owned()
}

/// A form of a duty, and what it is as a criterion, with the groups of the pattern in it.
struct Form {
    pattern: Regex,
    words: &'static str,
    is_negated: bool,
}

impl Form {
    fn read(&self, what: &str) -> Option<Criterion> {
        let found = self.pattern.captures(what)?;
        let mut words = String::new();
        found.expand(self.words, &mut words);
        Some(Criterion {
            words,
            is_negated: self.is_negated,
        })
    }
}

struct Forms {
    of_agent: Vec<Form>,
    of_answer: Vec<Form>,
    forbidden: Vec<Form>,
}

impl Forms {
    fn new() -> Self {
        let form = |pattern: String, words: &'static str, is_negated: bool| Form {
            pattern: regex(&format!("(?i)^{pattern}$")),
            words,
            is_negated,
        };
        let answer = the_answer();
        let inside = format!("(?: (?:in|to) {answer})?");
        let quoted = r#"(?:"[^"“”]+"|“[^"“”]+”)"#;
        let list = format!("{quoted}(?:(?:, ?| or |, or ){quoted})*");
        let amount = r"\d{1,7} [a-z]+(?: marks?)?(?: long| in length| in total)?";
        let bound = "(?:at most|no more than|not more than|up to|at least|no fewer than|no less than|exactly|under|below|fewer than|less than|over|more than|between)";
        let say = "(?:include|mention|use|say|write|contain|quote|add|have)(?: the (?:words?|phrase|term|text|name|sentence))?";
        let with = "with(?: the (?:words?|phrase|text|sentence|line))?";
        let keep = format!("(?:keep|limit|restrict) {answer}(?:['’]s length| length)?");
        let of_agent = vec![
            form(
                format!("{keep}(?: to| at)? (?<rest>{bound} .+)"),
                "must be $rest",
                false,
            ),
            form(
                format!("{keep} (?:to|within|at) (?<n>{amount})"),
                "at most $n",
                false,
            ),
            form(
                format!("{keep} to (?<n>{amount}) or (?:less|fewer)"),
                "at most $n",
                false,
            ),
            form(
                format!(
                    "(?:answer|reply|respond|write)(?: {answer})? (?:in|with|using) (?<rest>{bound} .+)"
                ),
                "must be $rest",
                false,
            ),
            form(
                format!("(?:answer|reply|respond) within (?<n>{amount})"),
                "at most $n",
                false,
            ),
            form(
                "(?:answer|reply|respond) (?:in|with) (?:exactly )?1 (?<what>sentence|word|line)"
                    .to_owned(),
                "exactly 1 $what",
                false,
            ),
            form(
                format!("(?:use|have|include) (?<rest>(?:{bound}|no) .+?){inside}"),
                "must have $rest",
                false,
            ),
            form(
                format!("{say} (?<q>{quoted}){inside}"),
                "must contain $q",
                false,
            ),
            form(
                format!("{say} (?<q>(?:any|one|all) of {quoted}.*?){inside}"),
                "must contain $q",
                false,
            ),
            form(
                format!("(?<where>start|begin|end)(?: {answer})? {with} (?<q>{quoted})"),
                "must $where with $q",
                false,
            ),
            form(
                format!("(?:finish|close|conclude)(?: {answer})? {with} (?<q>{quoted})"),
                "must end with $q",
                false,
            ),
        ];
        let of_answer = vec![
            form(
                format!(
                    "(?:be |stay |remain |run to |be kept |have )?(?:to )?(?<n>{amount}) or (?:less|fewer|shorter)"
                ),
                "at most $n",
                false,
            ),
            form(
                format!("(?:be |stay |remain |have )?(?<n>{amount}) or (?:more|longer)"),
                "at least $n",
                false,
            ),
            form(
                format!("(?:be|stay|remain|be kept) within (?<n>{amount})"),
                "at most $n",
                false,
            ),
            form(
                format!("(?:be|stay|remain) shorter than (?<n>{amount})"),
                "under $n",
                false,
            ),
            form(
                format!("(?:be|stay|remain) longer than (?<n>{amount})"),
                "over $n",
                false,
            ),
            form(
                format!("(?:stay|remain|be kept|be limited)(?: to| at)? (?<rest>{bound} .+)"),
                "must be $rest",
                false,
            ),
            form(
                format!("(?<where>start|begin|end) {with} (?<q>{quoted})"),
                "must $where with $q",
                false,
            ),
            form(format!("{say} (?<q>{quoted})"), "must contain $q", false),
            form(
                format!("{say} (?<q>(?:any|one|all) of {quoted}.*)"),
                "must contain $q",
                false,
            ),
            form("(?<rest>.+)".to_owned(), "must $rest", false),
        ];
        let exceed = "(?:exceed|go over|be (?:longer|more|over) than|be over|(?:have|contain|use|include|write) more than|run over)";
        let fall_below = "(?:be (?:shorter|less|fewer) than|be under|(?:have|contain|use|include|write) (?:fewer|less) than|fall below)";
        let forbidden = vec![
            form(
                format!("{say} (?<q>{quoted}){inside}"),
                "must not contain $q",
                false,
            ),
            form(
                format!("{say}(?: any of)? (?<q>{list}){inside}"),
                "must not contain any of $q",
                false,
            ),
            form(
                format!("(?<where>start|begin|end)(?: {answer})? {with} (?<q>{quoted})"),
                "must $where with $q",
                true,
            ),
            form(
                format!("{exceed} (?<n>{amount}){inside}"),
                "at most $n",
                false,
            ),
            form(
                format!("{fall_below} (?<n>{amount}){inside}"),
                "at least $n",
                false,
            ),
            form(
                format!(
                    "(?:contain|include|use|have|write|add) (?:any )?(?<what>[a-z]+(?: marks?)?){inside}"
                ),
                "no $what",
                false,
            ),
        ];
        Self {
            of_agent,
            of_answer,
            forbidden,
        }
    }
}

/// Small numbers in words as digits. A text with quotations stays as it is.
fn with_digits(text: &str) -> String {
    static NUMBERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let numbers = [
            ("one", "1"),
            ("two", "2"),
            ("three", "3"),
            ("four", "4"),
            ("five", "5"),
            ("six", "6"),
            ("seven", "7"),
            ("eight", "8"),
            ("nine", "9"),
            ("ten", "10"),
        ];
        let compiled = numbers.map(|(name, digits)| (regex(&format!(r"(?i)\b{name}\b")), digits));
        compiled.into()
    });
    if text.contains(['"', '“', '”']) {
        return text.to_owned();
    }
    NUMBERS
        .iter()
        .fold(text.to_owned(), |text, (name, digits)| {
            name.replace_all(&text, *digits).into_owned()
        })
}
