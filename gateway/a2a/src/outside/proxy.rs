//! One agent elsewhere as it is called at present, and the tasks that it has of the hub.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use agenthub_sdk::{Client, Error as HubError, Failure, Reply, TaskContext};
use futures_util::future::join_all;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout, timeout_at},
};

use super::{
    conversation::{Conversation, get},
    outcome,
    tasks::{RemoteTask, Tasks, now},
    telling,
};
use crate::{
    client::{self, Remote},
    error::Kind,
    v1::{CancelTaskRequest, Message, SendMessageRequest},
};

/// Time in which the agent elsewhere has to be told that its task is cancelled.
const CANCEL: Duration = Duration::from_secs(3);

/// Time in which a message that is under way as its task is cancelled has to become a task there. With [`CANCEL`] it is less than a handler has
/// to end.
const UNDER_WAY: Duration = Duration::from_millis(1_500);

/// Time for which it is looked for there if it has not become one by then, in seconds.
const LOOKED_FOR: u64 = 30;

/// The same for all tasks of an agent that is removed.
const CANCEL_ALL: Duration = Duration::from_secs(20);

/// Tasks that are cancelled at the same time.
const AT_ONCE: usize = 16;

/// Tasks without a handler that are looked up between two looks at the card.
const MAX_LOOKED_UP: usize = 100;

/// Time for these.
const LOOK_UP: Duration = Duration::from_secs(20);

/// Time for the look at the card of an agent whose address answers as if it were another's.
const LOOK: Duration = Duration::from_secs(20);

/// One agent elsewhere.
pub(super) struct Proxy {
    /// Its id on the hub.
    pub(super) agent: String,
    /// As its card says at present.
    remote: RwLock<Remote>,
    tasks: Arc<Mutex<Tasks>>,
    /// Tasks whose handlers are at work here.
    in_hand: Mutex<HashSet<String>>,
    /// A call has failed: the agent may be away, or elsewhere.
    pub(super) doubt: Notify,
    /// Number of looks at the card.
    looks: watch::Sender<u64>,
}

/// A task with a handler, for as long as this lives.
struct InHand<'a> {
    proxy: &'a Proxy,
    key: &'a str,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        self.proxy.in_hand().remove(self.key);
    }
}

/// Tasks of an agent that is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cancelled {
    /// Number of those that the agent was told of.
    pub(super) told: u32,
    /// Number of those that may go on.
    pub(super) left: u32,
}

impl Proxy {
    pub(super) fn new(agent: &str, remote: Remote, tasks: Arc<Mutex<Tasks>>) -> Self {
        Self {
            agent: agent.to_owned(),
            remote: RwLock::new(remote),
            tasks,
            in_hand: Mutex::default(),
            doubt: Notify::new(),
            looks: watch::Sender::new(0),
        }
    }

    /// Calls from here on are for this one.
    pub(super) fn replace(&self, remote: Remote) {
        *self.remote.write().unwrap_or_else(PoisonError::into_inner) = remote;
    }

