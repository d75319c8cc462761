//! Ends the tasks whose runs are nowhere: their agent took them on, and has come back without its journal.

use std::{collections::HashSet, sync::Arc, time::Duration};

use agenthub_proto::{
    a2a::{Message, Role, Task, TaskState, TaskStatus},
    agenthub::{
        AgentEventMetadata, ListMailboxesRequest, ListTasksRequest, TaskStatusUpdateEvent,
        publish::Payload,
    },
};
use agenthub_runs::journal::{self, Filter, State};
use tokio::time::{Instant, sleep, timeout};

use super::{
    InFlight, ending,
    runs::{ANSWER, Runs},
};
use crate::{
    Agent, Client, Error,
    connection::{Scope, publish},
};

/// Time for which this instance has to be the agent's only one: another one that restarts is back by then, with its journal.
const ALONE: Duration = Duration::from_secs(10);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// After this long what cannot be told is left to the tasks' deadlines.
const PATIENCE: Duration = Duration::from_secs(600);

/// The runs of one page of a journal.
const PAGE: usize = 1_000;

/// The reason why it cannot be told at present which tasks are lost.
#[derive(Debug, thiserror::Error)]
enum Unclear {
    #[error("another instance of the agent is there")]
    NotAlone,
    #[error("mail waits, which may be their messages")]
    MailWaits,
    #[error(transparent)]
    Hub(#[from] Error),
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
}

/// Once this instance has been alone for 10 s and no mail waits, fails the tasks that the agent began before this instance was there, and
/// that nothing here knows of. A message is acknowledged when its run is in a journal that survives: without that journal nobody else
/// would ever end its task.
pub(super) async fn fail(client: Client, runs: Arc<Runs>, in_flight: Arc<InFlight>) {
    if !runs.is_durable() {
        return;
    }
    let began = Instant::now();
    let mut alone = None;
    while began.elapsed() < PATIENCE {
        let why = match look(&client, &runs, &in_flight, &mut alone).await {
            Ok(lost) => {
                for task in lost {
                    end(&client, &task).await;
                }
                return;
            }
            Err(why) => why,
        };
        tracing::trace!(%why, "it is not known yet which tasks are lost");
        sleep(PAUSE).await;
    }
    tracing::debug!("which tasks are lost was not to be found out");
}

/// The tasks that nobody works on; `alone` is since when this instance is the only one.
async fn look(
    client: &Client,
    runs: &Runs,
    in_flight: &InFlight,
    alone: &mut Option<Instant>,
) -> Result<Vec<Task>, Unclear> {
    let entry = client.agent(client.agent_id()).await?;
    let is_other = |id: &str| id != client.instance_id();
    if entry.instances.iter().any(|i| is_other(&i.instance_id)) {
        *alone = None;
        return Err(Unclear::NotAlone);
    }
    if alone.get_or_insert_with(Instant::now).elapsed() < ALONE {
        return Err(Unclear::NotAlone);
    }
    let tasks = client
        .all_tasks(ListTasksRequest {
            agent_id: client.agent_id().to_owned(),
            states: vec![TaskState::Working.into()],
            ..Default::default()
        })
        .await?;
    let mail = client
        .operator()
        .mailboxes(ListMailboxesRequest {
            agent_id: client.agent_id().to_owned(),
            ..Default::default()
        })
        .await?;
    if mail.mailboxes.iter().any(|mailbox| mailbox.waiting > 0) {
        return Err(Unclear::MailWaits);
    }
    // What is delivered is in hand by now, and what is in hand has its run in the journal before it is let go of.
    let in_hand: HashSet<String> = in_flight.tasks().into_iter().collect();
    let mut lost = Vec::new();
    let open = open_runs(runs).await?;
    for task in tasks {
        if task.assignee() != client.agent_id() || in_hand.contains(&task.id) {
            continue;
        }
        let whole = client.task(&task.id, 0).await?;
        let is_open = |message: &Message| {
            let run = Agent::run_of(client.agent_id(), &task.id, &message.message_id);
            open.contains(run.as_str())
        };
        if !whole.history.iter().any(is_open) {
            lost.push(whole);
        }
    }
    Ok(lost)
}

/// The runs of this agent that are not over, whoever drives them.
async fn open_runs(runs: &Runs) -> Result<HashSet<String>, journal::JournalError> {
    let Some(journal) = runs.journal() else {
        return Ok(HashSet::new());
    };
    let mut filter = Filter {
        owner: Some(runs.owner().to_owned()),
        states: vec![State::Working],
        limit: PAGE,
        ..Filter::default()
    };
    let mut open = HashSet::new();
    loop {
        let page = timeout(ANSWER, journal.list(&filter))
            .await
            .map_err(|_| journal::JournalError::Unavailable("no answer in time".to_owned()))??;
        filter.before = page.last().map(|listed| listed.cursor.clone());
        let is_last = page.len() < PAGE;
        open.extend(
            page.into_iter()
                .map(|listed| listed.run.as_str().to_owned()),
        );
        if is_last {
            return Ok(open);
        }
    }
}

async fn end(client: &Client, task: &Task) {
    let failure = ending::cannot_go_on("its agent has come back without the journal of it");
    tracing::error!(task_id = task.id, error = %failure, "a task is given up");
    let status = TaskStatus {
        state: TaskState::Failed.into(),
        update: Some(Message {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            ..Message::new(Role::Agent, &failure.text)
        }),
        ..Default::default()
    };
    let update = TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: Some(status),
        r#final: true,
        ..Default::default()
    };
    let routing = AgentEventMetadata {
        from_agent_id: client.agent_id().to_owned(),
        ..Default::default()
    };
    let publish = publish(Payload::StatusUpdate(update), routing);
    let told = client.link().publish_one(publish, Scope::Any, ANSWER).await;
    if let Err(error) = told {
        tracing::debug!(task_id = task.id, %error, "the task has another end");
    }
}
