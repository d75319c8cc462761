//! Push notifications (specification §3.1.7 to §3.1.10, §4.3): what happens to a task is posted to receivers that its clients name.
//!
//! `intake` records what happens to tasks with configurations in the `store`, and `postman` sends it; either goes on after a restart
//! where it was. `config` says which configurations are taken, `owners` whose count, `delivery` what follows an attempt, `request` what is sent, and
//! `sending` posts it through the guarded connector.

mod config;
mod delivery;
mod intake;
mod owners;
mod postman;
mod request;
mod sending;
mod signature;
mod store;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::AtomicU64},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agenthub_outbound::{Connector, Network};
use agenthub_sdk::Client;
use tokio::{
    sync::{self, watch},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::{
    config::Config,
    owners::Owners,
    store::{Page, StartPoint},
};
pub use self::{
    delivery::RetryPolicy,
    signature::{InvalidKey, SigningKey},
    store::OpenError,
};
use self::{
    postman::{Deliverer, DeliveryLimits},
    sending::Sender,
    store::Store,
};
use crate::error::{Error, Kind};

/// Time for requests under way to end as the gateway closes.
const CLOSING: Duration = Duration::from_secs(1);

/// Time for the hub to say from where on tasks are watched.
const WATCHING: Duration = Duration::from_secs(10);

/// Settings of push notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Folder of the store; memory if not given.
    pub folder: Option<PathBuf>,
    /// The key that notifications are signed with.
    pub key: Option<SigningKey>,
    /// Bounds of attempts.
    pub retry_policy: RetryPolicy,
}

/// Push notifications, once they are open.
#[derive(Debug)]
pub(crate) struct Push {
    /// `None` if there are none.
    settings: Option<Settings>,
    outbound: agenthub_outbound::Settings,
    owners: OnceLock<Owners>,
    open: OnceLock<Arc<Open>>,
}

/// Push notifications of a gateway with a hub.
#[derive(Debug)]
struct Open {
    this: Weak<Self>,
    client: Client,
    store: Store,
    sender: Sender,
    /// Networks that receivers may be in, besides public ones.
    allow: Vec<Network>,
    key: Option<SigningKey>,
    owners: Option<Owners>,
    retry_policy: RetryPolicy,
    /// Tasks that may have configurations.
    tasks: Mutex<HashSet<String>>,
    /// Held while an event is recorded, and while a configuration of a task that is there is added: between reading the task and adding
    /// the configuration nothing is recorded.
    gate: sync::Mutex<()>,
    /// True while there are configurations, or one is to be added.
    wanted: watch::Sender<bool>,
    /// Events are recorded from here on.
    watching: watch::Sender<bool>,
    limits: DeliveryLimits,
    deliverers: Mutex<HashMap<i64, Deliverer>>,
    /// Deliverers so far.
    numbers: AtomicU64,
    closing: CancellationToken,
    work: TaskTracker,
}

/// Permission to add a configuration: until it is dropped, no event is recorded.
pub(crate) struct Gate<'a> {
    open: &'a Open,
    _held: sync::MutexGuard<'a, ()>,
}

impl Push {
    pub(crate) fn new(settings: Option<Settings>, outbound: agenthub_outbound::Settings) -> Self {
        Self {
            settings,
            outbound,
            owners: OnceLock::new(),
            open: OnceLock::new(),
        }
    }

    /// Tells whose configurations count, from when it is opened. Without, all do.
    pub(crate) fn knows(&self, owners: Owners) {
        let _ = self.owners.set(owners);
    }

    /// Opens the store, and goes on with what waits there. Blocks while the file is opened.
    ///
    /// # Errors
    ///
    /// The store cannot be opened, or is that of something else.
    pub(crate) async fn open(&self, client: Client) -> Result<(), OpenError> {
        let Some(settings) = &self.settings else {
            return Ok(());
        };
        let store = Store::open(settings.folder.as_deref())?;
        let (tasks, with_mail) = (store.tasks().await?, store.with_mail().await?);
        let open = Arc::new_cyclic(|this| Open {
            this: this.clone(),
            client,
            store,
            sender: Sender {
                connector: Connector::new(self.outbound.clone()),
            },
            allow: self.outbound.allow.clone(),
            key: settings.key.clone(),
            owners: self.owners.get().cloned(),
            retry_policy: settings.retry_policy,
            wanted: watch::Sender::new(!tasks.is_empty()),
            watching: watch::Sender::new(false),
            tasks: Mutex::new(tasks.into_iter().collect()),
            gate: sync::Mutex::default(),
            limits: DeliveryLimits::default(),
            deliverers: Mutex::default(),
            numbers: AtomicU64::new(0),
            closing: CancellationToken::new(),
            work: TaskTracker::new(),
        });
        if self.open.set(Arc::clone(&open)).is_ok() {
            open.work.spawn(Arc::clone(&open).take_in());
            with_mail.into_iter().for_each(|key| open.wake(key));
        }
        Ok(())
    }

