//! Workflows of a folder as agents: called over A2A and by Cortex, while their files change, and over crashes.

use std::fs;

use serde_json::{Value, json};

use crate::{
    a2a::{json as body_of, post},
    harness::{Process, System, eventually, free_address, get},
    workflows::worker::Worker,
};

/// Has the system's folder `flows` served, with these files.
fn serve(system: &System, files: &[(&str, &str)]) -> Process {
    fs::create_dir_all(system.folder().join("flows")).expect("the folder is ours");
    for (name, text) in files {
        write(system, name, text);
    }
    let args = ["workflow", "serve", "flows", "--json"];
    let served = system.start(&args);
    served.line("the agents");
    served
}

fn write(system: &System, name: &str, text: &str) {
    let path = system.folder().join("flows").join(name);
    fs::write(path, text).expect("the folder is ours");
}

/// The task of a message with these parts to an agent, over JSON-RPC; the error where there is one.
fn send(http: &str, agent: &str, parts: Value, task: Option<&Value>) -> Value {
    let is_waited_for = parts[0]["waited"] != false;
    let id = format!("{parts}{}", task.is_some());
    let parts: Vec<Value> = parts.as_array().into_iter().flatten().cloned().collect();
    let parts: Vec<Value> = parts
        .into_iter()
        .filter(|part| part.get("waited").is_none())
        .collect();
    let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": parts});
    if let Some(task) = task {
        message["taskId"] = task["id"].clone();
    }
    let configuration = json!({"returnImmediately": !is_waited_for});
    let params = json!({"message": message, "configuration": configuration});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let mut answer = body_of(&post(
        http,
        &format!("/agents/{agent}"),
        &request.to_string(),
    ));
    match answer["error"].take() {
        Value::Null => answer["result"]["task"].take(),
        error => error,
    }
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

fn card(http: &str, agent: &str) -> String {
    get(
        http,
        &format!("/agents/{agent}/.well-known/agent-card.json"),
    )
}

const POSTER: &str = "\
name: poster
description: Designs posters
input:
  type: object
  required: [topic]
  properties: { topic: { type: string } }
steps:
  draw: { agent: agent_echo, text: 'A poster of ${workflow.input.topic}' }
output: ${draw.output.text}
";

/// spec: EXE-1.1, EXE-1.2, EXE-1.3
#[test]
fn workflows_of_a_folder_are_agents_while_their_files_change() {
    let (system, _up, http) = System::up_with_http();
    let served = serve(&system, &[("a.yaml", POSTER)]);
    system.wait_online("poster");
    let shown = system.run(&["agents", "show", "poster", "--json"], "");
    for part in ["inputSchema", "topic", "Designs posters"] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }

    // Over A2A, with data and with words.
    let done = send(&http, "poster", json!([{"data": {"topic": "cats"}}]), None);
    assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done}");
    assert!(
        done.to_string().contains("Echo: A poster of cats"),
        "{done}"
    );
    let done = send(&http, "poster", json!([{"text": "dogs"}]), None);
    assert!(
        done.to_string().contains("Echo: A poster of dogs"),
        "{done}"
    );
    let wrong = send(&http, "poster", json!([{"data": {"topik": 1}}]), None);
    assert_eq!(state(&wrong), "TASK_STATE_REJECTED", "{wrong}");
    assert!(wrong.to_string().contains("`topic` is missing"), "{wrong}");

    // By Cortex.
    let chat = system.chat("Design a poster with the poster workflow about owls\n");
    assert!(chat.stdout.contains("A poster of"), "{chat:?}");

    // Changed, and then broken: the last good one works on.
    write(
        &system,
        "a.yaml",
        &POSTER.replace("A poster of", "A placard of"),
    );
    served_line(&served, "poster works by the new");
    let done = send(&http, "poster", json!([{"text": "hens"}]), None);
    assert!(done.to_string().contains("A placard of hens"), "{done}");
    write(
        &system,
        "a.yaml",
        &POSTER.replace("agent: agent_echo", "agnet: agent_echo"),
    );
    served_line(&served, "poster goes on as it was");
    served_line(&served, "a.yaml:8");
    let done = send(&http, "poster", json!([{"text": "bees"}]), None);
    assert!(done.to_string().contains("A placard of bees"), "{done}");

    // Another file of the same name, and an agent of another program.
    write(&system, "b.yaml", POSTER);
    served_line(&served, "two workflows called `poster`");
    write(
        &system,
        "c.yaml",
        &POSTER.replace("name: poster", "name: agent_echo"),
    );
    served_line(&served, "an agent called agent_echo already");
    let echo = send(&http, "agent_echo", json!([{"text": "still"}]), None);
    assert!(echo.to_string().contains("Echo: still"), "{echo}");

    // Gone.
    fs::remove_file(system.folder().join("flows/b.yaml")).expect("it is there");
    fs::remove_file(system.folder().join("flows/a.yaml")).expect("it is there");
    served_line(&served, "poster has gone");
    assert!(card(&http, "poster").starts_with("HTTP/1.1 404"));
}

