//! A review says no more than was checked.

use serde_json::{Value, json};

use super::{check, reviewed};
use crate::qa::{payload::Payload, report, review::Review};

/// The verdict and the evidence of one check.
fn found<'a>(qa: &'a Value, id: &str) -> (&'a str, &'a str) {
    let check = check(qa, id);
    let text = |field: &str| check[field].as_str().unwrap_or_default();
    (text("verdict"), text("evidence"))
}

fn told(payload: &Value) -> String {
    let payload = Payload::read(payload).expect("a payload");
    let told = report::told(&Review::new(payload).output());
    told.lines().next().unwrap_or_default().to_owned()
}

/// spec: ORC-2.1
#[test]
fn a_forbidden_word_is_found_with_other_endings_wherever_it_is_forbidden() {
    for (language, draft, word) in [
        ("en", "Composts are made of leaves.", "compost"),
        ("en", "We composted it all.", "compost"),
        ("en", "Composting is easy.", "compost"),
        ("en", "Come, gardeners!", "gardener"),
        ("en", "He guaranteed it.", "guarantee"),
        ("de", "Unsere Gärten.", "Gärten"),
    ] {
        let qa = reviewed(&json!({
            "draft": draft, "language": language,
            "acceptanceCriteria": [format!("must not contain \"{word}\""), format!("never mentions \"{word}\"")],
            "brandRules": { "forbidden": [word] },
        }));
        for id in ["criterion.1", "criterion.2", "brand.forbidden.1"] {
            assert_eq!(found(&qa, id).0, "fail", "{id} of {word} in {draft}");
        }
    }
    for (language, draft, word) in [
        ("", "Gartenarbeiten.", "Garten"),
        ("tlh", "Come, gardening!", "garden"),
        ("en", "We take your cargo with care.", "car"),
        ("en", "The cheapest of all.", "cheap"),
        ("en", "Freedom!", "free"),
        ("en", "The harbour opens.", "OPEN"),
    ] {
        let qa = reviewed(&json!({
            "draft": draft, "language": language,
            "acceptanceCriteria": [format!("must not contain \"{word}\"")],
            "brandRules": { "forbidden": [word] },
        }));
        let long = draft
            .split(' ')
            .find(|w| w.to_lowercase().starts_with(&word.to_lowercase()));
        let long = long.expect("a longer word").trim_end_matches(['.', '!']);
        for id in ["criterion.1", "brand.forbidden.1"] {
            let (verdict, evidence) = found(&qa, id);
            assert_eq!(verdict, "not_checked", "{id} of {word} in {draft}");
            assert!(evidence.contains(&format!("{long:?}")), "{evidence}");
        }
    }
    let qa = reviewed(
        &json!({ "draft": "Now it is not.", "acceptanceCriteria": ["must not contain \"no\"", "contains \"it\""] }),
    );
    assert_eq!(
        found(&qa, "criterion.1").0,
        "pass",
        "short words begin too many others"
    );
}

/// spec: ORC-10
#[test]
fn numbers_and_yes_and_no_are_understood_in_strings() {
    let qa = reviewed(&json!({
        "draft": "One two three four 🚀",
        "platformRules": { "maxWords": "3", "minWords": " 4 ", "allowEmoji": "no", "allowLinks": "Yes", "allowHashtags": "FALSE" },
    }));
    let verdicts = [
        "maxWords",
        "minWords",
        "allowEmoji",
        "allowLinks",
        "allowHashtags",
    ]
    .map(|rule| found(&qa, &format!("platform.{rule}")).0);
    assert_eq!(verdicts, ["fail", "pass", "fail", "pass", "pass"]);
}

