//! What Cortex does with a message from the hub.

use std::{future::Future, pin::Pin, sync::Arc};

use agenthub_sdk::{Failure, Reply, TaskContext};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{
    conversation::Key,
    exchange::{Ask, Ended},
    inbox,
    origin::{Origin, response},
    outcome::bounded,
    shared::{Busy, Refused, Shared},
    task_sink::TaskSink,
    view::{self, Projector},
};

type Handled = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send>>;

const NOTHING_SAID: &str = "the message is empty: say what you want in a text part";

/// A request that its conversation has taken in.
struct Taken {
    done: oneshot::Receiver<Ended>,
    projector: Projector,
    _busy: Busy,
}

/// The handler of every message. The conversation takes the request in before the handler's future first runs, so requests keep
/// the order of the mailbox.
pub(crate) fn handler(shared: Arc<Shared>) -> impl Fn(TaskContext) -> Handled + Send + Sync {
    move |context| {
        let message = context.message();
        if !inbox::is_answered(message, &context.routing().to_agent_id) {
            tracing::debug!(
                message_id = message.message_id,
                "a message that is not for Cortex"
            );
            return Box::pin(async { Ok(Reply::none()) });
        }
        let is_empty = context.text().trim().is_empty() && context.data().is_none();
        let context_id = match context.context_id() {
            "" => Uuid::now_v7().to_string(),
            id => id.to_owned(),
        };
        let taken = match is_empty {
            true => Err(NOTHING_SAID.to_owned()),
            false => take(&shared, &context, &context_id).map_err(|refused| refused.to_string()),
        };
        Box::pin(answer(context, context_id, taken))
    }
}

fn take(shared: &Arc<Shared>, context: &TaskContext, context_id: &str) -> Result<Taken, Refused> {
    let (view, projector) = view::open();
    let (ended, done) = oneshot::channel();
    let ask = Ask {
        words: context.text(),
        attached: bounded(context.message().data()),
        message_id: context.message().message_id.clone(),
        origin: Origin::Hub(context.clone()),
        view,
        cancel: context.cancellation().clone(),
        done: ended,
    };
    let key = Key {
        user: context.sender().to_owned(),
        context_id: context_id.to_owned(),
    };
    let busy = shared.submit(key, ask)?;
    Ok(Taken {
        done,
        projector,
        _busy: busy,
    })
}

async fn answer(
    context: TaskContext,
    context_id: String,
    taken: Result<Taken, String>,
) -> Result<Reply, Failure> {
    let said = |text: &str| response(text, &context_id, &context.message().message_id);
    let taken = match taken {
        Ok(taken) => taken,
        Err(refused) => return fail(&context, &said, refused),
    };
    let shown = async {
        if let Some(mut sink) = TaskSink::of(&context) {
            let turn = context.message().message_id.clone();
            taken
                .projector
                .run(&mut sink, turn, context_id.clone())
                .await;
        }
    };
    let ended = tokio::select! {
        (ended, ()) = async { tokio::join!(taken.done, shown) } => {
            ended.unwrap_or_else(|_| Ended::Failed("Cortex stopped before it had an answer".to_owned()))
        }
        () = context.cancelled() => Ended::Cancelled,
    };
    match ended {
        Ended::Answered(text) => Ok(Reply::from(said(&text))),
        Ended::Failed(text) => fail(&context, &said, text),
        Ended::Cancelled => Err(Failure::cancelled("cancelled")),
    }
}

/// A task fails; who sent a message without one is told in a message.
fn fail(
    context: &TaskContext,
    said: &impl Fn(&str) -> agenthub_proto::a2a::Message,
    text: String,
) -> Result<Reply, Failure> {
    match context.task_id() {
        "" => Ok(Reply::from(said(&text))),
        _ => Err(Failure::failed(text)),
    }
}
