//! `agenthub agents`

use agenthub_proto::agenthub::{AgentState, ListAgentsRequest, SubscribeToAgentEventsRequest};
use anyhow::bail;

use super::{
    args::{AgentFilter, Agents},
    watch,
};
use crate::{connect, listing, output};

/// The agents of one page.
const PAGE: i32 = 1000;

/// Shows and removes agents.
pub async fn run(args: Agents, hub: &str) -> anyhow::Result<()> {
    let client = connect::client(hub, None).await?;
    match args {
        Agents::List(filter) => {
            let json = filter.query.json.json;
            let mut all = Vec::new();
            let mut request = request(filter);
            loop {
                let page = client.agents(request.clone()).await?;
                all.extend(page.agents);
                if page.next_page_token.is_empty() {
                    break;
                }
                request.page_token = page.next_page_token;
            }
            match json {
                true => all.iter().try_for_each(output::json)?,
                false => output::line(listing::agents(&all))?,
            }
        }
        Agents::Show { id, query } => {
            let agent = client.agent(&id).await?;
            match query.json.json {
                true => output::json(&agent)?,
                false => output::line(listing::agent(&agent))?,
            }
        }
        Agents::Unregister {
            id,
            reason,
            force,
            query,
        } => {
            if !force
                && let Ok(agent) = client.agent(&id).await
                && agent.state() != AgentState::Offline
            {
                bail!(
                    "agent \"{id}\" is connected, so it is not unregistered: end its process first (one that was killed counts as connected for 10 s), or \
                     have it told and ended with --force"
                );
            }
            client.operator().unregister(&id, reason).await?;
            match query.json.json {
                true => output::line(serde_json::json!({"agentId": id}).to_string())?,
                false => output::line(format!(
                    "agent \"{id}\" is unregistered, and what waited for it is gone"
                ))?,
            }
        }
        Agents::Watch { query } => {
            let request = SubscribeToAgentEventsRequest {
                agent_id: client.agent_id().to_owned(),
                event_types: vec!["agent_card".to_owned()],
                ..Default::default()
            };
            let stream = client.agent_events(request).await?;
            watch::run(&client, stream, async || Ok(false), query.json, |_| false).await?;
        }
    }
    client.close().await;
    Ok(())
}

fn request(filter: AgentFilter) -> ListAgentsRequest {
    ListAgentsRequest {
        text: filter.text.unwrap_or_default(),
        skill: filter.skill.unwrap_or_default(),
        tag: filter.tag.unwrap_or_default(),
        mode: filter.mode.unwrap_or_default(),
        capability: filter.capability.unwrap_or_default(),
        state: filter.state.map(Into::into).unwrap_or_default(),
        page_size: PAGE,
        page_token: String::new(),
        ..ListAgentsRequest::default()
    }
}
