//! The publishes of a frame, those together that can pass together.

use std::sync::Arc;

use agenthub_proto::agenthub::{
    Ack, Credit, Extension, Goodbye, Heartbeat, Hello, Publish, Refusal,
};
use bytes::Bytes;
use prost::Message;

use crate::{
    hub::{Envelope, Run},
    plain::Plain,
};

/// An `AgentFrame` (`connect.proto`) whose publishes are bytes as they came.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawFrame {
    #[prost(message, optional, tag = "1")]
    pub(super) hello: Option<Hello>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub(super) publish: Vec<Bytes>,
    #[prost(message, repeated, tag = "3")]
    pub(super) ack: Vec<Ack>,
    #[prost(message, repeated, tag = "4")]
    pub(super) refuse: Vec<Refusal>,
    #[prost(message, repeated, tag = "5")]
    pub(super) extend: Vec<Extension>,
    #[prost(message, repeated, tag = "6")]
    pub(super) credit: Vec<Credit>,
    #[prost(message, optional, tag = "7")]
    pub(super) heartbeat: Option<Heartbeat>,
    #[prost(message, optional, tag = "8")]
    pub(super) goodbye: Option<Goodbye>,
}

/// What is published at a time.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Item {
    One(Publish),
    Run(Run),
}

/// The envelopes of an agent's publishes. The last one is remembered, as most publishes have that of the one before.
#[derive(Debug, Default)]
pub(super) struct Envelopes(Option<(Bytes, Option<Arc<Envelope>>)>);

impl Envelopes {
    /// The envelope of publishes that pass.
    fn passing(&mut self, agent: &str, came: &Bytes) -> Option<Arc<Envelope>> {
        if let Some((last, envelope)) = &self.0
            && last == came
        {
            return envelope.clone();
        }
        let envelope = Envelope::passing(agent, came).map(Arc::new);
        // A copy, so that it does not keep the frame.
        self.0 = Some((Bytes::copy_from_slice(came), envelope.clone()));
        envelope
    }

    /// The publishes of a frame, in their order.
    ///
    /// # Errors
    ///
    /// One of them is no `Publish`.
    pub(super) fn gather(
        &mut self,
        agent: &str,
        publishes: Vec<Bytes>,
    ) -> Result<Vec<Item>, prost::DecodeError> {
        let mut items = Vec::new();
        let mut passing: Vec<(Plain, Arc<Envelope>)> = Vec::new();
        for bytes in publishes {
            let plain = Plain::read(&bytes);
            let with_envelope = plain.and_then(|plain| {
                let envelope = self.passing(agent, &plain.routing)?;
                Some((plain, envelope))
            });
            match with_envelope {
                Some((plain, envelope)) => {
                    if passing
                        .last()
                        .is_some_and(|(_, last)| !Arc::ptr_eq(last, &envelope))
                    {
                        items.extend(runs(std::mem::take(&mut passing)));
                    }
                    passing.push((plain, envelope));
                }
                None => {
                    items.extend(runs(std::mem::take(&mut passing)));
                    items.push(Item::One(Publish::decode(bytes)?));
                }
            }
        }
        items.extend(runs(passing));
        Ok(items)
    }
}

/// Publishes with one envelope.
fn runs(passing: Vec<(Plain, Arc<Envelope>)>) -> Vec<Item> {
    let Some(envelope) = passing.first().map(|(_, envelope)| envelope.clone()) else {
        return Vec::new();
    };
    let mut plain = passing.into_iter().map(|(plain, _)| plain).peekable();
    std::iter::from_fn(|| Run::first(&envelope, &mut plain))
        .map(Item::Run)
        .collect()
}
