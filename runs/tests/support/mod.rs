//! Shared stand-ins for the world, the strategy and the journal.

pub(crate) mod journals;
pub(crate) mod simulation;
pub(crate) mod world;

use std::{sync::Arc, time::Duration};

use agenthub_runs::{
    Command, DriveError, Driver, Effect, Facts, Handoff, Journal, Next, RunEvent, RunId,
    RunOutcome, RunStarted, Step, StepResult, Strategy, ToolOutput,
    journal::{self, MemoryJournal},
    model::ToolCall,
};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use world::StandIn;

/// Start of the stand-ins' clocks.
pub(crate) const NOON: u64 = 1_000_000;

/// A strategy made from a function.
pub(crate) struct Wants<F>(pub(crate) F);

impl<F: Fn(&Facts) -> Next + Send + Sync> Strategy for Wants<F> {
    fn name(&self) -> &'static str {
        "wants"
    }

    fn next(&self, facts: &Facts) -> Next {
        (self.0)(facts)
    }
}

/// Wants these steps together, and completes when all have returned.
pub(crate) fn together(steps: Vec<Step>) -> Wants<impl Fn(&Facts) -> Next + Send + Sync> {
    Wants(
        move |facts: &Facts| match steps.iter().all(|step| facts.result(step).is_some()) {
            true => Next::Finish(RunOutcome::completed("all came back")),
            false => Next::Steps(steps.clone()),
        },
    )
}

pub(crate) fn call(name: &str) -> ToolCall {
    ToolCall {
        id: format!("id-{name}"),
        name: name.into(),
        arguments: json!({}),
    }
}

pub(crate) fn begins(strategy: &str, input: Value) -> RunStarted {
    RunStarted {
        strategy: strategy.into(),
        input,
        thread: String::new(),
        origin: Value::Null,
        budget: Default::default(),
        deadline_ms: None,
        at_ms: NOON,
    }
}

/// A run with its world and journal.
pub(crate) struct Stage {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) world: Arc<StandIn>,
    pub(crate) run: RunId,
    pub(crate) first: RunStarted,
    pub(crate) command: watch::Sender<Command>,
    pub(crate) lease: Duration,
}

impl Stage {
    pub(crate) fn new(world: StandIn) -> Self {
        Self::on(Arc::new(MemoryJournal::default()), world)
    }

    pub(crate) fn on(journal: Arc<dyn Journal>, world: StandIn) -> Self {
        Self {
            journal,
            world: Arc::new(world),
            run: RunId::new("run"),
            first: begins("wants", Value::Null),
            command: watch::Sender::new(Command::Go),
            lease: Driver::LEASE,
        }
    }

    /// Drives the run under this driver's name.
    pub(crate) async fn drive(
        &self,
        driver: &str,
        strategy: &dyn Strategy,
    ) -> Result<RunOutcome, DriveError> {
        let driver = Driver::new(Arc::clone(&self.journal), driver).lease(self.lease);
        let first = Some(self.first.clone());
        let hand = driver.open(self.run.clone(), "owner", first).await?;
        let world = Arc::clone(&self.world);
        hand.drive(strategy, world, self.command.subscribe()).await
    }

    /// Drives the run in its own task.
    pub(crate) fn start(
        self: &Arc<Self>,
        driver: &'static str,
        strategy: impl Strategy + 'static,
    ) -> JoinHandle<Result<RunOutcome, DriveError>> {
        let stage = Arc::clone(self);
        tokio::spawn(async move { stage.drive(driver, &strategy).await })
    }

    pub(crate) async fn events(&self) -> Vec<RunEvent> {
        events(&*self.journal, &self.run).await
    }
}

pub(crate) async fn events(journal: &dyn Journal, run: &RunId) -> Vec<RunEvent> {
    let entries = journal.read(run, 0, usize::MAX).await;
    let entries = entries.expect("the run is there");
    entries.into_iter().map(|e| e.event).collect()
}

/// A short word for each event.
pub(crate) fn words(events: &[RunEvent]) -> Vec<String> {
    events.iter().map(word).collect()
}

fn word(event: &RunEvent) -> String {
    let form = |value: Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    match event {
        RunEvent::Started(_) => "started".into(),
        RunEvent::Observed { step, .. } => format!("observed {step}"),
        RunEvent::StepBegun { step, attempt, .. } => format!("begun {step}#{attempt}"),
        RunEvent::StepEnded {
            step,
            attempt,
            result,
            ..
        } => format!("{step}#{attempt} {}", form(json!(result), "kind")),
        RunEvent::Noted { step, .. } => format!("noted {step}"),
        RunEvent::Progressed {
            step,
            attempt,
            value,
            ..
        } => format!("{step}#{attempt} shows {value}"),
        RunEvent::Stopping { outcome, .. } => format!("stopping {}", outcome.label()),
        RunEvent::Ended { outcome, .. } => format!("ended {}", outcome.label()),
    }
}

/// The run's events as lines of text.
pub(crate) fn lines(events: &[RunEvent]) -> String {
    let lines = events.iter().map(journal::encode);
    let lines = lines.map(|line| String::from_utf8(line).expect("JSON is UTF-8") + "\n");
    lines.collect()
}

pub(crate) fn tool(name: &str) -> Step {
    Step::new(name, Effect::Call(call(name)))
}

pub(crate) fn agent(name: &str) -> Step {
    let handoff = Handoff {
        agent: name.into(),
        text: "please".into(),
        ..Handoff::default()
    };
    Step::new(name, Effect::Delegate(handoff))
}

pub(crate) fn output(text: &str) -> StepResult {
    StepResult::ToolReturned(ToolOutput::from(text))
}

pub(crate) async fn ended<T>(task: tokio::task::JoinHandle<T>) -> T {
    timeout(Duration::from_secs(600), task)
        .await
        .expect("it ends")
        .expect("it does not panic")
}
