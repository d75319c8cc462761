//! Executors whose runs are in PostgreSQL. They run if `AGENTHUB_TEST_POSTGRES` names a server (`.ci/run` starts one).

use std::{env, path::PathBuf, slice::from_ref};

use super::*;

/// Each process has a data folder of its own, as on a machine of its own.
///
/// spec: EXE-1.4, EXE-4.1, EXE-4.3, EXE-4.4
#[test]
fn runs_in_a_database_are_shown_and_go_on_on_another_machine() {
    let Ok(server) = env::var("AGENTHUB_TEST_POSTGRES") else {
        eprintln!("skipped: AGENTHUB_TEST_POSTGRES names no server");
        return;
    };
    let journal = PathBuf::from(server);
    let system = System::bare(free_address());
    let _broker = system.start_durable_broker();
    let start = |data: &str, args: &[&str]| {
        let args = [args, &["--data", data]].concat();
        let environment = [("AGENTHUB_JOURNAL", &journal)];
        Process::start_in(&environment, system.folder(), &system.hub(), &args)
    };
    let serve = |data: &str| {
        let serving = start(data, &["executor", "serve", "--json"]);
        serving.line("what it serves");
        serving
    };
    let address = free_address();
    let cortex = format!("http://{address}");
    let _cortex = start("cortex", &["cortex", "--grpc", &address]);
    let first = serve("one");
    let _worker = start_worker(&system);
    let file = written(&system, "two.yaml", TWO_STEPS);
    let run = begun_at(&system, &file, &cortex);
    let one = fresh(&system, &[]);
    let listed = system.json(&["runs", "list", "--json", "--cortex", &cortex]);
    let found = listed.iter().find(|listed| listed["id"] == run.as_str());
    let found = found.unwrap_or_else(|| panic!("{run} in {listed:?}"));
    assert_eq!(
        (&found["state"], &found["agent"]),
        (&"working".into(), &"workflows".into())
    );

    first.kill();
    eventually("its executors end with it", || {
        executors(&run).is_empty().then_some(())
    });
    let _second = serve("two");
    let_go(system.folder(), &one);
    let two = fresh(&system, from_ref(&one));
    let_go(system.folder(), &two);
    let watched = system.run(&["runs", "watch", &run, "--cortex", &cortex], "");
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert_eq!(watched.stdout.trim(), "Worked: two: Worked: one");
    let steps = system.json(&["runs", "steps", &run, "--json", "--cortex", &cortex]);
    let steps: Vec<_> = steps.iter().map(|s| (&s["step"], &s["state"])).collect();
    let completed = |step: &str| (Value::from(step), Value::from("completed"));
    let (one_done, two_done) = (completed("one"), completed("two"));
    assert_eq!(
        steps,
        [(&one_done.0, &one_done.1), (&two_done.0, &two_done.1)]
    );
    let times = times(&system);
    assert_eq!(
        (times[&one], times[&two], times.len()),
        (1, 1, 2),
        "{times:?}"
    );
}
