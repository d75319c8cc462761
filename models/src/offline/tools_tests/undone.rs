//! Requests of which a part is left undone.

use super::*;

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
