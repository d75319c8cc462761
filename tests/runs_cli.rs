//! `agenthub run` and `agenthub runs`: their requests to Cortex, output, and exit codes.

mod briefs;
mod campaign;
mod chatting;
mod cortex;
pub(crate) mod surviving;

use std::fs;

use agenthub_proto::{INVALID_FIELD, cortex::Approval, json};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tonic::Status;

use crate::{
    harness::{Finished, System, eventually},
    terminal::Terminal,
};
use cortex::{RUN, Scripted};

const BRIEF: &str = "objective: Announce it\nconstraints:\n  qualityThreshold: 0.5\n  acceptanceCriteria: [says when]\n";

/// A folder with a brief, and a scripted Cortex.
struct ScriptedSystem {
    system: System,
    cortex: Scripted,
}

impl ScriptedSystem {
    fn new() -> Self {
        // No hub listens there: requests go to the named Cortex.
        let system = System::bare("127.0.0.1:1".to_owned());
        fs::write(system.folder().join("brief.yaml"), BRIEF).expect("the folder is there");
        Self {
            system,
            cortex: Scripted::start(),
        }
    }

    fn run(&self, args: &[&str]) -> Finished {
        let url = self.cortex.url();
        let args: Vec<&str> = args.iter().copied().chain(["--cortex", &url]).collect();
        self.system.run(&args, "")
    }

    fn terminal(&self, args: &[&str]) -> Terminal {
        let url = self.cortex.url();
        let args: Vec<&str> = args.iter().copied().chain(["--cortex", &url]).collect();
        Terminal::start(&self.system, &args)
    }
}

fn bundle(met: bool) -> Value {
    json!({
        "result": {"post": "Come on 12 May."},
        "quality": {"score": if met { 0.9 } else { 0.3 }, "threshold": 0.5, "met": met, "depth": 1, "executionDepth": 3},
        "acceptance-report": [{"criterion": "says when", "verdict": "pass", "evidence": "\"12 May\" is in it"}],
    })
}

