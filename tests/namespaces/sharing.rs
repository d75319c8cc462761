//! Agents that are shared with another namespace by a grant of the policy.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use agenthub_proto::a2a::{Artifact, Part};
use agenthub_sdk::{Delegation, Failure, Reply, RunningAgent, prelude::*, runs::Spent};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::teams::{Teams, texts};
use crate::harness::{eventually, within_a_day};

/// Patience with a task: longer than a lease of a delivery.
const PATIENCE: Duration = Duration::from_secs(120);

const SHARED: &str = "team-a.helper";

/// Settings with the policy in a file that can change.
const POLICY: &str = "[access]\npolicy = 'policy.toml'\n";

const GRANT: &str = "[shares.\"team-a/helper\"]\nwith = ['team-b']\n";

fn sharing() -> Teams {
    Teams::start_with_file(
        &["team-a", "team-b", "team-c"],
        POLICY,
        ("policy.toml", GRANT),
    )
}

/// An agent of team-a that says something, fails, asks, or waits for a file.
struct Helper {
    _running: RunningAgent,
    runtime: Runtime,
}

impl Helper {
    fn start(teams: &Teams) -> Self {
        Self::start_with(teams, teams.token("team-a"))
    }

    fn start_with(teams: &Teams, token: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let folder = teams.folder().to_owned();
        let agent = Agent::worker(Card::new("helper", "Helps"))
            .on_any(move |task: TaskContext| help(task, folder.clone()))
            .token(token)
            .expect("a token");
        let running = runtime.block_on(agent.start(teams.hub()));
        Self {
            _running: running.expect("it starts"),
            runtime,
        }
    }

    /// Is gone without a word.
    fn kill(self) {
        self.runtime.shutdown_background();
    }
}

