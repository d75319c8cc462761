//! Requests that state everything outright, so that code can see whether they were done.
//!
//! The words are one name of an agent, a tool or a skill, and behind it one quotation, one JSON object, or pairs `name=value`. An address
//! ("please", "ask NAME to") may stand before the name; nothing else stands before, between or behind.

use serde_json::{Map, Value};

use super::stated::quotation;
use crate::relevance::{Card, names};

/// Said with an answer to any other request.
pub(super) const UNCHECKED: &str = "(Matched by words: no language model checked that this is what was asked. To state it outright, \
    put a text in quotation marks behind a name, or name=value.)";

/// Parsed request.
#[derive(Debug, PartialEq)]
pub(super) struct Outright<'w> {
    /// Index of the card that is named, or whose skill is.
    pub(super) card: usize,
    /// Index of the skill; `None` if the card has none.
    pub(super) skill: Option<usize>,
    given: Given<'w>,
}

#[derive(Clone, Debug, PartialEq)]
enum Given<'w> {
    Text(&'w str),
    Object(Map<String, Value>),
    Pairs(Vec<(&'w str, &'w str)>),
}

impl<'w> Outright<'w> {
    /// Reads the words; `None` if they say anything besides, or if a name is that of several.
    pub(super) fn of(words: &'w str, cards: &[Card<'_>]) -> Option<Self> {
        let words = words.trim();
        let words = after("please", words).unwrap_or(words);
        let all: Vec<usize> = (0..cards.len()).collect();
        let Some(asked) = after("ask", words) else {
            return named(words, cards, &all);
        };
        named(asked, cards, &all).or_else(|| {
            let (who, errand) = split(asked, "to")?;
            let is_asked = |at: &usize| own_names(&cards[*at]).any(|name| same(&name, who));
            let asked: Vec<usize> = all.iter().copied().filter(is_asked).collect();
            (asked.len() == 1).then(|| named(errand, cards, &asked))?
        })
    }

    /// Text in quotation marks, if that is what is given.
    pub(super) fn text(&self) -> Option<&'w str> {
        match self.given {
            Given::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The given as input of this schema, unchanged; `None` if the schema has no place for a part of it, or requires more.
    pub(super) fn input(&self, schema: &Value) -> Option<Map<String, Value>> {
        let properties = schema["properties"].as_object()?;
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let input = match &self.given {
            Given::Text(text) => {
                let name = match (&required[..], properties.len()) {
                    ([one], _) => (*one).to_owned(),
                    ([], 1) => properties.keys().next()?.clone(),
                    _ => return None,
                };
                let is_text = properties.get(&name).is_some_and(takes_text);
                is_text.then(|| Map::from_iter([(name, Value::from(*text))]))?
            }
            Given::Object(object) => object.clone(),
            Given::Pairs(pairs) => {
                let value = |(name, text): &(&str, &str)| {
                    let value = match takes_text(properties.get(*name)?) {
                        true => Value::from(*text),
                        false => serde_json::from_str(text).ok()?,
                    };
                    Some(((*name).to_owned(), value))
                };
                pairs.iter().map(value).collect::<Option<_>>()?
            }
        };
        let is_taken = input.keys().all(|name| properties.contains_key(name))
            && required.iter().all(|name| input.contains_key(*name));
        is_taken.then_some(input)
    }
}

/// The one of the cards that are asked with whose name these words begin, else the one that has a skill of that name.
fn named<'w>(words: &'w str, cards: &[Card<'_>], asked: &[usize]) -> Option<Outright<'w>> {
    let mut of_agents = Vec::new();
    let mut of_skills = Vec::new();
    for (card, known) in asked.iter().map(|at| (*at, &cards[*at])) {
        let found = own_names(known).find_map(|name| given(after(&name, words)?));
        of_agents.extend(found.map(|given| (card, given)));
        for (skill, own) in known.skills.iter().enumerate() {
            let mut names = [own.id, own.name].into_iter();
            let found = names.find_map(|name| given(after(name, words)?));
            of_skills.extend(found.map(|given| Outright {
                card,
                skill: Some(skill),
                given,
            }));
        }
    }
    match (&of_agents[..], &of_skills[..]) {
        // Which of several skills is meant is a guess, unless one of them is named so as well.
        ([(card, given)], _) if cards[*card].skills.len() < 2 => Some(Outright {
            card: *card,
            skill: (!cards[*card].skills.is_empty()).then_some(0),
            given: given.clone(),
        }),
        (agents, [_]) if agents.iter().all(|(card, _)| *card == of_skills[0].card) => {
            of_skills.pop()
        }
        _ => None,
    }
}

/// The names of an agent or a tool, without those of its skills.
fn own_names(card: &Card<'_>) -> impl Iterator<Item = String> {
    let display = (!card.name.is_empty()).then(|| card.name.to_owned());
    let names = names(card.id).into_iter().map(|(_, name)| name);
    names.chain(display)
}

/// The rest behind a name or a word at the beginning of the text, if a space follows it.
fn after<'w>(name: &str, text: &'w str) -> Option<&'w str> {
    let end = text.char_indices().nth(name.chars().count())?.0;
    let (head, rest) = text.split_at(end);
    let is_it = !name.is_empty() && same(head, name) && rest.starts_with(char::is_whitespace);
    is_it.then(|| rest.trim_start())
}

/// The texts before and behind the first such word.
fn split<'w>(text: &'w str, word: &str) -> Option<(&'w str, &'w str)> {
    let mut spaces = text.match_indices(char::is_whitespace);
    spaces.find_map(|(at, _)| Some((text[..at].trim(), after(word, text[at..].trim_start())?)))
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn given(text: &str) -> Option<Given<'_>> {
    let object = || serde_json::from_str(text).ok().map(Given::Object);
    let pairs = || pairs(text).map(Given::Pairs);
    only_quotation(text)
        .map(Given::Text)
        .or_else(object)
        .or_else(pairs)
}