fn served_line(served: &Process, part: &str) {
    eventually(&format!("it says: {part}"), || {
        served.said().contains(part).then_some(())
    });
}

/// spec: EXE-4.1, EXE-4.2
#[test]
fn a_run_outlives_the_process_that_serves_it() {
    let (system, _up, http) = System::up_with_http();
    let worker = Worker::start(&system.hub());
    system.wait_online("worker");
    let flow = "\
steps:
  one: { agent: worker, skill: work, text: one }
  two: { agent: worker, skill: work, text: two, depends_on: [one] }
output: ${two.output.text}
";
    worker.hold("two");
    let served = serve(&system, &[("chain.yaml", flow)]);
    system.wait_online("chain");
    let task = send(
        &http,
        "chain",
        json!([{"waited": false}, {"text": "go"}]),
        None,
    );
    worker.wait_called("two");
    served.kill();
    // What has begun ends as it began.
    let served = serve(
        &system,
        &[("chain.yaml", &flow.replace("${two.output.text}", "changed"))],
    );
    worker.hold("");
    let id = task["id"].as_str().expect("a task");
    let ended = eventually("the run is over", || {
        let path = format!("/agents/chain/tasks/{id}?A2A-Version=1.0");
        let task = body_of(&get(&http, &path));
        (state(&task) == "TASK_STATE_COMPLETED").then_some(task)
    });
    assert!(ended.to_string().contains("two is done"), "{ended}");
    for (step, most) in [("one", 1), ("two", 2)] {
        let tasks = worker.called(step);
        assert!(tasks.len() <= most, "{step}: {tasks:?}");
        assert!(
            tasks.iter().all(|task| *task == tasks[0]),
            "{step}: {tasks:?}"
        );
    }
    let next = send(&http, "chain", json!([{"text": "again"}]), None);
    assert!(next.to_string().contains("changed"), "{next}");
    drop(served);
}

/// A run's requester does not allow its steps, whatever it says in the task.
///
/// spec: EXE-2.2
#[test]
fn a_person_allows_a_step_and_the_caller_sees_the_steps() {
    let system = System::bare(free_address());
    let _up = system.start_durable_up();
    let flow = "\
steps:
  may: { approve: Print it? }
  print: { agent: agent_echo, text: printed, depends_on: [may] }
output: ${print.output.text}
";
    let _served = serve(&system, &[("press.yaml", flow)]);
    system.wait_online("press");
    let call = system.ask("press", "the-task", "go");
    let asked = eventually("a person is asked", || {
        system.try_json(&["runs", "approve", "--json"])?.pop()
    });
    assert!(asked.to_string().contains("Print it?"), "{asked}");
    told(&system, "the-task", "waits for a person: Print it?");
    let run = asked["runId"].as_str().expect("a run");
    let allowed = system.run(&["runs", "approve", run], "");
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let done = call.wait();
    // The workflow takes no words.
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stdout.contains("Echo: printed"), "{done:?}");
    for part in [
        "? Print it? (step may)",
        &format!("runs approve {run} "),
        "--agent press",
    ] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
}

/// The question is asked by another agent, the executor of the run within, and told by the one that was called.
///
/// spec: EXE-2.2
#[test]
fn a_question_of_a_run_within_a_run_is_told_to_the_caller_of_the_outer_one() {
    let system = System::bare(free_address());
    let _up = system.start_durable_up();
    let flow = "\
steps:
  outer:
    workflow:
      steps:
        inner: { workflow: { steps: { may: { approve: Print it? } }, output: printed } }
      output: ${inner.output}
output: { text: '${outer.output}' }
";
    let _served = serve(&system, &[("press.yaml", flow)]);
    system.wait_online("press");
    let call = system.ask("press", "the-task", "go");
    let shown = told(&system, "the-task", "waits for a person: Print it?");
    let asked = system.json(&["runs", "approve", "--json"]);
    assert_eq!(asked.len(), 1, "it is asked once: {asked:?}");
    let (_, command) = shown.split_once("`agenthub ").expect("a command");
    let (command, _) = command.split_once('`').expect("its end");
    let allowed = system.run(&command.split(' ').collect::<Vec<_>>(), "");
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let done = call.wait();
    assert!(done.stdout.contains("printed"), "{done:?}");
    assert_eq!(done.stderr.matches("? Print it?").count(), 1, "{done:?}");
    assert!(done.stderr.contains("--agent workflows"), "{done:?}");
}