/// spec: ORC-10
#[test]
fn a_value_of_another_type_is_named_with_what_it_must_be() {
    let qa = reviewed(&json!({
        "draft": "Text",
        "platformRules": { "maxWords": "many", "allowEmoji": 1, "maxLinks": -1, "maxTapePieces": 4 },
        "brandRules": { "forbidden": { "a": 1 } },
    }));
    for (id, evidence) in [
        (
            "platform.maxWords",
            "the value of maxWords is \"many\", which is of the wrong type: it must be a whole number from 0 on",
        ),
        (
            "platform.allowEmoji",
            "the value of allowEmoji is 1, which is of the wrong type: it must be true or false",
        ),
        (
            "platform.maxLinks",
            "the value of maxLinks is -1, which is of the wrong type: it must be a whole number from 0 on",
        ),
        (
            "platform.maxTapePieces",
            "no program knows the rule \"maxTapePieces\"",
        ),
        (
            "brand.forbidden",
            "the value of forbidden is {\"a\":1}, which is of the wrong type: it must be a text or a list of texts",
        ),
    ] {
        assert_eq!(found(&qa, id), ("not_checked", evidence), "{id}");
    }
}

/// spec: ORC-2.1
#[test]
fn what_the_request_asks_for_is_told_from_what_is_always_looked_at() {
    let qa = reviewed(&json!({
        "draft": "Text for the market", "language": "klingon", "mustInclude": ["market"], "clientProfile": { "name": "Ann" },
        "platformRules": { "maxTapePieces": 4 }, "brandRules": { "forbiden": ["dirt"], "forbidden": ["mud"] },
        "knobs": { "warmth": 0.5 }, "maxKnobDistance": 0.1, "acceptanceCriteria": ["is warm"],
    }));
    let checks = qa["checks"].as_array().expect("checks");
    let rules = checks.iter().filter(|check| check["rule"] == true);
    let rules: Vec<&str> = rules.filter_map(|check| check["id"].as_str()).collect();
    let expected = [
        "language",
        "must_include.1",
        "platform.maxTapePieces",
        "brand.forbidden.1",
        "brand.forbiden",
        "profile",
        "criterion.1",
        "knob_distance",
    ];
    assert_eq!(rules, expected);
}

/// A knob that is set is a wish, also where no distance is given.
///
/// spec: ORC-2.1, ORC-2.2
#[test]
fn one_knob_that_is_measured_does_not_stand_for_another_that_is_not() {
    let qa = reviewed(&json!({
        "draft": "Hello. You. There.",
        "knobs": { "asking": { "value": 0, "measure": "question_share" }, "warmth": 0.5, "calm": null },
    }));
    let distance = check(&qa, "knob_distance");
    assert_eq!(
        (&distance["rule"], &distance["verdict"]),
        (&json!(true), &json!("not_checked"))
    );
    let evidence = distance["evidence"].as_str().unwrap_or_default();
    assert!(evidence.contains("1 of 2 knobs was measured"), "{evidence}");
    let none = reviewed(&json!({ "draft": "Hello.", "knobs": { "calm": null } }));
    let checks = none["checks"].as_array().expect("checks");
    assert!(checks.iter().all(|check| check["id"] != "knob_distance"));
}

/// spec: ORC-2.1, ORC-2.3
#[test]
fn readers_and_platform_are_rules_that_no_program_checks() {
    let qa = reviewed(&json!({
        "draft": "Text", "audience": "bakers", "platform": "LinkedIn", "objective": "o", "brief": "Write of bread.",
    }));
    for id in ["audience", "platform", "brief"] {
        let check = check(&qa, id);
        assert_eq!(
            (&check["rule"], &check["verdict"]),
            (&json!(true), &json!("not_checked")),
            "{id}"
        );
    }
}

