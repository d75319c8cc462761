//! Forks of runs: what was recorded is reused and nothing is done twice, for every kind of run, and over kills.

use std::fs;

use serde_json::{Value, json};

use crate::{
    a2a::{json as body_of, post},
    harness::{Finished, System, eventually, free_address, get},
    workflows::shown,
};

const FLOW: &str = "\
input:
  type: object
  required: [one, two]
  properties: { one: { type: string }, two: { type: string } }
steps:
  first: { agent: agent_echo, text: 'first ${workflow.input.one}' }
  pause: { wait: 1500ms, depends_on: [first] }
  second: { agent: agent_echo, text: 'second ${workflow.input.two}', depends_on: [pause] }
output: { said: '${first.output.text} ${second.output.text}' }
";

/// Runs the workflow to its end.
fn run_of_workflow(system: &System) -> String {
    let file = system.folder().join("flow.yaml");
    fs::write(&file, FLOW).expect("the folder is ours");
    let file = file.to_str().expect("a path in Unicode");
    let given = r#"{"one": "a", "two": "b"}"#;
    let done = system.run(&["workflow", "run", file, "--input", given, "--detach"], "");
    assert_eq!(done.code, Some(0), "{done:?}");
    let run = done.stdout.trim().to_owned();
    ended(system, &run);
    run
}

fn ended(system: &System, run: &str) -> Value {
    eventually("the run is over", || {
        let run = shown(system, run);
        run["endedAt"].is_string().then_some(run)
    })
}

fn events(system: &System, run: &str) -> Vec<Value> {
    system.json(&["runs", "events", run, "--json"])
}

/// Number of the event of this kind about a step.
fn number(system: &System, run: &str, kind: &str, step: &str) -> String {
    let events = events(system, run);
    let found = events
        .iter()
        .find(|event| event["kind"] == kind && event["step"] == step);
    let found = found.unwrap_or_else(|| panic!("{kind} {step}: {events:?}"));
    match &found["number"] {
        Value::String(number) => number.clone(),
        number => number.to_string(),
    }
}

fn fork(system: &System, args: &[&str]) -> Finished {
    let args: Vec<&str> = ["runs", "fork"].iter().chain(args).copied().collect();
    system.run(&args, "")
}

fn forked(system: &System, args: &[&str]) -> String {
    let done = fork(system, args);
    assert_eq!(done.code, Some(0), "{done:?}");
    done.stdout.trim().to_owned()
}

