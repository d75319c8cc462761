//! The world of chat turns.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agenthub_proto::a2a::AgentCard;
use agenthub_sdk::{
    durable::Spans,
    model::{Completion, LanguageModel, Request, ToolCall},
    runs::{
        DelegationResult, EffectFailure, RunEvent, RunOutcome, SentHandoff, Spent, StepContext,
        StepRequest, StepResult, ToolOutput, World, journal::Entry,
    },
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::Instrument;

use super::{
    ask::ask,
    conversation::Turn,
    decision, delegate,
    frame_feed::View,
    missing::is_anyone_missing,
    projection::Projection,
    prompt::{Agents, Named, Running},
    turn::{Query, Question, TurnContext, undecided},
};
use crate::{
    origin::{CORTEX, Origin, response},
    shared::Shared,
};

/// Time that a look waits for the agents of a hub to which Cortex has just connected.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// Pause before a look that was broken off is taken again, in milliseconds.
const AGAIN_MS: u64 = 1_000;

/// One chat turn's world.
#[derive(Debug)]
pub(crate) struct ChatWorld {
    shared: Arc<Shared>,
    /// The model that is asked.
    model: Arc<dyn LanguageModel>,
    origin: Origin,
    /// The message that is answered.
    message_id: String,
    turn: Turn,
    view: View,
    projection: Mutex<Projection>,
    has_ended: AtomicBool,
    /// Use of models by the turn itself, without that of agents.
    own: Mutex<Spent>,
    /// Spans of the turn, where nobody else records them.
    spans: Option<Spans>,
}

impl ChatWorld {
    pub(crate) fn new(
        shared: Arc<Shared>,
        origin: Origin,
        message_id: String,
        turn: Turn,
        view: View,
    ) -> Self {
        Self {
            model: Arc::clone(&shared.settings.model),
            shared,
            origin,
            message_id,
            turn,
            view,
            projection: Mutex::default(),
            has_ended: AtomicBool::new(false),
            own: Mutex::default(),
            spans: None,
        }
    }

    /// Asks this model.
    pub(crate) fn asking(self, model: Arc<dyn LanguageModel>) -> Self {
        Self { model, ..self }
    }

    /// Tells of the turn here.
    pub(crate) fn told(self, spans: Spans) -> Self {
        Self {
            spans: Some(spans),
            ..self
        }
    }

    /// Use of models by the turn itself.
    pub(crate) fn spent(&self) -> Spent {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn projection(&self) -> MutexGuard<'_, Projection> {
        self.projection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn span(&self, round: u32) -> tracing::Span {
        tracing::info_span!(
            "turn",
            context_id = self.turn.key().context_id,
            turn = self.turn.number,
            round,
            trace_id = %self.origin.trace().trace_id(),
        )
    }

    async fn see(&self, query: &Query) -> TurnContext {
        let client = self.origin.client();
        self.turn.be_heard(client).await;
        let directory = client.directory();
        let mut changed = directory.changed();
        let introduced =
            async { while directory.get(CORTEX).is_none() && changed.changed().await.is_ok() {} };
        // Without it, nobody is here.
        let _ = timeout(INTRODUCTION, introduced).await;
        let principal = self.origin.on_behalf_of();
        let known = || {
            let mut known = directory.all();
            known.retain(|entry| self.shared.may_send(principal, &entry.card.name));
            known
        };
        let is_missing = || is_anyone_missing(query, &known());
        self.shared.wait_for_missing(&directory, is_missing).await;
        let present = self.shared.present(client, principal);
        let here: Vec<&AgentCard> = present.iter().map(|agent| &*agent.card).collect();
        let known = known();
        let away = known.iter().filter(|entry| !entry.online);
        let away: Vec<&AgentCard> = away.map(|entry| &*entry.card).collect();
        TurnContext {
            agents: Agents::of(&present, &query.words),
            named: Named::of(&query.words, &here, &away),
            history: self.turn.before(),
            running: self.turn.others_wait_for(),
            again_at_ms: None,
        }
    }

    /// Takes an event in that changes what others in the conversation see.
    fn note(&self, event: &RunEvent, again: bool) {
        match event {
            RunEvent::StepBegun { step, what, .. } => match what {
                StepRequest::Delegated(sent) => {
                    let running = Running {
                        agent: sent.handoff.agent.clone(),
                        task_type: sent.handoff.capability.clone(),
                    };
                    self.turn.waits_for(step, running);
                }
                StepRequest::Said { text } if !again => self.turn.said(text),
                _ => {}
            },
            RunEvent::StepEnded { step, .. } => self.turn.has_back(step),
            _ => {}
        }
    }
}

#[async_trait]
impl World for ChatWorld {
    /// Waits for this request's turn to decide, unless it is told to stop meanwhile.
    async fn look(&self, query: &Value) -> Value {
        let query = Query::deserialize(query).unwrap_or_default();
        let again_at_ms = Some(self.now_ms() + AGAIN_MS);
        let broken_off = TurnContext {
            again_at_ms,
            ..TurnContext::default()
        };
        let seen = tokio::select! {
            biased;
            () = self.turn.take() => self.see(&query).await,
            () = self.origin.cancelled() => broken_off,
        };
        json!(seen)
    }

    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, EffectFailure> {
        let question = Question::of(step.key.step.as_str());
        if let (Some(question), Some(rejected)) = (question, request.data("rejected")) {
            let attempt = question.attempt.saturating_sub(1);
            let reason = rejected["reason"].as_str().unwrap_or_default();
            let reason = decision::without_words(reason);
            tracing::warn!(attempt, reason, "the model's answer is no decision");
        }
        let asked = async {
            // The turn is this request's already, but for a run that was taken up.
            self.turn.take().await;
            self.turn.be_heard(self.origin.client()).await;
            let settings = &self.shared.settings;
            let show = |text| {
                let frame = self.projection().piece(text);
                self.view.show(frame);
            };
            ask(&*self.model, settings.model_timeout, request, show).await
        };
        tokio::select! {
            biased;
            // Nothing is asked any more; the step is called back in a moment.
            () = self.origin.cancelled() => std::future::pending().await,
            answer = asked.instrument(self.span(question.map_or(0, |q| q.round))) => answer,
        }
    }

    async fn call(&self, _: &StepContext, _: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        Err(EffectFailure::lasting("chat turns call no tools"))
    }

    async fn delegate(
        &self,
        _: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        self.turn.give_way();
        self.turn.be_heard(self.origin.client()).await;
        let span = tracing::info_span!(
            "delegated_task",
            context_id = self.turn.key().context_id,
            turn = self.turn.number,
            agent = sent.handoff.agent,
            trace_id = %self.origin.trace().trace_id(),
        );
        let delegated = delegate::delegate(&self.origin, sent, &self.view);
        Ok(delegated.instrument(span).await)
    }

    async fn recall(&self, step: &StepContext, sent: &SentHandoff) {
        match step.cancelled.is_cancelled() {
            true => self.origin.recall(sent).await,
            // Its time is over: the user does not wait until the agent has noticed.
            false => delegate::give_up(&self.origin, sent).await,
        }
    }

    async fn say(&self, step: &StepContext, text: &str) -> Result<(), EffectFailure> {
        let key = &self.turn.key().context_id;
        let mut message = response(text, key, &self.message_id);
        message.message_id = step.key.message_id().to_string();
        self.origin.say(message).await.map_err(|error| {
            tracing::warn!(%error, "an interim answer could not be sent");
            EffectFailure::lasting(error.to_string())
        })
    }

    fn show(&self, entry: &Entry, again: bool) {
        if let Some(spans) = &self.spans {
            spans.tell(entry, again);
        }
        self.note(&entry.event, again);
        if let RunEvent::StepEnded {
            result: StepResult::ModelAnswered(_),
            spent: Some(spent),
            ..
        } = &entry.event
        {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            *own = own.plus(*spent);
        }
        let frames = self.projection().of(&entry.event);
        match again {
            true => frames.iter().for_each(|_| self.view.skip()),
            false => frames.into_iter().for_each(|frame| self.view.show(frame)),
        }
    }

    async fn conclude(&self, outcome: &RunOutcome, _: Spent) -> Result<(), EffectFailure> {
        if self.has_ended.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        if let Some(reason) = undecided(outcome) {
            let reason = decision::without_words(reason);
            tracing::warn!(reason, "the model did not decide");
        }
        self.turn.ended(outcome);
        self.turn.give_way();
        let frames = self.projection().end(outcome);
        self.view.close(frames).await;
        tracing::info!(
            context_id = self.turn.key().context_id,
            turn = self.turn.number,
            trace_id = %self.origin.trace().trace_id(),
            ended = outcome.label(),
            "turn ended"
        );
        Ok(())
    }
}
