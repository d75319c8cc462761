//! Teams that stay: called by anyone, edited while they work, killed and restarted.

use std::{fs, path::PathBuf, time::Duration};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    WORDS, asked,
    brain::{Brain, WAITS},
    copied, json_of, up, write,
};
use crate::harness::{Process, System, eventually, free_address};

fn card(system: &System, agent: &str) -> Value {
    let show = ["agents", "show", agent, "--json"];
    let mut shown = eventually("the hub shows the card", || system.try_json(&show));
    shown[0]["agentCard"].take()
}

/// spec: SOP-5.1, SOP-5.2, SOP-5.5, SOP-5.6, SOP-6.1, SOP-6.2, SOP-8.1
#[test]
fn a_team_on_a_hub_is_there_for_everybody() {
    let (system, _broker) = System::broker();
    copied(system.folder());
    let team = up(&system, "team", "editor", &["--ephemeral"]);
    let researcher = card(&system, "researcher").to_string();
    for part in ["Finds out what is known", "thorough", "topic"] {
        assert!(researcher.contains(part), "{part}: {researcher}");
    }

    let ask = || system.run(&["sop", "ask", "--json", "team", WORDS], "");
    let (first, second) = (ask(), ask());
    for finished in [&first, &second] {
        assert_eq!(finished.code, Some(3), "nobody wrote it: {finished:?}");
        let value = json_of(finished);
        assert_eq!(asked(&value), ["researcher", "article-writer", "critic"]);
    }
    assert_eq!(json_of(&first)["answer"], json_of(&second)["answer"]);

    let words = "Check this: The hub is fast. Very fast.";
    let direct = system.run(&["publish", "--to", "critic", "--wait", words], "");
    assert_eq!(direct.code, Some(3), "nobody judged it: {direct:?}");
    let counted = "It has 6 words. It keeps to the limit of 250 words.";
    assert!(direct.stdout.starts_with(counted), "{direct:?}");
    let data = ["tasks", "list", "--json"];
    assert!(system.json(&data).len() >= 9, "each is a task of its own");

    team.signal(Signal::SIGTERM);
    assert_eq!(team.wait().code, Some(0));
    eventually("critic is away", || {
        let shown = system.run(&["agents", "show", "critic", "--json"], "");
        (!shown.stdout.contains("AGENT_STATE_ONLINE")).then_some(())
    });
}

/// spec: SOP-6.3, SOP-4.4
#[test]
fn an_edited_file_replaces_its_agent_alone_and_a_broken_one_nobody() {
    let (system, _broker) = System::broker();
    copied(system.folder());
    let team = up(&system, "team", "editor", &["--ephemeral"]);
    let file = system.folder().join("team/critic.md");
    let text = fs::read_to_string(&file).expect("it was written");
    let says = |part: &str| {
        eventually(&format!("it says {part}"), || {
            team.said().contains(part).then_some(())
        });
    };

    let edited = text.replace("Checks a text before", "Looks at a text before");
    fs::write(&file, &edited).expect("the folder is ours");
    eventually("the card is the new one", || {
        let card = card(&system, "critic").to_string();
        card.contains("Looks at a text before").then_some(())
    });
    says("critic works by the new");

    fs::write(&file, edited.replace("name: critic", "nam: critic")).expect("the folder is ours");
    says("critic goes on as it was");
    says("critic.md:");
    says("`name` is missing");
    let finished = system.run(&["sop", "ask", "--json", "team", "hello"], "");
    assert_eq!(finished.code, Some(3), "nobody read its page: {finished:?}");
    let answer = super::json_of(&finished)["answer"].to_string();
    assert!(answer.contains("agent_critic"), "all are there: {answer}");
    assert!(!answer.contains("was left out"), "{answer}");
    let card_of_critic = card(&system, "critic").to_string();
    assert!(card_of_critic.contains("Looks at a text before"));

    fs::write(&file, &text).expect("the folder is ours");
    eventually("the card is the first again", || {
        let card = card(&system, "critic").to_string();
        card.contains("Checks a text before").then_some(())
    });
    let helper = "---\nname: helper\ndescription: Helps\n---\nHelp.\n";
    write(system.folder(), &[("team/helper.md", helper)]);
    system.wait_online("helper");
    fs::remove_file(system.folder().join("team/helper.md")).expect("it is there");
    says("helper has gone");
    let said = team.said();
    for other in ["researcher", "article-writer", "editor"] {
        assert!(
            !said.contains(&format!("{other} works by the new")),
            "{said}"
        );
    }
}

