//! One look at the files, and what follows for the agents: some stop, some are replaced, some start.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    Member, News,
    changes::{Changes, changes},
    keeper::{Enrolled, Keeper, RETRY},
};
use crate::{Definition, Discovered, Fault, Kind, discover::discover_beside};

/// A file may be away for so long while it is written anew.
const REWRITTEN: Duration = Duration::from_secs(1);

impl Keeper {
    /// Reads all files, and makes the agents what they say. Nothing is done for a team that is to stop.
    pub(super) async fn round(&mut self, all: bool, is_watched: bool) -> Vec<News> {
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

    /// The changes to make, once no file is away to be written anew. Writes down who may be asked from here on.
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
        let stopping: Vec<_> = names.filter_map(|name| self.at_work.remove(name)).collect();
        self.enroll();
        for (enrolled, _) in &stopping {
            let member = Member::of(&enrolled.definition);
            let mut others = found.agents.values().chain(&found.orchestrators);
            let other = others.find(|other| other.path == member.path);
            let called = other.map(|other| other.name.clone());
            self.tell(news, News::Stopped { member, called });
        }
        let stopping = stopping.into_iter().map(async |(enrolled, agent)| {
            agent.stop().await;
            enrolled.definition.name.clone()
        });
        let stopped = join_all(stopping).await;
        let why = "its file is gone, or calls it otherwise";
        let forgotten = self.at_work.forget(&self.client, stopped, why);
        self.leaving.run_until_cancelled(forgotten).await;
    }

    /// Faults that kept agents from being replaced.
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

    /// Faults that kept agents from being started.
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
                    let enrolled = Enrolled {
                        definition,
                        was_known,
                    };
                    self.at_work.insert(member.name.clone(), enrolled, agent);
                    self.tell(news, News::Started(member));
                }
                Err(wrong) => unfit.extend(wrong),
            }
        }
        self.enroll();
        unfit
    }

    /// The files' contents, and the changes to make.
    async fn look(&self, all: bool) -> Result<(Changes, Discovered), Fault> {
        let dir = self.origin.dir.clone();
        let at_work = self.at_work.iter();
        let at_work: Arc<BTreeMap<_, _>> = Arc::new(
            at_work
                .map(|(name, enrolled)| (name.clone(), Arc::clone(&enrolled.definition)))
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
}
