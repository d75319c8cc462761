//! The world that a workflow acts in: the agents of the hub, and people.

use std::{collections::BTreeMap, convert::Infallible, future::pending, sync::Arc, time::Duration};

use agenthub_sdk::{
    TaskContext,
    durable::Journal,
    model::{Completion, Request, ToolCall},
    runs::{
        Approval, Decision, DelegationResult, EffectFailure, Handoff, RunId, RunOutcome,
        SentHandoff, Spent, StepContext, StepId, ToolOutput, World,
        boundaries::{Boundary, reached},
        breakers::{Breaker, Breakers},
        journal::Entry,
        workflow_step::{RUN, is_undo},
    },
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use super::{
    children::Children,
    events,
    monitor::Monitor,
    progress::Progress,
    secrets::{SecretSource, Secrets},
};
use crate::{
    over_bus::{Beginnings, BusRoute},
    reading::breakers_of,
    strategy::{EVENT, EventQuery},
};

/// Time for which an agent that is asked may be away before its caller hears of it.
const SILENCE: Duration = Duration::from_secs(1);

/// The world of one run.
pub(super) struct RunWorld {
    task: TaskContext,
    /// Tells the monitoring topic.
    monitor: Monitor,
    /// Tells the caller.
    progress: Progress,
    breakers: Arc<Breakers>,
    /// Asks for the runs of workflows that are steps, where this agent itself carries them out; elsewhere another agent is asked.
    children: Option<Arc<Children>>,
    /// The workflow's breakers, by agent.
    settings: BTreeMap<String, Breaker>,
    /// The way to agents, where it is not the hub.
    over_bus: Option<StepsOverBus>,
    /// The secrets that steps name.
    secrets: SecretSource,
}

/// The steps of a run that go over a bus, and its journal, which gets their results.
pub(super) struct StepsOverBus {
    pub(super) route: BusRoute,
    pub(super) run: RunId,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) beginnings: Beginnings,
}

impl RunWorld {
    /// The world of a run of any workflow that was sent.
    pub(super) fn new(
        task: TaskContext,
        monitor: Monitor,
        breakers: Arc<Breakers>,
        children: Arc<Children>,
    ) -> Self {
        let request = task.data().unwrap_or_default();
        Self {
            settings: breakers_of(&request["workflow"]),
            progress: Progress::of_questions(task.clone()),
            task,
            monitor,
            breakers,
            children: Some(children),
            over_bus: None,
            secrets: SecretSource::Variables,
        }
    }

    /// The world of a run of a workflow that is an agent, which shows the run's steps as statuses of its task.
    pub(super) fn shown(
        task: TaskContext,
        workflow: &Value,
        monitor: Monitor,
        breakers: Arc<Breakers>,
    ) -> Self {
        Self {
            settings: breakers_of(workflow),
            progress: Progress::of_steps(task.clone()),
            task,
            monitor,
            breakers,
            children: None,
            over_bus: None,
            secrets: SecretSource::Variables,
        }
    }

    /// The same world, with another way to agents.
    pub(super) fn over_bus(self, over_bus: Option<StepsOverBus>) -> Self {
        Self { over_bus, ..self }
    }

    /// The same world, with secrets from elsewhere.
    pub(super) fn secrets(self, secrets: SecretSource) -> Self {
        Self { secrets, ..self }
    }

    /// Refuses secrets to a workflow that was sent on behalf of somebody who may not administer the hub: it could have them sent to an agent of
    /// that one's own. Workflows that are agents were written by those who run the process.
    async fn check_secrets(&self) -> Result<(), EffectFailure> {
        let principal = self.task.on_behalf_of();
        if self.children.is_none() || principal.is_empty() {
            return Ok(());
        }
        let operator = self.task.client().operator();
        match operator.is_allowed(principal, "administer").await {
            Ok(true) => Ok(()),
            Ok(false) => Err(EffectFailure::lasting(format!(
                "\"{principal}\" may not name secrets in a workflow: that needs `administer`, or a workflow that is served from a folder"
            ))),
            Err(error) => Err(EffectFailure {
                is_retryable: error.is_retryable(),
                message: format!("whether \"{principal}\" may name secrets is not known: {error}"),
            }),
        }
    }

