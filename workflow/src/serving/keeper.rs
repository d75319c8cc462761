//! Keeps the agents of a folder: starts, replaces and stops them as the files say.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use agenthub_documents::{Fault, watching};
use agenthub_sdk::{
    AgentBuilder, Client, Error, RunningAgent, hub::Connection, proto::agenthub::AgentState,
};
use futures_util::future::join_all;
use tokio::{
    sync::mpsc,
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Member, News, Origin,
    changes::{Changes, changes},
    folder::{ById, Found, contents, read},
};
use crate::executor::Served;

/// Time for agents to go on with what they do when they are stopped.
const DRAIN: Duration = Duration::from_secs(3);

/// A file may be away for so long while it is written anew.
const REWRITTEN: Duration = Duration::from_secs(1);

/// Interval of further tries to start what could not start for another reason than its file.
const RETRY: Duration = Duration::from_secs(20);

/// An agent at work.
struct AtWork {
    served: Arc<Served>,
    agent: RunningAgent,
    /// Tells it from another of the same id.
    number: u64,
}

/// An agent that the hub has sent away.
struct Gone {
    id: String,
    number: u64,
    reason: String,
}

/// The keeper of a folder's agents.
pub(super) struct Keeper {
    hub: String,
    origin: Origin,
    client: Client,
    at_work: BTreeMap<String, AtWork>,
    started: u64,
    watched: JoinSet<Gone>,
    /// Faults that were told, so that they are not told again.
    told: Vec<Fault>,
    /// Time at which what could not start is tried again, if there is such.
    retry: Option<Instant>,
    stop: CancellationToken,
}

impl Keeper {
    pub(super) fn new(hub: &str, origin: Origin, client: Client, stop: CancellationToken) -> Self {
        Self {
            hub: hub.to_owned(),
            origin,
            client,
            at_work: BTreeMap::new(),
            started: 0,
            watched: JoinSet::new(),
            told: Vec::new(),
            retry: None,
            stop,
        }
    }

    pub(super) fn members(&self) -> Vec<Member> {
        let at_work = self.at_work.values();
        at_work.map(|at_work| member(&at_work.served)).collect()
    }

    /// Follows the files until it is to stop.
    pub(super) async fn run(mut self) {
        let mut watching = JoinSet::new();
        let (change, mut changed) = mpsc::channel(1);
        watching.spawn(watching::watch(self.origin.dir.clone(), contents, change));
        let stop = self.stop.clone();
        loop {
            let retry = self.retry;
            tokio::select! {
                () = stop.cancelled() => break,
                Some(()) = changed.recv() => {}
                () = sleep_until(retry.unwrap_or_else(Instant::now)), if retry.is_some() => {}
                Some(Ok(gone)) = self.watched.join_next() => {
                    self.lose(gone);
                    continue;
                }
            }
            // The fault was told; the agents stay as they are.
            let _ = self.round().await;
        }
        drop(watching);
        self.end().await;
    }

    /// Stops all agents.
    pub(super) async fn end(mut self) {
        let at_work = std::mem::take(&mut self.at_work).into_values();
        join_all(at_work.map(|at_work| at_work.agent.stop())).await;
        self.watched.shutdown().await;
        self.client.close().await;
    }

    /// Reads all files, and makes the agents what they say.
    ///
    /// # Errors
    ///
    /// The folder cannot be read; this was told.
    pub(super) async fn round(&mut self) -> Result<(), Fault> {
        let (changes, found) = match self.settled().await {
            Ok(looked) => looked,
            Err(fault) => {
                self.complain(vec![fault.clone()], &BTreeMap::new());
                self.retry = self.retry.map(|_| Instant::now() + RETRY);
                return Err(fault);
            }
        };
        let mut faults = found.faults;
        self.stop_these(&changes.stop).await;
        let mut unfit = self.replace_these(changes.replace).await;
        unfit.extend(self.start_these(changes.start).await);
        self.retry = (!unfit.is_empty()).then(|| Instant::now() + RETRY);
        faults.extend(unfit);
        self.complain(faults, &found.broken);
        Ok(())
    }

