//! Criteria in words, and what is made of them.

use super::super::super::platform_rules::Rule;
use crate::text::measured::Measured;

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
    use Measured::{Characters, Emoji, ExclamationMarks, Hashtags, Links, Sentences, Words};
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
        ("Contains no exclamation marks.", most(ExclamationMarks, 0)),
        ("LIX at most 45", Some(vec![Test::Lix(45.0)])),
    ] {
        assert_eq!(format!("{:?}", read(text)), format!("{tests:?}"), "{text}");
    }
}

/// The near misses of a newcomer: each is understood as its writer means it.
#[test]
fn many_ways_of_saying_the_same_are_understood() {
    use Measured::{
        Characters, Emoji, ExclamationMarks, Hashtags, Links, Questions, Sentences, Words,
    };
    let of = |rules: &[Rule]| Some(rules.iter().map(|rule| Test::Counts(*rule)).collect());
    let (at_most, at_least) = (Rule::AtMost, Rule::AtLeast);
    for (text, tests) in [
        ("maximum 5 words", most(Words, 5)),
        ("max. 5 words", most(Words, 5)),
        ("a maximum of 1,000 characters", most(Characters, 1_000)),
        ("at most 1 000 words", most(Words, 1_000)),
        ("no longer than 60 words", most(Words, 60)),
        ("The post must not be longer than 60 words", most(Words, 60)),
        ("not more than five words", most(Words, 5)),
        ("must not have more than 3 hashtags", most(Hashtags, 3)),
        ("must not exceed 280 characters", most(Characters, 280)),
        ("up to 3 hashtags", most(Hashtags, 3)),
        ("under 280 characters", most(Characters, 279)),
        ("Keep it under sixty words", most(Words, 59)),
        ("5 words or fewer", most(Words, 5)),
        ("5 or fewer words", most(Words, 5)),
        ("3 hashtags max", most(Hashtags, 3)),
        ("Maximum length: 280 characters", most(Characters, 280)),
        (
            "at most 280 characters including spaces",
            most(Characters, 280),
        ),
        ("at most 10 characters long", most(Characters, 10)),
        ("at most five words", most(Words, 5)),
        ("at most twenty-five words", most(Words, 25)),
        ("at least one link", least(Links, 1)),
        ("one or more links", least(Links, 1)),
        ("not fewer than 2 sentences", least(Sentences, 2)),
        ("a minimum of 20 words", least(Words, 20)),
        ("20 words at least", least(Words, 20)),
        (
            "5 to 10 words",
            of(&[at_least(Words, 5), at_most(Words, 10)]),
        ),
        ("5–10 words", of(&[at_least(Words, 5), at_most(Words, 10)])),
        (
            "at least 5 and at most 10 words",
            of(&[at_least(Words, 5), at_most(Words, 10)]),
        ),
        ("must not use any emoji", most(Emoji, 0)),
        ("Don't use emojis", most(Emoji, 0)),
        (
            "no hashtags or links",
            of(&[at_most(Hashtags, 0), at_most(Links, 0)]),
        ),
        ("no exclamation points", most(ExclamationMarks, 0)),
        (
            "at least 2 questions and at least 1 link",
            of(&[at_least(Questions, 2), at_least(Links, 1)]),
        ),
        (
            "At most 280 characters, no emoji and between 1 and 3 hashtags.",
            of(&[
                at_most(Characters, 280),
                at_most(Emoji, 0),
                at_least(Hashtags, 1),
                at_most(Hashtags, 3),
            ]),
        ),
        (
            "must contain the word \"rye\"",
            Some(vec![Test::All(texts(&["rye"]))]),
        ),
        (
            "mentions 'rye bread'",
            Some(vec![Test::All(texts(&["rye bread"]))]),
        ),
        ("enthält", None),
        ("contains „Brot“", Some(vec![Test::All(texts(&["Brot"]))])),
        (
            "contains \"a\" and \"b\"",
            Some(vec![Test::All(texts(&["a", "b"]))]),
        ),
        (
            "contains \"a\" or \"b\"",
            Some(vec![Test::Any(texts(&["a", "b"]))]),
        ),
        (
            "do not use the word \"cheap\"",
            Some(vec![Test::Lacks("cheap".into())]),
        ),
        (
            "contains neither \"a\" nor \"b\"",
            Some(vec![Test::Lacks("a".into()), Test::Lacks("b".into())]),
        ),
        (
            "contains \"rye\" and at most 5 words",
            Some(vec![
                Test::All(texts(&["rye"])),
                Test::Counts(at_most(Words, 5)),
            ]),
        ),
    ] {
        assert_eq!(format!("{:?}", read(text)), format!("{tests:?}"), "{text}");
    }
}

/// Issue 26: numbers with a unit that can be counted are measured.
///
/// spec: ORC-2.2
#[test]
fn a_bare_number_of_what_a_text_is_made_of_is_exactly_that() {
    use Measured::{Characters, Items, Lines, Sentences, Words};
    let exactly = |what, n| [Rule::AtLeast(what, n), Rule::AtMost(what, n)].map(Test::Counts);
    for (text, what, n) in [
        ("9 words", Words, 9),
        ("10 characters", Characters, 10),
        ("The answer has nine words.", Words, 9),
        ("It must be 3 sentences long", Sentences, 3),
        ("one line", Lines, 1),
        ("5 items", Items, 5),
        ("3 characters long", Characters, 3),
    ] {
        let expected = Some(exactly(what, n).to_vec());
        assert_eq!(
            format!("{:?}", read(text)),
            format!("{expected:?}"),
            "{text}"
        );
    }
    assert_eq!(
        format!("{:?}", read("at most 5 items")),
        format!("{:?}", most(Items, 5))
    );
    for text in [
        "at most 5 sentences and 50 words",
        "3 characters",
        "9 words each",
    ] {
        assert!(read(text).is_none(), "{text}");
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
        "at most 99999999999999999999 words",
        "no jargon",
        // Half of it would be something else.
        "at most 5 words per sentence",
        "at most 280 characters excluding spaces",
        "at most 60 words including hashtags",
        "at least 2 questions and 1 link",
        "at most 5 words in each line",
        "The headline has at most 5 words",
        "every sentence has at most 12 words",
        "between 10 and 5 words",
        "5 and 10 words",
        "has 3 hashtags",
        "at most 2.5 words",
        "about 50 words",
        "at most 3 hashtags long",
        "no longer than 3 hashtags",
        "has at least 3 characters",
        "no characters",
        "without words",
        "must not be exactly 5 words",
        "must not mention \"a\" and \"b\"",
        "contains \"a\", \"b\"",
        "contains \"a\" and \"b\" or \"c\"",
        "must not start with \"a\"",
        "no emoji except the bread",
        "at most 3 hashtags and a link",
        "at most one of \"a\", \"b\"",
        "MUST have one heading",
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
