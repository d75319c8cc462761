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

/// As supervisors offer agents.
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

/// spec: ORC-2.1
#[test]
fn what_is_left_undone_is_declared() {
    let declared = |request: &Request| match answer(request) {
        Answer::Text(_, undone) => undone,
        Answer::Calls(calls) => panic!("expected words, got {calls:?}"),
    };
    for whole in ["who are you?", "what is 3 plus 4?"] {
        assert_eq!(declared(&asked(whole)), None, "{whole}");
    }
    assert_eq!(
        declared(&asked("how tall is the Eiffel tower?")),
        Some(Undone::All)
    );
    for (words, undone) in [
        ("agent_echo \"hi\"", None),
        ("agent_echo text=hi", None),
        ("agent_echo {\"text\": \"hi\"}", None),
        ("use agent_echo", Some(Undone::Part)),
        ("echo hi", Some(Undone::Part)),
        ("agent_echo \"hi\" twice", Some(Undone::Part)),
        ("ask agent_echo to be silent", Some(Undone::Part)),
    ] {
        let done = answered(asked(words), &[json!("one")]);
        assert_eq!(declared(&done), undone, "{words}");
        let is_said = said(&done).contains(UNCHECKED);
        assert_eq!(is_said, undone.is_some(), "{words}");
    }
    let words = "weather_now please, for the town where my sister lives";
    let guessed = answered(asked(words), &[json!("12 degrees")]);
    assert_eq!(declared(&guessed), Some(Undone::Part));
    // Nobody said which numbers.
    let invented = answered(asked("use the calculator"), &[json!("0")]);
    assert_eq!(declared(&invented), Some(Undone::Part));
    let query = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let mut searching = asked("shave my llama");
    let find = tool(FIND_AGENTS, "Finds agents by what they do", query);
    searching.tools.push(find);
    let none = answered(searching, &[json!({"agents": []})]);
    assert_eq!(declared(&none), Some(Undone::All));
}

