//! Whether a draft is in the language that is wanted, as far as its letters show it.
//!
//! Languages are named as ISO 639 and BCP 47 do, or in words. None is named here: the standard's tables are in `isolang`, what
//! languages look like in `whatlang`, how their words change in `rust_stemmers`.

use rust_stemmers::{Algorithm, Stemmer};
use serde::Deserialize;
use serde::de::{IntoDeserializer, value};
use serde_json::json;
use whatlang::{Info, Lang, Script, detect_script};

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

    /// What takes the endings off this language's words.
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

/// Whether the draft is in the language that is wanted.
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
    if !has_letters(text, ENOUGH_LETTERS) {
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
mod tests {
    use super::{super::check::Verdict, *};

    const ENGLISH: &str = "The quick brown fox jumps over the lazy dog while the children are watching from the garden, and nobody knows \
                           where the cat has gone this morning.";
    const GERMAN: &str = "Der schnelle braune Fuchs springt über den faulen Hund, während die Kinder aus dem Garten zusehen, und niemand \
                          weiß, wohin die Katze heute Morgen gegangen ist.";

    fn verdict(draft: &str, wanted: &str) -> Verdict {
        check(&Text::new(draft), wanted).verdict
    }

    /// spec: ORC-10
    #[test]
    fn the_language_of_a_text_is_known_by_its_letters() {
        for wanted in ["en", "EN-gb", "en_US", "eng", "english", "English"] {
            assert_eq!(verdict(ENGLISH, wanted), Verdict::Pass, "{wanted}");
        }
        assert_eq!(verdict(GERMAN, "de-AT"), Verdict::Pass);
        let check = check(&Text::new(GERMAN), "en");
        assert_eq!((check.verdict, check.hard), (Verdict::Fail, true));
        let issue = check.issue.expect("an issue").sentence();
        assert_eq!(
            issue,
            "language: the draft looks like language \"deu\"; write in language \"en\"."
        );
    }

    #[test]
    fn a_text_of_two_languages_is_in_neither_for_sure() {
        let mixed = format!("{ENGLISH} {GERMAN}");
        for wanted in ["en", "de"] {
            assert_ne!(verdict(&mixed, wanted), Verdict::Pass, "{wanted}");
        }
        let foreign =
            "Das Treffen ist am Montag im Garten und das Wetter wird wohl ganz gut werden.";
        let hidden = format!("{} {foreign}", format!("{ENGLISH} ").repeat(6));
        let check = check(&Text::new(&hidden), "en");
        assert_eq!(check.verdict, Verdict::NotChecked, "{}", check.evidence);
        let named = "a sentence looks like \"deu\": \"Das Treffen";
        assert!(check.evidence.contains(named), "{}", check.evidence);
    }

    #[test]
    fn members_of_macrolanguages_are_told_by_their_code() {
        let chinese = "我们今天去公园散步然后回家吃饭休息一下".repeat(6);
        assert_eq!(verdict(&chinese, "zh"), Verdict::Pass);
        assert_eq!(verdict(&chinese, "en"), Verdict::Fail);
    }

    #[test]
    fn a_guess_is_no_verdict() {
        assert_eq!(verdict("Hello, my friend!", "de"), Verdict::NotChecked);
        assert_eq!(verdict("", "de"), Verdict::NotChecked);
        assert_eq!(
            verdict(
                &"Anna Berg, Tomas Lindt, Sara Holm, Oskar Wiik. ".repeat(4),
                "pt"
            ),
            Verdict::NotChecked
        );
        assert_eq!(verdict(ENGLISH, "Quenya?"), Verdict::NotChecked);
        assert_eq!(verdict(ENGLISH, ""), Verdict::NotChecked);
        assert_eq!(verdict(&"12345 ".repeat(100), "en"), Verdict::NotChecked);
    }

    /// A short text tells nothing by its words, but it does by its script.
    #[test]
    fn a_text_in_letters_that_a_language_never_has_is_not_in_it() {
        for (draft, wanted, verdict) in [
            ("Приходите завтра!", "de", Verdict::Fail),
            ("明日また来てください。", "en", Verdict::Fail),
            ("Ελάτε αύριο", "ru", Verdict::Fail),
            ("営業時間変更のお知らせ", "ja", Verdict::NotChecked),
            ("営業時間変更", "ja", Verdict::NotChecked),
            ("Добро дошли", "sr", Verdict::NotChecked),
            ("Dobro došli u pekaru", "sr", Verdict::NotChecked),
            ("Gəlin, təzə çörək var", "az", Verdict::NotChecked),
            ("Тәзә чөрәк вар", "az", Verdict::NotChecked),
            ("Konnichiwa, pan desu", "ja", Verdict::NotChecked),
            ("Сири Bakery", "en", Verdict::NotChecked),
            ("Ω 5", "en", Verdict::NotChecked),
        ] {
            let found = super::check(&Text::new(draft), wanted);
            assert_eq!(found.verdict, verdict, "{draft}: {}", found.evidence);
        }
    }

    #[test]
    fn words_lose_their_endings_by_their_language() {
        let stem = |language: &str, word: &str| {
            let stemmer = Language::named(language).and_then(Language::stemmer);
            stemmer.map(|s| s.stem(word).into_owned())
        };
        assert_eq!(stem("en", "guaranteed"), stem("en", "guarantees"));
        assert_eq!(stem("nb", "garantier"), stem("no", "garantien"));
        assert_eq!(stem("ja", "x"), None);
    }
}
