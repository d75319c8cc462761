//! Log lines of a run: its ids, the steps that go out and come back, the results with their scores, and its depth.
//! Names, sizes and numbers; what was said only at `debug`, shortened and without secrets.

use agenthub_runs::{
    RunEvent, RunStarted, StepRequest,
    spans::{
        Event, Projection, RoundScore, Span,
        conventions::{
            ARTIFACT, ARTIFACT_BYTES, ARTIFACT_NAME, EVALUATION, EVALUATION_NAME, LABEL, SCORE,
            STATE, STEP, TOKENS,
        },
    },
};
use tracing::field::display;

use super::asked::{Asked, Out, digest, shown};

/// A line about a run, with what all of them have.
macro_rules! say {
    ($level:ident, $of:expr, $($rest:tt)*) => {{
        let of: &agenthub_runs::spans::Projection = $of;
        let subject = of.subject();
        tracing::$level!(
            run = %subject.run,
            workflow = of.workflow(),
            trace_id = %format_args!("{:032x}", subject.trace_id),
            span_id = %format_args!("{:016x}", subject.span_id),
            correlation_id = subject.correlation_id,
            $($rest)*
        );
    }};
}
pub(super) use say;

/// Logs the beginning of a run, and where it stands.
pub(super) fn event(of: &Projection, event: &RunEvent) {
    match event {
        RunEvent::Started(started) => begins(of, started),
        RunEvent::StepBegun {
            what: StepRequest::Delegated(_),
            ..
        } => Asked::begins(of, event),
        RunEvent::StepBegun {
            step,
            attempt,
            what,
            ..
        } => {
            let Some((kind, to)) = goes_out(what) else {
                return;
            };
            say!(info, of, %step, attempt, kind, to, "a step begins");
        }
        RunEvent::Noted { value, .. } => {
            if let Some(RoundScore { depth, score }) = RoundScore::of(value) {
                say!(info, of, depth, score, "where the run stands");
            }
        }
        _ => {}
    }
}

/// A request is taken up.
fn begins(of: &Projection, started: &RunStarted) {
    let asked = match started.input["messages"].as_array().and_then(|m| m.last()) {
        Some(message) => message,
        None => &started.input,
    };
    let text = asked.to_string();
    let agent = &*of.subject().agent;
    let (digest, bytes) = (digest(&text), text.len());
    say!(info, of, agent, digest, bytes, "a run begins");
    let request = shown(asked);
    say!(debug, of, agent, request, "what a run is asked");
}

/// A step that goes out, in a word, and its recipient.
fn goes_out(what: &StepRequest) -> Option<(&'static str, &str)> {
    match what {
        StepRequest::ModelAsked { .. } => Some(("model", "")),
        StepRequest::ToolCalled(call) => Some(("tool", &call.name)),
        StepRequest::ApprovalAsked(approval) => Some(("approval", &approval.capability)),
        StepRequest::Delegated(_) | StepRequest::Said { .. } | StepRequest::Waiting { .. } => None,
    }
}

/// A step that ended, and its result. `agent` is the one that came back with it, if any.
pub(super) fn ended(
    of: &Projection,
    event: &RunEvent,
    span: Option<&Span>,
    agent: Option<(&Asked, &Out)>,
) {
    let events = span.iter().flat_map(|span| &span.events);
    events.for_each(|event| tell(of, event));
    if let Some((asked, out)) = agent {
        return asked.ends(of, event, out);
    }
    let Some(span) = span else { return };
    let ms = span.end_ms - span.start_ms;
    let error = span.error.as_ref().map(|error| error.kind.as_str());
    let tokens = span.get(TOKENS).map(display);
    match span.get(STEP) {
        Some(step) => {
            say!(info, of, %step, ms, tokens, error, "a step is back");
        }
        None => {
            let state = span.get(STATE).map(display);
            say!(info, of, state, ms, tokens, "a run is over");
        }
    }
}

fn tell(of: &Projection, event: &Event) {
    let get = |name| event.get(name).map(display);
    match event.name {
        EVALUATION => {
            let (name, score, verdict) = (get(EVALUATION_NAME), get(SCORE), get(LABEL));
            say!(info, of, name, score, verdict, "an evaluation");
        }
        ARTIFACT => {
            let (name, bytes) = (get(ARTIFACT_NAME), get(ARTIFACT_BYTES));
            say!(info, of, name, bytes, "an artifact");
        }
        _ => {}
    }
}
