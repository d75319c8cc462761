//! Meaning of words, apart from tools and agents.

use super::stated::quotations;

/// Greetings, and questions for the one who answers.
const FOR_ONE_ITSELF: [&str; 36] = [
    "hello",
    "hi",
    "hey",
    "hello there",
    "hi there",
    "hello cortex",
    "hi cortex",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "thanks",
    "thank you",
    "thank you very much",
    "goodbye",
    "help",
    "help me",
    "who are you",
    "what are you",
    "what can you do",
    "what can you do for me",
    "what can you do here",
    "what can i do",
    "what can i do here",
    "what can i ask",
    "what can i ask you",
    "how can you help",
    "how can you help me",
    "which agents are here",
    "which agents are there",
    "which agents do you know",
    "what agents are here",
    "what agents are there",
    "what agents do you know",
    "list agents",
    "list the agents",
];

/// True if the words ask for the one who answers, and for nothing else.
pub(super) fn asks_who_it_is(words: &str) -> bool {
    let is_of_speech =
        |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?');
    words.chars().all(is_of_speech) && FOR_ONE_ITSELF.contains(&&*plain(words))
}

/// Words that may stand before an order.
const BEFORE_ORDERS: [&str; 8] = [
    "please", "you", "must", "should", "shall", "may", "can", "just",
];

/// Words that make a prohibition of an order; contractions with "n't" do as well.
const NEGATIONS: [&str; 17] = [
    "not", "never", "no", "none", "nobody", "nothing", "neither", "nor", "cannot", "nicht", "nie",
    "niemals", "kein", "keine", "keinen", "keinem", "keiner",
];

/// Said in place of calls for such words.
pub(super) const FORBIDDING: &str = "What is not to be done takes a language model to tell, so I have called nobody. Say without a negation what is to be done.";

/// Beginnings of questions that ask for what they seem to deny.
const POLITE: [&str; 8] = [
    "can't you ",
    "couldn't you ",
    "won't you ",
    "wouldn't you ",
    "cannot you ",
    "why don't you ",
    "why don't we ",
    "why not ",
];

/// True if the words may say what is not to be done: there is a negation in them, outside of quotations and of the text behind a colon, and
/// of the beginning of a polite question.
pub(super) fn may_forbid(words: &str) -> bool {
    let mut instruction = words.split(": ").next().unwrap_or_default().to_lowercase();
    for quoted in quotations(words) {
        instruction = instruction.replace(&quoted.to_lowercase(), " ");
    }
    let instruction = instruction.replace('’', "'");
    let mut said = without_politeness(instruction.trim_start())
        .split(|c: char| !c.is_alphanumeric() && c != '\'');
    said.any(|word| NEGATIONS.contains(&word) || word.ends_with("n't"))
}

/// The words, in small letters, without the beginning of a polite question.
fn without_politeness(words: &str) -> &str {
    let heads = POLITE.iter();
    let rest = heads.filter_map(|head| words.strip_prefix(*head)).next();
    rest.unwrap_or(words)
}

/// Words at the head of an order that say to leave something.
const AVOIDING: [&str; 7] = [
    "avoid", "skip", "without", "refrain", "stop", "cancel", "ohne",
];

/// True if the words begin by saying what is not to be done, or is to be left. `is_known` are words that name a tool or an agent.
pub(super) fn forbids(words: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let words = words.trim_start().replace('’', "'").to_lowercase();
    let order = without_politeness(&words);
    let end = order.find([',', ';', '.', ':', '"']).unwrap_or(order.len());
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut said = order[..end].split_whitespace().map(bare);
    let first = said.find(|word| !BEFORE_ORDERS.contains(&&**word));
    let is_negation = |word: &str| NEGATIONS.contains(&word) || word.ends_with("n't");
    match first.as_deref() {
        Some("do") => said.next().is_some_and(|word| is_negation(&word)),
        Some(word) => is_negation(word) || AVOIDING.contains(&word) && !is_known(word),
        None => false,
    }
}

/// The subject of a request: what stands behind its first "about" up to the end of the sentence, else its first sentence.
pub(super) fn subject(words: &str) -> &str {
    let words = words.trim();
    let rest = words
        .find(" about ")
        .map_or(words, |at| &words[at + " about ".len()..]);
    let end = ["\n", ". ", "? ", "! ", "; ", ", in "];
    let end = end.iter().filter_map(|end| rest.find(end)).min();
    rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '?', '!', ':', ' '])
}

