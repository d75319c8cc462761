//! Parsing and validation of the first frame of a `Connect` peer.

use std::{collections::HashSet, ops::RangeInclusive};

use agenthub_proto::agenthub::{EventKind, Hello, Lifetime as WireLifetime};

use crate::{
    Error,
    filter::Filter,
    id::{AgentId, InstanceId, Version},
    limits,
    log::{Position, Registration},
    mailbox::Reclaiming,
    mailboxes::Lifetime,
};

/// Supported versions of the `Connect` protocol.
const PROTOCOL_VERSIONS: RangeInclusive<u32> = 1..=2;
/// Maximum subscriptions of a stream.
const SUBSCRIPTIONS: usize = 64;

/// A peer and its requests.
#[derive(Debug)]
pub(super) struct Introduction {
    pub(super) agent: AgentId,
    pub(super) instance: InstanceId,
    pub(super) version: Option<Version>,
    /// Set for agents; a client is not in the directory.
    pub(super) registration: Option<Registration>,
    pub(super) subscriptions: Vec<RequestedSubscription>,
}

/// A requested subscription.
#[derive(Clone, Debug)]
pub(super) struct RequestedSubscription {
    pub(super) name: String,
    pub(super) lifetime: Lifetime,
    pub(super) filter: Filter,
    pub(super) ordered: bool,
    /// True if the cards of all agents come first, where it takes cards.
    pub(super) shows_directory: bool,
}

/// Parses a hello.
///
/// # Errors
///
/// [`Error::FailedPrecondition`] for an unsupported version of the protocol, [`Error::InvalidArgument`] for everything
/// else.
pub(super) fn read(hello: Hello) -> Result<Introduction, Error> {
    if !PROTOCOL_VERSIONS.contains(&hello.protocol_version) {
        return Err(Error::FailedPrecondition(format!(
            "protocol version {} is not spoken here; this hub speaks {} to {}",
            hello.protocol_version,
            PROTOCOL_VERSIONS.start(),
            PROTOCOL_VERSIONS.end()
        )));
    }
    let card_name = hello.agent_card.as_ref().map(|c| &c.name);
    let name = card_name.unwrap_or(&hello.agent_id);
    if !hello.agent_id.is_empty() && hello.agent_id != *name {
        return Err(Error::InvalidArgument(format!(
            "hello.agent_id is \"{}\", but the card's name is \"{name}\"",
            hello.agent_id
        )));
    }
    limits::required("hello.agent_id", name)?;
    limits::agent_id("hello.agent_id", name)?;
    limits::required("hello.instance_id", &hello.instance_id)?;
    limits::id("hello.instance_id", &hello.instance_id)?;
    let instance = InstanceId::from(hello.instance_id.as_str());
    Ok(Introduction {
        agent: name.as_str().into(),
        version: hello
            .agent_card
            .as_ref()
            .map(|c| Version::from(c.version.as_str())),
        subscriptions: subscriptions(&hello, &instance)?,
        instance,
        registration: hello.agent_card.map(|card| Registration {
            card,
            topics: hello.topics,
            health_check_url: hello.health_check_url,
        }),
    })
}

/// The claims of each subscription of a hello, in order. The list may be shorter or longer than that of the
/// subscriptions.
pub(super) fn claims(claims: &[(u32, Position)]) -> Vec<Reclaiming> {
    let mut positions = vec![Vec::new(); SUBSCRIPTIONS];
    for (subscription, position) in claims {
        let index = usize::try_from(*subscription).unwrap_or(usize::MAX);
        if let Some(positions) = positions.get_mut(index) {
            positions.push(*position);
        }
    }
    positions.into_iter().map(Reclaiming::new).collect()
}

fn subscriptions(
    hello: &Hello,
    instance: &InstanceId,
) -> Result<Vec<RequestedSubscription>, Error> {
    if hello.subscription.len() > SUBSCRIPTIONS {
        return Err(Error::InvalidArgument(format!(
            "hello has {} subscriptions; at most {SUBSCRIPTIONS}",
            hello.subscription.len()
        )));
    }
    let mut names = HashSet::new();
    let mut wanted = Vec::new();
    for subscription in &hello.subscription {
        let name = &subscription.name;
        limits::required("hello.subscription.name", name)?;
        limits::id("hello.subscription.name", name)?;
        if !names.insert(name) {
            return Err(Error::InvalidArgument(format!(
                "hello.subscription: \"{name}\" is there twice"
            )));
        }
        let filter = Filter::from_wire(&subscription.filter.clone().unwrap_or_default())?;
        filter.check()?;
        let lifetime = match WireLifetime::try_from(subscription.lifetime).unwrap_or_default() {
            WireLifetime::Unspecified => {
                return Err(Error::InvalidArgument(format!(
                    "hello.subscription \"{name}\": lifetime must be LIFETIME_DURABLE or LIFETIME_INSTANCE"
                )));
            }
            WireLifetime::Durable if filter.takes(EventKind::AgentCard) => {
                return Err(Error::InvalidArgument(format!(
                    "hello.subscription \"{name}\": agent cards begin with a snapshot, so they need LIFETIME_INSTANCE"
                )));
            }
            WireLifetime::Durable => Lifetime::Durable,
            WireLifetime::Instance => Lifetime::Instance(instance.clone()),
        };
        wanted.push(RequestedSubscription {
            name: name.clone(),
            lifetime,
            filter,
            ordered: subscription.ordered,
            shows_directory: true,
        });
    }
    Ok(wanted)
}
