//! Scripts.

/// True if this is a letter of a script that sets no spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    is_han(c)
        || is_kana(c)
        || matches!(c, '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3100}'..='\u{312f}')
            && c.is_alphabetic()
}

/// Chinese characters.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '々' | '〆')
}

/// Japanese syllables.
pub(crate) fn is_kana(c: char) -> bool {
    is_hiragana(c)
        || matches!(c, '\u{30a1}'..='\u{30fa}' | 'ー' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9d}')
}

/// True for letters of Japanese endings and particles.
pub(crate) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_spaces_are_known() {
        assert!("最好ひカーกລကខ".chars().all(is_unspaced));
        assert!(!"aéяא한1。、 ".chars().any(is_unspaced));
    }
}
