//! One question to the model: what is to be done?

use std::time::Duration;

use agenthub_sdk::model::{self, LanguageModel, Request, Usage, deltas};
use tokio::time::timeout;
use tracing::Instrument;

use crate::{
    decision::{self, Action, Candidate, Decision},
    frame::Frame,
    history::shorten,
    partial::{Partial, SEPARATOR},
    prompt::{self, Prompt, Rejected},
    view::View,
};

/// How often a wrong answer is sent back.
const MAX_REASKS: usize = 2;

/// The most tokens of a wrong answer that the model sees again.
const MAX_REJECTED_TOKENS: usize = 500;

/// Why there is no decision.
#[derive(Debug)]
pub(crate) enum DecideError {
    /// The model gave no answer.
    Model(model::Error),
    /// Its answers were none that could be used: the last reason.
    Undecided(String),
}

/// Asks the model until it decides, at most three times, and shows the user's part of the answer while it is written. Adds what
/// it costs to `usage`. Dropping the future stops the model call.
pub(crate) async fn decide(
    model: &dyn LanguageModel,
    deadline: Duration,
    prompt: Prompt<'_>,
    view: &View,
    usage: &mut Usage,
) -> Result<Decision, DecideError> {
    let candidates = match prompt.is_last_round {
        true => Vec::new(),
        false => prompt::candidates(prompt.agents),
    };
    let mut rejected: Option<Rejected> = None;
    for attempt in 1..=1 + MAX_REASKS {
        let prompt = Prompt {
            rejected: rejected.as_ref(),
            ..prompt
        };
        let (answer, streamed) = ask(model, deadline, prompt.request(), view, usage)
            .await
            .map_err(DecideError::Model)?;
        match read(&answer, &candidates) {
            Ok(decision) => {
                show_rest(&decision, &streamed, view).await;
                return Ok(decision);
            }
            Err(reason) => {
                // A reason quotes the answer, which may quote the user.
                tracing::warn!(attempt, "the model's answer is no decision");
                tracing::debug!(attempt, reason, "why the answer is no decision");
                view.show(Frame::Warning("the model has to answer again".to_owned()))
                    .await;
                rejected = Some(Rejected {
                    answer: shorten(&answer, MAX_REJECTED_TOKENS),
                    reason,
                });
            }
        }
    }
    Err(DecideError::Undecided(
        rejected.map(|r| r.reason).unwrap_or_default(),
    ))
}

fn read(answer: &str, candidates: &[Candidate]) -> Result<Decision, String> {
    decision::parse(answer, candidates).map_err(|refusal| refusal.to_string())
}

/// One call: the answer, and what of it was shown.
async fn ask(
    model: &dyn LanguageModel,
    deadline: Duration,
    request: Request,
    view: &View,
    usage: &mut Usage,
) -> Result<(String, String), model::Error> {
    let (sink, mut pieces) = deltas();
    let watch = async {
        let mut partial = Partial::default();
        let mut streamed = String::new();
        while let Some(piece) = pieces.next().await {
            let text = partial.push(&piece);
            if !text.is_empty() {
                let append = !streamed.is_empty();
                streamed.push_str(&text);
                view.show(Frame::Delta { text, append }).await;
            }
        }
        streamed
    };
    let span = tracing::info_span!("model_call", model = model.name());
    let call = timeout(deadline, model.complete(request, sink)).instrument(span);
    let (completion, streamed) = tokio::join!(call, watch);
    let completion = completion.unwrap_or(Err(model::Error::Timeout(deadline)))?;
    if let Some(cost) = completion.usage {
        usage.input_tokens += cost.input_tokens;
        usage.output_tokens += cost.output_tokens;
    }
    Ok((completion.text, streamed))
}

/// What the decision says to the user, in one text; empty if it says nothing.
pub(crate) fn said(decision: &Decision) -> String {
    let texts: Vec<&str> = decision
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Respond(text) => Some(text.as_str()),
            Action::Delegate(_) => None,
        })
        .collect();
    texts.join(SEPARATOR)
}

/// Shows what the stream of the answer did not.
async fn show_rest(decision: &Decision, streamed: &str, view: &View) {
    let whole = said(decision);
    let (text, append) = match whole.strip_prefix(streamed) {
        Some(rest) => (rest.to_owned(), !streamed.is_empty()),
        None => (whole, false),
    };
    if !text.is_empty() || !append && !streamed.is_empty() {
        view.show(Frame::Delta { text, append }).await;
    }
}
