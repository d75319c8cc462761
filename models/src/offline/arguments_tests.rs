use serde_json::json;

use super::*;

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn the_words_go_where_the_schema_wants_them() {
    let string = || json!({"type": "string"});
    let words = "say hi to all";
    for (schema, expected) in [
        (
            object(json!({"text": string()}), &["text"]),
            json!({"text": words}),
        ),
        // What may be anything is not meant for words while something else is.
        (
            object(
                json!({"input": {}, "skill": {"enum": ["sing"]}, "request": string()}),
                &[],
            ),
            json!({ "request": words }),
        ),
        // A telling name wins over the order, and what is required over a telling name.
        (
            object(
                json!({"title": string(), "query": string()}),
                &["title", "query"],
            ),
            json!({"title": words, "query": words}),
        ),
        (
            object(json!({"title": string(), "text": string()}), &["title"]),
            json!({"title": words}),
        ),
        (
            object(
                json!({"count": {"type": "integer"}, "task": string()}),
                &["count"],
            ),
            json!({"count": 0, "task": words}),
        ),
        (
            object(json!({"title": string(), "body": string()}), &[]),
            json!({"title": words}),
        ),
        (
            object(
                json!({"text": {"type": ["null", "string"], "maxLength": 6}}),
                &["text"],
            ),
            json!({"text": "say hi"}),
        ),
        (
            json!({"$defs": {"T": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
                   "properties": {"input": {"$ref": "#/$defs/T"}}, "required": ["input"]}),
            json!({"input": words}),
        ),
        (
            object(
                json!({"inner": object(json!({"text": string()}), &["text"])}),
                &["inner"],
            ),
            json!({"inner": {"text": words}}),
        ),
        (
            object(
                json!({"lines": {"type": "array", "items": string()}}),
                &["lines"],
            ),
            json!({"lines": [words]}),
        ),
        (json!({"type": "object"}), json!({"text": words})),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({}),
        ),
        (json!(true), json!({"text": words})),
        (string(), json!(words)),
    ] {
        assert_eq!(arguments(&schema, words).0, expected, "{schema}");
    }
}

#[test]
fn numbers_values_and_flags_are_taken_from_the_words() {
    let number = || json!({"type": "number"});
    let unit = || json!({"type": "string", "enum": ["celsius", "fahrenheit"]});
    let flag = || json!({"type": "boolean"});
    for (schema, words, expected) in [
        (
            object(json!({"a": number(), "b": number()}), &["a", "b"]),
            "add 2 and 3.5",
            json!({"a": 2, "b": 3.5}),
        ),
        (
            object(json!({"b": number(), "limit": {"type": "integer"}}), &["b"]),
            "1.5 with limit 7",
            json!({"b": 1.5, "limit": 7}),
        ),
        (
            object(
                json!({"limit": {"type": "integer"}, "page": {"type": "integer"}}),
                &["limit", "page"],
            ),
            "page 2, limit: 10",
            json!({"limit": 10, "page": 2}),
        ),
        (
            object(json!({"of": {"type": "array", "items": number()}}), &["of"]),
            "sum 1 2 3",
            json!({"of": [1, 2, 3]}),
        ),
        (
            object(json!({"unit": unit()}), &[]),
            "how warm in Fahrenheit",
            json!({"unit": "fahrenheit"}),
        ),
        (
            object(json!({"unit": unit()}), &["unit"]),
            "how warm",
            json!({"unit": "celsius"}),
        ),
        (object(json!({"unit": unit()}), &[]), "how warm", json!({})),
        (
            object(
                json!({"level": {"enum": [1, 2], "default": 1}, "n": {"type": "integer", "minimum": 5}}),
                &["level", "n"],
            ),
            "level 2",
            json!({"level": 2, "n": 5}),
        ),
        (
            object(
                json!({"tags": {"type": "array", "items": {"enum": ["red", "blue", "green"]}}}),
                &[],
            ),
            "blue before red",
            json!({"tags": ["blue", "red"]}),
        ),
        (
            object(
                json!({"loud": flag(), "fast": flag(), "far": flag()}),
                &["far"],
            ),
            "loud but not fast",
            json!({"far": false, "loud": true, "fast": false}),
        ),
        (
            object(
                json!({"text": {"type": "string"}, "city": {"type": "string"}}),
                &["text", "city"],
            ),
            "weather for city Paris",
            json!({"text": "weather for city Paris", "city": "Paris"}),
        ),
        (
            object(json!({"kind": {"const": "x"}}), &["kind"]),
            "go",
            json!({"kind": "x"}),
        ),
    ] {
        assert_eq!(
            arguments(&schema, words).0,
            expected,
            "{words:?} for {schema}"
        );
    }
}

