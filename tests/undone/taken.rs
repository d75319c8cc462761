//! Messages that are addressed to nobody: who takes them, and nobody.

use std::fs;

use crate::harness::System;

/// spec: HUB-3
#[test]
fn publish_says_who_takes_what_is_addressed_to_nobody() {
    let (system, _up) = System::up();
    let publish = |args: &[&str]| system.run(&[&["publish"][..], args].concat(), "");
    for (args, says) in [
        (
            &["--task-type", "echo_request", "hi"][..],
            "taken by who takes tasks of the type echo_request: agent_echo",
        ),
        (
            &["--task-type", "paint", "the fence"],
            "no agent that is here says that it takes tasks of the type paint",
        ),
        (&["hi"], "it names no agent and no task type"),
        (
            &["--event", "tide.high", "hi"],
            "an event of the type tide.high: runs of workflows have it that wait for it",
        ),
    ] {
        let sent = publish(args);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        assert!(sent.stderr.contains(says), "{args:?}: {sent:?}");
    }
    let unnamed = publish(&["--wait", "hi"]);
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
    assert!(unnamed.stderr.contains("nobody to wait for"), "{unnamed:?}");
    let echoed = publish(&["--task-type", "echo_request", "--wait", "hi"]);
    assert_eq!(echoed.code, Some(0), "{echoed:?}");
    let nobody = publish(&["--task-type", "paint", "--wait", "the fence"]);
    // Had it waited, the patience of this test would have ended first.
    assert_eq!((nobody.code, &*nobody.stdout), (Some(1), ""), "{nobody:?}");
    assert!(nobody.stderr.contains("nothing was sent"), "{nobody:?}");
}

/// spec: ORC-2.3
#[test]
fn data_without_a_task_type_is_for_the_skill_that_takes_it() {
    let (system, _up) = System::up();
    let ask = |agent: &str, data: &str, words: &str| {
        let args = ["publish", "--wait", "--to", agent, "--data", data, words];
        system.run(&args, "")
    };
    let draft =
        r#"{"draft": "The ferry sails at nine.", "acceptanceCriteria": ["mentions \"ferry\""]}"#;
    let reviewed = ask("qa", draft, "");
    assert!(
        reviewed.stdout.contains("mentions \"ferry\": pass"),
        "{reviewed:?}"
    );
    assert!(
        !reviewed
            .stdout
            .contains("The words of the request are the draft"),
        "{reviewed:?}"
    );
    let brief = r#"{"writerBrief": "The ferry sails at nine."}"#;
    let written = ask("writer", brief, "");
    assert_eq!(written.code, Some(3), "no model read it: {written:?}");
    let wished = ask("writer", brief, "Write it in rhymes, please");
    assert!(wished.stdout.contains("The ferry sails"), "{wished:?}");
    assert_eq!(wished.code, Some(3), "nobody read the words: {wished:?}");
}

/// spec: HUB-5.2
#[test]
fn an_agent_refuses_a_skill_that_it_does_not_have() {
    let (system, _up) = System::up();
    let folder = system.folder().join("flows");
    fs::create_dir_all(&folder).expect("the folder is ours");
    let text = "name: fixed\nsteps:\n  a: { agent: agent_echo, text: hi }\n";
    fs::write(folder.join("fixed.yaml"), text).expect("the folder is ours");
    let file = "name = 'agent_words'\n[[skill]]\nid = 'count'\ndescription = 'Counts words'\n[[tool]]\nname = 'count_words'\n\
        description = 'Counts the words of a text'\ncommand = ['sh', '-c', 'cat >/dev/null; echo 9 words']\n\
        input = { type = 'object', properties = { text = { type = 'string' } } }\n";
    fs::write(system.folder().join("words.toml"), file).expect("the folder is ours");
    let _served = system.start(&["workflow", "serve", "flows"]);
    let _worker = system.start(&["agent", "run", "words.toml"]);
    for (agent, skills) in [("fixed", "it has fixed"), ("agent_words", "it has count")] {
        system.wait_online(agent);
        let args = [
            "publish",
            "--to",
            agent,
            "--wait",
            "--task-type",
            "nosuchskill",
            "count the words",
        ];
        let refused = system.run(&args, "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        for part in ["has no skill \"nosuchskill\"", skills] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    let args = [
        "publish",
        "--to",
        "agent_words",
        "--wait",
        "--task-type",
        "count",
        "count_words text=words",
    ];
    let counted = system.run(&args, "");
    assert_eq!(counted.code, Some(0), "{counted:?}");
}
