//! A conductor that does what its message says, with stand-ins for models and tools that count.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use agenthub_sdk::{
    Failure, TaskContext,
    durable::{Beginning, Conductor},
    runs::{
        Approval, Budget, Decision, DelegationResult, Effect, EffectFailure as StepFailure, Facts,
        Handoff, Next, RunId, RunOutcome, SentHandoff, Spent, Step, StepContext, StepResult,
        Strategy, ToolOutput, World,
        journal::Entry,
        model::{Completion, PromptMessage, Request, ToolCall, Usage},
    },
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

/// Counts what is done in its name, and lets it through when the test says so.
#[derive(Debug)]
pub(crate) struct StandIns {
    pub(crate) begun: AtomicUsize,
    pub(crate) asked: AtomicUsize,
    pub(crate) called: AtomicUsize,
    /// What was handed to an agent, as often as that was.
    pub(crate) handed: AtomicUsize,
    /// What is over, and was not broken off.
    pub(crate) done: watch::Sender<usize>,
    /// What is at work at this moment.
    pub(crate) at_work: watch::Sender<usize>,
    pub(crate) gate: Semaphore,
    /// What each answer of the model costs.
    pub(crate) tokens: u64,
    pub(crate) budget: Budget,
    /// How often it panics when a run is to have a world, and how often it was to have one.
    pub(crate) without_world: usize,
    pub(crate) worlds: AtomicUsize,
}

impl StandIns {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::counting())
    }

    pub(crate) fn counting() -> Self {
        Self {
            begun: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            called: AtomicUsize::new(0),
            handed: AtomicUsize::new(0),
            done: watch::Sender::new(0),
            at_work: watch::Sender::new(0),
            gate: Semaphore::new(0),
            tokens: 10,
            budget: Budget::default(),
            without_world: 0,
            worlds: AtomicUsize::new(0),
        }
    }

    /// Waits until so much is at work.
    pub(crate) async fn wait_at_work(&self, count: usize) {
        let mut at_work = self.at_work.subscribe();
        let waiting = at_work.wait_for(|n| *n == count);
        crate::harness::soon(waiting).await.expect("it counts");
    }

    pub(crate) fn started(&self) -> usize {
        self.asked.load(Ordering::SeqCst) + self.called.load(Ordering::SeqCst)
    }

    async fn pass(&self) {
        let _at_work = AtWork::new(&self.at_work);
        self.gate.acquire().await.expect("it is open").forget();
        self.done.send_modify(|n| *n += 1);
    }
}

struct AtWork<'a>(&'a watch::Sender<usize>);

impl<'a> AtWork<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|n| *n += 1);
        Self(count)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

/// Makes a run of each message: the data of the message, or what is given, is the list of its steps. `{"ask": …}`, `{"call": …}`, `{"wait": ms}`,
/// `{"say": …}`, `{"panic": …}` or `{"to": agent, "steps": […]}`; a list of those is done at one time.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) stand_ins: Arc<StandIns>,
    pub(crate) steps: Value,
}

impl Scripted {
    pub(crate) fn new(stand_ins: &Arc<StandIns>, steps: Value) -> Arc<Self> {
        Arc::new(Self {
            stand_ins: stand_ins.clone(),
            steps,
        })
    }
}

impl Conductor for Scripted {
    fn strategy(&self) -> &dyn Strategy {
        &Script
    }

    fn begin(&self, task: &TaskContext) -> Result<Beginning, Failure> {
        self.stand_ins.begun.fetch_add(1, Ordering::SeqCst);
        if task.text() == "nonsense" {
            return Err(Failure::rejected("this is nonsense"));
        }
        let steps = task.data().map(|data| data["steps"].clone());
        Ok(Beginning {
            input: steps.filter(Value::is_array).unwrap_or(self.steps.clone()),
            budget: self.stand_ins.budget,
        })
    }

    fn world(&self, task: &TaskContext, _run: &RunId) -> Arc<dyn World> {
        let worlds = self.stand_ins.worlds.fetch_add(1, Ordering::SeqCst);
        assert!(worlds >= self.stand_ins.without_world, "no world");
        Arc::new(Stage {
            task: task.clone(),
            stand_ins: self.stand_ins.clone(),
        })
    }
}

#[derive(Debug)]
struct Script;

