//! Two principals on one hub with TLS and Cortex (issue 25): neither sees, stops, approves, retries or forks what the other one has, over any door, also after a crash.

mod hub;
mod tunnel;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    harness::eventually,
    namespaces::{
        ids::Ids,
        requests::{REQUESTS, RPCS},
    },
};
use hub::Hub;

/// Words of Alice that Bob must not see anywhere.
const WORDS: &str = "heron-of-alice";

/// Requests that everybody's tasks answer in the same words, but for who adds to one: that one is told that it is not theirs.
const ADDS_TO_A_TASK: &[&str] = &[
    "PublishMessage",
    "SendMessage",
    "/message:send",
    "/message:stream",
];

/// Has Alice make a task, a chat, and a run that waits for her.
fn furnish(hub: &Hub) -> Ids {
    let done = hub.run(
        "alice",
        &["publish", "--to", "agent_echo", "--wait", WORDS],
        "",
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    let chat = hub.run("alice", &["chat"], &format!("echo \"{WORDS}\"\n"));
    assert!(chat.stdout.contains(WORDS), "{chat:?}");
    let begun = hub.run("alice", &["workflow", "run", "fly.yaml", "--detach"], "");
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let run = begun.stdout.trim().to_owned();
    eventually("it asks", || {
        (hub.state("alice", &run) == "waiting").then_some(())
    });
    let tasks = hub.json("alice", &["tasks", "list", "--json"]);
    let task = tasks.iter().find(|task| task.to_string().contains(WORDS));
    let task = task.expect("a task")["id"].as_str().expect("an id");
    Ids {
        // Agents are there for everybody, so no call is about one.
        agent: "beast_of_nobody".to_owned(),
        task: task.to_owned(),
        run,
        letter: "0f0e0d0c-1111".to_owned(),
    }
}

/// Calls that take an id are answered to Bob as if Alice's did not exist.
fn ids_are_nobodys(hub: &Hub, there: &Ids) {
    let nowhere = there.unknown();
    let mut faults = Vec::new();
    let mut told_apart = 0;
    let mut compare = |call: &str, answer: &dyn Fn(&Ids, &str) -> String| {
        let adds = ADDS_TO_A_TASK.iter().any(|part| call.contains(part))
            && call.contains("askId\": \"TASK");
        if adds && !call.contains("parentTaskId") {
            let refused = answer(there, "bob");
            if refused.contains(WORDS) || !is_refused(&refused) {
                faults.push(format!("{call}\n  adds to a task of another: {refused}"));
            }
            return;
        }
        let [foreign, unknown] = [there, &nowhere].map(|ids| ids.out_of(&answer(ids, "bob")));
        if foreign != unknown || foreign.contains(WORDS) {
            faults.push(format!(
                "{call}\n  of another: {foreign}\n  of nobody:  {unknown}"
            ));
        }
        // Whoever has the id is told something else by calls that change nothing: the comparison can fail.
        let is_stream = call.contains("/events");
        if is_stream {
            return;
        }
        if call.contains("/Get") || call.contains("/List") || call.starts_with("GET") {
            let [own, unknown] = [there, &nowhere].map(|ids| ids.out_of(&answer(ids, "alice")));
            told_apart += u32::from(own != unknown);
        }
    };
    let takes = |text: &str| ["TASK", "RUN", "LETTER"].iter().any(|id| text.contains(id));
    for (path, requests) in RPCS {
        for request in requests.iter().filter(|request| takes(request)) {
            // Names of agents are those of Bob.
            let request = request
                .replace("\"alice.", "\"alice~")
                .replace("\"alice", "\"bob");
            compare(&format!("{path} {request}"), &|ids, user| {
                let request = request.replace("\"bob", &format!("\"{user}"));
                let request = serde_json::from_str(&ids.into(&request)).expect("JSON");
                hub.call(user, path, &request)
            });
        }
    }
    for (method, path, body) in REQUESTS {
        if takes(path) || takes(body) {
            compare(&format!("{method} {path} {body}"), &|ids, user| {
                hub.ask(user, (method, &ids.into(path), &ids.into(body)), "")
            });
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        told_apart > 12,
        "{told_apart} calls tell an own id from an unknown one"
    );
}

fn is_refused(answer: &str) -> bool {
    let words = [
        "PermissionDenied",
        "NotFound",
        "FailedPrecondition",
        "InvalidArgument",
        "\"error\"",
    ];
    answer.starts_with('4') || words.iter().any(|word| answer.contains(word))
}

/// Lists of Bob have nothing of Alice, by any door.
fn lists_have_nothing(hub: &Hub, run: &str, task: &str) {
    let of = |user: &str| {
        let mut all = Vec::new();
        for args in [
            &["runs", "list", "--all", "--json"][..],
            &["runs", "list"],
            &["runs", "approve"],
            &["tasks", "list", "--json"],
        ] {
            all.push((args.join(" "), format!("{:?}", hub.run(user, args, ""))));
        }
        for (path, request) in [
            ("/cortex.Cortex/ListRuns", json!({"pageSize": 100})),
            ("/cortex.Cortex/WatchApprovals", json!({})),
            ("/agenthub.AgentHub/ListTasks", json!({"pageSize": 100})),
            (
                "/agenthub.AgentHub/SubscribeToTasks",
                json!({"agentId": format!("{user}~t"), "observe": true}),
            ),
            (
                "/agenthub.AgentHub/SubscribeToAgentEvents",
                json!({"agentId": format!("{user}~t")}),
            ),
            (
                "/lf.a2a.v1.A2AService/ListTasks",
                json!({"tenant": "agent_echo"}),
            ),
            (
                "/lf.a2a.v1.A2AService/ListTasks",
                json!({"tenant": "cortex"}),
            ),
        ] {
            all.push((path.to_owned(), hub.call(user, path, &request)));
        }
        for path in [
            "/v1/runs",
            "/tasks",
            "/agents/agent_echo/tasks",
            "/ui/runs",
            "/ui/tasks",
            "/ui/chat",
        ] {
            all.push((path.to_owned(), hub.ask(user, ("GET", path, ""), "")));
        }
        all
    };
    let shows = |said: &str| said.contains(WORDS) || said.contains(run) || said.contains(task);
    for (door, said) in of("bob") {
        assert!(!shows(&said), "{door}: {said}");
    }
    let seen = of("alice").into_iter().filter(|(_, said)| shows(said));
    let seen: Vec<String> = seen.map(|(door, _)| door).collect();
    assert!(seen.len() >= 8, "Alice sees hers: {seen:?}");
}

/// Commands of Bob with Alice's ids end as with ids of nobody.
fn commands_find_nothing(hub: &Hub, there: &Ids) {
    let nowhere = there.unknown();
    for args in [
        &["runs", "show", "RUN"][..],
        &["runs", "watch", "RUN"],
        &["runs", "plan", "RUN"],
        &["runs", "graph", "RUN"],
        &["runs", "steps", "RUN"],
        &["runs", "events", "RUN"],
        &["runs", "approve", "RUN"],
        &["runs", "refuse", "RUN"],
        &["runs", "cancel", "RUN"],
        &["runs", "resume", "RUN"],
        &["runs", "retry", "RUN"],
        &["runs", "fork", "RUN", "--at", "1"],
        &["runs", "results", "RUN", "clicks=1"],
        &["tasks", "show", "TASK"],
        &["tasks", "cancel", "TASK"],
    ] {
        let [foreign, unknown] = [there, &nowhere].map(|ids| {
            let args: Vec<String> = args.iter().map(|arg| ids.into(arg)).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let done = hub.run("bob", &args, "");
            assert_ne!(done.code, Some(0), "{args:?}: {done:?}");
            (
                done.code,
                ids.out_of(&done.stdout),
                ids.out_of(&done.stderr),
            )
        });
        assert_eq!(foreign, unknown, "{args:?}");
    }
}

/// Places in lists and streams that Alice was given are of no use to Bob.
fn stolen_places_lead_nowhere(hub: &Hub, there: &Ids) {
    let lists = [
        (
            "/cortex.Cortex/ListRuns",
            json!({"pageSize": 1}),
            "pageToken",
        ),
        (
            "/agenthub.AgentHub/ListTasks",
            json!({"pageSize": 1}),
            "pageToken",
        ),
        (
            "/lf.a2a.v1.A2AService/ListTasks",
            json!({"tenant": "agent_echo", "pageSize": 1}),
            "pageToken",
        ),
    ];
    let mut stolen = 0;
    for (path, mut request, token) in lists {
        let first = hub.call("alice", path, &request);
        let first: Value = serde_json::from_str(first.trim()).unwrap_or_default();
        let Some(place) = first["nextPageToken"]
            .as_str()
            .filter(|place| !place.is_empty())
        else {
            continue;
        };
        stolen += 1;
        request[token] = place.into();
        let said = hub.call("bob", path, &request);
        assert!(
            !said.contains(WORDS) && !said.contains(&there.run),
            "{path}: {said}"
        );
    }
    assert!(stolen >= 1, "Alice has more than a page of something");
    for after in ["0", "1", "1000"] {
        let more = format!("Accept: text/event-stream\r\nLast-Event-ID: {after}\r\n");
        let path = format!("/v1/runs/{}/events", there.run);
        let said = hub.ask("bob", ("GET", &path, ""), &more);
        assert!(said.starts_with("404"), "{after}: {said}");
        let watch =
            json!({"id": there.run, "afterSequence": after.parse::<u64>().expect("a number")});
        let said = hub.call("bob", "/cortex.Cortex/WatchRun", &watch);
        assert!(said.contains("NotFound"), "{after}: {said}");
    }
    // The mailbox of an agent of hers, and its position.
    let subscription = json!([{"name": "work", "lifetime": "LIFETIME_DURABLE"}]);
    for id in ["alice", "alice~agent"] {
        let card = json!({"name": id, "description": "d", "version": "1"});
        for hello in [
            json!({"protocolVersion": 2, "agentId": id, "instanceId": "i", "subscription": subscription}),
            json!({"protocolVersion": 2, "agentCard": card, "instanceId": "i", "subscription": subscription}),
        ] {
            let hello = json!({ "hello": hello });
            let said = hub.call("bob", "/agenthub.AgentHub/Connect", &hello);
            assert!(said.contains("PermissionDenied"), "{hello}: {said}");
            let own = hello.to_string().replace("alice", "bob");
            let own = serde_json::from_str(&own).expect("JSON");
            let said = hub.call("bob", "/agenthub.AgentHub/Connect", &own);
            assert!(said.contains("welcome"), "{own}: {said}");
        }
    }
}

/// Prints how long answers take for an id of another and for one of nobody. Their bytes are alike; that a run of another costs a read of its journal more is for people to look at.
fn print_times(hub: &Hub, there: &Ids) {
    let nowhere = there.unknown();
    let times = |request: &dyn Fn(&Ids)| {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..15 {
            for (times, ids) in times.iter_mut().zip([there, &nowhere]) {
                let began = Instant::now();
                request(ids);
                times.push(began.elapsed());
            }
        }
        times.map(|mut times| {
            times.sort();
            times[times.len() / 2]
        })
    };
    let show = |what: &str, [foreign, unknown]: [Duration; 2]| {
        println!(
            "{what}: {foreign:?} for an id of another, {unknown:?} for one of nobody (medians of 15)"
        );
    };
    show(
        "GET /v1/runs/RUN",
        times(&|ids| {
            hub.ask("bob", ("GET", &ids.into("/v1/runs/RUN"), ""), "");
        }),
    );
    show(
        "GET /agents/agent_echo/tasks/TASK",
        times(&|ids| {
            hub.ask(
                "bob",
                ("GET", &ids.into("/agents/agent_echo/tasks/TASK"), ""),
                "",
            );
        }),
    );
}

/// Issue 25: over gRPC, HTTP, pages, A2A and commands, and over kill -9; stolen resume positions and task ids.
#[test]
fn nothing_of_one_is_there_for_the_other() {
    let mut hub = Hub::start();
    let there = furnish(&hub);
    for is_restarted in [false, true] {
        if is_restarted {
            hub.kill_and_restart();
        }
        lists_have_nothing(&hub, &there.run, &there.task);
        commands_find_nothing(&hub, &there);
        ids_are_nobodys(&hub, &there);
        stolen_places_lead_nowhere(&hub, &there);
        assert_eq!(
            hub.state("alice", &there.run),
            "waiting",
            "nobody has touched it"
        );
    }
    print_times(&hub, &there);
    let approved = hub.run("alice", &["runs", "approve", &there.run], "");
    assert_eq!(approved.code, Some(0), "{approved:?}");
    eventually("it goes on to its end", || {
        (hub.state("alice", &there.run) == "completed").then_some(())
    });
}
