//! Contract tests of every bus and its groups.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use serde_json::json;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use uuid::Uuid;

use crate::{Bus, Consumer, Delivery, Group, Groups, Message};

const PATIENCE: Duration = Duration::from_secs(20);

/// A bus may take a while to notice that a member is dead.
const PATIENCE_WITH_THE_DEAD: Duration = Duration::from_secs(60);

/// Checks all guarantees of a bus and its groups.
pub(crate) async fn keeps_its_promises(bus: &dyn Bus, groups: &dyn Groups) {
    let stage = Stage::new(bus, groups);
    let checks = async {
        tokio::join!(
            publishes(bus, groups),
            stage.members_share_and_keep_the_order_of_keys(),
            stage.what_a_member_leaves_goes_to_the_next(),
            stage.what_a_dead_member_had_goes_to_the_next(),
            stage.an_acknowledgement_counts_for_its_own_message_alone(),
            stage.no_more_are_out_than_the_bound(),
        );
    };
    timeout(PATIENCE_WITH_THE_DEAD, checks)
        .await
        .expect("messages come");
}

/// Checks what holds for groups of one member.
pub(crate) async fn publishes(bus: &dyn Bus, groups: &dyn Groups) {
    let stage = Stage::new(bus, groups);
    let checks = async {
        tokio::join!(
            stage.every_group_gets_all_in_order(),
            stage.nobody_else_gets_it(),
            stage.ids_are_repeated(),
        );
    };
    timeout(PATIENCE, checks).await.expect("messages come");
}

/// A bus whose topics and groups have names that were never used.
struct Stage<'a> {
    bus: &'a dyn Bus,
    groups: &'a dyn Groups,
    prefix: String,
}

fn message(key: &str, number: usize) -> Message {
    let body = json!({ "number": number, "of": key, "deep": { "list": [1, "two", null] } });
    Message {
        headers: [("of".to_owned(), "a test, zwölf".to_owned())].into(),
        ..Message::json(format!("{key}.{number}"), key, &body)
    }
}

fn messages(key: &str, count: usize) -> Vec<Message> {
    (0..count).map(|n| message(key, n)).collect()
}

/// Compares messages, bodies by what they say.
fn assert_same(got: &[Message], sent: &[Message]) {
    let plain = |all: &[Message]| {
        let plain = all.iter().map(|m| {
            let Message {
                id, key, headers, ..
            } = m.clone();
            (id, key, headers, m.value().expect("JSON"))
        });
        plain.collect::<Vec<_>>()
    };
    assert_eq!(plain(got), plain(sent));
}

async fn next(member: &mut Consumer) -> Delivery {
    member.next().await.expect("it is in the group")
}

/// Takes and acknowledges messages until there are so many different ones, each once, in the order in which they came first.
async fn take(member: &mut Consumer, count: usize) -> Vec<Message> {
    let mut seen = BTreeSet::new();
    let mut first = Vec::new();
    while first.len() < count {
        let got = next(member).await;
        if seen.insert(got.message.id.clone()) {
            first.push(got.message.clone());
        }
        got.acknowledge();
    }
    first
}

fn of_key(all: &[Message], key: &str) -> Vec<Message> {
    all.iter().filter(|m| m.key == key).cloned().collect()
}

impl<'a> Stage<'a> {
    fn new(bus: &'a dyn Bus, groups: &'a dyn Groups) -> Self {
        Self {
            bus,
            groups,
            prefix: Uuid::new_v4().simple().to_string(),
        }
    }