    /// The request, to an agent that has the skill where none is named: one of those that are online, without an open breaker if there is
    /// such. The task says which of these, so that a request that goes out again goes the same way as long as they are there.
    fn addressed(&self, sent: &SentHandoff) -> SentHandoff {
        let mut sent = sent.clone();
        let client = self.task.client();
        if !sent.handoff.agent.is_empty() {
            return sent;
        }
        let known = client.directory().all();
        let skill = &sent.handoff.capability;
        let mut able: Vec<&str> = known
            .iter()
            .filter(|entry| entry.online && entry.card.skills.iter().any(|own| own.id == *skill))
            .map(|entry| entry.card.name.as_str())
            .collect();
        able.sort_unstable();
        let turn = sent.task_id.bytes().map(usize::from).sum();
        let now_ms = self.now_ms();
        let is_open = |agent: &str| {
            let breaker = self.settings.get(agent).copied();
            breaker.is_some_and(|breaker| self.breakers.is_open(agent, breaker, now_ms))
        };
        if let Some(agent) = chosen(&able, turn, is_open) {
            sent.handoff.agent = agent.to_owned();
        }
        sent
    }

    /// Has a request carried out: by this agent itself, or by another one that its breaker lets it through to. What takes a step back goes out
    /// in any case.
    async fn carried_out(
        &self,
        step: &StepId,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        if let Some(children) = self.children.as_ref().filter(|_| is_child(sent)) {
            let agent = self.task.client().agent_id();
            let sent = SentHandoff {
                handoff: Handoff {
                    agent: agent.to_owned(),
                    ..sent.handoff.clone()
                },
                ..sent.clone()
            };
            return children.carry_out(&self.task, &sent, &self.progress).await;
        }
        let sent = self.addressed(sent);
        match is_undo(step) {
            true => self.asked(&sent).await,
            false => self.admitted(&sent).await,
        }
    }

    /// Hands a request over and waits for what comes of it.
    async fn asked(&self, sent: &SentHandoff) -> Result<DelegationResult, EffectFailure> {
        if let Some(StepsOverBus {
            route,
            run,
            journal,
            beginnings,
        }) = &self.over_bus
        {
            let begun = beginnings.of(&sent.task_id, run, journal).await;
            return route.ask(&self.task, run, journal, sent, begun).await;
        }
        let mut handed = self.task.hand_over(sent).await?;
        let updates = handed.updates();
        let agent = &sent.handoff.agent;
        let directory = self.task.client().directory();
        tokio::select! {
            biased;
            delegated = handed.ended() => Ok(delegated),
            never = self.watch(agent) => match never {},
            never = self.progress.pass_on(updates) => match never {},
            () = directory.gone(agent) => {
                self.task.recall(sent).await;
                Ok(away(agent, format!("{agent} went away")))
            }
        }
    }

    /// Tells the caller that an agent which is asked has been away for a moment. Never ends.
    async fn watch(&self, agent: &str) -> Infallible {
        let directory = self.task.client().directory();
        let mut changed = directory.changed();
        loop {
            let is_away = || directory.get(agent).is_some_and(|entry| !entry.online);
            if is_away() {
                sleep(SILENCE).await;
                if is_away() {
                    self.progress.say(format!(
                        "{agent} is offline: it is waited for, and its step fails if it does not come back"
                    ));
                }
            }
            if changed.changed().await.is_err() {
                return pending().await;
            }
        }
    }

