//! Names that a request addresses.

use super::words::plain;
use crate::relevance::{Card, described, goes_by};

/// Words that may stand before "ask" at the head of a clause.
const BEFORE: [&str; 6] = ["please", "also", "can", "could", "you", "just"];
/// Words behind the names, where the errand begins.
const ERRANDS: [&str; 12] = [
    "to", "for", "about", "whether", "what", "which", "who", "how", "when", "where", "why", "if",
];
/// Words that stand for somebody and name nobody.
const NOBODY: [&str; 32] = [
    "me",
    "him",
    "her",
    "it",
    "them",
    "us",
    "you",
    "all",
    "both",
    "each",
    "everybody",
    "everyone",
    "anybody",
    "anyone",
    "somebody",
    "someone",
    "another",
    "others",
    "agent",
    "agents",
    "people",
    "team",
    "they",
    "who",
    "one",
    "cortex",
    "what",
    "how",
    "when",
    "where",
    "why",
    "whether",
];

/// The agents that the words address and that are none of these: ids that begin as such ids do, and names that no card goes by
/// or has in its words.
pub(super) fn unknown<'w>(words: &'w str, cards: &[Card<'_>]) -> Vec<&'w str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let ids = words.split(|c| !is_part(c));
    let ids = ids.map(|id| id.trim_end_matches(['.', '-']));
    let ids = ids.filter(|id| id.starts_with("agent_") && id.len() > "agent_".len());
    let is_known = |name: &str| cards.iter().any(|card| goes_by(card, name));
    let is_described = |name: &str| cards.iter().any(|card| described(card, name));
    let names = addressed(words).into_iter();
    let names = names.filter(|name| !name.starts_with("agent_") && !is_described(name));
    let mut found: Vec<&str> = Vec::new();
    for name in ids.chain(names) {
        if !is_known(name) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Beginning of a sentence on agents that are not there.
pub(super) fn nobody_called(names: &[&str]) -> String {
    format!("I know no agent called {}", names.join(" or "))
}

/// Words on the part of a request that was for agents that are none; `None` if there are no such agents.
pub(super) fn unknown_part(names: &[&str]) -> Option<String> {
    let them = if names.len() == 1 { "it" } else { "them" };
    let told = || format!("{}: what was for {them}, nobody did.", nobody_called(names));
    (!names.is_empty()).then(told)
}

/// The names that the words address ("ask NAME to …", "ask NAME and NAME for …", "@NAME …"), in their order. Only the head of
/// a clause addresses, and nothing does in quotation marks or behind a colon: what stands there is material.
pub(super) fn addressed(words: &str) -> Vec<&str> {
    let (instruction, behind) = words.split_once(": ").unwrap_or((words, ""));
    let mut found = Vec::new();
    let mut pieces = instruction.split(['"', '“', '”']).enumerate().peekable();
    while let Some((number, outside)) = pieces.next() {
        let has_material = pieces.peek().is_some() || !behind.is_empty();
        if number % 2 == 0 {
            in_clauses(outside, has_material, &mut found);
        }
    }
    let first = words.trim_start().strip_prefix('@');
    found.extend(first.and_then(|rest| name(rest.split_whitespace().next()?)));
    found
}

/// `has_material` says that material follows the words.
fn in_clauses<'w>(words: &'w str, has_material: bool, found: &mut Vec<&'w str>) {
    let tokens: Vec<&str> = words.split_whitespace().collect();
    let mut is_head = true;
    for (at, token) in tokens.iter().enumerate() {
        let word = plain(token);
        if is_head && word == "ask" {
            found.extend(names(&tokens[at + 1..], has_material));
        }
        let ends = token.ends_with([',', ';', '.', '!', '?']);
        is_head =
            ends || ["and", "then"].contains(&&*word) || (is_head && BEFORE.contains(&&*word));
    }
}

/// The names up to where the errand begins, or the material; none if something else stands between.
fn names<'w>(tokens: &[&'w str], has_material: bool) -> Vec<&'w str> {
    let mut names = Vec::new();
    let mut is_name_next = true;
    for token in tokens {
        let word = plain(token);
        match &*word {
            "the" | "both" | "and" | "or" => is_name_next = true,
            "agent" | "agents" if !is_name_next => {}
            word if !is_name_next => {
                return match ERRANDS.contains(&word) {
                    true => names,
                    false => Vec::new(),
                };
            }
            _ => {
                names.extend(name(token));
                is_name_next = token.ends_with(',');
            }
        }
    }
    match has_material && !is_name_next {
        true => names,
        false => Vec::new(),
    }
}

/// The name that a word is; none if it stands for anybody.
fn name(token: &str) -> Option<&str> {
    let name = token.trim_matches(|c: char| !c.is_alphanumeric());
    (!name.is_empty() && !NOBODY.contains(&&*name.to_lowercase())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_addressed_is_named() {
        for (words, expected) in [
            (
                "ask agent_echo to say hi and ask agent_ghost to fix the sink",
                &["agent_echo", "agent_ghost"][..],
            ),
            (
                "Please ask the writer and ghost-2 to sing",
                &["writer", "ghost-2"],
            ),
            (
                "could you ask bob, ann and the critic about it",
                &["bob", "ann", "critic"],
            ),
            ("ask the sewing agent for a shirt", &["sewing"]),
            ("@ghost fix it", &["ghost"]),
            ("ask botanist which plants like shade", &["botanist"]),
            ("ask somebody to sing, then ask them for more", &[]),
            ("ask bob and the critic \"rain\"", &["bob", "critic"]),
            ("please ask bob: rain", &["bob"]),
            ("tell the neighbours about it", &[]),
            ("ask what to do", &[]),
            ("ask the best of all writers to sing", &[]),
            ("echo ask bob to come", &[]),
            ("echo \"ask bob to come\"", &[]),
            ("ask qa to check this: Hi, ask bob to come", &["qa"]),
            ("mail a@b.example", &[]),
            ("ask", &[]),
            ("", &[]),
        ] {
            assert_eq!(addressed(words), expected, "{words:?}");
        }
    }
}
