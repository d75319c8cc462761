//! Executors of workflows as processes of their own, over SIGKILL of each of them and of those around them.

#[cfg(feature = "postgres")]
mod database;

use std::{collections::BTreeMap, fs};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    approving_tools::allow,
    harness::{Process, System, eventually, free_address},
    workflows::{
        begun, in_state,
        kills::completed,
        logging::{let_go, logged, start_worker},
        shown, written,
    },
};

/// Two steps of the worker, one behind the other.
const TWO_STEPS: &str = "\
steps:
  one: { agent: worker, text: one }
  two: { agent: worker, text: 'two: ${one.output.text}' }
output: ${two.output.text}
";

/// Process ids of the executors of a run.
pub(crate) fn executors(run: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let args: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        if args.contains(&&b"executor"[..]) && args.contains(&run.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

/// The only executor of a run, once it is there.
fn executor(run: &str) -> i32 {
    eventually("the run has an executor", || match &*executors(run) {
        [one] => Some(*one),
        _ => None,
    })
}

/// Begins a run by a Cortex at this address, once it is there.
fn begun_at(system: &System, file: &str, cortex: &str) -> String {
    let args = ["workflow", "run", file, "--detach", "--cortex", cortex];
    eventually("a run begins", || {
        let started = system.run(&args, "");
        (started.code == Some(0)).then(|| started.stdout.trim().to_owned())
    })
}

pub(crate) fn kill_process(pid: i32) {
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it runs");
}

/// Kills a process that may have ended by itself meanwhile.
pub(crate) fn kill_if_there(pid: i32) {
    match kill(Pid::from_raw(pid), Signal::SIGKILL) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => panic!("{pid}: {error}"),
    }
}

/// `agenthub up` with a process for each run.
pub(crate) fn start_up(system: &System) -> Process {
    system.serve(&[&["up", "--executors", "processes"], &system.patience()[..]].concat())
}

/// A system with that and the worker, and a workflow of two steps.
fn staged() -> (System, Process, Process, String) {
    let system = System::bare(free_address());
    let up = start_up(&system);
    let worker = start_worker(&system);
    let file = written(&system, "two.yaml", TWO_STEPS);
    (system, up, worker, file)
}

/// A task that the worker has begun, beside those that are known.
pub(crate) fn fresh(system: &System, known: &[String]) -> String {
    eventually("a step is at work", || {
        let begun = logged(system.folder(), "begun");
        begun.into_iter().find(|task| !known.contains(task))
    })
}

/// The number of times that each task was begun.
pub(crate) fn times(system: &System) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for task in logged(system.folder(), "begun") {
        *times.entry(task).or_default() += 1;
    }
    times
}

/// spec: EXE-1.1, EXE-1.4
#[test]
fn each_run_has_a_process_of_its_own_that_ends_with_it() {
    let (system, _up, _worker, file) = staged();
    let runs = [(); 2].map(|()| begun(&system, &file, "{}"));
    let pids = runs.each_ref().map(|run| executor(run));
    assert_ne!(pids[0], pids[1]);
    let mut known = Vec::new();
    for _ in 0..4 {
        let task = fresh(&system, &known);
        let_go(system.folder(), &task);
        known.push(task);
    }
    for run in &runs {
        let ended = in_state(&system, run, "completed");
        assert_eq!(
            ended["result"]["message"], "Worked: two: Worked: one",
            "{ended}"
        );
        eventually("its executor has ended", || {
            executors(run).is_empty().then_some(())
        });
    }
    assert!(
        times(&system).values().all(|times| *times == 1),
        "{:?}",
        times(&system)
    );
}

/// spec: EXE-1.4, EXE-1.5, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn an_executor_that_is_killed_costs_no_completed_step_and_disturbs_no_other_run() {
    let (system, _up, _worker, file) = staged();
    let other = begun(&system, &file, "{}");
    let of_other = fresh(&system, &[]);
    let (other_executor, run) = (executor(&other), begun(&system, &file, "{}"));
    let one = fresh(&system, std::slice::from_ref(&of_other));
    // While the first step is at work, when it has answered, and while the second is at work.
    kill_process(executor(&run));
    let_go(system.folder(), &one);
    let two = fresh(&system, &[of_other.clone(), one.clone()]);
    assert!(completed(&system).contains(&one));
    kill_process(executor(&run));
    let again = eventually("another executor has the run", || {
        executors(&run).first().copied()
    });
    let_go(system.folder(), &two);
    let ended = in_state(&system, &run, "completed");
    assert_eq!(
        ended["result"]["message"], "Worked: two: Worked: one",
        "{ended}"
    );
    assert_ne!(again, other_executor);
    let times = times(&system);
    assert_eq!((times[&one], times[&two]), (1, 1), "{times:?}");
    // The other one is where it was.
    assert_eq!(executor(&other), other_executor);
    assert_eq!(times[&of_other], 1, "{times:?}");
    let_go(system.folder(), &of_other);
    let last = fresh(&system, &[of_other, one, two]);
    let_go(system.folder(), &last);
    in_state(&system, &other, "completed");
}

