//! Arbitrary messages on every call: nothing crashes or hangs, and the hub continues to serve.

mod arbitrary;

use std::time::{Duration, Instant};

use agenthub_proto::agenthub::{AgentFrame, Hello};
use proptest::prelude::*;
use prost::Message as _;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::{
    Code, Request, Status, client::Grpc, codegen::http::uri::PathAndQuery, transport::Channel,
};
use tonic_prost::ProstCodec;

use self::arbitrary::{Choices, arbitrary, pool};
use crate::harness::{DEADLINE, TestHub, routing, user};

/// Time limit of all cases of one test together.
const BUDGET: Duration = Duration::from_secs(5);

/// Calls a method with these encoded messages, and reads the first three responses that are available at once.
async fn call<Q, A>(channel: &Channel, method: &str, bodies: Vec<Vec<u8>>) -> Result<(), Status>
where
    Q: prost::Message + Default + 'static,
    A: prost::Message + Default + 'static,
{
    // Undecodable messages would fail in the client already.
    let requests: Vec<Q> = bodies
        .iter()
        .filter_map(|b| Q::decode(b.as_slice()).ok())
        .collect();
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX);
    grpc.ready()
        .await
        .map_err(|e| Status::unavailable(e.to_string()))?;
    let path = PathAndQuery::try_from(format!("/agenthub.AgentHub/{method}"));
    let answer = grpc
        .streaming(
            Request::new(tokio_stream::iter(requests)),
            path.expect("a path"),
            ProstCodec::<Q, A>::default(),
        )
        .await;
    let mut answers = answer?.into_inner();
    for _ in 0..3 {
        match timeout(Duration::from_millis(2), answers.next()).await {
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(status))) => return Err(status),
            Ok(None) | Err(_) => break,
        }
    }
    Ok(())
}

/// True for a refusal with a reason; false for the result of a crash or a bug.
fn is_civil(answer: &Result<(), Status>) -> bool {
    !matches!(
        answer.as_ref().map_err(Status::code),
        Err(Code::Unknown
            | Code::Internal
            | Code::DataLoss
            | Code::Unavailable
            | Code::Unimplemented)
    )
}

async fn still_serves(hub: &TestHub) {
    hub.publish(user("are you there"), routing("prober", "probed"))
        .await;
}

