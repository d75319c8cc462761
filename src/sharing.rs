//! Agents of one namespace in the directories of others, by explicit grants of the policy. Each grant is carried out by a part of this process that is a client in the
//! one namespace and an agent in the other (`lender.rs`, its handler `carrying.rs`); the hubs know nothing of each other.

mod carrying;
mod lender;
mod record;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use agenthub_access::{Identities, Loan, Namespace};
use futures_util::future::join_all;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use self::{
    lender::{Lender, end},
    record::Record,
};

/// Interval of looking which agents are shared.
const LOOK: Duration = Duration::from_millis(250);

/// Looks between two tries to end what could not be ended.
const TRY_AGAIN: u32 = 40;

/// The namespaces there are, and the addresses of their hubs for parts of this process; `None` while one is not open.
pub(crate) type OpenSpaces = BTreeMap<Namespace, Option<String>>;

/// All shared agents. [`stop`](Self::stop) them before the hubs.
pub(crate) struct Sharing {
    stop: CancellationToken,
    keeping: JoinHandle<()>,
}

/// A shared agent that is served.
struct Served {
    /// The addresses of both hubs.
    hubs: (String, String),
    stop: CancellationToken,
    running: JoinHandle<()>,
}

struct Keeper {
    identities: Identities,
    spaces: watch::Receiver<OpenSpaces>,
    record: Record,
    served: BTreeMap<Loan, Served>,
}

impl Sharing {
    /// Serves what the policy shares between the namespaces that are open, and keeps up with both. `file` is where it is noted what is served.
    pub(crate) fn start(
        identities: Identities,
        spaces: watch::Receiver<OpenSpaces>,
        file: Option<PathBuf>,
    ) -> Self {
        let keeper = Keeper {
            identities,
            spaces,
            record: Record::open(file),
            served: BTreeMap::new(),
        };
        let stop = CancellationToken::new();
        let keeping = tokio::spawn(keeper.keep(stop.clone()));
        Self { stop, keeping }
    }

    /// Has all of them leave; what they carry goes on when they are back. Takes 9 s at most.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        let _ = self.keeping.await;
    }
}

impl Keeper {
    async fn keep(mut self, stop: CancellationToken) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pause = 0_u32;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = looks.tick() => {}
            }
            let granted = self.identities.loans();
            let spaces = self.spaces.borrow().clone();
            self.stop_served(&granted, &spaces).await;
            pause = pause.saturating_sub(1);
            if pause == 0 && !self.end_withdrawn(&granted, &spaces).await {
                pause = TRY_AGAIN;
            }
            self.serve(&granted, &spaces);
        }
        let leaving = std::mem::take(&mut self.served).into_values();
        join_all(leaving.map(Served::stop)).await;
    }

    /// Stops those that are granted no longer, or one of whose namespaces is closed or was opened anew.
    async fn stop_served(&mut self, granted: &BTreeSet<Loan>, spaces: &OpenSpaces) {
        let is_over = |loan: &Loan, served: &mut Served| {
            !granted.contains(loan) || hubs(loan, spaces).as_ref() != Some(&served.hubs)
        };
        let over: Vec<Served> = self
            .served
            .extract_if(.., is_over)
            .map(|(_, served)| served)
            .collect();
        join_all(over.into_iter().map(Served::stop)).await;
    }

    /// Takes those out of the directories that are granted no longer, and ends what is open. False if one could not be ended.
    async fn end_withdrawn(&mut self, granted: &BTreeSet<Loan>, spaces: &OpenSpaces) -> bool {
        let mut is_done = true;
        for loan in &self.record.loans() - granted {
            let [from, to] = [&loan.from, &loan.to].map(|namespace| spaces.get(namespace));
            if from == Some(&None) || to == Some(&None) {
                is_done = false;
                continue;
            }
            // Where a namespace is gone for good, there is nothing left to end in it.
            let [from, to] = [from, to].map(|hub| hub.and_then(Option::as_deref));
            match end(&loan, from, to).await {
                Ok(()) => {
                    tracing::info!(agent = loan.name, namespace = %loan.to, "is shared no longer");
                    self.record.remove(&loan);
                }
                Err(error) => {
                    tracing::warn!(agent = loan.name, namespace = %loan.to, "cannot be withdrawn yet: {error:#}");
                    is_done = false;
                }
            }
        }
        is_done
    }

    fn serve(&mut self, granted: &BTreeSet<Loan>, spaces: &OpenSpaces) {
        for loan in granted {
            if self.served.contains_key(loan) {
                continue;
            }
            let Some(hubs) = hubs(loan, spaces) else {
                continue;
            };
            let stop = CancellationToken::new();
            let lender = Lender::new(loan.clone(), hubs.clone(), self.record.clone());
            let served = Served {
                hubs,
                running: tokio::spawn(lender.run(stop.clone())),
                stop,
            };
            self.served.insert(loan.clone(), served);
        }
    }
}

impl Served {
    async fn stop(self) {
        self.stop.cancel();
        let _ = self.running.await;
    }
}

/// The addresses of both hubs, if both are open.
fn hubs(loan: &Loan, spaces: &OpenSpaces) -> Option<(String, String)> {
    let from = spaces.get(&loan.from)?.clone()?;
    Some((from, spaces.get(&loan.to)?.clone()?))
}