/// The text that the words point at: what stands behind the colon of an instruction such as "check this:". Instructions may stand
/// before it, as a step of a procedure does.
pub(super) fn material(words: &str) -> Option<&str> {
    const LONGEST: usize = 14;
    let mut found = None;
    let mut rest = words.trim();
    while let Some((head, behind)) = rest.split_once(':') {
        let is_instruction =
            !head.contains(['.', '?', '!', '\n']) && head.split_whitespace().count() <= LONGEST;
        // What stands behind the first that points is the text, unless one right behind it points, too.
        let goes_on = found.is_none() || points_ahead(head);
        if !(behind.starts_with(char::is_whitespace) && is_instruction && goes_on) {
            break;
        }
        rest = behind.trim();
        if points_ahead(head) && !rest.is_empty() {
            found = Some(rest);
        }
    }
    found
}

/// True if the words point at a text that follows, as in "check this".
pub(super) fn points_ahead(words: &str) -> bool {
    const POINTERS: [&str; 5] = ["this", "these", "following", "text", "that"];
    const ALONE: [&str; 4] = ["check", "review", "proofread", "assess"];
    let lower = words.to_lowercase();
    let said: Vec<&str> = lower.split_whitespace().collect();
    match said[..] {
        [one] => ALONE.contains(&one) || POINTERS.contains(&one),
        [.., last] => POINTERS.contains(&last),
        [] => false,
    }
}

/// The first 200 characters.
pub(super) fn cut(words: &str) -> String {
    const KEPT: usize = 200;
    match words.char_indices().nth(KEPT) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// Words between two clauses.
const JOINTS: [&str; 4] = ["and", "then", "und", "dann"];

/// The pieces between "and", "then" and their like, commas, marks that end a sentence and line breaks, in order.
pub(super) fn clauses(words: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    let mut end = 0;
    let mut close = |from: usize, to: usize| {
        let clause = words[from..to]
            .trim()
            .trim_end_matches([',', ';', '.', '!', '?']);
        if !clause.is_empty() {
            clauses.push(clause);
        }
    };
    for token in words.split_inclusive(char::is_whitespace) {
        let at = end;
        end += token.len();
        let word = token.trim_end();
        let joins = JOINTS.iter().any(|j| word.eq_ignore_ascii_case(j));
        if joins {
            close(start, at);
        } else if word.ends_with([',', ';', '.', '!', '?']) || token.ends_with('\n') {
            close(start, end);
        } else {
            continue;
        }
        start = end;
    }
    close(start, words.len());
    clauses
}

/// The numbers in the words, in order, each with the byte at which it starts. Digits inside a word (`echo2`) are none.
pub(super) fn numbers(words: &str) -> Vec<(usize, serde_json::Number)> {
    let bytes = words.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let inside = words[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        if !bytes[at].is_ascii_digit() || inside {
            // A minus sign belongs to the digits after it, unless it stands in a word or between two numbers.
            let negative =
                bytes[at] == b'-' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) && !inside;
            if !negative {
                at += words[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
        }
        let digits = |from: usize| {
            let count = bytes[from..].iter().take_while(|b| b.is_ascii_digit());
            from + count.count()
        };
        let mut end = digits(at + usize::from(bytes[at] == b'-'));
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1);
        }
        if let Ok(number) = words[at..end].parse() {
            found.push((at, number));
        }
        at = end;
    }
    found
}

/// Place of `phrase` in the words, as words of its own; case, hyphens and underscores don't matter.
pub(super) fn mention(words: &str, phrase: &str) -> Option<usize> {
    let phrase = plain(phrase);
    let phrase = phrase.trim();
    if phrase.is_empty() {
        return None;
    }
    format!(" {} ", plain(words)).find(&format!(" {phrase} "))
}

