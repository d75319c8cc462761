//! Criteria and rules of people with subjects of their own, chosen to mislead: none is met, or not met, that a reasonable reader would see
//! otherwise.

use serde_json::{Value, json};

use super::{check, reviewed};

pub(super) const MET: &str = "pass";
pub(super) const FAILED: &str = "fail";
pub(super) const OPEN: &str = "not_checked";

#[track_caller]
pub(super) fn hold(language: &str, rows: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (criterion, draft, expected) in rows {
        let payload =
            json!({ "draft": draft, "language": language, "acceptanceCriteria": [criterion] });
        let qa = reviewed(&payload);
        let found = check(&qa, "criterion.1");
        if found["verdict"] != *expected {
            let evidence = &found["evidence"];
            wrong.push(format!(
                "{criterion} of {draft:?}: {}, not {expected}: {evidence}",
                found["verdict"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// spec: ORC-2.1
#[test]
fn a_bakery() {
    hold(
        "en",
        &[
            (
                "at most 3 sentences",
                "We bake rye bread. We bake it daily.",
                MET,
            ),
            (
                "exactly 2 sentences",
                "We bake rye bread. We bake it daily.",
                MET,
            ),
            (
                "at least 4 sentences",
                "Fresh bread for\nall of you who\nget up early and\ncome by.",
                OPEN,
            ),
            (
                "at most 1 sentence",
                "Fresh bread for\nall of you who\nget up early and\ncome by.",
                OPEN,
            ),
            (
                "at least 5 sentences",
                "Fresh bread for\nall of you who\nget up early and\ncome by.",
                FAILED,
            ),
            (
                "exactly 1 sentence",
                "“Come!” says our baker, Dr. Ada Moss.",
                OPEN,
            ),
            (
                "at least 2 sentences",
                "We baked for the U.S. Embassy.",
                OPEN,
            ),
            (
                "at least 3 sentences",
                "We baked for the U.S. Embassy.",
                FAILED,
            ),
            ("exactly 3 sentences", "- rye\n- wheat\n- spelt", OPEN),
            (
                "exactly 3 sentences",
                "- Rye is here.\n- Wheat is here.\n- Spelt is here.",
                MET,
            ),
            (
                "fewer than 2 sentences",
                "Bread… and more bread… and cake.",
                OPEN,
            ),
            (
                "at most 2 sentences",
                "Our bakery\n\nWe bake bread. Come in.",
                OPEN,
            ),
            (
                "between 2 and 3 sentences",
                "Our bakery\n\nWe bake bread. Come in.",
                MET,
            ),
            (
                "at most 2 sentences",
                "We bake bread 🍞 Come by 🎉 It is warm",
                OPEN,
            ),
            ("exactly 5 words", "Sour-dough bread, baked and sold", OPEN),
            ("at most 6 words", "Sour-dough bread, baked and sold", MET),
            (
                "at most 4 words",
                "Sour-dough bread, baked and sold",
                FAILED,
            ),
            ("exactly 3 words", "bread and/or cake", OPEN),
            ("at most 4 words", "We bake #bread #daily for you", OPEN),
            ("exactly 4 words", "It costs 1,000.50 today", MET),
            ("contains \"1,000\"", "It costs 1,000.50 today", FAILED),
            ("contains \"1,000\"", "It costs 1000 today", OPEN),
            ("must not contain \"5\"", "It costs 5.50", OPEN),
            ("must not contain \"5\"", "It costs 15", MET),
            ("must not contain \"car\"", "We care for your cargo", OPEN),
            ("must not contain \"car\"", "We have two cars", FAILED),
            ("must not contain \"car\"", "We have a scar", OPEN),
            (
                "must not use the word \"cheap\"",
                "The cheapest bread",
                OPEN,
            ),
            ("must mention \"baker\"", "Our bakery", FAILED),
            ("must mention \"email\"", "Send us an e-mail", OPEN),
            ("must not mention \"e-mail\"", "Send us an email", OPEN),
            ("must mention \"rye bread\"", "Come for rye-bread", OPEN),
            ("must not mention \"US\"", "Come and join us", OPEN),
            ("must not mention \"IT\"", "Taste it", OPEN),
            ("ends with \"Come by\"", "We bake. Come by!", OPEN),
            ("ends with \"Come by.\"", "We bake. Come by.", MET),
            ("ends with \"Come\"", "We bake. Come by!", FAILED),
            ("starts with \"Fresh\"", "“Fresh” is our bread", OPEN),
            ("starts with \"Fresh\"", "Freshly baked", FAILED),
            ("no emoji", "We love bread ☺", OPEN),
            ("no emoji", "We love bread 🍞", FAILED),
            ("no emoji", "We love bread :)", OPEN),
            ("no emoji", "Rye™ for 5 © €", MET),
            ("at least 1 hashtag", "We are #1 in town", OPEN),
            ("no hashtags", "We bake in C# major", MET),
            ("no mentions", "Open @ 5 pm, write to a@b.example", MET),
            ("at least one mention", "Open @5pm", OPEN),
            ("at least one link", "See baeckerei.berlin", OPEN),
            ("no links", "We open on Monday.Come by", OPEN),
            ("at least one link", "See baeckerei.example", MET),
            ("no links", "Write to moss@baeckerei.example", MET),
            ("at most 1 question", "Hungry?? Come by.", OPEN),
            ("at most 1 question mark", "Hungry?? Come by.", FAILED),
            ("no exclamation marks", "Come by‼", OPEN),
            ("at most 10 characters long", "Brot 🍞🍞🍞", OPEN),
            ("at most 8 characters long", "Brot\n", MET),
        ],
    );
}

/// spec: ORC-2.1
#[test]
fn a_court_notice_in_german() {
    hold(
        "de",
        &[
            (
                "at most 1 sentence",
                "Die Verhandlung ist am 3. Mai um 9 Uhr.",
                OPEN,
            ),
            (
                "at most 2 sentences",
                "Die Verhandlung ist am 3. Mai um 9 Uhr.",
                MET,
            ),
            (
                "exactly 1 sentence",
                "Gem. § 5 Abs. 1 Satz 2 wird geladen.",
                OPEN,
            ),
            (
                "exactly 2 sentences",
                "Das Urteil erging 2026. Es ist rechtskräftig.",
                MET,
            ),
            ("contains \"Urteil\"", "Das Urteilsdatum fehlt.", FAILED),
            (
                "must not contain \"Arbeit\"",
                "Die Gartenarbeit ruht.",
                OPEN,
            ),
            (
                "must not contain \"Straße\"",
                "HAUPTSTRASSE 5, Strasse gesperrt",
                OPEN,
            ),
            ("must not contain \"Maße\"", "Die Masse zählt.", OPEN),
            ("contains „Az. 3“", "Unser Az. 3 C 12/26", MET),
            (
                "at least 10 words",
                "Az. 3 C 12/26: Die Verhandlung der/des Beteiligten entfällt.",
                OPEN,
            ),
            ("must not contain \"Frist\"", "Die Fristen laufen.", FAILED),
        ],
    );
}

/// spec: ORC-2.1
#[test]
fn a_product_in_japanese_and_other_scripts() {
    hold(
        "ja",
        &[
            (
                "at most 5 words",
                "焼きたてのパンを毎日お届けします。",
                OPEN,
            ),
            ("at least 1 word", "焼きたてのパンを毎日お届けします。", MET),
            (
                "at most 20 words",
                "焼きたてのパンを毎日お届けします。",
                MET,
            ),
            (
                "at least 50 words",
                "焼きたてのパンを毎日お届けします。",
                FAILED,
            ),
            ("exactly 2 sentences", "焼きたてです。ぜひどうぞ！", MET),
            ("exactly 1 sentence", "「来て。」と言いました。", OPEN),
            ("contains \"京都\"", "東京都で焼いています。", OPEN),
            ("contains \"京都\"", "京都で焼いています。", MET),
            ("must not contain \"パン\"", "メロンパンです。", OPEN),
            ("must not contain \"パン\"", "ケーキです。", MET),
            (
                "exactly 17 characters",
                "焼きたてのパンを毎日お届けします。",
                MET,
            ),
            (
                "LIX at most 30",
                "焼きたて の パン を 毎日 お届け します 。 ぜひ 来て ください 。 待って います ね 。",
                OPEN,
            ),
        ],
    );
    hold(
        "th",
        &[
            ("exactly 1 sentence", "ขนมปังสดใหม่ทุกวัน มาเลย", OPEN),
            ("exactly 2 words", "ขนมปังสดใหม่ทุกวัน มาเลย", OPEN),
        ],
    );
    hold(
        "fr",
        &[
            ("exactly 3 words", "l'eau de source", OPEN),
            ("at most 4 words", "l'eau de source", MET),
        ],
    );
}

/// spec: ORC-2.1
#[test]
fn a_poem() {
    let poem = "the oven hums,\nthe night is long,\n\nthe bread will rise,\nthe day be strong";
    hold(
        "en",
        &[
            ("exactly 4 lines", poem, OPEN),
            ("at least 4 lines", poem, MET),
            ("at most 5 lines", poem, MET),
            ("exactly 1 sentence", poem, OPEN),
            ("at least 5 sentences", poem, FAILED),
            ("exactly 15 words", poem, MET),
            ("contains \"long the bread\"", poem, FAILED),
            ("must not contain \"rise the day\"", poem, MET),
        ],
    );
}

/// spec: ORC-2.1
#[test]
fn release_notes_with_code() {
    let notes = "## 1.2.0\n\nRun `curl -s https://a.example?x=1` first!\n\n```sh\n# install\necho \"Done!\" @here #now\n```\n\nSee README.md.";
    hold(
        "en",
        &[
            ("no links", notes, OPEN),
            ("no hashtags", notes, OPEN),
            ("no mentions", notes, OPEN),
            ("no questions", notes, MET),
            ("at most 1 exclamation mark", notes, OPEN),
            ("at least 1 exclamation mark", notes, MET),
            ("at most 8 words", notes, OPEN),
            ("at most 40 words", notes, MET),
            ("exactly 2 sentences", notes, OPEN),
            ("must not contain \"1.2\"", notes, OPEN),
            ("contains \"1.2.0\"", notes, MET),
        ],
    );
}

/// spec: ORC-10
#[test]
fn rules_of_platforms_and_brands_and_knobs_are_held_to_the_same() {
    let draft = "Our bakery\n\nWe care for well-known cargo at baeckerei.berlin ☺";
    let qa = reviewed(&json!({
        "draft": draft,
        "language": "en",
        "mustInclude": ["bakery", "baker", "cafe", "well known"],
        "platformRules": {
            "maxSentences": 1, "maxWords": 9, "allowEmoji": false, "maxLinks": 0, "minLinks": 2, "maxHashtags": 0, "maxLines": 3,
        },
        "brandRules": { "forbidden": ["car", "cheap", "know"] },
        "knobs": { "pace": { "value": 1, "measure": { "kind": "sentence_length", "from": 5, "to": 10 } } },
    }));
    let verdicts = |ids: &[&str]| -> Vec<Value> {
        ids.iter()
            .map(|id| check(&qa, id)["verdict"].clone())
            .collect()
    };
    assert_eq!(
        verdicts(&[
            "must_include.1",
            "must_include.2",
            "must_include.3",
            "must_include.4"
        ]),
        [MET, FAILED, FAILED, OPEN]
    );
    let rules = ["Sentences", "Words", "Links", "Hashtags", "Lines"];
    let rules = rules.map(|rule| check(&qa, &format!("platform.max{rule}"))["verdict"].clone());
    assert_eq!(rules, [OPEN, OPEN, OPEN, MET, MET], "{qa:#}");
    assert_eq!(
        verdicts(&["platform.allowEmoji", "platform.minLinks"]),
        [OPEN, FAILED]
    );
    assert_eq!(
        verdicts(&[
            "brand.forbidden.1",
            "brand.forbidden.2",
            "brand.forbidden.3"
        ]),
        [OPEN, MET, OPEN]
    );
    assert_eq!(verdicts(&["knob_distance"]), [OPEN]);
}

/// A model is asked for what depends on how a text is read, and decides it.
///
/// spec: ORC-2.2
#[test]
fn what_code_leaves_open_is_a_models() {
    let payload = json!({
        "draft": "We care for your cargo at the U.S. Embassy.",
        "mustInclude": ["e-mbassy"],
        "platformRules": { "maxSentences": 1 },
        "brandRules": { "forbidden": ["car"] },
        "acceptanceCriteria": ["at most 1 sentence", "must not contain \"car\""],
    });
    let payload = crate::qa::payload::Payload::read(&payload).expect("a payload");
    let mut review = crate::qa::review::Review::new(payload);
    let questions = review.questions();
    let asked = questions["questions"].as_array().expect("questions");
    let ids: Vec<&str> = asked.iter().filter_map(|q| q["id"].as_str()).collect();
    for id in [
        "must_include.1",
        "platform.maxSentences",
        "brand.forbidden.1",
        "criterion.1",
        "criterion.2",
    ] {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
    let verdict = json!({ "id": "criterion.2", "verdict": "pass", "score": 1, "quote": "cargo", "reason": "Another word.", "advice": "" });
    review
        .judge(json!({ "verdicts": [verdict], "knobs": [] }))
        .expect("it can be used");
    let qa = &review.output()["qa"];
    let found = check(qa, "criterion.2");
    assert_eq!(
        (&found["verdict"], &found["by"]),
        (&json!("pass"), &json!("model"))
    );
}
