//! Requests of which nothing, or not all, was done: each command says so with its exit code.

mod attached;
mod instructed;
mod outright;
mod taken;
mod teams;
mod workflows;

use std::fs;

use serde_json::Value;

use crate::harness::{PRESS, System, eventually};

/// Words that no agent and no tool fits.
const NONSENSE: &str = "knit me a sweater";

/// spec: ORC-2.1, ORC-11.3
#[test]
fn a_request_that_nobody_takes_does_not_leave_with_0() {
    let (system, _up, http) = System::up_with_http();
    let url = format!("http://{http}");
    let called = system.run(&["a2a", "call", &url, NONSENSE], "");
    assert_eq!(called.code, Some(1), "{called:?}");
    let chat = system.chat(&format!("{NONSENSE}\n"));
    assert_eq!(chat.code, Some(1), "{chat:?}");
    assert!(
        chat.stdout.contains("I found no agent for that"),
        "{chat:?}"
    );
    let writer = system.run(&["publish", "--to", "writer", "--wait", "write a poem"], "");
    assert_eq!(writer.code, Some(1), "it cannot: {writer:?}");
    let review = [
        "publish",
        "--to",
        "qa",
        "--wait",
        "Our shop opens on Monday",
    ];
    let review = system.run(&review, "");
    assert_eq!(
        review.code,
        Some(3),
        "nobody judged the most of it: {review:?}"
    );
    let half = system.chat("ask agent_echo to say hi and ask agent_ghost to fix the sink\n");
    assert_eq!(half.code, Some(3), "nobody fixes it: {half:?}");
    let nobody = "I know no agent called agent_ghost: what was for it, nobody did.";
    assert!(half.stdout.contains(nobody), "{half:?}");
    let fine = system.chat("echo \"hi\"\nwho are you?\n");
    assert_eq!(fine.code, Some(0), "{fine:?}");

    let to_cortex = [
        "publish",
        "--to",
        "cortex",
        "--task-type",
        "chat_request",
        "--wait",
    ];
    let asked = system.run(&[&to_cortex[..], &["--json", NONSENSE]].concat(), "");
    assert_eq!(asked.code, Some(1), "{asked:?}");
    let answer: Value = serde_json::from_str(&asked.stdout).expect("JSON");
    assert_eq!(
        (&answer["partial"], &answer["undone"]),
        (&true.into(), &"all".into())
    );
    let echoed = system.run(&[&to_cortex[..], &["echo 'hi'"]].concat(), "");
    assert_eq!(echoed.code, Some(0), "{echoed:?}");
    for list in [&["runs", "list"][..], &["tasks", "list"]] {
        let listed = system.run(list, "").stdout;
        for state in [
            "completed, nothing done",
            "completed, in part",
            "completed  ",
        ] {
            assert!(listed.contains(state), "{state}: {listed}");
        }
    }

    let run = ["run", "--mode", "chat", "--objective"];
    let nothing = system.run(&[&run[..], &[NONSENSE]].concat(), "");
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert_eq!(nothing.stdout, "", "there is no result");
    assert!(
        nothing.stderr.contains("I found no agent for that"),
        "{nothing:?}"
    );
    let results = ["runs", "results", "latest", "clicks=12"];
    let refused = system.run(&results, "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("made nothing"), "{refused:?}");
    let echoed = system.run(&[&run[..], &["echo 'hi'"]].concat(), "");
    assert_eq!(echoed.code, Some(0), "{echoed:?}");
    let kept = system.run(&results, "");
    assert_eq!(kept.code, Some(0), "{kept:?}");
}

/// spec: SOP-8.7
#[test]
fn a_team_that_does_nothing_of_a_request_does_not_leave_with_0() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let write = |file: &str, text: &str| {
        fs::write(system.folder().join(file), text).expect("the folder is there");
    };
    fs::create_dir(system.folder().join("team")).expect("the folder is there");
    write(
        "team/lead.md",
        "---\nname: lead\ndescription: Leads\ntype: orchestrator\n---\n## Steps\n\n1. Ask `helper` to do it.\n2. Ask `other` to write it.\n3. Answer with what `other` says.\n",
    );
    write(
        "team/helper.md",
        "---\nname: helper\ndescription: Helps\n---\nHelp.\n",
    );
    write(
        "team/other.md",
        "---\nname: other\ndescription: Writes\n---\nWrite.\n",
    );
    let finished = system.run(&["sop", "ask", "--here", "--json", "team", "sing"], "");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let answer: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(answer["partial"], true, "{answer:#}");
    assert_eq!(answer["data"]["undone"], "all", "{answer:#}");
    let states = answer["agents"].as_array().expect("two were asked").iter();
    let states: Vec<&Value> = states.map(|agent| &agent["state"]).collect();
    assert_eq!(states, ["partial", "partial"], "nothing is made of nothing");
}

/// spec: HUB-3
#[test]
fn an_agent_that_never_was_is_an_error_at_once_and_names_who_may_be_meant() {
    let (system, _up) = System::up();
    let meant = system.run(&["publish", "--to", "agent_ehco", "--wait", "hi"], "");
    assert_eq!(meant.code, Some(1), "{meant:?}");
    let why = "no agent called \"agent_ehco\" is known here; did you mean \"agent_echo\"?";
    // Had it waited, the patience of this test would have ended first.
    assert!(meant.stderr.contains(why), "{meant:?}");

    let run = [
        "run",
        "--mode",
        "chat",
        "--agent",
        "agent_ehco",
        "--objective",
        "hi",
    ];
    let named = system.run(&run, "");
    assert_eq!(named.code, Some(2), "{named:?}");
    assert!(named.stderr.contains(why), "{named:?}");

    // Without waiting, it may still come.
    let sent = system.run(&["publish", "--to", "agent_ehco", "hi"], "");
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stderr.contains("waits ten minutes"), "{sent:?}");
}

