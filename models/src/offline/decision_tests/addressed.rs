//! Agents that a request names.

use super::*;

/// spec: HUB-4
#[test]
fn who_is_named_and_away_is_told_and_nobody_else_is_asked_instead() {
    let said = response(&named("ask agent_far to echo hello", &[], &["agent_far"]));
    assert!(
        said.starts_with("agent_far is away at the moment"),
        "{said}"
    );
    let both = actions(&named(
        "ask agent_far and agent_echo to echo hello",
        &["agent_echo"],
        &["agent_far"],
    ));
    assert_eq!(
        both[0]["text"],
        "Away at the moment, and not asked: agent_far."
    );
    assert_eq!(both[1]["targetAgent"], "agent_echo");
    assert_eq!(both.len(), 2);
}

#[test]
fn an_agent_that_nobody_is_gets_no_stand_in() {
    let said = response(&request("ask agent_nobody to echo hi."));
    assert!(
        said.starts_with("I know no agent called agent_nobody,"),
        "{said}"
    );
}

/// spec: ORC-2.1
#[test]
fn what_is_stated_outright_is_handed_to_the_one_that_is_named() {
    let agents = json!([
        {"id": "brewer", "skills": [{"id": "brew", "input_schema": {"properties": {"beer": {"type": "string"}}, "required": ["beer"]}}]},
        {"id": "agent_echo", "skills": [{"id": "echo"}]},
    ]);
    let payload = |words: &str| {
        let mut request = request(words);
        request.messages[1] = PromptMessage::data("agents", agents.clone());
        let action = actions(&request).remove(0);
        (action["targetAgent"] == "brewer").then(|| action["payload"].clone())
    };
    for words in [
        "brew beer=pale",
        "brewer \"pale\"",
        "ask brewer to brew {\"beer\": \"pale\"}",
    ] {
        assert_eq!(payload(words), Some(json!({"beer": "pale"})), "{words}");
    }
    let words = "brew beer=pale colour=red";
    assert_eq!(
        payload(words),
        Some(json!({ "text": words })),
        "that is no input of it"
    );
}

/// spec: ORC-2.1
#[test]
fn the_one_who_decides_may_be_addressed_by_its_own_name() {
    let words = "ask agent_lead to echo \"hello\"";
    let mut request = request(words);
    request.asker = Some(Asker {
        id: "agent_lead".to_owned(),
        is_instructed: false,
    });
    assert_eq!(actions(&request)[0]["targetAgent"], "agent_echo");
    let results = json!([{"agent": "agent_echo", "state": "completed", "text": "Echo"}]);
    request
        .messages
        .push(PromptMessage::data("results", results));
    assert_eq!(decide(&request, words).1, None);
}

/// spec: ORC-2.1
#[test]
fn what_is_stated_and_is_no_input_of_the_named_is_told_with_what_it_takes() {
    let agents = json!([
        {"id": "brewer", "skills": [{"id": "brew", "input_schema": {"properties": {"beer": {"type": "string"}}, "required": ["beer"]}}]},
        {"id": "agent_echo", "skills": [{"id": "echo"}]},
    ]);
    for (words, agent, told) in [
        (
            "echo text=hi",
            "agent_echo",
            "does not fit echo: its card names no inputs",
        ),
        (
            "brew beer=pale colour=red",
            "brewer",
            "Its inputs are beer (string, required).",
        ),
        (
            "brewer size=7",
            "brewer",
            "Its inputs are beer (string, required).",
        ),
    ] {
        let mut request = request(words);
        request.messages[1] = PromptMessage::data("agents", agents.clone());
        let results = json!([{"agent": agent, "state": "completed", "text": "Done"}]);
        request
            .messages
            .push(PromptMessage::data("results", results));
        let said = response(&request);
        assert!(said.contains(told), "{words}: {said}");
        assert!(!said.contains("To state it outright"), "{words}: {said}");
        assert_eq!(decide(&request, words).1, Some(Undone::Part), "{words}");
    }
}

/// spec: ORC-2.1
#[test]
fn who_is_addressed_beside_others_and_is_no_agent_is_named() {
    let words = "ask agent_echo to say hi and ask agent_ghost to fix the sink";
    let mut asked = request(words);
    let (decision, undone) = decide(&asked, words);
    assert_eq!(decision["actions"][0]["targetAgent"], "agent_echo");
    assert_eq!(undone, Some(Undone::Part));
    let results = json!([{"agent": "agent_echo", "state": "completed", "text": "hi"}]);
    asked.messages.push(PromptMessage::data("results", results));
    let (decision, undone) = decide(&asked, words);
    assert_eq!(
        decision["actions"][0]["text"],
        "agent_echo says: hi\nI know no agent called agent_ghost: what was for it, nobody did."
    );
    assert_eq!(undone, Some(Undone::Part));

    let (decision, undone) = decide(&request(""), "ask ghost to echo hi");
    let said = decision["actions"][0]["text"].as_str().unwrap_or_default();
    assert!(
        said.starts_with("I know no agent called ghost, so I have asked nobody."),
        "{said}"
    );
    assert_eq!(undone, Some(Undone::All));
}
