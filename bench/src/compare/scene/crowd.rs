//! Subscribers of a hub and a publisher, for several measurements in a row.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::proto::agenthub::{AgentFrame, Credit};
use anyhow::bail;
use tokio::{
    task::JoinSet,
    time::{interval, timeout},
};

use super::{
    link::{HEARTBEAT, Link, Room},
    peers::{self, CREDIT},
};
use crate::compare::{
    measure::{Measured, Pace, STUCK, UNANSWERED, watch},
    pacer::Pacer,
    server::Server,
    tally::{STAMP, Tally},
    wire::{BATCH, EVENT, RESULT, each},
};

/// Deliveries after which a subscriber grants as many credits.
const AGAIN: u32 = CREDIT / 4;

/// Subscribers that read, and a publisher.
#[derive(Debug)]
pub(super) struct Crowd {
    tally: Arc<Tally>,
    publisher: Link,
    published: u64,
    topics: Vec<String>,
    /// Subscribers of each topic.
    fan_out: u64,
    _readers: JoinSet<()>,
}

impl Crowd {
    /// Connects the subscribers, each with the topics of its number, and a publisher to all topics in turn.
    ///
    /// # Errors
    ///
    /// The hub refuses one of them.
    pub(super) async fn gather(
        server: &Server,
        subscribers: usize,
        topics_of: impl Fn(usize) -> Vec<String>,
        topics: Vec<String>,
        fan_out: u64,
        with_latencies: bool,
    ) -> anyhow::Result<Self> {
        let tally = Arc::new(Tally::new(with_latencies));
        let mut readers = JoinSet::new();
        for number in 0..subscribers {
            let hello = peers::subscriber(&format!("s{number}"), topics_of(number));
            let link = Link::open(server.address(), hello, Room::Wide).await?;
            readers.spawn(read(link, Arc::clone(&tally)));
        }
        let publisher = Link::open(server.address(), peers::publisher(), Room::Wide).await?;
        Ok(Self {
            tally,
            publisher,
            published: 0,
            topics,
            fan_out,
            _readers: readers,
        })
    }

    /// Publishes at this pace for this time, after a short warm-up.
    ///
    /// # Errors
    ///
    /// Deliveries stop.
    pub(super) async fn measure(
        &mut self,
        server: &Server,
        pace: Pace,
        length: Duration,
    ) -> anyhow::Result<Measured> {
        let tally = Arc::clone(&self.tally);
        let measured = tokio::select! {
            measured = watch(server, &tally, length) => measured?,
            failed = self.publish(pace) => {
                failed?;
                bail!("the publisher ended by itself");
            }
        };
        if measured.deliveries_per_s == 0.0 {
            bail!("nothing of what was published came");
        }
        Ok(measured)
    }

    /// Publishes until cancelled.
    async fn publish(&mut self, pace: Pace) -> anyhow::Result<()> {
        if let Pace::Rate(per_second) = pace {
            let mut ticks = Pacer::start(per_second);
            loop {
                tokio::select! {
                    is_tick = ticks.tick() => match is_tick {
                        true => self.send(1)?,
                        false => return Ok(()),
                    },
                    frame = self.publisher.message() => self.answered(&frame?),
                }
            }
        }
        let mut beats = interval(HEARTBEAT);
        loop {
            let room = self.room(pace);
            if room > 0 {
                self.send(room.min(BATCH))?;
                // Another task drives its connection.
                tokio::task::yield_now().await;
                continue;
            }
            let tally = Arc::clone(&self.tally);
            tokio::select! {
                frame = timeout(STUCK, self.publisher.message()) => match frame {
                    Ok(frame) => self.answered(&frame?),
                    Err(_) => bail!("of {} publishes, {} deliveries came, and nothing more", self.published, self.tally.deliveries()),
                },
                () = tally.moved() => {}
                _ = beats.tick() => self.publisher.heartbeat()?,
            }
        }
    }

    fn room(&self, pace: Pace) -> u64 {
        let unanswered = self.published.saturating_sub(self.tally.acknowledgements());
        let room = UNANSWERED.saturating_sub(unanswered);
        match pace {
            Pace::Delivered(most) => {
                let came = self.tally.deliveries() / self.fan_out;
                room.min(most.saturating_sub(self.published.saturating_sub(came)))
            }
            _ => room,
        }
    }

    fn send(&mut self, count: u64) -> anyhow::Result<()> {
        let stamp = format!("{}{}", String::from_utf8_lossy(STAMP), self.tally.now());
        let topics = self.topics.iter().cycle();
        let first = usize::try_from(self.published)? % self.topics.len();
        let publish = (self.published..)
            .zip(topics.skip(first))
            .take(usize::try_from(count)?)
            .map(|(number, topic)| peers::publish(number, topic, &stamp))
            .collect();
        self.published += count;
        self.publisher.say(&AgentFrame {
            publish,
            ..AgentFrame::default()
        })
    }

    fn answered(&self, frame: &[u8]) {
        let mut count = 0;
        each(frame, RESULT, |_| count += 1);
        self.tally.acknowledged(count);
    }
}

/// Reads and counts until the hub ends the stream.
async fn read(mut link: Link, tally: Arc<Tally>) {
    let mut beats = interval(HEARTBEAT);
    let mut used = 0;
    loop {
        let frame = tokio::select! {
            frame = link.message() => frame,
            _ = beats.tick() => match link.heartbeat() {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Ok(frame) = frame else { return };
        let mut count = 0;
        each(&frame, EVENT, |event| {
            count += 1;
            tally.message(event);
        });
        tally.delivered(u64::from(count));
        used += count;
        if used >= AGAIN {
            let credit = Credit {
                subscription: 0,
                messages: std::mem::take(&mut used),
            };
            let more = AgentFrame {
                credit: vec![credit],
                ..AgentFrame::default()
            };
            if link.say(&more).is_err() {
                return;
            }
        }
    }
}
