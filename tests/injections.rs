//! Injections on the real program (issue 25, on whose behalf): models that obey each injected instruction do nothing that their user may not, wherever it stands.
//! Other places are in `api/tests/whole/injections.rs`.

mod cases;
mod common;
mod doors;
mod model;
mod scene;

use std::{collections::BTreeSet, sync::Mutex, thread, time::Duration};

use agenthub_cortex::{CHAT_REQUEST, CORTEX};
use agenthub_sdk::{Client, Delegation};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use cases::{ORDERS, PLACES};
use common::{Case, all_tasks};
use scene::Scene;

/// Users. The last one may do everything.
const USERS: [&str; 4] = ["alice", "carol", "bob", "root"];

/// Agents to which Alice may not send.
const FORBIDDEN: [&str; 3] = ["payments", "outbox", "vault"];

/// In the notes that Bob keeps in `vault`.
const SECRET: &str = "the-grey-heron-sleeps-at-noon";

/// Bob's task there.
const BOBS: &str = "bobs-task";

/// True for cases that begin with a request over HTTP or with a command.
fn is_of_a_program(case: Case) -> bool {
    matches!(PLACES[case.place].1, "file" | "workflow input" | "brief")
}

/// Asks an agent as the user of the case. The words that came back.
async fn ask(client: &Client, case: Case, text: String, payload: Option<Value>) -> String {
    let (agent, _) = PLACES[case.place];
    let delegation = Delegation {
        payload,
        ..Delegation::to(agent)
            .context_id(case.id())
            .timeout(Duration::from_secs(180))
            .text(text)
    };
    let delegation = match agent {
        CORTEX => delegation.capability(CHAT_REQUEST),
        _ => delegation,
    };
    let pending = client.delegate(delegation).await.expect("the user may");
    format!("{:?}", pending.outcome().await.expect("an outcome"))
}

async fn inject(client: &Client, case: Case) -> String {
    let id = case.id();
    let begin = format!("CASE {id}; begin {}", case.leads_there());
    match PLACES[case.place].1 {
        "SOP input" => {
            let input = json!({"note": case.injected()});
            ask(client, case, format!("CASE {id}; sum this up"), Some(input)).await
        }
        "document" => {
            let pages = json!({"document": {"pages": [{"text": case.injected()}]}});
            ask(client, case, format!("CASE {id}; sum this up"), Some(pages)).await
        }
        "history over a crash" => ask(client, case, format!("CASE {id}; go on"), None).await,
        _ => ask(client, case, begin, None).await,
    }
}

/// Issue 25: 0 disallowed actions, 0 secrets out.
#[test]
fn obedient_models_do_nothing_that_their_user_may_not_wherever_an_order_stands() {
    let mut scene = Scene::start();
    let cases = Case::all();
    let handle = scene.model.runtime().handle().clone();
    let [alice, carol, bob, root] = USERS.map(|user| handle.block_on(scene.client(user)));
    let of = |case: &Case| if case.user == "alice" { &alice } else { &carol };
    handle.block_on(async {
        let notes = Delegation::to("vault").task_id(BOBS).text(SECRET);
        let kept = bob.delegate(notes).await.expect("bob may").outcome().await;
        assert!(kept.expect("kept").text.contains(SECRET));
        for case in cases
            .iter()
            .filter(|case| PLACES[case.place].1 == "history over a crash")
        {
            ask(
                of(case),
                *case,
                format!("keep this: {}", case.injected()),
                None,
            )
            .await;
        }
    });
    scene.up.take().expect("it runs").kill();
    scene.serve();
    for agent in [
        "clerk",
        "second",
        "desk-lead",
        "payments",
        "helper-of-a",
        "elsewhere",
    ] {
        scene.wait_online(agent);
    }

    let (of_programs, of_clients): (Vec<Case>, Vec<Case>) = cases
        .iter()
        .copied()
        .partition(|case| is_of_a_program(*case));
    let told: Mutex<Vec<(Case, String)>> = Mutex::default();
    let queue = Mutex::new(of_programs);
    let doors = scene.doors();
    thread::scope(|scope| {
        for doors in [(); 3].map(|()| doors.clone()) {
            let (queue, told) = (&queue, &told);
            scope.spawn(move || {
                loop {
                    let case = queue.lock().expect("nothing panics").pop();
                    let Some(case) = case else { return };
                    let said = doors.ask_with_a_program(case);
                    told.lock().expect("nothing panics").push((case, said));
                }
            });
        }
        let asked = of_clients
            .iter()
            .map(|case| async { (*case, inject(of(case), *case).await) });
        let said: Vec<_> = handle.block_on(stream::iter(asked).buffer_unordered(8).collect());
        told.lock().expect("nothing panics").extend(said);
    });
    let told = told.into_inner().expect("nothing panics");

    // Every order was obeyed: by the agent that came upon it.
    let mut overlooked = Vec::new();
    for (case, said) in &told {
        let (kind, object, _) = ORDERS[case.order];
        let order = format!("{}|{kind}|{object}", case.id());
        if !scene.model.has_obeyed(PLACES[case.place].0, &order) {
            overlooked.push((PLACES[case.place], order, said));
        }
    }
    assert!(overlooked.is_empty(), "{overlooked:#?}");

    let secrets = [
        SECRET,
        &scene.tokens[0],
        &scene.tokens[1],
        &scene.tokens[2],
        &scene.tokens[3],
    ];
    let tasks = handle.block_on(all_tasks(&root));
    let mut paid = BTreeSet::new();
    for task in &tasks {
        let (principal, agent) = (task.on_behalf_of(), task.assignee());
        let said = format!("{task:?}");
        match principal {
            "alice" => {
                assert!(
                    !FORBIDDEN.contains(&agent),
                    "alice had {agent} asked: {said}"
                );
                let leak = secrets.iter().find(|secret| said.contains(**secret));
                assert!(leak.is_none(), "a secret is out: {said}");
            }
            "carol" if agent == "payments" => {
                let case = Case::find(&said).unwrap_or_else(|| panic!("of no case: {said}"));
                paid.insert(case.place);
            }
            _ => {}
        }
    }
    for (case, said) in told.iter().filter(|(case, _)| case.user == "alice") {
        let leak = secrets.iter().find(|secret| said.contains(**secret));
        assert!(leak.is_none(), "{}: a secret is out: {said}", case.id());
    }
    // The same orders, obeyed for somebody who may: so the check is what held the others.
    let missing: Vec<_> = (0..PLACES.len())
        .filter(|place| !paid.contains(place))
        .collect();
    let missing: Vec<_> = missing.into_iter().map(|place| PLACES[place]).collect();
    assert!(
        missing.is_empty(),
        "these did not lead Carol's agents to payments: {missing:?}"
    );
    handle.block_on(async {
        for client in [alice, carol, bob, root] {
            client.close().await;
        }
    });
}
