//! A hub with as many streams as there may be.

use agenthub_broker::Settings;
use agenthub_proto::{
    agenthub::{AgentFrame, Hello, agent_hub_client::AgentHubClient},
    grpc::Transport,
};
use tokio_stream::{StreamExt as _, once, pending};
use tonic::Code;

use crate::{
    harness::{TestHub, until, within},
    peer::{agent, hello, try_connect},
};

fn first(hello: Hello) -> AgentFrame {
    AgentFrame {
        hello: Some(hello),
        ..AgentFrame::default()
    }
}

/// Issue 25, cost: 10,000 agents are 10,000 agents, whatever the hub itself has open.
#[tokio::test]
async fn parts_of_the_hub_take_no_place_of_a_peer_and_need_none() {
    let hub = TestHub::with(Settings {
        streams: 2,
        ..Settings::default()
    })
    .await;
    let own = async |name: &str| {
        let mut client = AgentHubClient::new(Transport::from(hub.server.in_process()));
        let frames = once(first(hello(name, "i", Vec::new()))).chain(pending());
        let answer = within(client.connect(frames)).await.expect("it is open");
        let mut frames = answer.into_inner();
        let welcome = within(frames.message()).await.expect("no error");
        assert!(welcome.is_some_and(|frame| frame.welcome.is_some()));
        frames
    };
    let before = own("gateway").await;
    let one = hub.connect(agent("one", "i", 9)).await;
    let _two = hub.connect(agent("two", "i", 9)).await;
    let refused = try_connect(&hub.client, first(agent("three", "i", 9))).await;
    let refused = refused.err().expect("there is no room");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(
        refused.message(),
        "2 streams are open, and that is all there may be: try again once others have ended theirs"
    );
    let after = own("pages").await;
    drop((before, after, one));
    until("three has the place of one", async || {
        let three = try_connect(&hub.client, first(agent("three", "i", 9)));
        three.await.ok()
    })
    .await;
}
