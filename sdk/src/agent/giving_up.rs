//! The end of a run that cannot go on: what it has out is called back, who waits is told why, and its journal says so.

use std::{sync::Arc, time::SystemTime};

use agenthub_runs::{
    Command, DelegationResult, EffectFailure as StepFailure, Facts, Next, RunEvent, RunId,
    RunOutcome, SentHandoff, Spent, StepContext, Strategy, ToolOutput, World,
    journal::{Claim, Entry, JournalError},
    model::{Completion, Request, ToolCall},
};
use async_trait::async_trait;
use serde_json::Value;
use tokio::{sync::watch, time::timeout};

use super::{
    ending::cannot_go_on,
    runs::{ANSWER, Runs},
};
use crate::{Beginning, Conductor, Failure, TaskContext, deadline::millis};

/// Conducts a run to its end, whatever drove it before.
#[derive(Debug)]
pub(super) struct GivingUp {
    outcome: RunOutcome,
}

impl GivingUp {
    /// For a run that cannot go on for this reason.
    pub(super) fn because(why: &str) -> Arc<dyn Conductor> {
        Arc::new(Self::new(why))
    }

    fn new(why: &str) -> Self {
        Self {
            outcome: RunOutcome::failed(cannot_go_on(why).text),
        }
    }
}

impl Conductor for GivingUp {
    fn strategy(&self) -> &dyn Strategy {
        self
    }

    fn begin(&self, _: &TaskContext) -> Result<Beginning, Failure> {
        Err(Failure::failed("no run begins so that it is given up"))
    }

    fn world(&self, task: &TaskContext, _: &RunId) -> Arc<dyn World> {
        Arc::new(Recalling(Some(task.clone())))
    }
}

impl Strategy for GivingUp {
    fn name(&self) -> &'static str {
        "giving_up"
    }

    fn next(&self, _: &Facts) -> Next {
        Next::Finish(self.outcome.clone())
    }

    fn cut_short(&self, _: &Facts, _: &str) -> RunOutcome {
        self.outcome.clone()
    }
}

/// A world in which work is called back, and nothing else is done. Without a task it is not known whose work it is.
struct Recalling(Option<TaskContext>);

/// No step goes out in it.
fn nothing<T>() -> Result<T, StepFailure> {
    Err(StepFailure::lasting("the run is given up"))
}

#[async_trait]
impl World for Recalling {
    async fn look(&self, _: &Value) -> Value {
        Value::Null
    }

    async fn ask(&self, _: &StepContext, _: Request) -> Result<Completion, StepFailure> {
        nothing()
    }

    async fn call(&self, _: &StepContext, _: &ToolCall) -> Result<ToolOutput, StepFailure> {
        nothing()
    }

    async fn delegate(
        &self,
        _: &StepContext,
        _: &SentHandoff,
    ) -> Result<DelegationResult, StepFailure> {
        nothing()
    }

    async fn recall(&self, _: &StepContext, sent: &SentHandoff) {
        if let Some(task) = &self.0 {
            task.recall(sent).await;
        }
    }

    async fn say(&self, _: &StepContext, _: &str) -> Result<(), StepFailure> {
        nothing()
    }

    fn show(&self, _: &Entry, _: bool) {}

    async fn conclude(&self, _: &RunOutcome, _: Spent) -> Result<(), StepFailure> {
        Ok(())
    }
}

/// Ends a run of which nobody can be told, as it does not say whose it is.
pub(super) async fn end_untold(runs: &Runs, run: &RunId, why: &str) {
    let driver = runs.driver();
    let ended = async {
        let hand = driver.open(run.clone(), runs.owner(), None).await?;
        let (_commands, orders) = watch::channel(Command::Go);
        let world = Arc::new(Recalling(None));
        let driven = hand.drive(&GivingUp::new(why), world, orders).await;
        Ok(driven.map(drop).map_err(|error| error.to_string()))
    };
    let ended = match timeout(ANSWER, ended).await {
        Ok(Err(JournalError::Unreadable { .. })) => return close(runs, run, why).await,
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    };
    log(run, ended);
}

/// Ends a run in its journal that cannot be read.
pub(super) async fn close(runs: &Runs, run: &RunId, why: &str) {
    let Some(journal) = runs.journal() else {
        return;
    };
    let driver = runs.driver();
    let end = RunEvent::Ended {
        outcome: GivingUp::new(why).outcome,
        spent: Spent::default(),
        at_ms: millis(SystemTime::now()),
    };
    let claim = Claim {
        driver: driver.name(),
        lease: ANSWER,
    };
    let closed = match timeout(ANSWER, journal.close(run, claim, &end)).await {
        Ok(closed) => closed.map_err(|error| error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    };
    log(run, closed);
}

fn log(run: &RunId, ended: Result<(), String>) {
    if let Err(error) = ended {
        tracing::warn!(%run, error, "a run that is given up has no end in its journal yet");
    }
}