#[test]
fn data_that_is_optional_is_given_where_the_words_have_all_of_it() {
    let number = || json!({"type": "number"});
    let sum = object(json!({"a": number(), "b": number()}), &["a", "b"]);
    let schema = object(
        json!({"request": {"type": "string"}, "input": sum}),
        &["request"],
    );
    for (words, expected) in [
        (
            "add 2 and 3",
            json!({"request": "add 2 and 3", "input": {"a": 2, "b": 3}}),
        ),
        ("add 2", json!({"request": "add 2"})),
    ] {
        assert_eq!(arguments(&schema, words).0, expected);
    }
}

#[test]
fn numbers_keep_within_their_bounds() {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 16});
    let schema = object(json!({ "limit": limit }), &[]);
    for (words, expected) in [
        ("20 or 7 of them", json!({"limit": 7})),
        ("in 2026", json!({})),
    ] {
        assert_eq!(arguments(&schema, words).0, expected);
    }
}

#[test]
fn a_schema_without_an_end_gets_arguments_with_one() {
    let schema = json!({"$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]}},
                        "$ref": "#/$defs/N"});
    assert!(arguments(&schema, "go").0.is_object());
    let circle = json!({"$defs": {"A": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"});
    arguments(&circle, "go");
}

#[test]
fn what_the_words_state_goes_before_the_words() {
    let search =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let price = json!({
        "type": "object",
        "properties": {"item": {"type": "string"}, "amount": {"type": "integer"}, "unit": {"enum": ["kg", "box"]}},
        "required": ["item", "amount"],
    });
    for (schema, words, expected) in [
        (
            &search,
            "search the project for 'mailbox'",
            json!({"text": "mailbox"}),
        ),
        (
            &price,
            "price_of 'apple' for 3",
            json!({"item": "apple", "amount": 3}),
        ),
        (
            &price,
            "price_of item=apple, amount=3 unit=box",
            json!({"item": "apple", "amount": 3, "unit": "box"}),
        ),
        (
            &price,
            "price_of {\"item\": \"ripe apple\", \"amount\": 4}",
            json!({"item": "ripe apple", "amount": 4}),
        ),
        (
            &price,
            "price_of {\"item\": 7} \"apple\" 2",
            json!({"item": "apple", "amount": 7}),
        ),
    ] {
        assert_eq!(arguments(schema, words), (expected, Vec::new()), "{words}");
    }
    let task =
        json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
    let words = "write about 'tides'";
    assert_eq!(
        arguments(&task, words),
        (json!({"task": words}), Vec::new())
    );
}

#[test]
fn a_guess_is_known_as_one() {
    let price =
        json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
    let (filled, guessed) = arguments(&price, "what does an apple cost");
    assert_eq!(filled, json!({"item": "what does an apple cost"}));
    assert_eq!(guessed, ["item"]);
    assert_eq!(arguments(&price, "apple").1, [""; 0]);
}

/// spec: ORC-2.1
#[test]
fn the_first_of_choices_of_which_none_is_mentioned_is_a_guess() {
    let gate = json!({"type": "string", "enum": ["north", "south"]});
    let schema = json!({"type": "object", "properties": {"gate": gate}, "required": ["gate"]});
    assert_eq!(
        arguments(&schema, "open the west gate"),
        (json!({"gate": "north"}), vec!["gate".to_owned()])
    );
    assert_eq!(
        arguments(&schema, "open the south gate"),
        (json!({"gate": "south"}), Vec::new())
    );
}
