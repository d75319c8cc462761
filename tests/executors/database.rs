//! Executors whose runs are in PostgreSQL. They run if `AGENTHUB_TEST_POSTGRES` names a server (`.ci/run` starts one).

mod tls;

use std::{
    env,
    path::PathBuf,
    slice::from_ref,
    sync::{Mutex, PoisonError},
};

use super::*;

/// One test at a time: whatever serves executors takes any run of the database.
static ALONE: Mutex<()> = Mutex::new(());

/// The server's connection string.
fn server() -> Option<String> {
    let server = env::var("AGENTHUB_TEST_POSTGRES").ok();
    if server.is_none() {
        eprintln!("skipped: AGENTHUB_TEST_POSTGRES names no server");
    }
    server
}

/// Each process has a data folder of its own, as on a machine of its own.
///
/// spec: EXE-1.4, EXE-4.1, EXE-4.3, EXE-4.4
#[test]
fn runs_in_a_database_are_shown_and_go_on_on_another_machine() {
    let Some(server) = server() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A server whose certificate nobody vouches for is told nothing.
///
/// spec: EXE-4.1
#[test]
fn runs_go_to_a_database_over_tls_whose_certificate_is_checked() {
    let Some(server) = server() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System::bare(free_address());
    let _broker = system.start_durable_broker();
    let tls = tls::Front::start(&server, system.folder());
    let journal = PathBuf::from(tls.connection());
    let known = tls.certificate().to_owned();
    let unknown = system.folder().join("no.pem");
    fs::write(&unknown, "").expect("the folder is ours");
    let start = |trusted: &PathBuf, args: &[&str]| {
        let environment = [("AGENTHUB_JOURNAL", &journal), ("SSL_CERT_FILE", trusted)];
        Process::start_in(&environment, system.folder(), &system.hub(), args)
    };
    let serve = ["executor", "serve", "--json"];
    let refused = start(&unknown, &serve).wait();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("certificate"), "{refused:?}");
    assert_eq!(tls.connections(), 0, "TLS was not established");

    let serving = start(&known, &serve);
    serving.line("what it serves");
    assert!(tls.connections() > 0, "it is there over TLS");
}
