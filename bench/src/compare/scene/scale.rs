//! Cost of a delivery on a hub with a large state.

use agenthub_sdk::proto::agenthub::{RegisterAgentRequest, agent_hub_client::AgentHubClient};
use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tonic::transport::Endpoint;

use super::{Stage, crowd::Crowd, peers, ratio};
use crate::compare::{
    measure::Pace, message::TOPIC, report::Ratio, server::Server, system::System,
};

/// Groups of subscribers; the topics of a group belong to it alone.
const GROUPS: usize = 10;
const GROUP: usize = 10;

/// Messages in flight to each subscriber of a topic.
const PACE: Pace = Pace::Delivered(256);

/// Total topics.
const FEW_TOPICS: usize = 10;
const MANY_TOPICS: usize = 10_000;

/// Agents in the directory besides the subscribers.
const FEW_AGENTS: usize = 10;
const MANY_AGENTS: usize = 100_000;

/// Maximum concurrent registrations.
const REGISTERING: usize = 64;

/// The server's CPU time per delivery with many topics, relative to few.
pub(super) async fn topics(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let few = over_topics(stage, FEW_TOPICS).await?;
    let many = over_topics(stage, MANY_TOPICS).await?;
    Ok(vec![ratio(many, few)])
}

async fn over_topics(stage: &Stage, count: usize) -> anyhow::Result<f64> {
    let (server, _folder) = stage.hub(System::HubMemory).await?;
    let topics: Vec<String> = (0..count).map(|number| format!("topic-{number}")).collect();
    let of = |subscriber: usize| {
        let its = topics.iter().skip(subscriber % GROUPS).step_by(GROUPS);
        its.cloned().collect()
    };
    let crowd = Crowd::gather(
        &server,
        GROUPS * GROUP,
        of,
        topics.clone(),
        GROUP as u64,
        false,
    );
    let measured = crowd.await?.measure(&server, PACE, stage.length).await?;
    Ok(measured.cpu_us)
}

/// The server's CPU time per delivery beside many registered agents, relative to few.
pub(super) async fn agents(stage: &Stage) -> anyhow::Result<Vec<Ratio>> {
    let few = beside_agents(stage, FEW_AGENTS).await?;
    let many = beside_agents(stage, MANY_AGENTS).await?;
    Ok(vec![ratio(many, few)])
}

async fn beside_agents(stage: &Stage, count: usize) -> anyhow::Result<f64> {
    let (server, _folder) = stage.hub(System::HubMemory).await?;
    register(&server, count).await?;
    let topics = vec![TOPIC.to_owned()];
    let of = |_| topics.clone();
    let crowd = Crowd::gather(&server, GROUP, of, topics.clone(), GROUP as u64, false);
    let measured = crowd.await?.measure(&server, PACE, stage.length).await?;
    Ok(measured.cpu_us)
}

/// Registers this many offline agents.
async fn register(server: &Server, count: usize) -> anyhow::Result<()> {
    let channel = Endpoint::from_shared(format!("http://{}", server.address()))?
        .connect()
        .await
        .context("the hub is gone")?;
    let requests = (0..count).map(|number| {
        let mut client = AgentHubClient::new(channel.clone());
        async move {
            let request = RegisterAgentRequest {
                agent_card: Some(peers::card(number)),
                subscriptions: vec![format!("work-{number}")],
                ..RegisterAgentRequest::default()
            };
            let answer = client.register_agent(request).await?.into_inner();
            if !answer.success {
                bail!("the hub does not register an agent: {}", answer.error);
            }
            Ok(())
        }
    });
    stream::iter(requests)
        .buffer_unordered(REGISTERING)
        .try_collect()
        .await
}
