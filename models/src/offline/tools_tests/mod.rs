//! Calls of tools and what is said of their results.

mod outright;
mod undone;

use serde_json::json;

use super::*;
use crate::{Asker, PresentedAgent, PromptMessage, PromptRole};

fn tool(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters,
        agent: None,
    }
}

fn text() -> Value {
    json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
}

fn tools() -> Vec<ToolSpec> {
    let number = || json!({"type": "number"});
    let sum = json!({"type": "object", "properties": {"a": number(), "b": number()}, "required": ["a", "b"]});
    let weather = json!({
        "type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
    });
    vec![
        tool(
            "agent_echo",
            "A simple echo agent that repeats back messages for testing purposes\n- echo: Echoes back any text, \
             for example \"Repeat what I say\"",
            text(),
        ),
        tool("agent_echo2", "Another echo", text()),
        tool(
            "agent_ink-7",
            "Writes blog posts\n- proofread: Corrects spelling",
            text(),
        ),
        tool("calculator", "Adds two numbers", sum),
        tool("weather_now", "How warm it is in a city", weather),
    ]
}

fn asked(words: &str) -> Request {
    let mut request = Request::new(vec![
        PromptMessage::system("You lead."),
        PromptMessage::user("an earlier request about blogs"),
        PromptMessage::assistant("an earlier answer"),
        PromptMessage::user(words),
    ]);
    request.tools = tools();
    request
}

fn asked_by(id: &str, is_instructed: bool, words: &str) -> Request {
    let mut request = asked(words);
    for tool in &mut request.tools {
        tool.agent = tool.name.strip_prefix("agent_").map(|id| PresentedAgent {
            id: id.to_owned(),
            own_words_at: 0,
        });
    }
    request.asker = Some(Asker {
        id: id.to_owned(),
        is_instructed,
    });
    request
}

fn calls(request: &Request) -> Vec<ToolCall> {
    match answer(request) {
        Answer::Calls(calls) => calls,
        Answer::Text(text, _) => panic!("expected calls, got {text:?}"),
    }
}

fn said(request: &Request) -> String {
    match answer(request) {
        Answer::Text(text, _) => text,
        Answer::Calls(calls) => panic!("expected words, got {calls:?}"),
    }
}

/// Makes the calls and adds these results.
fn answered(mut request: Request, results: &[Value]) -> Request {
    let calls = calls(&request);
    assert_eq!(calls.len(), results.len(), "{calls:?}");
    let made = calls.iter().cloned().map(PromptPart::ToolCall).collect();
    request
        .messages
        .push(PromptMessage::new(PromptRole::Assistant, made));
    for (call, value) in calls.into_iter().zip(results) {
        let result = PromptPart::ToolResult {
            call_id: call.id,
            name: call.name,
            value: value.clone(),
        };
        request
            .messages
            .push(PromptMessage::new(PromptRole::Tool, vec![result]));
    }
    request
}

#[test]
fn tools_are_called_that_the_words_name_or_match() {
    let echo = |name: &'static str, text: &str| (name, json!({ "text": text }));
    for (words, expected) in [
        (
            "echo hello there",
            vec![echo("agent_echo", "echo hello there")],
        ),
        (
            "Repeat what I say: hi",
            vec![echo("agent_echo", "Repeat what I say: hi")],
        ),
        (
            "ask agent_echo2 to say hi",
            vec![echo("agent_echo2", "ask agent_echo2 to say hi")],
        ),
        (
            "ask echo2 and echo to say hi",
            vec![
                echo("agent_echo2", "ask echo2 and echo to say hi"),
                echo("agent_echo", "ask echo2 and echo to say hi"),
            ],
        ),
        (
            "please proofread this",
            vec![echo("agent_ink-7", "please proofread this")],
        ),
        (
            "add 2 and 3.5",
            vec![("calculator", json!({"a": 2, "b": 3.5}))],
        ),
        (
            "weather in celsius",
            vec![(
                "weather_now",
                json!({"city": "weather in celsius", "unit": "celsius"}),
            )],
        ),
        (
            "echo hello and goodbye, then write something for my blog and add 2 and 3",
            vec![
                echo("agent_echo", "echo hello and goodbye"),
                echo("agent_ink-7", "write something for my blog"),
                ("calculator", json!({"a": 2, "b": 3})),
            ],
        ),
    ] {
        let calls = calls(&asked(words));
        let made: Vec<(&str, Value)> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.arguments.clone()))
            .collect();
        assert_eq!(made, expected, "{words:?}");
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_1", "call_2", "call_3"][..calls.len()]);
        assert_eq!(calls, self::calls(&asked(words)), "the same again");
    }
}

