//! Approvals of runs, in the chat.

use crate::{
    harness::{Process, System, eventually},
    terminal::Terminal,
    workflows::shown,
};

/// Arguments of a run that requests an approval, and continues by itself after that.
const ASKS: [&str; 6] = [
    "run",
    "--objective",
    "Invite everybody to our open day on 12 May",
    "--approval",
    "plan.strategy",
    "--detach",
];

/// A system in which a run waits for an approval, and the run's id.
fn waiting() -> (System, Process, String) {
    let (system, up) = System::up();
    let started = system.run(&ASKS, "");
    assert_eq!(started.code, Some(0), "{started:?}");
    let run = started.stdout.trim().to_owned();
    eventually("it waits for a yes", || asked(&system));
    (system, up, run)
}

/// The pending approval.
fn asked(system: &System) -> Option<String> {
    let waiting = system.try_json(&["runs", "approve", "--json"])?;
    waiting.first()?["id"].as_str().map(str::to_owned)
}

fn state(system: &System, run: &str) -> Option<String> {
    shown(system, run)["state"].as_str().map(str::to_owned)
}

/// spec: ORC-12.3
#[test]
fn a_chat_in_a_pipe_lists_and_gives_answers() {
    let (system, _up, run) = waiting();
    let id = asked(&system).expect("it waits");
    let answered = system.chat(&format!("/runs\n/approvals\n/approve {id} looks good\n"));
    assert_eq!(answered.code, Some(0), "{answered:?}");
    for part in [
        &*run,
        "awaiting-approval",
        &format!("approved: approval {id}"),
    ] {
        assert!(answered.stdout.contains(part), "{part}: {answered:?}");
    }
    eventually("the run is over", || {
        (state(&system, &run)? == "completed").then_some(())
    });
    let twice = system.chat(&format!("/approve {id}\n"));
    assert_eq!(twice.code, Some(1), "{twice:?}");
    assert!(
        twice.stderr.contains("does not wait") || twice.stderr.contains("waits for a yes"),
        "{twice:?}"
    );
}

/// spec: ORC-12.3
#[test]
fn a_chat_on_a_terminal_says_what_is_asked_when_it_is() {
    let (system, _up) = System::up();
    let mut chat = Terminal::start(&system, &["chat", "--ephemeral"]);
    chat.shows("> ");
    let run = system.run(&ASKS, "").stdout.trim().to_owned();
    chat.shows("may strategy do plan.strategy");
    let id = eventually("it waits for a yes", || asked(&system));
    chat.press(&format!("/refuse {id} not today\r"));
    chat.shows(&format!("refused: approval {id}"));
    eventually("the run goes on without", || {
        (state(&system, &run)? != "awaiting-approval").then_some(())
    });
    chat.press("\x04");
    assert_eq!(chat.left(), Some(0));
}