/// The quotation that is all of the text. None has a mark of its own kind within.
fn only_quotation(text: &str) -> Option<&str> {
    let quoted = quotation(text)?;
    let (first, last) = (text.chars().next()?, text.chars().next_back()?);
    let is_all = text.len() == first.len_utf8() + quoted.len() + last.len_utf8();
    (is_all && !quoted.contains([first, last])).then_some(quoted)
}

/// The pairs that are all of the text, with white space between; no name comes twice.
fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '"');
        let quoted = quotation(behind);
        let marks = |quoted: &str| {
            let first = behind.chars().next().map_or(0, char::len_utf8);
            let last = behind[first + quoted.len()..].chars().next();
            first + quoted.len() + last.map_or(0, char::len_utf8)
        };
        let end = match quoted {
            Some(quoted) => marks(quoted),
            None => behind.find(char::is_whitespace).unwrap_or(behind.len()),
        };
        let value = quoted.unwrap_or(&behind[..end]);
        rest = &behind[end..];
        let is_ended = rest.is_empty() || rest.starts_with(char::is_whitespace);
        // A quotation that does not end is none, and no word either.
        let is_open = quoted.is_none() && value.starts_with(['"', '\'', '`', '“', '„', '‘', '«']);
        let is_known = pairs.iter().any(|(known, _)| *known == name);
        if !is_name || value.is_empty() || is_open || !is_ended || is_known {
            return None;
        }
        pairs.push((name, value));
        rest = rest.trim_start();
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// True if a field of this schema takes any text.
fn takes_text(schema: &Value) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        kind => kind == "string",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::relevance::Skill;

    fn cards() -> Vec<Card<'static>> {
        let skill = |id, name| Skill {
            id,
            name,
            ..Skill::default()
        };
        let card = |id, name, skills| Card {
            id,
            name,
            skills,
            ..Card::default()
        };
        vec![
            card("agent_echo", "", vec![skill("echo", "Echo Messages")]),
            card("agent_echo2", "", vec![skill("echo", "Echo Messages")]),
            card(
                "agent_ink-7",
                "Ink 7",
                vec![skill("draft", ""), skill("proofread", "")],
            ),
            card("price_of", "", Vec::new()),
        ]
    }

    fn read(words: &str) -> Option<(usize, Option<usize>)> {
        Outright::of(words, &cards()).map(|outright| (outright.card, outright.skill))
    }

    /// spec: ORC-2.1
    #[test]
    fn a_name_with_one_thing_behind_it_is_outright_and_nothing_else_is() {
        for (words, expected) in [
            ("echo \"hi there\"", (0, Some(0))),
            ("  Echo 'hi, then bake bread'\n", (0, Some(0))),
            ("please echo “hi”", (0, Some(0))),
            ("ask agent_echo2 \"hi\"", (1, Some(0))),
            ("ask agent_echo2 to echo \"hi\"", (1, Some(0))),
            ("agent_echo {\"text\": \"hi\"}", (0, Some(0))),
            ("proofread \"It rains\"", (2, Some(1))),
            ("ask Ink 7 to draft \"rain\"", (2, Some(0))),
            ("price_of item=apple currency='US dollars'", (3, None)),
        ] {
            assert_eq!(read(words), Some(expected), "{words}");
        }
        for words in [
            "",
            "echo",
            "echo hi",
            "echo: \"hi\"",
            "echo \"hi\".",
            "echo \"hi\"?",
            "echo \"hi\" twice",
            "echo \"hi\" \"ho\"",
            "echo \"hi\" and \"ho\"",
            "echo the text \"hi\"",
            "never echo \"hi\"",
            "do not echo \"hi\"",
            "echo not \"hi\"",
            "echo \" \"",
            "echo \"hi\" {\"a\": 1}",
            "echo {\"a\": 1} now",
            "echo [1]",
            "say \"hi\"",
            "ask agent_ghost to echo \"hi\"",
            "ask agent_echo to say \"hi\"",
            "ask agent_echo and agent_echo2 \"hi\"",
            "ask Ink 7 \"rain\"",
            "price_of item=apple, please",
            "price_of item=apple item=pear",
            "price_of item=apple for Joe",
            "price_of item=",
            "price_of item = apple",
            "price_of item='apple'pie",
            "price_of=apple",
        ] {
            assert_eq!(read(words), None, "{words}");
        }
    }

    #[test]
    fn what_is_given_is_the_input_where_a_schema_has_room_for_all_of_it() {
        let schema = json!({"properties": {"item": {"type": "string"}, "count": {"type": "integer"}}, "required": ["item"]});
        let input = |words: &str| {
            let outright = Outright::of(words, &cards())?;
            outright.input(&schema).map(Value::Object)
        };
        for (words, expected) in [
            ("price_of \"7 apples\"", json!({"item": "7 apples"})),
            ("price_of item=7", json!({"item": "7"})),
            (
                "price_of count=7 item=\"a pear\"",
                json!({"count": 7, "item": "a pear"}),
            ),
            ("price_of {\"item\": \"pear\"}", json!({"item": "pear"})),
        ] {
            assert_eq!(input(words), Some(expected), "{words}");
        }
        for words in [
            "price_of count=7",
            "price_of item=pear colour=red",
            "price_of item=pear count=many",
            "price_of {\"item\": \"pear\", \"colour\": \"red\"}",
            "price_of {}",
        ] {
            assert_eq!(input(words), None, "{words}");
        }
    }
}