/// The words that the echo agent was asked for, task by task.
fn echoed(system: &System) -> Vec<String> {
    let tasks = system.json(&["tasks", "list", "--json"]);
    let of_echo = tasks
        .iter()
        .filter(|task| task["metadata"]["assignee"] == "agent_echo");
    let mut words: Vec<String> = of_echo
        .filter_map(|task| {
            task["history"][0]["content"][0]["text"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    words.sort();
    words
}

#[test]
fn a_fork_of_a_workflow_does_only_what_comes_after_the_event() {
    let (system, _up, http) = System::up_with_http();
    let run = run_of_workflow(&system);
    assert_eq!(echoed(&system), ["first a", "second b"]);
    let at = number(&system, &run, "step-ended", "first");
    let fork = forked(&system, &[&run, "--at", &at, "--idempotency-key", "k"]);
    let end = ended(&system, &fork);
    assert_eq!(end["state"], "completed", "{end}");
    assert_eq!(
        (
            &end["forkedFrom"],
            end["forkedAt"].to_string().trim_matches('"')
        ),
        (&json!(run), &*at)
    );
    assert_eq!(echoed(&system), ["first a", "second b", "second b"]);
    let same = system.run(&["runs", "diff", &run, &fork], "");
    assert_eq!(same.code, Some(0), "they say the same: {same:?}");
    let steps = system.json(&["runs", "steps", &fork, "--json"]);
    let state = |name: &str| {
        steps
            .iter()
            .find(|step| step["step"] == name)
            .map(|step| step["state"].clone())
    };
    assert_eq!(
        (state("first"), state("second")),
        (Some(json!("reused")), Some(json!("completed")))
    );

    // The same key is the same fork, and no other.
    assert_eq!(
        forked(&system, &[&run, "--at", &at, "--idempotency-key", "k"]),
        fork
    );
    let other = self::fork(&system, &[&run, "--at", "1", "--idempotency-key", "k"]);
    assert!(
        other.code == Some(1) && other.stderr.contains("asked for something else"),
        "{other:?}"
    );

    // Over HTTP, and as the run stood then.
    let moment = body_of(&get(&http, &format!("/v1/runs/{run}/journal/{at}")));
    assert_eq!(moment["event"]["kind"], "step-ended", "{moment}");
    assert_eq!(moment["run"]["state"], "working");
    assert_eq!(moment["plan"]["states"]["first"], "completed");
    assert_eq!(
        moment["plan"]["states"]["second"], "waiting",
        "it had not begun"
    );
    let body = format!(r#"{{"at": {at}}}"#);
    let answer = post(&http, &format!("/v1/runs/{run}/fork"), &body);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(body_of(&answer)["forked"]["run"], json!(run));
    let answer = post(&http, &format!("/v1/runs/{run}/fork"), r#"{"at": 999}"#);
    assert!(
        answer.starts_with("HTTP/1.1 422") && answer.contains("no event 999"),
        "{answer}"
    );
}

#[test]
fn another_input_is_for_what_comes_after_and_refused_where_a_step_got_it() {
    let (system, _up) = System::up();
    let run = run_of_workflow(&system);
    let at = number(&system, &run, "step-ended", "first");
    let changed = r#"{"one": "a", "two": "other"}"#;
    let fork = forked(&system, &[&run, "--at", &at, "--input", changed]);
    let end = ended(&system, &fork);
    let said = end["result"].to_string();
    assert!(
        said.contains("second other") && said.contains("first a"),
        "{end}"
    );
    assert_eq!(echoed(&system), ["first a", "second b", "second other"]);

    // It is done again with its own input, not with that of the run that it goes on from.
    let again = system.run(&["runs", "retry", &fork, "--from", "second"], "");
    assert_eq!(again.code, Some(0), "{again:?}");
    ended(&system, again.stdout.trim());
    assert_eq!(
        echoed(&system),
        ["first a", "second b", "second other", "second other"]
    );

    let changed = r#"{"one": "other", "two": "b"}"#;
    let refused = self::fork(&system, &[&run, "--at", &at, "--input", changed]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let begun: u64 = number(&system, &run, "step-begun", "first")
        .parse()
        .expect("a number");
    let advice = format!("fork at event {} or earlier", begun - 1);
    assert!(refused.stderr.contains(&advice), "{refused:?}");
    let earlier = (begun - 1).to_string();
    let fork = forked(&system, &[&run, "--at", &earlier, "--input", changed]);
    assert!(
        ended(&system, &fork)["result"]
            .to_string()
            .contains("first other")
    );

    let last = events(&system, &run).len().to_string();
    let late = self::fork(&system, &[&run, "--at", &last]);
    assert!(
        late.code == Some(2) && late.stderr.contains("end of the run"),
        "{late:?}"
    );
    let model = self::fork(&system, &[&run, "--at", &at, "--model", "offline"]);
    assert!(
        model.code == Some(2) && model.stderr.contains("asks no model"),
        "{model:?}"
    );
}

#[test]
fn a_fork_goes_on_over_kills_and_does_nothing_twice() {
    let system = System::bare(free_address());
    let up = system.start_durable_up();
    let run = run_of_workflow(&system);
    let at = number(&system, &run, "step-ended", "first");
    let fork = forked(&system, &[&run, "--at", &at]);
    // It waits.
    up.kill();
    let up = system.start_durable_up();
    let end = ended(&system, &fork);
    assert_eq!(end["state"], "completed", "{end}");
    assert_eq!(echoed(&system), ["first a", "second b", "second b"]);

    // A turn of Cortex, whose task Cortex itself makes.
    let said = system.run(&["chat"], "echo \"good day\"\n");
    assert!(said.stdout.contains("good day"), "{said:?}");
    let turn = system
        .json(&["runs", "list", "--mode", "chat", "--json"])
        .remove(0);
    let turn = turn["id"].as_str().expect("an id").to_owned();
    let task = number(&system, &turn, "step-ended", "round-1/task-1");
    let before = echoed(&system).len();
    let fork = forked(&system, &[&turn, "--at", &task]);
    up.kill();
    let _up = system.start_durable_up();
    let end = ended(&system, &fork);
    assert_eq!(end["result"], shown(&system, &turn)["result"], "{end}");
    assert_eq!(
        echoed(&system).len(),
        before,
        "the agent is not asked again"
    );
}

#[test]
fn turns_and_agents_with_a_model_are_forked_with_other_words_or_instructions() {
    let system = System::bare(free_address());
    let _up = system.start_durable_up();
    let said = system.run(&["chat"], "echo \"good day\"\n");
    assert!(said.stdout.contains("good day"), "{said:?}");
    let turn = system
        .json(&["runs", "list", "--mode", "chat", "--json"])
        .remove(0);
    let turn = turn["id"].as_str().expect("an id").to_owned();
    let asked = number(&system, &turn, "step-ended", "turn-1");
    let refused = self::fork(
        &system,
        &[&turn, "--at", &asked, "--input", "echo \"good night\""],
    );
    assert!(
        refused.code == Some(2) && refused.stderr.contains("the model was asked turn-1"),
        "{refused:?}"
    );
    let fork = forked(
        &system,
        &[
            &turn,
            "--at",
            "1",
            "--input",
            "echo \"good night\"",
            "--model",
            "offline",
        ],
    );
    let end = ended(&system, &fork);
    assert!(
        end["result"]["message"].to_string().contains("good night"),
        "{end}"
    );
    let instructed = self::fork(&system, &[&turn, "--at", "1", "--instructions", "be brief"]);
    assert!(
        instructed.code == Some(2) && instructed.stderr.contains("say it in the input"),
        "{instructed:?}"
    );

    // An agent with a model, in a process of its own.
    let _lead = system.start_supervisor("agent_lead", &[]);
    system.wait_online("agent_lead");
    let words = "echo \"good day\"";
    let asked = system.run(&["publish", "--to", "agent_lead", "--wait", words], "");
    assert!(asked.stdout.contains("good day"), "{asked:?}");
    let runs = system.json(&["runs", "list", "--all", "--json"]);
    let run = runs.iter().find(|run| run["agent"] == "agent_lead");
    let run = run.unwrap_or_else(|| panic!("{runs:?}"));
    let run = run["id"].as_str().expect("an id").to_owned();
    let fork = forked(
        &system,
        &[
            &run,
            "--at",
            "1",
            "--instructions",
            "answer with one word",
            "--input",
            "hello",
        ],
    );
    let end = ended(&system, &fork);
    assert_eq!(end["forkedFrom"], json!(run), "{end}");
    let unknown = self::fork(&system, &[&run, "--at", "1", "--model", "nobody/x"]);
    assert!(
        unknown.code == Some(2) && unknown.stderr.contains("nobody"),
        "{unknown:?}"
    );
}
