//! Keeps the agents of a team: takes orders, and notices who is sent away. What it does when files change is in `round.rs`.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use agenthub_documents::watching;
use agenthub_sdk::{
    Client,
    internal::{AgentsAtWork, SentAway, forget},
};
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

/// An agent of the team.
pub(super) struct Enrolled {
    pub(super) definition: Arc<Definition>,
    /// The hub knew the id before.
    pub(super) was_known: bool,
}

/// The keeper of a team.
pub(super) struct Keeper {
    pub(super) hub: String,
    pub(super) origin: Origin,
    pub(super) client: Client,
    pub(super) roster: Roster,
    pub(super) at_work: AgentsAtWork<Enrolled>,
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
}

impl Keeper {
    pub(super) fn new(hub: &str, origin: Origin, client: Client) -> Self {
        Self {
            hub: hub.to_owned(),
            origin,
            client,
            roster: Roster::default(),
            at_work: AgentsAtWork::default(),
            is_incomplete: false,
            retry: Instant::now() + RETRY,
            leaving: CancellationToken::new(),
            limit: None,
            said: Vec::new(),
        }
    }

    /// Starts all agents, however long they take.
    ///
    /// # Errors
    ///
    /// Nobody leads: all that is wrong.
    pub(super) async fn begin(&mut self) -> Result<(), Vec<Fault>> {
        let news = self.round(false, false).await;
        let leads = |enrolled: &Enrolled| enrolled.definition.kind == Kind::Orchestrator;
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
                lost = self.at_work.sent_away() => {
                    self.lose(lost);
                    if self.at_work.is_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// Stops all agents.
    pub(super) async fn stop(&mut self, forgets: bool) {
        let at_work = self.at_work.take_all();
        // A request that who leads has in hand goes on elsewhere, and is not to find the others away before that.
        let (others, leading): (Vec<_>, Vec<_>) = at_work
            .into_iter()
            .partition(|(enrolled, _)| enrolled.definition.kind == Kind::Agent);
        let mut stopped = Vec::new();
        for group in [leading, others] {
            let group = group.into_iter().map(async |(enrolled, agent)| {
                agent.stop().await;
                (enrolled.definition.name.clone(), enrolled.was_known)
            });
            stopped.extend(join_all(group).await);
        }
        if forgets {
            // Whoever waits for work of one may have all at work again: who leads asks the others.
            let working = stopped
                .iter()
                .map(async |(name, _)| self.has_work(name).await);
            if !join_all(working).await.contains(&true) {
                let new = stopped.iter().filter(|(_, was_known)| !was_known);
                let forgotten = new.map(async |(name, _)| {
                    // Who asked is not kept waiting for those that left without a goodbye.
                    let why = "it was here for one request";
                    forget(&self.client, name, why, Duration::ZERO).await;
                });
                join_all(forgotten).await;
            }
        }
        // Whoever looks before that is not told that nobody is there.
        self.roster.set_at_work(BTreeSet::new());
    }

    /// Tells of an agent that was sent away.
    fn lose(&mut self, lost: SentAway<Enrolled>) {
        let member = Member::of(&lost.of.definition);
        let reason = lost.reason;
        self.tell(&mut Vec::new(), News::Lost { member, reason });
        self.enroll();
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
