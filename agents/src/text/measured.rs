//! Things that are counted in a text.

/// Something that a text has a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// As they are drawn, as code points or in UTF-16.
    Characters,
    /// Pieces between spaces that have a letter or a digit.
    Words,
    /// Pieces that a full stop, another mark or a paragraph ends.
    Sentences,
    /// Lines with anything on them.
    Lines,
    /// Lines that begin with the mark or the number of a list.
    Items,
    /// `#word`.
    Hashtags,
    /// Addresses with a scheme, bare domains, and targets of Markdown and HTML links.
    Links,
    /// `@name`.
    Mentions,
    /// Characters that are drawn as pictures; a sequence that is drawn as one counts once.
    Emoji,
    /// Exclamation marks, or rows of them.
    Exclamations,
    /// Exclamation marks, each.
    ExclamationMarks,
    /// Question marks, or rows of them.
    Questions,
    /// Question marks, each.
    QuestionMarks,
}

impl Measured {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Characters,
        Self::Words,
        Self::Sentences,
        Self::Lines,
        Self::Items,
        Self::Hashtags,
        Self::Links,
        Self::Mentions,
        Self::Emoji,
        Self::Exclamations,
        Self::ExclamationMarks,
        Self::Questions,
        Self::QuestionMarks,
    ];

    /// Its plural, for a sentence.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Words => "words",
            Self::Sentences => "sentences",
            Self::Lines => "lines",
            Self::Items => "items",
            Self::Hashtags => "hashtags",
            Self::Links => "links",
            Self::Mentions => "mentions",
            Self::Emoji => "emoji",
            Self::Exclamations => "exclamations",
            Self::ExclamationMarks => "exclamation marks",
            Self::Questions => "questions",
            Self::QuestionMarks => "question marks",
        }
    }

    /// Noun for so many of them, in a sentence.
    pub(crate) fn noun(self, number: u64) -> &'static str {
        let plural = self.plural();
        match (number, plural.strip_suffix('s')) {
            (1, Some(singular)) => singular,
            _ => plural,
        }
    }

    /// Its name in a rule such as `maxHashtags`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Characters => "Characters",
            Self::Words => "Words",
            Self::Sentences => "Sentences",
            Self::Lines => "Lines",
            Self::Items => "Items",
            Self::Hashtags => "Hashtags",
            Self::Links => "Links",
            Self::Mentions => "Mentions",
            Self::Emoji => "Emoji",
            Self::Exclamations => "Exclamations",
            Self::ExclamationMarks => "ExclamationMarks",
            Self::Questions => "Questions",
            Self::QuestionMarks => "QuestionMarks",
        }
    }

    /// The one that is meant by this name: as in a rule or in a sentence, in the singular or the plural, whatever the case.
    pub fn named(name: &str) -> Option<Self> {
        let plain = |name: &str| {
            let letters = name.chars().filter(|c| c.is_alphabetic());
            let lower: String = letters.flat_map(char::to_lowercase).collect();
            lower.strip_suffix('s').map(str::to_owned).unwrap_or(lower)
        };
        let wanted = plain(name);
        let is_named = |m: &Self| plain(m.key()) == wanted || plain(m.plural()) == wanted;
        Self::ALL.into_iter().find(is_named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_names() {
        for measured in Measured::ALL {
            assert_eq!(Measured::named(measured.key()), Some(measured));
            assert_eq!(Measured::named(measured.plural()), Some(measured));
        }
        assert_eq!(Measured::named("hashtag"), Some(Measured::Hashtags));
        assert_eq!(Measured::named("EMOJIS"), Some(Measured::Emoji));
        assert_eq!(
            Measured::named("exclamation_marks"),
            Some(Measured::ExclamationMarks)
        );
        assert_eq!(Measured::named("exclamation"), Some(Measured::Exclamations));
        assert_eq!(Measured::named("s"), None);
        assert_eq!(Measured::named(""), None);
    }
}
