//! Agents and tools that a rule names.

use std::sync::LazyLock;

use regex::Regex;

use super::{super::Transcript, duty::regex};

/// An agent or tool of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Its name for people.
    pub(super) name: String,
    /// The tool's name.
    pub(super) tool: String,
    pub(super) is_agent: bool,
}

/// A name in its plainest form: letters and digits, what stands between them as `-`, without what is put before the names of agents.
pub(super) fn key(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    match words.as_slice() {
        [first, rest @ ..] if first == "agent" && !rest.is_empty() => rest.join("-"),
        words => words.join("-"),
    }
}

/// The target that these words name: exactly one agent or tool that was there in the run. A tool goes also by the name that its server has for it,
/// where that is no other's and no plain word.
pub(super) fn target(words: &str, transcript: &Transcript) -> Option<Target> {
    static AROUND: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(?i)^(?:the |your |its )?(?<name>.+?)(?: agent| sub-?agent| tool)?$")
    });
    let words = words.trim().trim_matches(['`', '"', '“', '”', '\'']);
    let bare = AROUND.captures(words)?;
    let wanted = [key(words), key(&bare["name"])];
    let mut found = None;
    for (tool, known) in &transcript.tools {
        let id = known.agent.as_deref();
        let aliases = known.aliases.iter().map(String::as_str);
        let names = [Some(tool.as_str()), id].into_iter().flatten();
        let names = names.chain(aliases).map(key);
        let is_meant = |name: String| !name.is_empty() && wanted.contains(&name);
        if !names.into_iter().any(is_meant) {
            continue;
        }
        let target = Target {
            name: id.unwrap_or(tool).to_owned(),
            tool: tool.clone(),
            is_agent: known.agent.is_some(),
        };
        if found.replace(target).is_some() {
            return None;
        }
    }
    found.or_else(|| own(&bare["name"], transcript))
}

/// The tool of a server that goes by this name there.
fn own(name: &str, transcript: &Transcript) -> Option<Target> {
    if !name.contains(['_', '-']) || name.contains(char::is_whitespace) {
        return None;
    }
    let wanted = key(name);
    let is_meant = |tool: &str| {
        tool.split_once('_')
            .is_some_and(|(_, own)| key(own) == wanted)
    };
    let tools = transcript.tools.iter();
    let mut meant = tools.filter(|(tool, known)| known.agent.is_none() && is_meant(tool));
    let (tool, _) = meant.next()?;
    meant.next().is_none().then(|| Target {
        name: tool.clone(),
        tool: tool.clone(),
        is_agent: false,
    })
}

/// The targets in a list: `X`, `X and Y`, `X, Y or Z`; and whether one of them is enough.
pub(super) fn targets(words: &str, transcript: &Transcript) -> Option<(Vec<Target>, bool)> {
    static BETWEEN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i),? (?:and|or) |, "));
    if let Some(target) = target(words, transcript) {
        return Some((vec![target], false));
    }
    let plain = |word: &str| {
        word.get(..7)
            .is_some_and(|w| w.eq_ignore_ascii_case("either "))
    };
    let words = if plain(words) { &words[7..] } else { words };
    let joints: Vec<String> = BETWEEN
        .find_iter(words)
        .map(|joint| joint.as_str().replace(',', "").trim().to_lowercase())
        .filter(|joint| !joint.is_empty())
        .collect();
    let [joint] = joints.as_slice() else {
        return None;
    };
    let targets = BETWEEN.split(words).map(|name| target(name, transcript));
    Some((targets.collect::<Option<_>>()?, joint == "or"))
}

#[cfg(test)]
mod tests {
    use super::{super::super::transcript::Tool, *};

    fn transcript() -> Transcript {
        let agent = |id: &str| Tool {
            agent: Some(id.into()),
            ..Tool::default()
        };
        Transcript {
            tools: [
                ("agent_article-writer".to_owned(), agent("article-writer")),
                ("agent_echo".to_owned(), agent("agent_echo")),
                ("web_search".to_owned(), Tool::default()),
                ("files_read".to_owned(), Tool::default()),
                ("files-read".to_owned(), Tool::default()),
                ("disk_read_file".to_owned(), Tool::default()),
                ("notes_add_one".to_owned(), Tool::default()),
                ("sums_add_one".to_owned(), Tool::default()),
            ]
            .into(),
            ..Transcript::default()
        }
    }

    #[test]
    fn agents_and_tools_are_found_by_what_people_call_them() {
        for (words, tool) in [
            ("article-writer", Some("agent_article-writer")),
            ("the Article Writer", Some("agent_article-writer")),
            ("the article-writer agent", Some("agent_article-writer")),
            ("agent_article-writer", Some("agent_article-writer")),
            ("`web.search`", Some("web_search")),
            ("the web search tool", Some("web_search")),
            ("echo", Some("agent_echo")),
            ("the echo agent", Some("agent_echo")),
            ("search", None),
            ("read_file", Some("disk_read_file")),
            ("the `read_file` tool", Some("disk_read_file")),
            ("read file", None),
            ("add_one", None),
            ("the writer", None),
            ("files.read", None),
            ("the agent", None),
            ("", None),
            ("!", None),
        ] {
            let found = target(words, &transcript()).map(|t| t.tool);
            assert_eq!(found.as_deref(), tool, "{words}");
        }
    }

    #[test]
    fn lists_name_all_or_one() {
        let of = |words: &str| {
            let (targets, is_any) = targets(words, &transcript())?;
            Some((targets.len(), is_any))
        };
        assert_eq!(of("echo"), Some((1, false)));
        assert_eq!(of("echo and the article writer"), Some((2, false)));
        assert_eq!(of("either echo or web.search"), Some((2, true)));
        assert_eq!(of("echo, web.search, and article-writer"), Some((3, false)));
        assert_eq!(of("echo, web.search"), None);
        assert_eq!(of("echo and web.search or article-writer"), None);
        assert_eq!(of("echo and somebody"), None);
    }
}