/// spec: ORC-2.1, ORC-2.3
#[test]
fn what_the_brief_of_a_draft_asks_for_is_checked_or_named() {
    let ids = |more: Value| {
        let mut request = json!({ "draft": "We bake good bread for the whole town, and we sell it at the old mill on Mondays.", "objective": "o" });
        let fields = request.as_object_mut().expect("an object");
        fields.extend(more.as_object().cloned().unwrap_or_default());
        let qa = reviewed(&request);
        let checks = qa["checks"].as_array().cloned().unwrap_or_default();
        let rules = checks.iter().filter(|check| check["rule"] == true);
        let told = rules.map(|check| {
            let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
            (text("id"), text("verdict"))
        });
        told.collect::<Vec<(String, String)>>()
    };
    let pair = |id: &str, verdict: &str| (id.to_owned(), verdict.to_owned());
    let brief = json!({ "writerBrief": {
        "description": "We bake.", "facts": ["It is sold."], "objective": "known", "clientBrief": "b",
        "avoid": ["mill"], "images": ["a loaf"], "none": null, "empty": [],
        "constraints": { "maxCharacters": 20 }, "language": "ja", "mustInclude": ["cake"],
        "platformRules": { "maxWords": 3 }, "brandRules": { "forbidden": ["bread"] }, "knobs": { "warmth": 0.5 },
    } });
    let expected = [
        pair("language", "fail"),
        pair("must_include.1", "fail"),
        pair("platform.maxWords", "fail"),
        pair("brand.forbidden.1", "fail"),
        pair("writerBrief.avoid", "not_checked"),
        pair("writerBrief.images", "not_checked"),
        pair("writerBrief.constraints", "not_checked"),
        pair("knob_distance", "not_checked"),
    ];
    let mut found = ids(brief);
    let mut expected = expected.to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // What the request says as well is checked once, and what it says otherwise is named.
    let both = json!({
        "language": "en", "mustInclude": ["bread"], "clientProfile": { "toneOfVoice": "dry" },
        "writerBrief": { "brief": { "description": "d", "language": "en", "mustInclude": ["bread"], "toneOfVoice": "dry", "clientProfile": { "toneOfVoice": "dry" } } },
    });
    assert_eq!(
        ids(both),
        [
            pair("language", "pass"),
            pair("must_include.1", "pass"),
            pair("profile", "not_checked")
        ]
    );
    let at_odds = json!({
        "language": "en", "platformRules": { "maxWords": 100 },
        "writerBrief": { "language": "de", "platformRules": { "maxWords": 3, "maxLinks": 0 } },
    });
    assert_eq!(
        ids(at_odds),
        [
            pair("language", "pass"),
            pair("platform.maxWords", "pass"),
            pair("platform.maxLinks", "pass"),
            pair("writerBrief.language", "not_checked"),
            pair("writerBrief.platformRules", "not_checked"),
        ]
    );
    assert_eq!(ids(json!({ "writerBrief": "Write of bread." })), []);
}

/// spec: ORC-2.2
#[test]
fn a_distance_that_is_asked_for_is_checked_only_if_every_knob_was_measured() {
    let request = |knobs: Value| json!({ "draft": "Hello. You. There.", "knobs": knobs, "maxKnobDistance": 0.2 });
    let qa = reviewed(&request(json!({
        "asking": { "value": 0, "measure": "question_share" }, "warmth": 0.5, "depth": "high",
    })));
    let (verdict, evidence) = found(&qa, "knob_distance");
    assert_eq!(verdict, "not_checked", "{evidence}");
    assert!(
        evidence.starts_with("1 of 3 knobs was measured"),
        "{evidence}"
    );
    let off = reviewed(&request(
        json!({ "asking": { "value": 1, "measure": "question_share" }, "warmth": 0.5 }),
    ));
    assert_eq!(found(&off, "knob_distance").0, "fail");
    assert_eq!(
        found(&reviewed(&request(json!({}))), "knob_distance").0,
        "not_checked"
    );
}

