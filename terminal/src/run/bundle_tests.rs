//! Bundles as people read them, and their exit codes.

use serde_json::json;

use super::*;

fn bundle(met: bool) -> Value {
    json!({
        "result": {
            "post": "Meet us in May.\n\nBring a friend.\n",
            "schedule": [{"when": "2027-05-03", "what": "teaser"}, {"when": "2027-05-10", "what": "post"}],
        },
        "quality": {
            "score": 0.864, "threshold": 0.7, "met": met, "depth": 2, "executionDepth": 3,
            "issues": if met { json!([]) } else { json!(["too long", "no date"]) },
            "summary": "Planned, written, reviewed twice.",
            "explanation": if met { Value::Null } else { json!("`says when` is not fulfilled") },
        },
        "acceptance-report": [
            {"criterion": "says when", "verdict": "pass", "evidence": "\"in May\" at character 9"},
            {"criterion": "is at most 280 characters long, links included", "verdict": if met { "pass" } else { "fail" },
             "evidence": "it has 312 characters, which is 32 more than the 280 that the criterion allows"},
            {"criterion": "sounds friendly", "verdict": if met { "pass" } else { "not_checked" }, "evidence": "this needs a model"},
        ],
    })
}

/// spec: ORC-2.4
#[test]
fn a_bundle_is_readable() {
    let shown = |bundle: Value, width| {
        let Parts {
            data,
            result,
            report,
        } = parts(&bundle, width);
        format!("{data}\n------\n{result}\n------\n{report}")
    };
    let shown = [
        shown(bundle(true), 100),
        shown(bundle(false), 72),
        shown(unchecked(), 100),
    ];
    insta::assert_snapshot!(shown.join("\n\n======\n\n"));
}

/// A bundle whose criteria are met as far as anybody checked them.
fn unchecked() -> Value {
    json!({
        "result": {"post": "Meet us in May."},
        "quality": {
            "score": 0.95, "threshold": 0.7, "met": false, "depth": 1, "executionDepth": 3,
            "notJudged": ["It is funny.", "It rhymes.", "Objective fit", "Clear at first reading"],
            "standIns": [{"agent": "writer", "phase": "generation"}, {"agent": "qa", "phase": "qa"}],
            "explanation": "1 of 3 criteria is met; nobody checked `It is funny.`, `It rhymes.`",
        },
        "acceptance-report": [
            {"criterion": "says when", "verdict": "pass", "evidence": "line 1"},
            {"criterion": "It is funny.", "verdict": "not_checked", "evidence": "this needs a model"},
            {"criterion": "It rhymes.", "verdict": "not_checked", "evidence": "this needs a model"},
        ],
    })
}

/// spec: ORC-2.1
#[test]
fn what_nobody_checked_stands_in_the_first_line_and_is_not_met() {
    let report = parts(&unchecked(), 100).report;
    let first = report.lines().next();
    assert_eq!(
        first,
        Some(
            "verdict  1 of 3 criteria is met; nobody checked \"It is funny.\", \"It rhymes.\": this is the best there is"
        )
    );
    assert_eq!(Verdict::of(&unchecked()).code(), 3);
    // Older journals have bundles that call such a result met.
    let mut older = unchecked();
    older["quality"]["met"] = true.into();
    assert_eq!(Verdict::of(&older).code(), 3);
    assert!(
        !parts(&older, 100)
            .report
            .contains("all constraints are met")
    );
}

