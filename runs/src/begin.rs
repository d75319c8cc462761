//! Dispatch of a step: its ids, its share of the budget, its deadline.

use serde::Serialize;
use uuid::Uuid;

use crate::{
    budget::{Account, Budget, BudgetExceeded, Spent},
    effect::{Effect, Handoff, SentHandoff, Step},
    event::{RunEvent, StepRequest},
    facts::Record,
    id::StepKey,
    model::Request,
    run::{Outgoing, Work},
};

/// Default deadline of a delegation: 5 min.
const DELEGATION_MS: u64 = 300_000;

/// Output tokens reserved for an answer whose length is not limited.
const ANSWER_TOKENS: u64 = 4_096;

/// Minimum output tokens for which a model is called.
const LEAST_ANSWER_TOKENS: u64 = 16;

/// Reasons why a step cannot be dispatched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Budget(#[from] BudgetExceeded),
    #[error("delegation is nested as deep as it may be")]
    Depth,
}

/// First dispatch of an attempt: the event to journal, the work to send, and the budget to reserve.
pub(crate) fn first(
    key: StepKey,
    step: Step,
    account: &Account,
    share: Budget,
    now_ms: u64,
    until_ms: Option<u64>,
) -> Result<(RunEvent, Work, Budget), BeginError> {
    let deadline_ms = step.timeout_ms.map(|t| now_ms.saturating_add(t));
    let (what, outgoing, grant) = match step.effect {
        Effect::Look(_) | Effect::Note(_) => unreachable!("it is journaled at once"),
        Effect::Ask(request) => ask(request, account)?,
        Effect::Call(call) => {
            account.check(Spent::CALL)?;
            let grant = Budget {
                calls: Some(1),
                ..Budget::default()
            };
            (
                StepRequest::ToolCalled(call.clone()),
                Outgoing::Call(call),
                grant,
            )
        }
        Effect::Delegate(handoff) => {
            let latest = now_ms.saturating_add(step.timeout_ms.unwrap_or(DELEGATION_MS));
            let until = until_ms.map_or(latest, |until| until.min(latest));
            delegate(&key, handoff, account, share, until)?
        }
        Effect::Say(text) => (
            StepRequest::Said { text: text.clone() },
            Outgoing::Say(text),
            Budget::default(),
        ),
        Effect::Wait(until_ms) => (
            StepRequest::Waiting { until_ms },
            Outgoing::Wait(until_ms),
            Budget::default(),
        ),
        Effect::Approve(approval) => (
            StepRequest::ApprovalAsked(approval.clone()),
            Outgoing::Approve(approval),
            Budget::default(),
        ),
    };
    let event = RunEvent::StepBegun {
        step: key.step.clone(),
        attempt: key.attempt,
        what,
        grant,
        deadline_ms,
        at_ms: now_ms,
    };
    let work = Work {
        key,
        what: outgoing,
        deadline_ms,
    };
    Ok((event, work, grant))
}

/// Redispatch, unchanged, of a step that was in flight when the run was recovered. Timeouts of steps that run in this
/// process start again, because nothing worked on them meanwhile; an agent keeps the deadline that it was sent.
pub(crate) fn again(key: StepKey, step: Step, record: &Record, now_ms: u64) -> Work {
    let deadline_ms = match &record.what {
        StepRequest::Delegated(_) => record.deadline_ms,
        _ => step.timeout_ms.map(|t| now_ms.saturating_add(t)),
    };
    let what = match &record.what {
        StepRequest::ToolCalled(call) => Outgoing::Call(call.clone()),
        StepRequest::Delegated(sent) => Outgoing::Delegate(sent.clone()),
        StepRequest::Said { text } => Outgoing::Say(text.clone()),
        StepRequest::Waiting { until_ms } => Outgoing::Wait(*until_ms),
        StepRequest::ApprovalAsked(approval) => Outgoing::Approve(approval.clone()),
        StepRequest::ModelAsked {
            max_output_tokens, ..
        } => {
            let mut request = match step.effect {
                Effect::Ask(request) => request,
                _ => Box::default(),
            };
            request.max_output_tokens = *max_output_tokens;
            Outgoing::Ask(request)
        }
    };
    Work {
        key,
        what,
        deadline_ms,
    }
}

/// Limits the answer's length to what the remaining budget pays for.
fn ask(
    mut request: Box<Request>,
    account: &Account,
) -> Result<(StepRequest, Outgoing, Budget), BeginError> {
    let input = with_margin(request.estimate_tokens() as u64);
    account.check(Spent {
        tokens: input + LEAST_ANSWER_TOKENS,
        calls: 1,
        cost_micros: 1,
        ..Spent::default()
    })?;
    let free = account.free();
    let tokens = free.tokens.map(|free| {
        let wanted = request.max_output_tokens.map_or(ANSWER_TOKENS, u64::from);
        let answer = wanted.min(free - input);
        request.max_output_tokens = Some(u32::try_from(answer).unwrap_or(u32::MAX));
        input + answer
    });
    let grant = Budget {
        tokens,
        calls: Some(1),
        // An answer's cost is known only once it arrives, so all that is left is reserved for it.
        cost_micros: free.cost_micros,
        ..Budget::default()
    };
    let what = StepRequest::ModelAsked {
        prompt: digest(&request.messages),
        tools: digest(&request.tools),
        max_output_tokens: request.max_output_tokens,
    };
    Ok((what, Outgoing::Ask(request), grant))
}

/// An upper bound for a text of this many estimated tokens, unless it is very unlike prose.
fn with_margin(tokens: u64) -> u64 {
    tokens + tokens.div_ceil(10)
}

/// Gives the agent a share of the free budget, and one level less of delegation depth.
fn delegate(
    key: &StepKey,
    handoff: Handoff,
    account: &Account,
    share: Budget,
    deadline_ms: u64,
) -> Result<(StepRequest, Outgoing, Budget), BeginError> {
    // Other steps may release parts of their reservations, so a delegation waits for them instead of asking an agent
    // that can pay for nothing.
    let something = u64::from(account.has_reservations());
    account.check(Spent {
        tokens: something,
        calls: 1,
        cost_micros: something,
        ..Spent::default()
    })?;
    let depth = match account.budget().depth {
        Some(depth) => Some(depth.checked_sub(1).ok_or(BeginError::Depth)?),
        None => None,
    };
    let grant = Budget {
        calls: share.calls.map(|calls| calls.max(1)),
        time_ms: None,
        depth,
        ..share
    };
    let sent = SentHandoff {
        handoff,
        task_id: key.task_id().to_string(),
        message_id: key.message_id().to_string(),
        deadline_ms,
        budget: Budget {
            // The delegation itself counts as one call.
            calls: grant.calls.map(|calls| calls - 1),
            ..grant
        },
    };
    Ok((
        StepRequest::Delegated(sent.clone()),
        Outgoing::Delegate(sent),
        grant,
    ))
}

/// Digest of a value's JSON.
fn digest(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &json).to_string()
}
