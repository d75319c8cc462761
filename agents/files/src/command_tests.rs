use std::{fs, future::pending, time::Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use super::*;

/// A script that runs in a folder of its own.
struct Script {
    folder: tempfile::TempDir,
    command: Command,
}

impl Script {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let command = Command {
            line: ["sh", "-c", script].map(str::to_owned).to_vec(),
            folder: folder.path().to_owned(),
            environment: Vec::new(),
            timeout: Duration::from_secs(20),
        };
        Self { folder, command }
    }

    async fn run(&self, input: Value) -> Result<Value, String> {
        let key = [("AGENTHUB_IDEMPOTENCY_KEY", "k".to_owned())];
        let ended = self.command.run(&key, &input, pending()).await;
        ended.map_err(|failure| failure.to_string())
    }

    /// The process id that the script wrote.
    async fn id(&self) -> Pid {
        let file = self.folder.path().join("id");
        for _ in 0..1_000 {
            let written = fs::read_to_string(&file).unwrap_or_default();
            if let Some(id) = written.trim().parse().ok().and_then(Pid::from_raw) {
                return id;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the script wrote no process id");
    }
}

/// True if a process runs no longer, after a while. One that nobody has waited for yet does not run.
async fn is_gone(process: Pid) -> bool {
    let status = format!("/proc/{}/status", process.as_raw_nonzero());
    for _ in 0..1_000 {
        let is_over = fs::read_to_string(&status).is_ok_and(|s| s.contains("State:\tZ"));
        if is_over || test_kill_process(process).is_err() {
            return true;
        }
        sleep(Duration::from_millis(10)).await;
    }
    false
}

/// spec: AGT-11.3
#[tokio::test]
async fn the_input_is_read_and_the_result_is_json_or_text() {
    let echo = Script::new("cat");
    let input = json!({"a": [1, "ä"]});
    assert_eq!(echo.run(input.clone()).await, Ok(input));
    let text = Script::new("echo plain words");
    assert_eq!(text.run(json!({})).await, Ok(json!("plain words")));
    let nothing = Script::new(":");
    assert_eq!(nothing.run(json!({})).await, Ok(json!("")));
}

/// spec: AGT-3.4
#[tokio::test]
async fn a_failure_tells_the_end_of_stderr() {
    let fails =
        Script::new("echo first >&2; yes padding | head -2000 >&2; echo no disk >&2; exit 3");
    let error = fails.run(json!({})).await.expect_err("it fails");
    assert!(error.starts_with("sh ended with exit code 3: "), "{error}");
    assert!(error.ends_with("no disk"), "{error}");
    assert!(!error.contains("first"), "{error}");
    let killed = Script::new("kill -9 $$").run(json!({})).await;
    assert_eq!(killed, Err("sh was ended by signal 9".to_owned()));
    let mut missing = Script::new("");
    missing.command.line = vec!["no-such-program".to_owned()];
    let error = missing.run(json!({})).await.expect_err("there is none");
    assert!(
        error.starts_with("cannot start no-such-program: "),
        "{error}"
    );
}

#[tokio::test]
async fn much_output_is_cut_and_the_program_still_ends_well() {
    let much = Script::new("yes words | head -c 5000000");
    let Ok(Value::String(text)) = much.run(json!({})).await else {
        panic!("it is text");
    };
    let left_out = 5_000_000 - MAX_BEGINNING;
    let end = format!("words\n [… {left_out} bytes left out]");
    assert!(text.ends_with(&end), "{}", &text[text.len() - 60..]);
    assert!(text.len() < 64 * 1024, "{}", text.len());
}

#[tokio::test]
async fn it_runs_in_the_folder_of_its_file_and_sees_little_of_the_environment() {
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok(), "cargo sets it");
    let mut show =
        Script::new("pwd -P; echo key $AGENTHUB_IDEMPOTENCY_KEY; echo dir $CARGO_MANIFEST_DIR");
    let folder = show.folder.path().canonicalize().expect("it is there");
    let seen = show.run(json!({})).await.expect("it prints");
    assert_eq!(seen, json!(format!("{}\nkey k\ndir", folder.display())));
    show.command.environment = vec!["CARGO_MANIFEST_DIR".to_owned()];
    let seen = show.run(json!({})).await.expect("it prints");
    assert!(
        seen.as_str()
            .is_some_and(|s| s.contains(env!("CARGO_MANIFEST_DIR"))),
        "{seen}"
    );
}

#[tokio::test]
async fn a_program_named_by_a_path_is_found_from_its_folder() {
    let mut script = Script::new("");
    fs::create_dir(script.folder.path().join("bin")).expect("a folder");
    let file = script.folder.path().join("bin/hello");
    fs::write(&file, "#!/bin/sh\necho hello\n").expect("a file");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&file, executable).expect("it is ours");
    script.command.line = vec!["bin/hello".to_owned()];
    assert_eq!(script.run(json!({})).await, Ok(json!("hello")));
}

#[tokio::test]
async fn its_time_ends_it_with_everything_it_started() {
    let mut slow = Script::new("sleep 1000 & echo $! > id; wait");
    slow.command.timeout = Duration::from_secs(1);
    let ended = slow.run(json!({})).await;
    assert_eq!(ended, Err("sh did not end within 1 s".to_owned()));
    assert!(is_gone(slow.id().await).await);
}

/// What does not listen to SIGTERM is killed.
#[tokio::test]
async fn cancelling_ends_it_with_everything_it_started() {
    let deaf = Script::new("trap '' TERM; sleep 1000 & echo $! > id; wait; wait");
    let (begun, input) = (Instant::now(), json!({}));
    let cancelled = async {
        deaf.id().await;
    };
    let ended = deaf.command.run(&[], &input, cancelled).await;
    assert_eq!(ended, Err(Failure::cancelled("it was cancelled")));
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(is_gone(deaf.id().await).await);
}

#[tokio::test]
async fn dropping_a_call_kills_it() {
    let slow = Script::new("sleep 1000 & echo $! > id; wait");
    let id = tokio::select! {
        id = slow.id() => id,
        ended = slow.run(json!({})) => panic!("{ended:?}"),
    };
    assert!(is_gone(id).await);
}

#[tokio::test]
async fn what_it_leaves_running_ends_with_it() {
    let leaves = Script::new("sleep 1000 & echo $! > id; echo done");
    assert_eq!(leaves.run(json!({})).await, Ok(json!("done")));
    assert!(is_gone(leaves.id().await).await);
}
