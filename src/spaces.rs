//! The namespaces of a hub beside `default`: opened when the process starts or they are added, closed when they are removed, while the others go on.

mod standing;
mod wanted;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_access::Namespace;
use agenthub_broker::{ExtraServices, Hub};
use agenthub_sdk::durable::Telemetry;
use axum::Router;
use futures_util::future::join_all;
use tokio::{
    sync::{Semaphore, oneshot, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

pub(crate) use self::standing::{Standing, Standings};
use self::wanted::Wanted;
use crate::{
    http,
    serve::{Opener, ServedSpace, Serving},
    settings::Settings,
    sharing::{OpenSpaces, Sharing},
    world::{CortexDoors, Crew, Means, World},
};

/// Interval of looking which namespaces there are.
const LOOK: Duration = Duration::from_millis(250);

/// Time after which one is opened again that could not be opened, or failed.
const AGAIN: Duration = Duration::from_secs(10);

/// Time for shared agents to leave.
const LEAVE: Duration = Duration::from_secs(2);

/// Time for namespaces to close after that.
const CLOSE: Duration = Duration::from_millis(2_500);

/// Namespaces that are opened at once.
const AT_ONCE: usize = 4;

/// Agents of a namespace that run in this process.
#[derive(Clone)]
pub(crate) enum Inhabitants {
    /// Cortex and the agents that come with the program.
    Ours(Box<Means>),
    /// No agents but those that come by themselves.
    Nobody,
}

/// All of them. [`stop`](Self::stop) them before the hub's addresses.
pub(crate) struct Spaces {
    sharing: Sharing,
    measured: MeasuredHubs,
    stop: CancellationToken,
    keeping: JoinHandle<()>,
}

/// Hubs of those that are open.
type MeasuredHubs = Arc<Mutex<BTreeMap<Namespace, Hub>>>;

/// One of them.
struct Open {
    served: ServedSpace,
    world: Option<World>,
}

/// A namespace that was opened or closed.
struct Done {
    name: Namespace,
    opened: Option<Open>,
    /// The reason why it could not be opened.
    trouble: Option<String>,
}

struct Keeper {
    opener: Opener,
    settings: Settings,
    inhabitants: Inhabitants,
    wanted: Wanted,
    /// The addresses of all that are open, `default` included.
    hubs: watch::Sender<OpenSpaces>,
    open: BTreeMap<Namespace, Open>,
    measured: MeasuredHubs,
    busy: BTreeSet<Namespace>,
    /// Times of the next attempts at namespaces that could not be opened.
    again: BTreeMap<Namespace, Instant>,
    work: JoinSet<Done>,
    slots: Arc<Semaphore>,
    standings: Standings,
}

impl Spaces {
    /// Opens those there are, and then keeps up with what is wanted. One that cannot be opened is logged and tried again, and the others go on.
    pub(crate) async fn start(
        serving: &Serving,
        settings: &Settings,
        inhabitants: Inhabitants,
    ) -> Self {
        let default = (Namespace::default(), Some(serving.url()));
        let (hubs, open) = watch::channel(OpenSpaces::from([default]));
        let measured = MeasuredHubs::default();
        let keeper = Keeper {
            opener: serving.opener(),
            hubs,
            wanted: Wanted::new(settings),
            settings: settings.clone(),
            inhabitants,
            open: BTreeMap::new(),
            measured: Arc::clone(&measured),
            busy: BTreeSet::new(),
            again: BTreeMap::new(),
            work: JoinSet::new(),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            standings: Standings::new(settings.standings_file()),
        };
        let stop = CancellationToken::new();
        let (first, opened) = oneshot::channel();
        let keeping = tokio::spawn(keeper.keep(stop.clone(), first));
        // It ends early only with the process.
        let _ = opened.await;
        let file = settings.data().map(|data| data.join("access/shared.json"));
        Self {
            sharing: Sharing::start(serving.identities().clone(), open, file),
            measured,
            stop,
            keeping,
        }
    }

    /// Has the metrics of their hubs sent to where spans are, each with the name of its namespace, as long as it is open.
    pub(crate) fn measure(&self, telemetry: &Telemetry) {
        let hubs = Arc::clone(&self.measured);
        telemetry.measure(move |metrics| {
            for (name, hub) in &*locked(&hubs) {
                metrics.within("namespace", name.as_str(), |metrics| hub.collect(metrics));
            }
        });
    }

    /// Ends all of them, within 4.5 s. What takes longer ends beside what follows.
    pub(crate) async fn stop(self) {
        let left = timeout(LEAVE, self.sharing.stop()).await;
        self.stop.cancel();
        let closed = timeout(CLOSE, self.keeping).await;
        if left.is_err() || closed.is_err() {
            tracing::warn!("namespaces did not close in time");
        }
    }
}

impl Keeper {
    async fn keep(mut self, stop: CancellationToken, first: oneshot::Sender<()>) {
        let mut first = Some(first);
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(done) = self.work.join_next() => match done {
                    Ok(done) => self.done(done),
                    Err(error) => tracing::error!("a namespace broke off: {error}"),
                },
                _ = looks.tick() => self.look(),
            }
            if self.work.is_empty()
                && let Some(first) = first.take()
            {
                let _ = first.send(());
            }
        }
        while let Some(done) = self.work.join_next().await {
            if let Ok(done) = done {
                self.done(done);
            }
        }
        join_all(self.open.into_values().map(Open::close)).await;
    }

    /// Opens what is wanted and is not open, and closes what is not wanted any more or has failed.
    fn look(&mut self) {
        let wanted = self.wanted.look();
        let is_over = |(name, open): &(&Namespace, &Open)| {
            !wanted.contains(*name) || open.served.hub().has_failed()
        };
        let closing = self.open.iter().filter(is_over);
        let closing: Vec<Namespace> = closing.map(|(name, _)| name.clone()).collect();
        for name in closing {
            let Some(open) = self.open.remove(&name) else {
                continue;
            };
            if !wanted.contains(&name) {
                self.opener.part_with(&name);
            }
            locked(&self.measured).remove(&name);
            tracing::info!(namespace = %name, "closes");
            self.hubs
                .send_modify(|hubs| _ = hubs.insert(name.clone(), None));
            self.busy.insert(name.clone());
            self.work.spawn(async move {
                open.close().await;
                Done {
                    name,
                    opened: None,
                    trouble: None,
                }
            });
        }
        let now = Instant::now();
        self.again
            .retain(|name, again| *again > now && wanted.contains(name));
        for name in wanted {
            let is_there = self.open.contains_key(name) || self.busy.contains(name);
            if is_there || self.again.contains_key(name) {
                continue;
            }
            self.opener.announce(name);
            self.hubs
                .send_modify(|hubs| _ = hubs.insert(name.clone(), None));
            self.busy.insert(name.clone());
            self.standings.set(name, Standing::Opening);
            let opening = open(
                name.clone(),
                self.opener.clone(),
                self.settings.of_namespace(name),
                self.inhabitants.clone(),
            );
            let slots = Arc::clone(&self.slots);
            self.work.spawn(async move {
                let _slot = slots.acquire().await;
                opening.await
            });
        }
        self.opener.settle();
    }

    fn done(&mut self, done: Done) {
        let Done {
            name,
            opened,
            trouble,
        } = done;
        self.busy.remove(&name);
        self.tell(&name, opened.is_some(), trouble);
        match opened {
            Some(open) => {
                let url = open.served.url().to_owned();
                let hub = open.served.hub().clone();
                locked(&self.measured).insert(name.clone(), hub);
                self.hubs
                    .send_modify(|hubs| _ = hubs.insert(name.clone(), Some(url)));
                self.open.insert(name, open);
            }
            None if self.wanted.known().contains(&name) => {
                self.opener.announce(&name);
                self.again.insert(name, Instant::now() + AGAIN);
            }
            None => {
                self.opener.close(&name);
                self.hubs.send_modify(|hubs| _ = hubs.remove(&name));
            }
        }
    }
}

