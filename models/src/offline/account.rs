//! Account of a request: the parts of its words that nothing shows to be done.
//!
//! It fails closed. A request is accounted for if it is one errand, and its result says more than the request did, or only repeats it where
//! that is what was asked for. Of all else it is said what nobody looked at. Where a text that is to be repeated stands without quotation
//! marks, a word that may say how makes it unknown where the text ends.

use std::collections::BTreeSet;

use super::words::{clauses, cut};
use crate::relevance::{Card, goes_by};

/// Words that address somebody.
const ADDRESS: [&str; 5] = ["ask", "tell", "have", "let", "use"];
/// Words before and between the names of who is addressed.
const BESIDE_NAMES: [&str; 8] = [
    "please", "bitte", "the", "agent", "agents", "both", "and", "or",
];
/// Words that say how often something is to be done.
const OFTEN: [&str; 12] = [
    "twice", "thrice", "times", "again", "each", "every", "zweimal", "dreimal", "viermal", "mal",
    "nochmal", "jeweils",
];
/// Errands that want their own words back.
const REPEATING: [&str; 3] = ["echo", "repeat", "say"];
/// Prepositions and conjunctions that say how something is done.
const HOW: [&str; 20] = [
    "in", "into", "as", "like", "with", "without", "using", "by", "until", "till", "but", "auf",
    "ins", "als", "wie", "mit", "ohne", "durch", "bis", "aber",
];
/// Ends of adverbs of manner.
const MANNER: [&str; 3] = ["ly", "wards", "weise"];

/// Stands for a quotation within an instruction.
const QUOTATION: &str = "quotation";

/// Result of an agent or a tool that was asked for a request.
pub(super) struct Carried<'a> {
    /// Its card; `None` if it is gone.
    pub(super) card: Option<Card<'a>>,
    /// The text of the result.
    pub(super) text: &'a str,
}

