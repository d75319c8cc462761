//! Requests that state everything outright, as the README's rule has it, and those that only seem to.

use std::fs;

use crate::harness::{Finished, System};

/// An agent with a program as its tool: it says what it got.
const KIOSK: &str = "name = 'kiosk'\ndescription = 'Knows prices'\n[[tool]]\nname = 'price_of'\ndescription = 'Tells a price'\ncommand = ['cat']\n\
    input = { type = 'object', required = ['item'], properties = { item = { type = 'string' }, count = { type = 'integer' } } }\n\
    [[tool]]\nname = 'flood'\ndescription = 'Prints much'\ncommand = ['sh', '-c', 'head -c 300000 /dev/zero | tr \"\\0\" x']\ninput = { type = 'object' }\n\
    [[tool]]\nname = 'nothing'\ndescription = 'Prints null'\ncommand = ['echo', 'null']\ninput = { type = 'object' }\n";

/// Requests for the agent of [`KIOSK`] that the README has, with the input that the tool gets.
const FOR_KIOSK: [(&str, &str); 6] = [
    ("price_of \"apple\"", r#"{"item":"apple"}"#),
    ("price_of item=apple", r#"{"item":"apple"}"#),
    (
        "price_of {\"item\": \"apple\", \"count\": 3}",
        r#"{"item":"apple","count":3}"#,
    ),
    (
        "price_of item=apple count=3",
        r#"{"item":"apple","count":3}"#,
    ),
    ("price_of item='red apple'", r#"{"item":"red apple"}"#),
    ("ask kiosk to price_of item=apple", r#"{"item":"apple"}"#),
];

/// Requests for the chat that the README has, with their exit code and a part of the answer.
const FOR_CHAT: [(&str, i32, &str); 16] = [
    ("echo \"hello there\"", 0, "Echo: hello there"),
    ("please echo \"hi\"", 0, "Echo: hi"),
    ("ask agent_echo to echo \"hi\"", 0, "Echo: hi"),
    ("agent_echo \"hi\"", 0, "Echo: hi"),
    ("ask agent_echo \"Hello hub\"", 0, "Echo: Hello hub"),
    ("ask agent_echo hello", 3, "Echo: hello"),
    ("agent_echo hello", 3, "Echo: hello"),
    ("hello", 0, "offline stand-in"),
    ("who are you?", 0, "offline stand-in"),
    ("thanks", 0, "offline stand-in"),
    ("what can you do?", 0, "offline stand-in"),
    ("7 times 6", 0, "is 42."),
    ("what is 12 + 3 x 2?", 0, "is 18."),
    ("echo \"hi\".", 3, "no language model checked"),
    ("echo \"hi\" twice", 3, "no language model checked"),
    ("can't you echo \"hi\"", 3, "no language model checked"),
];

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    fs::read_to_string(path).expect("the README is there")
}

/// The hub, and on it the agent of [`KIOSK`].
fn with_kiosk(test: impl Fn(&System, &dyn Fn(&str) -> Finished)) {
    let (system, _up) = System::up();
    fs::write(system.folder().join("kiosk.toml"), KIOSK).expect("the folder is ours");
    let _kiosk = system.start(&["agent", "run", "kiosk.toml"]);
    system.wait_online("kiosk");
    let ask = |words: &str| system.run(&["publish", "--to", "kiosk", "--wait", words], "");
    test(&system, &ask);
}

/// spec: ORC-2.1
#[test]
fn every_example_of_the_readme_ends_as_it_says() {
    let readme = readme();
    let is_there = |words: &str| assert!(readme.contains(words), "{words}");
    with_kiosk(|system, ask| {
        for (words, input) in FOR_KIOSK {
            is_there(words);
            let asked = ask(words);
            assert_eq!(asked.code, Some(0), "{words}: {asked:?}");
            assert!(asked.stdout.contains(input), "{words}: {asked:?}");
        }
        is_there("`count=03`");
        let padded = ask("price_of item=apple count=03");
        assert_eq!(padded.code, Some(1), "{padded:?}");
        let told = "I have not called price_of. What stands behind the name does not fit";
        assert!(padded.stdout.contains(told), "{padded:?}");
        for (words, code, part) in FOR_CHAT {
            is_there(words);
            let asked = system.chat(&format!("{words}\n"));
            assert_eq!(asked.code, Some(code), "{words}: {asked:?}");
            assert!(asked.stdout.contains(part), "{words}: {asked:?}");
        }
        let lines = system.chat("echo \"hi\"\necho hi\n");
        assert_eq!(lines.code, Some(3), "the worst of the lines: {lines:?}");
    });
}

/// spec: ORC-2.1
#[test]
fn what_can_be_read_in_two_ways_does_not_leave_with_0() {
    with_kiosk(|system, ask| {
        for words in [
            "price_of {\"item\":\"a\",\"item\":\"b\"}",
            "price_of item=\"a\"count=\"3\"",
            "price_of item=a;count=3",
            "price_of item=a?",
            "price_of item=a.",
            "price_of item=a item=b",
            "price_of item=a count=99999999999999999999",
            "price_of item=a count=1e400",
            "price_of item=a count=007",
            "ask shop to price_of item=a",
        ] {
            let asked = ask(words);
            assert!(matches!(asked.code, Some(1 | 3)), "{words}: {asked:?}");
        }
        for words in [
            "2026-11-25",
            "555-1234",
            "2/3?",
            "24/7",
            "7 - eleven",
            "1 / 0",
        ] {
            let asked = system.chat(&format!("{words}\n"));
            assert!(matches!(asked.code, Some(1 | 3)), "{words}: {asked:?}");
        }
        let misfit = system.chat("echo text=hi\n");
        assert_eq!(misfit.code, Some(3), "{misfit:?}");
        let told = "does not fit echo: its card names no inputs";
        assert!(misfit.stdout.contains(told), "{misfit:?}");
        let misfit = ask("price_of colour=red");
        assert_eq!(misfit.code, Some(1), "{misfit:?}");
        for told in [
            "`colour` is none of its inputs",
            "Its inputs are count (integer), item (string, required).",
        ] {
            assert!(misfit.stdout.contains(told), "{misfit:?}");
        }
        let data = [
            "publish",
            "--to",
            "kiosk",
            "--wait",
            "--data",
            r#"{"colour": "red"}"#,
            "",
        ];
        let alone = system.run(&data, "");
        assert_eq!(alone.code, Some(1), "{alone:?}");
        assert!(alone.stdout.contains("I have called none"), "{alone:?}");
        let quoted = system.chat("kiosk \"price_of item=apple\"\n");
        assert_eq!(quoted.code, Some(0), "both are stated outright: {quoted:?}");
    });
}

/// spec: ORC-2.1
#[test]
fn an_answer_that_was_cut_is_a_part_whoever_passes_it_on() {
    with_kiosk(|system, ask| {
        let flood = ask("flood {}");
        assert_eq!(flood.code, Some(3), "{:?}", flood.stderr);
        let left_out = format!("[… {} bytes left out]", 300_000 - 60 * 1024);
        assert!(flood.stdout.contains(&left_out), "{:?}", flood.stderr);
        let words = format!("price_of \"{}\"", "x".repeat(66_000));
        assert_eq!(ask(&words).code, Some(3), "it comes back cut");
        let lead = [
            "agent",
            "supervisor",
            "--name",
            "lead",
            "--description",
            "Leads",
        ];
        let _lead = system.start(&lead);
        system.wait_online("lead");
        let args = ["publish", "--to", "lead", "--wait", "kiosk \"flood {}\""];
        let passed = system.run(&args, "");
        assert_eq!(passed.code, Some(3), "{:?}", passed.stderr);
        let null = ask("nothing {}");
        assert_eq!(null.code, Some(0), "{null:?}");
        assert!(null.stdout.contains("nothing says: null"), "{null:?}");
        let none = system.chat("7 / 0\n");
        assert_eq!(none.code, Some(1), "{none:?}");
        assert!(none.stdout.contains("7 / 0 has no result"), "{none:?}");
    });
}

/// spec: HUB-3
#[test]
fn a_request_without_words_is_wrong_usage() {
    let (system, _up) = System::up();
    for text in ["", " \n\t"] {
        let args = ["publish", "--to", "agent_echo", "--wait", text];
        let blank = system.run(&args, "");
        assert_eq!(blank.code, Some(2), "{blank:?}");
        assert!(blank.stderr.contains("the text is blank"), "{blank:?}");
    }
    let args = ["publish", "--to", "agent_echo", "--wait", "-"];
    let blank = system.run(&args, " \n");
    assert_eq!(blank.code, Some(2), "{blank:?}");
    assert!(system.json(&["tasks", "list", "--json"]).is_empty());
}

/// spec: ORC-12.3
#[test]
fn the_tasks_of_a_chat_are_those_of_its_conversation() {
    let (system, _up) = System::up();
    let chat = system.chat("echo \"hi\"\n/tasks\n");
    assert!(chat.stdout.contains("agent_echo"), "{chat:?}");
    let other = system.chat("/tasks\n");
    assert_eq!(other.code, Some(0), "{other:?}");
    for part in ["no tasks in this conversation", "agenthub tasks list"] {
        assert!(other.stdout.contains(part), "{other:?}");
    }
}
