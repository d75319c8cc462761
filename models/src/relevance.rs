//! The agents that a request is about: plain matching of its words with what agents say of themselves.
//!
//! [`rank`] orders agents, [`best_skill`] picks a skill of one, [`named`] finds those that the request calls by name. All
//! three give the same answer for the same input.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use agenthub_proto::{a2a::AgentCard, slug::slug};
use rust_stemmers::{Algorithm, Stemmer};

/// Description of an agent, borrowed from wherever it is kept.
#[derive(Debug, Clone, Default)]
pub struct Card<'a> {
    /// The id.
    pub id: &'a str,
    /// A display name, where there is one besides the id.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its skills.
    pub skills: Vec<Skill<'a>>,
}

/// A skill of a [`Card`].
#[derive(Debug, Clone, Default)]
pub struct Skill<'a> {
    /// The id.
    pub id: &'a str,
    /// The display name.
    pub name: &'a str,
    /// Description of its work.
    pub description: &'a str,
    /// Its categories.
    pub tags: Vec<&'a str>,
    /// Requests that it is meant for.
    pub examples: Vec<&'a str>,
}

impl<'a> From<&'a AgentCard> for Card<'a> {
    fn from(card: &'a AgentCard) -> Self {
        let skills = card.skills.iter().map(|skill| Skill {
            id: &skill.id,
            name: &skill.name,
            description: &skill.description,
            tags: skill.tags.iter().map(String::as_str).collect(),
            examples: skill.examples.iter().map(String::as_str).collect(),
        });
        Self {
            id: &card.name,
            name: "",
            description: &card.description,
            skills: skills.collect(),
        }
    }
}

/// The score of an agent that the request calls by name.
pub const NAMED: u32 = 1_000;

/// The score from which a match is more than chance: one word of a name, tag or example, or two of a description.
pub const LIKELY: u32 = 4;

const IN_ID: u32 = 6;
const IN_NAME: u32 = 5;
const IN_EXAMPLE: u32 = 4;
const IN_DESCRIPTION: u32 = 2;

