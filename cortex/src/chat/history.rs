//! History of a conversation, bounded by tokens. What has to go leaves a mark.

use std::collections::VecDeque;

use agenthub_sdk::model::{PromptMessage, PromptRole, estimate_tokens};

/// The turn of everything that was said before.
const BEFORE: u64 = 0;

/// History from before this process knew the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// The user's words and the answers, oldest first.
    pub(crate) said: Vec<(String, String)>,
    /// True if there is more.
    pub(crate) has_more: bool,
}

/// The most tokens that one text may have in a conversation of so many.
pub(crate) fn longest(budget: usize) -> usize {
    budget.max(64) / 2
}

/// The conversation so far, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct History {
    budget: usize,
    entries: VecDeque<Entry>,
    tokens: usize,
    left_out: usize,
    /// True if more was left out than is counted.
    has_more: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    turn: u64,
    role: PromptRole,
    text: String,
    tokens: usize,
}

impl History {
    /// An empty conversation that keeps at most this many tokens, at least 64.
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget: budget.max(64),
            entries: VecDeque::new(),
            tokens: 0,
            left_out: 0,
            has_more: false,
        }
    }

    /// Adds the user's words in this turn. A text of more than half the budget is shortened.
    pub(crate) fn heard(&mut self, turn: u64, text: &str) {
        self.push(turn, PromptRole::User, text);
    }

    /// Adds the answer in this turn. A text of more than half the budget is shortened.
    pub(crate) fn said(&mut self, turn: u64, text: &str) {
        self.push(turn, PromptRole::Assistant, text);
    }

    fn push(&mut self, turn: u64, role: PromptRole, text: &str) {
        let text = shorten(text, longest(self.budget));
        let tokens = estimate_tokens(&text);
        self.entries.push_back(Entry {
            turn,
            role,
            text,
            tokens,
        });
        self.tokens += tokens;
        while self.tokens > self.budget
            && let Some(oldest) = self.entries.pop_front()
        {
            self.tokens -= oldest.tokens;
            self.left_out += 1;
        }
    }

    /// Puts earlier history before everything here. Nothing has been pushed yet.
    pub(crate) fn begin_with(&mut self, past: Past) {
        self.has_more = past.has_more;
        for (words, answer) in past.said {
            self.heard(BEFORE, &words);
            self.said(BEFORE, &answer);
        }
    }

    /// The conversation as a model reads it, without what belongs to this turn; it begins with a mark if something was left out.
    pub(crate) fn before(&self, turn: u64) -> Vec<PromptMessage> {
        let mark = match (self.left_out, self.has_more) {
            (0, false) => None,
            (_, true) => Some("[earlier messages left out]".to_owned()),
            (1, _) => Some("[1 earlier message left out]".to_owned()),
            (n, _) => Some(format!("[{n} earlier messages left out]")),
        };
        let said = self.entries.iter().filter(|e| e.turn != turn);
        let said = said.map(|e| match e.role {
            PromptRole::Assistant => PromptMessage::assistant(&*e.text),
            _ => PromptMessage::user(&*e.text),
        });
        mark.map(PromptMessage::user)
            .into_iter()
            .chain(said)
            .collect()
    }
}

/// The text, or its beginning and end around a mark that tells how much is missing, so that it has about this many tokens at
/// most.
pub(crate) fn shorten(text: &str, max_tokens: usize) -> String {
    let tokens = estimate_tokens(text);
    if tokens <= max_tokens {
        return text.to_owned();
    }
    let chars = text.chars().count();
    // A character never takes more than one token, and the mark takes about ten.
    let mut keep = (chars * max_tokens / tokens).saturating_sub(40);
    loop {
        let (head, tail) = (keep - keep / 3, keep / 3);
        let start = byte_of(text, head);
        let end = byte_of(text, chars - tail);
        let shortened = format!(
            "{}[… {} characters left out …]{}",
            &text[..start],
            chars - keep,
            &text[end..]
        );
        if keep == 0 || estimate_tokens(&shortened) <= max_tokens {
            return shortened;
        }
        keep = keep * 9 / 10;
    }
}

fn byte_of(text: &str, char_index: usize) -> usize {
    text.char_indices()
        .nth(char_index)
        .map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(history: &History, turn: u64) -> Vec<String> {
        let messages = history.before(turn);
        messages.iter().filter_map(PromptMessage::text).collect()
    }

    #[test]
    fn the_turn_itself_is_told_apart() {
        let mut history = History::new(1000);
        history.heard(1, "a");
        history.heard(2, "b");
        history.said(2, "B");
        history.said(1, "A");
        assert_eq!(texts(&history, 1), ["b", "B"]);
        assert_eq!(texts(&history, 3), ["a", "b", "B", "A"]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut history = History::new(64);
        for turn in 0..20 {
            history.heard(turn, &format!("{turn:040}"));
        }
        let texts = texts(&history, 99);
        assert_eq!(texts.len(), 7, "a mark and six texts of ten tokens");
        assert_eq!(texts[0], "[14 earlier messages left out]");
        assert_eq!(texts[1], format!("{:040}", 14));
    }

    #[test]
    fn a_huge_text_keeps_its_beginning_and_its_end() {
        let mut history = History::new(200);
        history.heard(1, &format!("start {} end", "x".repeat(100_000)));
        let texts = texts(&history, 2);
        assert!(texts[0].starts_with("start x"), "{texts:?}");
        assert!(texts[0].ends_with("x end"), "{texts:?}");
        assert!(texts[0].contains("characters left out"), "{texts:?}");
    }

    proptest! {
        #[test]
        fn the_budget_holds(sizes in prop::collection::vec(0usize..2000, 0..40), budget in 64usize..1000) {
            let mut history = History::new(budget);
            for (turn, size) in sizes.iter().enumerate() {
                history.heard(turn as u64, &"x".repeat(*size));
            }
            let kept = texts(&history, u64::MAX);
            let mark = usize::from(history.left_out > 0);
            prop_assert_eq!(kept.len() - mark + history.left_out, sizes.len());
            let tokens: usize = kept[mark..].iter().map(|t| estimate_tokens(t)).sum();
            prop_assert!(tokens <= budget, "{} of {}", tokens, budget);
        }

        #[test]
        fn shortening_any_text_fits(text in ".{0,300}", max in 16usize..60) {
            prop_assert!(estimate_tokens(&shorten(&text, max)) <= max.max(16));
        }
    }
}
