//! Whether a delivery costs the hub more where it knows much.

use agenthub_sdk::proto::agenthub::{RegisterAgentRequest, agent_hub_client::AgentHubClient};
use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tonic::transport::Endpoint;

use super::{Stage, crowd::Crowd, people, ratio};
use crate::compare::{
    measure::Pace, message::TOPIC, report::Ratio, server::Server, system::System,
};

/// Subscribers in groups; all of a group have the same topics, and no other group has them.
const GROUPS: usize = 10;
const GROUP: usize = 10;

/// Messages on the way to each subscriber of a topic.
const PACE: Pace = Pace::Delivered(256);

/// Topics in all.
const FEW_TOPICS: usize = 10;
const MANY_TOPICS: usize = 10_000;

/// Agents in the directory beside those who subscribe.
const FEW_AGENTS: usize = 10;
const MANY_AGENTS: usize = 100_000;

/// Registrations that are unanswered at a time.
const REGISTERING: usize = 64;

/// The server's CPU time for a delivery with many topics, against that with few.
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

/// The server's CPU time for a delivery beside many registered agents, against that beside few.
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

/// Makes so many agents known, none of which is there.
async fn register(server: &Server, count: usize) -> anyhow::Result<()> {
    let channel = Endpoint::from_shared(format!("http://{}", server.address()))?
        .connect()
        .await
        .context("the hub is gone")?;
    let requests = (0..count).map(|number| {
        let mut client = AgentHubClient::new(channel.clone());
        async move {
            let request = RegisterAgentRequest {
                agent_card: Some(people::card(number)),
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