/// spec: EXE-1.4, EXE-4.3, EXE-4.4
#[test]
fn what_supervises_executors_may_be_killed_with_the_hub() {
    let (system, up, _worker, file) = staged();
    let run = begun(&system, &file, "{}");
    let one = fresh(&system, &[]);
    executor(&run);
    up.kill();
    eventually("its executors end with it", || {
        executors(&run).is_empty().then_some(())
    });
    let up = start_up(&system);
    executor(&run);
    let_go(system.folder(), &one);
    let two = fresh(&system, std::slice::from_ref(&one));
    up.kill();
    let _up = start_up(&system);
    let_go(system.folder(), &two);
    let ended = in_state(&system, &run, "completed");
    assert_eq!(
        ended["result"]["message"], "Worked: two: Worked: one",
        "{ended}"
    );
    let times = times(&system);
    assert!(times[&one] <= 2 && times[&two] <= 2, "{times:?}");
    assert_eq!(times.len(), 2, "{times:?}");
}

/// spec: EXE-1.4
#[test]
fn an_executor_by_hand_waits_for_the_lease_and_says_how_the_run_ended() {
    let (system, up, _worker, file) = staged();
    let run = begun(&system, &file, "{}");
    let one = fresh(&system, &[]);
    let by_hand = system.start(&["executor", "--run", &run]);
    let_go(system.folder(), &one);
    let two = fresh(&system, &[one]);
    let_go(system.folder(), &two);
    in_state(&system, &run, "completed");
    assert_eq!(by_hand.wait().code, Some(0));

    let late = "steps:\n  a: { agent: agent_echo, text: x }\n  b: { agent: agent_echo, text: '${a.output.missing.deep}' }\n";
    let failing = begun(&system, &written(&system, "late.yaml", late), "{}");
    in_state(&system, &failing, "failed");
    let told = system.run(&["executor", "--run", &failing], "");
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains("has failed"), "{told:?}");
    let none = system.run(&["executor", "--run", "nothing"], "");
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("there is no such run"), "{none:?}");
    let elsewhere = ["executor", "--run", &failing, "--data", "elsewhere"];
    let none = system.run(&elsewhere, "");
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("there are no runs"), "{none:?}");
    drop(up);
}

/// A person's answer reaches the executor, also over a kill of it.
///
/// spec: EXE-1.4, EXE-2.5
#[test]
fn an_approval_and_runs_within_runs_reach_their_executors() {
    let system = System::bare(free_address());
    let _up = start_up(&system);
    written(
        &system,
        "inner.yaml",
        "steps:\n  sure: { approve: Sure? }\n  say: { agent: agent_echo, text: said, depends_on: [sure] }\noutput: ${say.output.text}\n",
    );
    let file = written(
        &system,
        "outer.yaml",
        "steps:\n  within: { workflow: inner.yaml }\noutput: ${within.output}\n",
    );
    let run = begun(&system, &file, "{}");
    let inner = eventually("the run within it asks", || {
        let runs = system.try_json(&["runs", "list", "--all", "--json", "--mode", "workflow"])?;
        let is_asking = |run: &&Value| run["state"] == "awaiting-approval";
        let inner = runs.iter().find(is_asking)?;
        inner["id"].as_str().map(str::to_owned)
    });
    kill_process(executor(&run));
    kill_process(executor(&inner));
    eventually("both have executors again", || {
        (executors(&run).len() == 1 && executors(&inner).len() == 1).then_some(())
    });
    allow(&system, &inner);
    let ended = in_state(&system, &run, "completed");
    assert_eq!(ended["result"]["message"], "Echo: said", "{ended}");
}

/// spec: EXE-1.4, EXE-1.5
#[test]
fn executors_serve_beside_a_hub_within_their_bound_and_let_go_when_told() {
    let system = System::bare(free_address());
    let _broker = system.start_durable_broker();
    let address = free_address();
    let _cortex = system.start(&["cortex", "--grpc", &address]);
    let _worker = start_worker(&system);
    let cortex = format!("http://{address}");
    let file = written(&system, "two.yaml", TWO_STEPS);
    let begin = || begun_at(&system, &file, &cortex);
    let result = |run: &str| {
        let watched = system.run(&["runs", "watch", run, "--cortex", &cortex], "");
        assert_eq!(watched.code, Some(0), "{watched:?}");
        watched.stdout.trim().to_owned()
    };
    for spawn in ["processes", "tasks"] {
        let serve = || {
            let args = [
                "executor", "serve", "--spawn", spawn, "--max", "1", "--json",
            ];
            let serve = system.start(&args);
            serve.line("what it serves");
            serve
        };
        let serving = serve();
        let mut known = logged(system.folder(), "begun");
        let runs = [(); 2].map(|()| begin());
        let one = fresh(&system, &known);
        serving.signal(Signal::SIGTERM);
        let ended = serving.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(runs.iter().all(|run| executors(run).is_empty()));
        let _serving = serve();
        known.push(one.clone());
        let_go(system.folder(), &one);
        for _ in 0..3 {
            // The second run begins when the first is over.
            let task = fresh(&system, &known);
            let count = |what| logged(system.folder(), what).len();
            let done = count("done");
            assert!(count("begun") <= done + 1, "more than one at once");
            let_go(system.folder(), &task);
            known.push(task);
        }
        for run in &runs {
            assert_eq!(result(run), "Worked: two: Worked: one");
        }
    }
    assert!(times(&system).values().all(|times| *times == 1));
}

