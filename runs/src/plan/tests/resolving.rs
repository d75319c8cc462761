//! Resolution of references.

use super::*;

/// The resolved value, or the error.
fn resolved(value: Value) -> Result<Value, String> {
    let outputs = json!({
        "draft": {"draft": {"text": "ahoy", "tags": ["a", "b"], "score": 0.5, "none": null, "sly": "${objective}", "a/b": 1}},
    });
    let outputs: BTreeMap<String, Value> = serde_json::from_value(outputs).expect("a map");
    let scope = Scope {
        objective: "sell ships",
        input: &json!({"audience": "sailors", "list": [[1, 2], {"x": true}]}),
        thread: &json!({"earlier": {"text": "land"}}),
        outputs: &outputs,
        skipped: &BTreeSet::from(["review".to_owned()]),
    };
    resolve(&value, &scope).map_err(|missing| missing.to_string())
}

#[track_caller]
fn check(value: Value, expected: Value) {
    assert_eq!(resolved(value), Ok(expected));
}

#[track_caller]
fn check_missing(text: &str, why: &str) {
    assert_eq!(resolved(json!({"deep": [text]})), Err(why.to_owned()));
}

#[test]
fn one_reference_takes_the_value_with_its_type() {
    check(
        json!({"o": "${objective}", "a": "${input.audience}"}),
        json!({"o": "sell ships", "a": "sailors"}),
    );
    check(
        json!(["${input.list.0.1}", "${input.list.1}"]),
        json!([2, {"x": true}]),
    );
    check(json!("${draft.output.draft.tags}"), json!(["a", "b"]));
    check(json!("${draft.output.draft.none}"), json!(null));
    check(json!("${draft.output.draft.a/b}"), json!(1));
    check(json!("${thread}"), json!({"earlier": {"text": "land"}}));
    check(
        json!({"n": 1, "b": false, "x": null, "t": "plain"}),
        json!({"n": 1, "b": false, "x": null, "t": "plain"}),
    );
}

#[test]
fn references_in_a_longer_text_are_put_in_as_text() {
    check(
        json!(
            "For ${input.audience}: ${draft.output.draft.text}, ${draft.output.draft.score} ${draft.output.draft.tags}${draft.output.draft.none}."
        ),
        json!("For sailors: ahoy, 0.5 [\"a\",\"b\"]."),
    );
    check(json!(" ${objective}"), json!(" sell ships"));
    check(
        json!("${objective}${objective}"),
        json!("sell shipssell ships"),
    );
}

#[test]
fn two_dollars_stand_for_one() {
    check(
        json!("$${objective} costs $5 and {x} $"),
        json!("${objective} costs $5 and {x} $"),
    );
    check(json!("a$${b}c ${objective}"), json!("a${b}c sell ships"));
    check(json!("$${"), json!("${"));
    check(json!("$$"), json!("$$"));
}

#[test]
fn what_is_put_in_is_not_looked_through() {
    check(json!("${draft.output.draft.sly}"), json!("${objective}"));
    check(
        json!("<${draft.output.draft.sly}>"),
        json!("<${objective}>"),
    );
}

#[test]
fn keys_are_left_alone() {
    check(
        json!({"${objective}": 1, "$${x": 2}),
        json!({"${objective}": 1, "$${x": 2}),
    );
}

#[test]
fn what_refers_to_a_skipped_step_is_left_out() {
    check(
        json!({"issues": "${review.output.qa.issues}", "notes": ["${review.output}", "${objective}"], "text": "by ${review.output.who}!"}),
        json!({"notes": ["sell ships"], "text": "by !"}),
    );
    check(json!("${review.output}"), json!(null));
}

#[test]
fn what_is_not_there_is_named() {
    check_missing(
        "${input.crew.0}",
        "${input.crew.0}: there is no crew; there is audience, list",
    );
    check_missing(
        "x ${draft.output.draft.text.0}",
        "${draft.output.draft.text.0}: there is no 0; there is a text",
    );
    check_missing(
        "${input.list.2}",
        "${input.list.2}: there is no 2; there is an array of 2",
    );
    check_missing(
        "${edit.output.x}",
        "${edit.output.x}: the step has not given anything",
    );
}

#[test]
fn what_only_looks_like_a_reference_is_none() {
    let forms = "there are ${objective}, ${input.PATH}, ${thread.NAME.PATH} and ${STEP.output.PATH}, and $${ for the characters ${";
    let check = |text: &str, invalid: &str, why: &str| {
        check_missing(
            text,
            &format!("`{invalid}` is no reference: {why}; {forms}"),
        );
    };
    check("${objective", "${objective", "it is not closed with }");
    check("a ${", "${", "it is not closed with }");
    check("${}", "${}", "it does not begin with the name of a step");
    check(
        "${draft}",
        "${draft}",
        "after the name of a step comes `.output`",
    );
    check(
        "${draft.text}",
        "${draft.text}",
        "after the name of a step comes `.output`",
    );
    check(
        "${Draft.output}",
        "${Draft.output}",
        "it does not begin with the name of a step",
    );
    check(
        "${objective.0}",
        "${objective.0}",
        "the objective is a text and has no parts",
    );
    check(
        "${input..a}",
        "${input..a}",
        "its path has an empty or odd part",
    );
    check(
        "${input.}",
        "${input.}",
        "its path has an empty or odd part",
    );
    check(
        "${a.output.${input}}",
        "${a.output.${input}",
        "its path has an empty or odd part",
    );
    check(
        "${input.a\nb}",
        "${input.a b}",
        "its path has an empty or odd part",
    );
    check(
        "${ objective }",
        "${ objective }",
        "it does not begin with the name of a step",
    );
}

#[test]
fn references_are_written_as_they_are_read() {
    for text in [
        "${objective}",
        "${input}",
        "${input.a.0.b c}",
        "${thread.x}",
        "${a-1.output}",
        "${a.output.b/~.ü}",
    ] {
        let reference: Reference = text.parse().expect("it is one");
        assert_eq!(reference.to_string(), text);
    }
    let reference: Reference = "${a.output.b.0}".parse().expect("it is one");
    assert_eq!(reference.step().map(StepName::as_str), Some("a"));
    assert_eq!(reference.path(), ["b", "0"]);
    for text in ["objective", "${objective} ", "${objective", ""] {
        assert!(text.parse::<Reference>().is_err(), "{text}");
    }
}

#[test]
fn references_are_found_wherever_texts_are() {
    let value = json!({"${input.key}": ["${a.output} and ${b.output.x}", {"x": "$${c.output}"}], "y": "${objective", "z": "${objective}"});
    let found: Vec<_> = references(&value)
        .map(|reference| reference.to_string())
        .collect();
    assert_eq!(found, ["${a.output}", "${b.output.x}", "${objective}"]);
}

#[test]
fn what_comes_of_references_is_bounded() {
    let input = json!("x".repeat(300 * 1024));
    let scope = Scope {
        objective: "",
        input: &input,
        thread: &Value::Null,
        outputs: &BTreeMap::new(),
        skipped: &BTreeSet::new(),
    };
    assert!(resolve(&json!(vec!["${input}"; 3]), &scope).is_ok());
    assert_eq!(
        resolve(&json!(vec!["${input}"; 4]), &scope),
        Err(ResolveError::TooLarge)
    );
    assert_eq!(
        resolve(&json!("${input} ".repeat(1000)), &scope),
        Err(ResolveError::TooLarge)
    );
}
