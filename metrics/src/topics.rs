//! Metrics of topics of messages: what the groups of this process have not taken yet, and what they put aside.
//!
//! They are those of the process, as its groups are. A process without topics exports none.

use std::sync::LazyLock;

use crate::{Counter, Descriptor, Family, Gauge, Snapshot};

/// The most series of a metric: more topics and groups than a process has.
const SERIES: usize = 200;

static LAG: Descriptor = Descriptor::gauge(
    "agenthub_topic_lag",
    "Messages that a group has not acknowledged, in the partitions of Kafka that this process has",
)
.by(&["group", "topic"]);

static PUT_ASIDE: Descriptor = Descriptor::counter(
    "agenthub_topic_put_aside_total",
    "Messages that did not fit, and are on the topic of dead letters",
)
.by(&["topic"]);

static JOINED_AGAIN: Descriptor = Descriptor::counter(
    "agenthub_topic_joined_again_total",
    "Times that a member of a group had to join it again",
)
.by(&["group"]);

static STOOD_STILL: Descriptor = Descriptor::counter(
    "agenthub_topic_stood_still_total",
    "Times that nothing came from a partition of Kafka though messages waited in it, and its member joined its group again",
)
.by(&["group", "topic"]);

static PUBLISHED_AGAIN: Descriptor = Descriptor::counter(
    "agenthub_topic_published_again_total",
    "Times that a task was published again, as no result had come for long",
)
.by(&["topic"]);

static OF_PROCESS: LazyLock<Topics> = LazyLock::new(Topics::default);

/// The metrics of this process's topics.
pub fn of_process() -> &'static Topics {
    &OF_PROCESS
}

/// Metrics of topics, see the module.
#[derive(Debug)]
pub struct Topics {
    lag: Family<Gauge>,
    put_aside: Family<Counter>,
    joined_again: Family<Counter>,
    stood_still: Family<Counter>,
    published_again: Family<Counter>,
}

impl Default for Topics {
    fn default() -> Self {
        Self {
            lag: Family::new(SERIES, Gauge::default),
            put_aside: Family::new(SERIES, Counter::default),
            joined_again: Family::new(SERIES, Counter::default),
            stood_still: Family::new(SERIES, Counter::default),
            published_again: Family::new(SERIES, Counter::default),
        }
    }
}

impl Topics {
    /// A group takes a topic, and has put nothing aside so far.
    pub fn joined(&self, group: &str, topic: &str) {
        let _ = (self.put_aside.of(&[topic]), self.joined_again.of(&[group]));
        let _ = self.stood_still.of(&[group, topic]);
    }

    /// A group is behind on a topic by so many messages.
    pub fn behind(&self, group: &str, topic: &str, messages: i64) {
        self.lag.of(&[group, topic]).set(messages);
    }

    /// A message of a topic was put aside.
    pub fn put_aside(&self, topic: &str) {
        self.put_aside.of(&[topic]).inc();
    }

    /// A member of a group joins it again.
    pub fn joins_again(&self, group: &str) {
        self.joined_again.of(&[group]).inc();
    }

    /// Nothing comes to a group from a partition of a topic, though messages wait there.
    pub fn stands_still(&self, group: &str, topic: &str) {
        self.stood_still.of(&[group, topic]).inc();
    }

    /// Tasks are published on a topic, and none again so far.
    pub fn publishes(&self, topic: &str) {
        let _ = self.published_again.of(&[topic]);
    }

    /// A task was published again on a topic.
    pub fn published_again(&self, topic: &str) {
        self.published_again.of(&[topic]).inc();
    }

    /// Adds the values of what there is.
    pub fn collect(&self, into: &mut Snapshot) {
        into.gauges(&LAG, &self.lag);
        into.counters_if_any(&PUT_ASIDE, &self.put_aside);
        into.counters_if_any(&JOINED_AGAIN, &self.joined_again);
        into.counters_if_any(&STOOD_STILL, &self.stood_still);
        into.counters_if_any(&PUBLISHED_AGAIN, &self.published_again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::assert_documented,
        text::{Format, encode},
    };

    #[test]
    fn a_process_without_topics_exports_none_of_them() {
        let topics = Topics::default();
        let text = || {
            let mut snapshot = Snapshot::default();
            topics.collect(&mut snapshot);
            encode(&snapshot, Format::Prometheus)
        };
        assert_eq!(text(), "");
        topics.joined("bridges", "tasks");
        topics.behind("bridges", "tasks", 12);
        topics.behind("bridges", "tasks", 7);
        topics.put_aside("tasks");
        topics.stands_still("bridges", "tasks");
        topics.publishes("tasks");
        topics.published_again("tasks");
        topics.publishes("others");
        for line in [
            "agenthub_topic_lag{group=\"bridges\",topic=\"tasks\"} 7",
            "agenthub_topic_put_aside_total{topic=\"tasks\"} 1",
            "agenthub_topic_joined_again_total{group=\"bridges\"} 0",
            "agenthub_topic_stood_still_total{group=\"bridges\",topic=\"tasks\"} 1",
            "agenthub_topic_published_again_total{topic=\"tasks\"} 1",
            "agenthub_topic_published_again_total{topic=\"others\"} 0",
        ] {
            assert!(text().lines().any(|l| l == line), "{line} in\n{}", text());
        }
    }

    #[test]
    fn they_are_in_the_documentation() {
        let mut snapshot = Snapshot::default();
        let topics = Topics::default();
        topics.joined("group", "topic");
        topics.behind("group", "topic", 1);
        topics.publishes("topic");
        topics.collect(&mut snapshot);
        assert_documented(&snapshot);
    }
}
