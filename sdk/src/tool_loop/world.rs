//! The world of a model's runs: its tools, the agents of the hub, and the task that they work on.

use std::sync::{Arc, Mutex, PoisonError};

use agenthub_runs::{
    Approval, Decision, DelegationResult, RunId, RunOutcome, SentHandoff, Spent, Step, StepContext,
    StepRequest, ToolOutput, World,
    journal::Entry,
    model::{Completion, Request, ToolCall},
    tool_loop::{AvailableTool, CONVERSATION, FIND_AGENTS, FormCheck, ToolQuery, Verdict},
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Mind,
    answer::{Growth, VisiblePart},
    conversation,
    display::Display,
    growing::Growing,
    statuses::{self, Calls},
};
use crate::{
    AgentType, MAX_HOPS, TaskContext, TaskUpdate,
    deadline::millis,
    hooks::HookContext,
    model::{self, LanguageModel},
    redact,
    supervisor::Crew,
    tool::ToolContext,
};

/// True if the agent may ask others for this task: it leads, and neither its budget nor the bound on hops forbids it.
fn may_delegate(mind: &Mind, task: &TaskContext) -> bool {
    let depth = mind.settings.budget.within(task.granted()).depth;
    mind.agent_type == AgentType::Supervisor && depth != Some(0) && task.routing().hops < MAX_HOPS
}

/// The world of one run.
pub(super) struct TaskWorld {
    mind: Arc<Mind>,
    /// The model that is asked.
    model: Arc<dyn LanguageModel>,
    task: TaskContext,
    /// The agents that can be asked, if any may be.
    crew: Option<Crew>,
    calls: Mutex<Calls>,
    growth: Arc<Growth>,
    display: Display,
    run: RunId,
}

impl TaskWorld {
    pub(super) fn new(mind: Arc<Mind>, task: TaskContext, run: RunId) -> Self {
        let told = task.clone();
        let display = Display::new(move |count| {
            let task = told.clone();
            async move {
                let text = format!("{count} updates are left out: they came too fast to be shown");
                if let Err(error) = task.publish_update(text).await {
                    tracing::debug!(%error, "it is not shown that updates are left out");
                }
            }
        });
        let crew = may_delegate(&mind, &task).then(|| Crew::new(task.clone(), mind.peers.clone()));
        Self {
            model: task.model_of_run(&mind.model),
            mind,
            task,
            crew,
            calls: Mutex::default(),
            growth: Arc::default(),
            display,
            run,
        }
    }

    /// The tools that there are at this moment.
    async fn offered(&self, query: &ToolQuery) -> Vec<AvailableTool> {
        let own: Vec<AvailableTool> = self
            .mind
            .tools
            .tools()
            .map(|tool| AvailableTool {
                tool: tool.described(),
                agent: None,
                needs_approval: tool.needs_approval(),
            })
            .collect();
        match &self.crew {
            None => own,
            Some(crew) => crew.offered(own, query).await,
        }
    }

    /// Tells whether an answer is what was wanted.
    fn verdict(&self, answer: &str) -> Verdict {
        match self.mind.form(&self.task) {
            Ok(Some((filled, input))) => filled.verdict(&input, answer),
            Ok(None) => Verdict::Rejected("nothing here knows the form that is wanted".to_owned()),
            Err(failure) => Verdict::Rejected(failure.text),
        }
    }

    /// The part of a growing answer that is shown.
    fn shown(&self) -> VisiblePart {
        match self.mind.form(&self.task) {
            Ok(None) | Err(_) => VisiblePart::All,
            Ok(Some((filled, _))) => match filled.form.growing() {
                Some(pointer) => VisiblePart::Part(Growing::new(pointer)),
                None => VisiblePart::Nothing,
            },
        }
    }

    /// The result of a tool.
    async fn output(&self, step: &StepContext, call: &ToolCall) -> ToolOutput {
        let mut own = self.mind.tools.tools();
        let is_own = own.any(|tool| tool.name() == call.name);
        if let (false, FIND_AGENTS, Some(crew)) = (is_own, &*call.name, &self.crew) {
            return crew.find(&call.arguments).await;
        }
        let context = ToolContext::new(step, &self.task, call);
        self.mind.tools.call(context, call).await
    }

    /// Remembers a call that another process began.
    fn remember(&self, step: &StepContext, what: &StepRequest) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((called, _)) = statuses::called(what) {
            calls.entry(step.key.step.clone()).or_insert(called);
        }
    }
}

#[async_trait]
impl World for TaskWorld {
    fn now_ms(&self) -> u64 {
        millis(self.task.client().now())
    }

    async fn look(&self, query: &Value) -> Value {
        if query == CONVERSATION {
            return json!(conversation::recall(&self.task).await);
        }
        if let Ok(look) = FormCheck::deserialize(query) {
            return json!(self.verdict(&look.answer));
        }
        let query = ToolQuery::deserialize(query).unwrap_or_default();
        json!(self.offered(&query).await)
    }

