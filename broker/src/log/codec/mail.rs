//! Records of given-up mail, and of mail that returns to mailboxes.

use agenthub_proto::agenthub::Concern;
use bytes::Bytes;
use prost::Message;

use super::{Unreadable, published::sealed};
use crate::{
    dead_letters::GivenUp,
    id::Version,
    log::{Again, Position},
};

#[derive(Clone, PartialEq, Message)]
pub(super) struct GivenUpRecord {
    #[prost(string, tag = "1")]
    agent: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    reason: String,
    #[prost(uint32, tag = "4")]
    attempts: u32,
    #[prost(message, optional, tag = "5")]
    mail: Option<MailRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SettledRecord {
    #[prost(uint64, tag = "1")]
    pub(super) letter: u64,
    #[prost(bool, tag = "2")]
    pub(super) again: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RereadRecord {
    #[prost(string, tag = "1")]
    pub(super) agent: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) mail: Vec<MailRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MailRecord {
    /// An encoded `AgentEvent`.
    #[prost(bytes = "bytes", optional, tag = "1")]
    event: Option<Bytes>,
    #[prost(uint64, tag = "2")]
    position: u64,
    #[prost(int32, tag = "3")]
    concern: i32,
    #[prost(string, tag = "4")]
    version: String,
    #[prost(bool, tag = "5")]
    is_directed: bool,
}

impl From<&Again> for MailRecord {
    fn from(mail: &Again) -> Self {
        Self {
            event: Some(mail.event.bytes().clone()),
            position: mail.position.0,
            concern: mail.concern.into(),
            version: mail
                .version
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            is_directed: mail.is_directed,
        }
    }
}

impl MailRecord {
    pub(super) fn read(self) -> Result<Again, Unreadable> {
        let malformed = |what: &str| Unreadable::Malformed(what.to_owned());
        Ok(Again {
            event: sealed(
                self.event
                    .ok_or_else(|| malformed("its mail has no event"))?,
            )?,
            position: Position(self.position),
            concern: Concern::try_from(self.concern)
                .map_err(|_| malformed("its concern is no known value"))?,
            version: Some(self.version)
                .filter(|v| !v.is_empty())
                .map(Version::from),
            is_directed: self.is_directed,
        })
    }
}

impl From<&GivenUp> for GivenUpRecord {
    fn from(given_up: &GivenUp) -> Self {
        Self {
            agent: given_up.agent.to_string(),
            name: given_up.name.clone(),
            reason: given_up.reason.clone(),
            attempts: given_up.attempts,
            mail: Some((&given_up.mail).into()),
        }
    }
}

impl GivenUpRecord {
    pub(super) fn read(self) -> Result<GivenUp, Unreadable> {
        let mail = self
            .mail
            .ok_or_else(|| Unreadable::Malformed("it has no mail".to_owned()))?;
        Ok(GivenUp {
            agent: self.agent.into(),
            name: self.name,
            reason: self.reason,
            attempts: self.attempts,
            mail: mail.read()?,
        })
    }
}
