//! Diagnostics of files, other people's included.

use std::fs;

use serde_json::Value;

use super::{SOPS, alone, ask, json_of, write};

const LEAD: &str = "---\nname: lead\ndescription: Leads\ntype: orchestrator\n---\nYou lead.\n";

/// spec: SOP-4.1, SOP-4.2, SOP-4.3
#[test]
fn the_team_of_the_repository_is_fine() {
    let system = alone();
    let check = system.run(&["sop", "check", SOPS, "--json"], "");
    assert_eq!(check.code, Some(0), "{check:?}");
    let value = json_of(&check);
    assert_eq!(value["ok"], true);
    assert_eq!(value["faults"], serde_json::json!([]), "{value:#}");
    assert_eq!(value["orchestrator"]["name"], "editor");
    let agents = value["agents"].as_array().expect("agents");
    let names: Vec<&Value> = agents.iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["article-writer", "critic", "researcher"]);
}

/// spec: SOP-2.1, SOP-2.3, SOP-2.4, SOP-2.6, SOP-4.4
#[test]
fn all_that_is_wrong_with_a_folder_is_said_at_once_with_its_place() {
    let system = alone();
    write(
        system.folder(),
        &[
            ("team/lead.md", LEAD),
            (
                "team/nameless.md",
                "---\ndescription: x\ninputs:\n  n: {type: enum}\n---\nWork.\n",
            ),
            (
                "team/odd.md",
                "---\nname: odd\ndescription: x\ntype: boss\n---\nWork.\n",
            ),
            (
                "team/other.md",
                "---\nname: different\ndescription: x\n---\nWork.\n",
            ),
            (
                "team/open.md",
                "---\nname: open\ndescription: a: b\n---\nWork.\n",
            ),
            (
                "team/tool.md",
                "---\nname: tool\ndescription: x\ntools: [nobody]\n---\nWork.\n",
            ),
        ],
    );
    let check = system.run(&["sop", "check", "team"], "");
    assert_eq!(check.code, Some(1), "{check:?}");
    for part in [
        "nameless.md:1:1",
        "`name` is missing",
        "nameless.md:4:",
        "an enum without values",
        "odd.md:4:7",
        "orchestrator",
        "other.md:2:7",
        "open.md:3:",
        "quotes",
        "tool.md:4:9",
        "nobody",
    ] {
        assert!(check.stderr.contains(part), "{part}: {}", check.stderr);
    }
    let json = system.run(&["sop", "check", "--json", "team"], "");
    assert_eq!(json.code, Some(1), "{json:?}");
    let value = json_of(&json);
    let faults = value["faults"].as_array().expect("faults");
    assert_eq!(value["ok"], false);
    let placed = |fault: &&Value| fault["line"].is_u64() && fault["help"].is_string();
    assert!(faults.iter().filter(placed).count() >= 6, "{value:#}");
    let severities: Vec<&Value> = faults.iter().map(|fault| &fault["severity"]).collect();
    assert!(severities.contains(&&Value::from("warning")), "{value:#}");
}

/// spec: SOP-1.5, SOP-4.5, SOP-4.6, SOP-7.5, SOP-7.6, SOP-7.7
#[test]
fn a_folder_needs_exactly_one_who_leads() {
    let system = alone();
    let said = |args: &[&str]| {
        let finished = system.run(args, "");
        // A folder or a file that is not there is wrong usage, also of a check.
        let is_there = args[1] == "check" && args.last() == Some(&"empty");
        let code = if is_there { 1 } else { 2 };
        assert_eq!(finished.code, Some(code), "{finished:?}");
        finished.stderr
    };
    for command in ["ask", "check"] {
        let mut args = vec!["sop", command, "gone"];
        args.extend((command == "ask").then_some("hello"));
        let gone = said(&args);
        assert!(gone.contains("gone"), "{gone}");
    }
    let nowhere = said(&["sop", "check"]);
    assert!(nowhere.contains("sops"), "{nowhere}");
    fs::create_dir(system.folder().join("empty")).expect("the folder is ours");
    let empty = said(&["sop", "check", "empty"]);
    for part in ["holds no SOPs", "no orchestrator"] {
        assert!(empty.contains(part), "{part}: {empty}");
    }
    write(
        system.folder(),
        &[
            ("two/lead.md", LEAD),
            ("two/second.md", &LEAD.replace("lead", "second")),
        ],
    );
    let two = said(&["sop", "ask", "--here", "two", "hello"]);
    assert!(
        two.contains("lead.md") && two.contains("second.md"),
        "{two}"
    );
    let missing = said(&["sop", "check", "two/nobody.md"]);
    assert!(missing.contains("nobody.md"), "{missing}");

    let worker = "---\nname: helper\ndescription: Repeats words\n---\nRepeat.\n";
    write(system.folder(), &[("one/helper.md", worker)]);
    assert!(said(&["sop", "ask", "--here", "one", "hello"]).contains("no orchestrator"));
    write(
        system.folder(),
        &[("agenthub.toml", "[sop]\ndefault_orchestrator = true\n")],
    );
    let (finished, value) = ask(&system, "one", "ask helper to repeat this: so be it");
    assert_eq!(
        finished.code,
        Some(3),
        "nobody judged what is laid out: {finished:?}"
    );
    assert_eq!(super::asked(&value), ["helper"], "{value:#}");
}

