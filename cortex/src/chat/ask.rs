//! One question to the model.

use std::time::Duration;

use agenthub_sdk::{
    internal::redacted,
    model::{self, Completion, LanguageModel, Request, deltas},
    runs::EffectFailure,
};
use tokio::time::timeout;
use tracing::Instrument;

use super::readable::Readable;

/// Asks, and hands over what of the answer is for the user while it is written. Dropping the future stops the call.
pub(crate) async fn ask(
    model: &dyn LanguageModel,
    deadline: Duration,
    request: Request,
    show: impl Fn(String),
) -> Result<Completion, EffectFailure> {
    let (sink, mut pieces) = deltas();
    let mut readable = Readable::of(&request);
    let watch = async {
        while let Some(piece) = pieces.next().await {
            let text = readable.push(&piece);
            if !text.is_empty() {
                show(text);
            }
        }
    };
    let span = tracing::info_span!("model_call", model = model.name());
    let call = timeout(deadline, model.complete(request, sink));
    let (completion, ()) = tokio::join!(call.instrument(span), watch);
    let late = model::ModelError::Timeout(deadline);
    completion.unwrap_or(Err(late)).map_err(|error| {
        tracing::warn!(%error, "the model did not answer");
        EffectFailure {
            message: redacted(&error.to_string()),
            is_retryable: error.is_retryable(),
        }
    })
}
