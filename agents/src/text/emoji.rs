//! Emoji, and what some readers call one.

use std::sync::LazyLock;

use regex::Regex;
use unicode_properties::{EmojiStatus, GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

/// Faces of punctuation.
const EMOTICON: &str =
    r"(?:^|[\s(])([:;=][-'^o]?[)(DPpO/\\|\[\]*]|[xX]D|<3|\^\^|:'\()(?:$|[\s.,!?)])";

/// Kind of characters that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// An emoji to everybody.
    Emoji,
    /// A sign that is drawn as a picture in some places, or is no emoji to some readers: `☺`, `✓`, `1️⃣`.
    Sign,
    No,
}

/// The kind of these characters. Digits, `#`, `*`, `©`, `®` and `™` are only with the selector that makes them a picture.
pub(crate) fn picture(cluster: &str) -> Picture {
    let is_plain = |c: char| c.is_ascii() || matches!(c, '©' | '®' | '™');
    let has_selector = cluster.contains('\u{fe0f}');
    let Some(first) = cluster.chars().next() else {
        return Picture::No;
    };
    if is_plain(first) {
        let is_made_one = has_selector && first.is_emoji_char();
        return if is_made_one {
            Picture::Sign
        } else {
            Picture::No
        };
    }
    let is_drawn = |c: char| {
        matches!(
            c.emoji_status(),
            EmojiStatus::EmojiPresentation
                | EmojiStatus::EmojiPresentationAndModifierBase
                | EmojiStatus::EmojiPresentationAndEmojiComponent
                | EmojiStatus::EmojiPresentationAndModifierAndEmojiComponent
        )
    };
    let is_text = cluster.contains('\u{fe0e}');
    if !is_text && (cluster.chars().any(is_drawn) || (has_selector && first.is_emoji_char())) {
        return Picture::Emoji;
    }
    let is_sign = |c: char| {
        let is_symbol = c.general_category() == GeneralCategory::OtherSymbol
            && matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}');
        !is_plain(c) && (c.is_emoji_char() || is_symbol)
    };
    match cluster.chars().any(is_sign) {
        true => Picture::Sign,
        false => Picture::No,
    }
}

/// The faces of punctuation in a text, in order.
pub(crate) fn emoticons(text: &str) -> impl Iterator<Item = &str> {
    static EMOTICONS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(EMOTICON).expect("the pattern is a constant that a test compiles")
    });
    let found = EMOTICONS.captures_iter(text);
    found.filter_map(|found| Some(found.get(1)?.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_emoji_to_all_or_to_some() {
        for emoji in ["❤️", "😀", "🐝", "👩‍👩‍👧", "🇩🇪", "👍🏽", "⭐"]
        {
            assert_eq!(picture(emoji), Picture::Emoji, "{emoji}");
        }
        for sign in ["☺", "❤", "☎", "✓", "★", "©️", "1️⃣", "#️⃣"] {
            assert_eq!(picture(sign), Picture::Sign, "{sign}");
        }
        for other in ["1", "#", "*", "©", "®", "™", "→", "é", "€", ""] {
            assert_eq!(picture(other), Picture::No, "{other}");
        }
    }

    #[test]
    fn faces_of_punctuation_are_found() {
        let found: Vec<&str> = emoticons("Come :) or stay ;-), 8 of 10: (no) at 10:3 x)").collect();
        assert_eq!(found, [":)", ";-)"]);
    }
}