    fn named(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    async fn join(&self, group: &str, topic: &str, in_flight: usize) -> Consumer {
        let group = Group {
            in_flight,
            ..Group::new(self.named(group), [self.named(topic)])
        };
        self.groups.join(group).await.expect("it joins")
    }

    async fn publish(&self, topic: &str, messages: &[Message]) {
        let topic = self.named(topic);
        self.bus
            .publish(&topic, messages)
            .await
            .expect("it is taken");
    }

    async fn every_group_gets_all_in_order(&self) {
        let groups = ["one", "two"].map(|name| self.join(name, "steps", 64));
        let mut members = join_all(groups).await;
        let sent: Vec<Message> = (0..200).map(|n| message(["a", "b"][n % 2], n)).collect();
        for batch in sent.chunks(32) {
            self.publish("steps", batch).await;
        }
        for member in &mut members {
            let got = take(member, sent.len()).await;
            for key in ["a", "b"] {
                assert_same(&of_key(&got, key), &of_key(&sent, key));
            }
        }
    }

    async fn nobody_else_gets_it(&self) {
        let mut other = self.join("other", "another", 64).await;
        self.publish("nobody-listens", &[message("c", 1)]).await;
        self.publish("not-here", &[message("c", 2)]).await;
        self.publish("another", &[message("c", 3)]).await;
        let got = next(&mut other).await;
        assert_eq!(got.topic, self.named("another"));
        assert_same(&[got.message], &[message("c", 3)]);
    }

    async fn ids_are_repeated(&self) {
        let mut member = self.join("repeated", "repeats", 64).await;
        let sent = messages("d", 4);
        self.publish("repeats", &sent[..3]).await;
        self.publish("repeats", &sent).await;
        assert_same(&take(&mut member, sent.len()).await, &sent);
    }

    async fn members_share_and_keep_the_order_of_keys(&self) {
        let (sender, mut handled) = mpsc::channel(64);
        let mut members = JoinSet::new();
        for name in [1, 2] {
            let mut member = self.join("sharing", "shared", 8).await;
            let sender = sender.clone();
            members.spawn(async move {
                loop {
                    let got = next(&mut member).await;
                    let message = got.message.clone();
                    got.acknowledge();
                    if sender.send((name, message)).await.is_err() {
                        return;
                    }
                }
            });
        }
        let keys: Vec<String> = (0..16).map(|n| format!("key-{n}")).collect();
        let mut by = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut first: Vec<Message> = Vec::new();
        let mut round = 0;
        // Until the second member has its share.
        while by.len() < 2 {
            let sent: Vec<Message> = keys.iter().map(|key| message(key, round)).collect();
            self.publish("shared", &sent).await;
            round += 1;
            while first.len() < round * keys.len() {
                let (name, message) = handled.recv().await.expect("members are there");
                *by.entry(name).or_insert(0) += 1;
                if seen.insert(message.id.clone()) {
                    first.push(message);
                }
            }
        }
        for key in &keys {
            assert_same(&of_key(&first, key), &messages(key, round));
        }
    }

    async fn what_a_member_leaves_goes_to_the_next(&self) {
        let mut one = self.join("leaving", "left", 8).await;
        let sent = messages("e", 3);
        self.publish("left", &sent).await;
        next(&mut one).await.acknowledge();
        let _out = [next(&mut one).await, next(&mut one).await];
        one.leave().await;
        let mut two = self.join("leaving", "left", 8).await;
        assert_same(&take(&mut two, 2).await, &sent[1..]);
    }

    async fn what_a_dead_member_had_goes_to_the_next(&self) {
        let mut one = self.join("dying", "survived", 8).await;
        let sent = messages("f", 3);
        self.publish("survived", &sent).await;
        let _out = [next(&mut one).await, next(&mut one).await];
        drop(one);
        let mut two = self.join("dying", "survived", 8).await;
        assert_same(&take(&mut two, 3).await, &sent);
    }

    async fn an_acknowledgement_counts_for_its_own_message_alone(&self) {
        let mut one = self.join("mixed", "any-order", 8).await;
        let sent = messages("g", 3);
        self.publish("any-order", &sent).await;
        let _out = next(&mut one).await;
        for _ in 0..2 {
            next(&mut one).await.acknowledge();
        }
        one.leave().await;
        let mut two = self.join("mixed", "any-order", 8).await;
        assert_same(&take(&mut two, 1).await, &sent[..1]);
    }

    async fn no_more_are_out_than_the_bound(&self) {
        let mut bounded = self.join("bounded", "many", 2).await;
        let mut unbounded = self.join("unbounded", "many", 64).await;
        let sent = messages("h", 6);
        self.publish("many", &sent).await;
        let mut out = VecDeque::from([next(&mut bounded).await, next(&mut bounded).await]);
        take(&mut unbounded, sent.len()).await;
        assert!(bounded.next().now_or_never().is_none(), "two are out");
        let mut got = Vec::new();
        while let Some(delivery) = out.pop_front() {
            got.push(delivery.message.clone());
            delivery.acknowledge();
            if got.len() + out.len() < sent.len() {
                out.push_back(next(&mut bounded).await);
            }
        }
        assert_same(&got, &sent);
    }
}
