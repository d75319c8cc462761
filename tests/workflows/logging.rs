//! A worker in a process of its own. What it is asked for, and what it has done, is in a file, and so are the tasks that it may end.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    time::Duration,
};

use agenthub_sdk::{Agent, Card, Skill, TaskContext};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex, join},
    net::TcpStream,
    time::sleep,
};

use crate::harness::{Process, System};

/// Requests to the agent and what it has done, a line each.
const LOG: &str = "calls.log";

/// The tasks that the agent may end, a line each.
const LET_GO: &str = "let-go";

/// The task after whose end the worker receives nothing, while this file exists.
const LAST: &str = "last";

/// Interval at which the worker looks at the files.
const POLL: Duration = Duration::from_millis(10);

/// Size of the buffers between the hub and the worker.
const BUFFER: usize = 64 * 1024;

/// Appends a line in one write: `writeln!` makes several, between which others read half of it.
fn append(file: &mut File, line: &str) {
    file.write_all(line.as_bytes()).expect("it can be written");
}

fn note(what: &str, task: &str) {
    let mut log = File::options()
        .create(true)
        .append(true)
        .open(LOG)
        .expect("the folder is there");
    append(&mut log, &format!("{what} {task}\n"));
    log.sync_all().expect("it can be written");
}

/// True once the [last](LAST) task is done. Its answer, on which more could be received, is not sent before.
fn is_deaf() -> bool {
    let last = fs::read_to_string(LAST);
    last.is_ok_and(|task| logged(Path::new("."), "done").contains(&task))
}

/// Connects to the hub. Received bytes are held back while the worker is deaf.
async fn dial(address: String) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin> {
    let (mut received, sent) = TcpStream::connect(address).await?.into_split();
    let (near, mut far) = duplex(BUFFER);
    // It ends with the connection.
    tokio::spawn(async move {
        let mut buffer = vec![0; BUFFER];
        while let Ok(length @ 1..) = received.read(&mut buffer).await {
            while is_deaf() {
                sleep(POLL).await;
            }
            if far.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    });
    Ok(join(near, sent))
}

/// The worker: it ends a task once it may.
#[tokio::test]
#[ignore = "it is a part of other tests"]
async fn the_worker_in_a_process() {
    let hub = std::env::var("AGENTHUB_HUB").expect("the test says where the hub is");
    let skill = Skill::new("work", "Work", "Works");
    let agent = Agent::worker(Card::new("worker", "Works").skill(&skill))
        .connector(dial)
        .on(&skill, async |task: TaskContext, text: String| {
            let id = task.task_id().to_owned();
            note("begun", &id);
            let is_let_go = || {
                let all = fs::read_to_string(LET_GO).unwrap_or_default();
                all.lines().any(|line| line == id)
            };
            while !is_let_go() {
                sleep(POLL).await;
            }
            note("done", &id);
            format!("Worked: {text}")
        });
    let _agent = agent.start(hub).await.expect("the hub is there");
    std::future::pending::<()>().await;
}

pub(crate) fn start_worker(system: &System) -> Process {
    let worker = system.start_test("workflows::logging::the_worker_in_a_process");
    system.wait_online("worker");
    worker
}

/// The tasks of the log with this word, as often as they are there.
pub(crate) fn logged(folder: &Path, what: &str) -> Vec<String> {
    let log = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(word, _)| *word == what)
        .map(|(_, task)| task.to_owned())
        .collect()
}

pub(crate) fn let_go(folder: &Path, task: &str) {
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LET_GO))
        .expect("the folder is there");
    append(&mut file, &format!("{task}\n"));
}

/// Lets the worker end a task, after which it receives nothing until [`receive`], so that it does not get the next one.
pub(crate) fn let_go_as_last(folder: &Path, task: &str) {
    fs::write(folder.join(LAST), task).expect("the folder is there");
    let_go(folder, task);
}

/// Has the worker, and those that are started in its place, receive again.
pub(crate) fn receive(folder: &Path) {
    fs::remove_file(folder.join(LAST)).expect("it is there");
}
