//! Tasks: requesters that delegate, and a worker, both with the SDK.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agenthub_sdk::{
    Agent, Card, Client, Delegation, Error, RunningAgent, Skill, TaskContext, proto::a2a::Role,
};
use tokio::time::sleep;

use super::{
    board::Board,
    ledger::Witness,
    operation::Operation,
    publisher::{begin_all, refused},
};

/// Witnesses of a task's effect: its worker, the hub's record of its answers, and its requester.
pub(crate) const WITNESSES: [Witness; 3] = [
    Witness {
        name: "the worker",
        in_order: true,
    },
    Witness {
        name: "the hub's record",
        in_order: false,
    },
    Witness {
        name: "the requester",
        in_order: false,
    },
];
const AT_WORK: usize = 0;
const RECORDED: usize = 1;
const ANSWERED: usize = 2;

/// Concurrent tasks of one context.
const IN_FLIGHT: usize = 8;
/// Maximum duration of a task.
const WORK: Duration = Duration::from_millis(40);
/// Pause before a retry.
const PAUSE: Duration = Duration::from_millis(100);
const NAME: &str = "bench-worker";
const SKILL: &str = "work";

/// Starts the worker. It lives through all crashes, so whatever it does twice is a duplicate.
///
/// # Errors
///
/// The hub refuses it.
pub(crate) async fn worker(url: &str, board: Arc<Board>, seed: u64) -> Result<RunningAgent, Error> {
    let executions = Arc::new(AtomicU64::new(0));
    let skill = Skill::new(SKILL, "Work", "Does a piece of work");
    let card = Card::new(NAME, "Does the work of a crash test").skill(skill);
    Agent::worker(card)
        .on_task_type(SKILL, move |task: TaskContext| {
            let text = task.text();
            let execution = executions.fetch_add(1, Ordering::Relaxed);
            if let Ok(operation) = text.parse() {
                let mark = format!("execution {execution}");
                board.ledger().seen(operation, AT_WORK, &mark);
            }
            let time = WORK.mul_f64(fastrand::Rng::with_seed(seed ^ execution).f64());
            async move {
                sleep(time).await;
                Ok(text)
            }
        })
        .start(url)
        .await
}

/// Delegates tasks one after the other, several at a time, and records each outcome.
pub(crate) async fn request(client: Client, board: Arc<Board>, context: usize) {
    let all = begin_all(&board, context, IN_FLIGHT, |operation| {
        one(&client, &board, operation)
    });
    board.over.run_until_cancelled(all).await;
}

async fn one(client: &Client, board: &Board, operation: Operation) {
    let delegation = Delegation::to(NAME)
        .capability(SKILL)
        .text(operation.to_string())
        .context_id(operation.context_id());
    let pending = match client.delegate(delegation).await {
        Ok(pending) => pending,
        Err(error) => return refused(board, operation, &error).await,
    };
    board.ledger().acknowledged(operation);
    let task_id = pending.task_id().to_owned();
    match pending.outcome().await {
        Ok(outcome) if outcome.is_completed() && outcome.text == operation.to_string() => {
            board.ledger().seen(operation, ANSWERED, "outcome");
        }
        Ok(outcome) => board
            .ledger()
            .remark(format!("{operation} was answered with {outcome:?}")),
        Err(error) => board
            .ledger()
            .remark(format!("{operation} has no outcome: {error}")),
    }
    look_up(client, board, operation, &task_id).await;
    board.ended(operation);
}

/// Records every answer in the hub's record of the task as an effect.
async fn look_up(client: &Client, board: &Board, operation: Operation, task_id: &str) {
    loop {
        match client.task(task_id, 0).await {
            Ok(task) => {
                let mut ledger = board.ledger();
                for said in task.history.iter().filter(|m| m.role() == Role::Agent) {
                    ledger.seen(operation, RECORDED, &said.message_id);
                }
                return;
            }
            Err(error) if error.is_retryable() => sleep(PAUSE).await,
            Err(error) => {
                board
                    .ledger()
                    .remark(format!("{operation} is not on record: {error}"));
                return;
            }
        }
    }
}
