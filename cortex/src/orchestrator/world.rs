//! The world of app runs, and of conversations with one agent.

use std::{collections::HashMap, sync::Arc, time::Duration};

use agenthub_proto::{a2a::Part, agenthub::ListAgentsRequest, cortex::Frame, json};
use agenthub_sdk::{
    TaskContext, Update,
    durable::HandedOver,
    internal::{ANSWER_ARTIFACT, redacted},
    model::{Completion, DeltaSink, LanguageModel, Request, STAND_IN, ToolCall},
    runs::{
        Approval, Decision, DelegationResult, EffectFailure, Progress, RunId, RunOutcome,
        SentHandoff, Spent, StepContext, ToolOutput, World, journal::Entry,
    },
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::timeout};
use tracing::Instrument;

use super::{
    display::RunDisplay,
    kept::{PlanningContext, Query},
    note,
    rules::{GENERATION, QA},
    specialists,
};
use crate::{
    brief::Mode,
    chat::decision,
    live::Active,
    origin::{CORTEX, context_of},
    principal::{owner_of, thread_of},
    shared::Shared,
};

/// Deadline for the hub's answer about tasks that its agents have in hand.
const LOAD: Duration = Duration::from_secs(2);

/// One run's world.
#[derive(Debug)]
pub(crate) struct RunWorld {
    shared: Arc<Shared>,
    /// The model that is asked.
    model: Arc<dyn LanguageModel>,
    task: TaskContext,
    run: RunId,
    mode: Mode,
    shown: RunDisplay,
    /// The run is the active one of its thread for as long as this is there: until who asked for it is told that it is over.
    active: Mutex<Option<Active>>,
}

impl RunWorld {
    pub(crate) fn new(shared: Arc<Shared>, task: TaskContext, run: RunId, mode: Mode) -> Self {
        let thread = thread_of(task.on_behalf_of(), &context_of(&task));
        Self {
            shown: RunDisplay::new(Arc::clone(&shared), task.clone(), run.clone()),
            active: Mutex::new(shared.live().hold_thread(&thread, &run).ok()),
            model: task.model_of_run(&shared.settings.model),
            shared,
            task,
            run,
            mode,
        }
    }

    async fn open_tasks(&self) -> HashMap<String, u32> {
        let listed = self.task.client().all_agents(ListAgentsRequest::default());
        match timeout(LOAD, listed).await {
            Ok(Ok(agents)) => agents
                .into_iter()
                .map(|a| (a.agent_id, a.open_tasks))
                .collect(),
            // Who is busy is not known then, which only matters among equals.
            Ok(Err(_)) | Err(_) => HashMap::new(),
        }
    }

    async fn see(&self, query: &Query) -> PlanningContext {
        let client = self.task.client();
        let directory = client.directory();
        let is_anyone_away = || directory.all().iter().any(|entry| !entry.online);
        self.shared
            .wait_for_missing(&directory, is_anyone_away)
            .await;
        let cards = directory.present().into_iter();
        let principal = self.task.on_behalf_of();
        let may_send = |agent: &str| self.shared.may_send(principal, agent);
        let cards: Vec<_> = cards
            .filter(|card| card.name != CORTEX && may_send(&card.name))
            .collect();
        let past = self.shared.past();
        let offers = specialists::offers(&cards, &self.open_tasks().await, &past.records().await);
        let mut known = directory.all();
        known.retain(|entry| may_send(&entry.card.name));
        let seen = PlanningContext {
            offers,
            away: specialists::away(&known),
            is_stand_in: self.model.name() == STAND_IN,
            ..PlanningContext::default()
        };
        if !query.begins {
            return seen;
        }
        let thread = context_of(&self.task);
        let reached = match &query.resumes {
            Some(run) => {
                let own = (!self.shared.sees_all_runs(principal)).then_some(principal);
                Some(past.reached(own, run).await)
            }
            None => None,
        };
        PlanningContext {
            thread: past.artifacts(principal, &thread, &self.run).await,
            history: past.said(client, &owner_of(&self.task), &thread).await,
            performance: past.performance(principal, &query.series).await,
            unreadable: reached
                .as_ref()
                .and_then(|reached| reached.as_ref().err().cloned()),
            reached: reached.and_then(Result::ok),
            ..seen
        }
    }