/// Runs cases until there were enough or the time is up; at least one.
fn cases(count: u32, case: impl Fn(u64)) {
    let start = Instant::now();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&any::<u64>(), |seed| {
        if start.elapsed() < BUDGET {
            case(seed);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn channel(hub: &TestHub) -> Channel {
    Channel::from_shared(format!("http://{}", hub.server.address()))
        .expect("a URL")
        .connect()
        .await
        .expect("it listens")
}

#[test]
fn every_call_survives_arbitrary_requests() {
    use agenthub_proto::{a2a, agenthub as hub_types};
    let runtime = runtime();
    let hub = runtime.block_on(TestHub::start());
    let channel = runtime.block_on(channel(&hub));
    let pool = pool();
    let service = pool
        .get_service_by_name("agenthub.AgentHub")
        .expect("the hub's service");
    let methods: Vec<(String, String)> = service
        .methods()
        .filter(|m| !m.is_client_streaming())
        .map(|m| (m.name().to_owned(), m.input().full_name().to_owned()))
        .collect();
    cases(300, |seed| {
        runtime.block_on(async {
            let mut choices = Choices(seed);
            for (method, input) in &methods {
                let body = vec![arbitrary(&pool, input, &mut choices)];
                let called = async {
                    match method.as_str() {
                        "PublishMessage" => {
                            call::<hub_types::PublishMessageRequest, hub_types::PublishResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "PublishTaskUpdate" => {
                            call::<hub_types::PublishTaskUpdateRequest, hub_types::PublishResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "PublishTaskArtifact" => call::<
                            hub_types::PublishTaskArtifactRequest,
                            hub_types::PublishResponse,
                        >(&channel, method, body)
                        .await,
                        "SubscribeToMessages" => {
                            call::<hub_types::SubscribeToMessagesRequest, hub_types::AgentEvent>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "SubscribeToTasks" => {
                            call::<hub_types::SubscribeToTasksRequest, hub_types::AgentEvent>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "SubscribeToAgentEvents" => {
                            call::<hub_types::SubscribeToAgentEventsRequest, hub_types::AgentEvent>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "GetTask" => {
                            call::<hub_types::GetTaskRequest, a2a::Task>(&channel, method, body)
                                .await
                        }
                        "CancelTask" => {
                            call::<hub_types::CancelTaskRequest, a2a::Task>(&channel, method, body)
                                .await
                        }
                        "ListTasks" => {
                            call::<hub_types::ListTasksRequest, hub_types::ListTasksResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "GetAgentCard" => call::<(), a2a::AgentCard>(&channel, method, body).await,
                        "RegisterAgent" => call::<
                            hub_types::RegisterAgentRequest,
                            hub_types::RegisterAgentResponse,
                        >(&channel, method, body)
                        .await,
                        "UnregisterAgent" => {
                            call::<
                                hub_types::UnregisterAgentRequest,
                                hub_types::UnregisterAgentResponse,
                            >(&channel, method, body)
                            .await
                        }
                        "ListAgents" => {
                            call::<hub_types::ListAgentsRequest, hub_types::ListAgentsResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "GetAgent" => {
                            call::<hub_types::GetAgentRequest, hub_types::AgentEntry>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "ListMailboxes" => call::<
                            hub_types::ListMailboxesRequest,
                            hub_types::ListMailboxesResponse,
                        >(&channel, method, body)
                        .await,
                        "GetMailbox" => {
                            call::<hub_types::GetMailboxRequest, hub_types::GetMailboxResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "SeekMailbox" => {
                            call::<hub_types::SeekMailboxRequest, hub_types::SeekMailboxResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "PurgeMailbox" => {
                            call::<hub_types::PurgeMailboxRequest, hub_types::PurgeMailboxResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        "ListDeadLetters" => {
                            call::<
                                hub_types::ListDeadLettersRequest,
                                hub_types::ListDeadLettersResponse,
                            >(&channel, method, body)
                            .await
                        }
                        "RetryDeadLetter" => {
                            call::<
                                hub_types::RetryDeadLetterRequest,
                                hub_types::RetryDeadLetterResponse,
                            >(&channel, method, body)
                            .await
                        }
                        "DropDeadLetter" => {
                            call::<
                                hub_types::DropDeadLetterRequest,
                                hub_types::DropDeadLetterResponse,
                            >(&channel, method, body)
                            .await
                        }
                        "Charge" => {
                            call::<hub_types::ChargeRequest, hub_types::ChargeResponse>(
                                &channel, method, body,
                            )
                            .await
                        }
                        other => panic!("{other} is not tried"),
                    }
                };
                let answer = timeout(DEADLINE, called).await;
                let answer = answer.unwrap_or_else(|_| panic!("{method} hangs"));
                assert!(is_civil(&answer), "{method}: {answer:?}");
            }
            still_serves(&hub).await;
        });
    });
}

#[test]
fn connect_survives_arbitrary_frames() {
    let runtime = runtime();
    let hub = runtime.block_on(TestHub::start());
    let channel = runtime.block_on(channel(&hub));
    let pool = pool();
    cases(300, |seed| {
        runtime.block_on(async {
            let mut choices = Choices(seed);
            let good = AgentFrame {
                hello: Some(Hello {
                    protocol_version: 1,
                    agent_id: "a".into(),
                    instance_id: choices.one_of(&["1", "2"]).into(),
                    subscription: vec![
                        crate::peer::durable("work", 1000),
                        crate::peer::of_instance("own", 1000),
                    ],
                    ..Default::default()
                }),
                ..Default::default()
            };
            let mut frames = Vec::new();
            if choices.below(4) > 0 {
                frames.push(good.encode_to_vec());
            }
            for _ in 0..choices.below(6) {
                let frame = arbitrary(&pool, "agenthub.AgentFrame", &mut choices);
                // Most streams would end at a second hello.
                let mut frame = AgentFrame::decode(frame.as_slice()).unwrap_or_default();
                if !frames.is_empty() && choices.below(8) > 0 {
                    frame.hello = None;
                }
                frames.push(frame.encode_to_vec());
            }
            let called =
                call::<AgentFrame, agenthub_proto::agenthub::HubFrame>(&channel, "Connect", frames);
            let answer = timeout(DEADLINE, called).await;
            let answer = answer.unwrap_or_else(|_| panic!("Connect hangs"));
            assert!(is_civil(&answer), "{answer:?}");
            still_serves(&hub).await;
        });
    });
}

/// Bytes that are not a message.
#[tokio::test]
async fn garbage_on_the_wire_is_refused() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let hub = TestHub::start().await;
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], &[0xff; 64]] {
        let mut socket = tokio::net::TcpStream::connect(hub.server.address())
            .await
            .expect("it listens");
        // The hub may close the connection at any byte.
        let _ = socket.write_all(garbage).await;
        let _ = socket.shutdown().await;
        let mut answer = Vec::new();
        let _ = timeout(DEADLINE, socket.read_to_end(&mut answer))
            .await
            .expect("the hub hangs up");
        still_serves(&hub).await;
    }
}
