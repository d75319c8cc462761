//! The agents that a turn needs and that are not here.

use agenthub_proto::a2a::AgentCard;
use agenthub_sdk::hub::DirectoryEntry;

use super::{prompt::Named, turn::Query};

/// True if an agent is away that the words name or, after the first round, that completed a task.
pub(crate) fn is_anyone_missing(query: &Query, known: &[DirectoryEntry]) -> bool {
    match &query.completed_by {
        Some(agents) => {
            let here = |agent: &String| {
                let mut known = known.iter();
                known.any(|entry| entry.online && entry.card.name == *agent)
            };
            !agents.iter().all(here)
        }
        None => {
            let away = known.iter().filter(|entry| !entry.online);
            let away: Vec<&AgentCard> = away.map(|entry| &*entry.card).collect();
            !Named::of(&query.words, &[], &away).is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_sdk::Card;

    fn entry(name: &str, online: bool) -> DirectoryEntry {
        let card: AgentCard = Card::new(name, "An agent").into();
        DirectoryEntry {
            card: card.into(),
            online,
        }
    }

    /// True if somebody is missing while `agent_here` is here and `agent_away` is not.
    fn is_missing(words: &str, completed_by: Option<&[&str]>) -> bool {
        let known = [entry("agent_away", false), entry("agent_here", true)];
        let agents = completed_by.map(|agents| agents.iter().map(|&agent| agent.into()).collect());
        let query = Query {
            words: words.to_owned(),
            completed_by: agents,
        };
        is_anyone_missing(&query, &known)
    }

    #[test]
    fn whom_the_words_name_is_missing_before_the_first_task() {
        assert!(is_missing("agent_away, dig", None));
        assert!(!is_missing("agent_here, dig", None));
        assert!(!is_missing("dig", None), "nobody is named");
    }

    #[test]
    fn who_completed_a_task_is_missing_after_it() {
        assert!(is_missing("dig", Some(&["agent_here", "agent_away"])));
        assert!(is_missing("dig", Some(&["agent_unknown"])));
        assert!(!is_missing("dig", Some(&["agent_here"])));
        assert!(!is_missing("agent_away, dig", Some(&[])), "it gave nothing");
    }
}
