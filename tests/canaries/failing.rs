//! Credentials where something fails: a handler that panics, and mail that is given up.

use std::{fs, path::PathBuf};

use agenthub_proto::agenthub::{
    AgentFrame, Hello, HubFrame, Lifetime, Refusal, Subscription, agent_hub_client::AgentHubClient,
};
use agenthub_sdk::{Agent, Card, Skill, TaskContext};
use tokio::sync::mpsc;
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::{Request, transport::Endpoint};

use super::planted::{Canary, stay_home};
use crate::harness::{Process, System, eventually, free_address, until_known};

/// An agent without the SDK that refuses all of its mail.
async fn grumble(hub: String, token: String) {
    let channel = Endpoint::from_shared(hub).expect("a URL").connect().await;
    let mut client = AgentHubClient::new(channel.expect("the hub listens"));
    let (frames, receiver) = mpsc::channel(8);
    let hello = Hello {
        protocol_version: 2,
        agent_id: "grump".to_owned(),
        instance_id: "one".to_owned(),
        subscription: vec![Subscription {
            name: "mail".to_owned(),
            lifetime: Lifetime::Durable.into(),
            credit: 1_000,
            ..Subscription::default()
        }],
        ..Hello::default()
    };
    let first = AgentFrame {
        hello: Some(hello),
        ..AgentFrame::default()
    };
    frames.send(first).await.expect("there is room");
    let mut request = Request::new(ReceiverStream::new(receiver));
    let header = format!("Bearer {token}").parse().expect("a header");
    request.metadata_mut().insert("authorization", header);
    let mut answers = client
        .connect(request)
        .await
        .expect("it may be this agent")
        .into_inner();
    while let Some(Ok(HubFrame { event, .. })) = answers.next().await {
        let refuse = event.into_iter().map(|event| Refusal {
            position: event.position,
            reason: "not in the mood".to_owned(),
            ..Refusal::default()
        });
        let frame = AgentFrame {
            refuse: refuse.collect(),
            ..AgentFrame::default()
        };
        if frames.send(frame).await.is_err() {
            return;
        }
    }
}

/// Issue 25: neither a panic nor a dead letter has a credential with it, in what requesters, operators and the log at `trace` see of it, or the
/// log of the hub keeps.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_takes_no_credential_with_it() {
    let system = System::bare(free_address());
    let model_key = "sk-canary-failing-5d9a48260f";
    let key = PathBuf::from(model_key);
    let up = Process::start_in(
        &[("OPENAI_API_KEY", &key)],
        system.folder(),
        &system.hub(),
        &[&system.up_at(&free_address())[..], &["--log", "trace"]].concat(),
    );
    up.line("the banner");
    let issue = |name: &str, role: &str| {
        let args = ["tokens", "issue", "--json", name, "--role", role];
        let issued = system.json(&args)[0]["token"].take();
        issued.as_str().expect("a token").to_owned()
    };
    let [clumsy, grump, root] = [("clumsy", "agent"), ("grump", "agent"), ("root", "admin")]
        .map(|(name, role)| issue(name, role));
    let secrets = tempfile::tempdir().expect("a folder");
    let file = secrets.path().join("root.token");
    fs::write(&file, &root).expect("it is written");
    let file = file.to_str().expect("a path").to_owned();
    let run = |args: &[&str]| system.run(&[args, &["--token-file", &file]].concat(), "");
    until_known("root", run);
    let card = Card::new("clumsy", "Breaks").skill(Skill::new("work", "Work", "Breaks"));
    let agent = Agent::worker(card).on_any(
        async |task: TaskContext| -> Result<(), agenthub_sdk::Failure> {
            panic!("a bug in {}", task.text())
        },
    );
    let agent = agent.token(&clumsy).expect("a token");
    let _agent = agent.start(system.hub()).await.expect("it starts");
    let grumbling = tokio::spawn(grumble(system.hub(), grump.clone()));

    let mut said = String::new();
    tokio::task::block_in_place(|| {
        let mut keep = |args: &[&str]| {
            let done = run(args);
            said += &format!("{args:?}: {done:?}\n");
            done
        };
        let failed = keep(&["publish", "--to", "clumsy", "--wait", "the press"]);
        let seen = format!("{failed:?}");
        assert!(seen.contains("panicked: a bug in the press"), "{seen}");
        keep(&["publish", "--to", "grump", "hello"]);
        let letters = eventually("the mail is given up", || {
            let listed = keep(&["mailboxes", "dead-letters", "--json"]);
            listed.stdout.contains("grump").then_some(listed.stdout)
        });
        assert!(letters.contains("not in the mood"), "{letters}");
        for args in [
            &["mailboxes", "dead-letters"][..],
            &["mailboxes", "list", "--json"],
            &["tasks", "list", "--json"],
        ] {
            assert_eq!(keep(args).code, Some(0), "{args:?}");
        }
        let exported = system.run(&["log", "export"], "");
        assert!(exported.stdout.contains("a bug in"), "{exported:?}");
        said += &format!("{exported:?}");
    });
    grumbling.abort();
    said += &up.said();
    assert!(said.contains("TRACE"), "everything is logged");
    drop(up);
    let canaries = [model_key, &clumsy, &grump, &root];
    let canaries = canaries.map(|secret| Canary::new(secret, &[]));
    stay_home(&canaries, &said, system.folder());
}
