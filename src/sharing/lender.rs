//! One shared agent: in the directory that it is lent to while it is there where it belongs.

use std::{future::pending, sync::Arc, time::Duration};

use agenthub_access::{Loan, SHARED_WITH};
use agenthub_proto::{a2a::AgentCard, agenthub::ListTasksRequest};
use agenthub_sdk::{Agent, Client, Error, RunningAgent, hub::Directory};
use anyhow::{Context, bail};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    carrying::{Carrier, FOR_TASK},
    record::Record,
};

/// Time for which an agent that has work in hand may be away, to start again, before it is away where it is lent.
const GRACE: Duration = Duration::from_secs(15);

/// Pause before something that failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Interval of looking for tasks that have ended where they were asked for, and go on where they are done.
const RECONCILE: Duration = Duration::from_secs(10);

/// Time for ending what a withdrawn loan has open.
const ENDING: Duration = Duration::from_secs(20);

/// Words for requesters of an agent that is shared no longer.
const WITHDRAWN: &str = "the agent is shared with this namespace no longer";

/// A shared agent.
pub(super) struct Lender {
    loan: Loan,
    /// Its own namespace, and the one to which it is lent.
    hubs: (String, String),
    record: Record,
}

/// The agent in the directory that it is lent to.
struct Lent {
    agent: RunningAgent,
    card: Arc<AgentCard>,
    /// Time since which it is away where it belongs.
    away: Option<Instant>,
}

impl Lender {
    pub(super) fn new(loan: Loan, hubs: (String, String), record: Record) -> Self {
        Self { loan, hubs, record }
    }