/// Agents are offered as supervisors offer them.
#[test]
fn agents_are_handed_work_in_words_under_their_skill() {
    let agent = |name: &str, id: &str, own: &str, skills: &[&str]| {
        let parameters = json!({
            "type": "object", "required": ["request"], "additionalProperties": false,
            "properties": {
                "request": {"type": "string"},
                "skill": {"type": "string", "enum": skills},
                "input": {"type": "object"},
            },
        });
        let presenting = format!("Hands work to the agent {id}. It says of itself: ");
        ToolSpec {
            agent: Some(PresentedAgent {
                id: id.into(),
                own_words_at: presenting.len(),
            }),
            ..tool(name, &format!("{presenting}{own}"), parameters)
        }
    };
    let tools = vec![
        agent(
            "agent_linguist-7",
            "Linguist 7",
            "Speaks many languages\n- translate: Translate. Translates texts \"Say this in French\"",
            &["translate", "teach"],
        ),
        agent(
            "agent_echo",
            "agent_echo",
            "Repeats\n- echo: Echo Messages",
            &["echo"],
        ),
    ];
    for (words, expected) in [
        (
            "translate good morning",
            Some((
                "agent_linguist-7",
                json!({"request": "translate good morning", "skill": "translate"}),
            )),
        ),
        (
            "ask Linguist 7 to teach me",
            Some((
                "agent_linguist-7",
                json!({"request": "ask Linguist 7 to teach me", "skill": "teach"}),
            )),
        ),
        (
            "echo hi",
            Some(("agent_echo", json!({"request": "echo hi", "skill": "echo"}))),
        ),
        ("my hands hurt", None),
    ] {
        let mut request = asked(words);
        request.tools.clone_from(&tools);
        let made = match answer(&request) {
            Answer::Calls(calls) => calls,
            Answer::Text(..) => Vec::new(),
        };
        let made = made
            .first()
            .map(|call| (call.name.as_str(), call.arguments.clone()));
        assert_eq!(made, expected, "{words:?}");
    }
    let mut request = asked("who are you?");
    request.tools = tools;
    assert!(said(&request).contains("\n- agent_echo: Repeats\n"));
}

#[test]
fn results_are_told_with_the_name_of_the_tool() {
    for (result, expected) in [
        (json!("Echo: hi"), "agent_echo says: Echo: hi"),
        (
            json!({"text": "Echo: hi", "task": "t"}),
            "agent_echo says: Echo: hi",
        ),
        (
            json!(""),
            "agent_echo ended without an error and gave no output.",
        ),
        (
            json!(null),
            "agent_echo ended without an error and gave no output.",
        ),
        (json!({"error": "no ink"}), "agent_echo failed: no ink"),
        (
            json!({"error": {"message": "no ink", "code": 7}}),
            "agent_echo failed: no ink",
        ),
        (json!({"error": "agent_echo is away"}), "agent_echo is away"),
        (
            json!({"error": null, "text": "fine"}),
            "agent_echo says: fine",
        ),
        (json!({"sum": 5}), "agent_echo says: {\"sum\":5}"),
        (
            json!({"agent": "echo", "state": "failed", "error": "disk full", "text": "half of it"}),
            "echo failed: disk full",
        ),
        (
            json!({"agent": "echo", "state": "completed", "data": [{"n": 1}]}),
            "echo says: [{\"n\":1}]",
        ),
        (
            json!({"agent": "echo", "state": "timed-out"}),
            "echo did not answer in time.",
        ),
        (
            json!({"agent": "echo", "state": "completed", "text": "hi"}),
            "echo says: hi",
        ),
    ] {
        let done = answered(asked("agent_echo \"hi\""), std::slice::from_ref(&result));
        assert_eq!(said(&done), expected, "{result}");
    }
}

