//! First look at a file, as far as it can be read: it may be wrong elsewhere.

use std::path::Path;

use super::{
    asking,
    faults::Faults,
    fields, front,
    load::{format, node, plain},
    markdown::blocks,
    path::text,
};
use crate::{Place, ToolName};

/// The most words that are listed.
const MAX_WORDS: usize = 500;

/// The tools that the front matter of a file names; none if it cannot be read.
pub fn tools(path: &Path) -> Vec<ToolName> {
    let Ok(text) = text(path).map(|text| plain(&text)) else {
        return Vec::new();
    };
    let mut faults = Faults::of(path, &text);
    let parts = front::parts(&text, &mut faults).ok();
    let front = parts.and_then(|parts| parts.front);
    front
        .and_then(|front| node(front, format(path), &mut faults))
        .map(|node| fields::fields(&node, format(path), &mut faults).tools)
        .unwrap_or_default()
}

/// The words that the body of a file has in backticks, each with its place; at most 500.
pub fn quoted(path: &Path) -> Vec<ToolName> {
    let words = words(path).into_iter();
    words.map(|(word, _)| word).collect()
}

/// Words in backticks that the text has asked: names of somebody, whoever that is.
pub(crate) fn asked(path: &Path) -> Vec<ToolName> {
    let words = words(path).into_iter();
    words
        .filter_map(|(word, is_asked)| is_asked.then_some(word))
        .collect()
}

/// The words in backticks, and whether each is asked.
fn words(path: &Path) -> Vec<(ToolName, bool)> {
    let Ok(text) = text(path).map(|text| plain(&text)) else {
        return Vec::new();
    };
    let Ok(parts) = front::parts(&text, &mut Faults::of(path, &text)) else {
        return Vec::new();
    };
    let mut words = Vec::new();
    for block in blocks(parts.body) {
        // The end of the last word in the block that is asked.
        let mut last_asked = None;
        for (at, code) in block.codes() {
            if words.len() == MAX_WORDS {
                return words;
            }
            let end = at + code.len();
            let between = last_asked.and_then(|last| block.text.get(last..at));
            let is_asked = between.is_some_and(asking::is_another)
                || asking::asks(&block.text[..at], &block.text[end..]);
            last_asked = is_asked.then_some(end);
            let before = &parts.body[..block.origin(at).min(parts.body.len())];
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count());
            let word = ToolName {
                name: code.to_owned(),
                place: Place {
                    line: number(before.matches('\n').count()).saturating_add(parts.body_line),
                    column: number(column + 1),
                    length: number(code.chars().count()),
                },
            };
            words.push((word, is_asked));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_in_backticks_have_their_places_and_tools_are_read_of_a_file_that_is_wrong() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.md");
        let text = "---\r\nname: a\r\ntype: boss\r\ntools: [x, y]\r\n---\r\n\r\nü Ask `quik`.\r\n\r\n```\r\n`not`\r\n```\r\n- and `b c`\r\n";
        fs::write(&path, text).expect("it can be written");
        let told = |found: Vec<ToolName>| {
            let told = found.into_iter().map(|word| {
                let Place {
                    line,
                    column,
                    length,
                } = word.place;
                format!("{line}:{column}+{length} {}", word.name)
            });
            told.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(tools(&path)), "4:9+1 x, 4:12+1 y");
        assert_eq!(told(quoted(&path)), "7:8+4 quik, 12:8+3 b c");
        assert_eq!(told(tools(&folder.path().join("none.md"))), "");
    }
}
