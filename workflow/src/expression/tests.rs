//! Values, conditions and bounds of expressions.

use serde_json::json;

use super::*;

fn variables() -> Map<String, Value> {
    let value = json!({
        "workflow": {"input": {"language": "en", "files": ["a", "b"]}},
        "draft": {"output": {"score": 0.9, "text": "x"}},
    });
    value.as_object().cloned().expect("an object")
}

fn value(text: &str) -> Result<Value, String> {
    let expression = Expression::new(text).map_err(|error| error.to_string())?;
    expression
        .value(&variables())
        .map_err(|error| error.to_string())
}

#[test]
fn conditions_and_values_are_computed_of_what_the_workflow_has() {
    for (text, expected) in [
        (
            "draft.output.score >= 0.8 and workflow.input.language == 'en'",
            json!(true),
        ),
        ("workflow.input.files | length", json!(2)),
        ("draft.output.text ~ '!'", json!("x!")),
        ("'b' in workflow.input.files", json!(true)),
        ("draft.output.missing is defined", json!(false)),
        ("draft.output.missing | default(7)", json!(7)),
        (
            "{'n': 1 + 2, 'l': [draft.output.score]}",
            json!({"n": 3, "l": [0.9]}),
        ),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_not_there_is_an_error_and_not_nothing() {
    for (text, name) in [
        ("draft.output.scor >= 0.8", "draft.output.scor"),
        ("draft.output.scor", "draft.output.scor"),
        ("draft.output.score > 0 and missing", "missing"),
        ("draft.output.x.y", "draft.output.x"),
    ] {
        let error = value(text).expect_err(text);
        assert_eq!(error, format!("there is no `{name}`"));
    }
    let error = value("draft.output.text.length > 3").expect_err("no such field");
    assert!(error.ends_with("`draft.output.text | length`"), "{error}");
}

#[test]
fn values_of_different_types_have_no_order() {
    for text in [
        "draft.output.text > 5",
        "workflow.input.files >= 1",
        "draft.output.score < 'x'",
        "none < 1",
        "true > 0",
        "(draft.output.text > 5) or true",
        "0 < draft.output.text",
        "[draft.output.text > 5] | first",
        "workflow.input.files | select('gt', 5) | list",
        "draft.output.text is ge(1)",
        "draft.output.missing | default(draft.output.text > 1)",
        "1 if draft.output.text > 1 else 2",
        "0 < draft.output.score < 'x'",
    ] {
        let error = value(text).expect_err(text);
        assert!(
            error.contains("two numbers or two texts"),
            "{text}: {error}"
        );
    }
    let error = value("draft.output.text >= 0.8").expect_err("a text and a number");
    assert_eq!(
        error,
        "`>=` compares two numbers or two texts, and not the text \"x\" with the number 0.8; `| float` makes a number of a text"
    );
}

#[test]
fn values_that_have_an_order_are_compared() {
    for (text, expected) in [
        ("0 < draft.output.score <= 1", json!(true)),
        ("0 < draft.output.score > 1", json!(false)),
        ("draft.output.score - 1 < 0 and 'a' < 'b'", json!(true)),
        ("not draft.output.score > 1", json!(true)),
        ("'<' ~ draft.output.text ~ '>'", json!("<x>")),
        (
            "{'if': 1 < 2, 'l': [2 > 1, 1 >= 2]}",
            json!({"if": true, "l": [true, false]}),
        ),
        ("'a' if 1 < 2 else 'b' if 2 > 3 else 'c'", json!("a")),
        ("'a' if 2 < 1 else 'b' if 2 > 3 else 'c'", json!("c")),
        ("(1 < 2) == true", json!(true)),
        ("1 < 2 != false", json!(true)),
        ("'a' not in workflow.input.files", json!(false)),
        ("3 is not in [1, 2]", json!(true)),
        ("workflow.input.files[:1] | length < 2", json!(true)),
        ("'12' | int > 3", json!(true)),
        (
            "draft.output.missing is defined and draft.output.missing > 3",
            json!(false),
        ),
        (
            "workflow.input.files | join(d='<') | length >= 3",
            json!(true),
        ),
        ("[1, 2, 3] | select('gt', 1) | list", json!([2, 3])),
        ("draft.output.text or 'nothing'", json!("x")),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn lists_of_different_types_are_not_ordered() {
    for filter in ["sort", "min", "max"] {
        for list in [
            "[3, 'x']",
            "['x', 3]",
            "[1, none]",
            "[{'a': 1}, {'a': 2}]",
            "[[1], ['x']]",
            "[true]",
            "[{'a': 1}, {'a': 'x'}]",
        ] {
            let error = value(&format!("{list} | {filter}")).expect_err(list);
            let expected = format!("`{filter}` orders numbers or texts, and not ");
            assert!(error.starts_with(&expected), "{list}: {error}");
        }
        let by = format!("[{{'a': 1}}, {{'a': 'x'}}, {{}}] | {filter}(attribute='a')");
        let error = value(&by).expect_err("a number and a text");
        assert_eq!(
            error,
            format!(
                "`{filter}` orders numbers or texts, and not the number 1 and the text \"x\"; `| float` makes a number of a text"
            )
        );
        let lacking = value(&format!("[{{'a': 1}}, {{}}] | {filter}(attribute='a')"));
        let lacking = lacking.expect_err("it is not there");
        assert!(
            lacking.ends_with("not the number 1 and nothing"),
            "{lacking}"
        );
    }
    for (text, expected) in [
        ("[3, 1.5, 2] | sort", json!([1.5, 2, 3])),
        ("[3, 1.5, 2] | map('abs') | max", json!(3)),
        ("['b', 'A'] | sort(reverse=true)", json!(["b", "A"])),
        ("['b', 'A'] | min", json!("A")),
        ("[] | sort", json!([])),
        (
            "[{'a': 2, 'b': ['x']}, {'a': 1, 'b': ['y']}] | sort(attribute='a, b.0') | map(attribute='a') | list",
            json!([1, 2]),
        ),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_condition_is_true_or_false() {
    let of = |text: &str| {
        let condition = Expression::condition(text).expect(text);
        condition
            .is_true(&variables())
            .map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("draft.output.score > 0.5", true),
        ("not (draft.output.score > 0.5)", false),
        ("true and (false or draft.output.text == 'x')", true),
        ("draft.output.text is defined", true),
        ("(draft.output.text | length) > 3", false),
        ("true if draft.output.score > 1 else false", false),
        ("'b' in workflow.input.files", true),
        ("draft.output.missing | default(false)", false),
    ] {
        assert_eq!(of(text), Ok(expected), "{text}");
    }
    for text in [
        "'false'",
        "'no'",
        "1",
        "draft.output.text",
        "draft.output.text and true",
        "true and draft.output.text",
        "false or (draft.output.text)",
        "not draft.output.text",
        "workflow.input.files",
        "draft.output",
        "none",
        "true if draft.output.text else false",
        "draft.output.text if true else false",
    ] {
        let error = of(text).expect_err(text);
        assert!(error.contains("true or false"), "{text}: {error}");
    }
    assert_eq!(
        of("draft.output.scor"),
        Err("there is no `draft.output.scor`".to_owned())
    );
}

#[test]
fn a_step_that_gave_nothing_is_named_and_default_stands_in() {
    let skipped = json!({ "state": "skipped", "output": null, "error": null });
    let variables = json!({ "b": skipped, "steps": { "b-1": skipped, "b": skipped } });
    let variables = variables.as_object().expect("an object");
    for (name, step) in [("b", "b"), ("b-1", "steps[\"b-1\"]")] {
        let of = |text: String| {
            let expression = Expression::new(&text).expect("it is one");
            expression
                .value(variables)
                .map_err(|error| error.to_string())
        };
        let error = of(format!("{step}.output.text or \"nothing\"")).expect_err("skipped");
        let expected = format!("the step `{name}` gave nothing (skipped); `| default(…)`");
        assert!(error.starts_with(&expected), "{error}");
        let stands_in = of(format!("{step}.output.text | default(\"nothing\")"));
        assert_eq!(stands_in, Ok(json!("nothing")));
    }
}

#[test]
fn an_expression_is_bounded_in_length_steps_depth_and_size() {
    let long = format!("'{}'", "x".repeat(MAX_BYTES));
    assert!(value(&long).expect_err("long").contains("longer"));
    let many = "range(90000) | list | length + range(90000) | map('abs') | sum";
    let steps = value(many).expect_err("many steps");
    assert!(steps.contains("more steps"), "{steps}");
    let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
    assert!(value(&deep).is_err(), "deep");
    let large = value("'xxxxxxxxxx' * 1000000").expect_err("a large text");
    assert!(
        large.contains("more steps") || large.contains("large"),
        "{large}"
    );
}

#[test]
fn there_is_no_way_out_of_an_expression() {
    for text in [
        "debug()",
        "include('/etc/passwd')",
        "{% if true %}",
        "x = 1",
        "self",
        "open('x')",
    ] {
        assert!(value(text).is_err(), "{text}");
    }
}

#[test]
fn a_filter_that_there_is_not_is_told_before_anything_runs() {
    for (text, part) in [
        (
            "workflow.input.files | lenght > 1",
            "did you mean `length`?",
        ),
        ("1 + (draft.output.score|roundd(1))", "no filter `roundd`"),
        ("draft.output is not defind", "no test `is defind`"),
    ] {
        let error = Expression::new(text).expect_err(text).to_string();
        assert!(error.contains(part), "{error}");
    }
    for text in [
        "'a | nothing' in draft.output.text",
        "draft.output.text | replace('is no', \"| x\") is not none",
        "draft.output.list | map(attribute='n') | sum is divisibleby(3)",
        "draft.output is defined and draft.output.n is odd",
    ] {
        assert!(Expression::new(text).is_ok(), "{text}");
    }
    for filter in FILTERS {
        assert!(
            Expression::new(&format!("draft | {filter}")).is_ok(),
            "{filter}"
        );
    }
}

#[test]
fn names_are_told_with_their_fields() {
    let names = |text: &str| Expression::new(text).expect("it is one").names();
    let told = names("draft.output.score > 1 and range(3)");
    assert!(told.contains("draft.output.score"), "{told:?}");
    assert!(!told.contains("range"), "{told:?}");
}
