//! Languages, and the one that a text is in, as far as its letters show it.
//!
//! Languages are named as ISO 639 and BCP 47 do, or in words. None is named here: the standard's tables are in `isolang`, what
//! languages look like in `whatlang`, how their words change in `rust_stemmers`.

use rust_stemmers::{Algorithm, Stemmer};
use serde::Deserialize;
use serde::de::{IntoDeserializer, value};
use whatlang::{Detector, Info, Lang, Script, detect_script};

use super::{
    parsed::{Text, letters},
    sentences,
};

/// ISO 639-3: for a macrolanguage, the member of it that the detector knows.
const MACROLANGUAGES: &str = include_str!("language/macrolanguages.csv");

/// Of a language, a script that it is written in and that the detector does not know it by.
const SCRIPTS: &str = include_str!("language/scripts.csv");

/// Of a language, the endings of its words, by which one word has several forms.
const ENDINGS: &str = include_str!("language/endings.csv");

/// With fewer letters a script is no evidence: it may be a name.
const FEWEST_OF_A_SCRIPT: usize = 4;

/// With fewer letters any guess is idle.
const FEWEST_LETTERS: usize = 40;

/// With fewer letters a guess speaks for the draft, but not against it.
pub(crate) const ENOUGH_LETTERS: usize = 100;

/// Bytes of a draft that are looked at.
const MOST_BYTES: usize = 20_000;

/// A language, as ISO 639 knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Language(isolang::Language);

impl Language {
    /// The language of a code such as `xx`, `xxx` or `xx-YY`, or of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        let code = name.split(['-', '_']).next().unwrap_or_default();
        let code = code.to_ascii_lowercase();
        let mut words = name.chars();
        let capital = words.next().map(|first| {
            let rest = words.as_str().to_lowercase();
            first.to_uppercase().chain(rest.chars()).collect::<String>()
        });
        isolang::Language::from_639_1(&code)
            .or_else(|| isolang::Language::from_639_3(&code))
            .or_else(|| isolang::Language::from_name(&capital?))
            .map(Self)
    }

    /// The detector's name for it.
    pub(crate) fn detected(self) -> Option<Lang> {
        let code = self.0.to_639_3();
        let member = MACROLANGUAGES
            .lines()
            .find_map(|line| line.strip_prefix(code)?.strip_prefix(','));
        Lang::from_code(member.unwrap_or(code))
    }

    /// The endings of its words; none where they are not listed.
    pub(crate) fn endings(self) -> Vec<&'static str> {
        let code = self.0.to_639_3();
        let row = ENDINGS
            .lines()
            .find_map(|line| line.strip_prefix(code)?.strip_prefix(','));
        row.map(|row| row.split(',').collect()).unwrap_or_default()
    }

    /// Stemmer of this language's words.
    pub(crate) fn stemmer(self) -> Option<Stemmer> {
        let algorithm = |word: &str| {
            let name: value::StrDeserializer<'_, value::Error> = word.into_deserializer();
            Algorithm::deserialize(name).ok()
        };
        let mut words = self.0.to_name().split(|c: char| !c.is_alphabetic());
        words.find_map(algorithm).map(Stemmer::create)
    }
}

/// The language that the draft is surely in.
pub(crate) fn of(text: &Text) -> Option<Language> {
    let info = detect(text).ok()?;
    let is_sure = info.is_reliable() && has_letters(text, ENOUGH_LETTERS);
    let code = isolang::Language::from_639_3(info.lang().code());
    code.filter(|_| is_sure).map(Language)
}

/// The script of all letters, where the language is never written in it. Any language is written in Latin letters at times.
pub(crate) fn strange_script(text: &Text, expected: Lang) -> Option<Script> {
    let prose = text.prose();
    let prose = &prose[..prose.floor_char_boundary(MOST_BYTES)];
    if !has_letters(text, FEWEST_OF_A_SCRIPT) {
        return None;
    }
    let scripts = prose
        .split(|c: char| !c.is_alphabetic())
        .filter_map(detect_script);
    let is_known = |script: Script| {
        let other = format!("{},{}", expected.code(), script.name());
        script == Script::Latin
            || script.langs().contains(&expected)
            || SCRIPTS.lines().any(|line| line == other)
    };
    let mut found = None;
    for script in scripts {
        if is_known(script) {
            return None;
        }
        found = found.or(Some(script));
    }
    found
}

/// A sentence that is long enough to tell, and surely in another language; the text as a whole hides it.
pub(crate) fn foreign(text: &Text, expected: Lang) -> Option<(&str, Lang)> {
    let prose = text.prose();
    let end = prose.floor_char_boundary(MOST_BYTES);
    let sentences = sentences::of(&prose[..end]).into_iter();
    let mut long = sentences.filter(|sentence| letters(sentence) >= FEWEST_LETTERS);
    long.find_map(|sentence| {
        let info = whatlang::detect(sentence)?;
        let is_other = info.is_reliable() && info.lang() != expected;
        is_other.then_some((sentence, info.lang()))
    })
}

/// True if a short text is surely in one language and not in the other: both of its halves are, and between the two there is no doubt.
pub(crate) fn is_surely(text: &Text, found: Lang, expected: Lang) -> bool {
    let words: Vec<&str> = text.words().collect();
    let (first, second) = words.split_at(words.len() / 2);
    let halves = [first.join(" "), second.join(" ")];
    let is_found = |half: &String| whatlang::detect_lang(half) == Some(found);
    let pair = Detector::with_allowlist(vec![found, expected]);
    let is_clear = |part: &String| {
        let info = pair.detect(part);
        info.is_some_and(|info| info.lang() == found && info.is_reliable())
    };
    halves.iter().all(|half| is_found(half) && is_clear(half))
}

/// The detector's finding; else the reason why there is none.
pub(crate) fn detect(text: &Text) -> Result<Info, String> {
    if !has_letters(text, FEWEST_LETTERS) {
        return Err("the draft is too short to tell its language by its letters".to_owned());
    }
    let prose = text.prose();
    let end = prose.floor_char_boundary(MOST_BYTES);
    whatlang::detect(&prose[..end]).ok_or_else(|| "the draft's letters show no language".to_owned())
}

/// True if it has at least so many letters.
pub(crate) fn has_letters(text: &Text, fewest: usize) -> bool {
    let mut count = 0;
    text.words().any(|word| {
        count += letters(word);
        count >= fewest
    })
}
