//! The agents there are, as a live view.

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
    time::Duration,
};

use agenthub_proto::{
    a2a::AgentCard,
    agenthub::AgentCardEvent,
    event::card_change::{OFFLINE, UNREGISTERED},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::unknown_agent::unknown_agent;

/// Time after a reconnect for others to come back as well, before their absence counts: the hub's presence lease, within which
/// the longest pause between two tries to connect lies. A hub that was started anew knows nobody until they come.
const RETURNING: Duration = Duration::from_secs(10);

/// Time for which an agent may be away before it counts as gone, where the hub does not say it.
const AWAY_GRACE: Duration = Duration::from_secs(15);

/// Time for an agent that the view does not have to appear: one that never was here is not coming back.
const UNKNOWN_GRACE: Duration = Duration::from_secs(2);

/// The agents that the hub knows, as of the events so far. Cheap to clone; every clone is the same view. It stays as it is
/// while the connection is away, and is brought up to date by the snapshot that follows a reconnect.
#[derive(Clone, Debug)]
pub struct Directory {
    view: Arc<RwLock<View>>,
    changes: watch::Sender<u64>,
}

/// An agent as the directory knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectoryEntry {
    /// The card registered last.
    pub card: Arc<AgentCard>,
    /// True if it can be reached.
    pub online: bool,
}

impl Directory {
    pub(crate) fn new() -> Self {
        Self {
            view: Arc::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// The cards of the agents that can be reached, by name.
    pub fn present(&self) -> Vec<Arc<AgentCard>> {
        let view = self.view.read().expect("no panic while it is locked");
        let online = view.agents.values().filter(|a| a.entry.online);
        online.map(|a| Arc::clone(&a.entry.card)).collect()
    }

    /// Every known agent, by name.
    pub fn all(&self) -> Vec<DirectoryEntry> {
        let view = self.view.read().expect("no panic while it is locked");
        view.agents.values().map(|a| a.entry.clone()).collect()
    }

    /// One agent, if it is known.
    pub fn get(&self, agent_id: &str) -> Option<DirectoryEntry> {
        let view = self.view.read().expect("no panic while it is locked");
        view.agents.get(agent_id).map(|a| a.entry.clone())
    }

    /// The reason why an agent that is [`gone`](Self::gone) is not there, in words: it went away, or there never was one of that
    /// name. Then those that may be meant are named.
    pub fn absence(&self, agent: &str) -> String {
        let id = agent.split('@').next().unwrap_or(agent);
        if self.get(id).is_some() || self.get(agent).is_some() {
            return format!("{id} went away");
        }
        let all = self.all();
        unknown_agent(id, all.iter().map(|entry| entry.card.name.as_str()))
    }

    /// A number that rises with every change of the view.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Ends when the agent, given as its id or as `id@version`, has been away for as long as agents may be, by the hub's setting (15 s):
    /// one that is started again keeps the work that it has. An agent that the hub does not know at all has two seconds. Never ends for an empty id. The time in which the view is incomplete does
    /// not count, nor do the ten seconds after a reconnect, since the agent may have lost the hub as well. Dropping the future has no effect.
    pub async fn gone(&self, agent: &str) {
        if agent.is_empty() {
            return std::future::pending().await;
        }
        let mut changed = self.changed();
        let mut noticed = None;
        loop {
            changed.mark_unchanged();
            let due = match self.presence(agent) {
                Presence::Here | Presence::Unknown => {
                    noticed = None;
                    None
                }
                Presence::Away { counts_from, grace } => {
                    let since = *noticed.get_or_insert_with(Instant::now);
                    Some(counts_from.map_or(since, |from| since.max(from)) + grace)
                }
            };
            if due.is_some_and(|due| due <= Instant::now()) {
                return;
            }
            let over = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => {}
                change = changed.changed() => if change.is_err() {
                    return std::future::pending().await;
                }
            }
        }
    }

    fn presence(&self, agent: &str) -> Presence {
        let view = self.view.read().expect("no panic while it is locked");
        let is_online = |id| view.agents.get(id).is_some_and(|a| a.entry.online);
        // `id@version` is the agent's as well.
        let id = agent.split('@').next().unwrap_or(agent);
        let is_known = [agent, id].iter().any(|id| view.agents.contains_key(*id));
        let grace = view.away_grace.unwrap_or(AWAY_GRACE);
        // Who was here before a reconnect may be on the way back.
        let is_settled = view
            .reconnected
            .is_none_or(|at| at.elapsed() > RETURNING + grace);
        match is_online(agent) || is_online(id) {
            true => Presence::Here,
            false if view.snapshot != Snapshot::Complete => Presence::Unknown,
            false if !is_known && is_settled => Presence::Away {
                counts_from: None,
                grace: grace.min(UNKNOWN_GRACE),
            },
            false => Presence::Away {
                counts_from: view.reconnected.map(|at| at + RETURNING),
                grace,
            },
        }
    }

    /// True if all agents are in the view that there were when the connection began.
    pub(crate) fn is_complete(&self) -> bool {
        let view = self.view.read().expect("no panic while it is locked");
        view.snapshot == Snapshot::Complete
    }

    /// Takes an event in.
    pub(crate) fn apply(&self, event: &AgentCardEvent) {
        self.change(|view| view.apply(event));
    }

    /// A snapshot follows, of a hub that says how long agents may be away: what it does not name will be gone with
    /// [`end_snapshot`](Self::end_snapshot).
    pub(crate) fn begin_snapshot(&self, away_grace: Option<Duration>) {
        let mut view = self.view.write().expect("no panic while it is locked");
        view.away_grace = away_grace;
        view.reconnected = (view.generation > 0).then(Instant::now);
        view.generation += 1;
        view.snapshot = Snapshot::Awaited;
    }

    /// The snapshot is complete. Does nothing if it was before.
    pub(crate) fn end_snapshot(&self) {
        self.change(View::end_snapshot);
    }

    fn change(&self, change: impl FnOnce(&mut View) -> bool) {
        let changed = change(&mut self.view.write().expect("no panic while it is locked"));
        if changed {
            self.changes.send_modify(|n| *n += 1);
        }
    }
}

#[derive(Debug, Default)]
struct View {
    agents: BTreeMap<String, KnownAgent>,
    /// The snapshots so far.
    generation: u64,
    /// Time for which agents may be away, as the hub says it.
    away_grace: Option<Duration>,
    /// Time of the last reconnect; nothing until the connection was lost once.
    reconnected: Option<Instant>,
    snapshot: Snapshot,
}

/// Presence of an agent.
#[derive(Clone, Copy, Debug)]
enum Presence {
    Here,
    /// The view is incomplete.
    Unknown,
    Away {
        /// Before this moment the absence says nothing.
        counts_from: Option<Instant>,
        /// Time for which it may last.
        grace: Duration,
    },
}

/// Progress of the last snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Snapshot {
    /// Events before this one happened before the connection broke.
    Awaited,
    /// The next event that is none of it ends it.
    Begun,
    #[default]
    Complete,
}

