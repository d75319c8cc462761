use serde_json::{Value, json};

use super::super::{Answer, outright::UNCHECKED, tools::answer};
use crate::{
    Asker, PresentedAgent, PromptMessage, PromptPart, PromptRole, Request, ToolCall, ToolSpec,
};

const EDITOR: &str = "# Editor\n\nYou lead a team.\n\n## Steps\n\n\
    1. Ask `researcher` what is known about the topic.\n\
    2. Have `article-writer` write the article from the findings of `researcher`.\n\
    3. Ask `critic` to check the draft. You MUST NOT ask `article-writer` before that.\n\
    4. If `critic` says \"revise\", ask `article-writer` to mend it.\n\
    5. Answer with the article of `article-writer`, and add in a sentence what `critic` said.\n\n\
    ## Rules\n\n1. Be kind.\n";

fn tool(name: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does what a {name} does"),
        parameters: json!({"type": "object", "properties": properties, "required": required}),
        agent: name.strip_prefix("agent_").map(|id| PresentedAgent {
            id: id.into(),
            own_words_at: 0,
        }),
    }
}

fn team() -> Vec<ToolSpec> {
    let text = |what: &str| json!({"type": "string", "description": what});
    vec![
        tool(
            "agent_researcher",
            json!({
                "task": text("What to do"),
                "topic": text("What it is about"),
                "depth": {"enum": ["brief", "thorough"], "default": "brief"},
            }),
            &["task", "topic"],
        ),
        tool(
            "agent_article-writer",
            json!({
                "task": text(""),
                "topic": text(""),
                "findings": text("What the researcher found"),
                "remarks": text("What a critic said about it"),
                "max_words": {"type": "number"},
            }),
            &["task", "topic", "findings"],
        ),
        tool(
            "agent_critic",
            json!({"task": text(""), "draft": text("The text to look at")}),
            &["task", "draft"],
        ),
    ]
}

fn asked(instructions: &str, words: &str) -> Request {
    let mut request = Request::new(vec![
        PromptMessage::system(instructions),
        PromptMessage::user(words),
    ]);
    request.tools = team();
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
        Answer::Text(text, _) => {
            let text = text.replace(super::FOLLOWED, "");
            text.trim_end().to_owned()
        }
        Answer::Calls(calls) => panic!("expected words, got {calls:?}"),
    }
}

/// Makes the calls that come next, and adds these results.
fn go_on(request: &mut Request, results: &[Value]) -> Vec<(String, Value)> {
    let calls = calls(request);
    assert_eq!(calls.len(), results.len(), "{calls:?}");
    let made = calls.iter().cloned().map(PromptPart::ToolCall).collect();
    request
        .messages
        .push(PromptMessage::new(PromptRole::Assistant, made));
    let results = calls
        .iter()
        .zip(results)
        .map(|(call, value)| PromptPart::ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            value: value.clone(),
        });
    request
        .messages
        .push(PromptMessage::new(PromptRole::Tool, results.collect()));
    calls
        .into_iter()
        .map(|call| (call.name, call.arguments))
        .collect()
}

fn from(agent: &str, text: &str) -> Value {
    json!({"agent": agent, "state": "completed", "text": text})
}

const ASKED: &str = "Write an article about how mail waits, in at most 90 words.";

/// spec: SOP-10.1, SOP-10.4
#[test]
fn steps_are_done_in_order_and_each_gets_what_the_ones_before_gave() {
    let mut request = asked(EDITOR, ASKED);
    let research = go_on(
        &mut request,
        &[from("researcher", "Mail waits in a mailbox.")],
    );
    let expected = json!({
        "task": format!("What is known about the topic: {ASKED}"), "topic": "how mail waits",
    });
    assert_eq!(research, [("agent_researcher".to_owned(), expected)]);

    let writing = go_on(
        &mut request,
        &[from("article-writer", "# Mail\n\nIt waits.")],
    );
    let expected = json!({
        "task": format!("Write the article from the findings of researcher: {ASKED}"),
        "topic": "how mail waits", "findings": "Mail waits in a mailbox.", "max_words": 90,
    });
    assert_eq!(writing, [("agent_article-writer".to_owned(), expected)]);

    let checking = go_on(&mut request, &[from("critic", "Fine, and\nshort.")]);
    let expected =
        json!({"task": format!("Check the draft: {ASKED}"), "draft": "# Mail\n\nIt waits."});
    assert_eq!(checking, [("agent_critic".to_owned(), expected)]);
    assert_eq!(
        said(&request),
        "# Mail\n\nIt waits.\n\ncritic says: Fine, and short."
    );
}

