//! Requests that state everything outright, so that code can see whether they were done.
//!
//! The words are one name of an agent, a tool or a skill, and behind it one quotation, one JSON object, or pairs `name=value`. An address
//! ("please", "ask NAME to") may stand before the name; nothing else stands before, between or behind.

mod given;
mod strict;

use serde_json::{Map, Value};

use crate::relevance::{Card, names};
use given::Given;

/// Said with an answer to any other request.
pub(super) const UNCHECKED: &str = "(Matched by words: no language model checked that this is what was asked. To state it outright, \
    put a text in quotation marks behind a name, or name=value.)";

/// Beginning of ids that are no words.
const AGENT: &str = "agent_";

/// Names of inputs that are told.
const MAX_INPUTS: usize = 12;

/// The input of this schema that words state outright, alone or behind the name of the agent that has them.
pub fn stated_input(agent: &str, words: &str, schema: &Value) -> Option<Map<String, Value>> {
    let card = Card {
        id: agent,
        ..Card::default()
    };
    let addressed = Outright::of(words, &[card], "").map(|outright| outright.given);
    addressed
        .or_else(|| Given::read(words))
        .and_then(|given| given.input(schema))
}

/// Parsed request.
#[derive(Debug, PartialEq)]
pub(super) struct Outright<'w> {
    /// Index of the card that is named, or whose skill is.
    pub(super) card: usize,
    /// Index of the skill; `None` if the card has none.
    pub(super) skill: Option<usize>,
    given: Given<'w>,
}

impl<'w> Outright<'w> {
    /// Reads the words, which may address the one who answers by `own`, a name of its; `None` if they say anything besides, or if a name is
    /// that of several.
    pub(super) fn of(words: &'w str, cards: &[Card<'_>], own: &str) -> Option<Self> {
        let words = words.trim();
        let words = after("please", words).unwrap_or(words);
        let all: Vec<usize> = (0..cards.len()).collect();
        let addressed = after("ask", words).unwrap_or(words);
        if let Some(errand) = quoted_for(own, addressed) {
            return Self::of(errand, cards, "");
        }
        let Some(asked) = after("ask", words) else {
            return named(words, cards, &all);
        };
        named(asked, cards, &all).or_else(|| {
            let (who, errand) = split(asked, "to")?;
            let goes_by = |card: &Card<'_>| own_names(card).any(|name| same(&name, who));
            let asked = all.iter().copied().filter(|at| goes_by(&cards[*at]));
            let asked: Vec<usize> = asked.collect();
            let own = Card {
                id: own,
                ..Card::default()
            };
            match asked.len() {
                0 if goes_by(&own) => named(errand, cards, &all),
                1 => named(errand, cards, &asked),
                _ => None,
            }
        })
    }

    /// Text in quotation marks, if that is what is given.
    pub(super) fn text(&self) -> Option<&'w str> {
        match self.given {
            Given::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Sentence on a name that has no place for what was stated behind it: what does not fit, and the inputs that this schema has; without a
    /// schema, words alone.
    pub(super) fn misfit(&self, name: &str, schema: Option<&Value>) -> String {
        let Some(schema) = schema else {
            return format!(
                "What stands behind the name does not fit {name}: its card names no inputs, so a text in quotation marks is all that can be stated."
            );
        };
        let misfits = self.given.misfits(schema).join("; ");
        let inputs = given::inputs(schema, MAX_INPUTS);
        format!(
            "What stands behind the name does not fit {name}: {misfits}. Its inputs are {inputs}."
        )
    }

    /// The given as input of this schema, unchanged; `None` if the schema has no place for a part of it, or requires more.
    pub(super) fn input(&self, schema: &Value) -> Option<Map<String, Value>> {
        self.given.input(schema)
    }
}

/// Data as input of this schema, if it has a place for all of them and requires no more.
pub(super) fn of_data(data: &Map<String, Value>, schema: &Value) -> Option<Map<String, Value>> {
    Given::Object(data.clone()).input(schema)
}

