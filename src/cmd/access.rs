//! `agenthub access`

use std::{error::Error as _, time::Duration};

use agenthub_broker::DEFAULT_NAMESPACE;
use agenthub_proto::{
    agenthub::{ExplainRequest, WhoAmIRequest, access_client::AccessClient},
    bearer::Bearer,
    grpc::Transport,
    socket::{HubAddress, channel, without_login},
    tls::{self, ClientTls},
};
use agenthub_terminal::{output, usage::WrongUsage};
use anyhow::anyhow;
use serde_json::{Value, json};
use tokio::time::sleep;
use tonic::{Code, Status};

use crate::{
    cli::{AccessCommand, Explain},
    settings::Settings,
};

/// Pause before a hub is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Deadline of a call.
const DEADLINE: Duration = Duration::from_secs(10);

/// Asks a hub about identities and rights.
pub(super) async fn run(args: AccessCommand, settings: &Settings) -> anyhow::Result<()> {
    let hub = &settings.hub;
    let mut access = connect(hub)?;
    match args {
        AccessCommand::Explain(args) => explain(&mut access, args).await,
        AccessCommand::Whoami { json, .. } => {
            let who = access.who_am_i(WhoAmIRequest::default()).await;
            let who = who.map_err(|status| to_error(&status))?.into_inner();
            let roles = who.roles.join(", ");
            let quotas: Vec<Value> = who
                .quotas
                .iter()
                .map(
                    |q| json!({"whose": q.whose, "what": q.what, "limit": q.limit, "used": q.used}),
                )
                .collect();
            output::line(match (json.json, who.anonymous) {
                (true, _) => json!({
                    "principal": who.principal,
                    "namespace": who.namespace,
                    "roles": who.roles,
                    "anonymous": who.anonymous,
                    "quotas": quotas,
                })
                .to_string(),
                (false, true) => {
                    format!("the hub at {hub} needs no identities: everyone may do everything")
                }
                (false, false) => {
                    format!("{} ({roles}) in namespace {}", who.principal, who.namespace)
                }
            })?;
            if !json.json && !who.quotas.is_empty() {
                let rows = who.quotas.into_iter().map(|quota| {
                    [
                        quota.whose,
                        quota.what,
                        quota.used.to_string(),
                        quota.limit.to_string(),
                    ]
                });
                output::line(output::table(["QUOTA OF", "WHAT", "USED", "LIMIT"], rows))?;
            }
            Ok(())
        }
    }
}

/// The namespace that this process belongs to at a hub, once that can be asked. A hub that knows no identities has one alone.
pub(super) async fn namespace(hub: &str) -> String {
    loop {
        let asked = async {
            let who = connect(hub)?.who_am_i(WhoAmIRequest::default()).await;
            anyhow::Ok(who.map(|who| who.into_inner().namespace))
        };
        match asked.await {
            Ok(Ok(namespace)) => return namespace,
            Ok(Err(status)) if status.code() == Code::Unimplemented => {
                return DEFAULT_NAMESPACE.to_owned();
            }
            Ok(Err(status)) => tracing::warn!("the hub does not say who this is: {status}"),
            Err(error) => tracing::warn!("the hub cannot be asked who this is: {error:#}"),
        }
        sleep(AGAIN).await;
    }
}

async fn explain(access: &mut AccessClient<Transport>, args: Explain) -> anyhow::Result<()> {
    let principal = args.principal.to_string();
    let request = ExplainRequest {
        principal: principal.clone(),
        roles: args.roles,
        action: args.action,
        resource: args.resource,
        on_behalf_of: args
            .on_behalf_of
            .map_or_else(String::new, |name| name.to_string()),
    };
    let said = access.explain(request).await;
    let said = said.map_err(|status| to_error(&status))?.into_inner();
    output::line(match args.json.json {
        true => json!({
            "allowed": said.allowed,
            "rule": said.rule,
            "right": said.right,
        })
        .to_string(),
        false => {
            let word = match said.allowed {
                true => "allowed",
                false => "denied",
            };
            output::plain(&format!(
                "{word}: {principal} {}: {}",
                said.right, said.rule
            ))
            .into_owned()
        }
    })?;
    Ok(())
}

fn connect(hub: &str) -> anyhow::Result<AccessClient<Transport>> {
    let address = HubAddress::parse(hub)
        .map_err(|reason| anyhow!("{} is no address of a hub: {reason}", without_login(hub)))?;
    let endpoint = address.endpoint().timeout(DEADLINE);
    let channel = channel(address, &endpoint, DEADLINE);
    let transport = Transport::from(channel).with_bearer(Bearer::of_process());
    Ok(AccessClient::new(transport))
}

fn to_error(status: &Status) -> anyhow::Error {
    // What comes from the connection has a cause; what a hub says has none.
    if let Some(cause) = status.source() {
        let why = tls::explain(cause, ClientTls::of_process());
        let why = why.unwrap_or_else(|| format!("{cause}: start a hub with `agenthub up`"));
        return anyhow!("no connection to the hub: {}", output::plain(&why));
    }
    match status.code() {
        Code::Unimplemented => anyhow!("this hub is of a version that knows no identities"),
        Code::InvalidArgument => WrongUsage(output::plain(status.message()).into_owned()).into(),
        _ => anyhow!("{}", output::plain(status.message())),
    }
}
