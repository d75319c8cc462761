//! Account of a request: the parts of its words that nothing shows to be done.
//!
//! It fails closed. A request is accounted for if it is one errand, and its result says more than the request did, or only repeats it where
//! that is what was asked for. A word of an errand that is neither among those of the agent or tool, nor in its arguments or its result, shows
//! that it wants something else or more. Of all that it is said what nobody looked at. Where a text that is to be repeated stands in quotation marks or
//! behind a colon, every other word but those that point at it may say how to repeat it. Where it stands without, a word that may say how
//! makes it unknown where the text ends.

use std::collections::BTreeSet;

use super::words::{clauses, cut};
use crate::relevance::{Card, goes_by, stems};

/// Words that address somebody.
const ADDRESS: [&str; 5] = ["ask", "tell", "have", "let", "use"];
/// Words before and between the names of who is addressed.
const BESIDE_NAMES: [&str; 8] = [
    "please", "bitte", "the", "agent", "agents", "both", "and", "or",
];
/// Errands that want their own words back.
const REPEATING: [&str; 3] = ["echo", "repeat", "say"];
/// Words that point at a text and say nothing else of it.
const POINTING: [&str; 14] = [
    "this",
    "that",
    "it",
    "the",
    "following",
    "text",
    "words",
    "message",
    "after",
    "me",
    "what",
    "i",
    "say",
    "back",
];
/// Prepositions, conjunctions and adverbs that say how or how often something is done.
const HOW: [&str; 32] = [
    "in", "into", "as", "like", "with", "without", "using", "by", "until", "till", "but", "auf",
    "ins", "als", "wie", "mit", "ohne", "durch", "bis", "aber", "twice", "thrice", "times",
    "again", "each", "every", "zweimal", "dreimal", "viermal", "mal", "nochmal", "jeweils",
];
/// Ends of adverbs of manner.
const MANNER: [&str; 3] = ["ly", "wards", "weise"];

/// Marks around quotations.
const QUOTES: [char; 6] = ['"', '“', '”', '„', '«', '»'];

/// Words that change nothing of what is wanted: articles, pronouns and prepositions. Each other word of an errand has to be accounted for: a
/// question word, a negation and "again" make another errand of it.
const SILENT: [&str; 61] = [
    "a", "about", "agent", "agents", "an", "as", "ask", "at", "bitte", "by", "do", "for", "from",
    "get", "give", "he", "her", "here", "him", "his", "i", "in", "into", "it", "its", "just",
    "let", "me", "my", "now", "of", "on", "our", "please", "s", "she", "so", "some", "tell",
    "thank", "thanks", "that", "the", "their", "them", "there", "these", "they", "this", "those",
    "to", "up", "us", "use", "want", "we", "what", "which", "with", "you", "your",
];
/// Questions for what an errand names: "what is the time".
const WHAT: [&str; 2] = ["what", "which"];
/// Words that are silent behind such a word, and elsewhere ask whether something is so.
const AUXILIARY: [&str; 21] = [
    "am", "are", "be", "been", "can", "could", "did", "does", "had", "has", "have", "is", "shall",
    "should", "was", "were", "will", "would", "out", "whose", "may",
];
/// Stands for a quotation within an instruction.
const QUOTATION: &str = "quotation";

/// Result of an agent or a tool that was asked for a request.
pub(super) struct Carried<'a> {
    /// Its card; `None` if it is gone.
    pub(super) card: Option<Card<'a>>,
    /// The text of the result.
    pub(super) text: &'a str,
    /// The arguments of a tool that were taken from the words.
    pub(super) arguments: String,
}