/// The one of the cards that are asked with whose name these words begin, else the one that has a skill of that name.
fn named<'w>(words: &'w str, cards: &[Card<'_>], asked: &[usize]) -> Option<Outright<'w>> {
    let mut of_agents = Vec::new();
    let mut of_skills = Vec::new();
    for (card, known) in asked.iter().map(|at| (*at, &cards[*at])) {
        let found = own_names(known).find_map(|name| Given::read(after(&name, words)?));
        of_agents.extend(found.map(|given| (card, given)));
        for (skill, own) in known.skills.iter().enumerate() {
            let mut names = [own.id, own.name].into_iter();
            let found = names.find_map(|name| Given::read(after(name, words)?));
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

/// The request in quotation marks that is all that stands behind the name of the one who is asked.
pub(super) fn quoted_for<'w>(own: &str, words: &'w str) -> Option<&'w str> {
    let own = Card {
        id: own,
        ..Card::default()
    };
    let behind = own_names(&own).find_map(|name| after(&name, words))?;
    match Given::read(behind)? {
        Given::Text(errand) => Some(errand),
        _ => None,
    }
}

/// The words behind the name of the one who is asked, if they begin with it: what is meant for it. Without an *ask* only an id is a name
/// beyond doubt: `echo` and `weather` are words as well.
pub(super) fn behind_name<'w>(words: &'w str, card: &Card<'_>) -> Option<&'w str> {
    let words = words.trim();
    let words = after("please", words).unwrap_or(words);
    let behind = |words: &'w str| own_names(card).find_map(|name| after(&name, words));
    let meant = match after("ask", words) {
        None if card.id.starts_with(AGENT) => after(card.id, words)?,
        None => return None,
        Some(asked) => {
            let meant = behind(asked)?;
            match after("to", meant) {
                Some(errand) => behind(errand).unwrap_or(errand),
                None => meant,
            }
        }
    };
    (!meant.is_empty()).then_some(meant)
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

#[cfg(test)]
mod tests {
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
        Outright::of(words, &cards(), "").map(|outright| (outright.card, outright.skill))
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
            "price_of item=\"apple\"note=\"red\"",
            "price_of item=apple;note=red",
            "price_of item=apple,note=red",
            "price_of item=apple?",
            "price_of item=apple.",
            "price_of {\"item\":\"apple\",\"item\":\"pear\"}",
            "price_of {\"item\":\"apple\",\"count\":99999999999999999999}",
            "price_of item=it's",
            "price_of item=[a]",
            "price_of item={}",
            "price_of item=a&b",
        ] {
            assert_eq!(read(words), None, "{words}");
        }
    }

    /// spec: ORC-2.1
    #[test]
    fn whoever_is_asked_directly_may_be_addressed_by_its_own_name() {
        let read = |words: &str| {
            let read = Outright::of(words, &cards(), "agent_kiosk");
            read.map(|outright| outright.card)
        };
        for words in [
            "ask kiosk to price_of item=apple",
            "please ask Agent_Kiosk to price_of \"apple\"",
            "price_of item=apple",
            "agent_kiosk \"price_of item=apple\"",
            "ask kiosk \"price_of 'apple'\"",
        ] {
            assert_eq!(read(words), Some(3), "{words}");
        }
        for words in [
            "ask shop to price_of item=apple",
            "ask kiosk to item=apple",
            "ask kiosk price_of item=apple",
            "kiosk \"apple\"",
            "kiosk \"price_of 'apple'\" now",
            "kiosk \"kiosk 'price_of `apple`'\"",
        ] {
            assert_eq!(read(words), None, "{words}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_is_taken() {
        let schema = serde_json::json!({
            "properties": {
                "item": {"type": "string", "pattern": "^[a-z]+$"},
                "count": {"type": "integer", "maximum": 10},
                "kind": {"enum": ["ale"]},
            },
            "required": ["item"],
        });
        for (words, part) in [
            ("price_of item=a count=11", "count"),
            ("price_of item=a count=11", "10"),
            ("price_of \"ABC\"", "ABC"),
            (
                "price_of item=a colour=red",
                "`colour` is none of its inputs",
            ),
            ("price_of count=3", "item"),
            ("price_of item=a count=007", "`count` is not taken as `007`"),
            ("price_of item=a count=\"3\"", "`count` is not taken as `3`"),
        ] {
            let cards = cards();
            let outright = Outright::of(words, &cards, "").expect("it is one");
            assert_eq!(outright.input(&schema), None, "{words}");
            let told = outright.misfit("price_of", Some(&schema));
            assert!(told.contains(part), "{part}: {told}");
            let inputs = "Its inputs are item (string, required), count (integer), kind (ale).";
            assert!(told.ends_with(inputs), "{told}");
        }
        let cards = cards();
        let outright = Outright::of("price_of \"a\"", &cards, "").expect("it is one");
        assert!(
            outright
                .misfit("echo", None)
                .contains("a text in quotation marks")
        );
        for none in [
            serde_json::json!({"properties": {}}),
            serde_json::json!({"type": "object"}),
        ] {
            let told = outright.misfit("look", Some(&none));
            assert!(
                told.contains("a text alone is none of them. Its inputs are none"),
                "{told}"
            );
        }
    }
}