/// spec: SOP-10.1
#[test]
fn a_step_with_a_condition_is_done_where_the_last_results_say_so() {
    let mut request = asked(EDITOR, ASKED);
    go_on(&mut request, &[from("researcher", "Facts.")]);
    go_on(&mut request, &[from("article-writer", "Draft.")]);
    go_on(&mut request, &[from("critic", "Revise: say when.")]);
    let again = go_on(&mut request, &[from("article-writer", "Better draft.")]);
    assert_eq!(again[0].0, "agent_article-writer");
    assert_eq!(again[0].1["remarks"], "Revise: say when.");
    assert_eq!(again[0].1["findings"], "Facts.");
    assert_eq!(
        said(&request),
        "Better draft.\n\ncritic says: Revise: say when."
    );
}

/// spec: SOP-10.1, SOP-7.4
#[test]
fn agents_of_one_step_are_asked_at_once_and_all_that_they_say_is_told() {
    let both = "## Procedure\n### 1. Ask\nAsk `researcher` for facts and `critic` for doubts.\n";
    let mut request = asked(both, "tell me about mail");
    let asked = go_on(
        &mut request,
        &[from("researcher", "Facts."), from("critic", "Doubts.")],
    );
    let tasks: Vec<&str> = asked
        .iter()
        .filter_map(|(_, a)| a["task"].as_str())
        .collect();
    assert_eq!(
        tasks,
        ["Facts: tell me about mail", "Doubts: tell me about mail"]
    );
    assert_eq!(said(&request), "Facts.\n\nDoubts.");
}

#[test]
fn the_last_step_says_whose_texts_are_the_answer() {
    let steps = "## Steps\n1. Ask `critic`, `researcher` and `article-writer` at once.\n\
        2. Answer with the text of `article-writer` and the facts of `researcher`.";
    let mut request = asked(steps, "tell me about mail");
    let all = ["Doubts.", "Facts.", "Text."].map(|text| from("x", text));
    go_on(&mut request, &all);
    assert_eq!(said(&request), "Text.\n\nFacts.");
}

#[test]
fn without_a_last_word_the_answer_is_the_last_result_that_is_no_review() {
    let steps = "## Steps\n1. Ask `article-writer` for a text.\n2. Let `critic` judge it.";
    let mut request = asked(steps, "tell me about mail");
    go_on(&mut request, &[from("article-writer", "Text.")]);
    go_on(&mut request, &[from("critic", "Good.")]);
    assert_eq!(said(&request), "Text.\n\ncritic says: Good.");
}

/// spec: SOP-8.6, SOP-8.7
#[test]
fn what_failed_is_said_and_does_not_hold_the_others_up() {
    let mut request = asked(EDITOR, ASKED);
    let failed = json!({"agent": "researcher", "state": "failed", "error": "no library"});
    go_on(&mut request, &[failed]);
    let writing = go_on(&mut request, &[from("article-writer", "Draft.")]);
    assert_eq!(writing[0].1["findings"], ASKED, "there is nothing better");
    let failed = json!({"agent": "critic", "state": "failed", "error": "asleep"});
    go_on(&mut request, &[failed]);
    assert_eq!(
        said(&request),
        "Draft.\n\nresearcher failed: no library\n\ncritic failed: asleep"
    );
}

/// spec: SOP-10.2
#[test]
fn whoever_names_one_agent_gets_that_one_alone() {
    let mut request = asked(EDITOR, "ask the critic to check this: It rains.");
    let checking = go_on(&mut request, &[from("critic", "Short.")]);
    let expected = json!({"task": "ask the critic to check this: It rains.", "draft": "It rains."});
    assert_eq!(checking, [("agent_critic".to_owned(), expected)]);
    assert_eq!(said(&request), format!("critic says: Short.\n{UNCHECKED}"));

    let words = "ask the critic about the 10:00 train, see http://x.org";
    let mut timed = asked(EDITOR, words);
    let checking = go_on(&mut timed, &[from("critic", "Late.")]);
    assert_eq!(checking[0].1["draft"], words, "no colon ends a word");

    let mut two = asked(EDITOR, "ask researcher and article-writer about rain");
    assert_eq!(
        go_on(&mut two, &[from("researcher", "Wet.")])[0].0,
        "agent_researcher"
    );
    assert_eq!(
        go_on(&mut two, &[from("article-writer", "Rain.")])[0].0,
        "agent_article-writer"
    );
    assert_eq!(said(&two), "Rain.");
}