#[derive(Debug)]
struct KnownAgent {
    entry: DirectoryEntry,
    /// The last snapshot that it was in, or that it came after.
    generation: u64,
}

impl View {
    /// Returns whether anything changed.
    fn apply(&mut self, event: &AgentCardEvent) -> bool {
        let ended = match (event.is_snapshot(), self.snapshot) {
            (true, _) => {
                self.snapshot = Snapshot::Begun;
                false
            }
            (false, Snapshot::Begun) => self.end_snapshot(),
            (false, Snapshot::Awaited | Snapshot::Complete) => false,
        };
        if event.event_type == UNREGISTERED {
            return self.agents.remove(&event.agent_id).is_some() || ended;
        }
        let online = event.is_online() && event.event_type != OFFLINE;
        let generation = self.generation;
        match self.agents.get_mut(&event.agent_id) {
            Some(known) => {
                known.generation = generation;
                let before = known.entry.clone();
                if let Some(card) = &event.agent_card
                    && *card != *known.entry.card
                {
                    known.entry.card = Arc::new(card.clone());
                }
                known.entry.online = online;
                known.entry != before || ended
            }
            None => {
                let card = event.agent_card.clone().unwrap_or_else(|| AgentCard {
                    name: event.agent_id.clone(),
                    ..Default::default()
                });
                let entry = DirectoryEntry {
                    card: Arc::new(card),
                    online,
                };
                let known = KnownAgent { entry, generation };
                self.agents.insert(event.agent_id.clone(), known);
                true
            }
        }
    }