    async fn watched(
        &self,
        step: &StepContext,
        mut handed: HandedOver,
        sent: &SentHandoff,
    ) -> DelegationResult {
        let mut updates = handed.updates();
        let agent = &sent.handoff.agent;
        let with_text = self.mode == Mode::Chat || matches!(self.phase_of(sent), GENERATION | QA);
        let progress = async {
            while let Some(update) = updates.next().await {
                show(&step.progress, agent, with_text, &update).await;
            }
        };
        let (delegated, ()) = tokio::join!(handed.ended(), progress);
        delegated
    }

    /// The phase that the run is in while this is out.
    fn phase_of(&self, sent: &SentHandoff) -> &'static str {
        let card = self.task.client().directory().get(&sent.handoff.agent);
        let contracts = card
            .map(|entry| agenthub_sdk::internal::contracts(&entry.card))
            .unwrap_or_default();
        let contract = contracts.get(&sent.handoff.capability);
        note::phase_name(contract.map_or("", |c| c.phase.as_str()))
    }
}

/// Shows what an agent shows; the text that it writes only where that is wanted.
async fn show(progress: &Progress, agent: &str, with_text: bool, update: &Update) {
    match update {
        Update::Artifact(update) => {
            let artifact = update
                .artifact
                .as_ref()
                .filter(|a| a.artifact_id == ANSWER_ARTIFACT);
            let text: String = artifact
                .iter()
                .flat_map(|a| &a.parts)
                .filter_map(Part::as_text)
                .collect();
            // What begins anew without text was withdrawn.
            let is_withdrawn = artifact.is_some() && !update.append;
            if !with_text || (text.is_empty() && !is_withdrawn) {
                return;
            }
            let mut delta = json!({"type": "delta", "message": text});
            if !update.append {
                delta["data"] = json!({"append": false});
            }
            progress.note(delta).await;
        }
        Update::Status(update) => {
            let Some(status) = update.status.as_ref().filter(|s| !s.state().is_terminal()) else {
                return;
            };
            let tool = update.metadata.as_ref().map(json::from_struct);
            let tool = tool.and_then(|mut metadata| metadata.get_mut("tool").map(Value::take));
            if let Some(frame) = tool.and_then(|tool| of_tool(agent, &tool)) {
                progress.note(frame).await;
            } else if !status.text().is_empty() {
                let data = json!({"from": agent, "to": CORTEX, "text": status.text()});
                progress
                    .note(json!({"type": "handoff", "message": "progress", "data": data}))
                    .await;
            }
        }
        _ => {}
    }
}

/// A call of a tool or its end, as the agent tells it.
fn of_tool(agent: &str, tool: &Value) -> Option<Value> {
    let name = tool["name"].as_str()?;
    let (kind, key) = match (tool.get("arguments"), tool.get("result"), tool.get("error")) {
        (_, Some(_), _) => ("tool_result", "result"),
        (_, _, Some(_)) => ("tool_result", "error"),
        (Some(_), _, _) => ("tool_call", "arguments"),
        _ => return None,
    };
    let mut data = json!({ "agent": agent });
    data[if key == "arguments" { "args" } else { key }] = tool[key].clone();
    Some(json!({"type": kind, "message": name, "data": data}))
}

#[async_trait]
impl World for RunWorld {
    async fn look(&self, query: &Value) -> Value {
        let query = Query::deserialize(query).unwrap_or_default();
        json!(self.see(&query).await)
    }

