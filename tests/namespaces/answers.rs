//! Answers of a hub as text, to be compared.

use std::{sync::LazyLock, time::Duration};

use prost::{
    Message as _,
    bytes::{Buf, BufMut},
};
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::Value;
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::Endpoint,
};

/// Time after which a stream that stays open has said what it has to say at first.
const QUIET: Duration = Duration::from_millis(400);

/// Streams that may have nothing to say, and stay open.
const MAY_BE_QUIET: [&str; 3] = [
    "/agenthub.AgentHub/SubscribeToMessages",
    "/agenthub.AgentHub/SubscribeToTasks",
    "/agenthub.AgentHub/SubscribeToAgentEvents",
];

/// Streams that say something, and may stay open then. All others end.
const STAY_OPEN: [&str; 4] = [
    "/agenthub.AgentHub/Connect",
    "/cortex.Cortex/WatchRun",
    "/lf.a2a.v1.A2AService/SendStreamingMessage",
    "/lf.a2a.v1.A2AService/SubscribeToTask",
];

/// Messages as the bytes that they are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

/// Descriptors of the services that a hub serves.
static SERVICES: LazyLock<[DescriptorPool; 2]> = LazyLock::new(|| {
    [
        agenthub_proto::FILE_DESCRIPTOR_SET,
        agenthub_a2a::FILE_DESCRIPTOR_SET,
    ]
    .map(|set| DescriptorPool::decode(set).expect("descriptors"))
});

/// A method of one of the services that a hub serves.
pub(crate) fn method(path: &str) -> Option<MethodDescriptor> {
    let (service, name) = path.trim_start_matches('/').split_once('/')?;
    SERVICES.iter().find_map(|pool| {
        let service = pool.get_service_by_name(service)?;
        service.methods().find(|method| method.name() == name)
    })
}

/// The answer to an RPC: the status, or the messages that came at first, as JSON.
pub(crate) fn called(hub: &str, token: &str, path: &str, request: &Value) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    // A test may run in a runtime of its own.
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| runtime.block_on(call(hub, token, path, request)));
        calling.join().expect("no panic")
    })
}

async fn call(hub: &str, token: &str, name: &str, request: &Value) -> String {
    let method = method(name).unwrap_or_else(|| panic!("{name} is no method"));
    let message = DynamicMessage::deserialize(method.input(), request);
    let message = message.unwrap_or_else(|error| panic!("{name} {request}: {error}"));
    let endpoint = Endpoint::from_shared(hub.to_owned()).expect("a URL");
    let channel = endpoint.connect().await.expect("the hub listens");
    let mut grpc = Grpc::new(channel).max_decoding_message_size(64 << 20);
    grpc.ready().await.expect("it is connected");
    let mut request = Request::new(tokio_stream::once(message.encode_to_vec()));
    request.set_timeout(Duration::from_secs(20));
    let header = format!("Bearer {token}").parse().expect("a header");
    request.metadata_mut().insert("authorization", header);
    let path: PathAndQuery = name.parse().expect("a path");
    let mut said = String::new();
    // Words of an answer come in pieces of any size.
    let mut words = String::new();
    let answered = async {
        let answer = grpc.streaming(request, path, Raw).await?;
        let mut answer = answer.into_inner();
        loop {
            let next = answer.message();
            let may_be_over =
                MAY_BE_QUIET.contains(&name) || STAY_OPEN.contains(&name) && !said.is_empty();
            let next = match may_be_over {
                true => tokio::time::timeout(QUIET, next)
                    .await
                    .unwrap_or(Ok(None))?,
                false => next.await?,
            };
            let Some(bytes) = next else { break };
            let message = DynamicMessage::decode(method.output(), &*bytes).expect("an answer");
            let fields = serde_json::to_value(&message).expect("JSON");
            if fields["type"] == "delta" {
                words += fields["message"].as_str().unwrap_or_default();
                continue;
            }
            said += &std::mem::take(&mut words);
            said += &serde_json::to_string(&message).expect("JSON");
            said.push('\n');
        }
        Ok::<(), Status>(())
    };
    let answered = answered.await;
    said += &words;
    if let Err(status) = answered {
        said += &format!("{:?}: {}", status.code(), status.message());
    }
    said
}
