//! Lists, and abbreviated ids.

use std::fs;

use serde_json::Value;

use crate::{
    harness::{System, eventually},
    runs_cli::surviving::{frames_to, hub_of, start},
};

/// A brief whose first draft passes the review.
const BRIEF: &str = "\
objective: Tell the neighbours that the library opens on Monday
payload:
  clientBrief: The town library opens again on Monday at nine. There is coffee.
  mustInclude: [Monday]
constraints: {qualityThreshold: 0.5}
";

#[test]
fn a_task_is_named_by_the_beginning_of_its_id_or_as_the_latest() {
    let (system, _broker) = System::broker();
    let _echo = system.start_echo("agent_echo");
    for task in ["t-alpha", "t-beta"] {
        let told = [
            "publish",
            "--to",
            "agent_echo",
            "--task",
            task,
            "--wait",
            "-",
        ];
        let answer = system.run(&told, &format!("hello {task}\n"));
        assert_eq!(answer.stdout, format!("Echo: hello {task}"), "{answer:?}");
    }
    let shown = |id: &str| system.run(&["tasks", "show", id], "");
    let beginning = shown("t-a");
    assert!(
        beginning.stdout.starts_with("task t-alpha is completed"),
        "{beginning:?}"
    );
    assert!(shown("latest").stdout.starts_with("task t-beta"));
    let both = shown("t-");
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.stderr.contains("t-alpha") && both.stderr.contains("t-beta"));
    assert_eq!(shown("nothing").code, Some(1));

    let one = system.run(&["tasks", "list", "--first", "1"], "");
    assert_eq!(one.stdout.lines().count(), 2, "{one:?}");
    assert!(one.stdout.contains("SINCE (UTC)"), "{one:?}");
    assert!(one.stderr.contains("there are more"), "{one:?}");
    let all = system.run(&["tasks", "list"], "");
    assert_eq!((all.stdout.lines().count(), &*all.stderr), (3, ""));

    let silent = system.run(&["publish", "--to", "agent_echo", "-"], "\n");
    assert_eq!(silent.code, Some(2), "nothing was begun: {silent:?}");
}

/// spec: ORC-9
#[test]
fn an_app_run_is_one_row_and_what_it_led_to_is_shown_on_request() {
    let system = System::bare("127.0.0.1:1".to_owned());
    fs::write(system.folder().join("brief.yaml"), BRIEF).expect("the folder is ours");
    // It waits for an approval at its last step, so that it can be listed.
    let run = start(
        &system,
        &[
            "run",
            "brief.yaml",
            "--here",
            "--json",
            "--approval",
            "qa.review",
        ],
    );
    let asked = frames_to(&run, "approval");
    let id = asked[0]["correlationId"].as_str().expect("an id");
    let hub = hub_of(&run);
    let of_hub = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--hub", &hub]).collect();
        system.run(&args, "")
    };
    let rows = |args: &[&str]| -> Vec<Value> {
        let listed = of_hub(args);
        let rows = listed.stdout.lines();
        rows.map(|row| serde_json::from_str(row).expect("JSON"))
            .collect()
    };
    let asked_for = rows(&["runs", "list", "--json"]);
    assert_eq!(asked_for.len(), 1, "{asked_for:?}");
    assert_eq!(asked_for[0]["id"], id);
    let all = rows(&["runs", "list", "--json", "--all"]);
    assert_eq!(
        all.len(),
        4,
        "its own, and those of its three steps: {all:?}"
    );
    let listed = of_hub(&["runs", "list"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{listed:?}");
    assert!(
        listed.stderr.contains("3 runs that these led to"),
        "{listed:?}"
    );
    for given in ["latest", &id[..9]] {
        let shown = of_hub(&["runs", "show", given]);
        assert!(shown.stdout.contains(&format!("run {id} is")), "{shown:?}");
        assert!(shown.stdout.contains("(an estimate)"), "{shown:?}");
    }
    let refused = of_hub(&["runs", "refuse", "latest", "--comment", "not today"]);
    assert_eq!(refused.code, Some(0), "{refused:?}");
    let last = frames_to(&run, "complete").pop().expect("the end");
    let why = last["data"]["quality"]["explanation"].as_str();
    let why = why.expect("it says why");
    assert!(why.starts_with("a person refused step "), "{why}");
    assert!(why.contains("not today"), "{why}");
}

/// An agent that an earlier process had registered is waited for, though not for long, and with a message.
#[test]
fn a_run_in_a_process_of_its_own_says_for_whom_it_waits() {
    let system = System::bare("127.0.0.1:1".to_owned());
    fs::write(system.folder().join("brief.yaml"), BRIEF).expect("the folder is ours");
    let first = start(
        &system,
        &[
            "run",
            "brief.yaml",
            "--here",
            "--json",
            "--approval",
            "plan.strategy",
        ],
    );
    frames_to(&first, "approval");
    let hub = hub_of(&first);
    let far = system.start(&["agent", "echo", "--name", "agent_far", "--hub", &hub]);
    eventually("it is known", || {
        let shown = system.run(&["agents", "show", "agent_far", "--hub", &hub], "");
        (shown.code == Some(0)).then_some(())
    });
    drop(far);
    first.kill();
    let second = start(&system, &["run", "brief.yaml", "--here"]).wait();
    // The best there is without a language model.
    assert_eq!(second.code, Some(3), "{second:?}");
    assert!(
        second.stderr.contains(
            "waiting 2 s at most for agents that were here before and are away: agent_far"
        ),
        "{second:?}"
    );
}
