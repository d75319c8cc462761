//! Words, numbers and endings of criteria that are written in several ways, or nearly understood.

use serde_json::json;

use super::{
    check,
    newcomer::{FAILED, MET, OPEN, hold},
    reviewed,
};

/// spec: ORC-2.1
#[test]
fn words_of_criteria_that_are_nearly_understood() {
    let text = "One two three four. Five six? https://a.example";
    hold(
        "en",
        &[
            ("maximum 5 words", text, FAILED),
            ("no longer than 60 words", text, MET),
            ("not more than twenty words", text, MET),
            ("5 words or fewer", text, FAILED),
            ("under 1,000 characters", text, MET),
            ("at least one link", text, MET),
            ("at most 5 words per sentence", text, OPEN),
            ("at most 280 characters excluding spaces", text, OPEN),
            ("at most 280 characters including spaces", text, MET),
            ("at least 1 question and at least 1 link", text, MET),
            ("at least 1 question and 1 link", text, OPEN),
            ("at least 2 questions and at least 1 link", text, FAILED),
            ("at least 3 characters", text, OPEN),
            ("at most 5 words in the headline", text, OPEN),
            ("contains \"One two.\"", text, OPEN),
            ("MUST have one heading", text, OPEN),
            ("between 60 and 20 words", text, OPEN),
            ("must not mention \"six\" and \"ten\"", text, OPEN),
            ("must not mention \"ten\" or \"six\"", text, FAILED),
            ("must not mention \"ten\" or \"thre\"", text, OPEN),
            ("contains any of \"ten\", \"six\"", text, MET),
            ("contains any of \"ten\", \"fi-ve\"", text, OPEN),
            ("contains \"ten\" and \"fi-ve\"", text, FAILED),
            ("contains \"six\" and \"fi-ve\"", text, OPEN),
        ],
    );
}

/// spec: ORC-2.1
#[test]
fn numbers_with_signs_around_are_written_in_several_ways() {
    let mut rows = Vec::new();
    let draft = "It costs $1000, or 1,000円, or 2.500 €, 3,000kg and 4 000,00 EUR.";
    for phrase in [
        "$1,000",
        "1000円",
        "2500 €",
        "2,500€",
        "3000kg",
        "3000 kg",
        "4.000 EUR",
    ] {
        rows.push((format!("must not contain \"{phrase}\""), OPEN));
        rows.push((format!("contains \"{phrase}\""), OPEN));
    }
    for phrase in ["$100", "$10,000", "100円", "$1,00"] {
        rows.push((format!("must not contain \"{phrase}\""), MET));
        rows.push((format!("contains \"{phrase}\""), FAILED));
    }
    let rows: Vec<_> = rows
        .iter()
        .map(|(rule, verdict)| (&**rule, draft, *verdict))
        .collect();
    hold("en", &rows);
    hold(
        "en",
        &[
            ("must not contain \"$1000\"", "It costs $1,000.50", OPEN),
            ("contains \"$1000\"", "It costs $1,000.50", FAILED),
            ("must not contain \"$150\"", "It costs $1.50", MET),
            ("must not contain \"1000 %\"", "Up by 1,000%", OPEN),
            ("must not contain \"100 guests\"", "In 2100 guests", OPEN),
        ],
    );
    let qa = reviewed(&json!({
        "draft": "Only $1000, or 1,000円.",
        "mustInclude": ["1000円"],
        "brandRules": { "forbidden": ["$1,000", "1000円"] },
    }));
    for id in ["must_include.1", "brand.forbidden.1", "brand.forbidden.2"] {
        assert_eq!(check(&qa, id)["verdict"], OPEN, "{id}");
    }
}

/// spec: ORC-2.1
#[test]
fn forms_that_no_list_of_endings_has() {
    hold(
        "de",
        &[
            (
                "must not contain \"bringen\"",
                "Jeder bringt etwas mit.",
                OPEN,
            ),
            (
                "must not contain \"etwas bringen\"",
                "Wenn er etwas bringt.",
                OPEN,
            ),
            ("contains \"bringen\"", "Jeder bringt etwas mit.", FAILED),
            (
                "must not contain \"Unterschrift\"",
                "Das Unternehmen wächst.",
                MET,
            ),
            ("must not contain \"Mueller\"", "Herr Müller kommt.", OPEN),
            ("must not contain \"Müller\"", "Herr Mueller kommt.", OPEN),
            ("contains \"Müller\"", "Herr Mueller kommt.", OPEN),
        ],
    );
    hold(
        "en",
        &[
            ("must not contain \"write\"", "It is written.", OPEN),
            ("must not contain \"color\"", "In every colour.", OPEN),
            ("must not contain \"organize\"", "We organise it.", OPEN),
            ("must not contain \"thanks\"", "More than bread.", OPEN),
            ("must not contain \"guarantee\"", "We guard it.", MET),
            ("must not contain \"contract\"", "Contact us.", MET),
        ],
    );
    let payload = json!({ "draft": "Er geht.", "language": "de", "acceptanceCriteria": ["must not contain \"geben\""] });
    let qa = reviewed(&payload);
    let evidence = &check(&qa, "criterion.1")["evidence"];
    let evidence = evidence.as_str().expect("evidence");
    assert!(evidence.contains("by their endings alone"), "{evidence}");
}
