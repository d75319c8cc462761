use super::*;
use crate::writer::draft::computed;
use proptest::prelude::*;
use serde_json::{Value, json};

fn brief() -> Value {
    json!({
        "headline": "The river path is open again",
        "keyMessages": [
            "After two years of work, the path along the river is open again, from the old mill to the harbour.",
            "It is lit at night.",
            "Infrastructural considerations necessitated comprehensive reconstruction.",
            "Dogs are welcome on a lead.",
            "Every bench comes from local timber, and every lamp runs on solar power.",
        ],
        "callToAction": "Walk it this Sunday",
    })
}

fn write(mut payload: Value) -> (String, Value) {
    if payload["writerBrief"].is_null() {
        payload["writerBrief"] = brief();
    }
    let draft = computed(&payload)["draft"].take();
    let text = draft["text"].as_str().expect("a text").to_owned();
    (text, draft["metadata"].clone())
}

fn revise(note: &str) -> (String, String) {
    let (before, _) = write(json!({}));
    let (after, _) = write(json!({"previousDraft": {"text": before}, "revisionNotes": [note]}));
    assert_ne!(before, after, "the note changes something: {note}");
    (before, after)
}

/// spec: ORC-2.2, ORC-10
#[test]
fn a_draft_says_what_the_brief_says_in_its_order() {
    let (text, _) = write(json!({}));
    insta::assert_snapshot!(text);
}

/// spec: ORC-10
#[test]
fn what_must_be_included_is_there_word_for_word_within_the_limits_of_the_platform() {
    let must = "Bring a friend; it is free";
    for most in [400, 160, 90] {
        let (text, _) = write(json!({
            "mustInclude": [must, "#RiverPath"],
            "platformRules": {"maxCharacters": most, "maxHashtags": 1, "allowEmoji": false},
        }));
        assert!(text.contains(must) && text.contains("#RiverPath"), "{text}");
        assert!(
            text.chars().count() <= most,
            "{} > {most}: {text}",
            text.chars().count()
        );
    }
}

#[test]
fn where_there_is_room_for_little_a_sentence_is_cut_after_a_word() {
    for most in [12, 17] {
        let rules = json!({ "maxCharacters": most });
        let (text, _) = write(json!({ "platformRules": rules }));
        assert!(
            text.ends_with('…') && text.chars().count() <= most,
            "{text}"
        );
        assert!(text.chars().count() > 5, "{text}");
    }
}

#[test]
fn what_cannot_be_met_is_said() {
    let rules = json!({"maxCharacters": 10, "minHashtags": 40});
    let (_, metadata) =
        write(json!({"mustInclude": ["This has to be said"], "platformRules": rules}));
    let notes = metadata["notes"].to_string();
    assert!(
        notes.contains("at most 10 are wanted") && notes.contains("at least 40 are wanted"),
        "{notes}"
    );
}

/// spec: ORC-2.3
#[test]
fn what_is_left_out_for_a_limit_is_named() {
    let brief = json!({"description": "The ferry sails again.", "facts": ["It sails at nine.", "Dogs are welcome on board."], "keyMessages": ["Come early."]});
    let notes = |most: u64| {
        let rules = json!({ "maxWords": most });
        let (text, metadata) = write(json!({"writerBrief": brief, "platformRules": rules}));
        (text, metadata["notes"].to_string())
    };
    let (text, told) = notes(8);
    for sentence in [
        "It sails at nine",
        "Dogs are welcome on board",
        "Come early",
    ] {
        assert!(
            text.contains(sentence) != told.contains(sentence),
            "{sentence}: {text} {told}"
        );
    }
    assert!(told.contains("left out"), "{told}");
    assert!(!notes(80).1.contains("left out"), "there is room for all");
}

/// spec: ORC-5.2
#[test]
fn each_note_of_a_review_changes_the_draft() {
    let (_, after) = revise("must_include: a required text is missing; add \"Open all night\".");
    assert!(after.contains("Open all night"), "{after}");
    let (_, after) = revise("must_include: one is missing; add one of [\"By bus\", \"By bike\"].");
    assert!(after.contains("By bus"), "{after}");
    let (_, after) = revise("forbidden: something forbidden is said; remove \"dogs\".");
    assert!(!after.to_lowercase().contains("dogs"), "{after}");
    let (_, after) =
        revise("too_long: the draft has 330 characters; keep to at most 200 characters.");
    assert!(after.chars().count() <= 200, "{after}");
    let (_, after) = revise("too_few: the draft has 0 hashtags; keep to at least 2 hashtags.");
    assert_eq!(after.matches('#').count(), 2, "{after}");
    let (before, after) = revise("readability: LIX is 20; bring LIX down to 15.");
    let lix = |text: &str| Measuring::new(text).lix().expect("the formula fits");
    assert!(lix(&after) <= 15.0 && lix(&before) > 15.0, "{after}");
    let (_, after) =
        revise("long_sentence: a sentence has 18 words; keep sentences to at most 14 words.");
    assert!(Measuring::new(&after).longest_sentence() <= 14, "{after}");
}