/// spec: SOP-6.1, SOP-8.2
#[test]
fn a_team_that_is_killed_goes_on_where_it_was_and_the_answer_comes() {
    let (system, _broker) = System::durable_broker();
    let brain = Brain::start();
    slow_team(&system);
    let up = || {
        let team = start(&system, &brain, &["sop", "up", "team", "--json"]);
        team.line("the banner");
        system.wait_online("lead");
        team
    };
    let team = up();
    let asking = system.start(&["sop", "ask", "--json", "team", "think about rain"]);
    brain.wait_asked(WAITS, 1);
    team.kill();
    let _team = up();
    brain.let_go();
    let finished = asking.finish("");
    assert_eq!(
        finished.code,
        Some(3),
        "nobody read the steps: {finished:?}"
    );
    let value = json_of(&finished);
    assert!(
        value["answer"]
            .as_str()
            .is_some_and(|text| text.contains("It was worth the wait.")),
        "{value:#}"
    );
    let tasks = system.json(&["tasks", "list", "--json"]);
    assert_eq!(tasks.len(), 2, "nobody was asked twice: {tasks:?}");
}

/// Two agents, one of which waits until it is released.
fn slow_team(system: &System) {
    let lead = "---\nname: lead\ndescription: Leads\ntype: orchestrator\n---\n## Steps\n\n1. Ask `slow` for it.\n";
    let slow = format!("---\nname: slow\ndescription: Thinks\nmodel: {WAITS}\n---\nThink.\n");
    write(
        system.folder(),
        &[("team/lead.md", lead), ("team/slow.md", &slow)],
    );
}

/// Starts a program with this provider.
fn start(system: &System, brain: &Brain, args: &[&str]) -> Process {
    let (url, key) = (PathBuf::from(&brain.url), PathBuf::from("key"));
    let environment = [("AGENTHUB_MODEL_ENDPOINT", &url), ("OPENAI_API_KEY", &key)];
    Process::start_in(&environment, system.folder(), &system.hub(), args)
}

fn ask(system: &System, brain: &Brain, words: &str) -> Process {
    start(system, brain, &["sop", "ask", "team", words])
}

/// A hub that waits two seconds for offline agents.
fn impatient() -> (System, Process) {
    let system = System::bare(free_address()).impatient();
    let broker = system.start_durable_broker();
    (system, broker)
}

/// A request that one team delegated to another gets its answer although the requesting team ends in this way.
fn outlives(end: impl FnOnce(Process)) {
    let (system, _broker) = impatient();
    let brain = Brain::start();
    slow_team(&system);
    let first = ask(&system, &brain, "think about rain");
    brain.wait_asked(WAITS, 1);
    let second = ask(&system, &brain, "think about snow");
    brain.wait_asked(WAITS, 2);
    end(first);
    brain.let_go();
    let finished = second.finish("");
    assert_eq!(
        finished.code,
        Some(3),
        "nobody read the steps: {finished:?}"
    );
    assert!(
        finished.stdout.contains("It was worth the wait."),
        "{finished:?}"
    );
    assert!(
        finished.stderr.contains("the team has left the hub"),
        "{finished:?}"
    );
}

#[test]
fn a_request_outlives_the_one_whose_team_it_uses() {
    outlives(|first| {
        first.signal(Signal::SIGINT);
        let ended = first.wait();
        assert_eq!(ended.code, Some(130), "it was cancelled: {ended:?}");
    });
}

#[test]
fn a_request_outlives_the_process_whose_team_it_uses() {
    outlives(Process::kill);
}

#[test]
fn a_team_that_stays_is_left_alone_however_long_it_takes() {
    let (system, _broker) = impatient();
    let brain = Brain::start();
    slow_team(&system);
    let team = start(&system, &brain, &["sop", "up", "team", "--json"]);
    team.line("the banner");
    system.wait_online("lead");
    let asking = ask(&system, &brain, "think about rain");
    brain.wait_asked(WAITS, 1);
    // Longer than agents may be offline.
    std::thread::sleep(Duration::from_secs(4));
    brain.let_go();
    let finished = asking.finish("");
    assert_eq!(
        finished.code,
        Some(3),
        "nobody read the steps: {finished:?}"
    );
    assert!(!finished.stderr.contains("left the hub"), "{finished:?}");
}

/// Requests in the folder of a hub that runs: one has the team in its process, the others ask it there.
///
/// spec: SOP-8.1
#[test]
fn requests_at_the_same_time_beside_a_hub_all_get_their_answers() {
    let system = System::bare(free_address());
    let _up = system.start_durable_up();
    copied(system.folder());
    for round in ["first", "second"] {
        let asked: Vec<Process> = ["crashes", "restarts", "disks"]
            .iter()
            .map(|topic| {
                let words = format!("Write a short article about what survives {topic}");
                system.start(&["sop", "ask", "--json", "team", &words])
            })
            .collect();
        for process in asked {
            let finished = process.wait();
            assert_eq!(
                finished.code,
                Some(3),
                "{round}: nobody wrote it: {finished:?}"
            );
            let answer = json_of(&finished);
            assert_eq!(
                super::asked(&answer),
                ["researcher", "article-writer", "critic"],
                "{round}: {finished:?}"
            );
        }
    }
}