async fn help(task: TaskContext, folder: PathBuf) -> Result<Reply, Failure> {
    match &*task.text() {
        "fail" => Err(Failure::failed("it is broken")),
        "ask" => {
            let answer = task.ask_requester("which one?").await?;
            Ok(Reply::text(format!("took {}", answer.text())))
        }
        "wait" => {
            let began = folder.join("begun");
            let again = fs::exists(&began)?;
            fs::write(&began, "")?;
            while !fs::exists(folder.join("go"))? {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(Reply::text(format!("came, begun before: {again}")))
        }
        "look" => {
            task.publish_update("looks").await?;
            let artifact = Artifact {
                artifact_id: "found".to_owned(),
                parts: vec![Part::text("the thing")],
                ..Artifact::default()
            };
            Ok(Reply::text("found it").artifact(artifact))
        }
        "think" => {
            let used = Spent {
                tokens: 150,
                cost_micros: 7,
                ..Spent::default()
            };
            agenthub_sdk::internal::add_use(&task, used);
            Ok(Reply::text("thought"))
        }
        said if said.starts_with("ask ") => {
            let asked = task.delegate(Delegation::to(&said[4..]).text("for another"));
            let outcome = asked.await?.outcome().await?;
            Ok(Reply::text(format!("was told {}", outcome.text)))
        }
        said => Ok(Reply::text(format!("heard {said}"))),
    }
}

fn directory(teams: &Teams, team: &str) -> Vec<String> {
    texts(
        &teams.json_as(teams.token(team), &["agents", "list", "--json"]),
        "agentId",
    )
}

/// Asks without waiting, and gives the task.
fn begin(teams: &Teams, team: &str, text: &str) -> String {
    let id = uuid::Uuid::new_v4().to_string();
    say(teams, team, &id, text);
    id
}

/// Says something in a task.
fn say(teams: &Teams, team: &str, id: &str, text: &str) {
    let request = json!({
        "message": {"messageId": uuid::Uuid::new_v4().to_string(), "taskId": id, "contextId": id, "role": "ROLE_USER", "content": [{"text": text}]},
        "routing": {"fromAgentId": "alice", "toAgentId": SHARED},
    });
    let said = teams.call_as(
        teams.token(team),
        "/agenthub.AgentHub/PublishMessage",
        &request,
    );
    assert!(said.contains("eventId"), "{said}");
}

fn until_state(teams: &Teams, team: &str, task: &str, state: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = teams.task(team, task);
        if found.contains(&format!("\"status\":{{\"state\":\"{state}\"")) {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "not {state}: {found}\n{:?}\n{}",
            carried(teams),
            teams.said()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The tasks of team-a that are for others.
fn carried(teams: &Teams) -> Vec<Value> {
    teams
        .json_as(teams.token("team-a"), &["tasks", "list", "--json"])
        .into_iter()
        .filter(|task| task.to_string().contains("shared-with.team-b.helper"))
        .collect()
}

/// Issue 25: an agent can be shared with another namespace by an explicit grant; only that one is reachable, and nobody else sees it.
#[test]
fn a_shared_agent_works_for_those_it_is_shared_with() {
    let teams = sharing();
    let _secret = teams.start_echo("team-a", "unshared");
    let helper = Helper::start(&teams);
    teams.until_online("team-a", "helper");
    teams.until_online("team-b", SHARED);
    let seen = directory(&teams, "team-b");
    assert!(
        !seen.iter().any(|id| id == "unshared" || id == "helper"),
        "{seen:?}"
    );
    assert!(!directory(&teams, "team-c").contains(&SHARED.to_owned()));

    let b = teams.token("team-b");
    let asked = teams.run_as(b, &["publish", "--to", SHARED, "--wait", "hi"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(asked.stdout.contains("heard hi"), "{asked:?}");
    let failed = teams.run_as(b, &["publish", "--to", SHARED, "--wait", "fail"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    assert!(
        failed.stderr.contains("it is broken") || failed.stdout.contains("it is broken"),
        "{failed:?}"
    );

    // Its questions and their answers go back and forth, too.
    let asks = begin(&teams, "team-b", "ask");
    let asked = until_state(&teams, "team-b", &asks, "TASK_STATE_INPUT_REQUIRED");
    assert!(asked.contains("which one?"), "{asked}");
    say(&teams, "team-b", &asks, "the red one");
    let done = until_state(&teams, "team-b", &asks, "TASK_STATE_COMPLETED");
    assert!(done.contains("took the red one"), "{done}");
    let found = begin(&teams, "team-b", "look");
    let found = until_state(&teams, "team-b", &found, "TASK_STATE_COMPLETED");
    assert!(found.contains("the thing"), "{found}");

    // The task in team-a says for whom it is, and team-b sees nothing of it.
    let carried = carried(&teams);
    assert_eq!(carried.len(), 4, "{carried:?}");
    let there = teams.task("team-a", carried[0]["id"].as_str().expect("an id"));
    assert!(
        there.contains("agenthub.shared.namespace") && there.contains("team-b"),
        "{there}"
    );
    let of_b = teams.run_as(b, &["tasks", "list", "--json"]).stdout;
    for task in &carried {
        assert!(
            !of_b.contains(task["id"].as_str().expect("an id")),
            "{of_b}"
        );
    }

    // Cancelled in the one, it ends in the other.
    let waiting = begin(&teams, "team-b", "wait");
    eventually("it is at work", || {
        teams.folder().join("begun").exists().then_some(())
    });
    let cancelled = teams.run_as(b, &["tasks", "cancel", &waiting]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    until_state(&teams, "team-b", &waiting, "TASK_STATE_CANCELLED");
    eventually("it has ended in team-a", || {
        let open = self::carried(&teams);
        let ended = |task: &Value| {
            let id = task["id"].as_str().expect("an id");
            let found = teams.task("team-a", id);
            !found.contains("TASK_STATE_WORKING") && !found.contains("TASK_STATE_SUBMITTED")
                || found.contains("TASK_STATE_CANCELLED")
        };
        (open.len() == 5 && open.iter().all(ended)).then_some(())
    });

    // It is away when the agent is.
    helper.kill();
    eventually("it is away", || {
        let shown = teams
            .run_as(b, &["agents", "show", SHARED, "--json"])
            .stdout;
        shown.contains("AGENT_STATE_OFFLINE").then_some(())
    });
}

/// Issue 25: a kill of everything while a shared agent is at work loses nothing, and does nothing twice.
#[test]
fn a_crash_during_a_shared_task_loses_nothing() {
    let mut teams = sharing();
    let _helper = Helper::start(&teams);
    teams.until_online("team-b", SHARED);
    let task = begin(&teams, "team-b", "wait");
    eventually("it is at work", || {
        teams.folder().join("begun").exists().then_some(())
    });
    teams.kill();
    fs::write(teams.folder().join("go"), "").expect("it is written");
    teams.start_again();
    let done = until_state(&teams, "team-b", &task, "TASK_STATE_COMPLETED");
    assert!(done.contains("came, begun before: false"), "{done}");
    assert_eq!(carried(&teams).len(), 1, "one task there");
}

/// Issue 25: withdrawing a grant takes the agent out of the directory and ends what is open, with the reason; also while no process runs.
#[test]
fn a_withdrawn_grant_ends_what_is_open() {
    let mut teams = sharing();
    let _helper = Helper::start(&teams);
    teams.until_online("team-b", SHARED);
    let open = begin(&teams, "team-b", "wait");
    eventually("it is at work", || {
        teams.folder().join("begun").exists().then_some(())
    });
    fs::write(teams.folder().join("policy.toml"), "# nothing is shared").expect("it is written");
    let ended = until_state(&teams, "team-b", &open, "TASK_STATE_FAILED");
    assert!(
        ended.contains("shared with this namespace no longer"),
        "{ended}"
    );
    eventually("it is gone", || {
        (!directory(&teams, "team-b").contains(&SHARED.to_owned())).then_some(())
    });
    eventually("it has ended in team-a", || {
        let id = carried(&teams)[0]["id"].as_str().expect("an id").to_owned();
        teams
            .task("team-a", &id)
            .contains("TASK_STATE_CANCELLED")
            .then_some(())
    });

    fs::write(teams.folder().join("policy.toml"), GRANT).expect("it is written");
    teams.until_online("team-b", SHARED);
    teams.kill();
    fs::write(teams.folder().join("policy.toml"), "# nothing is shared").expect("it is written");
    teams.start_again();
    eventually("it is gone", || {
        (!directory(&teams, "team-b").contains(&SHARED.to_owned())).then_some(())
    });
}

/// Issue 25: an id that the other namespace has itself is not taken from it.
#[test]
fn an_id_that_is_taken_stays_whose_it_is() {
    let teams = Teams::start_with_file(
        &["team-a", "team-b"],
        POLICY,
        ("policy.toml", "# nothing is shared"),
    );
    let _own = teams.start_echo("team-b", SHARED);
    let _helper = Helper::start(&teams);
    teams.until_online("team-a", "helper");
    fs::write(teams.folder().join("policy.toml"), GRANT).expect("it is written");
    let said = eventually("the log says so", || {
        let said = teams.said();
        said.contains("of its own").then_some(said)
    });
    assert!(said.contains("`as`"), "{said}");
    let asked = teams.run_as(
        teams.token("team-b"),
        &["publish", "--to", SHARED, "--wait", "mine"],
    );
    assert!(asked.stdout.contains("Echo: mine"), "{asked:?}");
}

/// Issue 25: what a shared agent uses counts for who asked, in its own namespace and nobody else's; the task there says on whose behalf it is.
#[test]
fn what_a_shared_agent_uses_counts_for_who_asked() {
    within_a_day();
    let quota = "[quotas.principals.alice]\ntokens_per_day = 400\n";
    let policy = format!("{GRANT}{quota}");
    let teams = Teams::start_with_file(&["team-a", "team-b"], POLICY, ("policy.toml", &policy));
    let _helper = Helper::start(&teams);
    teams.until_online("team-b", SHARED);
    let b = teams.token("team-b");
    let ask = || teams.run_as(b, &["publish", "--to", SHARED, "--wait", "think"]);
    for _ in 0..3 {
        let asked = ask();
        assert_eq!(asked.code, Some(0), "{asked:?}");
    }
    let used = |team: &str| {
        let who = teams.json_as(teams.token(team), &["access", "whoami", "--json"]);
        who[0]["quotas"][0]["used"].clone()
    };
    assert_eq!(used("team-b"), 450, "three times 150");
    assert_eq!(used("team-a"), 0, "the alice there has asked nothing");
    let refused = ask();
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("a quota of 400 tokens a day, and has 450"),
        "{refused:?}"
    );
    let there = carried(&teams);
    assert_eq!(there.len(), 3, "{there:?}");
    let there = teams.task("team-a", there[0]["id"].as_str().expect("an id"));
    assert!(there.contains("team-b~alice"), "{there}");
}

/// Issue 25: whoever may charge does so in the own namespace alone, whatever name is given, and also where an agent is shared.
#[test]
fn nobody_is_charged_from_another_namespace() {
    within_a_day();
    let quotas = "[quotas.principals.alice]\ntokens_per_day = 1000\n[quotas.namespaces.team-a]\ntokens_per_day = 9000\n\
                  [quotas.namespaces.team-b]\ntokens_per_day = 9000\n";
    let policy = format!("{GRANT}{quotas}");
    let teams = Teams::start_with_file(&["team-a", "team-b"], POLICY, ("policy.toml", &policy));
    let used = |team: &str| -> Vec<u64> {
        let who = teams.json_as(teams.token(team), &["access", "whoami", "--json"]);
        let quotas = who[0]["quotas"].as_array().expect("quotas").iter();
        quotas.filter_map(|quota| quota["used"].as_u64()).collect()
    };
    for (principal, of_alice, of_team) in [
        ("team-a~alice", 0, 100),
        ("team-b~alice", 0, 200),
        ("default~alice", 0, 300),
        ("team-a/alice", 0, 400),
        ("alice", 100, 500),
    ] {
        let charge = json!({"principal": principal, "tokens": 100});
        let path = "/agenthub.AgentHub/Charge";
        let said = teams.call_as(teams.token("team-b"), path, &charge);
        assert!(!said.contains("\"code\""), "{principal}: {said}");
        assert_eq!(used("team-b"), [of_alice, of_team], "{principal}");
        assert_eq!(used("team-a"), [0, 0], "{principal}");
        assert_eq!(used("default"), [0], "{principal}");
    }
}

/// Issue 25: in a task for another namespace a shared agent may do what it may do in its own, and no more: the principal there neither takes from
/// it nor gives it anything.
#[test]
fn a_shared_agent_has_its_own_rights_in_tasks_for_others() {
    let rights =
        "[principals.helper]\nnamespace = 'team-a'\ndeny = ['delegate:vault', 'send:vault']\n";
    let policy = format!("{GRANT}{rights}");
    let teams = Teams::start_with_file(&["team-a", "team-b"], POLICY, ("policy.toml", &policy));
    let _both = ["open", "vault"].map(|name| teams.start_echo("team-a", name));
    let worker = teams.issue(&["helper", "--role", "worker", "--namespace", "team-a"]);
    eventually("the token is known", || {
        let who = teams.run_as(&worker, &["access", "whoami"]);
        (who.code == Some(0)).then_some(())
    });
    let _helper = Helper::start_with(&teams, &worker);
    teams.until_online("team-b", SHARED);
    let ask = |text: &str| {
        let args = ["publish", "--to", SHARED, "--wait", text];
        teams.run_as(teams.token("team-b"), &args)
    };
    let asked = ask("ask open");
    assert!(
        asked.stdout.contains("was told Echo: for another"),
        "{asked:?}"
    );
    let refused = ask("ask vault");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(
        said.contains("vault") && said.contains("den"),
        "{refused:?}"
    );
}