/// In lower case, with one space for whatever is no letter or digit.
pub(super) fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec: ORC-2.1
    #[test]
    fn words_with_a_negation_may_forbid() {
        for words in [
            "never open the gate",
            "do not ask the brewer",
            "Don't open it",
            "don’t open it",
            "open no gate",
            "mach das Tor nicht auf",
            "can't you open no gate",
            "you can't open it",
        ] {
            assert!(may_forbid(words), "{words}");
        }
        for words in [
            "open the gate",
            "search for 'not found'",
            "check this: It does not rain.",
            "make a note of the knot",
            "Can't you open the gate?",
            "why don’t you open it",
        ] {
            assert!(!may_forbid(words), "{words}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn an_order_that_begins_with_a_negation_forbids() {
        for words in [
            "never check this: It rains",
            "Do not knit a sweater",
            "please don't, I said",
            "You must NOT write about rain.",
            "Nobody is to be asked",
        ] {
            assert!(forbids(words, |_| false), "{words}");
            assert!(may_forbid(words), "{words}");
        }
        for words in [
            "",
            "please",
            "do it",
            "Write about rain, and do not mention wind",
            "check this: never again",
            "\"never\" is the word to look for",
            "notes on rain",
            "the stop at the station",
        ] {
            assert!(!forbids(words, |_| false), "{words}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn an_order_to_leave_something_forbids_unless_a_tool_is_called_so() {
        for words in [
            "avoid price_of item=apple",
            "Please skip it",
            "without the echo",
        ] {
            assert!(forbids(words, |_| false), "{words}");
        }
        assert!(forbids("cancel my table", |word| word == "book"));
        assert!(!forbids("cancel my table", |word| word == "cancel"));
    }

    /// spec: ORC-2.1
    #[test]
    fn a_greeting_or_a_question_for_oneself_is_all_of_the_words() {
        for words in [
            "Hello!",
            "who are you?",
            "What can you do?",
            "Which agents are here?",
        ] {
            assert!(asks_who_it_is(words), "{words}");
        }
        for words in [
            "",
            "hello, bake bread",
            "good cortex",
            "who are you to say so?",
            "what can you do with 7 apples?",
            "help me with the sink",
            "list agents for the sink",
            "\"hi\"",
            "hello / goodbye",
            "{help}",
        ] {
            assert!(!asks_who_it_is(words), "{words}");
        }
    }

    #[test]
    fn clauses_are_what_stands_between_the_joints() {
        for (words, expected) in [
            ("echo hello", &["echo hello"][..]),
            (
                "echo hello and write a poem",
                &["echo hello", "write a poem"],
            ),
            ("add 2, then add 3.5.", &["add 2", "add 3.5"]),
            (
                "Sand the floor; paint it.\nRest",
                &["Sand the floor", "paint it", "Rest"],
            ),
            (" and , ", &[]),
        ] {
            assert_eq!(clauses(words), expected, "{words:?}");
        }
    }

    #[test]
    fn material_stands_behind_the_colon_of_an_instruction() {
        for (words, expected) in [
            (
                "check this: The hub is fast. Very fast.",
                Some("The hub is fast. Very fast."),
            ),
            ("ask counter to check this: It is.", Some("It is.")),
            (
                "Check the draft: ask the critic to check this: Fine: so.",
                Some("Fine: so."),
            ),
            ("check this: Note: bring keys", Some("Note: bring keys")),
            ("Look at this:\n\nOne.\n\nTwo.", Some("One.\n\nTwo.")),
            ("The shop is open. Times: 9 to 5", None),
            ("look at https://a.example at 10:30", None),
            ("check: It is.", Some("It is.")),
            ("Do it: sing", None),
            ("Check the article: Write about tea", None),
            ("check this:", None),
            ("", None),
        ] {
            assert_eq!(material(words), expected, "{words:?}");
        }
    }

    #[test]
    fn numbers_are_found_with_sign_and_fraction_but_not_in_names() {
        for (words, expected) in [
            ("add 2 and -3.5, please", "[2,-3.5]"),
            ("ask echo2 about 2026-11-22", "[2026]"),
            ("5km (7) é9 ü 8.", "[5,7,8]"),
            ("no digits", "[]"),
            ("10-3", "[10]"),
        ] {
            let found: Vec<_> = numbers(words).into_iter().map(|(_, n)| n).collect();
            let found = serde_json::to_string(&found).expect("numbers are JSON");
            assert_eq!(found, expected, "{words:?}");
        }
    }

    #[test]
    fn phrases_are_mentioned_as_words_of_their_own() {
        for (words, phrase, expected) in [
            ("in Celsius please", "celsius", true),
            ("high priority", "HIGH_PRIORITY", true),
            ("highland", "high", false),
            ("anything", "", false),
        ] {
            assert_eq!(mention(words, phrase).is_some(), expected, "{words:?}");
        }
    }
}
