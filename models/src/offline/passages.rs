//! Passages of a long text that belong to a request.

use super::handing_on::{Made, topic};
use super::turn::Turn;
use crate::relevance::stems;

/// The words of a text that is told whole.
const SHORT: usize = 120;

/// Texts of results together. Of a file only the part that belongs to the request, and its source: of a long one the paragraphs that share
/// most words with it, and nothing of one that shares none.
pub(super) fn of(all: &[&Made<'_>], turn: &Turn<'_>) -> String {
    let topic = topic(turn);
    let said: Vec<String> = all
        .iter()
        .filter_map(|made| one(made, &topic, turn))
        .collect();
    if said.is_empty() {
        let files: Vec<&str> = all.iter().filter_map(|made| source(made)).collect();
        return format!("Nothing about \"{topic}\" is in {}.", files.join(", "));
    }
    said.join("\n\n")
}

fn one(made: &Made<'_>, topic: &str, turn: &Turn<'_>) -> Option<String> {
    let text = made.text.as_deref().unwrap_or_default();
    let Some(source) = source(made) else {
        return Some(text.to_owned());
    };
    if stems(text).is_disjoint(&stems(topic)) {
        return None;
    }
    let said = match count(text) > SHORT {
        true => fitting(text, topic, most(turn)),
        false => text.to_owned(),
    };
    Some(format!("{said} ({source})"))
}

/// The file that a result was read from.
fn source<'a>(made: &Made<'a>) -> Option<&'a str> {
    let arguments = made.arguments.as_object().into_iter().flatten();
    let texts = arguments.filter_map(|(_, value)| value.as_str());
    let is_path = |text: &&str| text.contains(['.', '/']) && !text.contains(char::is_whitespace);
    let is_agent = made.value.get("agent").is_some();
    texts.filter(|_| !is_agent).find(is_path)
}

/// The beginning, on one line.
pub(super) fn short(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.len() > most {
        true => format!("{}…", words[..most].join(" ")),
        false => words.join(" "),
    }
}

/// The number of words.
pub(super) fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Number of words that are wanted, by the values that came as data.
fn most(turn: &Turn<'_>) -> usize {
    let fields = turn.input.and_then(|input| input.as_object());
    let mut values = fields
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_str());
    values
        .find_map(|value| match value.to_lowercase().as_str() {
            "brief" | "short" | "quick" => Some(80),
            "thorough" | "deep" | "detailed" | "full" => Some(300),
            _ => None,
        })
        .unwrap_or(160)
}

/// Paragraphs of a text in their order, about so many words of them: those first that share most words with what is wanted.
fn fitting(text: &str, wanted: &str, most: usize) -> String {
    let wanted = stems(wanted);
    let paragraphs = text.split("\n\n").map(plain).filter(|p| !p.is_empty());
    let mut ranked: Vec<(usize, usize, String)> = paragraphs
        .enumerate()
        .map(|(at, text)| (stems(&text).intersection(&wanted).count(), at, text))
        .collect();
    ranked.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), *at));
    let best = ranked.first().map_or(0, |(score, ..)| *score);
    let mut kept = Vec::new();
    let mut left = most;
    for (score, at, text) in ranked {
        let words = count(&text);
        if kept.is_empty() || (words <= left && (score > 0 || best == 0)) {
            left = left.saturating_sub(words);
            kept.push((at, text));
        }
    }
    kept.sort_by_key(|(at, _)| *at);
    let texts: Vec<String> = kept.into_iter().map(|(_, text)| text).collect();
    texts.join("\n\n")
}

/// A paragraph without its headings, its lines joined; a list keeps its lines.
fn plain(paragraph: &str) -> String {
    let lines = paragraph.lines().filter(|line| !line.starts_with('#'));
    let mut text = String::new();
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        if !text.is_empty() {
            text.push(if line.starts_with("- ") { '\n' } else { ' ' });
        }
        text.push_str(line);
    }
    text
}
