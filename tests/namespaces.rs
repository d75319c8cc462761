//! Namespaces over the whole system: teams that share a hub neither see nor stop each other.

pub(crate) mod answers;
mod foreign_ids;
pub(crate) mod ids;
pub(crate) mod requests;
mod sharing;
mod teams;

use std::fs;

use serde_json::{Value, json};

use self::teams::{Teams, texts};
use crate::{
    harness::{PATIENCE, eventually},
    http::send,
};

/// Issue 25: namespaces part directory, topics, tasks, mailboxes, runs and journals; whoami shows the namespace.
#[test]
fn each_team_sees_its_own_alone() {
    let teams = Teams::start(&["team-a", "team-b"]);
    let (a, b) = (teams.token("team-a"), teams.token("team-b"));
    for (token, namespace) in [
        (a, "team-a"),
        (b, "team-b"),
        (teams.token("default"), "default"),
    ] {
        let who = teams.json_as(token, &["access", "whoami", "--json"]);
        assert_eq!(who[0]["namespace"], namespace);
        assert_eq!(who[0]["principal"], "alice");
    }
    // The same id twice is two agents, and neither is the one of `default`.
    let _both = ["team-a", "team-b"].map(|team| teams.start_echo(team, "both"));
    let ids = |token: &str| {
        texts(
            &teams.json_as(token, &["agents", "list", "--json"]),
            "agentId",
        )
    };
    eventually("both are there", || {
        let has = |token: &str| ids(token).contains(&"both".to_owned());
        (has(a) && has(b)).then_some(())
    });
    assert!(!ids(teams.token("default")).contains(&"both".to_owned()));

    let asked = teams.run_as(a, &["publish", "--to", "both", "--wait", "for a alone"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let chat = teams.run_with(a, &["chat"], "echo \"of a alone\"\n");
    assert!(chat.stdout.contains("of a alone"), "{chat:?}");
    let everything = |token: &str| {
        let mut all = String::new();
        for args in [
            &["tasks", "list", "--json"][..],
            &["runs", "list", "--json"],
            &["mailboxes", "list", "--json"],
        ] {
            let found = teams.run_as(token, args);
            assert_eq!(found.code, Some(0), "{args:?}: {found:?}");
            all += &found.stdout;
        }
        for path in [
            "/agents",
            "/v1/runs",
            "/tasks",
            "/ui/tasks",
            "/ui/runs",
            "/ui/events",
            "/metrics",
        ] {
            let header = format!("Authorization: Bearer {token}\r\nA2A-Version: 1.0\r\n");
            let answer = send(teams.http(), "GET", path, &header, "").expect("an answer");
            assert_eq!(answer.status, 200, "{path}");
            all += &answer.text();
        }
        all
    };
    let of_a = everything(a);
    assert!(
        of_a.contains("for a alone") && of_a.contains("of a alone"),
        "{of_a}"
    );
    for other in [b, teams.token("default")] {
        let seen = everything(other);
        assert!(!seen.contains("a alone"), "{seen}");
    }
    // A namespace that is named is one's own, and every other one is refused in the same words.
    let named = |namespace: &str| {
        let refused = teams.call_as(
            b,
            "/agenthub.AgentHub/PublishMessage",
            &json!({"message": {"messageId": "n", "content": [{"text": "x"}]}, "routing": {"fromAgentId": "alice", "toAgentId": "both", "namespace": namespace}}),
        );
        refused.replace(namespace, "NAME")
    };
    assert_eq!(named("team-a"), named("team-z"));
    assert!(
        named("team-a").contains("PermissionDenied"),
        "{}",
        named("team-a")
    );
}

/// Issue 25: topics reach those of the namespace who subscribe to them, and nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_heard_within_its_namespace() {
    use agenthub_sdk::prelude::*;
    use tokio::sync::mpsc;
    let teams = Teams::start(&["team-a", "team-b"]);
    let mut heard = Vec::new();
    let mut running = Vec::new();
    for team in ["team-a", "team-b"] {
        let (said, hears) = mpsc::channel(8);
        let agent = Agent::worker(Card::new("listener", "Listens"))
            .topics(["news"])
            .on_any(move |task: TaskContext| {
                let said = said.clone();
                async move {
                    let _ = said.send(task.text()).await;
                    agenthub_sdk::Reply::none()
                }
            });
        let agent = agent.token(teams.token(team)).expect("a token");
        running.push(agent.start(teams.hub()).await.expect("it starts"));
        heard.push(hears);
    }
    for (team, text) in [("team-a", "of a"), ("team-b", "of b")] {
        let said = teams.run_as(teams.token(team), &["publish", "--task-type", "news", text]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    for (hears, text) in heard.iter_mut().zip(["of a", "of b"]) {
        let first = tokio::time::timeout(PATIENCE, hears.recv()).await;
        assert_eq!(first.expect("in time").as_deref(), Some(text));
        assert!(hears.try_recv().is_err(), "nothing else");
    }
}

/// Issue 25: after kill -9 all is where it was, in its own namespace.
#[test]
fn a_crash_keeps_them_apart() {
    let mut teams = Teams::start(&["team-a", "team-b"]);
    for team in ["team-a", "team-b"] {
        let said = format!("work of {team}");
        let token = teams.token(team);
        let asked = teams.run_as(token, &["publish", "--to", "agent_echo", "--wait", &said]);
        assert_eq!(asked.code, Some(0), "{asked:?}");
    }
    teams.kill_and_restart();
    for (team, other) in [("team-a", "team-b"), ("team-b", "team-a")] {
        let token = teams.token(team);
        let listed = teams.run_as(token, &["tasks", "list", "--json"]).stdout;
        assert!(listed.contains(&format!("work of {team}")), "{listed}");
        assert!(!listed.contains(&format!("work of {other}")), "{listed}");
        let folder = teams.folder().join(".agenthub/namespaces").join(team);
        assert!(folder.join("log.db").is_file() && folder.join("runs/cortex.db").is_file());
    }
}

/// Issue 25: a namespace that is added beside a running hub is there within about a second; the others go on. Removed, its tokens are worth nothing
/// and its streams end.
#[test]
fn namespaces_come_and_go_while_the_hub_runs() {
    let teams = Teams::start(&["team-a"]);
    let _echo = teams.start_echo("team-a", "goes_on");
    let added = teams.run(&["namespaces", "add", "late"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.stderr.contains("--namespace late"), "{added:?}");
    let token = teams.issue(&["bob", "--role", "admin", "--namespace", "late"]);
    eventually("it is open, with its agents", || {
        let listed = teams.run_as(&token, &["agents", "list", "--json"]);
        listed.stdout.contains("agent_echo").then_some(())
    });
    let asked = teams.run_as(&token, &["publish", "--to", "agent_echo", "--wait", "hi"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let twice = teams.run(&["namespaces", "add", "late"]);
    assert_eq!(twice.code, Some(1), "{twice:?}");
    let listed = teams.system_json(&["namespaces", "list", "--json"]);
    assert_eq!(texts(&listed, "namespace"), ["default", "late", "team-a"]);

    let refused = teams.run(&["namespaces", "remove", "late"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--with-everything"), "{refused:?}");
    let watch = teams.start_as(&token, &["agents", "watch", "--json"]);
    let removed = teams.run(&["namespaces", "remove", "late", "--with-everything"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(!teams.folder().join(".agenthub/namespaces/late").exists());
    let over = watch.finish("");
    assert_ne!(over.code, Some(0), "{over:?}");
    let gone = teams.run_as(&token, &["agents", "list"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");

    // One of the same name that is added later has nothing of it, and its old tokens stay worthless.
    assert_eq!(teams.run(&["namespaces", "add", "late"]).code, Some(0));
    let again = teams.issue(&["carol", "--role", "admin", "--namespace", "late"]);
    let tasks = eventually("it is open again", || {
        let listed = teams.run_as(&again, &["tasks", "list"]);
        (listed.code == Some(0)).then_some(listed.stdout)
    });
    assert!(tasks.contains("no tasks") || tasks.is_empty(), "{tasks}");
    assert_eq!(teams.run_as(&token, &["agents", "list"]).code, Some(1));
    // All that time the other one went on.
    let other = teams.run_as(
        teams.token("team-a"),
        &["publish", "--to", "goes_on", "--wait", "hi"],
    );
    assert_eq!(other.code, Some(0), "{other:?}");
}

/// Issue 25: an administrator administers its own namespace, and a principal of the same name elsewhere is another one.
#[test]
fn rights_end_with_the_namespace() {
    let teams = Teams::start(&["team-a", "team-b"]);
    let explained = |token: &str| {
        let said = teams.json_as(
            token,
            &[
                "access", "explain", "--json", "--as", "bob", "--do", "operate",
            ],
        );
        said[0]["allowed"].clone()
    };
    teams.issue(&["bob", "--role", "operator", "--namespace", "team-a"]);
    eventually("the token is known", || {
        (explained(teams.token("team-a")) == true).then_some(())
    });
    assert_eq!(explained(teams.token("team-b")), false);
    assert_eq!(explained(teams.token("default")), false);
    let wrong = teams.run(&[
        "tokens",
        "issue",
        "x",
        "--role",
        "user",
        "--namespace",
        "nowhere",
    ]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("namespaces add nowhere"), "{wrong:?}");
    let bad = teams.run(&["namespaces", "add", "../x"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(!fs::exists(teams.folder().join(".agenthub/x")).expect("a folder"));
    let listed: Vec<Value> = teams.system_json(&["tokens", "list", "--json"]);
    assert!(texts(&listed, "namespace").contains(&"team-a".to_owned()));
}

/// Issue 25: a namespace that cannot open is shown with the reason, the others go on, and it opens once it can.
#[test]
fn a_namespace_that_cannot_open_is_shown_and_the_others_go_on() {
    let mut teams = Teams::start(&["team-a", "team-b"]);
    let _echo = teams.start_echo("team-b", "mine");
    teams.kill();
    let log = teams.folder().join(".agenthub/namespaces/team-b/log.db");
    let aside = teams.folder().join("aside.db");
    fs::rename(&log, &aside).expect("the log of team-b");
    fs::create_dir(&log).expect("something else in its place");
    teams.start_again();
    let standing = |teams: &Teams, name: &str| {
        let all = teams.system_json(&["namespaces", "list", "--json"]);
        let found = all.into_iter().find(|line| line["namespace"] == name);
        found.expect("it is listed")
    };
    let failed = eventually("its failure is shown", || {
        let found = standing(&teams, "team-b");
        (found["state"] == "cannot be opened").then_some(found)
    });
    let reason = failed["reason"].as_str().expect("a reason");
    assert!(reason.contains("team-b"), "{reason}");
    assert_eq!(standing(&teams, "team-a")["state"], "open");
    assert_eq!(standing(&teams, "default")["state"], "open");
    let ready = send(teams.http(), "GET", "/ready", "", "").expect("an answer");
    assert_eq!(ready.status, 200, "the others are ready");
    let said = ready.text();
    assert!(said.contains("namespaces cannot be opened: 1"), "{said}");
    assert!(
        !said.contains("team-b"),
        "its name is not for everybody: {said}"
    );
    assert!(
        teams.said().contains("cannot be opened"),
        "{}",
        teams.said()
    );
    let other = teams.run_as(teams.token("team-a"), &["agents", "list"]);
    assert_eq!(other.code, Some(0), "{other:?}");

    fs::remove_dir(&log).expect("it is removed");
    fs::rename(&aside, &log).expect("it is there again");
    eventually("it opens", || {
        (standing(&teams, "team-b")["state"] == "open").then_some(())
    });
    let ready = send(teams.http(), "GET", "/ready", "", "").expect("an answer");
    assert_eq!(ready.text(), "ready\n");
    teams.until_online("team-a", "cortex");
    teams.kill();
    assert_eq!(standing(&teams, "team-a")["state"], "no hub");
}
