//! Tools that the words of a step name, and those of them that it wants to be called.

use crate::ToolSpec;

/// Words that may stand before the name of whom a step addresses.
const CALLS: [&str; 17] = [
    "ask", "tell", "use", "using", "let", "have", "call", "run", "invoke", "via", "through",
    "give", "send", "hand", "to", "with", "by",
];
/// Words that may stand between such a word and the name, or between two names that are addressed together.
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
    /// Index of the tool.
    pub(super) tool: usize,
    /// The first byte behind the name.
    pub(super) end: usize,
    /// The first byte of the name.
    pub(super) start: usize,
    /// True if it is addressed: it stands behind "ask", "give", "with" and the like.
    pub(super) addressed: bool,
    /// True if it stands right behind an "and" or an "or".
    pub(super) joined: bool,
    /// True if it stands in backticks.
    quoted: bool,
}

/// A word and where it stands.
struct Word {
    text: String,
    start: usize,
    end: usize,
}

/// A name of a tool.
#[derive(Clone)]
struct Name {
    tool: usize,
    words: Vec<String>,
    /// True if it counts in backticks alone.
    in_backticks: bool,
}

/// The tools that the text names, in its order: by the tool's name, by that of the agent behind it, or, in backticks, by the one that its
/// server has for it, where that is no other's. Sentences that forbid don't count, and where there are names in backticks, those
/// alone do.
pub(super) fn mentions(text: &str, tools: &[ToolSpec]) -> Vec<Mention> {
    let mut names: Vec<Name> = tools.iter().enumerate().flat_map(names).collect();
    let own: Vec<Name> = tools.iter().enumerate().filter_map(own_name).collect();
    let is_one = |name: &&Name| {
        let all = names.iter().chain(&own);
        all.filter(|other| other.words == name.words).count() == 1
    };
    let own: Vec<Name> = own.iter().filter(is_one).cloned().collect();
    names.extend(own);
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
fn names((at, tool): (usize, &ToolSpec)) -> Vec<Name> {
    let agent = tool.name.strip_prefix("agent_");
    let names = [Some(tool.name.as_str()), agent].into_iter().flatten();
    names.filter_map(|name| named(at, name, false)).collect()
}

/// A server's own name for its tool, which goes by `SERVER_TOOL`.
fn own_name((at, tool): (usize, &ToolSpec)) -> Option<Name> {
    let (server, name) = tool.name.split_once('_')?;
    (server != "agent").then(|| named(at, name, true)).flatten()
}

fn named(tool: usize, name: &str, in_backticks: bool) -> Option<Name> {
    let words: Vec<String> = words(name).into_iter().map(|word| word.text).collect();
    (!words.is_empty()).then_some(Name {
        tool,
        words,
        in_backticks,
    })
}

fn in_sentence(text: &str, (from, to): (usize, usize), names: &[Name]) -> Vec<Mention> {
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
        let is_quoted = |name: &Name| {
            let end = words[at + name.words.len() - 1].end;
            text[..words[at].start].ends_with('`') && text[end..].starts_with('`')
        };
        let is_here = |name: &&Name| {
            let here = words[at..].iter().map(|word| &word.text);
            name.words.len() <= words.len() - at
                && here.zip(&name.words).all(|(a, b)| a == b)
                && (!name.in_backticks || is_quoted(name))
        };
        // Of two names that begin here the longer one is meant.
        let longest = names
            .iter()
            .filter(is_here)
            .max_by_key(|name| name.words.len());
        let name = longest.and_then(|name| {
            let start = words[at].start;
            let end = words[at + name.words.len() - 1].end;
            Some((name, start, end_of(text, start, end)?))
        });
        if let Some((name, start, end)) = name {
            found.push(Mention {
                tool: name.tool,
                start,
                end,
                addressed: calls,
                joined: at > 0 && ["and", "or"].contains(&words[at - 1].text.as_str()),
                quoted: is_quoted(name),
            });
            at += name.words.len();
            continue;
        }
        let word = words[at].text.as_str();
        calls = CALLS.contains(&word) || (calls && FILLERS.contains(&word));
        at += 1;
    }
    found
}

/// End of a name that stands here: behind the word "agent" or "tool" that goes with it. A part of a longer name is none.
fn end_of(text: &str, start: usize, end: usize) -> Option<usize> {
    const GOES_WITH: [&str; 6] = ["-agent", "_agent", " agent", "-tool", "_tool", " tool"];
    let joins = |c: char| matches!(c, '-' | '_');
    let before = text[..start].strip_suffix(joins);
    if before.is_some_and(|before| before.ends_with(char::is_alphanumeric)) {
        return None;
    }
    let rest = &text[end..];
    let mark = usize::from(rest.starts_with('`'));
    let behind = &rest[mark..];
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || joins(c));
    let with = GOES_WITH.iter().find(|with| {
        let head = behind.get(..with.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(with)) && is_end(&behind[with.len()..])
    });
    if let Some(with) = with {
        return Some(end + mark + with.len());
    }
    let joined = behind.strip_prefix(joins);
    match joined.is_some_and(|next| next.starts_with(char::is_alphanumeric)) {
        true => None,
        false => Some(end),
    }
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

/// Ranges of the sentences. A line break ends one as well.
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

    fn tools() -> Vec<ToolSpec> {
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            agent: None,
        };
        vec![
            tool("agent_writer"),
            tool("agent_article-writer"),
            tool("read_file"),
            tool("web_search_pages"),
            tool("notes_add"),
            tool("sums_add"),
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
            ("Ask the writer-agent for it", &[(0, "addressed")]),
            ("Ask the ghost-writer, then the writer-in-chief", &[]),
            ("Find it with `search_pages`", &[(3, "addressed")]),
            ("Find it with `web.search_pages`", &[(3, "addressed")]),
            ("Find it with search_pages", &[]),
            ("Give it to `add`, whoever that is", &[]),
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