fn locked(hubs: &MeasuredHubs) -> MutexGuard<'_, BTreeMap<Namespace, Hub>> {
    hubs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    /// Tells how a namespace stands: in the log, in the file for commands, and to who asks whether the hub is ready.
    fn tell(&mut self, name: &Namespace, is_open: bool, trouble: Option<String>) {
        self.opener.note(name, trouble.as_deref());
        match trouble {
            Some(reason) => {
                let failed = Standing::Failed {
                    reason: reason.clone(),
                };
                if self.standings.set(name, failed) {
                    tracing::error!(namespace = %name, "cannot be opened, and is tried again every {AGAIN:?}: {reason}");
                }
            }
            None if is_open => _ = self.standings.set(name, Standing::Open),
            None => self.standings.remove(name),
        }
    }
}

async fn open(
    name: Namespace,
    opener: Opener,
    settings: Settings,
    inhabitants: Inhabitants,
) -> Done {
    let opened = match inhabitants {
        Inhabitants::Nobody => {
            let served = opener.open(
                &name,
                &settings,
                ExtraServices::from(Routes::default()),
                Router::new(),
                None,
            );
            served.await.map(|served| Open {
                served,
                world: None,
            })
        }
        Inhabitants::Ours(means) => inhabited(&name, &opener, &settings, &means).await,
    };
    match opened {
        Ok(open) => {
            tracing::info!(namespace = %name, "is open");
            Done {
                name,
                opened: Some(open),
                trouble: None,
            }
        }
        Err(error) => Done {
            name,
            opened: None,
            trouble: Some(format!("{error:#}")),
        },
    }
}

/// Opens a namespace with Cortex and agents.
async fn inhabited(
    name: &Namespace,
    opener: &Opener,
    settings: &Settings,
    means: &Means,
) -> anyhow::Result<Open> {
    let doors = CortexDoors::default();
    let served = opener
        .open(
            name,
            settings,
            doors.services(),
            doors.router(http::hosts(settings.http)),
            Some(doors.in_process()),
        )
        .await?;
    match World::start(name, served.url(), doors, Crew::Ours, settings, means).await {
        Ok(world) => Ok(Open {
            served,
            world: Some(world),
        }),
        Err(error) => {
            served.shutdown().await;
            Err(error)
        }
    }
}

impl Open {
    async fn close(self) {
        if let Some(world) = self.world {
            world.stop(ready(())).await;
        }
        self.served.shutdown().await;
    }
}