    /// The changes to make, once no file is away to be written anew.
    async fn settled(&self) -> Result<(Changes, Found), Fault> {
        let looked = self.look().await?;
        if looked.0.stop.is_empty() {
            return Ok(looked);
        }
        sleep(REWRITTEN).await;
        self.look().await
    }

    async fn look(&self) -> Result<(Changes, Found), Fault> {
        let at_work = self.at_work.iter();
        let at_work: ById = at_work
            .map(|(id, at_work)| (id.clone(), Arc::clone(&at_work.served)))
            .collect();
        let dir = self.origin.dir.clone();
        let looking = spawn_blocking(move || {
            let found = read(&dir, &at_work)?;
            Ok((changes(&at_work, &found), found))
        });
        looking.await.unwrap_or_else(|error| {
            let message = format!("the folder could not be looked at: {error}");
            Err(Fault::error(&self.origin.dir, message))
        })
    }

    async fn stop_these(&mut self, ids: &[String]) {
        let stopping: Vec<AtWork> = ids
            .iter()
            .filter_map(|id| self.at_work.remove(id))
            .collect();
        join_all(stopping.into_iter().map(async |at_work| {
            at_work.agent.stop().await;
            self.forget(&at_work.served.id).await;
            (self.origin.tell)(&News::Stopped(member(&at_work.served)));
        }))
        .await;
    }

    /// Has the hub forget an agent that is nowhere at work. What waits for it fails.
    async fn forget(&self, id: &str) {
        let is_away = match self.client.agent(id).await {
            Ok(entry) => entry.instances.is_empty(),
            Err(_) => false,
        };
        let why = "its workflow's file is gone, or names it otherwise";
        if is_away && let Err(error) = self.client.operator().unregister(id, why).await {
            tracing::debug!(%error, agent = id, "the hub goes on knowing it");
        }
    }

    /// Faults that kept agents from being replaced.
    async fn replace_these(&mut self, workflows: Vec<Arc<Served>>) -> Vec<Fault> {
        let mut unfit = Vec::new();
        for served in workflows {
            match self.replace(&served).await {
                Ok(()) => {
                    if let Some(at_work) = self.at_work.get_mut(&served.id) {
                        at_work.served = Arc::clone(&served);
                    }
                    (self.origin.tell)(&News::Replaced(member(&served)));
                }
                Err(fault) => unfit.push(fault),
            }
        }
        unfit
    }

    async fn replace(&self, served: &Arc<Served>) -> Result<(), Fault> {
        let Some(at_work) = self.at_work.get(&served.id) else {
            return Ok(());
        };
        let cannot = |error: Error| cannot_start(served, error);
        let agent = self.lasting(served).await?.build().map_err(cannot)?;
        at_work.agent.replace(agent).await.map_err(cannot)
    }

    /// Faults that kept agents from being started.
    async fn start_these(&mut self, workflows: Vec<Arc<Served>>) -> Vec<Fault> {
        let mut unfit = Vec::new();
        let starting = workflows.into_iter().map(async |served| {
            let started = self.start(&served).await;
            (served, started)
        });
        for (served, started) in join_all(starting).await {
            match started {
                Ok(agent) => {
                    (self.origin.tell)(&News::Started(member(&served)));
                    self.take_on(served, agent);
                }
                Err(fault) => unfit.push(fault),
            }
        }
        unfit
    }

    async fn start(&self, served: &Arc<Served>) -> Result<RunningAgent, Fault> {
        let cannot = |error: Error| cannot_start(served, error);
        match self.client.agent(&*served.id).await {
            Ok(entry) => {
                let is_online = entry.state() == AgentState::Online;
                if let Some(card) = entry.agent_card.filter(|_| is_online)
                    && !served.file().is_same(&card)
                {
                    return Err(taken(served, served.file().is_such(&card), &self.hub));
                }
            }
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(cannot(error)),
        }
        let agent = self.lasting(served).await?;
        agent.start(&*self.hub).await.map_err(cannot)
    }

