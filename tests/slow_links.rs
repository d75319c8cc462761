//! Peers behind a slow link: the hub runs in its own network namespace, whose interface has a limited rate.

use std::{
    process::{self, Command, Output},
    time::Duration,
};

use agenthub_proto::{
    a2a::{Message, Role},
    agenthub::{
        AgentEventMetadata, PublishMessageRequest, SubscribeToMessagesRequest,
        agent_hub_client::AgentHubClient,
    },
};
use agenthub_sdk::{Agent, Card, Skill, TaskContext, hub::Connection};
use tokio::{sync::mpsc, time::timeout};
use tonic::transport::Endpoint;

use crate::harness::{Process, System};

/// Timeout, well above the transfer time.
const PATIENCE: Duration = Duration::from_secs(240);
/// Rate of the hub's interface, all connections together: 20 kB/s.
const RATE: &str = "160kbit";
/// Bytes sent to each peer: they take longer than a peer may be silent, and so do its frames.
const MAIL: usize = 320 * 1024;

/// A network namespace with one interface, connected to this one. Dropping it removes both.
struct SlowLink {
    namespace: String,
    /// Number of the network, unique on this machine.
    net: u32,
}

impl SlowLink {
    /// `None` if not permitted.
    fn new() -> Option<Self> {
        let id = process::id();
        let link = Self {
            namespace: format!("agenthub-{id}"),
            net: id,
        };
        // A program that was killed may have left one under this number.
        link.remove();
        let namespace = &link.namespace;
        let made = Command::new("ip")
            .args(["netns", "add", namespace])
            .output();
        if !made.as_ref().is_ok_and(|m| m.status.success()) {
            eprintln!(
                "NOT TESTED: peers behind a slow link, since no network namespace can be made here: {made:?}"
            );
            return None;
        }
        let (outside, here, there) = (link.interface(), link.address(1), link.address(2));
        ip(&format!(
            "link add {outside} type veth peer name eth0 netns {namespace}"
        ));
        ip(&format!("address add {here}/30 dev {outside}"));
        ip(&format!("link set {outside} up"));
        ip(&format!("-n {namespace} address add {there}/30 dev eth0"));
        ip(&format!("-n {namespace} link set eth0 up"));
        ip(&format!("-n {namespace} link set lo up"));
        Some(link)
    }

    /// Removes both, if they are there.
    fn remove(&self) {
        let remove = ["netns", "delete", &self.namespace];
        let _ = Command::new("ip").args(remove).output();
        let remove = ["link", "delete", &self.interface()];
        // It is removed together with its other end.
        let _ = Command::new("ip").args(remove).output();
    }

    fn interface(&self) -> String {
        format!("ah{}", self.net)
    }

    /// An address of the network: 1 is here, 2 in the namespace.
    fn address(&self, host: u32) -> String {
        let net = self.net % (1 << 14);
        format!("10.213.{}.{}", net >> 6, ((net & 63) << 2) + host)
    }

    /// Limits the rate from the namespace, with an unlimited queue.
    fn slow_down(&self) {
        let namespace = &self.namespace;
        let shaped = Command::new("tc")
            .args(["-n", namespace, "qdisc", "add", "dev", "eth0", "root"])
            .args(["tbf", "rate", RATE, "burst", "16kb", "limit", "8mb"])
            .output();
        succeeded("tc", shaped.expect("tc is where ip is"));
    }

    /// Starts a hub in the namespace.
    fn start_broker(&self, system: &System) -> Process {
        let args = [
            "broker",
            "--json",
            "--ephemeral",
            "--insecure",
            "--grpc",
            system.grpc(),
            "--http",
            "127.0.0.1:0",
        ];
        let namespace = ["netns", "exec", &self.namespace];
        let broker = Process::start_beneath("ip", &namespace, system.folder(), &args);
        broker.line("the banner");
        broker
    }
}

impl Drop for SlowLink {
    fn drop(&mut self) {
        self.remove();
    }
}

fn ip(args: &str) {
    let done = Command::new("ip").args(args.split(' ')).output();
    succeeded(args, done.expect("there is such a command"));
}

fn succeeded(what: &str, done: Output) {
    assert!(done.status.success(), "{what}: {done:?}");
}

/// Promise 6. A ping and its answer wait behind the mail, and yet no peer is considered dead: neither the SDK's client
/// nor one that only listens.
#[tokio::test(flavor = "multi_thread")]
async fn peers_behind_a_slow_link_stay_connected() {
    let Some(link) = SlowLink::new() else {
        return;
    };
    let system = System::bare(format!("{}:50051", link.address(2)));
    let hub = link.start_broker(&system);
    let endpoint = Endpoint::from_shared(system.hub()).expect("an address");
    let channel = endpoint.connect().await.expect("it listens");
    let mut client = AgentHubClient::new(channel);
    for to in ["agent", "listener"] {
        for n in 0..2 {
            let request = PublishMessageRequest {
                message: Some(
                    Message::new(Role::User, format!("{n}{}", "x".repeat(MAIL / 2)))
                        .with_metadata("task_type", "take"),
                ),
                routing: Some(AgentEventMetadata {
                    from_agent_id: "sender".to_owned(),
                    to_agent_id: to.to_owned(),
                    ..AgentEventMetadata::default()
                }),
                ..Default::default()
            };
            client.publish_message(request).await.expect("accepted");
        }
    }
    link.slow_down();

    let (took, mut taken) = mpsc::channel(4);
    let skill = Skill::new("take", "Take", "Takes what comes").examples(["take"]);
    let agent = Agent::worker(Card::new("agent", "Takes").skill(skill))
        .concurrency(4)
        .connect_timeout(PATIENCE)
        .on_task_type("take", move |task: TaskContext| {
            let took = took.clone();
            async move {
                let _ = took.send(task.text().len()).await;
                Ok("")
            }
        })
        .start(system.hub())
        .await
        .expect("it starts");
    let mut connection = agent.client().connection();
    let agent_takes = async {
        for _ in 0..2 {
            tokio::select! {
                text = taken.recv() => assert_eq!(text, Some(MAIL / 2 + 1)),
                _ = connection.changed() => panic!("the agent: {:?}", *connection.borrow()),
            }
        }
    };
    let listener_takes = async {
        let request = SubscribeToMessagesRequest {
            agent_id: "listener".to_owned(),
            ..SubscribeToMessagesRequest::default()
        };
        let subscribed = client.subscribe_to_messages(request).await;
        let mut events = subscribed.expect("subscribed").into_inner();
        for _ in 0..2 {
            let event = events.message().await;
            assert!(event.expect("the stream goes on").is_some());
        }
    };
    let both = async { tokio::join!(agent_takes, listener_takes) };
    timeout(PATIENCE, both).await.expect("all comes");
    assert!(
        matches!(
            *agent.client().connection().borrow(),
            Connection::Connected { .. }
        ),
        "{}",
        hub.said()
    );
}
