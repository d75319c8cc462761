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
pub(crate) struct MemoryBus {
    published: watch::Sender<Vec<(String, Message)>>,
    /// Failures of the next calls.
    failures: Mutex<Vec<BusError>>,
    /// Ids of messages that are refused.
    refused: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl MemoryBus {
    /// Fails the next call.
    pub(crate) fn fail(&self, error: BusError) {
        self.failures.lock().expect("no panic").push(error);
    }

    /// Refuses the message with this id, and what is published together with it.
    pub(crate) fn refuse(&self, id: &str) {
        self.refused.lock().expect("no panic").push(id.to_owned());
    }

    /// Number of calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Published messages, as they grow.
    pub(crate) fn published(&self) -> watch::Receiver<Vec<(String, Message)>> {
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
    use super::{
        super::contract::{self, Subscriber, Topics},
        *,
    };

    struct Reader {
        topic: String,
        next: usize,
        published: watch::Receiver<Vec<(String, Message)>>,
    }

    #[async_trait]
    impl Topics for MemoryBus {
        async fn subscriber(&self, _: &str, topic: &str) -> Box<dyn Subscriber> {
            let published = self.published();
            let next = published.borrow().len();
            Box::new(Reader {
                topic: topic.to_owned(),
                next,
                published,
            })
        }
    }

    #[async_trait]
    impl Subscriber for Reader {
        async fn next(&mut self) -> Message {
            loop {
                let next = self.next;
                let grown = self.published.wait_for(|all| all.len() > next).await;
                let (topic, message) = grown.expect("the bus is there")[next].clone();
                self.next += 1;
                if topic == self.topic {
                    return message;
                }
            }
        }
    }

    #[tokio::test]
    async fn memory_keeps_the_promises_of_a_bus() {
        let bus = MemoryBus::default();
        contract::keeps_its_promises(&bus, &bus).await;
    }
}
