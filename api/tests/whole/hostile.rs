//! What nobody should send.

use agenthub_agents::echo;
use agenthub_sdk::{model::Offline, proto::cortex::ChatRequest};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tokio::runtime::Runtime;
use tonic::{Code, Request};

use crate::{
    frames::{frames, serve},
    harness::*,
};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        2 => "(ask|use) (agent_echo|@|cortex)[ ,\"{}\\[\\]\u{0}\n]{0,20}.{0,40}",
        2 => r#"\{"actions": ?\[?.{0,60}"#,
        1 => ("\\PC", 0usize..1_100_000).prop_map(|(c, n)| c.repeat(n / c.len())),
    ]
}

fn context_id() -> impl Strategy<Value = String> {
    prop_oneof![Just("c".to_owned()), any::<String>(), "[a-z]{200,300}"]
}

/// spec: HUB-4
#[test]
fn no_chat_request_takes_the_service_down() {
    let runtime = Runtime::new().expect("threads");
    runtime.block_on(async {
        let world = World::new(Offline).await;
        let _echo = world.agent(echo::agent("agent_echo")).await;
        let client = serve(&world.cortex).await;

        let requests = (text(), context_id(), "[ -~]{0,60}");
        let throw = |(text, context_id, traceparent): (String, String, String)| {
            let mut client = client.clone();
            let mut request = Request::new(ChatRequest { text, context_id });
            if let Ok(traceparent) = traceparent.parse() {
                request.metadata_mut().insert("traceparent", traceparent);
            }
            let turn = async {
                let mut stream = client.chat(request).await?.into_inner();
                let mut last = None;
                while let Some(frame) = stream.message().await? {
                    last = Some(frame.r#type);
                }
                Ok::<_, tonic::Status>(last)
            };
            let ended = tokio::runtime::Handle::current().block_on(within(turn));
            match ended {
                Ok(last) => prop_assert!(matches!(last.as_deref(), Some("complete" | "error"))),
                Err(status) => prop_assert_eq!(status.code(), Code::InvalidArgument),
            }
            Ok(())
        };
        tokio::task::block_in_place(|| {
            let config = Config {
                cases: 96,
                failure_persistence: None,
                ..Config::default()
            };
            TestRunner::new(config).run(&requests, throw)
        })
        .expect("every request is answered or refused");

        let answered = frames(&mut client.clone(), "echo hello").await;
        let last = answered.last().expect("frames");
        assert_eq!(last.r#type, "complete");
        world.end().await;
    });
}