/// spec: HUB-8
#[test]
fn an_agent_that_goes_away_while_it_is_waited_for_is_named() {
    let (system, _broker) = System::durable_broker();
    let press = system.start_press();
    let words = "print hello on the printing press";
    let asking = system.start(&["publish", "--to", PRESS, "--wait", words]);
    // It has found the agent here.
    system.wait_begun(1);
    press.kill();
    let said = eventually("it says who is away", || {
        let said = asking.said();
        said.contains("agent_press is offline").then_some(said)
    });
    assert!(said.contains("waits for it for 2"), "{said}");
    system.let_go();
    let _press = system.start_press();
    let answered = asking.wait();
    assert_eq!(answered.code, Some(3), "words were matched: {answered:?}");
    assert!(answered.stdout.contains("pressed"), "{answered:?}");
    assert!(
        answered.stderr.contains("agent_press is back"),
        "{answered:?}"
    );
}

/// spec: ORC-11.3
#[test]
fn what_of_a_brief_nobody_took_is_not_met() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let brief = |extra: &str| {
        let text = format!(
            "objective: Tell the neighbours\npayload:\n  clientBrief: The library opens again on Monday at nine. All of the neighbours are welcome, and there is coffee.\n  language: en\n{extra}constraints:\n  \
             acceptanceCriteria: ['mentions \"library\"']\n"
        );
        fs::write(system.folder().join("brief.yaml"), text).expect("the folder is there");
        system.run(&["run", "--here", "brief.yaml"], "")
    };
    let met = brief("");
    assert_eq!(met.code, Some(3), "{met:?}");
    let unread = "1 of 1 criteria is met; no language model read the request: this is the best";
    assert!(met.stderr.contains(unread), "{met:?}");
    let misspelt = brief("  mustInclud: [Monday]\n");
    assert_eq!(misspelt.code, Some(2), "{misspelt:?}");
    let first =
        "`payload.mustInclud` is taken by no agent that is known; did you mean `mustInclude`?";
    assert!(misspelt.stderr.contains(first), "{misspelt:?}");
    fs::write(
        system.folder().join("brief.yaml"),
        "objective: Tell the neighbours\npayload:\n  clientBrief: The library opens on Monday.\n",
    )
    .expect("the folder is there");
    let unasked = system.run(&["run", "--here", "brief.yaml"], "");
    assert_eq!(
        unasked.code,
        Some(3),
        "nothing was asked of it: {unasked:?}"
    );
    assert!(
        unasked.stderr.contains("verdict  no criteria were given"),
        "{unasked:?}"
    );
}

/// Issue 26: what nobody did is not done, however well it measures; how many words there are is measured.
///
/// spec: ORC-2.4
#[test]
fn an_objective_that_nobody_acts_on_ends_with_nothing_made_and_the_reason() {
    let (system, _up) = System::up();
    let run = |criteria: &[&str]| {
        let criteria = criteria.iter().flat_map(|text| ["--criterion", text]);
        let args = ["run", "--objective", "Fix my kitchen sink"];
        let args: Vec<&str> = args.into_iter().chain(criteria).collect();
        system.run(&args, "")
    };
    for criteria in [&[][..], &["at most 5 words", "4 words", "20 characters"]] {
        let ended = run(criteria);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert_eq!(ended.stdout.trim(), "", "{ended:?}");
        for told in ["nothing was made", "nobody did what was asked"] {
            assert!(ended.stderr.contains(told), "{told}: {ended:?}");
        }
    }
    let shown = &system.json(&["runs", "show", "latest", "--json"])[0];
    assert_eq!(shown["undone"], "all", "{shown:#}");
    let quality = &shown["result"]["quality"];
    assert_eq!(quality["score"], serde_json::Value::Null, "{quality:#}");
    let listed = system.run(&["runs", "list"], "");
    assert!(
        listed.stdout.contains("completed, nothing made"),
        "{listed:?}"
    );
}

/// spec: ORC-2.2
#[test]
fn a_bare_number_of_words_is_measured() {
    let system = System::bare("127.0.0.1:1".to_owned());
    let brief = "objective: Tell the neighbours\npayload:\n  clientBrief: The library opens on Monday at nine o clock.\nconstraints:\n  \
                 acceptanceCriteria: ['9 words', '12 words']\n";
    fs::write(system.folder().join("brief.yaml"), brief).expect("the folder is there");
    let ended = system.run(&["run", "--here", "brief.yaml"], "");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let told = "1 of 2 criteria is met; not met \"12 words\"";
    assert!(ended.stderr.contains(told), "{ended:?}");
}

#[test]
fn a_brief_or_a_provider_that_is_not_there_is_wrong_usage() {
    let system = System::bare("127.0.0.1:1".to_owned());
    for (args, part) in [
        (&["run", "none.yaml"][..], "none.yaml"),
        (
            &["run", "--here", "--objective", "x", "--model", "nobody/x"],
            "nobody",
        ),
        (
            &["agent", "supervisor", "--name", "a", "--model", "nobody/x"],
            "nobody",
        ),
    ] {
        let wrong = system.run(args, "");
        assert_eq!(wrong.code, Some(2), "{args:?}: {wrong:?}");
        assert!(wrong.stderr.contains(part), "{wrong:?}");
    }
}
