//! Text that grows piece by piece, shown in larger pieces.

use std::time::Duration;

use tokio::time::Instant;

/// The artifact that an answer grows in.
pub const ANSWER_ARTIFACT: &str = "answer";

/// Pieces of text on their way to someone who watches, joined to one for every 50 ms or 1 KiB.
#[derive(Clone, Debug, Default)]
pub struct Gathering {
    text: String,
    due: Option<Instant>,
}

impl Gathering {
    /// Time for which text is kept back.
    pub const TIME: Duration = Duration::from_millis(50);

    /// Length of text that is kept back, in bytes.
    pub const BYTES: usize = 1024;

    /// Adds a piece. Returns all that is gathered once it is enough.
    pub fn add(&mut self, piece: &str, now: Instant) -> Option<String> {
        self.text.push_str(piece);
        self.due.get_or_insert(now + Self::TIME);
        match self.text.len() >= Self::BYTES {
            true => self.take(),
            false => None,
        }
    }

    /// Time at which what is gathered is to be [taken](Self::take); `None` while there is nothing.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The gathered text, if there is any.
    pub fn take(&mut self) -> Option<String> {
        self.due = None;
        Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_due_after_a_while_or_when_it_is_much() {
        let now = Instant::now();
        let mut gathering = Gathering::default();
        assert_eq!(gathering.add("a", now), None);
        assert_eq!(gathering.add("b", now + Gathering::TIME / 2), None);
        assert_eq!(gathering.due(), Some(now + Gathering::TIME));
        assert_eq!(gathering.take().as_deref(), Some("ab"));
        assert_eq!((gathering.due(), gathering.take()), (None, None));

        let much = "x".repeat(Gathering::BYTES - 1);
        assert_eq!(gathering.add(&much, now), None);
        assert_eq!(gathering.add("yz", now), Some(much + "yz"));
        assert_eq!(gathering.due(), None);
    }
}
