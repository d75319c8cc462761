//! Tools as words can match them.

use serde_json::Value;

use crate::ToolSpec;
use crate::relevance::{self, Card, Skill};

/// The longest name at the head of a line, in bytes.
const MAX_HEAD: usize = 100;

/// The tools that may be called, prepared for [`relevance`].
pub(super) struct Known<'a> {
    all: Vec<One<'a>>,
}

impl<'a> Known<'a> {
    pub(super) fn of(tools: &'a [ToolSpec]) -> Self {
        Self {
            all: tools.iter().map(One::of).collect(),
        }
    }

    /// The tools that the words name, by the tool's name or by that of the agent behind it.
    pub(super) fn named(&self, words: &str) -> Vec<usize> {
        let bare = |id: &'a str| Card {
            id,
            ..Card::default()
        };
        let tools = self.all.iter().map(|one| bare(&one.tool.name));
        let agents = self
            .all
            .iter()
            .map(|one| bare(one.agent.unwrap_or_default()));
        let cards: Vec<Card<'_>> = tools.chain(agents).collect();
        let mut named = Vec::new();
        for at in relevance::named(words, &cards) {
            let at = at % self.all.len();
            if !named.contains(&at) {
                named.push(at);
            }
        }
        named
    }

    /// The tools, and the agents behind them, as cards.
    pub(super) fn cards(&self) -> Vec<Card<'_>> {
        let bare = |id: &'a str| Card {
            id,
            ..Card::default()
        };
        let agents = self.all.iter().filter_map(|one| one.agent);
        let own = self.all.iter().map(One::card);
        own.chain(agents.map(bare)).collect()
    }

    /// The tool that the words match best, and more than by chance, but for the one of name `without`.
    pub(super) fn best(&self, words: &str, without: &str) -> Option<usize> {
        let cards: Vec<Card<'_>> = self.all.iter().map(One::card).collect();
        let mut ranked = relevance::rank(words, &cards).into_iter();
        ranked
            .find(|&(at, _)| self.all[at].tool.name != without)
            .filter(|&(_, score)| score >= relevance::LIKELY)
            .map(|(at, _)| at)
    }
}

/// A tool, and what weighs more in its description than other words: what stands at the head of a line or in quotes, and the
/// values that its arguments may have.
struct One<'a> {
    tool: &'a ToolSpec,
    /// The id of the agent behind it.
    agent: Option<&'a str>,
    description: &'a str,
    heads: String,
    quoted: Vec<&'a str>,
}

impl<'a> One<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let description = tool.own_words();
        let mut heads: Vec<&str> = description.lines().filter_map(head).collect();
        enumerated(&tool.parameters, &mut heads);
        Self {
            tool,
            agent: tool.agent.as_ref().map(|agent| &*agent.id),
            description,
            heads: heads.join(" "),
            // Every second piece between quotation marks was inside of them.
            quoted: description.split('"').skip(1).step_by(2).collect(),
        }
    }

    fn card(&self) -> Card<'_> {
        Card {
            id: &self.tool.name,
            name: self.agent.unwrap_or_default(),
            description: self.description,
            skills: vec![Skill {
                name: &self.heads,
                examples: self.quoted.clone(),
                ..Skill::default()
            }],
        }
    }
}

/// The subject of a line: all up to the first full stop or quotation mark in a list, else the first word.
fn head(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(item) = line.strip_prefix(['-', '*', '•']) {
        let end = item.find(['"', '“']).unwrap_or(item.len());
        let end = item.find(". ").unwrap_or(end).min(end);
        return Some(&item[..end]).filter(|head| head.len() <= MAX_HEAD);
    }
    let article = |word: &&str| ["a", "an", "the"].contains(&word.to_lowercase().as_str());
    line.split_whitespace().find(|word| !article(word))
}

/// The texts of all enumerations in a schema.
fn enumerated<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("enum", Value::Array(values)) => {
                        found.extend(values.iter().filter_map(Value::as_str));
                    }
                    _ => enumerated(value, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|one| enumerated(one, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PresentedAgent;

    #[test]
    fn of_an_agent_only_its_own_words_count() {
        let description = "Hands work to the agent Scribe 7. It says of itself: Writes.";
        let tools = [ToolSpec {
            name: "agent_scribe-7".into(),
            description: description.into(),
            parameters: json!({"type": "object"}),
            agent: Some(PresentedAgent {
                id: "Scribe 7".into(),
                own_words_at: description.len() - "Writes.".len(),
            }),
        }];
        let known = Known::of(&tools);
        assert_eq!(known.best("my hands hurt from work", ""), None);
        assert_eq!(known.best("write to mother", ""), Some(0));
        assert_eq!(known.best("write to mother", "agent_scribe-7"), None);
        for words in [
            "ask Scribe 7",
            "use agent_scribe-7",
            "ask scribe 7 and agent_scribe-7",
        ] {
            assert_eq!(known.named(words), [0], "{words:?}");
        }
    }

    #[test]
    fn the_head_of_a_line_is_its_subject() {
        for (line, expected) in [
            ("The translator of texts", Some("translator")),
            (
                "- draft: First Draft. Makes drafts \"Draft this\"",
                Some(" draft: First Draft"),
            ),
            ("* fix \"Fix it. Now\"", Some(" fix ")),
            ("", None),
        ] {
            assert_eq!(head(line), expected, "{line:?}");
        }
    }
}
