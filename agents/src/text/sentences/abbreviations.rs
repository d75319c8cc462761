//! Words that a full stop belongs to without ending a sentence.

/// Titles, which a name follows.
const TITLES: [&str; 12] = [
    "capt", "dr", "frau", "gen", "gov", "hon", "mr", "mrs", "ms", "mx", "prof", "rev",
];

/// Abbreviations with a vowel in them; those without one are known by that.
const OTHERS: [&str; 86] = [
    "abb", "abs", "abt", "al", "anm", "apr", "approx", "apt", "art", "assoc", "aufl", "aug", "ave",
    "az", "beschl", "bros", "ca", "cap", "chap", "cie", "cit", "co", "col", "corp", "dec", "dept",
    "dez", "dist", "ed", "eds", "ehem", "eig", "est", "etc", "evtl", "ex", "excl", "feb", "fig",
    "figs", "geb", "gem", "gest", "inc", "incl", "inkl", "int", "jan", "jun", "kap", "lat", "lib",
    "maj", "mar", "max", "min", "mio", "misc", "mon", "mus", "no", "nos", "nov", "oct", "okt",
    "op", "orig", "pag", "par", "rep", "resp", "sat", "sec", "sen", "sep", "sept", "sig", "sog",
    "st", "str", "sun", "tel", "thu", "usw", "vol", "zus",
];

/// The longest word that may be an abbreviation, in characters.
const LONGEST: usize = 20;

/// Meaning of a full stop after a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The end of a sentence, unless something else says otherwise.
    Ordinary,
    /// A part of the word or an end: `U.S.`, `etc.`, `3.`, `B.`
    Ambiguous,
    /// A part of the word: `Dr.`
    Title,
}

/// Reads the full stop after a word, which comes without it.
pub(super) fn stop_after(word: &str) -> Stop {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    if word.is_empty() || word.chars().count() > LONGEST {
        return Stop::Ordinary;
    }
    let lower = word.to_lowercase();
    if TITLES.contains(&&*lower) {
        return Stop::Title;
    }
    let is_number = word.chars().all(char::is_numeric);
    let is_ordinal = is_number && word.chars().count() <= 2;
    let is_roman = word.chars().all(|c| "IVXLCDM".contains(c));
    let has_stops = word.contains('.') && word.chars().any(char::is_alphabetic);
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let is_without_vowels = lower.chars().count() <= 5
        && lower.chars().all(|c| c.is_ascii_alphabetic())
        && !lower.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let is_known = OTHERS.contains(&&*lower);
    match is_ordinal || is_roman || has_stops || is_letter || is_without_vowels || is_known {
        true => Stop::Ambiguous,
        false => Stop::Ordinary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_stops_of_abbreviations_are_known() {
        for word in ["Dr", "(Prof", "Mrs"] {
            assert_eq!(stop_after(word), Stop::Title, "{word}");
        }
        for word in [
            "U.S", "z.B", "etc", "Nr", "bzw", "3", "XIV", "B", "Inc", "(Abs",
        ] {
            assert_eq!(stop_after(word), Stop::Ambiguous, "{word}");
        }
        for word in ["bread", "2026", "10:00", "3.50", "sky-high", "Zeit", ""] {
            assert_eq!(stop_after(word), Stop::Ordinary, "{word}");
        }
    }
}
