//! Keeps the agents of a folder: starts, replaces and stops them as the files say.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use agenthub_documents::{Fault, watching};
use agenthub_sdk::{
    AgentBuilder, Client, Error, RunningAgent,
    internal::{AgentsAtWork, SentAway},
    proto::agenthub::AgentState,
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

/// The keeper of a folder's agents.
pub(super) struct Keeper {
    hub: String,
    origin: Origin,
    client: Client,
    at_work: AgentsAtWork<Arc<Served>>,
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
            at_work: AgentsAtWork::default(),
            told: Vec::new(),
            retry: None,
            stop,
        }
    }

    pub(super) fn members(&self) -> Vec<Member> {
        self.at_work.values().map(|served| member(served)).collect()
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
                lost = self.at_work.sent_away() => {
                    self.lose(lost);
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
        let at_work = self.at_work.take_all().into_iter();
        join_all(at_work.map(|(_, agent)| agent.stop())).await;
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
            .map(|(id, served)| (id.clone(), Arc::clone(served)))
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
        let stopping = ids.iter().filter_map(|id| self.at_work.remove(id));
        let stopping: Vec<_> = stopping.collect();
        let stopping = stopping.into_iter().map(async |(served, agent)| {
            agent.stop().await;
            served
        });
        let stopped = join_all(stopping).await;
        let ids = stopped.iter().map(|served| served.id.clone()).collect();
        let why = "its workflow's file is gone, or names it otherwise";
        let forgotten = self.at_work.forget(&self.client, ids, why);
        self.stop.run_until_cancelled(forgotten).await;
        for served in &stopped {
            (self.origin.tell)(&News::Stopped(member(served)));
        }
    }

    /// Faults that kept agents from being replaced.
    async fn replace_these(&mut self, workflows: Vec<Arc<Served>>) -> Vec<Fault> {
        let mut unfit = Vec::new();
        for served in workflows {
            match self.replace(&served).await {
                Ok(()) => {
                    if let Some(at_work) = self.at_work.get_mut(&served.id) {
                        *at_work = Arc::clone(&served);
                    }
                    (self.origin.tell)(&News::Replaced(member(&served)));
                }
                Err(fault) => unfit.push(fault),
            }
        }
        unfit
    }

    async fn replace(&self, served: &Arc<Served>) -> Result<(), Fault> {
        let Some(running) = self.at_work.agent(&served.id) else {
            return Ok(());
        };
        let cannot = |error: Error| cannot_start(served, error);
        let agent = self.lasting(served).await?.build().map_err(cannot)?;
        running.replace(agent).await.map_err(cannot)
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
                    self.at_work.insert(served.id.clone(), served, agent);
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
        let lasting = async |agent: AgentBuilder| {
            let agent = agent.drain_timeout(DRAIN);
            (self.origin.lasting)(served.id.clone(), agent).await
        };
        served.agent(lasting).await.map_err(|error| {
            let message = format!("{} cannot work: {error:#}", served.id);
            Fault::error(&served.path, message)
        })
    }

    /// Tells of an agent that was sent away. It is started again later.
    fn lose(&mut self, lost: SentAway<Arc<Served>>) {
        let (member, reason) = (member(&lost.of), lost.reason);
        (self.origin.tell)(&News::Lost { member, reason });
        self.retry = Some(Instant::now() + RETRY);
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
            let kept = self.at_work.values().filter(|served| is_kept(served));
            let kept = kept.map(|served| served.id.clone()).collect();
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
    use std::{fs, path::Path};

    use agenthub_sdk::testing::TestHub;
    use tokio::time::timeout;

    use super::*;

    async fn keeper(hub: &TestHub, dir: &Path) -> Keeper {
        let origin = Origin {
            dir: dir.to_owned(),
            lasting: Arc::new(|_, agent| Box::pin(async { Ok(agent) })),
            tell: Arc::new(|_| ()),
        };
        let client = hub.client().await;
        Keeper::new(&hub.url(), origin, client, CancellationToken::new())
    }

    #[tokio::test]
    async fn an_agent_that_is_at_work_elsewhere_holds_up_no_change() {
        let hub = TestHub::start().await;
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("press.yaml");
        fs::write(&file, "steps:\n  a: { wait: 1ms }\n").expect("the folder is ours");
        let mut here = keeper(&hub, dir.path()).await;
        let mut elsewhere = keeper(&hub, dir.path()).await;
        here.round().await.expect("there is a folder");
        elsewhere.round().await.expect("there is a folder");
        let members = here.members();
        assert_eq!(members, elsewhere.members());
        let id = members[0].id.clone();

        fs::remove_file(&file).expect("it is there");
        let round = timeout(Duration::from_secs(9), here.round()).await;
        round
            .expect("it is not held up")
            .expect("there is a folder");
        assert!(here.members().is_empty());
        let client = hub.client().await;
        assert!(client.agent(&*id).await.is_ok(), "it is at work elsewhere");
        elsewhere.round().await.expect("there is a folder");
        assert!(client.agent(&*id).await.is_err(), "the hub forgets it");
        here.end().await;
        elsewhere.end().await;
    }

    #[tokio::test]
    async fn a_folder_that_is_away_is_looked_at_again_after_a_pause() {
        let hub = TestHub::start().await;
        let dir = tempfile::tempdir().expect("a folder");
        let mut keeper = keeper(&hub, &dir.path().join("gone")).await;
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
