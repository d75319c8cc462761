//! Files that come with what is said in a chat, from whoever says it to the agent that is asked.

use agenthub_sdk::{
    Agent, Card, Failure, Reply, RunningAgent, Skill, TaskContext, proto::a2a::file_part::File,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    harness::{Process, System, eventually, free_address},
    http::{Answer, send},
    terminal::Terminal,
};

const NOTE: &str = "<b>the heron is back</b>";
const NOTE_IN_BASE64: &str = "PGI+dGhlIGhlcm9uIGlzIGJhY2s8L2I+";

/// An agent that says what is in the files that it gets.
fn reader(system: &System) -> (Runtime, RunningAgent) {
    let runtime = Runtime::new().expect("threads");
    let read = Skill::new("read", "Read", "Reads notes aloud").tags(["note"]);
    let card = Card::new("agent_reader", "Reads notes aloud").skill(read.clone());
    let agent = Agent::worker(card).on(&read, async |task: TaskContext, _: String| {
        let files = task.message().files().filter_map(|part| part.as_file());
        let read = files.map(|file| match &file.file {
            Some(File::FileWithBytes(bytes)) => {
                format!("{}: {}", file.name, String::from_utf8_lossy(bytes))
            }
            _ => format!("{} is elsewhere", file.name),
        });
        Ok::<_, Failure>(Reply::text(read.collect::<Vec<_>>().join("; ")))
    });
    let agent = runtime.block_on(agent.start(system.hub()));
    let agent = agent.expect("it starts");
    system.wait_online("agent_reader");
    (runtime, agent)
}

fn up(system: &System, http: &str) -> Process {
    let up = system.start(&system.up_at(http));
    up.line_with("grpc");
    up
}

fn ask(http: &str, brief: &Value) -> Answer {
    let headers = "Content-Type: application/json\r\n";
    send(http, "POST", "/v1/runs", headers, &brief.to_string()).expect("an answer")
}

/// The answer of a run, once it has ended.
fn answer(http: &str, run: &Value) -> String {
    let path = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    eventually("it ends", || {
        let run = send(http, "GET", &path, "", "").expect("an answer").json();
        let ended = ["completed", "failed"].contains(&run["state"].as_str().unwrap_or_default());
        ended.then(|| run.to_string())
    })
}

/// Through Cortex, and by name; the run is told of without what is in its files.
///
/// spec: ORC-2.3
#[test]
fn a_file_reaches_the_agent_that_is_asked() {
    let (system, http) = (System::bare(free_address()), free_address());
    let _up = up(&system, &http);
    let _reader = reader(&system);
    let file = json!({"name": "note.txt", "mimeType": "text/plain", "bytes": NOTE_IN_BASE64});
    for agent in [None, Some("agent_reader")] {
        let mut brief =
            json!({"objective": "let agent_reader read the note", "mode": "chat", "files": [file]});
        if let Some(agent) = agent {
            brief["agent"] = agent.into();
        }
        let started = ask(&http, &brief);
        assert_eq!(started.status, 201);
        let told = answer(&http, &started.json());
        assert!(told.contains(&format!("note.txt: {NOTE}")), "{told}");
        assert!(!told.contains(NOTE_IN_BASE64), "{told}");
    }
    let refused = ask(&http, &json!({"objective": "o", "files": [file]}));
    assert_eq!(refused.status, 422);
    assert_eq!(refused.json()["errors"][0]["pointer"], "#/files");
}

/// Issue 26, chat: files go along from the terminal as from the page, within the same bounds.
#[test]
fn a_file_goes_along_from_the_chat_on_a_terminal_and_in_a_pipe() {
    let (system, _up) = System::up();
    let _reader = reader(&system);
    std::fs::write(system.folder().join("the note.txt"), NOTE).expect("the folder is ours");
    std::fs::write(system.folder().join("large"), vec![0; 1 << 20]).expect("the folder is ours");
    let mut chat = Terminal::start(&system, &["chat", "--ephemeral"]);
    chat.shows("> ");
    chat.press("/attach nothing here\r");
    chat.shows("nothing here is not attached: No such file");
    chat.press("/attach large\r");
    chat.shows("At most 8 files, 640 KiB together");
    chat.press("/attach \"the note.txt\"\r");
    chat.shows("goes with what you say next: the note.txt (24 bytes)");
    chat.press("let agent_reader read the note\r");
    chat.shows(&format!("the note.txt: {NOTE}"));
    chat.press("/attach\r");
    chat.shows("no file is attached");
    chat.press("/quit\r");
    assert_eq!(chat.left(), Some(0));
    let piped = system.run(
        &["chat"],
        "/attach the note.txt\nlet agent_reader read the note\n",
    );
    assert!(
        piped.stdout.contains(&format!("the note.txt: {NOTE}")),
        "{piped:?}"
    );
    let refused = system.run(&["chat"], "/attach none\n");
    assert_eq!(refused.code, Some(1), "{refused:?}");
}