/// SIGKILL of the process that serves, and of the hub alone, each while a step is at work and again while the next one is.
///
/// spec: EXE-1.4, EXE-4.2, EXE-4.3, EXE-4.4
#[test]
fn what_serves_executors_and_the_hub_alone_may_be_killed() {
    for spawn in ["processes", "tasks"] {
        let system = System::bare(free_address());
        let mut broker = system.start_durable_broker();
        let address = free_address();
        let _cortex = system.start(&["cortex", "--grpc", &address]);
        let _worker = start_worker(&system);
        let serve = || {
            let serve = system.start(&["executor", "serve", "--spawn", spawn, "--json"]);
            serve.line("what it serves");
            serve
        };
        let mut serving = serve();
        let file = written(&system, "two.yaml", TWO_STEPS);
        let cortex = format!("http://{address}");
        let run = begun_at(&system, &file, &cortex);
        let one = fresh(&system, &[]);
        serving.kill();
        eventually("its executors end with it", || {
            executors(&run).is_empty().then_some(())
        });
        serving = serve();
        let_go(system.folder(), &one);
        let two = fresh(&system, std::slice::from_ref(&one));
        broker.kill();
        broker = system.start_durable_broker();
        system.wait_online("worker");
        serving.kill();
        serving = serve();
        let_go(system.folder(), &two);
        let watched = eventually("Cortex is back", || {
            let watched = system.run(&["runs", "watch", &run, "--cortex", &cortex], "");
            (watched.code == Some(0)).then_some(watched)
        });
        assert_eq!(
            watched.stdout.trim(),
            "Worked: two: Worked: one",
            "{watched:?}"
        );
        let times = times(&system);
        // The worker lives on, so that what is at work goes on there.
        assert_eq!(
            (times[&one], times[&two], times.len()),
            (1, 1, 2),
            "{times:?}"
        );
        drop((serving, broker));
    }
}

/// Work of a run that is given up is taken back, by an executor that lives.
///
/// spec: EXE-1.4
#[test]
fn what_a_run_did_whose_executors_died_is_taken_back() {
    let (system, _up, _worker, _) = staged();
    let file = written(
        &system,
        "undone.yaml",
        "steps:\n  one: { agent: worker, text: one, compensate: { agent: worker, skill: work, text: 'undo ${one.output.text}' } }\n  \
         two: { agent: worker, text: two, depends_on: [one] }\n",
    );
    let run = begun(&system, &file, "{}");
    let one = fresh(&system, &[]);
    let_go(system.folder(), &one);
    let two = fresh(&system, std::slice::from_ref(&one));
    let mut killed = Vec::new();
    for _ in 0..7 {
        let pid = eventually("it has another executor", || {
            let mut found = executors(&run).into_iter();
            found.find(|pid| !killed.contains(pid))
        });
        kill_process(pid);
        killed.push(pid);
    }
    let undo = fresh(&system, &[one, two]);
    let_go(system.folder(), &undo);
    let ended = in_state(&system, &run, "failed");
    let error = ended["error"].as_str().expect("an error");
    assert!(error.contains("ended again and again"), "{ended}");
    assert!(error.ends_with("; taken back: one"), "{ended}");
}

/// A run whose executors cannot live is given up, and others go on.
///
/// spec: EXE-1.4, EXE-1.5
#[test]
fn a_run_that_kills_its_executors_is_given_up() {
    let (system, _up, _worker, file) = staged();
    let run = begun(&system, &file, "{}");
    fresh(&system, &[]);
    let ended = eventually("it is given up", || {
        // The one that ends the run may have ended by itself.
        executors(&run).into_iter().for_each(kill_if_there);
        let run = shown(&system, &run);
        (run["state"] == "failed").then_some(run)
    });
    assert!(
        ended.to_string().contains("ended again and again"),
        "{ended}"
    );
    let other = system.run(
        &[
            "workflow",
            "run",
            &written(
                &system,
                "echo.yaml",
                "steps:\n  a: { agent: agent_echo, text: x }\noutput: ${a.output.text}\n",
            ),
        ],
        "",
    );
    assert_eq!(other.code, Some(0), "{other:?}");
}
