//! Topics in a test's own process.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tokio::sync::watch;

use super::{Bus, BusError, Message};

/// Everything that was published, with its topic.
#[derive(Debug, Default)]
pub struct MemoryBus {
    published: watch::Sender<Vec<(String, Message)>>,
    /// Failures of the next calls.
    failures: Mutex<Vec<BusError>>,
    /// Ids of messages that are refused.
    refused: Mutex<Vec<String>>,
    refused_once: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl MemoryBus {
    /// Fails the next call.
    ///
    /// # Panics
    ///
    /// An earlier call has panicked.
    pub fn fail(&self, error: BusError) {
        self.failures.lock().expect("no panic").push(error);
    }

    /// Refuses the message with this id, and what is published together with it.
    ///
    /// # Panics
    ///
    /// An earlier call has panicked.
    pub fn refuse(&self, id: &str) {
        self.refused.lock().expect("no panic").push(id.to_owned());
    }

    /// Takes the message with this id again.
    ///
    /// # Panics
    ///
    /// An earlier call has panicked.
    pub fn allow(&self, id: &str) {
        self.refused.lock().expect("no panic").retain(|of| of != id);
    }

    /// Refuses the message with this id once.
    ///
    /// # Panics
    ///
    /// An earlier call has panicked.
    pub fn refuse_once(&self, id: &str) {
        let mut refused = self.refused_once.lock().expect("no panic");
        refused.push(id.to_owned());
    }

    /// Number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Published messages, as they grow.
    pub fn published(&self) -> watch::Receiver<Vec<(String, Message)>> {
        self.published.subscribe()
    }
}

#[async_trait]
impl Bus for MemoryBus {
    async fn publish(&self, topic: &str, messages: &[Message]) -> Result<(), BusError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(error) = self.failures.lock().expect("no panic").pop() {
            return Err(error);
        }
        let mut once = self.refused_once.lock().expect("no panic");
        if let Some(at) = once
            .iter()
            .position(|id| messages.iter().any(|m| m.id == *id))
        {
            let id = once.remove(at);
            return Err(BusError::Refused(format!("{id} is too large")));
        }
        let refused = self.refused.lock().expect("no panic").clone();
        if let Some(message) = messages.iter().find(|m| refused.contains(&m.id)) {
            return Err(BusError::Refused(format!("{} is too large", message.id)));
        }
        let messages = messages
            .iter()
            .map(|message| (topic.to_owned(), message.clone()));
        self.published
            .send_modify(|published| published.extend(messages));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{sync::mpsc, task::JoinSet};

    use super::*;
    use crate::{Consumer, Delivery, Group, Groups, contract};

    /// Readers of all that is published; each is a group of its own.
    #[derive(Debug)]
    struct Readers(Arc<MemoryBus>);

    #[async_trait]
    impl Groups for Readers {
        async fn join(&self, group: Group) -> Result<Consumer, BusError> {
            let (sender, deliveries) = mpsc::channel(group.in_flight);
            let mut published = self.0.published();
            let mut next = published.borrow_and_update().len();
            let mut reading = JoinSet::new();
            reading.spawn(async move {
                loop {
                    let grown = published.wait_for(|all| all.len() > next).await;
                    let Ok((topic, message)) = grown.map(|all| all[next].clone()) else {
                        return;
                    };
                    next += 1;
                    if group.topics.contains(&topic)
                        && sender
                            .send(Ok(Delivery::new(topic, message, || {})))
                            .await
                            .is_err()
                    {
                        return;
                    }
                }
            });
            Ok(Consumer::new(deliveries, async move {
                reading.shutdown().await
            }))
        }
    }

    #[tokio::test]
    async fn memory_keeps_the_promises_of_a_bus() {
        let bus = Arc::new(MemoryBus::default());
        contract::publishes(&*bus, &Readers(Arc::clone(&bus))).await;
    }
}