/// A longer word that begins with a forbidden one may be another word.
#[test]
fn a_sentence_is_not_thrown_away_for_a_mere_beginning() {
    let payload = |language: &str| {
        json!({
            "writerBrief": {"keyMessages": ["Your cargo is safe with us.", "We care for it.", "No cars are needed."]},
            "brandRules": {"forbidden": ["car"]},
            "language": language,
        })
    };
    let (text, metadata) = write(payload("en"));
    assert!(text.contains("cargo") && text.contains("care"), "{text}");
    assert!(!text.contains("cars"), "{text}");
    let notes = metadata["notes"].to_string();
    assert!(notes.contains("1 sentence left out"), "{notes}");
    let (text, _) = write(payload(""));
    assert!(text.contains("cargo") && text.contains("care"), "{text}");
}

#[test]
fn notes_that_nothing_can_be_computed_from_are_told() {
    let (_, metadata) = write(json!({"revisionNotes": ["make it warmer"]}));
    let notes = metadata["notes"].to_string();
    assert!(
        notes.contains("not acted on") && notes.contains("make it warmer"),
        "{notes}"
    );
}

/// spec: ORC-5.2
#[test]
fn knobs_with_a_measure_are_turned() {
    for (measure, low, high) in [
        ("exclamation_share", 0.0, 1.0),
        ("emoji_share", 0.0, 0.6),
        ("sentence_length", 0.1, 0.6),
        ("length", 0.05, 0.3),
    ] {
        let setting = |value: f64| {
            let knobs = json!({"dial": {"value": value, "measure": measure}});
            let (text, metadata) = write(json!({ "knobs": knobs }));
            (
                metadata["knobs"]["dial"].as_f64().expect("it is measured"),
                text,
            )
        };
        let ((lower, _), (higher, text)) = (setting(low), setting(high));
        assert!(lower < higher, "{measure}: {lower} {higher} {text}");
        assert!((higher - high).abs() < 0.25, "{measure}: {higher} {text}");
    }
}

/// spec: ORC-10
#[test]
fn code_keeps_its_lines() {
    let code = "```rust\nfn main() {\n    println!(\"hi\");\n}\n```";
    let brief =
        format!("This prints a line. It is short.\n\n{code}\n\nRun it, and see what happens.");
    for most in [400, 200] {
        let rules = json!({ "maxCharacters": most });
        let (text, _) = write(json!({ "writerBrief": brief, "platformRules": rules }));
        assert!(text.contains(&format!("\n\n{code}\n\nRun it")), "{text}");
    }
    let (text, _) = write(json!({ "writerBrief": {"description": brief} }));
    assert!(text.contains(code), "{text}");
}

/// spec: ORC-5.2
#[test]
fn a_hashtag_is_there_only_if_one_is_asked_for() {
    let rules = json!({"maxHashtags": 3, "minWords": 60});
    let knobs = json!({"pace": {"measure": "sentence_length", "value": 0.9}});
    let (text, _) = write(json!({ "platformRules": rules, "knobs": knobs }));
    assert!(!text.contains('#'), "{text}");
    let (text, _) = write(json!({"platformRules": {"minHashtags": 1}}));
    assert_eq!(text.matches('#').count(), 1, "{text}");
    let knobs = json!({"tags": {"measure": "hashtag_share", "value": 0.5}});
    let (text, _) = write(json!({ "knobs": knobs }));
    assert!(text.contains('#'), "{text}");
}

#[test]
fn a_revision_keeps_what_the_draft_before_said() {
    let previous = "The river path is open again. A sentence of the draft before. #old";
    let (text, _) = write(json!({"previousDraft": previous, "revisionNotes": []}));
    assert!(text.contains("A sentence of the draft before."), "{text}");
    assert!(!text.contains("Dogs") && !text.contains("#old"), "{text}");
}

proptest! {
    #[test]
    fn any_brief_is_survived_and_the_same_brief_gives_the_same_draft(
        words in "\\PC{0,80}", must in "\\PC{0,12}", most in 0u64..200, note in "\\PC{0,40}",
    ) {
        let payload = json!({
            "writerBrief": {"description": words, "knobs": {"k": {"value": 0.3, "measure": "lix"}}},
            "mustInclude": [must],
            "platformRules": {"maxCharacters": most},
            "revisionNotes": [note],
        });
        let draft = computed(&payload);
        prop_assert_eq!(&computed(&payload), &draft);
        let text = draft["draft"]["text"].as_str().expect("a text");
        let can_be_found = Measuring::new(&must).includes(&must);
        prop_assert!(!can_be_found || Measuring::new(text).includes(&must), "{:?} in {:?}", must, text);
    }
}