    async fn ask(&self, step: &StepContext, request: Request) -> Result<Completion, EffectFailure> {
        let settings = &self.shared.settings;
        if let Some(rejected) = request.data("rejected") {
            let reason = rejected["reason"].as_str().unwrap_or_default();
            let reason = decision::without_words(reason);
            tracing::warn!(run = %self.run, reason, "the orchestrator's proposal is refused");
        }
        let span = tracing::info_span!("model_call", model = self.model.name(), run = %self.run, step = %step.key.step);
        let asked = self.model.complete(request, DeltaSink::ignored());
        let answer = timeout(settings.model_timeout, asked)
            .instrument(span)
            .await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(EffectFailure {
                message: redacted(&error.to_string()),
                is_retryable: error.is_retryable(),
            }),
            Err(_) => {
                let seconds = settings.model_timeout.as_secs();
                Err(EffectFailure::passing(format!(
                    "no answer within {seconds} s"
                )))
            }
        }
    }

    async fn call(&self, _: &StepContext, _: &ToolCall) -> Result<ToolOutput, EffectFailure> {
        Err(EffectFailure::lasting("an orchestrator calls no tools"))
    }

    async fn delegate(
        &self,
        step: &StepContext,
        sent: &SentHandoff,
    ) -> Result<DelegationResult, EffectFailure> {
        let handed = self.task.hand_over(sent).await?.relaying_questions();
        let agent = &sent.handoff.agent;
        let data = json!({"from": CORTEX, "to": agent, "taskId": sent.task_id});
        step.progress
            .note(json!({"type": "handoff", "message": "occurred", "data": data}))
            .await;
        let directory = self.task.client().directory();
        tokio::select! {
            biased;
            delegated = self.watched(step, handed, sent) => Ok(delegated),
            () = directory.gone(agent) => {
                self.task.recall(sent).await;
                Ok(DelegationResult {
                    agent: agent.clone(),
                    state: "away".to_owned(),
                    error: directory.absence(agent),
                    ..DelegationResult::default()
                })
            }
        }
    }

    async fn recall(&self, _: &StepContext, sent: &SentHandoff) {
        self.task.recall(sent).await;
    }

    async fn approve(
        &self,
        _: &StepContext,
        approval: &Approval,
    ) -> Result<Decision, EffectFailure> {
        Ok(self.shared.live().ask(&self.run, approval).await)
    }

    async fn say(&self, _: &StepContext, _: &str) -> Result<(), EffectFailure> {
        Ok(())
    }

    fn show(&self, entry: &Entry, _: bool) {
        self.shown.reach(entry.seq);
    }

    async fn conclude(&self, outcome: &RunOutcome, spent: Spent) -> Result<(), EffectFailure> {
        tracing::info!(run = %self.run, ended = outcome.label(), tokens = spent.tokens, calls = spent.calls, "a run ended");
        // The end of a task is to be seen behind what led to it.
        self.shown.caught_up().await;
        self.active.lock().await.take();
        Ok(())
    }
}

/// One line for people who watch the task.
pub(super) fn line(frame: &Frame) -> String {
    let data = frame
        .data
        .as_ref()
        .map(json::from_struct)
        .unwrap_or_default();
    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    match (&*frame.r#type, &*frame.message) {
        ("handoff", "requested") => format!("asking {} for {}", text("to"), text("capability")),
        ("handoff", "occurred") => format!("{} is at work", text("to")),
        ("handoff", "returned") => format!("{}: {}", text("from"), text("state")),
        ("handoff", _) => format!("{}: {}", text("from"), text("text")),
        ("plan_update", "") => "the plan has changed".to_owned(),
        ("plan_update", why) => format!("the plan has changed: {why}"),
        ("tool_call", tool) => format!("{} calls {tool}", text("agent")),
        ("tool_result", tool) => format!("{} has the result of {tool}", text("agent")),
        ("approval", "asked") => {
            format!("a person has to allow {} ({})", text("subject"), text("id"))
        }
        (_, message) => message.to_owned(),
    }
}