/// spec: SOP-8.7
#[test]
fn who_is_addressed_beside_others_and_is_nobody_is_named_in_the_answer() {
    let told = |words: &str| {
        let mut request = asked(words);
        for tool in &mut request.tools {
            tool.agent = tool.name.strip_prefix("agent_").map(|id| PresentedAgent {
                id: id.to_owned(),
                own_words_at: 0,
            });
        }
        let result = json!({"agent": "echo", "text": "hi"});
        match answer(&answered(request, &[result])) {
            Answer::Text(said, undone) => (said, undone),
            Answer::Calls(calls) => panic!("there is a result: {calls:?}"),
        }
    };
    let (said, undone) = told("ask agent_echo to say hi and ask ghost to fix the sink");
    let nobody = "I know no agent called ghost: what was for it, nobody did.";
    assert!(said.contains(nobody), "{said}");
    assert_eq!(undone, Some(Undone::Part));
    let (said, undone) = told("ask ghost and agent_echo to say hi");
    assert!(
        !said.contains("I know no agent"),
        "somebody else may know: {said}"
    );
    assert_eq!(undone, Some(Undone::Part));
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

/// spec: SOP-8.7
#[test]
fn nobody_is_asked_in_the_place_of_one_whom_the_words_address_and_who_is_nobody() {
    for words in [
        "ask ghost to fix the sink",
        "please ask ghost and ghost2 to echo",
    ] {
        let Answer::Text(said, Some(Undone::All)) = answer(&asked_by("lead", false, words)) else {
            panic!("nobody is asked: {words}");
        };
        assert!(said.starts_with("I know no agent called ghost"), "{said}");
        assert!(
            said.contains("- agent_ink-7"),
            "the names are there: {said}"
        );
    }
    // Words that address the agent itself may have been for others as well.
    for words in [
        "ask lead to echo this",
        "ask bob to paint and ask lead to echo this",
    ] {
        let made = calls(&asked_by("agent_lead", false, words));
        assert_eq!(made[0].name, "agent_echo", "{words}");
    }
    let both = "ask ghost to paint and ask echo2 to say hi";
    let result = json!({"agent": "echo2", "text": "hi"});
    let said = said(&answered(asked_by("lead", false, both), &[result]));
    assert!(said.contains("I know no agent called ghost"), "{said}");
}

/// spec: ORC-2.1
#[test]
fn an_answer_beside_instructions_that_nobody_read_is_a_part() {
    let unread = "No language model read the instructions of this agent.";
    let told = |is_instructed: bool, words: &str| {
        let request = asked_by("lead", is_instructed, words);
        let request = match answer(&request) {
            Answer::Calls(_) => answered(request, &[json!({"agent": "echo", "text": "hi"})]),
            Answer::Text(..) => request,
        };
        match answer(&request) {
            Answer::Text(said, undone) => (said.contains(unread), undone),
            Answer::Calls(calls) => panic!("there is a result: {calls:?}"),
        }
    };
    for words in ["agent_echo \"hi\"", "hello"] {
        assert_eq!(told(false, words), (false, None), "{words}");
        assert_eq!(told(true, words), (true, Some(Undone::Part)), "{words}");
    }
    let free = "ask agent_echo to say hi";
    assert_eq!(told(false, free), (false, Some(Undone::Part)));
    assert_eq!(told(true, free), (true, Some(Undone::Part)));
    let nothing = "never use agent_echo";
    assert_eq!(told(true, nothing), (false, Some(Undone::All)));
}

/// spec: ORC-2.3
#[test]
fn a_tool_that_failed_leaves_a_part_undone_and_all_of_them_everything() {
    let undone = |results: &[Value]| {
        let done = answered(asked("ask echo and echo2"), results);
        match answer(&done) {
            Answer::Text(_, undone) => undone,
            Answer::Calls(calls) => panic!("nothing is asked again: {calls:?}"),
        }
    };
    let broken = json!({"error": "broken"});
    let part = undone(&[json!("one"), broken.clone()]);
    assert_eq!(part, Some(Undone::Part));
    assert_eq!(undone(&[broken.clone(), broken]), Some(Undone::All));
}

/// spec: ORC-2.3
#[test]
fn data_beside_the_words_that_no_agent_was_handed_are_named() {
    let undone = |words: &str, result: &Value| {
        let mut request = asked(words);
        let input = PromptPart::Data {
            label: "input".into(),
            value: json!({"shelf": 4}),
        };
        request.messages[3].parts.push(input);
        match answer(&answered(request, std::slice::from_ref(result))) {
            Answer::Text(text, undone) => (text.contains("shelf"), undone),
            Answer::Calls(calls) => panic!("nothing is asked again: {calls:?}"),
        }
    };
    let (words, sum) = (
        "calculator: a=1 b=2",
        json!({"text": "the calculator adds: 3"}),
    );
    assert_eq!(undone(words, &sum), (true, Some(Undone::Part)));
}

/// spec: ORC-2.1
#[test]
fn a_tool_that_says_itself_that_it_failed_has_done_nothing() {
    let words = "agent_echo \"hi\"";
    let declared = |result: Value| match answer(&answered(asked(words), &[result])) {
        Answer::Text(_, undone) => undone,
        Answer::Calls(calls) => panic!("expected words, got {calls:?}"),
    };
    for nothing in [
        json!({"ok": false}),
        json!({"success": false}),
        json!({"isError": true}),
        json!({"status": "failed"}),
        json!({"state": "failed"}),
        json!({"success": "false"}),
        json!({"rejected": true}),
        json!([{"ok": false}]),
        json!({"result": {"ok": false}}),
        json!({"errors": ["valve stuck"]}),
        json!({"errors": "valve stuck"}),
        json!({"errors": 3}),
        json!({"error": true}),
        json!({"error": {"code": 5}}),
        json!({"undone": "all"}),
        json!("Error: no water"),
    ] {
        assert_eq!(declared(nothing.clone()), Some(Undone::All), "{nothing}");
    }
    assert_eq!(
        declared(json!({"partial": true, "loaded": 2})),
        Some(Undone::Part)
    );
    for part in [
        json!({"status": "partial"}),
        json!({"failures": [1]}),
        json!({"rejected": ["a"]}),
        json!([{"ok": true}, {"ok": false}]),
    ] {
        assert_eq!(declared(part.clone()), Some(Undone::Part), "{part}");
    }
    for cut in [
        json!("much [… 7 bytes left out]"),
        json!({"agent": "agent_echo", "text": "much [… 7 bytes left out]"}),
    ] {
        assert_eq!(declared(cut.clone()), Some(Undone::Part), "{cut}");
    }
    for whole in [
        json!("it says [… and so on]"),
        json!({"ok": true, "errors": []}),
        json!({"error": false, "errors": 0, "state": "open"}),
        json!({"error": {}, "text": "fine"}),
    ] {
        assert_eq!(declared(whole.clone()), None, "{whole}");
    }
}

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

/// spec: ORC-2.3
#[test]
fn data_that_only_repeat_the_words_are_none() {
    let words = "weather_now in the town of my sister";
    let mut request = asked(words);
    let input = PromptPart::Data {
        label: "input".into(),
        value: json!({ "text": words }),
    };
    request.messages[3].parts.push(input);
    let said = said(&answered(request, &[json!("12 degrees")]));
    assert!(!said.contains("the data that came along"), "{said}");
}

/// spec: ORC-2.3
#[test]
fn data_without_words_are_for_the_only_tool_whose_inputs_they_are() {
    let handed = |value: Value| {
        let mut request = asked("");
        request.messages.truncate(1);
        let input = PromptPart::Data {
            label: "input".into(),
            value,
        };
        let message = PromptMessage::new(PromptRole::User, vec![input]);
        request.messages.push(message);
        request
    };
    let city = handed(json!({"city": "Bremen"}));
    let made = calls(&city);
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(
        (&*made[0].name, &made[0].arguments),
        ("weather_now", &json!({"city": "Bremen"}))
    );
    let done = answered(city, &[json!("12 degrees")]);
    let Answer::Text(told, Some(Undone::Part)) = answer(&done) else {
        panic!("nobody said what was wanted");
    };
    assert!(!told.contains("Nobody looked at the data"), "{told}");
    for nobodys in [
        json!({"calculator": 1}),
        json!({"city": "Bremen", "hour": 7}),
        json!([1]),
    ] {
        let Answer::Text(told, Some(Undone::All)) = answer(&handed(nobodys.clone())) else {
            panic!("no tool is called: {nobodys}");
        };
        assert!(told.contains("not the inputs of one tool alone"), "{told}");
    }
    let mut two = handed(json!({"city": "Bremen"}));
    let mut other = two.tools[4].clone();
    other.name = "order_rain".to_owned();
    two.tools.push(other);
    assert!(matches!(answer(&two), Answer::Text(_, Some(Undone::All))));
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
