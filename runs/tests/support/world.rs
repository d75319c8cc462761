//! A scripted world that records its calls.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use agenthub_runs::{
    Approval, Decision, DelegationResult, EffectFailure, Progress, RunOutcome, SentHandoff, Spent,
    StepContext, StepResult, ToolOutput, World,
    journal::Entry,
    model::{Completion, Request, ToolCall},
};
use async_trait::async_trait;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::NOON;

/// Scripted behaviour of a step.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Answers.
    Gives(StepResult),
    /// Reports these, then answers.
    Shows(Vec<Value>, StepResult),
    /// Reports progress forever.
    Floods,
    /// Answers after a delay.
    After(Duration, StepResult),
    /// Never answers.
    Hangs,
    /// Answers this long after its recall.
    Heeds(Duration, StepResult),
    /// Panics.
    Panics,
}

pub(crate) struct StandIn {
    began: Instant,
    /// Keyed by step, or by step and attempt: `a` or `a#2`.
    script: HashMap<String, Behaviour>,
    looks: Value,
    recall: Duration,
    /// Number of conclusions that fail, and whether the failure is retryable.
    deaf: AtomicU32,
    deaf_for_good: bool,
    log: Mutex<Vec<String>>,
    pub(crate) shown: Mutex<Vec<(Entry, bool)>>,
    pub(crate) sent: Mutex<Vec<SentHandoff>>,
    /// Progress handles of the steps.
    pub(crate) kept: Mutex<Vec<Progress>>,
}

impl StandIn {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            script: HashMap::new(),
            looks: Value::Array(Vec::new()),
            recall: Duration::ZERO,
            deaf: AtomicU32::new(0),
            deaf_for_good: false,
            log: Mutex::default(),
            shown: Mutex::default(),
            sent: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    pub(crate) fn does(mut self, step: &str, does: Behaviour) -> Self {
        self.script.insert(step.into(), does);
        self
    }

    pub(crate) fn sees(mut self, looks: Value) -> Self {
        self.looks = looks;
        self
    }

    pub(crate) fn recalls_after(mut self, recall: Duration) -> Self {
        self.recall = recall;
        self
    }

    pub(crate) fn deaf(mut self, times: u32, for_good: bool) -> Self {
        self.deaf = AtomicU32::new(times);
        self.deaf_for_good = for_good;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: impl Into<String>) {
        self.lock().push(what.into());
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.lock().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.lock().iter().filter(|l| l.starts_with(what)).count()
    }

    /// Waits until this was recorded.
    pub(crate) async fn until(&self, what: &str) {
        let asked = Instant::now();
        while self.count(what) == 0 {
            assert!(
                asked.elapsed() < Duration::from_secs(600),
                "never {what}: {:?}",
                self.log()
            );
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// The scripted behaviour, or else this result.
    async fn act(&self, kind: &str, step: &StepContext, otherwise: StepResult) -> StepResult {
        let key = format!("{}#{}", step.key.step, step.key.attempt);
        self.note(format!("{kind} {key}"));
        let _leaving = Leaving(self, &key);
        let does = self.script.get(&key);
        let does = does.or_else(|| self.script.get(step.key.step.as_str()));
        match does.cloned().unwrap_or(Behaviour::Gives(otherwise)) {
            Behaviour::Gives(result) => result,
            Behaviour::Shows(values, result) => {
                let progress = step.progress.clone();
                self.kept.lock().expect("nobody panics here").push(progress);
                for value in values {
                    step.progress.note(value).await;
                }
                result
            }
            Behaviour::Floods => loop {
                step.progress.note(Value::from("more")).await;
            },
            Behaviour::After(pause, result) => {
                sleep(pause).await;
                result
            }
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Heeds(pause, result) => {
                step.cancelled.cancelled().await;
                self.note(format!("heard {key}"));
                step.progress.note(Value::from("too late")).await;
                sleep(pause).await;
                result
            }
            Behaviour::Panics => panic!("as the script says"),
        }
    }
}

/// Records the drop of an effect's future.
struct Leaving<'a>(&'a StandIn, &'a str);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.note(format!("left {}", self.1));
    }
}

fn unexpected<T>(result: StepResult) -> Result<T, EffectFailure> {
    match result {
        StepResult::Failed(failure) => Err(failure),
        other => panic!("the script gives {other:?}"),
    }
}

#[async_trait]
impl World for StandIn {
    async fn look(&self, query: &Value) -> Value {
        self.note(format!("look {query}"));
        self.looks.clone()
    }

    async fn ask(&self, step: &StepContext, _: Request) -> Result<Completion, EffectFailure> {
        let answer = Completion {
            text: "an answer".into(),
            ..Completion::default()
        };
        match self
            .act("ask", step, StepResult::ModelAnswered(answer))
            .await
        {
            StepResult::ModelAnswered(answer) => Ok(answer),
            other => unexpected(other),
        }
    }

    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        let output = ToolOutput {
            value: Value::from(format!("{} did it", call.name)),
            is_error: false,
        };
        match self
            .act("call", step, StepResult::ToolReturned(output))
            .await
        {
            StepResult::ToolReturned(output) => Ok(output),
            other => unexpected(other),
        }
    }

    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        self.sent
            .lock()
            .expect("nobody panics here")
            .push(sent.clone());
        let delegated = DelegationResult {
            agent: sent.handoff.agent.clone(),
            state: "completed".into(),
            text: "an agent's answer".into(),
            ..DelegationResult::default()
        };
        match self
            .act("delegate", step, StepResult::DelegationEnded(delegated))
            .await
        {
            StepResult::DelegationEnded(delegated) => Ok(delegated),
            other => unexpected(other),
        }
    }

    async fn recall(&self, step: &StepContext, _: &SentHandoff) {
        self.note(format!("recall {}#{}", step.key.step, step.key.attempt));
        sleep(self.recall).await;
        self.note(format!("recalled {}#{}", step.key.step, step.key.attempt));
        if let Some(Behaviour::Panics) = self.script.get("recall") {
            panic!("as the script says");
        }
    }

    async fn say(&self, step: &StepContext, text: &str) -> Result<(), EffectFailure> {
        match self
            .act(&format!("say {text:?}"), step, StepResult::Said)
            .await
        {
            StepResult::Said => Ok(()),
            other => unexpected(other),
        }
    }

    async fn approve(
        &self,
        step: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        let yes = Decision {
            approved: true,
            by: "a person".into(),
            comment: String::new(),
        };
        match self
            .act(
                &format!("approve {}", approval.id),
                step,
                StepResult::Decided(yes),
            )
            .await
        {
            StepResult::Decided(decision) => Ok(decision),
            other => unexpected(other),
        }
    }

    fn show(&self, entry: &Entry, again: bool) {
        let mut shown = self.shown.lock().expect("nobody panics here");
        shown.push((entry.clone(), again));
    }

    async fn conclude(&self, outcome: &RunOutcome, _: Spent) -> Result<(), EffectFailure> {
        self.note(format!("conclude {}", outcome.label()));
        let deaf = self.deaf.load(Ordering::Relaxed);
        if deaf == 0 {
            return Ok(());
        }
        self.deaf.store(deaf - 1, Ordering::Relaxed);
        Err(EffectFailure {
            message: "nobody hears".into(),
            is_retryable: !self.deaf_for_good,
        })
    }

    fn now_ms(&self) -> u64 {
        let since = u64::try_from(self.began.elapsed().as_millis());
        NOON + since.expect("tests are short")
    }
}