/// spec: ORC-2.3, ORC-2.4
#[test]
fn wishes_that_the_result_passes_over_are_named_first_and_not_met() {
    let first = |bundle: &Value| parts(bundle, 100).report.lines().next().map(str::to_owned);
    let report = json!([{"criterion": "c", "verdict": "pass", "evidence": "1"}]);
    let bundle = |field: &str, value: Value, report: &Value| {
        // Also of a bundle that calls itself met.
        let mut bundle = json!({"result": {"post": "Hi"}, "quality": {"met": true, "score": 0.9, "threshold": 0.7}, "acceptance-report": report});
        bundle["quality"][field] = value;
        bundle
    };
    for (field, value, words) in [
        (
            "notHandedOn",
            json!(["clientBrief.tone"]),
            "nobody was handed \"clientBrief.tone\"",
        ),
        (
            "replaced",
            json!(["strategy (by plan)"]),
            "replaced: \"strategy (by plan)\"",
        ),
        (
            "leftAside",
            json!(["writer says of draft: warmer"]),
            "writer says of draft: warmer",
        ),
    ] {
        let held = bundle(field, value.clone(), &report);
        assert_eq!(Verdict::of(&held).code(), 3, "{field}");
        let expected =
            format!("verdict  1 of 1 criteria is met; {words}: this is the best there is");
        assert_eq!(first(&held), Some(expected));
        let loose = bundle(field, value, &json!([]));
        assert_eq!(Verdict::of(&loose).code(), 3, "{field}");
        let expected =
            format!("verdict  no criteria were given; {words}: this is the best there is");
        assert_eq!(first(&loose), Some(expected));
    }
}

/// spec: ORC-2.4
#[test]
fn what_nobody_reviewed_is_not_said_to_be_not_met() {
    let gap = "the output of schedule was not reviewed";
    let mut bundle = json!({"result": {"post": "Hi"}, "quality": {"met": false, "score": 0.9, "threshold": 0.7,
        "notReviewed": gap, "explanation": gap},
        "acceptance-report": [{"criterion": "c", "verdict": "pass", "evidence": "1"}]});
    let told = |bundle: &Value| parts(bundle, 100).report;
    let first = |told: &str| told.lines().next().map(str::to_owned);
    let part = format!(
        "verdict  1 of 1 criteria is met as far as anything was reviewed; {gap}: this is the best there is"
    );
    assert_eq!(first(&told(&bundle)), Some(part));
    assert!(!told(&bundle).contains("because"), "it is said already");
    bundle["acceptance-report"] = json!([]);
    bundle["quality"]["notReviewed"] = json!("nothing was reviewed");
    let nothing = "verdict  nothing was reviewed: this is the best there is";
    assert_eq!(first(&told(&bundle)).as_deref(), Some(nothing));
    assert_eq!(Verdict::of(&bundle).code(), 3);
}

/// spec: ORC-2.4
#[test]
fn where_nothing_was_made_nothing_is_called_met() {
    let bundle = json!({"result": null, "quality": {"met": false, "made": false, "score": 0.9, "threshold": 0.7},
        "acceptance-report": [{"criterion": "says when", "verdict": "pass", "evidence": "1"}]});
    let report = parts(&bundle, 100).report;
    assert!(report.starts_with("verdict  nothing was made"), "{report}");
    assert!(!report.contains("met"), "{report}");
    assert!(
        report.contains("quality  no score, as nothing was made"),
        "{report}"
    );
    assert_eq!(Verdict::of(&bundle).code(), 1);
}

/// The reason is not told again where the verdict is all of it.
///
/// spec: ORC-2.4
#[test]
fn an_explanation_that_the_verdict_is_is_told_once() {
    let mut bundle = json!({"result": {"post": "Hi"}, "quality": {"met": false, "score": 0.9, "threshold": 0.7,
        "leftAside": ["writer says of draft: warmer"], "explanation": "writer says of draft: warmer"}, "acceptance-report": []});
    let told = |bundle: &Value| parts(bundle, 100).report.contains("because");
    assert!(!told(&bundle));
    bundle["quality"]["explanation"] =
        json!("the score 0.50 of review is below 0.70; writer says of draft: warmer");
    assert!(told(&bundle));
}

