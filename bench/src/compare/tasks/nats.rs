//! Requests and replies over NATS core, through async-nats. Nothing is stored.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};
use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::task::JoinSet;

use super::{Request, TEXT_BYTES, request, text};
use crate::compare::wire::{connect_to_nats, is_handled};

/// A requester and a chain of repliers, each with its own connection.
#[derive(Debug)]
pub(super) struct Repliers {
    client: Client,
    _chain: JoinSet<()>,
}

impl Repliers {
    /// Connects a requester and a chain of repliers.
    ///
    /// # Errors
    ///
    /// The server refuses one of them.
    pub(super) async fn connect(server: SocketAddr, hops: usize) -> anyhow::Result<Self> {
        let mut chain = JoinSet::new();
        for hop in 1..=hops {
            let client = connect_to_nats(server).await?;
            let requests = client.subscribe(subject(hop)).await?;
            is_handled(&client).await?;
            let next = (hop < hops).then(|| subject(hop + 1));
            chain.spawn(reply_to_all(requests, client, next));
        }
        Ok(Self {
            client: connect_to_nats(server).await?,
            _chain: chain,
        })
    }

    pub(super) fn request(&self) -> Request {
        let (client, text) = (self.client.clone(), Bytes::from(text('q')));
        request(move || {
            let (client, text) = (client.clone(), text.clone());
            async move {
                let answer = client.request(subject(1), text).await?;
                match answer.payload.len() {
                    TEXT_BYTES => Ok(()),
                    bytes => bail!("NATS: an answer has {bytes} bytes"),
                }
            }
        })
    }
}

/// Answers each request at once, or after the next replier has answered.
async fn reply_to_all(mut requests: Subscriber, client: Client, next: Option<String>) {
    let answer = Bytes::from(text('a'));
    let mut asking = JoinSet::new();
    while let Some(request) = requests.next().await {
        while asking.try_join_next().is_some() {}
        // The requester notices a missing answer.
        match &next {
            None => {
                let _ = reply(&client, &request, answer.clone()).await;
            }
            Some(next) => {
                let (client, next) = (client.clone(), next.clone());
                asking.spawn(async move {
                    if let Ok(answer) = client.request(next, request.payload.clone()).await {
                        let _ = reply(&client, &request, answer.payload).await;
                    }
                });
            }
        }
    }
}

async fn reply(client: &Client, request: &Message, answer: Bytes) -> anyhow::Result<()> {
    let to = request.reply.clone().context("nobody waits for it")?;
    Ok(client.publish(to, answer).await?)
}

fn subject(hop: usize) -> String {
    format!("work.{hop}")
}