/// spec: SOP-10.3
#[test]
fn what_needs_nobody_is_answered_without_anybody() {
    for words in ["hello", "who are you?", "Good morning!", "Thank you"] {
        let text = said(&asked(EDITOR, words));
        assert!(
            text.starts_with("I am an offline stand-in"),
            "{words}: {text}"
        );
    }
}

/// spec: SOP-10.3
#[test]
fn a_sum_is_counted_without_anybody_where_nobody_does_such_things() {
    let mut request = asked(EDITOR, "What is 7 times 6?");
    assert!(said(&request).starts_with("7 times 6 is 42."));
    request.tools.push(ToolSpec {
        description: "Counts: what 7 times 6 is, and other products".to_owned(),
        ..tool(
            "agent_products",
            json!({"task": {"type": "string"}}),
            &["task"],
        )
    });
    let called: Vec<String> = calls(&request).into_iter().map(|call| call.name).collect();
    assert_eq!(called, ["agent_products"], "who does such things is asked");
}

/// spec: SOP-10.2
#[test]
fn without_steps_that_name_a_tool_the_words_decide() {
    let mut request = asked(
        "## Steps\n1. Ask `nobody`.\n2. Think.",
        "do what a critic does",
    );
    let made = go_on(&mut request, &[from("critic", "Done.")]);
    assert_eq!(made[0].0, "agent_critic");
    assert_eq!(said(&request), format!("critic says: Done.\n{UNCHECKED}"));
}

#[test]
fn files_are_chosen_by_the_words_and_of_long_ones_the_fitting_passages_are_told() {
    let filler = "Of other things there is much to say as well. ".repeat(20);
    let file = format!("# Mailboxes\n\n{filler}\n\nMail that nobody\nfetches waits.\n\n{filler}");
    let steps = "## Steps\n1. Read with `read_file` what fits.\n2. Answer with what it says.";
    let mut request = asked(steps, "Find out: why mail waits");
    let paths = json!({"path": {"type": "string", "enum": ["refs/money.md", "refs/mail.md", "refs/waiting.md"]}});
    request.tools = vec![tool("read_file", paths, &["path"])];
    let read = go_on(&mut request, &[json!(file), json!("Who waits, wins.")]);
    let paths: Vec<&Value> = read
        .iter()
        .map(|(_, arguments)| &arguments["path"])
        .collect();
    assert_eq!(paths, ["refs/mail.md", "refs/waiting.md"]);
    assert_eq!(
        said(&request),
        "Mail that nobody fetches waits. (refs/mail.md)\n\nWho waits, wins. (refs/waiting.md)"
    );
}

#[test]
fn files_that_say_nothing_about_it_are_not_told() {
    let steps = "## Steps\n1. Read with `read_file` what fits.\n2. Answer with what it says.";
    let mut request = asked(steps, "Find out about bananas");
    let paths = json!({"path": {"type": "string", "enum": ["refs/money.md", "refs/mail.md"]}});
    request.tools = vec![tool("read_file", paths, &["path"])];
    go_on(&mut request, &[json!("Coins."), json!("Letters.")]);
    assert_eq!(
        said(&request),
        "Nothing about \"bananas\" is in refs/money.md, refs/mail.md."
    );
    let Answer::Text(_, undone) = answer(&request) else {
        panic!("it has an answer");
    };
    assert_eq!(undone, Some(crate::Undone::Part));
}

/// As supervisors offer agents that take a request in words.
#[test]
fn agents_that_take_words_alone_get_what_was_found_in_words() {
    let mut request = asked(
        "## Steps\n1. Ask `finder`.\n2. Ask `maker`.",
        "a text about mail",
    );
    let words = || json!({"request": {"type": "string"}, "skill": {"enum": ["x"]}, "input": {"type": "object"}});
    request.tools = vec![
        tool("agent_finder", words(), &["request"]),
        tool("agent_maker", words(), &["request"]),
    ];
    go_on(&mut request, &[from("finder", "Found.")]);
    let making = go_on(&mut request, &[from("maker", "Made.")]);
    assert_eq!(
        making[0].1,
        json!({"request": "Ask maker.: a text about mail\n\nFound."})
    );
}