/// spec: ORC-2.4, ORC-11.3
#[test]
fn the_end_of_a_run_is_its_bundle_and_an_exit_code() {
    let asked = ScriptedSystem::new();
    asked.cortex.show("start", "at work", Value::Null);
    asked.cortex.show("complete", "", bundle(true));
    let done = asked.run(&[
        "run",
        "brief.yaml",
        "--depth",
        "2",
        "--output",
        "bundle.json",
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.stdout, "Come on 12 May.", "the result alone");
    for part in [RUN, "0.90", "✓ met", "\"12 May\" is in it"] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
    let kept =
        fs::read_to_string(asked.system.folder().join("bundle.json")).expect("it is written");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept, bundle(true));
    let started = &asked.cortex.started()[0];
    assert_eq!(started.objective, "Announce it");
    let constraints = started.constraints.clone().expect("there are some");
    assert_eq!(constraints.execution_depth, Some(2));
    assert_eq!(
        constraints.acceptance_criteria,
        [json::to_value(&"says when".into())]
    );

    let best = ScriptedSystem::new();
    best.cortex.show("complete", "", bundle(false));
    assert_eq!(best.run(&["run", "brief.yaml"]).code, Some(3));

    let unchecked = ScriptedSystem::new();
    let mut nobody = bundle(false);
    nobody["acceptance-report"] = json!([
        {"criterion": "says when", "verdict": "pass", "evidence": "line 1"},
        {"criterion": "It is funny and rhymes.", "verdict": "not_checked", "evidence": "no model"},
    ]);
    unchecked.cortex.show("complete", "", nobody);
    let unchecked = unchecked.run(&["run", "brief.yaml"]);
    assert_eq!(unchecked.code, Some(3), "{unchecked:?}");
    assert_eq!(unchecked.stdout, "Come on 12 May.");
    let first = "verdict  1 of 2 criteria is met; nobody checked \"It is funny and rhymes.\"";
    assert!(unchecked.stderr.contains(first), "{unchecked:?}");

    let failed = ScriptedSystem::new();
    failed.cortex.show("error", "no model", Value::Null);
    let failed = failed.run(&["run", "brief.yaml"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("error: no model"), "{failed:?}");
    assert_eq!(failed.stdout, "");
}

/// spec: ORC-4
#[test]
fn frames_are_printed_one_a_line_and_nothing_else() {
    let asked = ScriptedSystem::new();
    asked.cortex.show("start", "at work", Value::Null);
    asked.cortex.show("metrics", "", json!({"tokens": 5}));
    asked
        .cortex
        .show("complete", "", json!({"message": "Done."}));
    let done = asked.run(&["run", "--objective", "Say so", "--mode", "chat", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let lines: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let sequences: Vec<&Value> = lines.iter().map(|frame| &frame["sequence"]).collect();
    assert_eq!(sequences, [1, 2, 3]);
    assert!(
        lines.iter().all(|frame| frame["correlationId"] == RUN),
        "{lines:?}"
    );
    assert_eq!(lines[1]["tokens"], 5);
    assert_eq!(done.stderr, "");
}

#[test]
fn what_is_wrong_with_a_brief_is_said_with_its_place() {
    let asked = ScriptedSystem::new();
    fs::write(
        asked.system.folder().join("typo.yaml"),
        "objective: x\nconstraint: {}\n",
    )
    .expect("the folder is there");
    let typo = asked.run(&["run", "typo.yaml"]);
    assert_eq!(typo.code, Some(2));
    assert!(
        typo.stderr
            .contains("typo.yaml:2:1: a brief has no field `constraint`"),
        "{typo:?}"
    );
    assert!(asked.cortex.started().is_empty());

    // The field is a value beside the message, which may name another one.
    let mut refused = Status::invalid_argument("`objective` aside, 7 is no number from 0 to 1");
    let field = "constraints.qualityThreshold".parse().expect("ASCII");
    refused.metadata_mut().insert(INVALID_FIELD, field);
    asked.cortex.refuse(refused);
    let high = asked.run(&["run", "brief.yaml"]);
    assert_eq!(high.code, Some(2));
    assert!(
        high.stderr
            .contains("brief.yaml:3:21: `objective` aside, 7 is no number"),
        "{high:?}"
    );

    // Of several faults each has its place.
    let mut refused = Status::invalid_argument("`objective` is empty\n`constraints` is odd");
    for field in ["objective", "constraints.qualityThreshold"] {
        let field = field.parse().expect("ASCII");
        refused.metadata_mut().append(INVALID_FIELD, field);
    }
    asked.cortex.refuse(refused);
    let both = asked.run(&["run", "brief.yaml"]);
    assert_eq!(both.code, Some(2));
    for fault in [
        "brief.yaml:1:12: `objective` is empty",
        "brief.yaml:3:21: `constraints` is odd",
    ] {
        assert!(both.stderr.contains(fault), "{both:?}");
    }

    asked.cortex.refuse(Status::failed_precondition(
        "run r0 of thread \"t\" is active",
    ));
    let busy = asked.run(&["run", "brief.yaml", "--thread", "t"]);
    assert!(
        busy.stderr.contains(&format!("agenthub runs watch {RUN}")),
        "{busy:?}"
    );
}

#[test]
fn a_run_can_be_left_running_and_looked_after() {
    let asked = ScriptedSystem::new();
    let id = asked.run(&["run", "brief.yaml", "--detach"]);
    assert_eq!((id.code, id.stdout.as_str()), (Some(0), RUN), "{id:?}");
    let listed = asked.run(&["runs", "list"]);
    assert!(
        listed.stdout.contains(RUN) && listed.stdout.contains("working"),
        "{listed:?}"
    );
    let shown = asked.run(&["runs", "show", RUN, "--json"]);
    assert!(
        shown.stdout.contains("\"threadId\":\"thread-1\""),
        "{shown:?}"
    );
    assert_eq!(asked.run(&["runs", "show", "r9"]).code, Some(1));
    assert_eq!(
        asked
            .run(&["runs", "graph", RUN, "--format", "mermaid"])
            .stdout,
        "flowchart LR"
    );
    assert_eq!(
        asked.run(&["runs", "results", RUN, "clicks=12"]).code,
        Some(0)
    );
    assert_eq!(
        asked.run(&["runs", "results", RUN, "clicks=many"]).code,
        Some(2)
    );
    assert_eq!(
        asked
            .run(&["runs", "cancel", RUN, "--reason", "too late"])
            .code,
        Some(0)
    );
    assert_eq!(asked.cortex.cancelled()[0].reason, "too late");
    let resumed = asked.run(&["runs", "resume", RUN]);
    assert_eq!(resumed.code, Some(1));
    assert!(resumed.stderr.contains("wait for it"), "{resumed:?}");
}

/// A retried start is one run, also if the response was lost: the key is the same.
#[test]
fn a_run_goes_on_being_shown_when_what_it_runs_on_comes_back() {
    let mut asked = ScriptedSystem::new();
    asked.cortex.show("start", "at work", Value::Null);
    asked.cortex.show("message", "half way", Value::Null);
    let url = asked.cortex.url();
    let watching = asked
        .system
        .start(&["run", "brief.yaml", "--json", "--cortex", &url]);
    watching.line_with("half way");
    asked.cortex.stop();
    asked.cortex.show("message", "meanwhile", Value::Null);
    asked.cortex.serve();
    watching.line_with("meanwhile");
    asked
        .cortex
        .show("complete", "", json!({"message": "Done."}));
    assert_eq!(watching.wait().code, Some(0));
    assert_eq!(asked.cortex.started().len(), 1);
}

fn approval() -> Value {
    json!({
        "id": "a1b2", "digest": "d", "subject": "send", "agent": "press", "capability": "publish",
        "arguments": {"text": "Come on 12 May."},
    })
}

/// spec: ORC-12.3
#[test]
fn a_person_at_the_terminal_is_asked_on_the_spot() {
    let asked = ScriptedSystem::new();
    let steps = json!({"send": {"capability": "publish", "payload": {}}});
    asked.cortex.show(
        "plan_update",
        "",
        json!({"version": 1, "plan": {"steps": steps}}),
    );
    asked.cortex.show("approval", "asked", approval());
    let mut terminal = asked.terminal(&["run", "brief.yaml"]);
    terminal.shows("Come on 12 May.");
    terminal.shows("Allow press to do publish? [y/n]");
    terminal.press("y");
    let decided = eventually("the answer arrives", || asked.cortex.decided().pop());
    assert_eq!(
        (decided.run_id.as_str(), decided.approval_id.as_str()),
        (RUN, "a1b2")
    );
    assert!(decided.approved);
    asked.cortex.show(
        "approval",
        "approved",
        json!({"approved": true, "by": "ann"}),
    );
    terminal.shows("approved: send");
    asked.cortex.show("complete", "", bundle(true));
    terminal.shows("all constraints are met");
    assert_eq!(terminal.left(), Some(0));
}

#[test]
fn ctrl_c_asks_and_a_second_one_cancels() {
    let asked = ScriptedSystem::new();
    asked.cortex.show("start", "at work", Value::Null);
    let mut terminal = asked.terminal(&["run", "brief.yaml"]);
    terminal.shows("Cortex decides");
    terminal.signal(Signal::SIGINT);
    terminal.shows("Leave it running (l)");
    terminal.signal(Signal::SIGINT);
    eventually("it is cancelled", || asked.cortex.cancelled().pop());
    asked
        .cortex
        .show("error", "cancelled: cancelled by the user", Value::Null);
    terminal.shows("error: cancelled");
    assert_eq!(terminal.left(), Some(1));
}

#[test]
fn ctrl_c_can_leave_a_run_running() {
    let asked = ScriptedSystem::new();
    asked.cortex.show("start", "at work", Value::Null);
    let mut terminal = asked.terminal(&["run", "brief.yaml"]);
    terminal.shows("Cortex decides");
    terminal.signal(Signal::SIGINT);
    terminal.shows("Leave it running (l)");
    terminal.press("l");
    terminal.shows(&format!("runs watch {RUN}"));
    assert_eq!(terminal.left(), Some(130));
    assert!(asked.cortex.cancelled().is_empty());

    let url = asked.cortex.url();
    let piped = asked
        .system
        .start(&["runs", "watch", RUN, "--json", "--cortex", &url]);
    piped.line_with("at work");
    piped.signal(Signal::SIGINT);
    assert_eq!(piped.wait().code, Some(130));
}

/// spec: ORC-12.3
#[test]
fn what_waits_for_a_yes_is_answered_from_the_command_line() {
    let asked = ScriptedSystem::new();
    let waiting = |id: &str| Approval {
        id: id.to_owned(),
        run_id: RUN.to_owned(),
        step: "send".to_owned(),
        agent: "press".to_owned(),
        capability: "publish".to_owned(),
        arguments: Some(json::to_value(&json!({"text": "Come on 12 May."}))),
        ..Approval::default()
    };
    asked.cortex.ask(waiting("a1"));
    asked.cortex.ask(waiting("a2"));
    let listed = asked.run(&["runs", "approve"]);
    assert!(
        listed.stdout.contains("a1") && listed.stdout.contains("text: Come on 12 May."),
        "{listed:?}"
    );
    let which = asked.run(&["runs", "approve", RUN]);
    assert_eq!(which.code, Some(1));
    assert!(which.stderr.contains("say which: a1, a2"), "{which:?}");
    assert_eq!(
        asked
            .run(&["runs", "approve", RUN, "a1", "--by", "ann"])
            .code,
        Some(0)
    );
    assert_eq!(
        asked
            .run(&["runs", "refuse", RUN, "--comment", "too early"])
            .code,
        Some(0)
    );
    let decided = asked.cortex.decided();
    let told: Vec<(&str, bool, &str)> = decided
        .iter()
        .map(|d| (d.approval_id.as_str(), d.approved, d.comment.as_str()))
        .collect();
    assert_eq!(told, [("a1", true, ""), ("a2", false, "too early")]);
    assert_eq!(decided[0].by, "ann");
    assert_eq!(
        asked.run(&["runs", "approve", RUN, "a1"]).code,
        Some(1),
        "it is answered once"
    );
}

#[test]
fn a_hub_without_a_cortex_says_what_to_do() {
    let (system, _broker) = System::broker();
    let refused = system.run(&["runs", "list"], "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("there is no Cortex at"),
        "{refused:?}"
    );
    let away = System::bare("127.0.0.1:1".to_owned()).run(&["runs", "list"], "");
    assert!(away.stderr.contains("agenthub up"), "{away:?}");
    assert_eq!(away.stderr.lines().count(), 1, "{away:?}");
}
