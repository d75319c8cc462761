//! Keeps the agents of a team: takes orders, and notices who is sent away. What it does when files change is in `round.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use agenthub_documents::watching;
use agenthub_sdk::{Client, RunningAgent, hub::Connection};
use futures_util::future::join_all;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{Member, News, Origin, watch};
use crate::{Definition, Fault, Kind, Roster};

/// An agent that changes while others work may take so long to be made: with its MCP servers, which go on starting when it is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// Interval of further tries to start what could not start for another reason than its file.
pub(super) const RETRY: Duration = Duration::from_secs(20);

/// An order for who keeps the team.
pub(super) enum Command {
    Members(oneshot::Sender<Vec<Member>>),
    Reload {
        all: bool,
        done: oneshot::Sender<Vec<News>>,
    },
    Watch(oneshot::Sender<()>),
    Stop {
        forget: bool,
        done: oneshot::Sender<()>,
    },
}

/// An agent at work.
pub(super) struct AtWork {
    pub(super) definition: Arc<Definition>,
    pub(super) agent: RunningAgent,
    /// The hub knew the id before.
    was_known: bool,
    /// Tells it from another of the same name.
    number: u64,
}

/// An agent that the hub has sent away.
struct Gone {
    name: String,
    number: u64,
    reason: String,
}

/// The keeper of a team.
pub(super) struct Keeper {
    pub(super) hub: String,
    pub(super) origin: Origin,
    pub(super) client: Client,
    pub(super) roster: Roster,
    pub(super) at_work: BTreeMap<String, AtWork>,
    started: u64,
    /// An agent could not start or change, though its file can be read.
    pub(super) is_incomplete: bool,
    /// Time at which what is incomplete is tried again.
    pub(super) retry: Instant,
    /// The team is to stop.
    pub(super) leaving: CancellationToken,
    /// Deadline for making an agent, if there is one.
    pub(super) limit: Option<Duration>,
    /// Faults that were told, so that they are not told again.
    pub(super) said: Vec<Fault>,
    watched: JoinSet<Gone>,
}

impl Keeper {
    pub(super) fn new(hub: &str, origin: Origin, client: Client) -> Self {
        Self {
            hub: hub.to_owned(),
            origin,
            client,
            roster: Roster::default(),
            at_work: BTreeMap::new(),
            started: 0,
            is_incomplete: false,
            retry: Instant::now() + RETRY,
            leaving: CancellationToken::new(),
            limit: None,
            said: Vec::new(),
            watched: JoinSet::new(),
        }
    }

    /// Starts all agents, however long they take.
    ///
    /// # Errors
    ///
    /// Nobody leads: all that is wrong.
    pub(super) async fn begin(&mut self) -> Result<(), Vec<Fault>> {
        let news = self.round(false, false).await;
        let leads = |at_work: &AtWork| at_work.definition.kind == Kind::Orchestrator;
        if self.at_work.values().any(leads) {
            return Ok(());
        }
        Err(news
            .into_iter()
            .filter_map(|news| match news {
                News::Wrong { fault, .. } => Some(fault),
                _ => None,
            })
            .collect())
    }

    /// Does as it is ordered, until it is to stop or the hub has sent all agents away.
    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Command>) {
        let mut watching = JoinSet::new();
        let (change, mut changed) = mpsc::channel(1);
        self.limit = Some(LIMIT);
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None => return self.stop(false).await,
                    Some(Command::Stop { forget, done }) => {
                        drop(watching);
                        self.stop(forget).await;
                        // Who no longer waits is not told.
                        let _ = done.send(());
                        return;
                    }
                    Some(Command::Members(done)) => _ = done.send(self.members()),
                    Some(Command::Reload { all, done }) => _ = done.send(self.round(all, false).await),
                    Some(Command::Watch(done)) => {
                        if watching.is_empty() {
                            let dir = self.origin.dir.clone();
                            watching.spawn(watching::watch(dir, watch::contents, change.clone()));
                        }
                        let _ = done.send(());
                    }
                },
                () = sleep_until(self.retry), if self.is_incomplete && !watching.is_empty() => {
                    drop(self.round(false, true).await);
                }
                Some(()) = changed.recv() => drop(self.round(false, true).await),
                Some(Ok(gone)) = self.watched.join_next() => {
                    if self.lose(gone) && self.at_work.is_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// Stops all agents.
    pub(super) async fn stop(&mut self, forget: bool) {
        let at_work = std::mem::take(&mut self.at_work);
        join_all(at_work.into_values().map(async |at_work| {
            let name = at_work.definition.name.clone();
            at_work.agent.stop().await;
            // Whoever waits for work of it may have it at work again.
            if forget && !at_work.was_known && !self.has_work(&name).await {
                self.forget(&name, "it was here for one request").await;
            }
        }))
        .await;
        // Whoever looks before that is not told that nobody is there.
        self.roster.set_at_work(BTreeSet::new());
        self.watched.shutdown().await;
    }

    pub(super) fn take_on(
        &mut self,
        definition: Arc<Definition>,
        agent: RunningAgent,
        was_known: bool,
    ) {
        self.started += 1;
        let (name, number) = (definition.name.clone(), self.started);
        let mut connection = agent.client().connection();
        let gone = name.clone();
        self.watched.spawn(async move {
            let closed = connection.wait_for(|c| matches!(c, Connection::Closed { .. }));
            let reason = match closed.await.as_deref() {
                Ok(Connection::Closed { reason }) => reason.clone(),
                Ok(_) | Err(_) => String::new(),
            };
            Gone {
                name: gone,
                number,
                reason,
            }
        });
        self.at_work.insert(
            name,
            AtWork {
                definition,
                agent,
                was_known,
                number,
            },
        );
    }

    /// Tells of an agent that was sent away, if it is one of the team.
    fn lose(&mut self, gone: Gone) -> bool {
        let is_ours = |at_work: &AtWork| at_work.number == gone.number;
        if !self.at_work.get(&gone.name).is_some_and(is_ours) {
            return false;
        }
        if let Some(at_work) = self.at_work.remove(&gone.name) {
            let member = Member::of(&at_work.definition);
            let reason = gone.reason;
            self.tell(&mut Vec::new(), News::Lost { member, reason });
        }
        self.enroll();
        true
    }

    pub(super) fn enroll(&self) {
        let agents = self.at_work.values().map(|at_work| &at_work.definition);
        let agents = agents.filter(|d| d.kind == Kind::Agent);
        let agents = agents.map(|d| d.name.clone());
        self.roster.set_at_work(agents.collect());
    }

    fn members(&self) -> Vec<Member> {
        let at_work = self.at_work.values();
        at_work.map(|a| Member::of(&a.definition)).collect()
    }

    pub(super) fn tell(&self, all: &mut Vec<News>, news: News) {
        (self.origin.tell)(&news);
        all.push(news);
    }
}
