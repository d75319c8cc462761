//! Requests and their results.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{Client, Delegation, Error, proto::a2a::Role};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::cast::{CHIEF, PRESS};

/// Pause before a retry.
const PAUSE: Duration = Duration::from_millis(200);

/// Counts and failures so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests that the hub accepted.
    pub(crate) asked: u64,
    /// Requests answered correctly.
    pub(crate) answered: u64,
    /// Requests answered without the work: the worker was offline when an agent was chosen.
    pub(crate) turned_down: u64,
    /// Descriptions of requests that ended otherwise.
    pub(crate) failed: Vec<String>,
    /// Ended requests, each with its task.
    ended: Vec<(String, String)>,
    /// Open requests.
    pub(crate) open: BTreeSet<String>,
}

/// End of a request.
#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    TurnedDown,
}

/// Sends requests one after the other, until closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    next: Arc<AtomicU64>,
    tally: Arc<Mutex<Tally>>,
    /// No further requests begin.
    pub(crate) closing: CancellationToken,
}

impl Requests {
    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("nobody panics while it is held")
    }

    /// Sends requests until closed.
    pub(crate) async fn ask(self, client: Client) {
        while !self.closing.is_cancelled() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            self.one(&client, number).await;
        }
    }

    async fn one(&self, client: &Client, number: u64) {
        let word = format!("w-{number}");
        let work = format!("print \"{word}\" on the printing press");
        let (to, text) = match number % 3 {
            0 => (PRESS, work),
            1 => (CHIEF, format!("let {PRESS} {work}")),
            _ => ("cortex", format!("ask {PRESS} to {work}")),
        };
        let delegation = Delegation::to(to).text(text).context_id(&*word);
        let Ok(pending) = client.delegate(delegation).await else {
            // It is unknown whether it was accepted, so the word is not used again.
            return sleep(PAUSE).await;
        };
        let named = format!("{word} at {to}");
        self.taken(&named);
        let task_id = pending.task_id().to_owned();
        let ended = match pending.outcome().await {
            Ok(outcome) if outcome.text.contains(&format!("pressed {word}")) => Ok(End::Done),
            Ok(outcome) if outcome.is_completed() && to != PRESS => Ok(End::TurnedDown),
            Ok(outcome) => Err(format!("{named}: {outcome:?}")),
            Err(error) => Err(format!("{named}: {error}")),
        };
        self.ended(named, task_id, ended);
    }

    fn taken(&self, named: &str) {
        let mut tally = self.tally();
        tally.asked += 1;
        tally.open.insert(named.to_owned());
    }

    fn ended(&self, named: String, task_id: String, ended: Result<End, String>) {
        let mut tally = self.tally();
        tally.open.remove(&named);
        tally.ended.push((named, task_id));
        match ended {
            Ok(End::Done) => tally.answered += 1,
            Ok(End::TurnedDown) => tally.turned_down += 1,
            Err(why) => tally.failed.push(why),
        }
    }

    /// Descriptions of the requests with more than one answer in the hub's record.
    pub(crate) async fn answered_twice(&self, client: &Client) -> Vec<String> {
        let ended = self.tally().ended.clone();
        let mut twice = Vec::new();
        for (named, task_id) in ended {
            let answers = answers(client, &task_id).await;
            if answers > 1 {
                twice.push(format!("{named}: {answers} answers"));
            }
        }
        twice
    }
}

/// Number of answers in the hub's record of a task.
async fn answers(client: &Client, task_id: &str) -> usize {
    loop {
        match client.task(task_id, 0).await {
            Ok(task) => {
                let answers = task.history.iter().filter(|m| m.role() == Role::Agent);
                let ids: BTreeSet<&str> = answers.map(|m| &*m.message_id).collect();
                return ids.len();
            }
            Err(Error::NotFound(_)) => return 0,
            Err(_) => sleep(PAUSE).await,
        }
    }
}
