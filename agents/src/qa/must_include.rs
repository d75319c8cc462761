//! Check of texts that a draft has to have word for word.

use serde_json::json;

use super::{
    check::{Check, Issue},
    fix::Fix,
};
use crate::text::{
    folded::{Folded, excerpt},
    parsed::Text,
    phrases::Phrases,
};

/// Weight of all of them together.
const WEIGHT: f64 = 3.0;

/// One check for each text that the draft has to have. Capital and small letters, white space and the form of characters make no
/// difference; a part of a longer word does not count.
pub(super) fn checks(text: &Text, phrases: &Phrases<'_>, wanted: &[String]) -> Vec<Check> {
    let weight = WEIGHT / wanted.len().max(1) as f64;
    let check = |(n, item): (usize, &String)| {
        let name = format!("Includes {}", json!(excerpt(item)));
        let check = Check::new(format!("must_include.{}", n + 1), name, weight)
            .hard()
            .rule();
        if Folded::new(item).as_str().is_empty() {
            return check.not_checked("the text to include has nothing that can be seen");
        }
        match phrases.find(text, item).is_there(text) {
            (Some(true), place) => check.pass(place),
            (Some(false), why) => {
                let wrong = match why.starts_with("only") {
                    true => format!("a required text is missing, it is there {why}"),
                    false => "a required text is missing".to_owned(),
                };
                let issue = Issue::new("must_include", wrong, Fix::Append(item.clone()));
                check.fail(why, issue)
            }
            (None, why) => check.not_checked(why).ask(
                "must_include",
                format!("Does the draft say this word for word? {item}"),
            ),
        }
    };
    wanted.iter().enumerate().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::check::Verdict, *};

    fn check(draft: &str, item: &str) -> Check {
        let text = Text::new(draft);
        let phrases = Phrases::new(&text, None);
        checks(&text, &phrases, &[item.to_owned()]).remove(0)
    }

    /// spec: ORC-10
    #[test]
    fn what_is_there_is_found_and_quoted() {
        let check = check("Hello.\nBook NOW:  today", "book now: Today");
        assert_eq!((check.verdict, check.hard), (Verdict::Pass, true));
        assert_eq!(check.evidence, "line 2: \"Book NOW: today\"");
    }

    /// spec: ORC-10
    #[test]
    fn what_is_missing_can_be_added() {
        let check = check("Book then", "Book \"now\"; today");
        assert_eq!(check.verdict, Verdict::Fail);
        let issue = check.issue.expect("an issue").sentence();
        assert_eq!(
            issue,
            "must_include: a required text is missing; add \"Book \\\"now\\\"; today\"."
        );
        let fix = Fix::Append("Book \"now\"; today".to_owned());
        assert_eq!(Fix::read(&issue), Some(fix));
    }

    #[test]
    fn another_form_is_named_and_another_spelling_is_for_a_reader() {
        let longer = check("Our bakeries", "baker");
        assert_eq!(longer.verdict, Verdict::Fail);
        assert_eq!(
            longer.evidence,
            "only in a longer word or number (line 1: \"bakeries\")"
        );
        let spelled = check("Send an e-mail", "email");
        assert_eq!(spelled.verdict, Verdict::NotChecked, "{}", spelled.evidence);
        assert!(spelled.question.is_some());
    }

    #[test]
    fn links_and_hashtags_can_be_wanted() {
        for item in ["https://a.example/x", "#Sunday", "@ann", "👩‍👩‍👧"] {
            assert_eq!(check(&format!("Text {item}."), item).verdict, Verdict::Pass);
            assert_eq!(check("Text.", item).verdict, Verdict::Fail);
        }
    }

    #[test]
    fn an_invisible_text_is_not_looked_for() {
        assert_eq!(check("a", " \u{200b}").verdict, Verdict::NotChecked);
    }
}