/// The sentence on what nobody looked at; `None` if the results account for the whole request.
pub(super) fn open(words: &str, carried: &[Carried<'_>]) -> Option<String> {
    let instruction = instruction(words);
    let cards: Vec<&Card<'_>> = carried.iter().filter_map(|one| one.card.as_ref()).collect();
    let errand = errand(&instruction, &cards);
    let said: Vec<String> = plain_words(&errand.to_lowercase());
    let why = match () {
        () if clauses(errand).len() > 1 => {
            "it has more than one part, and was handed on as one".to_owned()
        }
        () => {
            let first = said.first().map(String::as_str);
            match first.is_some_and(|first| REPEATING.contains(&first)) {
                true => not_repeated(words, &said[1..], carried)?,
                false => match (unaccounted(errand, carried), is_repeated(words, carried)) {
                    (Some(word), _) => format!("nothing shows that \"{word}\" was looked at"),
                    (None, true) => "what came back says no more than the request".to_owned(),
                    (None, false) => return None,
                },
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
    let outside = outside(words);
    let head = outside.split_once(": ").map(|(head, _)| head.to_owned());
    head.unwrap_or(outside)
}

/// The words with a mark in place of each quotation.
fn outside(words: &str) -> String {
    let pieces = words.split(QUOTES).enumerate();
    let pieces = pieces.map(|(number, piece)| if number % 2 == 0 { piece } else { QUOTATION });
    pieces.collect()
}

/// The text that is to be repeated where it is marked as such, and the words behind the colon that stand beside it.
fn marked_text(words: &str) -> Option<(String, Vec<String>)> {
    let quotations: Vec<&str> = words.split(QUOTES).skip(1).step_by(2).collect();
    let behind = |text: &str| text.split_once(": ").map(|(_, behind)| behind.to_owned());
    match quotations.is_empty() {
        true => behind(words).map(|text| (text, Vec::new())),
        false => {
            let beside = behind(&outside(words)).unwrap_or_default();
            Some((quotations.join(" "), plain_words(&beside.to_lowercase())))
        }
    }
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
        // An id, too, of whoever handed the words on.
        let is_named = word.contains('_') || cards.iter().any(|card| goes_by(card, word));
        let is_name = is_addressed && is_named;
        let lower = word.to_lowercase();
        let is_address = [&ADDRESS[..], &BESIDE_NAMES].concat().contains(&&*lower);
        if behind.is_empty() || !(is_name || is_address) {
            break;
        }
        rest = behind.trim_start();
    }
    rest.strip_prefix("to ").unwrap_or(rest)
}

/// The reason why a text to repeat may not be what came back. `errand` has the words of the instruction behind the verb.
fn not_repeated(words: &str, errand: &[String], carried: &[Carried<'_>]) -> Option<String> {
    let (text, how) = match marked_text(words) {
        Some((text, beside)) => {
            let mut others = errand.iter().chain(&beside);
            let how = others.find(|word| *word != QUOTATION && !POINTING.contains(&&***word));
            let how = how.map(|word| format!("\"{word}\" may say how to repeat it"));
            (plain_words(&text.to_lowercase()), how)
        }
        None => {
            let how = errand.iter().find(|word| is_manner(word));
            let how = how
                .map(|word| format!("\"{word}\" may belong to the text, or say how to repeat it"));
            (errand.to_vec(), how)
        }
    };
    let is_back = |one: &Carried<'_>| {
        let said = plain_words(&one.text.to_lowercase());
        text.iter().all(|word| said.contains(word))
    };
    let is_lacking = carried.iter().any(|one| !is_back(one));
    how.or_else(|| is_lacking.then(|| "what came back lacks words of the text".to_owned()))
}

fn is_manner(word: &str) -> bool {
    HOW.contains(&word) || (word.len() > 4 && MANNER.iter().any(|end| word.ends_with(end)))
}

/// The first word of the errand that is of nobody who was asked, and in no argument and no result. A number that stands in a result alone is
/// looked at if it stands there beside the same word as in the errand: "count 22" is not what brought 22 about.
fn unaccounted<'w>(errand: &'w str, carried: &[Carried<'_>]) -> Option<&'w str> {
    let mut known = stems(QUOTATION);
    // All words, as they are written, of cards and arguments.
    let mut told: BTreeSet<String> = BTreeSet::new();
    for one in carried {
        let card = one.card.iter();
        let skills = card.clone().flat_map(|card| &card.skills);
        let of_skills = skills.flat_map(|skill| {
            let lists = skill.tags.iter().chain(&skill.examples).copied();
            [skill.id, skill.name, skill.description]
                .into_iter()
                .chain(lists)
        });
        let own = card.flat_map(|card| [card.id, card.name, card.description]);
        let own: Vec<&str> = own.chain(of_skills).chain([&*one.arguments]).collect();
        told.extend(
            own.iter()
                .flat_map(|text| plain_words(&text.to_lowercase())),
        );
        known.extend(own.into_iter().chain([one.text]).flat_map(stems));
    }
    let words = errand.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let asks_what = lower.first().is_some_and(|first| WHAT.contains(&&**first));
    let is_accounted = |at: usize| {
        let word = &*lower[at];
        let stems = stems(word);
        match () {
            () if told.contains(word) => true,
            () if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let mut results = carried.iter();
                results.any(|one| stands_alike(&lower, at, &plain_words(&one.text.to_lowercase())))
            }
            () if SILENT.contains(&word) || (asks_what && AUXILIARY.contains(&word)) => true,
            () if stems.is_empty() => false,
            () => stems.is_subset(&known),
        }
    };
    let open = (0..words.len()).find(|at| !is_accounted(*at));
    open.map(|at| words[at])
}

/// True if the word stands in a result with the word before or behind it that it has in the errand.
fn stands_alike(errand: &[String], at: usize, result: &[String]) -> bool {
    let pair = |from: usize| errand.get(from..from + 2);
    let pairs = [at.checked_sub(1).and_then(pair), pair(at)];
    let mut pairs = pairs.into_iter().flatten();
    errand.len() == 1 && result.contains(&errand[at])
        || pairs.any(|pair| result.windows(2).any(|found| found == pair))
}

/// True if a result says no more than the request.
fn is_repeated(words: &str, carried: &[Carried<'_>]) -> bool {
    carried.iter().any(|one| repeats(words, one))
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
        is_open_for(echo(), words, text, "")
    }

    fn is_open_for(card: Card<'_>, words: &str, text: &str, arguments: &str) -> bool {
        let carried = Carried {
            card: Some(card),
            text,
            arguments: arguments.to_owned(),
        };
        open(words, &[carried]).is_some()
    }

    /// spec: ORC-2.1
    #[test]
    fn words_that_nobody_speaks_of_are_not_accounted_for() {
        let berths = || Card {
            id: "berth_of",
            description: "Berth of a ship by its name",
            ..Card::default()
        };
        let found = "{\"berth\": 7}";
        for words in [
            "which berth has the ship \"Aurora\"?",
            "the berths of ship=Aurora",
            "Berth: Aurora",
            "let agent_harbour ask berth_of for the berth of ship=Aurora",
        ] {
            assert!(
                !is_open_for(berths(), words, found, "ship Aurora"),
                "{words}"
            );
        }
        for words in [
            "move ship \"Aurora\" to berth 9",
            "delete the berth of \"Aurora\"",
            "the berth of \"Aurora\" in French",
            "is the berth of \"Aurora\" free?",
            "why the berth of \"Aurora\"",
            "is that the berth of \"Aurora\"?",
            "can you tell the berth of \"Aurora\"?",
            "the berth of \"Aurora\" is a berth",
            "when has the ship \"Aurora\" a berth?",
            "the berth of \"Aurora\" again",
            "the berth of all ships, \"Aurora\"",
            "berth 7 of \"Aurora\"",
            "not the berth of \"Aurora\"",
        ] {
            assert!(
                is_open_for(berths(), words, found, "ship Aurora"),
                "{words}"
            );
        }
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
            "echo this text: I am in London",
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
            "echo in French hi",
            "echo hi again",
            "echo hi backwards",
            "ask agent_echo to say good morning like a pirate",
            "say hi slowly",
            "say in the text: I am in London",
            "echo this louder: hi",
            "echo \"hi\" reversed",
            "echo reversed: \"hi\"",
            "repeat this: \"hi\" in capitals",
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
        assert!(is_open("echo \"hi there\"", "hi"), "a word is missing");
        assert!(is_open("repeat this: hi there", "hi"), "a word is missing");
        let does = |description| Card {
            id: "a",
            description,
            ..Card::default()
        };
        let clock = does("Tells the time");
        assert!(!is_open_for(clock, "what is the time", "It is ten.", ""));
        let shout = does("Makes a text louder; shouts");
        assert!(!is_open_for(
            shout,
            "shout good morning",
            "GOOD MORNING",
            ""
        ));
        let lamp = does("Lights lamps");
        assert!(
            !is_open_for(lamp, "light the lamp", "", ""),
            "it has done it"
        );
    }
}
