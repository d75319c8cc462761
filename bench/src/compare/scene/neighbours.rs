//! A namespace beside another one that asks for twice what its quotas allow.

use std::{
    collections::HashMap,
    convert::Infallible,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agenthub_sdk::proto::{
    a2a::{Message, Role},
    agenthub::{
        AgentEventMetadata, PublishMessageRequest, SubscribeToMessagesRequest,
        agent_event::Payload, agent_hub_client::AgentHubClient,
    },
};
use anyhow::{Context as _, bail};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tonic::{
    Code, Request,
    transport::{Channel, Endpoint},
};

use super::{Stage, ratio};
use crate::{
    compare::{pacer::Pacer, report::Ratio, server::Server, system::System},
    program::unset,
};

/// Publishes per second of the namespace whose latency is taken.
const RATE: u32 = 200;

/// Measurements with the neighbour at its limits, each after one without.
const TURNS: usize = 4;

/// Time for the neighbour to reach its limits.
const WARM_UP: Duration = Duration::from_millis(500);

/// Time for what is under way at the end of a measurement.
const REST: Duration = Duration::from_secs(2);

/// Namespaces: the one that is measured, and its neighbour.
const PACED: &str = "paced";
const LOUD: &str = "loud";

/// Quotas of the neighbour.
const PUBLISHES: u32 = 400;
const STREAMS: u32 = 20;
const TASKS: u32 = 100;

/// The p99 from publish to delivery beside a neighbour at its limits, and beside one that is silent, in turn on one hub.
pub(super) async fn play(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let folder = stage.folder()?;
    let [paced, loud] = prepare(stage, folder.path())?;
    let server = System::HubSynced
        .start(&stage.programs, folder.path())
        .await?;
    let paced = Caller::connect(&server, &paced, PACED).await?;
    let loud = Caller::connect(&server, &loud, LOUD).await?;
    let (mut silent, mut beside) = (Vec::new(), Vec::new());
    latencies(&paced, WARM_UP).await?;
    for _ in 0..TURNS {
        silent.extend(latencies(&paced, stage.length).await?);
        let noise = Noise::start(&loud);
        sleep(WARM_UP).await;
        beside.extend(latencies(&paced, stage.length).await?);
        noise.stop().await?;
    }
    Ok(vec![ratio(p99_ms(beside)?, p99_ms(silent)?)])
}

/// Makes both namespaces with a token each, and the neighbour's quotas.
fn prepare(stage: &Stage, folder: &Path) -> anyhow::Result<[String; 2]> {
    let policy = format!(
        "[quotas.namespaces.{LOUD}]\npublishes_per_second = {PUBLISHES}\nstreams = {STREAMS}\nopen_tasks = {TASKS}\n"
    );
    fs::write(folder.join("policy.toml"), policy)?;
    fs::write(
        folder.join("agenthub.toml"),
        "[access]\npolicy = \"policy.toml\"\n",
    )?;
    let data = folder.join("data");
    let run = |args: &[&str]| -> anyhow::Result<String> {
        let mut command = unset(&stage.programs.hub);
        let done = command
            .args(args)
            .arg("--data")
            .arg(&data)
            .current_dir(folder)
            .output()?;
        if !done.status.success() {
            bail!("{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(String::from_utf8(done.stdout)?)
    };
    let token = |namespace: &str| -> anyhow::Result<String> {
        run(&["namespaces", "add", namespace])?;
        let issue = ["tokens", "issue", namespace, "--role", "user", "--json"];
        let issued = run(&[&issue[..], &["--namespace", namespace]].concat())?;
        let issued: serde_json::Value = serde_json::from_str(issued.trim())?;
        let token = issued["token"].as_str().context("no token was issued")?;
        Ok(token.to_owned())
    };
    Ok([token(PACED)?, token(LOUD)?])
}

fn p99_ms(mut latencies: Vec<Duration>) -> anyhow::Result<f64> {
    latencies.sort_unstable();
    let last = latencies.len().checked_sub(1).context("nothing came")?;
    Ok(latencies[last * 99 / 100].as_secs_f64() * 1e3)
}

/// A connection with a token.
#[derive(Clone, Debug)]
struct Caller {
    client: AgentHubClient<Channel>,
    header: tonic::metadata::AsciiMetadataValue,
}

impl Caller {
    /// Connects as this principal, and waits until its namespace is open.
    async fn connect(server: &Server, token: &str, principal: &str) -> anyhow::Result<Self> {
        let url = format!("http://{}", server.address());
        let caller = Self {
            client: AgentHubClient::new(Endpoint::from_shared(url)?.connect().await?),
            header: format!("Bearer {token}").parse()?,
        };
        let begin = Instant::now();
        let waiting = format!("{principal}~waiting");
        while let Err(status) = caller.subscribe(&waiting).await {
            if begin.elapsed() > Duration::from_secs(10) {
                bail!("a namespace does not open: {status}");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(caller)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request
            .metadata_mut()
            .insert("authorization", self.header.clone());
        request
    }

    /// Opens a stream of an id of its own.
    async fn subscribe(
        &self,
        name: &str,
    ) -> Result<tonic::Streaming<agenthub_sdk::proto::agenthub::AgentEvent>, tonic::Status> {
        let request = SubscribeToMessagesRequest {
            agent_id: name.to_owned(),
            ..Default::default()
        };
        let mut client = self.client.clone();
        let opened = client.subscribe_to_messages(self.request(request)).await;
        opened.map(tonic::Response::into_inner)
    }

    /// Publishes a message, of a task if it names one.
    async fn publish(&self, id: String, to: &str, task: String) -> Result<(), tonic::Status> {
        let request = PublishMessageRequest {
            message: Some(Message {
                message_id: id,
                task_id: task,
                ..Message::new(Role::User, "x".repeat(256))
            }),
            routing: Some(AgentEventMetadata {
                from_agent_id: to.to_owned(),
                to_agent_id: to.to_owned(),
                ..AgentEventMetadata::default()
            }),
            ..PublishMessageRequest::default()
        };
        let mut client = self.client.clone();
        client
            .publish_message(self.request(request))
            .await
            .map(drop)
    }
}

/// Times from publish to delivery at a steady rate.
async fn latencies(caller: &Caller, length: Duration) -> anyhow::Result<Vec<Duration>> {
    let mut events = caller.subscribe(PACED).await?;
    let sent: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
    let known = Arc::clone(&sent);
    let reading = tokio::spawn(async move {
        let mut took = Vec::new();
        while let Ok(Ok(Some(event))) = timeout(REST, events.message()).await {
            let Some(Payload::Message(message)) = event.payload else {
                continue;
            };
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sent) = known.remove(&message.message_id) {
                took.push(sent.elapsed());
            }
        }
        took
    });
    let mut ticks = Pacer::start(RATE);
    let begin = Instant::now();
    let mut publishing = JoinSet::new();
    while begin.elapsed() < length && ticks.tick().await {
        let id = format!("{:032x}", fastrand::u128(..));
        let now = Instant::now();
        sent.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), now);
        let caller = caller.clone();
        publishing.spawn(async move { caller.publish(id, PACED, String::new()).await });
    }
    while let Some(published) = publishing.join_next().await {
        published??;
    }
    Ok(reading.await?)
}

/// The neighbour: it asks for twice what its quotas allow.
struct Noise(JoinSet<anyhow::Result<Infallible>>);

impl Noise {
    fn start(caller: &Caller) -> Self {
        let mut asking = JoinSet::new();
        asking.spawn(asks(2 * PUBLISHES, caller.clone(), async |caller, n| {
            let id = format!("{:032x}", fastrand::u128(..));
            caller
                .publish(format!("{id}{n}"), LOUD, String::new())
                .await
        }));
        asking.spawn(asks(TASKS / 2, caller.clone(), async |caller, n| {
            let id = format!("{:032x}", fastrand::u128(..));
            caller.publish(format!("{id}{n}"), LOUD, id).await
        }));
        for n in 0..2 * STREAMS {
            let caller = caller.clone();
            asking.spawn(async move {
                loop {
                    // One that is refused asks again.
                    if let Ok(mut events) = caller.subscribe(&format!("{LOUD}~{n}")).await {
                        while let Ok(Some(_)) = events.message().await {}
                    }
                    sleep(Duration::from_millis(500)).await;
                }
            });
        }
        Self(asking)
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        // One that has ended by itself has failed.
        if let Some(Ok(ended)) = self.0.try_join_next() {
            ended.context("the neighbour's load broke off")?;
        }
        self.0.shutdown().await;
        Ok(())
    }
}

/// Asks so many times a second; a refusal by a quota is what is wanted.
async fn asks<F>(per_second: u32, caller: Caller, ask: F) -> anyhow::Result<Infallible>
where
    F: AsyncFn(&Caller, u64) -> Result<(), tonic::Status>,
{
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = 0;
    loop {
        ticks.tick().await;
        asked += 1;
        match ask(&caller, asked).await {
            Err(status) if status.code() != Code::ResourceExhausted => return Err(status.into()),
            _ => {}
        }
    }
}
