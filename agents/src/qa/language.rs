//! Check of a draft's language, as far as its letters show it.

use serde_json::json;

use super::{
    check::{Check, Issue},
    fix::Fix,
};
use crate::text::{
    language::{ENOUGH_LETTERS, Language, detect, foreign, has_letters, is_surely, strange_script},
    parsed::Text,
};

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
    let info = match detect(text) {
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

#[cfg(test)]
mod tests;