/// spec: SOP-1.1, SOP-1.4, SOP-3.4, SOP-4.1
#[test]
fn a_folder_of_somebody_else_makes_a_team() {
    let system = alone();
    let sop = "# Summarizer\n\n## Overview\n\nThis SOP shortens a text.\n\n## Parameters\n\n\
        - **notes** (required): The text to shorten\n- **length** (optional, default: \"short\"): How long\n\n\
        ## Steps\n\n### 1. Read\n\nRead the notes.\n\n**Constraints:**\n- You MUST keep all numbers\n";
    let skill = "---\nname: house-style\ndescription: Knows how this house writes. Use when a text is to fit the house.\n\
        license: MIT\nmetadata:\n  version: \"2.1\"\nallowed-tools: Read\n---\n\n# House style\n\n## Steps\n\n\
        1. Read with `read_file` what there is.\n2. Answer with it.\n";
    let lead = "---\nname: lead\ndescription: Leads\ntype: orchestrator\n---\n## Steps\n\n\
        1. Ask `summarizer` for a summary, and ask `house-style` for the house style.\n\
        2. Answer with the summary of `summarizer` and the style of `house-style`.\n";
    write(
        system.folder(),
        &[
            ("theirs/summarizer.sop.md", sop),
            ("theirs/house-style/SKILL.md", skill),
            (
                "theirs/house-style/references/dashes.md",
                "Dashes in texts are short.\n",
            ),
            ("theirs/README.md", "# About these files\n"),
            ("theirs/lead.md", lead),
        ],
    );
    let check = system.run(&["sop", "check", "theirs", "--json"], "");
    assert_eq!(check.code, Some(0), "{check:?}");
    let value = json_of(&check);
    let inputs = &value["agents"][1]["inputs"];
    assert_eq!(value["agents"][1]["name"], "summarizer", "{value:#}");
    assert_eq!(
        inputs["required"],
        serde_json::json!(["notes"]),
        "{value:#}"
    );
    assert_eq!(inputs["properties"]["length"]["default"], "short");
    assert_eq!(value["agents"][1]["rules"], 1);
    assert_eq!(value["agents"][0]["version"], "2.1");

    let (finished, value) = ask(&system, "theirs", "Shorten texts: It rained on 12 days.");
    assert_eq!(finished.code, Some(3), "nobody shortened it: {finished:?}");
    let answer = value["answer"].as_str().unwrap_or_default();
    for part in [
        "It rained on 12 days.",
        "Dashes in texts are short. (references/dashes.md)",
    ] {
        assert!(answer.contains(part), "{part}: {value:#}");
    }
}

