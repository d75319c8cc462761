//! The workers around the hub: their start and end.

use std::{sync::Arc, time::Duration};

use agenthub_sdk::{Client, RunningAgent, hub::Connection};
use anyhow::Context as _;
use tokio::{sync::watch, time::timeout};
use tokio_util::task::TaskTracker;

use super::{
    board::Board,
    ledger::{Context, Witness},
    publisher,
    subscriber::{self, Subscriber},
    tasks,
};

/// The subscribers of mail.
pub(crate) const SUBSCRIBERS: [&str; 2] = ["bench-subscriber-0", "bench-subscriber-1"];
/// Context of the probe, whose mail goes to the first subscriber.
pub(crate) const PROBE: usize = 0;
/// Contexts of each publisher of mail.
const MAIL: [[usize; 3]; 4] = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];
/// Contexts of each requester of tasks.
const TASKS: [[usize; 2]; 2] = [[13, 14], [15, 16]];
/// Timeout of the first hub's start.
const JOIN: Duration = Duration::from_secs(20);
/// Timeout of reconnecting to a running hub.
const RETURN: Duration = Duration::from_secs(10);
/// Timeout of disconnecting.
const LEAVE: Duration = Duration::from_secs(10);

/// All contexts with their witnesses.
pub(crate) fn contexts() -> Vec<Context> {
    let context = |witnesses: &[Witness]| Context {
        witnesses: witnesses.to_vec(),
    };
    let mail = 1 + MAIL.as_flattened().len();
    let tasks = TASKS.as_flattened().len();
    let mail = (0..mail).map(|_| context(&subscriber::WITNESSES));
    let tasks = (0..tasks).map(|_| context(&tasks::WITNESSES));
    mail.chain(tasks).collect()
}

/// All workers.
pub(crate) struct Workers {
    board: Arc<Board>,
    /// Publishers and requesters.
    senders: TaskTracker,
    receivers: TaskTracker,
    clients: Vec<Client>,
    worker: RunningAgent,
}

impl Workers {
    /// Starts them as soon as the hub is ready.
    ///
    /// # Errors
    ///
    /// The hub does not start or refuses one of them.
    pub(crate) async fn start(url: &str, board: &Arc<Board>, seed: u64) -> anyhow::Result<Self> {
        let (senders, receivers) = (TaskTracker::new(), TaskTracker::new());
        let mut rng = fastrand::Rng::with_seed(seed);
        for agent in SUBSCRIBERS {
            for witness in 0..subscriber::WITNESSES.len() {
                let subscriber =
                    Subscriber::new(agent, witness, url.to_owned(), board.clone(), rng.fork());
                let joined = subscriber.joined.clone();
                receivers.spawn(subscriber.run());
                timeout(JOIN, joined.cancelled())
                    .await
                    .with_context(|| format!("{agent} cannot subscribe: is the hub up?"))?;
            }
        }
        let worker = tasks::worker(url, board.clone(), seed)
            .await
            .context("the worker cannot start")?;

        let mut clients = Vec::new();
        for contexts in MAIL {
            let client = Client::builder(url)
                .connect()
                .await
                .context("a publisher")?;
            for context in contexts {
                let to = SUBSCRIBERS[context % SUBSCRIBERS.len()];
                senders.spawn(publisher::publish(
                    client.clone(),
                    board.clone(),
                    context,
                    to,
                ));
            }
            clients.push(client);
        }
        for contexts in TASKS {
            let client = Client::builder(url)
                .connect()
                .await
                .context("a requester")?;
            for context in contexts {
                senders.spawn(tasks::request(client.clone(), board.clone(), context));
            }
            clients.push(client);
        }
        senders.close();
        receivers.close();
        Ok(Self {
            board: board.clone(),
            senders,
            receivers,
            clients,
            worker,
        })
    }

    /// Waits until the SDK's connections are back, or the timeout.
    pub(crate) async fn are_back(&self) {
        let connections = self
            .clients
            .iter()
            .chain([self.worker.client()])
            .map(Client::connection);
        let all = futures_util::future::join_all(connections.map(is_back));
        // A later worker has its publishes in flight at the next kill all the same.
        let _ = timeout(RETURN, all).await;
    }

    /// Begins nothing more, and waits until everything has arrived, or nothing arrives for `patience`.
    pub(crate) async fn finish(self, patience: Duration) {
        self.board.closing.cancel();
        self.board.settle(&self.senders, patience).await;
        self.board.over.cancel();
        let leaving = async {
            self.worker.stop().await;
            for client in &self.clients {
                client.close().await;
            }
            self.senders.wait().await;
            self.receivers.wait().await;
        };
        // The end of the hub after this ends the rest.
        let _ = timeout(LEAVE, leaving).await;
    }
}

async fn is_back(mut connection: watch::Receiver<Connection>) {
    let connected = |c: &Connection| !matches!(c, Connection::Reconnecting { .. });
    // An error means that the client is closed.
    let _ = connection.wait_for(connected).await;
}