    pub(super) fn remote(&self) -> Remote {
        self.remote
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The card was looked at, whatever came of it.
    pub(super) fn looked(&self) {
        self.looks.send_modify(|looks| *looks += 1);
    }

    /// Has the card looked at; true if the agent is called elsewhere from now on.
    pub(super) async fn has_moved(&self, from: &Remote) -> bool {
        if self.remote().interface() != from.interface() {
            return true;
        }
        let mut looks = self.looks.subscribe();
        self.doubt.notify_one();
        let _ = timeout(LOOK, looks.changed()).await;
        self.remote().interface() != from.interface()
    }

    /// Hands a message on. Dropped at any point, it is taken up where it was when the message is delivered again.
    pub(super) async fn work(self: Arc<Self>, task: TaskContext) -> Result<Reply, Failure> {
        if task.task_id().is_empty() && task.routing().to_agent_id.is_empty() {
            // It was said to everybody.
            return Ok(Reply::none());
        }
        let key = key(&task);
        self.in_hand().insert(key.to_owned());
        let _in_hand = InHand { proxy: &self, key };
        let conversation = Conversation::new(&self, &task);
        let cancelled = async {
            task.cancelled().await;
            let _ = timeout(UNDER_WAY, conversation.is_known()).await;
        };
        let ended = tokio::select! {
            biased;
            () = cancelled => None,
            ended = conversation.hold() => Some(ended),
            () = conversation.pass_on() => None,
        };
        // One that is cancelled ends by itself, without telling the agent.
        if let Some(ended) = ended.filter(|_| !task.cancellation().is_cancelled()) {
            return ended;
        }
        // The hub knows already.
        match self.remote_task(key).await {
            Ok(Some(handed)) => _ = self.cancel(key, handed).await,
            Ok(None) => self.cancel_once_it_is_there(&task).await,
            Err(error) => {
                tracing::warn!(%error, "a task elsewhere may go on: it cannot be looked up");
            }
        }
        Err(Failure::cancelled("the task was cancelled"))
    }

    /// Notes a message that may be under way as its task is cancelled. The looks that follow find what becomes of it.
    async fn cancel_once_it_is_there(&self, task: &TaskContext) {
        let message = task.message();
        let sent = RemoteTask {
            context_id: message.context_id.clone(),
            message_id: message.message_id.clone(),
            agent: self.agent.clone(),
            at: now(),
            ..RemoteTask::default()
        };
        if let Err(error) = self.note(key(task), sent).await {
            tracing::warn!(%error, "a task elsewhere may go on: it cannot be noted");
        }
        self.doubt.notify_one();
    }

    /// True if a message was under way as its task was cancelled, and is still looked for.
    pub(super) async fn looks_for_a_message(&self) -> bool {
        let open = self.open().await;
        open.iter().any(|(_, handed)| handed.id.is_empty())
    }

    /// Brings tasks without a handler here, as after a restart, to the end that they have on one side: those that have ended on the hub are
    /// cancelled elsewhere, and the hub is told of those that have ended elsewhere. `from` says with which to begin. What is left after
    /// [`LOOK_UP`] is for a later look.
    pub(super) async fn settle_abandoned(&self, hub: &Client, from: usize) {
        let deadline = Instant::now() + LOOK_UP;
        let open = self.open().await;
        let some = open.len().min(MAX_LOOKED_UP);
        let first = from.checked_rem(open.len()).unwrap_or_default();
        for (id, handed) in open.into_iter().cycle().skip(first).take(some) {
            let settled = timeout_at(deadline, self.settle(hub, &id, handed)).await;
            if settled.is_err() {
                return;
            }
        }
    }

    async fn settle(&self, hub: &Client, id: &str, handed: RemoteTask) {
        // One that is not known to have ended goes on.
        let Ok(task) = hub.task(id, -1).await else {
            return;
        };
        if task.state().is_terminal() {
            self.cancel(id, handed).await;
            return;
        }
        if handed.id.is_empty() {
            return;
        }
        let Ok(there) = self.remote().get_task(get(&handed)).await else {
            return;
        };
        // A message of it may have come meanwhile: then its handler shows the end.
        if !outcome::has_ended(&there) || self.in_hand().contains(id) {
            return;
        }
        match telling::tell(hub, &task, there).await {
            // A conflict: it has ended, or is another one's.
            Ok(()) | Err(HubError::Conflict(_)) => self.forget(id).await,
            Err(error) => {
                tracing::warn!(%error, task = id, "the hub is not told that a task elsewhere has ended");
            }
        }
    }

    /// Cancels all that is open, as the agent is removed.
    pub(super) async fn cancel_all(&self) -> Cancelled {
        let deadline = Instant::now() + CANCEL_ALL;
        let open = self.open().await;
        let mut told = 0;
        for some in open.chunks(AT_ONCE) {
            let mut cancelling = Vec::new();
            for (id, handed) in some {
                cancelling.push(timeout_at(deadline, self.cancel(id, handed.clone())));
            }
            let cancelled = join_all(cancelling).await;
            told += cancelled.iter().filter(|told| **told == Ok(true)).count();
        }
        let (all, told) = (count(open.len()), count(told));
        Cancelled {
            told,
            left: all - told,
        }
    }

    /// The tasks that were handed on and have no handler here.
    async fn open(&self) -> Vec<(String, RemoteTask)> {
        let agent = self.agent.clone();
        let open = self.on_disk(move |tasks| Ok(tasks.of(&agent))).await;
        let mut open = open.unwrap_or_default();
        let in_hand = self.in_hand();
        open.retain(|(id, _)| !in_hand.contains(id));
        open
    }

    /// Tells the agent elsewhere that a task of it is cancelled. A task of which it could not be told stays known, so that it is told later;
    /// then this is false.
    async fn cancel(&self, key: &str, handed: RemoteTask) -> bool {
        let remote = self.remote();
        let id = match handed.id.is_empty() {
            false => handed.id,
            true => match timeout(CANCEL, remote.find_sent(&sent(&handed))).await {
                Ok(Some(found)) => found.id,
                _ => {
                    if now() > handed.at + LOOKED_FOR {
                        self.forget(key).await;
                    }
                    return false;
                }
            },
        };
        let request = CancelTaskRequest {
            id,
            ..Default::default()
        };
        match timeout(CANCEL, remote.cancel_task(request)).await {
            Ok(Ok(_)) => {}
            Ok(Err(failure)) if has_ended(&failure) => {}
            Ok(Err(failure)) => {
                tracing::warn!(agent = self.agent, %failure, "a task elsewhere may go on: it is not cancelled");
                if failure.is_retryable() {
                    return false;
                }
                self.forget(key).await;
                return false;
            }
            Err(_) => {
                tracing::warn!(
                    agent = self.agent,
                    "a task elsewhere may go on: the agent does not answer"
                );
                return false;
            }
        }
        self.forget(key).await;
        true
    }

    /// The task elsewhere that a message of this task was handed on to.
    pub(super) async fn remote_task(&self, key: &str) -> io::Result<Option<RemoteTask>> {
        let key = key.to_owned();
        self.on_disk(move |tasks| Ok(tasks.get(&key))).await
    }

    pub(super) async fn note(&self, key: &str, handed: RemoteTask) -> io::Result<()> {
        let key = key.to_owned();
        self.on_disk(move |tasks| tasks.hand(&key, handed)).await
    }

    pub(super) async fn forget(&self, key: &str) {
        let key = key.to_owned();
        if let Err(error) = self.on_disk(move |tasks| tasks.forget(&key)).await {
            tracing::warn!(%error, "that a task elsewhere has ended is not noted");
        }
    }

    /// Reads or writes where that holds nobody up: whoever writes keeps the tasks locked until the disk has them.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tasks) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let tasks = Arc::clone(&self.tasks);
        let done = tokio::task::spawn_blocking(move || {
            work(&mut tasks.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.await.map_err(io::Error::other)?
    }

    fn in_hand(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task by which the hub knows it; of a message without one, the message.
pub(super) fn key(task: &TaskContext) -> &str {
    match task.task_id() {
        "" => &task.message().message_id,
        id => id,
    }
}

/// The message of which no task is known, as it was sent.
fn sent(handed: &RemoteTask) -> SendMessageRequest {
    let message = Message {
        message_id: handed.message_id.clone(),
        context_id: handed.context_id.clone(),
        ..Default::default()
    };
    SendMessageRequest {
        message: Some(message),
        ..Default::default()
    }
}

/// True if there is nothing to cancel any more.
fn has_ended(failure: &client::Failure) -> bool {
    failure.is(Kind::TaskNotCancelable) || failure.is(Kind::TaskNotFound)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