/// spec: ORC-2.1
#[test]
fn where_nothing_was_asked_for_nothing_is_called_met() {
    let first = |bundle: &Value| parts(bundle, 100).report.lines().next().map(str::to_owned);
    let mut bundle = json!({"result": {"post": "Hi"}, "quality": {"met": true, "score": 0.9, "threshold": 0.7}, "acceptance-report": []});
    assert_eq!(
        first(&bundle).as_deref(),
        Some(
            "verdict  no criteria were given, and the objective's own words were not checked as criteria; the review lets it pass: this is the best there is"
        )
    );
    bundle["quality"]["reviews"] =
        json!([{"checks": [{"name": "Draft", "hard": true, "rule": false, "verdict": "pass"}]}]);
    let always_checked = first(&bundle).unwrap_or_default();
    assert!(
        always_checked.starts_with("verdict  no criteria were given"),
        "{always_checked}"
    );
    bundle["quality"]["notTaken"] = json!(["tone"]);
    let ignored = first(&bundle).unwrap_or_default();
    assert!(
        ignored.ends_with("but nobody took payload.tone: this is the best there is"),
        "{ignored}"
    );
    assert_eq!(Verdict::of(&bundle).code(), 3, "nothing was checked");
    bundle["quality"]["reviews"] =
        json!([{"checks": [{"name": "Language", "hard": true, "verdict": "pass"}]}]);
    assert_eq!(
        Verdict::of(&bundle).code(),
        3,
        "a part of the payload is unused"
    );
    bundle["quality"]["notTaken"] = json!([]);
    assert_eq!(Verdict::of(&bundle).code(), 0);
    let ruled = first(&bundle).unwrap_or_default();
    assert!(
        ruled.starts_with(
            "verdict  all constraints are met; the objective's own words were not checked as criteria"
        ),
        "{ruled}"
    );
}

/// spec: ORC-2.1, ORC-11.3
#[test]
fn a_later_round_that_nobody_reviewed_stands_in_the_first_line() {
    let mut bundle = self::bundle(true);
    bundle["quality"]["unreviewed"] = json!(["make-2"]);
    let report = parts(&bundle, 100).report;
    let first = report.lines().next().unwrap_or_default();
    assert!(
        first.ends_with("; a later one was made (make-2), and nobody reviewed it"),
        "{first}"
    );
    assert_eq!(Verdict::of(&bundle).code(), 0, "the result itself is met");
}

/// spec: ORC-2.1
#[test]
fn rules_that_are_not_kept_stand_in_the_first_line() {
    let mut bundle = self::bundle(true);
    bundle["acceptance-report"] = json!([]);
    bundle["quality"]["met"] = false.into();
    bundle["quality"]["notKept"] = json!(["Short"]);
    let first = parts(&bundle, 100).report;
    assert!(
        first.starts_with("verdict  not kept: \"Short\": this is the best there is"),
        "{first}"
    );
    assert_eq!(Verdict::of(&bundle).code(), 3);
}

/// spec: ORC-2.1
#[test]
fn rules_that_nobody_checked_stand_in_the_first_line() {
    let mut bundle = unchecked();
    bundle["quality"]["unchecked"] = json!(["Platform rule a: 4", "Objective fit"]);
    let first = |bundle: &Value| parts(bundle, 100).report.lines().next().map(str::to_owned);
    assert_eq!(
        first(&bundle).as_deref(),
        Some(
            "verdict  1 of 3 criteria is met; nobody checked \"It is funny.\", \"It rhymes.\"; nobody checked 2 rules: \
             \"Platform rule a: 4\", \"Objective fit\": this is the best there is"
        )
    );
    let report = parts(&bundle, 100).report;
    assert!(
        report.contains("not judged: Clear at first reading"),
        "{report}"
    );
    let mut alone = self::bundle(true);
    alone["quality"]["met"] = false.into();
    alone["quality"]["unchecked"] = json!(["Platform rule a: 4"]);
    alone["quality"]["explanation"] = "nobody checked 1 rule: `Platform rule a: 4`".into();
    alone["acceptance-report"] = json!([]);
    assert_eq!(
        first(&alone).as_deref(),
        Some("verdict  nobody checked 1 rule: \"Platform rule a: 4\": this is the best there is")
    );
    assert!(!parts(&alone, 100).report.contains("because"));
    assert_eq!(Verdict::of(&alone).code(), 3);
}

