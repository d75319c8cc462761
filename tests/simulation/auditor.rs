//! A peer that watches all the time, and queries the hub's state at the end.

use std::time::Duration;

use agenthub_sdk::{
    Client, Error,
    proto::agenthub::{
        AgentState, ListAgentsRequest, ListDeadLettersRequest, ListMailboxesRequest,
        ListTasksRequest,
    },
};
use tokio::{sync::Semaphore, time::sleep};

use crate::{
    faults,
    ledger::{Ledger, Observation, Report},
    requesters,
};

/// Time for the world to settle after the last outcome, and interval of the checks.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(500);

/// Waits for the requesters and for calm, then until the hub's state is as expected, and notes the last state.
pub(crate) async fn run(
    done: std::sync::Arc<Semaphore>,
    requesters: u32,
    is_settled: impl Fn(&Report, &Ledger) -> bool,
    ledger: Ledger,
) -> turmoil::Result {
    let client = requesters::connect("auditor").await;
    let permits = done.acquire_many(requesters).await?;
    permits.forget();
    let elapsed = turmoil::sim_elapsed().unwrap_or_default();
    sleep(faults::CALM.saturating_sub(elapsed)).await;
    let mut waited = Duration::ZERO;
    loop {
        match report(&client).await {
            Ok(report) => {
                let settled = is_settled(&report, &ledger);
                ledger.book().report = Some(report);
                if settled {
                    break;
                }
            }
            Err(error) if waited >= PATIENCE => {
                ledger.note(Observation::Wrong(format!(
                    "the hub does not answer: {error}"
                )));
            }
            Err(_) => {}
        }
        if waited >= PATIENCE {
            break;
        }
        sleep(LOOK).await;
        waited += LOOK;
    }
    client.close().await;
    Ok(())
}

async fn report(client: &Client) -> Result<Report, Error> {
    let mut report = Report::default();
    for task in client.all_tasks(ListTasksRequest::default()).await? {
        let artifacts = task.artifacts.iter().flat_map(|a| &a.parts);
        let texts = artifacts
            .filter_map(|part| part.as_text().map(str::to_owned))
            .collect();
        report.tasks.push((task.id.clone(), task.state(), texts));
    }
    report.tasks.sort_by(|a, b| a.0.cmp(&b.0));
    for agent in client.all_agents(ListAgentsRequest::default()).await? {
        let is_online = agent.state() == AgentState::Online;
        let instances = agent.instances.into_iter().filter(|_| is_online);
        let mut instances: Vec<String> = instances.map(|i| i.instance_id).collect();
        instances.sort();
        report.agents.push((agent.agent_id, instances));
    }
    let mut present: Vec<String> = client
        .directory()
        .present()
        .iter()
        .map(|c| c.name.clone())
        .collect();
    present.sort();
    report.present = present;
    let mailboxes = client
        .operator()
        .mailboxes(ListMailboxesRequest::default())
        .await?;
    for mailbox in mailboxes.mailboxes {
        if mailbox.waiting + mailbox.leased > 0 {
            report
                .mail
                .push((mailbox.agent_id, mailbox.waiting, mailbox.leased));
        }
    }
    let letters = client
        .operator()
        .dead_letters(ListDeadLettersRequest::default())
        .await?;
    for letter in letters.dead_letters {
        report.dead_letters.push(format!(
            "{} of {}: {}",
            letter.id, letter.agent_id, letter.reason
        ));
    }
    Ok(report)
}