    /// Serves it until it is to stop, and leaves both hubs then.
    pub(super) async fn run(self, stop: CancellationToken) {
        loop {
            let served = tokio::select! {
                served = self.serve(&stop) => served,
                () = stop.cancelled() => return,
            };
            match served {
                Ok(()) => return,
                Err(error) => {
                    let Loan { name, to, .. } = &self.loan;
                    tracing::warn!(agent = name, namespace = %to, "cannot be shared yet: {error:#}");
                }
            }
            tokio::select! {
                () = sleep(AGAIN) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn serve(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let client = connected(&self.loan, &self.hubs.0).await?;
        let carrier = Arc::new(Carrier::new(self.loan.clone(), client.clone()));
        let mut lent = None;
        let served = self.keep(&carrier, &mut lent, stop).await;
        if let Some(Lent { agent, .. }) = lent {
            agent.stop().await;
        }
        client.close().await;
        served
    }

    async fn keep(
        &self,
        carrier: &Arc<Carrier>,
        lent: &mut Option<Lent>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let directory = carrier.client().directory();
        let mut changed = directory.changed();
        let mut looks = interval(RECONCILE);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            changed.mark_unchanged();
            self.follow(&directory, carrier, lent).await?;
            let due = lent.as_ref().and_then(|lent| lent.away);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                ended = changed.changed() => if ended.is_err() {
                    bail!("the hub has closed the connection");
                },
                _ = looks.tick() => {
                    if let Some(lent) = lent {
                        reconcile(&self.loan, carrier, lent.agent.client()).await;
                    }
                }
                reason = closed(lent.as_ref()) => bail!("the directory has no place for it: {reason}"),
                () = over(due) => {}
            }
        }
    }

    /// Is there as the agent is.
    async fn follow(
        &self,
        directory: &Directory,
        carrier: &Arc<Carrier>,
        lent: &mut Option<Lent>,
    ) -> anyhow::Result<()> {
        let entry = directory.get(&self.loan.agent);
        let online = entry.filter(|entry| entry.online).map(|entry| entry.card);
        match (lent.as_mut(), online) {
            (None, None) => {}
            (None, Some(card)) => {
                let agent = self.bring(&card, carrier).await?;
                *lent = Some(Lent {
                    agent,
                    card,
                    away: None,
                });
            }
            (Some(lent), Some(card)) => {
                lent.away = None;
                if lent.card != card {
                    lent.agent.replace(self.agent(&card, carrier)?).await?;
                    lent.card = card;
                }
            }
            (Some(there), None) => {
                let since = *there.away.get_or_insert_with(Instant::now);
                let is_over = !carrier.has_work() || since.elapsed() >= GRACE;
                if is_over && let Some(Lent { agent, .. }) = lent.take() {
                    agent.stop().await;
                }
            }
        }
        Ok(())
    }

    async fn bring(
        &self,
        card: &AgentCard,
        carrier: &Arc<Carrier>,
    ) -> anyhow::Result<RunningAgent> {
        let Loan { name, to, .. } = &self.loan;
        if !self.record.has(&self.loan) {
            let hub = connected(&self.loan, &self.hubs.1).await?;
            let found = hub.agent(name).await;
            hub.close().await;
            match found {
                Err(Error::NotFound(_)) => {}
                Ok(_) => bail!(
                    "{to} has an agent \"{name}\" of its own: give this one another id with `as`"
                ),
                Err(error) => return Err(error.into()),
            }
            let noted = self.record.add(&self.loan);
            noted.context("it cannot be noted that it is shared")?;
        }
        let agent = self.agent(card, carrier)?.start(&self.hubs.1).await?;
        tracing::info!(agent = name, namespace = %to, "is shared");
        Ok(agent)
    }

    fn agent(&self, card: &AgentCard, carrier: &Arc<Carrier>) -> Result<Agent, Error> {
        let card = lent_card(card, &self.loan.name);
        let skills: Vec<String> = card.skills.iter().map(|skill| skill.id.clone()).collect();
        let carrier = Arc::clone(carrier);
        Agent::worker(card)
            .topics(skills)
            // The same in every process, so that the next one takes up at once what the last one left.
            .instance_id(format!("{}.shared", self.loan.name))
            .on_any(move |task| Arc::clone(&carrier).carry(task))
            // What is at work is taken up again by whoever comes after it.
            .drain_timeout(Duration::ZERO)
            .build()
    }
}

/// The card as it stands in the other directory: without addresses of the agent itself and signatures of another id.
fn lent_card(card: &AgentCard, name: &str) -> AgentCard {
    AgentCard {
        name: name.to_owned(),
        url: String::new(),
        additional_interfaces: Vec::new(),
        supported_interfaces: Vec::new(),
        signatures: Vec::new(),
        security_schemes: std::collections::HashMap::default(),
        security_requirements: Vec::new(),
        supports_authenticated_extended_card: false,
        ..card.clone()
    }
}

/// A client by the id under which a hub knows this loan.
async fn connected(loan: &Loan, hub: &str) -> Result<Client, Error> {
    let id = requester(loan);
    let client = Client::builder(hub).agent_id(id).watch_agents(true);
    client.connect().await
}

/// The requester of what is asked for another namespace.
fn requester(loan: &Loan) -> String {
    format!("{SHARED_WITH}{}.{}", loan.to, loan.agent)
}

/// Calls back what has ended where it was asked for, as it was cancelled while nobody carried it.
async fn reconcile(loan: &Loan, carrier: &Carrier, there: &Client) {
    let Ok(open) = open_tasks(loan, carrier.client()).await else {
        return;
    };
    for (id, asked) in open {
        let is_over = match there.task(&asked, 0).await {
            Ok(task) => task.state().is_terminal(),
            Err(Error::NotFound(_)) => true,
            Err(_) => false,
        };
        if is_over && !carrier.carries(&id) {
            let recalled = carrier
                .client()
                .recall(&id, "it is not waited for any longer");
            let _ = timeout(ENDING, recalled).await;
        }
    }
}

/// The tasks of a loan that are open where they are done, each with the one for which it is.
async fn open_tasks(loan: &Loan, client: &Client) -> Result<Vec<(String, String)>, Error> {
    let request = ListTasksRequest {
        agent_id: requester(loan),
        ..Default::default()
    };
    let tasks = client.all_tasks(request).await?;
    let open = tasks.into_iter().filter(|task| !task.state().is_terminal());
    let open = open.map(|task| {
        let first = task.history.first();
        let asked = first.map(|message| message.metadata_str(FOR_TASK).to_owned());
        (task.id, asked.unwrap_or_default())
    });
    Ok(open.collect())
}

/// Takes a loan that is granted no longer out of the directory, and ends what is open. A namespace that is not open has nothing to end.
///
/// # Errors
///
/// A hub does not answer.
pub(super) async fn end(loan: &Loan, from: Option<&str>, to: Option<&str>) -> anyhow::Result<()> {
    if let Some(hub) = to {
        let client = connected(loan, hub).await?;
        let removed = client.operator().unregister(&*loan.name, WITHDRAWN).await;
        client.close().await;
        match removed {
            Ok(()) | Err(Error::NotFound(_) | Error::Invalid(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(hub) = from {
        let client = connected(loan, hub).await?;
        let ended = async {
            for (id, _) in open_tasks(loan, &client).await? {
                let why = format!("the agent is shared with {} no longer", loan.to);
                client.recall(&id, &why).await;
            }
            anyhow::Ok(())
        };
        let ended = timeout(ENDING, ended).await;
        client.close().await;
        ended.context("not all tasks have ended in time")??;
    }
    Ok(())
}

async fn over(away: Option<Instant>) {
    match away {
        Some(since) => tokio::time::sleep_until(since + GRACE).await,
        None => pending().await,
    }
}

async fn closed(lent: Option<&Lent>) -> String {
    match lent {
        Some(lent) => lent.agent.closed().await,
        None => pending().await,
    }
}
