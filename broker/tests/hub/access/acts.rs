//! Acts that the audit records before they are done, as many as there are at once.

use std::time::{Duration, Instant};

use agenthub_access::{Identities, NewToken, Sources, TokenStore, audit::AuditSettings};
use agenthub_broker::{ExtraServices, Server, Settings, Storage};
use agenthub_proto::agenthub::{CancelTaskRequest, RegisterAgentRequest};
use tokio::task::JoinSet;
use tonic::transport::Channel;

use super::with;
use crate::harness::{Client, card};

/// Calls at once.
const AT_ONCE: usize = 64;

/// Time of each measurement.
const LENGTH: Duration = Duration::from_secs(3);

/// Calls/s of acts with and without an audit. Run it with `--ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn acts_a_second_with_and_without_an_audit() {
    for has_audit in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TokenStore::in_folder(folder.path());
        let issued = store.issue(NewToken {
            principal: "root".parse().expect("a name"),
            namespace: agenthub_access::Namespace::default(),
            roles: vec!["admin".to_owned()],
            allow: Vec::new(),
            lasts: None,
        });
        let token = issued.expect("a token").token.secret().to_owned();
        let identities = Identities::open(Sources {
            tokens: Some(store.path().to_owned()),
            audit: has_audit.then(|| AuditSettings::in_folder(folder.path())),
            ..Sources::default()
        });
        let settings = Settings {
            storage: Storage::Folder(folder.path().to_owned()),
            ..Settings::default()
        };
        let services = ExtraServices::default().guarded_by(identities.expect("right"));
        let address = "127.0.0.1:0".parse().expect("an address");
        let server = Server::start(settings, address, services).await;
        let server = server.expect("a free port");
        let url = format!("http://{}", server.address());
        let channel = Channel::from_shared(url).expect("a URL").connect().await;
        let client = Client::new(channel.expect("the hub listens"));
        for act in ["RegisterAgent", "CancelTask"] {
            let began = Instant::now();
            let mut calling = JoinSet::new();
            for caller in 0..AT_ONCE {
                let (mut client, token) = (client.clone(), token.clone());
                calling.spawn(async move {
                    let mut calls = 0_u32;
                    while began.elapsed() < LENGTH {
                        if act == "RegisterAgent" {
                            let request = RegisterAgentRequest {
                                agent_card: Some(card(&format!("agent-{caller}"))),
                                ..Default::default()
                            };
                            let registered = client.register_agent(with(&token, request)).await;
                            registered.expect("it is allowed");
                        } else {
                            let request = CancelTaskRequest {
                                task_id: "unknown".to_owned(),
                                reason: String::new(),
                            };
                            let unknown = client.cancel_task(with(&token, request)).await;
                            unknown.expect_err("no such task");
                        }
                        calls += 1;
                    }
                    calls
                });
            }
            let mut calls = 0;
            while let Some(its) = calling.join_next().await {
                calls += its.expect("it counts");
            }
            let rate = f64::from(calls) / began.elapsed().as_secs_f64();
            println!("{act}, {AT_ONCE} at once, audit {has_audit}: {rate:.0} calls/s");
        }
        server.shutdown().await;
    }
}