    /// The same, if the agent's breaker lets the request through.
    async fn admitted(&self, sent: &SentHandoff) -> Result<DelegationResult, EffectFailure> {
        let agent = &sent.handoff.agent;
        let Some(breaker) = self.settings.get(agent).copied() else {
            return self.asked(sent).await;
        };
        if let Some(until_ms) = self.breakers.admit(agent, breaker, self.now_ms()) {
            let seconds = until_ms.saturating_sub(self.now_ms()) as f64 / 1_000.0;
            let why = format!("it has failed too often, and is not asked for {seconds:.1} s");
            return Ok(away(agent, why));
        }
        let mut outcome = Returned {
            world: self,
            agent,
            breaker,
            is_well: None,
        };
        let ended = self.asked(sent).await;
        outcome.is_well = Some(match &ended {
            Ok(ended) => !matches!(&*ended.state, "failed" | "timed-out" | "away" | "lost"),
            Err(_) => false,
        });
        drop(outcome);
        ended
    }
}

/// The agent whose turn it is, or the next one without an open breaker.
fn chosen<'a>(able: &[&'a str], turn: usize, is_open: impl Fn(&str) -> bool) -> Option<&'a str> {
    let (before, from) = able.split_at(turn.checked_rem(able.len())?);
    let mut in_turn = from.iter().chain(before).copied();
    let well = in_turn.clone().find(|agent| !is_open(agent));
    well.or_else(|| in_turn.next())
}

/// True for a workflow that is a step of this one.
fn is_child(sent: &SentHandoff) -> bool {
    sent.handoff.agent.is_empty() && sent.handoff.capability == RUN
}

/// Tells a breaker how a request came back when it is dropped; a request that was called back says nothing of the agent.
struct Returned<'a> {
    world: &'a RunWorld,
    agent: &'a str,
    breaker: Breaker,
    is_well: Option<bool>,
}

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        let now_ms = self.world.now_ms();
        let breakers = &self.world.breakers;
        breakers.returned(self.agent, self.breaker, self.is_well, now_ms);
    }
}

fn away(agent: &str, error: String) -> DelegationResult {
    DelegationResult {
        agent: agent.to_owned(),
        state: "away".to_owned(),
        error,
        ..DelegationResult::default()
    }
}

#[async_trait]
impl World for RunWorld {
    async fn look(&self, _: &Value) -> Value {
        Value::Null
    }

    async fn ask(&self, _: &StepContext, _: Request) -> Result<Completion, EffectFailure> {
        Err(EffectFailure::lasting("a workflow asks no model"))
    }

    /// Waiting takes nothing from anybody, and ends at once when it is called back.
    async fn call(&self, step: &StepContext, call: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        match (&*call.name, EventQuery::deserialize(&call.arguments)) {
            (EVENT, Ok(query)) => tokio::select! {
                event = events::wait(self.task.client(), &query) => event,
                () = step.cancelled.cancelled() => Err(EffectFailure::lasting("it was called back")),
            },
            _ => Err(EffectFailure::lasting("a workflow calls no tools")),
        }
    }

