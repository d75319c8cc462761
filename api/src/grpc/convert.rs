//! Between what runs are here and on the wire.

use agenthub_cortex::brief::{Brief, Budget, Constraints, File, Mode};
use agenthub_proto::{
    cortex::{self as pb, ListRunsRequest, Run, RunGraph, RunPlan, StartRunRequest},
    json,
    wkt::Struct,
};
use agenthub_sdk::{durable::ForkChanges, runs::model::Undone};
use serde::Deserialize;
use serde_json::{Map, Value, json as value};

use crate::runs::{
    ApprovalView, Error, EventPage, EventView, GraphView, ListQuery, MomentView, PlanView,
    RunLimits, RunState, RunView, StartRequest, StepCounts, StepKind, StepQuery, StepView,
    WorkflowRequest, timestamp,
};

/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 255;

fn invalid(at: &str, why: String) -> Error {
    Error::Invalid {
        at: at.to_owned(),
        why,
    }
}

fn given(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// An idempotency key; empty is none.
pub(super) fn key(key: &str) -> Result<Option<&str>, Error> {
    let why = match key {
        "" => return Ok(None),
        key if key.len() > MAX_KEY_BYTES => format!("has {} bytes; at most 255", key.len()),
        key if key.chars().any(char::is_control) => "has control characters".to_owned(),
        key => return Ok(Some(key)),
    };
    Err(invalid("idempotencyKey", why))
}

/// The fields of data; none of nothing.
pub(super) fn fields(data: Option<Struct>) -> Map<String, Value> {
    match data.as_ref().map(json::from_struct) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Differences of a fork from its run.
pub(super) fn changes(request: pb::ForkRunRequest) -> ForkChanges {
    ForkChanges {
        model: given(request.model),
        instructions: given(request.instructions),
        input: request.input.as_ref().map(json::from_value),
    }
}

impl From<EventView> for pb::RunEvent {
    fn from(view: EventView) -> Self {
        Self {
            number: view.number,
            kind: view.kind,
            step: view.step,
            at: Some(timestamp(view.at)),
            reused: view.reused,
            state: view.state,
            step_kind: view
                .step_kind
                .map(StepKind::label)
                .unwrap_or_default()
                .to_owned(),
            agent: view.agent,
            plan_step: view.plan_step,
            attempt: view.attempt,
            words: view.words,
        }
    }
}

impl From<EventPage> for pb::ListRunEventsResponse {
    fn from(page: EventPage) -> Self {
        Self {
            events: page.events.into_iter().map(Into::into).collect(),
            last: page.last,
        }
    }
}

impl From<MomentView> for pb::RunMoment {
    fn from(view: MomentView) -> Self {
        Self {
            run: Some(view.run.into()),
            plan: view.plan.map(Into::into),
            steps: view.steps.into_iter().map(Into::into).collect(),
            event: Some(view.event.into()),
            content: Some(json::to_value(&view.content)),
            last: view.last,
            can_be_forked: view.can_be_forked,
            graph: view.graph.map(Into::into),
            counts: view
                .counts
                .into_iter()
                .map(|(step, counts)| (step, counts.into()))
                .collect(),
            scores: view.scores.into_iter().collect(),
            input: view.input.as_ref().map(json::to_value),
        }
    }
}

impl From<StepCounts> for pb::StepCounts {
    fn from(counts: StepCounts) -> Self {
        let StepCounts {
            attempts,
            open,
            begun_at,
            ended_at,
            items,
        } = counts;
        Self {
            attempts,
            open,
            begun_at: begun_at.map(timestamp),
            ended_at: ended_at.filter(|_| open == 0).map(timestamp),
            items: items.known,
            done: items.done,
            failed: items.failed,
            working: items.working,
            cancelled: items.cancelled,
        }
    }
}

impl From<StepView> for pb::StepAttempt {
    fn from(view: StepView) -> Self {
        Self {
            step: view.step,
            attempt: view.attempt,
            kind: view.kind.label().to_owned(),
            agent: view.agent,
            state: view.state,
            begun_at: Some(timestamp(view.begun_at)),
            ended_at: view.ended_at.map(timestamp),
            task_id: view.task_id,
            request: Some(json::to_value(&view.request)),
            result: (!view.result.is_null()).then(|| json::to_value(&view.result)),
            error: view.error,
            plan_step: view.plan_step,
        }
    }
}

/// Workflow of a request that has one, else its brief.
pub(super) fn asked(mut request: StartRunRequest) -> Result<StartRequest, Error> {
    let input = request.input.take();
    let Some(workflow) = request.workflow.take() else {
        if input.is_some() {
            return Err(invalid(
                "input",
                "is that of a workflow, and there is none".to_owned(),
            ));
        }
        return Ok(StartRequest::Brief(Box::new(brief(request)?)));
    };
    if request != StartRunRequest::default() {
        let why = "has its input beside it and the key alone: leave the other fields out";
        return Err(invalid("workflow", why.to_owned()));
    }
    let workflow = fields(Some(workflow));
    let asked = WorkflowRequest::new(workflow, fields(input));
    Ok(StartRequest::Workflow(Box::new(asked)))
}

/// The brief of a request.
fn brief(request: StartRunRequest) -> Result<Brief, Error> {
    let mode = match &*request.mode {
        "" | "app" => Mode::App,
        "chat" => Mode::Chat,
        other => {
            return Err(invalid(
                "mode",
                format!("is {other:?}; it is `app` or `chat`"),
            ));
        }
    };
    Ok(Brief {
        objective: request.objective,
        mode,
        agent: given(request.agent),
        payload: match request.payload.as_ref().map(json::from_struct) {
            Some(Value::Object(payload)) => payload,
            _ => Default::default(),
        },
        files: request.files.into_iter().map(file).collect(),
        constraints: request.constraints.map(constraints).unwrap_or_default(),
        budget: request.budget.map(budget).unwrap_or_default(),
        thread_id: given(request.thread_id),
        series: given(request.series),
    })
}

fn file(file: pb::File) -> File {
    File {
        name: file.name,
        mime_type: file.mime_type,
        bytes: file.content,
    }
}

pub(super) fn constraints(constraints: pb::Constraints) -> Constraints {
    let criteria = constraints.acceptance_criteria.iter();
    Constraints {
        quality_threshold: constraints.quality_threshold,
        execution_depth: constraints.execution_depth,
        acceptance_criteria: criteria.map(json::from_value).collect(),
        max_turns: constraints.max_turns,
        approvals: constraints.approvals,
    }
}

pub(super) fn budget(budget: pb::RunBudget) -> Budget {
    Budget {
        tokens: budget.tokens,
        calls: budget.calls,
        time_ms: budget.time_ms,
    }
}

/// The run, and the selection of its steps.
pub(super) fn step_query(request: pb::GetRunStepsRequest) -> (String, StepQuery) {
    let query = StepQuery {
        plan_step: given(request.plan_step),
        state: given(request.state),
        limit: (request.page_size > 0).then_some(request.page_size),
        page_token: given(request.page_token),
    };
    (request.id, query)
}

/// The selection of runs to list.
pub(super) fn query(request: ListRunsRequest) -> Result<ListQuery, Error> {
    let state = given(request.state).map(|state| {
        RunState::deserialize(value!(state))
            .map_err(|_| invalid("state", format!("is {state:?}, which is none")))
    });
    Ok(ListQuery {
        state: state.transpose()?,
        thread_id: given(request.thread_id),
        mode: given(request.mode),
        limit: (request.page_size > 0).then_some(request.page_size),
        page_token: given(request.page_token),
        top_only: request.top_only,
    })
}

impl From<RunView> for Run {
    fn from(view: RunView) -> Self {
        Self {
            id: view.id,
            mode: view.mode,
            agent: view.agent,
            thread_id: view.thread_id,
            state: view.state.label().to_owned(),
            objective: view.objective,
            created_at: Some(timestamp(view.created_at)),
            ended_at: view.ended_at.map(timestamp),
            phase: view.phase,
            depth: view.depth,
            tokens: view.tokens,
            tokens_estimated: view.tokens_estimated,
            parent_task_id: view.parent_task_id,
            on_behalf_of: view.on_behalf_of,
            undone: view.undone.map(undone).unwrap_or_default().to_owned(),
            calls: view.calls,
            approvals: view.approvals.into_iter().map(Into::into).collect(),
            result: view.result.as_ref().map(json::to_struct),
            error: view.error.unwrap_or_default(),
            task_id: view.task_id,
            resumes: view.resumes.unwrap_or_default(),
            series: view.series,
            forked_at: view.forked.as_ref().map_or(0, |forked| forked.at),
            forked_from: view.forked.map(|forked| forked.run).unwrap_or_default(),
            budget: (view.budget != RunLimits::default()).then_some(pb::RunBudget {
                tokens: view.budget.tokens,
                calls: view.budget.calls,
                time_ms: view.budget.time_ms,
            }),
        }
    }
}

fn undone(undone: Undone) -> &'static str {
    match undone {
        Undone::Part => "part",
        Undone::All => "all",
    }
}

impl From<ApprovalView> for pb::Approval {
    fn from(view: ApprovalView) -> Self {
        Self {
            id: view.id,
            run_id: view.run_id,
            step: view.step,
            agent: view.agent,
            capability: view.capability,
            arguments: Some(json::to_value(&view.arguments)),
            digest: view.digest,
            asked_at: Some(timestamp(view.asked_at)),
        }
    }
}

impl From<PlanView> for RunPlan {
    fn from(view: PlanView) -> Self {
        let states = view.states.into_iter();
        Self {
            version: view.version,
            plan: Some(json::to_struct(&view.plan)),
            states: states.map(|(s, is)| (s, is.label().to_owned())).collect(),
        }
    }
}

impl From<GraphView> for RunGraph {
    fn from(view: GraphView) -> Self {
        Self {
            graph: Some(json::to_struct(&value!(view))),
            dot: view.dot(),
            mermaid: view.mermaid(),
        }
    }
}
