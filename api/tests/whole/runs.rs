//! Runs over gRPC: started, watched, called back, found again.

mod beginning;
mod counting;
mod elsewhere;
mod foreign;
mod keeping;
mod listing;
mod slow;
pub(super) mod steering;
mod watching;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agenthub_broker::Server;
use agenthub_cortex::{CHAT_REQUEST, CORTEX, Running};
use agenthub_sdk::{
    Agent, AgentBuilder, Card, Delegation, Phase, Skill, TaskContext,
    model::{Offline, Scripted},
    proto::{
        a2a::{Message, Part, Role, TaskState},
        cortex::{
            Approval, CancelRunRequest, Constraints, DecideApprovalRequest, Frame,
            GetRunGraphRequest, GetRunPlanRequest, GetRunRequest, ListRunsRequest,
            RecordResultsRequest, ResumeRunRequest, Run, RunBudget, StartRunRequest,
            WatchApprovalsRequest, WatchRunRequest, cortex_client::CortexClient,
        },
        json,
    },
    runs::{
        Budget, Journal, RunEvent, RunId, RunStarted, StepResult,
        journal::{Claim, JournalDecorator, JournalError, MemoryJournal, OpenedRun},
    },
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::{Code, transport::Channel};

use crate::{frames::serve, harness::*};

type Client = CortexClient<Channel>;

fn chat(objective: &str) -> StartRunRequest {
    StartRunRequest {
        objective: objective.to_owned(),
        mode: "chat".to_owned(),
        ..StartRunRequest::default()
    }
}

fn app(objective: &str) -> StartRunRequest {
    StartRunRequest {
        objective: objective.to_owned(),
        ..StartRunRequest::default()
    }
}

async fn start(client: &mut Client, request: StartRunRequest) -> Run {
    let started = within(client.start_run(request)).await;
    started.expect("it is taken").into_inner()
}

async fn get(client: &mut Client, id: &str) -> Run {
    let id = id.to_owned();
    let run = within(client.get_run(GetRunRequest { id })).await;
    run.expect("it is there").into_inner()
}

async fn frames(client: &mut Client, id: &str, after_sequence: u64) -> Vec<Frame> {
    let id = id.to_owned();
    let request = WatchRunRequest { id, after_sequence };
    let mut stream = within(client.watch_run(request))
        .await
        .expect("it is there")
        .into_inner();
    let mut frames = Vec::new();
    while let Some(frame) = within(stream.message()).await.expect("frames") {
        frames.push(frame);
    }
    frames
}

async fn list(client: &mut Client, request: ListRunsRequest) -> (Vec<String>, String) {
    let page = within(client.list_runs(request)).await;
    let page = page.expect("a page").into_inner();
    let runs = page.runs.into_iter().map(|run| run.id).collect();
    (runs, page.next_page_token)
}

async fn cancel(client: &mut Client, id: &str) -> Result<Run, tonic::Status> {
    let request = CancelRunRequest {
        id: id.to_owned(),
        reason: "enough".to_owned(),
    };
    Ok(within(client.cancel_run(request)).await?.into_inner())
}

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| &*frame.r#type).collect()
}

/// The beginning of a run of this strategy.
fn started(strategy: &str, origin: Value) -> RunEvent {
    RunEvent::Started(RunStarted {
        strategy: strategy.to_owned(),
        input: Value::Null,
        thread: String::new(),
        origin,
        budget: Budget::default(),
        deadline_ms: None,
        at_ms: 0,
    })
}

/// A journal in memory that says that it is not lost, and so is taken up like one on a disk.
#[derive(Debug, Default)]
struct Kept(MemoryJournal);

#[tonic::async_trait]
impl JournalDecorator for Kept {
    fn inner(&self) -> &dyn Journal {
        &self.0
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn open(
        &self,
        run: &RunId,
        owner: &str,
        claim: Claim<'_>,
        first: &[RunEvent],
    ) -> Result<OpenedRun, JournalError> {
        self.0.open(run, owner, claim, first).await
    }
}