/// spec: SOP-10.1
#[test]
fn what_a_step_wants_begins_behind_the_whole_name() {
    for step in [
        "Ask the critic-agent to look for faults.",
        "Ask the critic agent to look for faults.",
        "Ask the `critic`-agent to look for faults.",
        "Ask `critic` to look for faults.",
    ] {
        let instructions = format!("## Steps\n\n1. {step}\n2. Answer with what it said.");
        let calls = calls(&asked(&instructions, "Bees"));
        assert_eq!(calls.len(), 1, "{step}");
        let task = calls[0].arguments["task"].as_str().unwrap_or_default();
        assert!(task.starts_with("Look for faults"), "{step}: {task}");
    }
}

/// spec: SOP-8.7
#[test]
fn what_nobody_of_the_team_does_is_nobodys() {
    for words in ["knit me a sweater", "Please sing"] {
        let Answer::Text(text, undone) = answer(&asked(EDITOR, words)) else {
            panic!("nobody is to be asked: {words}");
        };
        assert!(text.starts_with("I found nobody for that"), "{text}");
        assert_eq!(undone, Some(crate::Undone::All));
    }
    let alone = "## Steps\n1. Ask `critic`.";
    for (words, is_unclear) in [("What is rain?", true), ("What does a critic do?", false)] {
        let mut request = asked(alone, words);
        go_on(&mut request, &[from("critic", "Wet.")]);
        let Answer::Text(text, found) = answer(&request) else {
            panic!("it has an answer");
        };
        assert_eq!(found, Some(crate::Undone::Part), "{text}");
        assert_eq!(text.contains("takes a language model"), is_unclear);
    }
}

/// spec: ORC-2.1, SOP-8.7
#[test]
fn steps_are_not_done_for_words_that_forbid() {
    for words in ["do not write about rain", "Never ask for an article"] {
        let Answer::Text(text, undone) = answer(&asked(EDITOR, words)) else {
            panic!("nobody is to be asked: {words}");
        };
        assert!(text.contains("a negation"), "{text}");
        assert_eq!(undone, Some(crate::Undone::All));
    }
    let beside = asked(EDITOR, "Write about rain, and do not mention wind");
    assert_eq!(calls(&beside)[0].name, "agent_researcher");
}

/// spec: SOP-8.7
#[test]
fn steps_are_not_done_for_words_that_address_somebody_who_is_nobody() {
    let by_editor = |words: &str| {
        let mut request = asked(EDITOR, words);
        request.asker = Some(Asker {
            id: "editor-7".to_owned(),
            is_instructed: true,
        });
        request
    };
    for words in [
        "ask ghost to write about rain",
        "ask ghost \"rain\"",
        "@ghost rain",
        // The instructions' words are no names.
        "ask the lead to write about rain",
        "write agent_ghost about rain",
    ] {
        let Answer::Text(text, undone) = answer(&by_editor(words)) else {
            panic!("nobody is to be asked: {words}");
        };
        assert!(text.starts_with("I know no agent called "), "{text}");
        for name in ["researcher", "article-writer", "critic"] {
            assert!(text.contains(&format!("- agent_{name}")), "{name}: {text}");
        }
        assert_eq!(undone, Some(crate::Undone::All));
    }
    let own = by_editor("ask editor-7 to write about rain");
    assert_eq!(calls(&own)[0].name, "agent_researcher");
}

/// spec: SOP-8.7
#[test]
fn a_step_that_calls_nobody_is_named_with_the_answer() {
    let steps = "## Steps\n1. Ask `critic` to look at it.\n2. Send it by e-mail to Anna.\n3. Ask `ghost` to print it.\n4. Answer with what it said.";
    let mut request = asked(steps, "Look at this: It rains.");
    go_on(&mut request, &[from("critic", "Wet.")]);
    let said = said(&request);
    let expected = "(Nobody did: \"Send it by e-mail to Anna.\"; \"Ask `ghost` to print it.\".)";
    assert!(said.contains(expected), "{said}");
}