    fn end_snapshot(&mut self) -> bool {
        if std::mem::take(&mut self.snapshot) == Snapshot::Complete {
            return false;
        }
        self.agents.retain(|_, a| a.generation == self.generation);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agenthub_proto::json;
    use serde_json::json;

    fn event(agent: &str, kind: &str, online: bool, snapshot: bool) -> AgentCardEvent {
        AgentCardEvent {
            agent_id: agent.into(),
            agent_card: Some(AgentCard {
                name: agent.into(),
                ..Default::default()
            }),
            event_type: kind.into(),
            metadata: Some(json::to_struct(
                &json!({"online": online, "snapshot": snapshot}),
            )),
        }
    }

    fn names(directory: &Directory) -> Vec<String> {
        directory.present().iter().map(|c| c.name.clone()).collect()
    }

    /// spec: HUB-4
    #[test]
    fn follows_the_agents_coming_and_going() {
        let directory = Directory::new();
        directory.begin_snapshot(None);
        directory.apply(&event("b", "registered", true, true));
        directory.apply(&event("away", "registered", false, true));
        directory.apply(&event("a", "registered", true, false));
        assert_eq!(names(&directory), ["a", "b"]);

        directory.apply(&event("b", "offline", false, false));
        assert_eq!(names(&directory), ["a"]);
        assert!(directory.get("b").is_some_and(|e| !e.online));
        directory.apply(&event("b", "unregistered", false, false));
        assert!(directory.get("b").is_none());
    }

    /// Seconds until the agent counts as gone; nothing if that takes longer than a minute.
    async fn gone_after(directory: &Directory, agent: &str) -> Option<u64> {
        let begin = Instant::now();
        let gone = directory.gone(agent);
        let gone = tokio::time::timeout(Duration::from_secs(60), gone).await;
        gone.ok().map(|()| begin.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_away_for_the_grace_is_gone() {
        let directory = Directory::new();
        directory.begin_snapshot(None);
        assert_eq!(gone_after(&directory, "a").await, None, "it may follow");
        directory.apply(&event("a", "registered", true, true));
        directory.end_snapshot();
        assert_eq!(gone_after(&directory, "a").await, None);
        assert_eq!(gone_after(&directory, "a@2").await, None);
        assert_eq!(gone_after(&directory, "").await, None);
        directory.apply(&event("a", "offline", false, false));
        assert_eq!(gone_after(&directory, "a").await, Some(15));

        directory.begin_snapshot(Some(Duration::from_secs(40)));
        directory.end_snapshot();
        assert_eq!(
            gone_after(&directory, "a").await,
            Some(50),
            "ten to come back"
        );
    }

    /// spec: HUB-3
    #[tokio::test(start_paused = true)]
    async fn who_never_was_here_is_not_waited_for() {
        let directory = Directory::new();
        directory.begin_snapshot(None);
        directory.apply(&event("agent_echo", "registered", false, true));
        directory.end_snapshot();
        assert_eq!(gone_after(&directory, "nobody").await, Some(2));
        assert_eq!(gone_after(&directory, "agent_echo").await, Some(15));
        assert_eq!(directory.absence("agent_echo"), "agent_echo went away");
        let absence = directory.absence("agent_ech");
        assert!(
            absence.ends_with("did you mean \"agent_echo\"?"),
            "{absence}"
        );

        directory.begin_snapshot(None);
        directory.end_snapshot();
        assert_eq!(gone_after(&directory, "nobody").await, Some(25));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(gone_after(&directory, "nobody").await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_reconnect_others_have_time_to_come_back() {
        let directory = Directory::new();
        directory.begin_snapshot(None);
        directory.apply(&event("a", "registered", true, true));
        directory.end_snapshot();

        directory.begin_snapshot(None);
        directory.apply(&event("me", "registered", true, true));
        directory.end_snapshot();
        let back = async {
            tokio::time::sleep(Duration::from_secs(8)).await;
            directory.apply(&event("a", "online", true, false));
        };
        let (gone, ()) = tokio::join!(gone_after(&directory, "a"), back);
        assert_eq!(gone, None, "it came back after eight seconds");

        directory.begin_snapshot(None);
        directory.end_snapshot();
        assert_eq!(gone_after(&directory, "a").await, Some(25));
    }

    #[test]
    fn a_second_snapshot_replaces_the_view_without_flicker() {
        let directory = Directory::new();
        directory.begin_snapshot(None);
        directory.apply(&event("a", "registered", true, true));
        directory.apply(&event("b", "registered", true, true));
        directory.end_snapshot();
        let changed = directory.changed();

        directory.begin_snapshot(None);
        directory.apply(&event("a", "online", true, false));
        directory.apply(&event("a", "registered", true, true));
        assert_eq!(names(&directory), ["a", "b"], "still as it was");
        assert!(!changed.has_changed().unwrap_or(true));
        directory.end_snapshot();
        assert_eq!(names(&directory), ["a"]);
        assert!(changed.has_changed().unwrap_or(false));
    }
}