/// spec: ORC-2.2
#[test]
fn the_page_says_how_much_of_it_was_checked() {
    let some = json!({ "draft": "Come to the market, friends.", "acceptanceCriteria": ["is warm", "contains \"market\""] });
    assert_eq!(
        told(&some),
        "The draft passes as far as it was checked: 4 of 9 checks were made, and 1 of 2 things that were asked for was checked. \
         The score of these is 1.00, and 0.70 is wanted."
    );
    let none =
        json!({ "draft": "Come to the market, friends.", "acceptanceCriteria": ["is warm"] });
    assert_eq!(
        told(&none),
        "The draft does not pass: nothing that was asked for was checked. 3 of 8 checks were made. \
         The score of these is 1.00, and 0.70 is wanted."
    );
    assert_eq!(
        told(&json!({ "draft": "🚀" })),
        "The draft does not pass: nothing was checked but that there is one."
    );
}

/// spec: ORC-2.2
#[test]
fn what_nobody_checked_does_not_pass() {
    for payload in [
        json!({ "draft": "🚀" }),
        json!({ "draft": "Come to the market.", "acceptanceCriteria": ["is warm"] }),
        json!({ "draft": "Come to the market.", "platformRules": { "maxTapePieces": 4 } }),
    ] {
        assert_eq!(reviewed(&payload)["pass"], false, "{payload}");
    }
    let rules = json!({ "draft": "Come to the market.", "platformRules": { "maxTapePieces": 4, "maxWords": 9 } });
    assert_eq!(reviewed(&rules)["pass"], true);
}

/// spec: ORC-10
#[test]
fn words_are_what_stands_between_spaces() {
    for (draft, words) in [
        ("At 10:00 on 4 April by known people", 8),
        ("It's – so to say – 1,000.50", 5),
        ("Ready! Go, e.g. now…", 4),
        ("… – 🚀", 0),
    ] {
        let most = reviewed(
            &json!({ "draft": draft, "acceptanceCriteria": [format!("exactly {words} words")] }),
        );
        assert_eq!(
            found(&most, "criterion.1").0,
            "pass",
            "{draft}: {}",
            found(&most, "criterion.1").1
        );
    }
}

/// spec: ORC-2.1
#[test]
fn a_criterion_of_another_shape_is_refused_with_its_place() {
    for (criterion, why) in [
        (
            json!({ "mentions": "soup" }),
            "acceptanceCriteria[0] has no field `mentions`; it takes `id`, `text`, `check`",
        ),
        (
            json!({ "text": "x", "chekc": {} }),
            "acceptanceCriteria[0] has no field `chekc`; it takes `id`, `text`, `check`",
        ),
        (
            json!({ "text": "x", "check": { "kind": "contains", "valeu": "x" } }),
            "acceptanceCriteria[0].check has no field `valeu`; it takes `kind`, `value`",
        ),
        (
            json!({ "id": "x" }),
            "acceptanceCriteria[0] has neither a `text` nor a `check`",
        ),
        (
            json!(5),
            "acceptanceCriteria[0] is neither a text nor an object",
        ),
    ] {
        let payload = json!({ "draft": "a", "acceptanceCriteria": [criterion] });
        assert_eq!(Payload::read(&payload).err().as_deref(), Some(why));
    }
    let qa = reviewed(&json!({
        "draft": "One two three",
        "acceptanceCriteria": [
            { "text": "at most 2 words", "check": { "kind": "max_words", "value": 5 } },
            { "text": "at most 5 words", "check": { "kind": "max_words", "value": 5 } },
        ],
    }));
    let (verdict, evidence) = found(&qa, "criterion.1");
    assert_eq!(verdict, "not_checked");
    assert!(
        evidence.starts_with("the text and the check contradict each other"),
        "{evidence}"
    );
    assert_eq!(found(&qa, "criterion.2").0, "pass");
}

/// spec: ORC-2.1
#[test]
fn who_speaks_is_a_rule_that_takes_a_model() {
    let profile = json!({"name": "Quay Band", "tone": ["warm"]});
    let qa = reviewed(&json!({"draft": "Come to the quay.", "clientProfile": profile}));
    assert_eq!(check(&qa, "profile")["rule"], true);
    assert_eq!(found(&qa, "profile").0, "not_checked");
}
