//! A stranger can't tell whether an id exists elsewhere: every call that takes an id gives the same answer for one of another namespace as for one that exists nowhere.

use std::collections::BTreeSet;

use agenthub_access::{ROUTES, SERVICES};

use super::{
    ids::Ids,
    requests::{REQUESTS, RPCS, WITHOUT},
    teams::{Teams, texts},
};
use crate::http::send;

/// Makes an agent, a task and a run in a namespace.
fn furnished(teams: &Teams, team: &str) -> Ids {
    let token = teams.token(team);
    let agent = "secret_animal".to_owned();
    drop(teams.start_echo(team, &agent));
    let asked = teams.run_as(
        token,
        &["publish", "--to", "agent_echo", "--wait", "secret"],
    );
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let chat = teams.run_with(token, &["chat"], "echo \"secret\"\n");
    assert_eq!(chat.code, Some(0), "{chat:?}");
    let tasks = teams.json_as(token, &["tasks", "list", "--json"]);
    let runs = teams.json_as(token, &["runs", "list", "--json"]);
    Ids {
        agent,
        task: texts(&tasks, "id").first().expect("a task").clone(),
        run: texts(&runs, "id").first().expect("a run").clone(),
        // No letter is made, as that takes hours: its calls are tried nevertheless.
        letter: "0f0e0d0c-1111".to_owned(),
    }
}

fn requested(teams: &Teams, token: &str, (method, path, body): (&str, &str, &str)) -> String {
    let http = teams.http();
    let kind = match path.starts_with("/ui/") {
        true => "application/x-www-form-urlencoded",
        false => "application/json",
    };
    let headers = format!(
        "Content-Type: {kind}\r\nOrigin: http://{http}\r\nA2A-Version: 1.0\r\nAuthorization: Bearer {token}\r\n"
    );
    let answer = send(http, method, path, &headers, body).expect("an answer");
    let status = answer.status;
    format!("{status} {}", answer.text())
}

/// Issue 25: a stranger can't tell whether an id exists elsewhere. Every RPC and route has a line here, or takes no id.
#[test]
fn an_id_of_another_namespace_is_one_that_exists_nowhere() {
    let listed: BTreeSet<&str> = RPCS.iter().map(|(path, _)| *path).collect();
    let served = SERVICES.iter().map(|rpc| rpc.path);
    let served: BTreeSet<&str> = served.filter(|path| !path.starts_with("/grpc.")).collect();
    assert_eq!(listed, served, "an RPC without a line in this table");
    let tried = |route: &agenthub_access::Route| {
        WITHOUT.contains(&route.path)
            || REQUESTS.iter().any(|(method, path, _)| {
                let found = ROUTES.iter().find(|known| known.takes(method, path));
                found.is_some_and(|found| found == route)
            })
    };
    let untried: Vec<_> = ROUTES.iter().filter(|route| !tried(route)).collect();
    assert!(
        untried.is_empty(),
        "routes without a line in this table: {untried:#?}"
    );

    let teams = Teams::start(&["team-a", "team-b"]);
    let there = furnished(&teams, "team-a");
    let nowhere = there.unknown();
    let (owner, stranger) = (teams.token("team-a"), teams.token("team-b"));
    let mut faults = Vec::new();
    let mut told_apart = 0;
    let mut compare = |call: &str, answer: &dyn Fn(&Ids, &str) -> String| {
        let [foreign, unknown] = [&there, &nowhere].map(|ids| ids.out_of(&answer(ids, stranger)));
        if foreign != unknown {
            faults.push(format!(
                "{call}\n  of another: {foreign}\n  of nobody:  {unknown}"
            ));
        }
        // Whoever has the id is told something else by most calls: the comparison can fail.
        let [own, unknown] = [&there, &nowhere].map(|ids| ids.out_of(&answer(ids, owner)));
        told_apart += u32::from(own != unknown);
    };
    for (path, requests) in RPCS {
        for request in *requests {
            compare(&format!("{path} {request}"), &|ids, token| {
                let request = serde_json::from_str(&ids.into(request)).expect("JSON");
                teams.call_as(token, path, &request)
            });
        }
    }
    for (method, path, body) in REQUESTS {
        compare(&format!("{method} {path}"), &|ids, token| {
            requested(&teams, token, (method, &ids.into(path), &ids.into(body)))
        });
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        told_apart > 30,
        "{told_apart} calls tell an own id from an unknown one"
    );
}