    /// Ends what is under way; it goes on where it was when the gateway is opened again. Takes a second at most.
    pub(crate) async fn close(&self) {
        if let Some(open) = self.open.get() {
            open.closing.cancel();
            open.work.close();
            if timeout(CLOSING, open.work.wait()).await.is_err() {
                tracing::debug!("push notifications were still under way");
            }
        }
    }

    /// Networks that receivers may be in, besides public ones.
    pub(crate) fn allowed(&self) -> &[Network] {
        &self.outbound.allow
    }

    /// Checks that there are push notifications (§3.3.4).
    ///
    /// # Errors
    ///
    /// [`Kind::PushNotificationNotSupported`].
    pub(crate) fn is_offered(&self) -> Result<(), Error> {
        match self.settings {
            Some(_) => Ok(()),
            None => Err(Kind::PushNotificationNotSupported
                .with("this hub sends no push notifications: a setting turns them off")),
        }
    }

    fn opened(&self) -> Result<&Open, Error> {
        let open = self.open.get().map(Arc::as_ref);
        open.ok_or_else(|| {
            Kind::Unavailable.with("the gateway is not connected to its hub yet: try again soon")
        })
    }

    /// Waits until what happens from here on is recorded, for those that are added until the gate is dropped.
    ///
    /// # Errors
    ///
    /// [`Kind::Unavailable`].
    pub(crate) async fn gate(&self) -> Result<Gate<'_>, Error> {
        let open = self.opened()?;
        let entering = async {
            loop {
                open.wanted.send_replace(true);
                let mut watching = open.watching.subscribe();
                watching.wait_for(|is_watching| *is_watching).await.ok()?;
                let held = open.gate.lock().await;
                if *open.watching.borrow() {
                    return Some(Gate { open, _held: held });
                }
            }
        };
        match timeout(WATCHING, entering).await {
            Ok(Some(gate)) => Ok(gate),
            _ => {
                Err(Kind::Unavailable.with("the hub's tasks cannot be watched now: try again soon"))
            }
        }
    }

    /// A configuration by its id; the first one if the id is empty.
    pub(crate) async fn get(&self, task: &str, id: &str) -> Result<Option<Config>, Error> {
        Ok(self.opened()?.store.get(task, id).await?)
    }

    /// The configurations of a task after a key, `limit` at most.
    pub(crate) async fn list(&self, task: &str, after: i64, limit: u32) -> Result<Page, Error> {
        Ok(self.opened()?.store.list(task, after, limit).await?)
    }

    /// Removes a configuration, if it is there. Nothing is sent to its receiver any more.
    pub(crate) async fn remove(&self, task: &str, id: &str) -> Result<(), Error> {
        let open = self.opened()?;
        if let Some(key) = open.store.remove(task, id).await? {
            open.stop(key);
        }
        Ok(())
    }
}

impl Gate<'_> {
    /// Adds a configuration, or changes the one with its id.
    ///
    /// # Errors
    ///
    /// [`Kind::ResourceExhausted`] if there are as many as there may be.
    pub(crate) async fn add(
        &self,
        task: &str,
        config: Config,
        begin: StartPoint,
    ) -> Result<(), Error> {
        // Before it is stored: the client may hang up meanwhile.
        self.open.tasks().insert(task.to_owned());
        let added = self.open.store.add(task, config, begin, now_ms()).await?;
        match added {
            store::Added::New(_) => Ok(()),
            // It may wait for a receiver that it no longer has.
            store::Added::Changed(key) => {
                self.open.stop(key);
                self.open.wake(key);
                Ok(())
            }
            store::Added::Full => Err(Kind::ResourceExhausted.with(format!(
                "there is no room for another configuration: a task has {} at most, and all tasks have {}; delete one, or wait until its task has ended",
                store::PER_TASK,
                store::TOTAL
            ))),
        }
    }
}

impl Open {
    fn tasks(&self) -> MutexGuard<'_, HashSet<String>> {
        locked(&self.tasks)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
