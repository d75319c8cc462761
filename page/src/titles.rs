//! Titles of conversations: the first words of the first request. They do not change, so they are read once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agenthub_proto::{cortex::Run, wkt::Timestamp};

use crate::elements::line;

/// Characters of a title.
const LONGEST: usize = 80;

/// The most titles that are kept.
const MAX_KEPT: usize = 10_000;

/// A title, and the time of the first request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Title {
    pub(crate) words: String,
    pub(crate) begun: Option<Timestamp>,
}

impl Title {
    /// The title of the conversation that began with this turn.
    pub(crate) fn of(first: &Run) -> Self {
        Self {
            words: line(&first.objective, LONGEST),
            begun: first.created_at,
        }
    }
}

/// Titles that were read, by principal and thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Titles(Arc<Mutex<HashMap<(String, String), Title>>>);

impl Titles {
    /// The title of a conversation, if it was read.
    pub(crate) fn known(&self, principal: &str, thread: &str) -> Option<Title> {
        let titles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (principal.to_owned(), thread.to_owned());
        titles.get(&key).cloned()
    }

    /// Keeps a title that was read.
    pub(crate) fn keep(&self, principal: &str, thread: &str, title: &Title) {
        let mut titles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if titles.len() >= MAX_KEPT {
            titles.clear();
        }
        let key = (principal.to_owned(), thread.to_owned());
        titles.insert(key, title.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_of_one_principals_conversation() {
        let titles = Titles::default();
        let title = Title::of(&Run {
            objective: "the\nheron".into(),
            ..Run::default()
        });
        assert_eq!(title.words, "the heron");
        titles.keep("alice", "t", &title);
        assert_eq!(titles.known("alice", "t"), Some(title));
        assert_eq!(titles.known("bob", "t"), None);
        assert_eq!(titles.known("alice", "u"), None);
    }
}
