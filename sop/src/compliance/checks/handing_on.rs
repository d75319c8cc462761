//! Check of what calls hand on.

use serde_json::Value;

use super::{
    super::{Call, PassageKind, Transcript, Verdict, nothing_done},
    CheckResult, Checked,
    answer::joined,
    calls::often,
    names::Target,
    order::OrderFinding,
};

/// Words or inputs that have to go, or must not go, with calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handing {
    /// To whom; nothing for all agents.
    pub(super) to: Option<Target>,
    pub(super) words: Words,
    /// True if it has to stand in the task itself.
    pub(super) in_task: bool,
    pub(super) is_wanted: bool,
}

/// Content that is to be handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// A text in quotation marks.
    Quoted(String),
    /// The request, word for word.
    Request,
    /// Something that the target takes.
    Input(String),
}

impl Handing {
    /// Tells whether each call that is meant has it, or has it not.
    ///
    /// # Errors
    ///
    /// The result where that is not to be told by code, or where there is no such call.
    pub(super) fn look(&self, transcript: &Transcript) -> Result<OrderFinding, Checked> {
        let calls = transcript.calls.iter().enumerate();
        let meant: Vec<(usize, &Call)> = calls.filter(|(_, call)| self.is_for(call)).collect();
        if meant.is_empty() {
            let none = CheckResult::new(Verdict::NotApplicable, "nothing was handed on");
            return Err(Checked::Decided(match transcript.is_over() {
                true => nothing_done::without_doing(none, transcript),
                false => {
                    CheckResult::not_checked("nothing was handed on so far; the run is not over")
                }
            }));
        }
        let (what, wanted) = match &self.words {
            Words::Quoted(text) => (format!("{text:?}"), plain(text)),
            Words::Input(name) => (format!("`{name}`"), name.clone()),
            Words::Request => {
                let mut passages = transcript.passages.iter();
                let request = passages.find(|passage| passage.what == PassageKind::Request);
                let request = request.map(|passage| plain(&passage.text));
                ("the request".to_owned(), request.unwrap_or_default())
            }
        };
        if wanted.is_empty() {
            return Err(Checked::Left(None));
        }
        let has: Vec<Option<bool>> = meant
            .iter()
            .map(|(_, call)| self.is_in(call, &wanted))
            .collect();
        let pairs = meant.iter().zip(&has);
        if let Some(((at, call), _)) = pairs
            .clone()
            .find(|(_, has)| **has == Some(!self.is_wanted))
        {
            let was = if self.is_wanted { "was not" } else { "was" };
            let evidence = format!(
                "{what} {was} handed on to {} in call {}",
                call.name(),
                at + 1
            );
            return Ok(OrderFinding::bad(evidence, Some(*at)));
        }
        if let Some(((at, _), _)) = pairs.clone().find(|(_, has)| has.is_none()) {
            let note = format!(
                "{what} stands in what went with call {}, but not word for word in its task",
                at + 1
            );
            return Err(Checked::Left(Some(note)));
        }
        Ok(match self.is_wanted {
            true => {
                let evidence = format!("{what} was handed on {}", often(meant.len() as u64));
                OrderFinding::yes(evidence, Some(meant[0].0))
            }
            false => OrderFinding::yes(format!("{what} was never handed on"), None),
        })
    }

    fn is_for(&self, call: &Call) -> bool {
        match &self.to {
            Some(target) => call.tool == target.tool,
            None => call.agent.is_some(),
        }
    }

    /// Tells whether a call hands this on; nothing where it stands elsewhere than in the task, or inside of
    /// another word.
    fn is_in(&self, call: &Call, wanted: &str) -> Option<bool> {
        if let Words::Input(name) = &self.words {
            return Some(call.inputs.get(name).is_some_and(is_anything));
        }
        let mut is_input = false;
        let mut is_within = false;
        each_text(&call.inputs, &mut |text| {
            is_input |= has_words(&plain(text), wanted);
            is_within |= joined(&plain(text)).contains(&joined(wanted));
        });
        let task = plain(&call.task);
        is_within |= joined(&task).contains(&joined(wanted));
        match has_words(&task, wanted) {
            true => Some(true),
            false if is_input && self.in_task => None,
            // Inside of another word, or spelt with other hyphens.
            false if !is_input && is_within => None,
            false => Some(is_input),
        }
    }
}

/// True if there is something in it.
fn is_anything(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(is_anything),
        Value::Object(fields) => fields.values().any(is_anything),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn each_text(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, take)),
        _ => {}
    }
}

/// True if the text has these words, and not as a part of others.
fn has_words(text: &str, wanted: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '#' | '@');
    let begins = wanted.starts_with(char::is_alphanumeric);
    let ends = wanted.ends_with(char::is_alphanumeric);
    text.match_indices(wanted).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + wanted.len()..].chars().next();
        !(begins && before.is_some_and(in_word) || ends && behind.is_some_and(in_word))
    })
}

/// A text in small letters with single spaces.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
