//! What can be counted in a text.

/// Something that a text has a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Unicode scalar values, as most platforms count them.
    Characters,
    /// What stands between spaces and has a letter or a digit, outside of links, hashtags and mentions.
    Words,
    /// Sentences by Unicode's rules in which a word begins; a line break ends one.
    Sentences,
    /// Lines with anything on them.
    Lines,
    /// `#word`.
    Hashtags,
    /// Addresses with a scheme, bare domains, and targets of Markdown and HTML links.
    Links,
    /// `@name`.
    Mentions,
    /// Characters that are drawn as pictures; a sequence that is drawn as one counts once.
    Emoji,
    /// Exclamation marks.
    Exclamations,
    /// Question marks.
    Questions,
}

impl Measured {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Characters,
        Self::Words,
        Self::Sentences,
        Self::Lines,
        Self::Hashtags,
        Self::Links,
        Self::Mentions,
        Self::Emoji,
        Self::Exclamations,
        Self::Questions,
    ];

    /// What several of them are called, in a sentence.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Words => "words",
            Self::Sentences => "sentences",
            Self::Lines => "lines",
            Self::Hashtags => "hashtags",
            Self::Links => "links",
            Self::Mentions => "mentions",
            Self::Emoji => "emoji",
            Self::Exclamations => "exclamation marks",
            Self::Questions => "question marks",
        }
    }

    /// What this is called in a rule such as `maxHashtags`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Characters => "Characters",
            Self::Words => "Words",
            Self::Sentences => "Sentences",
            Self::Lines => "Lines",
            Self::Hashtags => "Hashtags",
            Self::Links => "Links",
            Self::Mentions => "Mentions",
            Self::Emoji => "Emoji",
            Self::Exclamations => "Exclamations",
            Self::Questions => "Questions",
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
            Some(Measured::Exclamations)
        );
        assert_eq!(Measured::named("s"), None);
        assert_eq!(Measured::named(""), None);
    }
}