impl Strategy for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn next(&self, facts: &Facts) -> Next {
        let groups = facts.input().as_array().cloned().unwrap_or_default();
        let mut words = Vec::new();
        for (n, group) in groups.iter().enumerate() {
            let group = group.as_array().cloned().unwrap_or(vec![group.clone()]);
            let mut out = Vec::new();
            for (m, step) in group.iter().enumerate() {
                let step = Step::new(format!("step-{n}-{m}"), effect(step));
                match facts.result(&step) {
                    None => out.push(step),
                    Some(StepResult::ModelAnswered(answer)) => words.push(answer.text.clone()),
                    Some(StepResult::ToolReturned(output)) => words.push(said(&output.value)),
                    Some(StepResult::Decided(decision)) => words.push(decision.by.clone()),
                    Some(StepResult::DelegationEnded(ended)) if ended.state == "completed" => {
                        words.push(ended.text.clone());
                    }
                    Some(StepResult::DelegationEnded(ended)) => {
                        let error = format!("{}: {}", ended.state, ended.error);
                        return Next::Finish(RunOutcome::failed(error));
                    }
                    Some(StepResult::Failed(failure)) => {
                        return Next::Finish(RunOutcome::failed(failure.to_string()));
                    }
                    Some(_) => {}
                }
            }
            if !out.is_empty() {
                return Next::Steps(out);
            }
        }
        Next::Finish(RunOutcome::completed(words.join(" ")))
    }
}

fn effect(step: &Value) -> Effect {
    if let Some(words) = step["panic"].as_str() {
        panic!("{words}");
    }
    if let Some(words) = step["ask"].as_str() {
        return Effect::Ask(Box::new(Request::new(vec![PromptMessage::user(words)])));
    }
    if let Some(name) = step["call"].as_str() {
        return Effect::Call(ToolCall {
            id: name.to_owned(),
            name: name.to_owned(),
            arguments: json!({}),
        });
    }
    if let Some(person) = step["allowed by"].as_str() {
        return Effect::Approve(Approval::new("run", person, "", "", Value::Null));
    }
    if let Some(text) = step["say"].as_str() {
        return Effect::Say(text.to_owned());
    }
    if let Some(agent) = step["to"].as_str() {
        return Effect::Delegate(Handoff {
            agent: agent.to_owned(),
            capability: "work".to_owned(),
            text: "go".to_owned(),
            payload: Some(json!({ "steps": step["steps"] })),
            ..Handoff::default()
        });
    }
    Effect::Wait(step["wait"].as_u64().unwrap_or_default())
}

fn said(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

struct Stage {
    task: TaskContext,
    stand_ins: Arc<StandIns>,
}

#[async_trait]
impl World for Stage {
    async fn look(&self, _query: &Value) -> Value {
        Value::Null
    }

    async fn ask(&self, _step: &StepContext, request: Request) -> Result<Completion, StepFailure> {
        self.stand_ins.asked.fetch_add(1, Ordering::SeqCst);
        let words = request.last_user_text().unwrap_or_default();
        if words.starts_with("slow") {
            self.stand_ins.pass().await;
        }
        Ok(Completion {
            text: words,
            usage: Some(Usage {
                input_tokens: self.stand_ins.tokens,
                output_tokens: 0,
                is_estimated: false,
            }),
            ..Default::default()
        })
    }

    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, StepFailure> {
        self.stand_ins.called.fetch_add(1, Ordering::SeqCst);
        match call.name.as_str() {
            "slow" => tokio::select! {
                () = self.stand_ins.pass() => {}
                () = step.cancelled.cancelled() => {}
            },
            // It does not listen when it is called back.
            "stubborn" => self.stand_ins.pass().await,
            _ => {}
        }
        Ok(ToolOutput {
            value: call.name.clone().into(),
            is_error: false,
        })
    }

    async fn delegate(
        &self,
        _step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, StepFailure> {
        let handed = self.task.hand_over(sent).await?;
        self.stand_ins.handed.fetch_add(1, Ordering::SeqCst);
        Ok(handed.ended().await)
    }

    async fn recall(&self, _step: &StepContext, sent: &SentHandoff) {
        self.task.recall(sent).await;
    }

    async fn say(&self, _step: &StepContext, text: &str) -> Result<(), StepFailure> {
        let message =
            agenthub_sdk::proto::a2a::Message::new(agenthub_sdk::proto::a2a::Role::Agent, text);
        let said = self.task.publish_message(message).await;
        said.map_err(|error| StepFailure::lasting(error.to_string()))
    }

    async fn approve(&self, _: &StepContext, asked: &Approval) -> Result<Decision, StepFailure> {
        Ok(Decision {
            approved: true,
            by: asked.subject.clone(),
            comment: String::new(),
        })
    }

    fn show(&self, _entry: &Entry, _again: bool) {}

    async fn conclude(&self, _outcome: &RunOutcome, _spent: Spent) -> Result<(), StepFailure> {
        Ok(())
    }
}