/// The task, once it has told this.
fn told(system: &System, task: &str, part: &str) -> String {
    eventually(&format!("the caller is told: {part}"), || {
        let shown = system.run(&["tasks", "show", task, "--json"], "").stdout;
        shown.contains(part).then_some(shown)
    })
}

/// The command that the caller is told answers also if the runs are in another data folder than Cortex knows.
///
/// spec: EXE-2.2
#[test]
fn a_person_allows_a_step_of_a_run_in_another_data_folder() {
    let (system, _up, http) = System::up_with_http();
    let worker = Worker::start(&system.hub());
    system.wait_online("worker");
    let flow = "\
steps:
  one: { agent: worker, skill: work, text: one }
  may: { approve: Print it?, depends_on: [one] }
  print: { agent: agent_echo, text: printed, depends_on: [may] }
output: { text: '${print.output.text}' }
";
    fs::create_dir_all(system.folder().join("flows")).expect("the folder is ours");
    write(&system, "press.yaml", flow);
    let args = ["workflow", "serve", "flows", "--json", "--data", "other"];
    let served = system.start(&args);
    served.line("the agents");
    system.wait_online("press");
    let mut begun = 0;
    for (answer, state) in [("approve", "COMPLETED"), ("refuse", "FAILED")] {
        let task = send(
            &http,
            "press",
            json!([{"waited": false}, {"text": answer}]),
            None,
        );
        let id = task["id"].as_str().expect("a task");
        let shown = told(&system, id, "waits for a person: Print it?");
        let (_, command) = shown.split_once("`agenthub ").expect("a command");
        let (command, _) = command.split_once('`').expect("its end");
        let command = command.replace("approve", answer);
        // The caller's own word decides nothing.
        let said = send(
            &http,
            "press",
            json!([{"waited": false}, {"text": "yes"}]),
            Some(&task),
        );
        assert_eq!(state_of(&http, id), "TASK_STATE_WORKING", "{said}");
        let args: Vec<&str> = command.split(' ').collect();
        let elsewhere = command.replace("--agent press", "--agent agent_echo");
        let elsewhere = system.run(&elsewhere.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(
            elsewhere.code,
            Some(1),
            "no run of agent_echo: {elsewhere:?}"
        );
        let answered = system.run(&args, "");
        assert_eq!(answered.code, Some(0), "{answered:?}");
        eventually("the run is over", || {
            (state_of(&http, id) == format!("TASK_STATE_{state}")).then_some(())
        });
        let late = system.run(&args, "");
        assert_eq!(late.code, Some(1), "its run is over: {late:?}");
        assert!(late.stderr.contains("nothing was sent"), "{late:?}");
        begun += 1;
        let called = worker.called("one");
        assert_eq!(
            called.len(),
            begun,
            "its message began another run: {called:?}"
        );
    }
    let unknown = ["runs", "approve", "r", "a", "--agent", "press"];
    let unknown = system.run(&unknown, "");
    assert_eq!(unknown.code, Some(1), "there is no such run: {unknown:?}");
    let nobody = ["runs", "approve", "r", "a", "--agent", "nobody"];
    let nobody = system.run(&nobody, "");
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.stderr.contains("nobody"), "{nobody:?}");
}

fn state_of(http: &str, task: &str) -> String {
    let path = format!("/agents/press/tasks/{task}?A2A-Version=1.0");
    state(&body_of(&get(http, &path))).to_owned()
}

/// spec: EXE-1.1
#[test]
fn one_process_has_the_hub_and_the_workflows_of_a_folder() {
    let system = System::bare(free_address());
    fs::create_dir_all(system.folder().join("flows")).expect("the folder is ours");
    write(&system, "a.yaml", POSTER);
    let up = || system.serve(&["up", "--workflows", "flows"]);
    let first = up();
    let asked = || system.run(&["publish", "--to", "poster", "--wait", "owls"], "");
    let done = asked();
    assert!(done.stdout.contains("Echo: A poster of owls"), "{done:?}");
    write(
        &system,
        "a.yaml",
        &POSTER.replace("A poster of", "A placard of"),
    );
    eventually("the agent follows its file", || {
        asked().stdout.contains("A placard of owls").then_some(())
    });
    first.kill();
    let _second = up();
    let done = asked();
    assert!(done.stdout.contains("A placard of owls"), "{done:?}");
    let elsewhere = free_address();
    let args = [
        "up",
        "--json",
        "--grpc",
        &elsewhere,
        "--http",
        "127.0.0.1:0",
        "--workflows",
        "none",
        "--data",
        "other",
    ];
    let none = system.run(&args, "");
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stderr.contains("there is no such folder"), "{none:?}");
}