/// Every card's index and score, the best first, equal ones by id. A score of 0 means that nothing matches.
///
/// A word of the request counts once, with the weight of the best place where it is found.
pub fn rank(request: &str, cards: &[Card<'_>]) -> Vec<(usize, u32)> {
    let words = stems(request);
    let called = named(request, cards);
    let mut ranked: Vec<(usize, u32)> = cards
        .iter()
        .enumerate()
        .map(|(index, card)| {
            let bonus = if called.contains(&index) { NAMED } else { 0 };
            (index, bonus + score(&words, card_places(card)))
        })
        .collect();
    ranked.sort_by_key(|&(index, score)| (Reverse(score), cards[index].id));
    ranked
}

/// The index of the skill that the request matches best, equal ones by id; `None` where the card has no skill.
pub fn best_skill(request: &str, card: &Card<'_>) -> Option<usize> {
    let words = stems(request);
    (0..card.skills.len()).min_by_key(|&index| {
        let skill = &card.skills[index];
        (Reverse(score(&words, skill_places(skill))), skill.id)
    })
}

type Places = Vec<(u32, BTreeSet<String>)>;

fn card_places(card: &Card<'_>) -> Places {
    let mut places = vec![
        (IN_ID, stems(card.id)),
        (IN_NAME, stems(card.name)),
        (IN_DESCRIPTION, stems(card.description)),
    ];
    places.extend(card.skills.iter().flat_map(skill_places));
    places
}

fn skill_places(skill: &Skill<'_>) -> Places {
    vec![
        (IN_NAME, stems(skill.id)),
        (IN_NAME, stems(skill.name)),
        (IN_EXAMPLE, stems(&skill.tags.join(" "))),
        (IN_EXAMPLE, stems(&skill.examples.join(" "))),
        (IN_DESCRIPTION, stems(skill.description)),
    ]
}

fn score(words: &BTreeSet<String>, places: Places) -> u32 {
    let weight = |word: &String| {
        let found = places.iter().filter(|(_, stems)| stems.contains(word));
        found.map(|(weight, _)| *weight).max().unwrap_or(0)
    };
    words.iter().map(weight).sum()
}

/// The cards that the request calls by name, in the order in which it does.
///
/// An agent is called by its id, by its slug, or by either without a leading `agent_`. A name that is also an everyday word
/// (`echo`, `writer`) only counts where an agent is addressed: after "ask", "tell", "use", "@" and the like, or after another
/// name and "and". Where two agents go by the same word, the one whose full id it is wins, then the lower id.
pub fn named(request: &str, cards: &[Card<'_>]) -> Vec<usize> {
    let text = request.to_lowercase();
    let mut mentions: Vec<Mention> = Vec::new();
    for (index, card) in cards.iter().enumerate() {
        for (shortened, name) in names(card.id) {
            mentions.extend(occurrences(&text, &name).map(|start| Mention {
                start,
                len: name.len(),
                shortened,
                index,
            }));
        }
    }
    mentions.sort_by_key(|m| (m.start, Reverse(m.len), m.shortened, cards[m.index].id));

    let mut found: Vec<usize> = Vec::new();
    let mut taken_to = 0;
    for mention in mentions {
        let end = mention.start + mention.len;
        let everyday = text[mention.start..end].chars().all(char::is_alphabetic);
        let addressed = addresses(&text[..mention.start], !found.is_empty());
        if mention.start < taken_to || (everyday && !addressed) {
            continue;
        }
        taken_to = end;
        if !found.contains(&mention.index) {
            found.push(mention.index);
        }
    }
    found
}

struct Mention {
    start: usize,
    len: usize,
    shortened: bool,
    index: usize,
}

/// The lower-case names of an agent, and whether each is a shortened one.
pub(crate) fn names(id: &str) -> BTreeSet<(bool, String)> {
    let full = [id.to_lowercase(), slug(id)];
    let short = full
        .iter()
        .filter_map(|name| name.strip_prefix("agent_").or(name.strip_prefix("agent-")));
    let short: Vec<String> = short.map(str::to_owned).collect();
    let all = full
        .into_iter()
        .map(|name| (false, name))
        .chain(short.into_iter().map(|name| (true, name)));
    all.filter(|(_, name)| !name.is_empty()).collect()
}

/// True if the agent is called so: by its id, its slug, or either without a leading `agent_`.
pub(crate) fn goes_by(card: &Card<'_>, name: &str) -> bool {
    let name = name.to_lowercase();
    names(card.id).into_iter().any(|(_, own)| own == name)
}

/// True if a word of the name is one of those by which the agent is described.
pub(crate) fn described(card: &Card<'_>, name: &str) -> bool {
    score(&stems(name), card_places(card)) > 0
}

/// Places of `name` in `text` as a word of its own.
fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name)
        .map(|(start, _)| start)
        .filter(move |&start| {
            let before = text[..start].chars().next_back();
            let after = text[start + name.len()..].chars().next();
            !before.is_some_and(in_word) && !after.is_some_and(in_word)
        })
}

/// True if what follows `before` is addressed.
fn addresses(before: &str, after_another: bool) -> bool {
    const CALLS: [&str; 12] = [
        "ask",
        "tell",
        "use",
        "using",
        "let",
        "have",
        "call",
        "via",
        "through",
        "agent",
        "agents",
        "delegate to",
    ];
    let before = before.trim_end();
    let before = before.strip_suffix(" the").unwrap_or(before);
    if before.ends_with('@') || (after_another && before.ends_with(',')) {
        return true;
    }
    let ends_with = |word: &str| {
        before
            .strip_suffix(word)
            .is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    CALLS.into_iter().any(ends_with) || (after_another && ["and", "or"].into_iter().any(ends_with))
}

/// Words that say nothing about what is wanted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "agent", "agents", "all", "also", "am", "an", "and", "any",
    "are", "as", "ask", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "get", "give", "had", "has", "have", "he", "her", "here", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "me", "my", "no", "not",
    "now", "of", "on", "or", "our", "out", "please", "s", "shall", "she", "should", "so", "some",
    "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "up", "us", "use", "want", "was", "we", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// The English stems of the words that say something, so that "translating" and "translation" are one. Words of other
/// languages stay as good as they are.
pub(crate) fn stems(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && STOP_WORDS.binary_search(word).is_err())
        .map(|word| stemmer.stem(word).into_owned())
        .collect()
}

#[cfg(test)]
#[path = "relevance_tests.rs"]
mod tests;
