//! Which tools the words of a step name, and which of them it wants to be called.

use crate::model::Tool;

/// What may stand before the name of whom a step addresses.
const CALLS: [&str; 17] = [
    "ask", "tell", "use", "using", "let", "have", "call", "run", "invoke", "via", "through",
    "give", "send", "hand", "to", "with", "by",
];
/// What may stand between such a word and the name, or between two names that are addressed together.
const FILLERS: [&str; 9] = [
    "the", "agent", "agents", "tool", "both", "and", "or", "then", "also",
];
/// A sentence with one of these forbids.
const FORBIDS: [&[&str]; 7] = [
    &["must", "not"],
    &["should", "not"],
    &["shall", "not"],
    &["may", "not"],
    &["do", "not"],
    &["don", "t"],
    &["never"],
];

/// A place where a text names a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// Which of the tools.
    pub(super) tool: usize,
    /// The first byte behind the name.
    pub(super) end: usize,
    /// The first byte of the name.
    pub(super) start: usize,
    /// Whether it is addressed: it stands behind "ask", "give", "with" and the like.
    pub(super) addressed: bool,
    /// Whether it stands right behind an "and" or an "or".
    pub(super) joined: bool,
    /// Whether it stands in backticks.
    quoted: bool,
}

/// A word and where it stands.
struct Word {
    text: String,
    start: usize,
    end: usize,
}

/// The tools that the text names, in its order: by the tool's name, or by that of the agent behind it. Sentences that forbid don't
/// count, and where there are names in backticks, those alone do.
pub(super) fn mentions(text: &str, tools: &[Tool]) -> Vec<Mention> {
    let names: Vec<(usize, Vec<String>)> = tools.iter().enumerate().flat_map(names).collect();
    let mut found = Vec::new();
    for sentence in sentences(text) {
        found.extend(in_sentence(text, sentence, &names));
    }
    if found.iter().any(|m| m.quoted) {
        found.retain(|m| m.quoted);
    }
    found
}

/// The words by which a tool goes: all of its name, and where it is an agent's, the name without what it begins with.
fn names((at, tool): (usize, &Tool)) -> Vec<(usize, Vec<String>)> {
    let split = |name: &str| words(name).into_iter().map(|word| word.text).collect();
    let agent = tool.name.strip_prefix("agent_");
    let names = [Some(tool.name.as_str()), agent].into_iter().flatten();
    names
        .map(split)
        .filter(|name: &Vec<String>| !name.is_empty())
        .map(|name| (at, name))
        .collect()
}

fn in_sentence(
    text: &str,
    (from, to): (usize, usize),
    names: &[(usize, Vec<String>)],
) -> Vec<Mention> {
    let mut words = words(&text[from..to]);
    for word in &mut words {
        word.start += from;
        word.end += from;
    }
    let mut found: Vec<Mention> = Vec::new();
    let said: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let is_said = |phrase: &&[&str]| said.windows(phrase.len()).any(|words| words == *phrase);
    if FORBIDS.iter().any(is_said) {
        return found;
    }
    // Whether what comes is addressed, as far as only fillers come in between.
    let mut calls = false;
    let mut at = 0;
    while at < words.len() {
        let is_here = |name: &&(usize, Vec<String>)| {
            let here = words[at..].iter().map(|word| &word.text);
            name.1.len() <= words.len() - at && here.zip(&name.1).all(|(a, b)| a == b)
        };
        // Of two names that begin here the longer one is meant.
        let longest = names.iter().filter(is_here).max_by_key(|name| name.1.len());
        if let Some((tool, name)) = longest {
            let last = &words[at + name.len() - 1];
            let (start, end) = (words[at].start, last.end);
            found.push(Mention {
                tool: *tool,
                start,
                end,
                addressed: calls,
                joined: at > 0 && ["and", "or"].contains(&words[at - 1].text.as_str()),
                quoted: text[..start].ends_with('`') && text[end..].starts_with('`'),
            });
            at += name.len();
            continue;
        }
        let word = words[at].text.as_str();
        calls = CALLS.contains(&word) || (calls && FILLERS.contains(&word));
        at += 1;
    }
    found
}

/// The words in lower case, without what joins them.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(Word {
                    text: text[from..at].to_lowercase(),
                    start: from,
                    end: at,
                });
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// From where to where each sentence goes. A line break ends one as well.
pub(super) fn sentences(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let ends = c == '\n' || (c.is_whitespace() && matches!(before, '.' | ';' | '!' | '?'));
        if ends {
            found.push((start, at));
            start = at + c.len_utf8();
        }
        before = c;
    }
    found.push((start, text.len()));
    found.retain(|(from, to)| !text[*from..*to].trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools() -> Vec<Tool> {
        let tool = |name: &str| Tool {
            name: name.into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        vec![
            tool("agent_writer"),
            tool("agent_article-writer"),
            tool("read_file"),
        ]
    }

    #[test]
    fn tools_are_named_by_their_names_or_by_those_of_agents() {
        for (text, expected) in [
            ("Ask the `article-writer` for it.", &[(1, "addressed")][..]),
            (
                "Ask agent_article-writer, then read_file",
                &[(1, "addressed"), (2, "addressed")],
            ),
            (
                "Give `writer` what `article-writer` made",
                &[(0, "addressed"), (1, "named")],
            ),
            (
                "Read it with `read_file`; the writer waits",
                &[(2, "addressed")],
            ),
            (
                "Ask `writer` for a text and `read_file` for facts",
                &[(0, "addressed"), (2, "joined")],
            ),
            ("The writer begins", &[(0, "named")]),
            (
                "If it is not good, have `writer` mend it",
                &[(0, "addressed")],
            ),
            (
                "You MUST NOT ask `writer`.\nNever call `read_file`. Don't use `writer`",
                &[],
            ),
            ("The underwriter, and nobody else", &[]),
        ] {
            let found: Vec<(usize, &str)> = mentions(text, &tools())
                .iter()
                .map(|m| {
                    (
                        m.tool,
                        if m.addressed {
                            "addressed"
                        } else if m.joined {
                            "joined"
                        } else {
                            "named"
                        },
                    )
                })
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