    async fn ask(
        &self,
        step: &StepContext,
        request: Request,
    ) -> Result<Completion, agenthub_runs::EffectFailure> {
        let (sink, pieces) = model::deltas();
        let (growth, task, shown) = (Arc::clone(&self.growth), self.task.clone(), self.shown());
        self.display
            .show(async move { growth.show(pieces, &task, shown).await });
        let (context, hooks) = (HookContext::new(step, &self.task), &self.mind.hooks);
        hooks.before_model(&context, &request).await;
        let answer = self.model.complete(request, sink).await;
        hooks.after_model(&context, answer.as_ref()).await;
        answer.map_err(|error| {
            let is_retryable = error.is_retryable();
            if is_retryable && step.key.attempt < Step::MODEL_ATTEMPTS {
                let (growth, task) = (Arc::clone(&self.growth), self.task.clone());
                self.display
                    .show(async move { growth.withdraw(&task).await });
            }
            agenthub_runs::EffectFailure {
                message: redact::error(&error.to_string()),
                is_retryable,
            }
        })
    }

    async fn call(
        &self,
        step: &StepContext,
        call: &ToolCall,
    ) -> Result<ToolOutput, agenthub_runs::EffectFailure> {
        self.remember(step, &StepRequest::ToolCalled(call.clone()));
        let (context, hooks) = (HookContext::new(step, &self.task), &self.mind.hooks);
        if let Err(refused) = hooks.before_tool(&context, call).await {
            return Ok(ToolOutput::error(refused));
        }
        let output = self.output(step, call).await;
        hooks.after_tool(&context, call, &output).await;
        Ok(output)
    }

    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, agenthub_runs::EffectFailure> {
        self.remember(step, &StepRequest::Delegated(sent.clone()));
        let Some(crew) = &self.crew else {
            return Err(agenthub_runs::EffectFailure::lasting(
                "this agent asks no others",
            ));
        };
        let (context, hooks) = (HookContext::new(step, &self.task), &self.mind.hooks);
        if hooks.is_empty() {
            return crew.delegate(sent).await;
        }
        let call = statuses::call_of(sent);
        if let Err(refused) = hooks.before_tool(&context, &call).await {
            // It may be at work, if the run was taken up.
            crew.recall(sent).await;
            return Ok(DelegationResult {
                agent: sent.handoff.agent.clone(),
                state: "rejected".to_owned(),
                error: refused,
                ..DelegationResult::default()
            });
        }
        let delegated = crew.delegate(sent).await;
        let output = statuses::output_of(delegated.as_ref());
        hooks.after_tool(&context, &call, &output).await;
        delegated
    }

    async fn recall(&self, _: &StepContext, sent: &SentHandoff) {
        if let Some(crew) = &self.crew {
            crew.recall(sent).await;
        }
    }

    async fn say(&self, _: &StepContext, text: &str) -> Result<(), agenthub_runs::EffectFailure> {
        self.task
            .publish_update(text)
            .await
            .map_err(|error| agenthub_runs::EffectFailure {
                is_retryable: error.is_retryable(),
                message: error.to_string(),
            })
    }

    async fn approve(
        &self,
        step: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, agenthub_runs::EffectFailure> {
        self.remember(step, &StepRequest::ApprovalAsked(approval.clone()));
        let (tool, arguments) = (&approval.capability, &approval.arguments);
        if let Some(why) = self.mind.tools.refusal(tool, arguments) {
            return Err(agenthub_runs::EffectFailure::lasting(why));
        }
        Ok(self.task.decision(approval).await)
    }

    fn show(&self, entry: &Entry, _again: bool) {
        let line = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            statuses::of(&entry.event, &mut calls)
        };
        let Some(line) = line else { return };
        let key = format!("{}/{}", self.run, entry.seq);
        let update = TaskUpdate::new(line.text)
            .metadata("tool", line.tool)
            .once(key, line.at_ms);
        let task = self.task.clone();
        self.display.show(async move {
            if let Err(error) = task.publish_update(update).await {
                tracing::debug!(%error, "a tool's status could not be shown");
            }
        });
    }

    async fn conclude(
        &self,
        outcome: &RunOutcome,
        _: Spent,
    ) -> Result<(), agenthub_runs::EffectFailure> {
        // What is missing was added to what the model said.
        if let RunOutcome::Completed { text, data, .. } = outcome
            && data["partial"] == true
            && matches!(self.mind.form(&self.task), Ok(None))
        {
            let (growth, task, text) = (Arc::clone(&self.growth), self.task.clone(), text.clone());
            self.display
                .show(async move { growth.end(&text, &task).await });
        }
        // The end of a task is to be seen behind what led to it.
        self.display.caught_up().await;
        Ok(())
    }
}