#[test]
fn results_are_told_when_the_tools_are_gone() {
    let mut done = answered(asked("use agent_echo"), &[json!("Echo: hi")]);
    done.tools.clear();
    done.messages
        .push(PromptMessage::system("Answer without tools."));
    assert!(are_used(&done));
    let told = format!("agent_echo says: Echo: hi\n{UNCHECKED}");
    assert_eq!(said(&done), told, "which tool it was, nobody can look up");

    done.messages.push(PromptMessage::user("and what else?"));
    assert!(!are_used(&done));
}

#[test]
fn several_results_are_told_in_one_answer() {
    let done = answered(
        asked("ask echo and echo2"),
        &[json!("one"), json!({"error": "broken"})],
    );
    assert_eq!(
        said(&done),
        format!("agent_echo says: one\nagent_echo2 failed: broken\n{UNCHECKED}")
    );
}

#[test]
fn what_was_done_for_earlier_words_is_done_again_for_later_ones_under_other_ids() {
    let mut later = answered(asked("use agent_echo"), &[json!("one")]);
    later.messages.push(PromptMessage::user("use agent_echo"));
    let calls = calls(&later);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].id, "call_2");
}

#[test]
fn a_call_that_nobody_answered_is_not_made_again() {
    let mut waiting = asked("use agent_echo");
    let made = calls(&waiting)
        .into_iter()
        .map(PromptPart::ToolCall)
        .collect();
    waiting
        .messages
        .push(PromptMessage::new(PromptRole::Assistant, made));
    assert_eq!(said(&waiting), "I have heard nothing from agent_echo.");
}

#[test]
fn it_says_what_it_is_and_what_it_can_call() {
    for (words, found) in [
        ("who are you?", true),
        ("hello", true),
        ("how tall is the Eiffel tower?", false),
        ("", false),
    ] {
        let text = said(&asked(words));
        assert_eq!(
            text.starts_with("I am an offline stand-in"),
            found,
            "{text}"
        );
        for part in ["agent_ink-7: Writes blog posts\n", "AGENTHUB_MODEL"] {
            assert!(
                text.contains(part),
                "{words:?} was answered without {part:?}: {text}"
            );
        }
    }
}

#[test]
fn the_rest_of_the_agents_is_searched_where_nothing_fits() {
    let query = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let words = "shave my llama";
    let mut request = asked(words);
    request
        .tools
        .push(tool(FIND_AGENTS, "Finds agents by what they do", query));
    assert_eq!(calls(&request)[0].name, FIND_AGENTS);
    assert_eq!(calls(&request)[0].arguments, json!({ "query": words }));
    assert_ne!(
        calls(&{
            let mut echo = asked("echo hi");
            echo.tools = request.tools.clone();
            echo
        })[0]
            .name,
        FIND_AGENTS
    );

    let none = answered(request.clone(), &[json!({"agents": []})]);
    assert_eq!(said(&none), "I found no agent for that.");
    let mut found = answered(request, &[json!({"agents": [{"id": "barber"}]})]);
    assert_eq!(said(&found), "I found barber.");
    found
        .tools
        .push(tool("agent_barber", "Shaves any llama", text()));
    assert_eq!(calls(&found)[0].name, "agent_barber");
}

#[test]
fn what_is_handed_over_as_data_is_asked_where_there_are_no_words() {
    let mut request = asked("");
    request.messages = vec![
        PromptMessage::system("You lead."),
        PromptMessage::data("request", json!({"text": "echo hi"})),
    ];
    assert_eq!(calls(&request)[0].arguments, json!({"text": "echo hi"}));

    request.messages.push(PromptMessage::user("add 1 and 2"));
    assert_eq!(calls(&request)[0].name, "calculator");
}

#[test]
fn what_the_stand_in_could_not_tell_is_said_with_the_result() {
    let words = "weather_now please, for the town where my sister lives";
    let said = said(&answered(asked(words), &[json!("12 degrees")]));
    assert!(said.contains("12 degrees"), "{said}");
    assert!(
        said.contains("could not tell what `city` of weather_now"),
        "{said}"
    );
    assert!(said.contains("write city=…"), "{said}");
}
