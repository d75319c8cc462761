//! `agenthub agents add`, `outside` and `remove`: the hub's process is asked over gRPC.

use std::{error::Error as _, time::Duration};

use crate::outside::wire::{
    AddOutsideAgentRequest, ListOutsideAgentsRequest, OutsideAgent, RemoveOutsideAgentRequest,
    outside_agents_client::OutsideAgentsClient,
};
use agenthub_sdk::proto::{
    bearer::Bearer,
    grpc::Transport,
    json::to_struct,
    socket::{HubAddress, channel, without_login},
    tls::{ClientTls, explain, hinted},
};
use agenthub_terminal::{flags::Json, output};
use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::args::{Add, Elsewhere};

/// Deadline of a call: the hub's process fetches a card meanwhile.
const DEADLINE: Duration = Duration::from_secs(60);

/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Adds, lists and removes agents elsewhere.
///
/// # Errors
///
/// The hub cannot be reached, or refuses.
pub async fn run(args: Elsewhere, hub: &str) -> anyhow::Result<()> {
    match args {
        Elsewhere::Add(args) => add(*args, hub).await,
        Elsewhere::Outside { query } => list(hub, query.json).await,
        Elsewhere::Remove { id, query } => remove(&id, hub, query.json).await,
    }
}

async fn add(args: Add, hub: &str) -> anyhow::Result<()> {
    super::address(&args.url)?;
    let auth = args.who.auth().map(serde_json::to_value).transpose()?;
    let request = AddOutsideAgentRequest {
        url: args.url,
        agent_id: args.id.unwrap_or_default(),
        auth: auth.as_ref().map(to_struct),
    };
    let answer = connect(hub)?.add_outside_agent(request).await;
    let agent = answer
        .map_err(|status| to_error(hub, &status))?
        .into_inner()
        .agent;
    let agent = agent.context("the hub does not say what it has added")?;
    match args.query.json.json {
        true => output::line(json_of(&agent).to_string())?,
        false => {
            let id = &agent.agent_id;
            output::line(output::plain(&format!(
                "added agent \"{id}\": {}; card signature: {}",
                agent.interface, agent.signature
            )))?;
            output::aside(output::plain(&format!(
                "ask it with `agenthub publish --to {id} --wait TEXT`"
            )));
        }
    }
    Ok(())
}

async fn remove(id: &str, hub: &str, json: Json) -> anyhow::Result<()> {
    let request = RemoveOutsideAgentRequest {
        agent_id: id.to_owned(),
    };
    let removed = connect(hub)?.remove_outside_agent(request).await;
    let removed = removed
        .map_err(|status| to_error(hub, &status))?
        .into_inner();
    let (cancelled, left) = (removed.cancelled, removed.left);
    if json.json {
        let removed = json!({"agentId": id, "cancelled": cancelled, "left": left});
        return Ok(output::line(removed.to_string())?);
    }
    output::line(output::plain(&format!(
        "removed agent \"{id}\", and the messages that waited for it"
    )))?;
    if cancelled > 0 {
        output::aside(format!("cancelled at the agent: {cancelled} open tasks"));
    }
    if left > 0 {
        output::aside(format!(
            "not cancelled, as the agent did not answer: {left} open tasks, which may go on there"
        ));
    }
    Ok(())
}

async fn list(hub: &str, json: Json) -> anyhow::Result<()> {
    let mut client = connect(hub)?;
    let listed = client
        .list_outside_agents(ListOutsideAgentsRequest {})
        .await;
    let agents = listed
        .map_err(|status| to_error(hub, &status))?
        .into_inner()
        .agents;
    if json.json {
        return Ok(agents
            .iter()
            .try_for_each(|agent| output::line(json_of(agent).to_string()))?);
    }
    if agents.is_empty() {
        output::line("no agents added by address yet; add one with `agenthub agents add URL`")?;
        return Ok(());
    }
    let rows = agents.into_iter().map(|agent| {
        let state = if agent.is_away { "away" } else { "here" };
        let why = output::plain(&agent.why_away).to_string();
        [
            agent.agent_id,
            state.to_owned(),
            agent.url,
            agent.interface,
            why,
        ]
    });
    output::line(output::table(
        ["ID", "STATE", "URL", "INTERFACE", "WHY AWAY"],
        rows,
    ))?;
    Ok(())
}

fn connect(hub: &str) -> anyhow::Result<OutsideAgentsClient<Transport>> {
    let address = HubAddress::parse(hub)
        .map_err(|reason| anyhow!("{} is no address of a hub: {reason}", without_login(hub)))?;
    let endpoint = address.endpoint().timeout(DEADLINE);
    let channel = channel(address, &endpoint, CONNECT);
    let transport = Transport::from(channel).with_bearer(Bearer::of_process());
    Ok(OutsideAgentsClient::new(transport))
}

fn to_error(hub: &str, status: &Status) -> anyhow::Error {
    // What comes from the connection has a cause; what a hub says has none.
    if let Some(cause) = status.source() {
        let why = explain(cause, ClientTls::of_process());
        let why = why.unwrap_or_else(|| {
            let why = hinted(hub, cause.to_string());
            format!("{why}: start one with `agenthub up`")
        });
        return anyhow!("no hub at {hub}: {why}");
    }
    match status.code() {
        Code::Unimplemented => {
            anyhow!("this hub is of an older version, which cannot add agents by their address")
        }
        _ => anyhow!("{}", output::plain(status.message())),
    }
}

fn json_of(agent: &OutsideAgent) -> Value {
    json!({
        "agentId": agent.agent_id,
        "url": agent.url,
        "name": agent.name,
        "interface": agent.interface,
        "signature": agent.signature,
        "online": !agent.is_away,
        "whyAway": agent.why_away,
    })
}
