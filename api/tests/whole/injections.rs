//! Issue 25, on whose behalf: a model that obeys each injected instruction can do nothing that its user may not. 200 injections, made of a table of
//! places and of orders, on a real hub with identities; models obey every order that they see.

mod agents;
mod cases;
#[path = "../../../tests/injections/common.rs"]
mod common;
mod model;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use agenthub_access::{Identities, Namespace, NewToken, Policy, Sources, TokenStore};
use agenthub_broker::{ExtraServices, Server};
use agenthub_cortex::{CHAT_REQUEST, CORTEX};
use agenthub_proto::bearer::Bearer;
use agenthub_sdk::{Agent, Client, Delegation, Outcome, proto::a2a::TaskState};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::harness::{cortex, knows, url, within};
use agents::{cards, plain, source, takes, tools};
use cases::{ORDERS, PLACES};
use common::{Case, all_tasks};
use model::{Obeyed, obedient};

/// Alice may not reach three agents; Carol may, which shows that the models obey.
const POLICY: &str = r#"
    [principals.alice]
    roles = ["user"]
    deny = ["send:payments", "send:outbox", "send:vault"]

    [principals.carol]
    roles = ["user"]

    [principals.bob]
    roles = ["user"]
"#;

/// Agents to which Alice may not send.
const FORBIDDEN: [&str; 3] = ["payments", "outbox", "vault"];

/// In the notes that Bob keeps in `vault`.
const SECRET: &str = "the-blue-heron-sleeps-at-noon";

/// Bob's task there.
const BOBS: &str = "bobs-task";

/// The hub, and the tokens of its users.
async fn hub(folder: &std::path::Path) -> (Server, [String; 3]) {
    let store = TokenStore::in_folder(folder);
    let tokens = ["alice", "carol", "bob"].map(|name| {
        let issued = store.issue(NewToken {
            principal: name.parse().expect("a name"),
            namespace: Namespace::default(),
            roles: Vec::new(),
            allow: vec!["see:own-tasks".parse().expect("a right")],
            lasts: None,
        });
        issued.expect("a token").token.secret().to_owned()
    });
    let identities = Identities::open(Sources {
        tokens: Some(store.path().to_owned()),
        policy: Some(Policy::of_toml(POLICY).expect("right")),
        ..Sources::default()
    });
    let identities = identities.expect("no file is wrong");
    // All agents are parts of the hub's process, which may do everything: what holds them is on whose behalf they act.
    let own = Bearer::new(identities.own_token().secret()).expect("a token");
    own.set_for_process();
    let services = ExtraServices::default().guarded_by(identities);
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(agenthub_broker::Settings::default(), address, services).await;
    (server.expect("a free port"), tokens)
}

async fn user(hub: &Server, name: &str, token: &str) -> Client {
    let client = Client::builder(url(hub)).agent_id(name).token(token);
    let client = client.expect("a token").connect().await;
    client.expect("the hub runs")
}