/// spec: ORC-11.3
#[test]
fn where_nothing_was_made_there_is_no_result_and_a_reason() {
    let bundle = json!({
        "result": {"brief": "Write it.", "strategy": {"a": 1}},
        "quality": {"met": false, "made": false, "threshold": 0.7, "explanation": "step write came to nothing: the draft is empty"},
        "acceptance-report": [],
    });
    assert_eq!(Verdict::of(&bundle).code(), 1);
    let Parts {
        data,
        result,
        report,
    } = parts(&bundle, 80);
    assert_eq!(result, "");
    assert!(
        data.contains("Write it.") && data.contains("a: 1"),
        "{data}"
    );
    assert!(
        report.starts_with("verdict  nothing was made\n"),
        "{report}"
    );
    assert!(
        report.contains("because  step write came to nothing: the draft is empty"),
        "{report}"
    );
}

/// spec: ORC-2.3
#[test]
fn what_of_the_payload_nobody_took_is_named() {
    let mut bundle = bundle(true);
    bundle["quality"]["notTaken"] = json!(["wordLimit", "colour"]);
    let report = parts(&bundle, 80).report;
    assert!(
        report.contains("nobody took payload.wordLimit, payload.colour"),
        "{report}"
    );
}

/// spec: ORC-2.4
#[test]
fn a_text_that_is_the_result_stands_alone() {
    let result =
        json!({"result": {"draft": {"text": "Hello.\n", "metadata": {"n": 1}}, "plan": {"a": 1}}});
    let Parts { data, result, .. } = parts(&result, 80);
    assert_eq!(result, "Hello.");
    assert_eq!(data, "── plan\na: 1\n\n── draft\nmetadata:\n  n: 1");
    let two = json!({"result": {"a": "One.", "b": "Two."}});
    assert_eq!(parts(&two, 80).result, "── a\nOne.\n\n── b\nTwo.");
    let none = json!({"result": {"items": (0..40).collect::<Vec<u32>>()}});
    let Parts { data, result, .. } = parts(&none, 80);
    assert_eq!((&*data, result.lines().count()), ("", 41), "{result}");
}

/// spec: ORC-2.4
#[test]
fn texts_are_whole_and_of_data_beside_them_there_is_the_beginning() {
    let result = json!({"result": {
        "draft": {"text": "Hello.\n", "metadata": {"notes": [], "knobs": {"warmth": 0.5}}},
        "analysis": {"items": (0..40).collect::<Vec<u32>>(), "gap": null},
        "title": "Hi",
    }});
    let Parts { data, result, .. } = parts(&result, 80);
    let shown: Vec<&str> = data.split("── ").collect();
    assert!(shown[1].starts_with("analysis\nitems:\n  - 0\n"), "{data}");
    assert!(shown[1].contains("… (29 lines more"), "{data}");
    assert_eq!(shown[2], "draft\nmetadata:\n  knobs:\n    warmth: 0.5");
    assert_eq!(result, "── draft\nHello.\n\n── title\nHi");
    let nothing = parts(&json!({"result": {"x": {}}}), 80);
    assert_eq!((&*nothing.result, &*nothing.data), ("", NOTHING));
}

/// spec: ORC-3.1
#[test]
fn a_chat_s_result_is_its_message() {
    let chat = json!({"message": "Good \u{1b}[2Jday"});
    assert_eq!(parts(&chat, 80).result, "Good [2Jday");
    assert_eq!(parts(&chat, 80).report, "");
    assert_eq!(Verdict::of(&chat), Verdict::Met);
}

/// spec: ORC-2.1, ORC-3.1
#[test]
fn a_chat_s_answer_that_lacks_something_is_not_met() {
    let lacks = |undone: &str| json!({"message": "I found nobody.", "partial": true, "undone": undone, "results": []});
    let (part, nothing) = (lacks("part"), lacks("all"));
    assert_eq!(Verdict::of(&part).code(), 3);
    assert_eq!(parts(&part, 80).result, "I found nobody.");
    assert_eq!(Verdict::of(&nothing).code(), 1);
    let Parts { data, result, .. } = parts(&nothing, 80);
    assert_eq!((&*data, &*result), ("I found nobody.", ""));
}

/// spec: ORC-11.3
#[test]
fn the_exit_code_tells_whether_the_constraints_are_met() {
    let codes = [
        Verdict::of(&bundle(true)),
        Verdict::of(&bundle(false)),
        Verdict::Failed,
    ];
    assert_eq!(codes.map(Verdict::code), [0, 3, 1]);
}
