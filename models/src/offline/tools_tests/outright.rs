//! Requests that name a tool or an agent, and state what it is called with.

use super::*;

/// spec: ORC-2.1
#[test]
fn what_is_stated_outright_is_called_with_exactly_that() {
    for (words, name, arguments) in [
        (
            "agent_echo \"hi, then ask agent_echo2\"",
            "agent_echo",
            json!({"text": "hi, then ask agent_echo2"}),
        ),
        ("please echo2 'hi'", "agent_echo2", json!({"text": "hi"})),
        (
            "calculator a=2 b=3.5",
            "calculator",
            json!({"a": 2, "b": 3.5}),
        ),
        (
            "weather_now {\"city\": \"Bremen\"}",
            "weather_now",
            json!({"city": "Bremen"}),
        ),
    ] {
        let made = calls(&asked(words));
        assert_eq!(made.len(), 1, "{words}");
        assert_eq!(
            (&*made[0].name, &made[0].arguments),
            (name, &arguments),
            "{words}"
        );
    }
}

/// spec: ORC-2.1
#[test]
fn a_negation_in_the_quotation_for_the_one_who_is_asked_calls_nobody() {
    for words in [
        "ink \"do not echo this\"",
        "ink 'never use the calculator a=2 b=3'",
    ] {
        let forbidden = asked_by("agent_ink", false, words);
        let Answer::Text(said, Some(Undone::All)) = answer(&forbidden) else {
            panic!("nobody is called: {words}");
        };
        assert!(said.starts_with(FORBIDDING), "{words}: {said}");
    }
}

/// spec: ORC-2.1
#[test]
fn whoever_is_asked_directly_by_its_own_name_is_asked_outright() {
    let words = "ask kiosk to calculator a=2 b=3.5";
    for (own, expected) in [("agent_kiosk", None), ("shop", Some(Undone::Part))] {
        let mut request = asked(words);
        request.asker = Some(Asker {
            id: own.to_owned(),
            is_instructed: false,
        });
        let done = answered(request, &[json!("5.5")]);
        let Answer::Text(_, undone) = answer(&done) else {
            panic!("there is a result");
        };
        assert_eq!(undone, expected, "{own}");
    }
}

/// spec: ORC-2.1
#[test]
fn a_tool_without_a_place_for_what_is_stated_is_not_called() {
    for words in [
        "calculator a=2 c=3",
        "calculator \"2 and 3\"",
        "weather_now city=Bremen unit=kelvin",
        "weather_now {\"city\": \"Bremen\", \"hour\": 7}",
    ] {
        let Answer::Text(said, Some(Undone::All)) = answer(&asked(words)) else {
            panic!("it is not called: {words}");
        };
        let name = words.split(' ').next().unwrap_or_default();
        let told = format!("I have not called {name}. What stands behind the name does not fit");
        assert!(said.starts_with(&told), "{said}");
    }
}

/// spec: ORC-2.1
#[test]
fn an_order_with_a_negation_calls_nobody() {
    for words in [
        "never use agent_echo",
        "do not ask agent_echo",
        "don't echo this text back",
        "avoid calculator a=2 b=3",
        "skip agent_echo",
        "without weather_now city=Bremen",
    ] {
        let request = asked(words);
        let Answer::Text(said, Some(Undone::All)) = answer(&request) else {
            panic!("nobody is called: {words}");
        };
        assert!(said.contains("a negation"), "{said}");
    }
    assert_eq!(calls(&asked("agent_echo \"never do it\"")).len(), 1);
}

/// spec: ORC-2.1
#[test]
fn a_value_that_is_given_outright_is_never_changed() {
    for words in [
        "calculator a=1e3 b=2 please",
        "calculator a=007 b=2",
        "use the calculator with a=1 and b=10% of it",
    ] {
        let Answer::Text(said, Some(Undone::All)) = answer(&asked(words)) else {
            panic!("it is not called: {words}");
        };
        assert!(said.contains("I have not called calculator"), "{said}");
    }
    let made = calls(&asked("use the calculator with a=1 and b=2, please"));
    assert_eq!(made[0].arguments, json!({"a": 1, "b": 2}));
    let other = calls(&asked("use the calculator for c=7 and 3 and 4"));
    assert_eq!(other[0].arguments, json!({"a": 3, "b": 4}));
}
