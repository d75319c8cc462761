//! Check of a draft's language, as far as its letters show it.
//!
//! Languages are named as ISO 639 and BCP 47 do, or in words. None is named here: the standard's tables are in `isolang`, what
//! languages look like in `whatlang`, how their words change in `rust_stemmers`.

use rust_stemmers::{Algorithm, Stemmer};
use serde::Deserialize;
use serde::de::{IntoDeserializer, value};
use serde_json::json;
use whatlang::{Detector, Info, Lang, Script, detect_script};

use super::{
    check::{Check, Issue},
    fix::Fix,
    text::{Text, letters},
};
use crate::sentences;

/// ISO 639-3: for a macrolanguage, the member of it that the detector knows.
const MACROLANGUAGES: &str = include_str!("macrolanguages.csv");

/// Of a language, a script that it is written in and that the detector does not know it by.
const SCRIPTS: &str = include_str!("scripts.csv");

/// Of a language, the endings of its words, by which one word has several forms.
const ENDINGS: &str = include_str!("endings.csv");

/// With fewer letters a script is no evidence: it may be a name.
const FEWEST_OF_A_SCRIPT: usize = 4;

/// With fewer letters any guess is idle.
const FEWEST_LETTERS: usize = 40;

/// With fewer letters a guess speaks for the draft, but not against it.
const ENOUGH_LETTERS: usize = 100;

/// Bytes of a draft that are looked at.
const MOST_BYTES: usize = 20_000;

/// A language, as ISO 639 knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Language(isolang::Language);

impl Language {
    /// The language of a code such as `xx`, `xxx` or `xx-YY`, or of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
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

    fn detected(self) -> Option<Lang> {
        let code = self.0.to_639_3();
        let member = MACROLANGUAGES
            .lines()
            .find_map(|line| line.strip_prefix(code)?.strip_prefix(','));
        Lang::from_code(member.unwrap_or(code))
    }

    /// The endings of its words; none where they are not listed.
    pub(super) fn endings(self) -> Vec<&'static str> {
        let code = self.0.to_639_3();
        let row = ENDINGS
            .lines()
            .find_map(|line| line.strip_prefix(code)?.strip_prefix(','));
        row.map(|row| row.split(',').collect()).unwrap_or_default()
    }

    /// Stemmer of this language's words.
    pub(super) fn stemmer(self) -> Option<Stemmer> {
        let algorithm = |word: &str| {
            let name: value::StrDeserializer<'_, value::Error> = word.into_deserializer();
            Algorithm::deserialize(name).ok()
        };
        let mut words = self.0.to_name().split(|c: char| !c.is_alphabetic());
        words.find_map(algorithm).map(Stemmer::create)
    }
}

/// The language that the draft is surely in.
pub(super) fn of(text: &Text) -> Option<Language> {
    let info = looked_at(text).ok()?;
    let is_sure = info.is_reliable() && has_letters(text, ENOUGH_LETTERS);
    let code = isolang::Language::from_639_3(info.lang().code());
    code.filter(|_| is_sure).map(Language)
}

/// Checks whether the draft is in the language that is wanted.
pub(super) fn check(text: &Text, wanted: &str) -> Check {
    let check = Check::new("language", "Language", 1.5).hard().rule();
    let question = format!(
        "Is the draft in this language, with no word of another that its readers would stumble over? {wanted}"
    );
    let unsure = |why: String| check.clone().not_checked(why).ask("language", question);
    let Some(language) = Language::named(wanted) else {
        return unsure(format!("no program knows the language {}", json!(wanted)));
    };
    let Some(expected) = language.detected() else {
        return unsure(format!(
            "no program here can tell the language {}",
            json!(wanted)
        ));
    };
    if let Some(script) = strange_script(text, expected) {
        let evidence = format!(
            "all letters are {script}; {} is wanted",
            json!(expected.code())
        );
        let wrong = format!("the draft is written in {script} letters");
        let fix = Fix::Language(wanted.to_owned());
        return check.fail(evidence, Issue::new("language", wrong, fix));
    }
    let info = match looked_at(text) {
        Ok(info) => info,
        Err(why) => return unsure(why),
    };
    let found = info.lang();
    let evidence = format!(
        "the letters look like {} with a confidence of {:.2}; {} is wanted",
        json!(found.code()),
        info.confidence(),
        json!(expected.code()),
    );
    if found == expected {
        return match foreign(text, expected) {
            None => check.pass(evidence),
            Some((sentence, other)) => unsure(format!(
                "{evidence}; but a sentence looks like {}: {}",
                json!(other.code()),
                json!(sentence)
            )),
        };
    }
    if !info.is_reliable() {
        return unsure(format!("{evidence}, which is not sure enough"));
    }
    if !has_letters(text, ENOUGH_LETTERS) && !is_surely(text, found, expected) {
        return unsure(format!(
            "{evidence}; fewer than {ENOUGH_LETTERS} letters say too little"
        ));
    }
    let wrong = format!("the draft looks like language {}", json!(found.code()));
    let fix = Fix::Language(wanted.to_owned());
    check.fail(evidence, Issue::new("language", wrong, fix))
}

/// The script of all letters, where the language is never written in it. Any language is written in Latin letters at times.
fn strange_script(text: &Text, expected: Lang) -> Option<Script> {
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
fn foreign(text: &Text, expected: Lang) -> Option<(&str, Lang)> {
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
fn is_surely(text: &Text, found: Lang, expected: Lang) -> bool {
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

fn looked_at(text: &Text) -> Result<Info, String> {
    if !has_letters(text, FEWEST_LETTERS) {
        return Err("the draft is too short to tell its language by its letters".to_owned());
    }
    let prose = text.prose();
    let end = prose.floor_char_boundary(MOST_BYTES);
    whatlang::detect(&prose[..end]).ok_or_else(|| "the draft's letters show no language".to_owned())
}

fn has_letters(text: &Text, fewest: usize) -> bool {
    let mut count = 0;
    text.words().any(|word| {
        count += letters(word);
        count >= fewest
    })
}

#[cfg(test)]
mod tests;
