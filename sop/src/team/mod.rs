//! A folder of SOPs as agents of a hub, kept as its files change.
//!
//! `changes.rs` decides which agents are started, replaced and stopped; `keeper.rs` and `starting.rs` do it; `watch.rs` says which files are watched;
//! `identity.rs` tells an SOP from another agent of the same name.

mod changes;
pub(crate) mod identity;
mod keeper;
mod round;
mod starting;
mod watch;

use std::{path::PathBuf, sync::Arc, time::Duration};

use agenthub_sdk::{AgentBuilder, Client, Error};
use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub use self::identity::is_same;
use self::keeper::{Command, Keeper};
use crate::{Definition, Fault, Kind, Roster};

/// Orders that wait for the one who keeps the team, at most.
const ORDERS: usize = 8;

/// Makes an agent of a definition: with its model, its tools and its journal. The [`Roster`] is for [`peers`](crate::peers). It is called again
/// whenever the file changes. The faults are those for which the definition cannot be an agent.
pub type Fit = Arc<
    dyn Fn(Arc<Definition>, Roster) -> BoxFuture<'static, Result<AgentBuilder, Vec<Fault>>>
        + Send
        + Sync,
>;

/// Events of a team.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum News {
    /// An agent has come.
    Started(Member),
    /// An agent has changed with its file; what it was doing, it ends as it began.
    Replaced(Member),
    /// An agent has gone.
    Stopped {
        /// The agent.
        member: Member,
        /// The agent's name in its file now; `None` if the file has gone too.
        called: Option<String>,
    },
    /// Something is wrong with a file. Said once, until something changes.
    Wrong {
        /// The fault.
        fault: Fault,
        /// The agent that works on as it was.
        kept: Option<String>,
    },
    /// The hub does not want an agent any more.
    Lost {
        /// The agent.
        member: Member,
        /// Reason that the hub gave.
        reason: String,
    },
}

/// An agent of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub name: String,
    /// Worker or orchestrator.
    pub kind: Kind,
    /// Its file.
    pub path: PathBuf,
}

impl Member {
    fn of(definition: &Definition) -> Self {
        Self {
            name: definition.name.clone(),
            kind: definition.kind,
            path: definition.path.clone(),
        }
    }
}

/// Parts of a team.
#[derive(Clone)]
pub struct Origin {
    /// The folder with the files.
    pub dir: PathBuf,
    /// True if a built-in orchestrator leads where the folder has none.
    pub default_orchestrator: bool,
    /// Makes agents.
    pub fit: Fit,
    /// Time for agents to go on with what they do when they are stopped.
    pub drain: Duration,
    /// Is told what happens, in order; it is quick.
    pub tell: Arc<dyn Fn(&News) + Send + Sync>,
}

/// The reason why a team cannot start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The folder cannot be used, has nobody who leads, or who leads cannot start: all that is wrong with the files.
    #[error("{}", .0.iter().find(|f| f.is_error()).map(ToString::to_string).unwrap_or_default())]
    Faults(Vec<Fault>),
    /// The hub cannot be reached.
    #[error(transparent)]
    Hub(#[from] Error),
}

/// Agents at work, each of which is a file. [`stop`](Self::stop) it; dropping it stops the agents without waiting for anything.
#[derive(Debug)]
pub struct Team {
    client: Client,
    orders: mpsc::Sender<Command>,
    keeping: JoinSet<()>,
    /// Has whoever keeps the team give up what it waits for.
    leaving: CancellationToken,
}

impl Team {
    /// Starts the agents of a folder on the hub at this address, the orchestrator last. An agent that cannot start is told of, and left out. Each
    /// definition is read once and serves all requests; each request is a conversation of its own.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub async fn start(hub: &str, origin: Origin) -> Result<Self, StartError> {
        let client = Client::builder(hub).connect().await?;
        let (orders, ordered) = mpsc::channel(ORDERS);
        let mut keeper = Keeper::new(hub, origin, client.clone());
        if let Err(faults) = keeper.begin().await {
            keeper.stop(true).await;
            client.close().await;
            return Err(StartError::Faults(faults));
        }
        let leaving = keeper.leaving.clone();
        let mut keeping = JoinSet::new();
        keeping.spawn(keeper.run(ordered));
        Ok(Self {
            client,
            orders,
            keeping,
            leaving,
        })
    }

    /// The team's own connection to the hub.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The agents at work, by name.
    pub async fn members(&self) -> Vec<Member> {
        self.order(Command::Members).await.unwrap_or_default()
    }

    /// Reads the files again and changes the agents whose files have changed. Returns when that is done, with what has happened.
    pub async fn reload(&self) -> Vec<News> {
        let reload = |done| Command::Reload { all: false, done };
        self.order(reload).await.unwrap_or_default()
    }

    /// Reads the files again and makes all agents anew. What is under way ends as it began. Returns when that is done, with what has happened.
    pub async fn clear_cache(&self) -> Vec<News> {
        let reload = |done| Command::Reload { all: true, done };
        self.order(reload).await.unwrap_or_default()
    }

    /// [Reloads](Self::reload) from here on whenever files change.
    pub async fn watch(&self) {
        // The error says that it has ended.
        let _ = self.order(Command::Watch).await;
    }

    /// Waits until the hub has sent all agents away for good.
    pub async fn ended(&self) {
        self.orders.closed().await;
    }

    /// Stops the agents. Their runs go on where another process with the same journals starts them.
    pub async fn stop(self) {
        self.end(false).await;
    }

    /// Stops the agents, and has the hub forget those that it did not know before.
    pub async fn disband(self) {
        self.end(true).await;
    }

    async fn end(mut self, forget: bool) {
        self.leaving.cancel();
        let stop = |done| Command::Stop { forget, done };
        // The error says that it has ended.
        let _ = self.order(stop).await;
        self.keeping.shutdown().await;
        self.client.close().await;
    }

    async fn order<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (done, answer) = oneshot::channel();
        self.orders.send(order(done)).await.ok()?;
        answer.await.ok()
    }
}
