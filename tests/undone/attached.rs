//! Data beside the words of a request: nothing of them is dropped without a word.

use serde_json::{Value, json};

use crate::{a2a, harness::System};

/// The answer to a message with these parts: the text, and how much was left undone.
fn asked(http: &str, parts: &Value) -> (String, Value) {
    let message = json!({"messageId": parts.to_string(), "role": "ROLE_USER", "parts": parts});
    let body = json!({ "message": message }).to_string();
    let answer = a2a::json(&a2a::post(http, "/message:send", &body));
    let message = &answer["task"]["status"]["message"];
    let parts = message["parts"].as_array().expect("it answers").iter();
    let undone = parts.clone().find_map(|part| part["data"].get("undone"));
    let text = parts.filter_map(|part| part["text"].as_str()).collect();
    (text, undone.cloned().unwrap_or_default())
}

/// spec: ORC-2.3
#[test]
fn what_comes_beside_the_words_is_handed_on_or_named() {
    let (_system, _up, http) = System::up_with_http();
    let words = json!({"text": "ask agent_echo to echo \"hi\""});
    let first = json!({"data": {"town": "Utrecht"}});
    assert_eq!(asked(&http, &json!([words])).1, Value::Null);
    for (beside, named) in [
        (json!({"data": {"street": "Vismarkt"}}), "Vismarkt"),
        (json!({"data": ["Vismarkt", "Oudegracht"]}), "Oudegracht"),
    ] {
        let (text, undone) = asked(&http, &json!([words, first, beside]));
        assert_eq!(undone, "part", "{text}");
        for part in ["hi", "town", "Nobody was handed", named] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let (text, undone) = asked(&http, &json!([{"text": "hello"}, first]));
    assert_eq!(undone, "part", "{text}");
    assert!(text.contains("Nobody looked at the data"), "{text}");
}