/// spec: SOP-2.1
#[test]
fn a_new_file_is_one_to_go_on_with() {
    let system = alone();
    let new = |args: &[&str]| {
        let args: Vec<&str> = ["sop", "new"].iter().chain(args).copied().collect();
        system.run(&args, "")
    };
    let made = new(&["helper"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.stdout.contains("sops/helper.md"), "{made:?}");
    let led = new(&["lead", "--orchestrator"]);
    assert_eq!(led.code, Some(0), "{led:?}");
    let check = system.run(&["sop", "check"], "");
    assert_eq!(check.code, Some(0), "{check:?}");
    assert_eq!(check.stderr, "", "{check:?}");

    let path = system.folder().join("sops/helper.md");
    fs::write(&path, "mine").expect("the folder is ours");
    let again = new(&["helper"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "mine");
    let second = new(&["boss", "--orchestrator"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("lead.md"), "{second:?}");
    let route = new(&["cortex"]);
    assert_eq!(route.code, Some(1), "{route:?}");
}

#[test]
fn a_check_refuses_what_asking_refuses() {
    let system = alone();
    let agent = "---\nname: helper\ndescription: x\nmodel: us.amazon.nova-pro-v1:0\n---\nWork.\n";
    write(
        system.folder(),
        &[("team/lead.md", LEAD), ("team/helper.md", agent)],
    );
    for args in [
        &["sop", "check", "team"][..],
        &["sop", "ask", "--here", "team", "hello"],
    ] {
        let refused = system.run(args, "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("names no provider"), "{refused:?}");
    }
}

/// A file that asks somebody who is not there is not fine, however unlike all names, and however short.
#[test]
fn whoever_is_asked_and_not_there_is_told() {
    let system = alone();
    let lead = LEAD.replace(
        "You lead.",
        "## Steps\n\n1. Ask `zebra` for `notes`, and `vet` for the rest.\n2. Ask `cat` and `ox`.\n\n## Rules\n\n- You MUST ask `vett`.\n- The answer MUST have `id` first.",
    );
    write(
        system.folder(),
        &[
            ("team/lead.md", &lead),
            (
                "team/vet.md",
                "---\nname: vet\ndescription: x\n---\nAsk `nobody`.\n",
            ),
        ],
    );
    for path in ["team", "team/lead.md"] {
        let check = system.run(&["sop", "check", path], "");
        assert_eq!(check.code, Some(0), "{check:?}");
        assert!(!check.stdout.contains("fine"), "{check:?}");
        assert!(check.stdout.contains("(4 warnings)"), "{check:?}");
        for name in ["zebra", "cat", "ox", "vett"] {
            let part = format!("nobody here is called `{name}`");
            assert!(check.stderr.contains(&part), "{part}: {}", check.stderr);
        }
        for part in [
            "did you mean `vet`?",
            "the agents of this folder are: `vet`",
        ] {
            assert!(check.stderr.contains(part), "{part}: {}", check.stderr);
        }
    }
}

/// Errors that only a check can find: unknown names, the leader, a model without its key.
#[test]
fn names_that_stand_for_nothing_are_told_with_what_was_meant() {
    let system = alone();
    let page = |name: &str, lines: &str, body: &str| {
        format!("---\nname: {name}\ndescription: x\n{lines}---\n{body}\n")
    };
    write(
        system.folder(),
        &[
            ("agenthub.toml", "[model]\nname = \"openai/gpt-5\"\n"),
            (
                "team/lead.md",
                &LEAD.replace("\n---\n", "\n---\nAsk `quik`, then `notes`.\n"),
            ),
            ("team/quick.md", &page("quick", "tools: [lead]\n", "Work.")),
            (
                "team/broken.md",
                &page("broken", "type: boss\ntools: [quikc, nobody]\n", "Work."),
            ),
        ],
    );
    let check = system.run(&["sop", "check", "team"], "");
    assert_eq!(check.code, Some(1), "{check:?}");
    for part in [
        "nobody here is called `quik`",
        "did you mean `quick`?",
        "`lead` leads this folder",
        "there is no tool `quikc`",
        "there is no tool `nobody`",
        "what there is: `quick`",
        "the model openai/gpt-5 of the settings cannot be used here",
    ] {
        assert!(check.stderr.contains(part), "{part}: {}", check.stderr);
    }
    assert!(!check.stderr.contains("called `notes`"), "{}", check.stderr);
    let dotted = system.run(&["sop", "new", "x.sop"], "");
    assert_eq!(dotted.code, Some(1), "{dotted:?}");
    assert!(dotted.stderr.contains("leave .sop out"), "{dotted:?}");
}