    /// spec: EXE-3.1, EXE-3.5
    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        let step = &step.key.step;
        let find = |name: &str| self.secrets.read(name);
        let secrets = Secrets::of(sent, find).map_err(EffectFailure::lasting)?;
        if secrets.is_empty() {
            return self.carried_out(step, sent).await;
        }
        self.check_secrets().await?;
        let ended = self.carried_out(step, &secrets.put_into(sent)).await?;
        Ok(secrets.hidden_in(ended))
    }

    async fn recall(&self, _: &StepContext, sent: &SentHandoff) {
        match self.children.as_ref().filter(|_| is_child(sent)) {
            Some(children) => children.recall(&self.task, sent).await,
            // Nothing takes a task back from a topic: its result is left out.
            None if self.over_bus.is_some() => {}
            None => self.task.recall(sent).await,
        }
    }

    async fn approve(
        &self,
        _: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        Ok(self.task.decision(approval).await)
    }

    async fn say(&self, _: &StepContext, text: &str) -> Result<(), EffectFailure> {
        self.task
            .publish_update(text)
            .await
            .map_err(|error| EffectFailure {
                is_retryable: error.is_retryable(),
                message: error.to_string(),
            })
    }

    /// spec: EXE-3.3, EXE-8.1, EXE-8.2, EXE-8.3
    fn show(&self, entry: &Entry, again: bool) {
        if let Some(over_bus) = &self.over_bus {
            over_bus.beginnings.show(entry);
        }
        if !again {
            self.progress.show(&entry.event);
        }
        tracing::debug!(run = %self.task.run_id(), seq = entry.seq, "a workflow has gone on");
        self.monitor.show(entry, again);
    }

    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure> {
        self.progress.caught_up().await;
        tracing::info!(run = %self.task.run_id(), ended = outcome.label(), calls = spent.calls, "a workflow ended");
        // spec: EXE-8.5
        self.monitor.finish().await?;
        reached(Boundary::OutboxSent, self.task.run_id().as_str()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use agenthub_sdk::{
        Agent, Card, Delegation, Failure, Skill, runs::journal::MemoryJournal, testing::TestHub,
    };
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::executor::{NAME, agent};

    #[tokio::test]
    async fn a_breaker_does_not_keep_a_step_from_being_taken_back() {
        let hub = TestHub::start().await;
        let journal = Arc::new(MemoryJournal::default());
        let executor = agent(&hub.url(), journal, None, SecretSource::Nowhere)
            .start(hub.url())
            .await;
        let executor = executor.expect("a hub");
        let skill = Skill::new("work", "Work", "Works");
        let worker = Agent::worker(Card::new("worker", "Works").skill(&skill));
        let worker = worker.on(&skill, async |_: TaskContext, text: String| match &*text {
            "break" => Err(Failure::failed("broken")),
            text => Ok(text.to_owned()),
        });
        let worker = worker.start(hub.url()).await.expect("a hub");
        let request = json!({ "workflow": {
            "breakers": { "worker": { "failures": 1, "pause": "1h" } },
            "steps": {
                "a": {
                    "agent": "worker", "skill": "work", "text": "book",
                    "compensate": { "agent": "worker", "skill": "work", "text": "take back" },
                },
                "b": { "agent": "worker", "skill": "work", "text": "break", "depends_on": ["a"] },
            },
        } });
        let client = hub.client().await;
        let asked = Delegation::to(NAME).capability(RUN).payload(request);
        let pending = client.delegate(asked).await.expect("the hub takes it");
        let ended = timeout(Duration::from_secs(20), pending.outcome()).await;
        let outcome = ended.expect("it ends").expect("an outcome");
        assert!(outcome.error.ends_with("; taken back: a"), "{outcome:?}");
        worker.stop().await;
        executor.stop().await;
    }

    #[test]
    fn of_the_able_agents_one_without_an_open_breaker_is_chosen() {
        let (breakers, able) = (Breakers::default(), ["a", "b", "c"]);
        let breaker = Breaker {
            failures: 1,
            pause_ms: 1_000,
        };
        let fail = |agent| {
            assert_eq!(breakers.admit(agent, breaker, 0), None);
            breakers.returned(agent, breaker, Some(false), 0);
        };
        let choose = |turn, now_ms| {
            let is_open = |agent: &str| breakers.is_open(agent, breaker, now_ms);
            chosen(&able, turn, is_open)
        };
        assert_eq!(choose(4, 1), Some("b"), "by turns");
        fail("b");
        assert_eq!(choose(4, 1), Some("c"), "the next one");
        assert_eq!(choose(3, 1), Some("a"), "others keep their turns");
        fail("c");
        assert_eq!(choose(5, 1), Some("a"), "from the first again");
        assert_eq!(choose(4, 1_000), Some("b"), "one may try it");
        breakers.admit("b", breaker, 1_000);
        assert_eq!(choose(4, 1_000), Some("c"), "one alone");
        fail("a");
        assert_eq!(
            choose(4, 1),
            Some("b"),
            "none is left: it is said of this one"
        );
        assert_eq!(chosen(&[], 4, |_| false), None);
    }
}
