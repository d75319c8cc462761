//! The messages of one kind that a group gets, without those that do not fit.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use agenthub_metrics::topics;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{Body, read};
use crate::{Bus, BusError, Consumer, Delivery, Group, Groups};

/// Header with the reason for which a message was put aside.
pub const REASON: &str = "dead_letter_reason";

/// Pause before the bus is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Topic of what did not fit on another one.
pub fn dead_letters(topic: &str) -> String {
    format!("{topic}.dlq")
}

/// The messages of one kind that a member of a group gets. What does not fit is put on the topic's [`dead_letters`] as it came, with the
/// [`REASON`], under its id and `.dlq`, and the member goes on. A member that the bus does not have any more, such as after an outage, joins again.
///
/// spec: EXE-10.5
#[derive(Debug)]
pub struct Inbox<B> {
    groups: Arc<dyn Groups>,
    group: Group,
    /// The member; none while it is to join again.
    member: Option<Consumer>,
    /// A member that leaves: the next one may have its name.
    leaving: JoinSet<()>,
    /// Time before which no member joins again.
    joins_at: Instant,
    bus: Arc<dyn Bus>,
    /// What is about to be put aside, and why.
    misfit: Option<(Delivery, String)>,
    body: PhantomData<fn() -> B>,
}

impl<B: Body> Inbox<B> {
    /// Joins a group.
    ///
    /// # Errors
    ///
    /// As [`Groups::join`].
    pub async fn join(
        groups: Arc<dyn Groups>,
        group: Group,
        bus: Arc<dyn Bus>,
    ) -> Result<Self, BusError> {
        let member = groups.join(group.clone()).await?;
        for topic in &group.topics {
            topics::of_process().joined(&group.name, topic);
        }
        Ok(Self {
            groups,
            group,
            member: Some(member),
            leaving: JoinSet::new(),
            joins_at: Instant::now(),
            bus,
            misfit: None,
            body: PhantomData,
        })
    }

    /// Waits for the next message that fits. Cancel-safe. The delivery is to be acknowledged once what follows from the body is durable.
    ///
    /// # Errors
    ///
    /// [`BusError::Refused`]: the bus does not let this member in any more.
    pub async fn next(&mut self) -> Result<(B, Delivery), BusError> {
        loop {
            self.put_aside().await;
            let delivery = self.delivery().await?;
            match read(&delivery.message) {
                Ok(body) => return Ok((body, delivery)),
                Err(why) => self.misfit = Some((delivery, why)),
            }
        }
    }

    /// Leaves the group, as [`Consumer::leave`].
    pub async fn leave(mut self) {
        drop(self.misfit);
        if let Some(member) = self.member {
            member.leave().await;
        }
        while self.leaving.join_next().await.is_some() {}
    }

    /// The next message, of this membership or a later one.
    async fn delivery(&mut self) -> Result<Delivery, BusError> {
        loop {
            while self.leaving.join_next().await.is_some() {}
            let got = match &mut self.member {
                Some(member) => member.next().await,
                None => {
                    sleep_until(self.joins_at).await;
                    match self.groups.join(self.group.clone()).await {
                        Ok(member) => {
                            self.member = Some(member);
                            continue;
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            let Err(BusError::Unavailable(why)) = got else {
                return got;
            };
            topics::of_process().joins_again(&self.group.name);
            tracing::warn!(
                group = self.group.name,
                why,
                "a member of a group joins again"
            );
            self.joins_at = Instant::now() + PAUSE;
            if let Some(member) = self.member.take() {
                self.leaving.spawn(member.leave());
            }
        }
    }

    /// Puts the misfit aside, for as long as that takes.
    async fn put_aside(&mut self) {
        while let Some((delivery, why)) = &self.misfit {
            let (topic, id) = (&delivery.topic, &delivery.message.id);
            let mut message = delivery.message.clone();
            // A bus takes another message under a known id for a repetition.
            message.id.push_str(".dlq");
            message.headers.insert(REASON.to_owned(), why.clone());
            match self.bus.publish(&dead_letters(topic), &[message]).await {
                Err(BusError::Unavailable(error)) => {
                    tracing::debug!(topic, id, error, "a message that does not fit waits");
                    sleep(PAUSE).await;
                    continue;
                }
                Err(error) => {
                    tracing::error!(topic, id, why, %error, "a message does not fit, and cannot be put aside");
                }
                Ok(()) => tracing::warn!(topic, id, why, "a message does not fit and is put aside"),
            }
            topics::of_process().put_aside(topic);
            if let Some((delivery, _)) = self.misfit.take() {
                delivery.acknowledge();
            }
        }
    }
}