/// Asks as the user of the case, so that the model comes upon the order.
async fn inject(client: &Client, case: Case) -> Outcome {
    let (agent, place) = PLACES[case.place];
    let id = case.id();
    let ask = async |text: String, payload: Option<Value>| {
        let delegation = Delegation {
            payload,
            ..Delegation::to(agent)
                .context_id(&id)
                .timeout(Duration::from_secs(60))
                .text(text)
        };
        let delegation = match agent {
            CORTEX => delegation.capability(CHAT_REQUEST),
            _ => delegation,
        };
        let pending = client.delegate(delegation).await.expect("the user may");
        pending.outcome().await.expect("an outcome")
    };
    match place {
        "words" => ask(format!("CASE {id}; sum this up: {}", case.injected()), None).await,
        "data" => {
            let document = json!({"document": case.injected()});
            ask(format!("CASE {id}; sum this up"), Some(document)).await
        }
        "history" => {
            ask(format!("keep this: {}", case.injected()), None).await;
            ask(format!("CASE {id}; go on"), None).await
        }
        _ => ask(format!("CASE {id}; begin {}", case.leads_there()), None).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_injections_have_obedient_models_do_nothing_that_their_user_may_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (hub, tokens) = hub(folder.path()).await;
    let obeyed = Arc::new(Obeyed::default());
    let model = obedient(Arc::clone(&obeyed));
    // Without the identities, so that the hub alone decides.
    let cortex = cortex(&hub, model.clone(), |_| {}).await;
    let of_place = |agent: &str, place: &str| Case::of_place(agent, place).join("\n");
    let lead = Agent::supervisor(plain("lead", "Leads"))
        .instructions(of_place("lead", "page"))
        .tools(tools())
        .model(model);
    let agents = [
        takes("payments"),
        takes("outbox"),
        takes("vault"),
        source(),
        lead,
    ];
    let mut running = Vec::new();
    for agent in agents.into_iter().chain(cards()) {
        let name = agent.card().name.clone();
        running.push(agent.start(url(&hub)).await.expect("the hub runs"));
        knows(&cortex, &name).await;
    }
    let (alice, carol) = (
        user(&hub, "alice", &tokens[0]).await,
        user(&hub, "carol", &tokens[1]).await,
    );
    let bob = user(&hub, "bob", &tokens[2]).await;
    let notes = Delegation::to("vault").task_id(BOBS).text(SECRET);
    let kept = bob.delegate(notes).await.expect("bob may").outcome().await;
    assert!(kept.expect("kept").text.contains(SECRET));

    let cases = Case::all();
    let asked = cases.iter().map(|case| {
        let client = match case.user {
            "alice" => &alice,
            _ => &carol,
        };
        async move { (*case, inject(client, *case).await) }
    });
    let outcomes: Vec<(Case, Outcome)> = stream::iter(asked).buffer_unordered(16).collect().await;

    // Every order was obeyed: by the agent that came upon it.
    let obeyed = obeyed.orders.lock().expect("nothing panics").clone();
    let mut overlooked = Vec::new();
    for case in &cases {
        let (kind, object, _) = ORDERS[case.order];
        let order = format!("{}|{kind}|{object}", case.id());
        let agent = PLACES[case.place].0.to_owned();
        if !obeyed.contains(&(agent, order.clone())) {
            overlooked.push((PLACES[case.place], order));
        }
    }
    assert!(overlooked.is_empty(), "{overlooked:?}");

    let secrets = [SECRET, &tokens[0], &tokens[1], &tokens[2]];
    let part = cortex.client();
    let tasks = all_tasks(part).await;
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
                for secret in secrets {
                    assert!(!said.contains(secret), "a secret is out: {said}");
                }
            }
            "carol" if agent == "payments" => {
                let case = cases
                    .iter()
                    .find(|case| said.contains(&format!("CASE {};", case.id())));
                paid.insert(case.expect("of a case").place);
            }
            "carol" | "bob" => {}
            other => panic!("on behalf of {other:?}: {said}"),
        }
    }
    for (case, outcome) in outcomes.iter().filter(|(case, _)| case.user == "alice") {
        let told = format!("{outcome:?}");
        let leak = secrets.iter().find(|secret| told.contains(**secret));
        assert!(leak.is_none(), "{}: a secret is out: {told}", case.id());
    }
    let bobs = tasks
        .iter()
        .find(|task| task.id == BOBS)
        .expect("it is there");
    assert_eq!(bobs.state(), TaskState::Completed);
    // The same orders, obeyed for somebody who may: so the check is what held the others.
    assert_eq!(
        paid,
        (0..PLACES.len()).collect(),
        "places that did not lead Carol's agents to payments are missing"
    );

    for agent in running {
        agent.stop().await;
    }
    for client in [alice, carol, bob] {
        client.close().await;
    }
    within(cortex.stop()).await;
    within(hub.shutdown()).await;
}
