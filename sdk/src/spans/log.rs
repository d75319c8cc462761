//! What the log says of a run: which steps go out and come back, what was made, how it scored and how deep it is. Names, sizes and
//! numbers, never what was said.

use agenthub_runs::{
    Begun, RunEvent,
    spans::{
        Event, Projection, Span, Standing,
        conventions::{
            ARTIFACT, ARTIFACT_BYTES, ARTIFACT_NAME, EVALUATION, EVALUATION_NAME, LABEL, SCORE,
            STATE, STEP, TOKENS,
        },
    },
};
use tracing::field::display;

/// What begins, and where the run stands.
pub(super) fn event(of: &Projection, event: &RunEvent) {
    let subject = of.subject();
    let (run, workflow) = (&subject.run, of.workflow());
    let trace_id = format_args!("{:032x}", subject.trace_id);
    match event {
        RunEvent::Started(_) => {
            tracing::info!(%run, workflow, %trace_id, agent = subject.agent, "a run begins");
        }
        RunEvent::StepBegun {
            step,
            attempt,
            what,
            ..
        } => {
            let Some((kind, to)) = goes_out(what) else {
                return;
            };
            tracing::info!(%run, workflow, %trace_id, %step, attempt, kind, to, "a step begins");
        }
        RunEvent::Noted { value, .. } => {
            if let Some(Standing { depth, score }) = Standing::of(value) {
                tracing::info!(%run, workflow, %trace_id, depth, score, "where the run stands");
            }
        }
        _ => {}
    }
}

/// What goes out, in a word, and to whom.
fn goes_out(what: &Begun) -> Option<(&'static str, &str)> {
    match what {
        Begun::ModelAsked { .. } => Some(("model", "")),
        Begun::ToolCalled(call) => Some(("tool", &call.name)),
        Begun::Delegated(sent) => Some(("handoff", &sent.handoff.agent)),
        Begun::ApprovalAsked(approval) => Some(("approval", &approval.capability)),
        Begun::Said { .. } | Begun::Waiting { .. } => None,
    }
}

/// What ended, and what it gave.
pub(super) fn span(of: &Projection, span: &Span) {
    let subject = of.subject();
    let (run, workflow) = (&subject.run, of.workflow());
    let trace_id = format_args!("{:032x}", subject.trace_id);
    for event in &span.events {
        tell(of, event);
    }
    let ms = span.end_ms - span.start_ms;
    let error = span.error.as_ref().map(|error| error.kind.as_str());
    let tokens = span.get(TOKENS).map(display);
    match span.get(STEP) {
        Some(step) => {
            tracing::info!(%run, workflow, %trace_id, %step, ms, tokens, error, "a step is back");
        }
        None => {
            let state = span.get(STATE).map(display);
            tracing::info!(%run, workflow, %trace_id, state, ms, tokens, "a run is over");
        }
    }
}

fn tell(of: &Projection, event: &Event) {
    let subject = of.subject();
    let (run, workflow) = (&subject.run, of.workflow());
    let trace_id = format_args!("{:032x}", subject.trace_id);
    let get = |name| event.get(name).map(display);
    match event.name {
        EVALUATION => {
            let (name, score, verdict) = (get(EVALUATION_NAME), get(SCORE), get(LABEL));
            tracing::info!(%run, workflow, %trace_id, name, score, verdict, "an evaluation");
        }
        ARTIFACT => {
            let (name, bytes) = (get(ARTIFACT_NAME), get(ARTIFACT_BYTES));
            tracing::info!(%run, workflow, %trace_id, name, bytes, "an artifact");
        }
        _ => {}
    }
}
