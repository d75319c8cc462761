//! Finds what a procedure requires.

use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    above::above,
    markdown::{Block, blocks},
};
use crate::{Level, Rule};

/// The words of RFC 2119, in capitals as RFC 8174 wants it; the longer ones first.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:(MUST NOT|SHALL NOT)|(MUST|SHALL|REQUIRED)|(SHOULD NOT|NOT RECOMMENDED)|(SHOULD|RECOMMENDED)|(MAY|OPTIONAL))\b",
    )
    .expect("the pattern is constant")
});

/// Words of a sentence that only says what the words mean.
static MEANING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:RFC ?2119|RFC ?8174|BCP ?14)\b").expect("the pattern is constant")
});

/// The sentences of a body that hold a word of RFC 2119 in capitals, outside code and headings. `first_line` is the line of the file
/// that the body begins on.
///
/// A sentence with several such words counts by the strongest of them, and by the first of those. What ends in a colon takes the list
/// below it along, as far as that requires nothing itself.
pub fn rules(body: &str, first_line: u32) -> Vec<Rule> {
    let blocks = blocks(body);
    let mut lines = Lines::of(body, first_line);
    let mut rules: Vec<Rule> = Vec::new();
    let mut section = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if block.heading.is_some() {
            section.clone_from(&block.text);
            continue;
        }
        for (at, sentence) in block.text.split_sentence_bound_indices() {
            let Some(level) = level(block, at, sentence) else {
                continue;
            };
            let mut text = sentence.trim().to_owned();
            if text.ends_with(':') && at + sentence.len() == block.text.len() {
                below(block, &blocks[index + 1..], &mut text);
            }
            rules.push(Rule {
                id: format!("R{}", rules.len() + 1),
                level,
                text,
                section: section.clone(),
                above: above(&blocks, index),
                line: lines.at(block.origin(at)),
            });
        }
    }
    rules
}

/// Strength of a sentence's requirement, if it is one.
fn level(block: &Block, at: usize, sentence: &str) -> Option<Level> {
    if MEANING.is_match(sentence) {
        return None;
    }
    let found = WORDS
        .captures_iter(sentence)
        .filter(|word| word.get(0).is_some_and(|w| !block.is_code(at + w.start())));
    found
        .filter_map(|word| {
            let group = (1..=5).find(|group| word.get(*group).is_some())?;
            Some(match group {
                1 => Level::MustNot,
                2 => Level::Must,
                3 => Level::ShouldNot,
                4 => Level::Should,
                _ => Level::May,
            })
        })
        .min_by_key(|level| match level {
            Level::Must | Level::MustNot => 0,
            Level::Should | Level::ShouldNot => 1,
            Level::May => 2,
        })
}

/// Adds the list below a block.
fn below(block: &Block, rest: &[Block], text: &mut String) {
    let list = rest
        .iter()
        .take_while(|below| below.heading.is_none() && below.depth > block.depth)
        .take_while(|below| level(below, 0, &below.text).is_none());
    for (item, separator) in list.zip([" "].into_iter().chain(std::iter::repeat("; "))) {
        text.push_str(separator);
        text.push_str(item.text.trim_end_matches([';', ',']));
    }
}

/// The lines of a text, asked for in rising order.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str, first: u32) -> Self {
        Self {
            text,
            at: 0,
            line: first,
        }
    }

    /// The line of a byte that is no earlier than the last one asked for.
    fn at(&mut self, byte: usize) -> u32 {
        let byte = byte.clamp(self.at, self.text.len());
        let breaks = self.text.as_bytes()[self.at..byte]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        self.at = byte;
        self.line = self
            .line
            .saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> String {
        let rules = rules(body, 5);
        let told = rules.iter().map(|rule| {
            format!(
                "{} {} {:?} [{}] {}",
                rule.line, rule.id, rule.level, rule.section, rule.text
            )
        });
        told.collect::<Vec<_>>().join("\n")
    }

    /// RFC 2119 with RFC 8174: the words count in capitals only, each sentence once.
    #[test]
    fn sentences_that_require_something_are_rules() {
        let body = "The key words MUST and MAY are to be read as in RFC 2119.\n\
            You MUST answer. You may ask. It is REQUIRED that you\nname your **sources**.\n\n\
            # Steps\n\n## You MUST not be a heading\n\n\
            - You **MUST NOT** guess, and SHOULD say so because that helps. This is why.\n\
            - You MAY wait, but MUST tell\n\
            \x20 whom for\n\
            - You SHALL write:\n  - a title\n  - a `text`;\n\n\
            You SHOULD ask for:\n\n1. a name\n2. You MUST NOT ask for an age\n\n\
            ```\nYou MUST not be code\n```\n\
            Run `MUST` and <!-- MUST --> nothing. MUSTARD is NOT RECOMMENDED.\n\
            > It SHOULD NOT be long. You SHOULD ask, and MUST wait.\n\n\
            | OPTIONAL | x |\n|---|---|\n| y | You SHALL NOT |\n";
        insta::assert_snapshot!(told(body));
    }

    #[test]
    fn a_body_without_such_words_has_no_rules() {
        assert_eq!(rules("", 1), []);
        assert_eq!(rules("You must do it.\n", 1), []);
    }
}