    async fn lasting(&self, served: &Arc<Served>) -> Result<AgentBuilder, Fault> {
        let agent = served.agent().drain_timeout(DRAIN);
        let lasting = (self.origin.lasting)(served.id.clone(), agent).await;
        lasting.map_err(|error| {
            let message = format!("{} cannot work: {error:#}", served.id);
            Fault::error(&served.path, message)
        })
    }

    fn take_on(&mut self, served: Arc<Served>, agent: RunningAgent) {
        self.started += 1;
        let (id, number) = (served.id.clone(), self.started);
        let mut connection = agent.client().connection();
        let gone = id.clone();
        self.watched.spawn(async move {
            let closed = connection.wait_for(|c| matches!(c, Connection::Closed { .. }));
            let reason = match closed.await.as_deref() {
                Ok(Connection::Closed { reason }) => reason.clone(),
                Ok(_) | Err(_) => String::new(),
            };
            Gone {
                id: gone,
                number,
                reason,
            }
        });
        let at_work = AtWork {
            served,
            agent,
            number,
        };
        self.at_work.insert(id, at_work);
    }

    /// Tells of an agent that was sent away, if it is one of these. It is started again later.
    fn lose(&mut self, gone: Gone) {
        let is_ours = |at_work: &AtWork| at_work.number == gone.number;
        if !self.at_work.get(&gone.id).is_some_and(is_ours) {
            return;
        }
        if let Some(at_work) = self.at_work.remove(&gone.id) {
            let (member, reason) = (member(&at_work.served), gone.reason);
            (self.origin.tell)(&News::Lost { member, reason });
            self.retry = Some(Instant::now() + RETRY);
        }
    }

    /// Tells what is wrong that was not told before, each fault with the agents that work on as they were since it is in their files.
    fn complain(&mut self, faults: Vec<Fault>, broken: &BTreeMap<PathBuf, BTreeSet<PathBuf>>) {
        for fault in &faults {
            if self.told.contains(fault) {
                continue;
            }
            let is_kept = |served: &Served| {
                let places = broken.get(&served.path);
                let is_of_it = places.is_some_and(|places| places.contains(&fault.path));
                fault.is_error() && (is_of_it || served.path == fault.path)
            };
            let at_work = self.at_work.values().filter(|a| is_kept(&a.served));
            let kept = at_work.map(|at_work| at_work.served.id.clone()).collect();
            let fault = fault.clone();
            (self.origin.tell)(&News::Wrong { fault, kept });
        }
        self.told = faults;
    }
}

fn member(served: &Served) -> Member {
    Member {
        id: served.id.clone(),
        path: served.path.clone(),
    }
}

fn cannot_start(served: &Served, error: Error) -> Fault {
    let message = format!("{} cannot be an agent of the hub: {error}", served.id);
    Fault::error(&served.path, message)
}

fn taken(served: &Served, is_workflow: bool, hub: &str) -> Fault {
    let id = &served.id;
    let whose = match is_workflow {
        true => "the workflow of another folder",
        false => "another program",
    };
    Fault::error(
        &served.path,
        format!("the hub at {hub} has an agent called {id} already, and it is {whose}"),
    )
    .helped("give this workflow another `name`, or stop the other agent")
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::testing::TestHub;

    use super::*;

    #[tokio::test]
    async fn a_folder_that_is_away_is_looked_at_again_after_a_pause() {
        let hub = TestHub::start().await;
        let dir = tempfile::tempdir().expect("a folder");
        let origin = Origin {
            dir: dir.path().join("gone"),
            lasting: Arc::new(|_, agent| Box::pin(async { Ok(agent) })),
            tell: Arc::new(|_| ()),
        };
        let client = hub.client().await;
        let mut keeper = Keeper::new(&hub.url(), origin, client, CancellationToken::new());
        keeper.round().await.expect_err("there is no folder");
        assert_eq!(keeper.retry, None, "its changes are watched");
        keeper.retry = Some(Instant::now());
        let before = Instant::now();
        keeper.round().await.expect_err("there is no folder");
        let retry = keeper.retry.expect("something could not start");
        assert!(retry >= before + RETRY, "a busy loop");
        keeper.end().await;
    }
}
