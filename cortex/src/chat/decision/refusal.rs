//! Refusals of answers that are no decision.

use super::{MAX_ACTIONS, TOOL};

/// The longest reason that a model is told, in characters.
const MAX_REASON: usize = 400;

/// The fault that makes an answer no decision, in words that help the model to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// More entries in a list than a decision may have.
    pub(super) fn too_many(count: usize, list: &str) -> Self {
        Self(format!(
            "{count} {list} are too many; give at most {MAX_ACTIONS}"
        ))
    }

    /// An error in one entry of a list, shortened.
    pub(super) fn at(list: &str, index: usize, reason: &str) -> Self {
        let reason = format!("{list}[{index}]: {reason}");
        Self(match reason.char_indices().nth(MAX_REASON) {
            Some((end, _)) => format!("{}…", &reason[..end]),
            None => reason,
        })
    }
}

/// The words in quotation marks that a reason has of itself.
const OWN: [&str; 10] = [
    "actions",
    "type",
    "text",
    "taskType",
    "targetAgent",
    "payload",
    "correlationId",
    "chat.response",
    "task.request",
    TOOL,
];

/// The reason of a refusal for the log: without what it quotes of the answer, which may be the user's words.
pub(crate) fn without_words(reason: &str) -> String {
    let mut told = String::new();
    let mut rest = reason;
    while let Some(at) = rest.find(['"', '{']) {
        told.push_str(&rest[..at]);
        let quoted = &rest[at..];
        let end = match quoted.starts_with('{') {
            true => quoted.rfind('}'),
            false => closing(quoted),
        };
        let length = end.map_or(quoted.len(), |end| end + 1);
        let inner = quoted[..length].trim_matches('"');
        match OWN.contains(&inner) {
            true => told.push_str(&quoted[..length]),
            false => told.push('…'),
        }
        rest = &quoted[length..];
    }
    told + rest
}

/// End of the quotation that a text begins with.
fn closing(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut ends = quoted.char_indices().skip(1).filter(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    ends.next().map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_reasons_without_what_they_quote() {
        for (reason, told) in [
            (
                "actions[0]: there is no agent \"ses\\\"ame\"; choose among a, b",
                "actions[0]: there is no agent …; choose among a, b",
            ),
            (
                "actions[1]: /text: {\"sesame\":{\"a\":1}} is not of type \"string\"",
                "actions[1]: /text: … is not of type …",
            ),
            (
                "\"type\" must be \"chat.response\" or \"task.request\"",
                "\"type\" must be \"chat.response\" or \"task.request\"",
            ),
            ("broken off in \"sesa…", "broken off in …"),
        ] {
            assert_eq!(without_words(reason), told);
        }
    }
}