/// The page takes a form with files, and says at its field what is too much; a file is given to who may see the task, and to nobody else. Who
/// asked sees what Cortex asked on her behalf and what came back, with the files, though the task is of Cortex and an agent.
#[test]
fn a_file_that_is_sent_with_a_page_is_for_who_sees_its_task() {
    let (system, http) = (System::bare(free_address()), free_address());
    let _up = up(&system, &http);
    let log_in = |name: &str, role: &str| {
        let issued = &system.json(&["tokens", "issue", "--json", name, "--role", role])[0];
        let token = issued["token"].as_str().expect("a token").to_owned();
        let headers =
            format!("Origin: http://{http}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
        // The hub notices in a moment that the token was issued, and lets everybody in before.
        eventually("it is logged in", || {
            let body = format!("token={token}&next=/");
            let answer = send(&http, "POST", "/ui/login", &headers, &body)?;
            let (pair, _) = answer.header("set-cookie")?.split_once(';')?;
            let session = format!("Cookie: {pair}\r\nAccept: text/html\r\n");
            let page = send(&http, "GET", "/", &session, "")?.text();
            page.contains(name).then_some(session)
        })
    };
    let (alice, bob) = (log_in("alice", "user"), log_in("bob", "user"));
    let get = |who: &str, path: &str| send(&http, "GET", path, who, "").expect("an answer");
    let say = |content: &str| {
        let headers = format!(
            "{alice}Origin: http://{http}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        );
        let body = format!(
            "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\necho \"see the note\"\r\n--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"note.html\"\r\nContent-Type: text/html\r\n\r\n{content}\r\n--x--\r\n"
        );
        send(&http, "POST", "/ui/chat/t1", &headers, &body).expect("an answer")
    };
    let refused = say(&"x".repeat(3 << 20));
    assert_eq!(refused.status, 422);
    let refused = refused.text();
    assert!(refused.contains("data-field=\"files\""), "{refused}");
    assert_eq!(say(NOTE).status, 303);
    let link = eventually("the file is shown", || {
        let shown = get(&alice, "/ui/chat/t1").text();
        let (_, link) = shown.split_once("href=\"/ui/tasks/")?;
        let link = link.split('"').next()?.replace("&amp;", "&");
        link.contains("/file?").then(|| format!("/ui/tasks/{link}"))
    });
    let saved = get(&alice, &link);
    assert_eq!(
        saved.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(saved.text(), NOTE);
    assert_eq!(
        get(&alice, &format!("{link}&show=1")).status,
        404,
        "it is no picture"
    );
    let came = eventually("what came back is shown", || {
        let shown = get(&alice, "/ui/chat/t1").text();
        let (_, came) = shown.split_once("<details id=\"came-")?;
        let (task, came) = came.split_once('"')?;
        let (asked, came) = came.split_once("Came back")?;
        let is_whole = asked.contains("see the note") && came.contains("see the note");
        is_whole.then(|| format!("/ui/tasks/{task}"))
    });
    let task = get(&alice, &came);
    assert_eq!(task.status, 200);
    assert!(task.text().contains("On behalf of"));
    let listed = get(&alice, "/ui/tasks").text();
    assert!(listed.contains(&came), "{listed}");
    for path in [&link, &came, "/ui/chat/t1"] {
        assert_eq!(get(&bob, path).status, 404, "{path}");
    }
    assert!(!get(&bob, "/ui/tasks").text().contains("/ui/tasks/"));
}