/// The sentence on what nobody looked at; `None` if the results account for the whole request.
pub(super) fn open(words: &str, carried: &[Carried<'_>]) -> Option<String> {
    let instruction = instruction(words);
    let cards: Vec<&Card<'_>> = carried.iter().filter_map(|one| one.card.as_ref()).collect();
    let errand = errand(&instruction, &cards);
    let said: Vec<String> = plain_words(&errand.to_lowercase());
    let often = said.iter().find(|word| OFTEN.contains(&&***word));
    let why = match () {
        () if clauses(errand).len() > 1 => {
            "it has more than one part, and was handed on as one".to_owned()
        }
        () if often.is_some() => format!(
            "\"{}\" is not followed",
            often.map(String::as_str).unwrap_or_default()
        ),
        () => {
            let first = said.first().map(String::as_str);
            match first.is_some_and(|first| REPEATING.contains(&first)) {
                true => not_repeated(&said[1..], carried)?,
                false => {
                    carried.iter().find(|one| repeats(words, one))?;
                    "what came back says no more than the request".to_owned()
                }
            }
        }
    };
    Some(format!(
        "(No language model looked whether all of \"{}\" was done: {why}. Ask for one thing at a time, and put a text that is to be used \
         as it is into quotation marks.)",
        cut(words)
    ))
}

/// The words without quotations and without the material behind a colon.
fn instruction(words: &str) -> String {
    let mut outside = String::new();
    for (number, piece) in words.split(['"', '“', '”', '„', '«', '»']).enumerate() {
        match number % 2 {
            0 => outside.push_str(piece),
            _ => outside.push_str(QUOTATION),
        }
    }
    let head = outside.split_once(": ").map(|(head, _)| head.to_owned());
    head.unwrap_or(outside)
}

/// The instruction behind the names of those who are addressed ("ask NAME and NAME to …").
fn errand<'w>(instruction: &'w str, cards: &[&Card<'_>]) -> &'w str {
    let mut rest = instruction.trim();
    // `echo` is the name of an agent behind "ask", and an errand without it.
    let mut is_addressed = false;
    loop {
        let (token, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let word = token.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        is_addressed |= word.contains('_') || ADDRESS.contains(&&*word.to_lowercase());
        let is_name = is_addressed && cards.iter().any(|card| goes_by(card, word));
        let lower = word.to_lowercase();
        let is_address = [&ADDRESS[..], &BESIDE_NAMES].concat().contains(&&*lower);
        if behind.is_empty() || !(is_name || is_address) {
            break;
        }
        rest = behind.trim_start();
    }
    rest.strip_prefix("to ").unwrap_or(rest)
}

/// The reason why a text to repeat may not be what came back.
fn not_repeated(text: &[String], carried: &[Carried<'_>]) -> Option<String> {
    let is_manner = |word: &String| {
        HOW.contains(&&**word)
            || MANNER
                .iter()
                .any(|end| word.len() > 4 && word.ends_with(end))
    };
    if let Some(word) = text.iter().skip(1).find(|word| is_manner(word)) {
        return Some(format!(
            "\"{word}\" may belong to the text, or say how to repeat it"
        ));
    }
    let is_back = |one: &Carried<'_>| {
        let said = plain_words(&one.text.to_lowercase());
        text.iter()
            .all(|word| word == QUOTATION || said.contains(word))
    };
    let is_lacking = carried.iter().any(|one| !is_back(one));
    is_lacking.then(|| "what came back lacks words of the text".to_owned())
}

/// True if every word of the result is one of the request, or of the names that the agent's skills have.
fn repeats(words: &str, one: &Carried<'_>) -> bool {
    let skills = one.card.iter().flat_map(|card| &card.skills);
    let names = skills.flat_map(|skill| [skill.id, skill.name]);
    let known = names.chain([words]).flat_map(plain_words);
    let known: BTreeSet<String> = known.map(|word| word.to_lowercase()).collect();
    // What is told in capitals is no repetition of what was not.
    let given = plain_words(words);
    let is_raised = |word: &String| is_capitals(word) && !given.contains(word);
    let said = plain_words(one.text);
    !said.is_empty()
        && said
            .iter()
            .all(|word| known.contains(&word.to_lowercase()) && !is_raised(word))
}

fn is_capitals(word: &str) -> bool {
    word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase)
}

fn plain_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::Skill;

    fn echo() -> Card<'static> {
        Card {
            id: "agent_echo",
            skills: vec![Skill {
                id: "echo",
                name: "Echo Messages",
                ..Skill::default()
            }],
            ..Card::default()
        }
    }

    fn is_open(words: &str, text: &str) -> bool {
        let card = Some(echo());
        open(words, &[Carried { card, text }]).is_some()
    }

    /// spec: ORC-2.1
    #[test]
    fn one_errand_that_was_done_is_accounted_for_and_nothing_else_is() {
        for words in [
            "echo hello there",
            "echo hi from a pipe",
            "please echo hi.",
            "Bitte echo guten Morgen",
            "ask agent_echo to say \"I am in London\"",
            "say in the text: I am in London",
            "ask agent_echo to say hi",
            "ask agent_echo to echo good morning",
            "Repeat what I say: hi, you. And you!",
            "echo \"hi, you. And then write it\"",
        ] {
            assert!(!is_open(words, &format!("Echo: {words}")), "{words}");
        }
        for words in [
            "echo hi, then write a leaflet",
            "echo hi and translate into French",
            "echo hi; bake bread",
            "echo hi twice",
            "echo hi in French",
            "echo hi backwards",
            "ask agent_echo to say good morning like a pirate",
            "say hi slowly",
            "sag hi auf Deutsch",
            "say it three times",
            "sag hallo und backe Brot",
            "translate good morning",
            "ask agent_echo to fix the sink",
            "ask agent_echo and fix the sink",
        ] {
            assert!(is_open(words, &format!("Echo: {words}")), "{words}");
        }
        assert!(is_open("echo hi there", "hi"), "a word is missing");
        assert!(!is_open("what is the time", "It is ten."));
        assert!(!is_open("shout good morning", "GOOD MORNING"));
        assert!(!is_open("light the lamp", ""), "it has done it");
    }
}
