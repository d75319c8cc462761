//! Starts, replaces and stops agents.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use agenthub_sdk::{Client, Connection, RunningAgent};
use futures_util::future::join_all;
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Member, News, Origin,
    changes::{Changes, changes},
    watch,
};
use crate::{Definition, Discovered, Fault, Kind, Roster, discover::discover_beside};

/// A file may be away for so long while it is written anew.
const REWRITTEN: Duration = Duration::from_secs(1);

/// An agent that changes while others work may take so long to be made: with its MCP servers, which go on starting when it is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// How often that is tried again which could not start for another reason than its file.
const RETRY: Duration = Duration::from_secs(20);

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
    definition: Arc<Definition>,
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

/// Who keeps the team.
pub(super) struct Keeper {
    pub(super) hub: String,
    pub(super) origin: Origin,
    pub(super) client: Client,
    pub(super) roster: Roster,
    pub(super) at_work: BTreeMap<String, AtWork>,
    started: u64,
    /// An agent could not start or change, though its file can be read.
    is_incomplete: bool,
    /// When what is incomplete is tried again.
    retry: Instant,
    /// The team is to stop.
    pub(super) leaving: CancellationToken,
    /// How long an agent may take to be made, if not as long as it takes.
    pub(super) limit: Option<Duration>,
    /// What was said to be wrong, so that it is not said again.
    said: Vec<Fault>,
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
                            watching.spawn(watch::watch(self.origin.dir.clone(), change.clone()));
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
            if forget && !at_work.was_known {
                self.forget(&name, "it was here for one request").await;
            }
        }))
        .await;
        // Whoever looks before that is not told that nobody is there.
        self.roster.set_at_work(BTreeSet::new());
        self.watched.shutdown().await;
    }

    /// Reads all files, and makes the agents what they say. Nothing is done for a team that is to stop.
    async fn round(&mut self, all: bool, is_watched: bool) -> Vec<News> {
        let mut news = Vec::new();
        if self.leaving.is_cancelled() {
            return news;
        }
        let (changes, found) = match self.settled(all, is_watched).await {
            Ok(looked) => looked,
            Err(fault) => {
                let faults = vec![fault];
                (
                    Changes::default(),
                    Discovered {
                        faults,
                        ..Discovered::default()
                    },
                )
            }
        };
        let mut faults = found.faults.clone();
        faults.extend(changes.fault);
        faults.extend(self.orphaned(&changes.stop, &changes.replace));
        self.stop_these(&changes.stop, &found, &mut news).await;
        let mut unfit = self.replace_these(changes.replace, &mut news).await;
        // Who leads comes when those are there who are led.
        let (leading, led): (Vec<_>, Vec<_>) = changes
            .start
            .into_iter()
            .partition(|d| d.kind == Kind::Orchestrator);
        for definitions in [led, leading] {
            unfit.extend(self.start_these(definitions, &mut news).await);
        }
        self.is_incomplete = !unfit.is_empty();
        self.retry = Instant::now() + RETRY;
        faults.extend(unfit);
        self.complain(faults, &mut news);
        news
    }

    /// What is to be done, once no file is away to be written anew. Writes down who may be asked from here on.
    async fn settled(&self, all: bool, is_watched: bool) -> Result<(Changes, Discovered), Fault> {
        let (mut changes, mut found) = self.look(all).await?;
        if is_watched && !changes.stop.is_empty() {
            sleep(REWRITTEN).await;
            (changes, found) = self.look(all).await?;
        }
        let at_work = self.at_work.values().map(|at_work| &at_work.definition);
        let kept = at_work.filter(|d| d.kind == Kind::Agent && !changes.stop.contains(&d.name));
        let kept = kept.map(|d| d.name.clone());
        let written = found.agents.keys().cloned().chain(kept);
        self.roster.set_written(written.collect());
        Ok((changes, found))
    }

    async fn stop_these(&mut self, names: &[String], found: &Discovered, news: &mut Vec<News>) {
        let names = names.iter();
        let stopping: Vec<AtWork> = names.filter_map(|name| self.at_work.remove(name)).collect();
        self.enroll();
        for at_work in &stopping {
            let member = Member::of(&at_work.definition);
            let mut others = found.agents.values().chain(&found.orchestrators);
            let other = others.find(|other| other.path == member.path);
            let called = other.map(|other| other.name.clone());
            self.tell(news, News::Stopped { member, called });
        }
        join_all(stopping.into_iter().map(async |at_work| {
            let name = at_work.definition.name.clone();
            at_work.agent.stop().await;
            self.forget(&name, "its file is gone, or calls it otherwise")
                .await;
        }))
        .await;
    }

    /// What kept any from being replaced.
    async fn replace_these(
        &mut self,
        definitions: Vec<Arc<Definition>>,
        news: &mut Vec<News>,
    ) -> Vec<Fault> {
        let replacing = definitions.into_iter().map(async |definition| {
            let replaced = self.replace(&definition).await;
            (definition, replaced)
        });
        let mut unfit = Vec::new();
        for (definition, replaced) in join_all(replacing).await {
            match replaced {
                Ok(()) => {
                    let member = Member::of(&definition);
                    if let Some(at_work) = self.at_work.get_mut(&definition.name) {
                        at_work.definition = definition;
                    }
                    self.tell(news, News::Replaced(member));
                }
                Err(wrong) => unfit.extend(wrong),
            }
        }
        self.enroll();
        unfit
    }

    /// What kept any from being started.
    async fn start_these(
        &mut self,
        definitions: Vec<Arc<Definition>>,
        news: &mut Vec<News>,
    ) -> Vec<Fault> {
        let starting = definitions.into_iter().map(async |definition| {
            let started = self.start(&definition).await;
            (definition, started)
        });
        let mut unfit = Vec::new();
        for (definition, started) in join_all(starting).await {
            match started {
                Ok((agent, was_known)) => {
                    let member = Member::of(&definition);
                    self.take_on(definition, agent, was_known);
                    self.tell(news, News::Started(member));
                }
                Err(wrong) => unfit.extend(wrong),
            }
        }
        self.enroll();
        unfit
    }

    /// What the files say, and what is to be done.
    async fn look(&self, all: bool) -> Result<(Changes, Discovered), Fault> {
        let dir = self.origin.dir.clone();
        let at_work = self.at_work.iter();
        let at_work: Arc<BTreeMap<_, _>> = Arc::new(
            at_work
                .map(|(name, at_work)| (name.clone(), Arc::clone(&at_work.definition)))
                .collect(),
        );
        let beside = Arc::clone(&at_work);
        let found = spawn_blocking(move || discover_beside(&dir, &beside));
        let found = found
            .await
            .unwrap_or_else(|_| Err(Fault::error(&self.origin.dir, "cannot be read")))?;
        let leads = found.orchestrator(&self.origin.dir, self.origin.default_orchestrator);
        Ok((changes(&at_work, &found, leads, all), found))
    }

    fn take_on(&mut self, definition: Arc<Definition>, agent: RunningAgent, was_known: bool) {
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

    /// The agents at work whose tools name one that goes.
    fn orphaned(&self, stop: &[String], replace: &[Arc<Definition>]) -> Vec<Fault> {
        let at_work = self.at_work.values().map(|at_work| &at_work.definition);
        let staying = at_work.filter(|d| {
            !stop.contains(&d.name) && !replace.iter().any(|other| other.name == d.name)
        });
        staying
            .flat_map(|d| d.tools.iter().map(move |tool| (d, tool)))
            .filter(|(_, tool)| stop.contains(&tool.name))
            .map(|(d, tool)| {
                let message = format!("the agent `{}` is gone, which this one may ask", tool.name);
                d.fault_at(tool.place, message)
                    .helped("take the name out of `tools`, or bring its file back")
            })
            .collect()
    }

    /// Says what is wrong that was not said before.
    fn complain(&mut self, faults: Vec<Fault>, news: &mut Vec<News>) {
        for fault in &faults {
            if self.said.contains(fault) {
                continue;
            }
            let kept = self.at_work.values().map(|at_work| &at_work.definition);
            let kept = kept
                .filter(|d| fault.is_error() && d.path == fault.path)
                .map(|d| d.name.clone())
                .next();
            let fault = fault.clone();
            self.tell(news, News::Wrong { fault, kept });
        }
        self.said = faults;
    }

    fn enroll(&self) {
        let agents = self.at_work.values().map(|at_work| &at_work.definition);
        let agents = agents.filter(|d| d.kind == Kind::Agent);
        let agents = agents.map(|d| d.name.clone());
        self.roster.set_at_work(agents.collect());
    }

    fn members(&self) -> Vec<Member> {
        let at_work = self.at_work.values();
        at_work.map(|a| Member::of(&a.definition)).collect()
    }

    fn tell(&self, all: &mut Vec<News>, news: News) {
        (self.origin.tell)(&news);
        all.push(news);
    }
}
