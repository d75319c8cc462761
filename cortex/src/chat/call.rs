//! `cortex.Cortex/Chat`: one turn, for as long as its caller watches.

use std::sync::Arc;

use agenthub_access::Caller;
use agenthub_proto::{
    cortex::{ChatRequest, Frame as Wire},
    trace::TraceContext,
};
use agenthub_sdk::{
    Client, Error as HubError,
    durable::Spans,
    internal::charge,
    runs::{
        Budget, Command, DriveError, Driver, RunId, RunStarted, Spent, Strategy, World,
        journal::MemoryJournal,
    },
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use uuid::Uuid;

use super::{
    conduct,
    conversation::{Key, Turn},
    frame_feed::{self, FrameSink, SINK_DEADLINE},
    turn::ChatTurn,
    world::ChatWorld,
};
use crate::{
    frame::Frame,
    origin::{CORTEX, Origin},
    shared::Shared,
};

/// Frames that wait for a slow caller. A turn that has more to show waits.
const MAX_WAITING: usize = 64;

/// The longest text, as for a message on the hub.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The longest context id, in bytes.
const MAX_CONTEXT_BYTES: usize = 256;

/// Begins a turn.
// A `Status` is what the service speaks.
#[allow(clippy::result_large_err)]
pub(crate) fn begin(
    shared: &Arc<Shared>,
    client: &Client,
    request: Request<ChatRequest>,
) -> Result<ReceiverStream<Result<Wire, Status>>, Status> {
    let traceparent = request.metadata().get("traceparent");
    let traceparent = traceparent
        .and_then(|t| t.to_str().ok())
        .unwrap_or_default();
    let above = TraceContext::parse_or_start(traceparent);
    let caller = Caller::of_request(request.extensions());
    let user = user(&caller);
    let ChatRequest { text, context_id } = request.into_inner();
    check(&text, &context_id)?;
    let context_id = match context_id.is_empty() {
        true => Uuid::now_v7().to_string(),
        false => context_id,
    };
    let key = Key {
        user,
        context_id: context_id.clone(),
    };
    shared
        .has_room(&key)
        .map_err(|refused| Status::resource_exhausted(refused.to_string()))?;
    let gone = CancellationToken::new();
    let call = Call {
        shared: Arc::clone(shared),
        turn: shared.join(key, &text),
        origin: Origin::Call {
            client: client.clone(),
            on_behalf_of: caller.named().unwrap_or_default().to_owned(),
            trace: above.child(),
            context_id: context_id.clone(),
            gone: gone.clone(),
        },
        above,
        text,
        context_id,
    };
    let (frames, receiver) = mpsc::channel(MAX_WAITING);
    shared.keep(call.run(frames, gone));
    Ok(ReceiverStream::new(receiver))
}

/// The owner of the conversation: the principal, so that nobody goes on with that of another; everybody's on a hub without identities.
fn user(caller: &Caller) -> String {
    match caller.is_anonymous() {
        true => String::new(),
        false => caller.principal.clone(),
    }
}

// A `Status` is what the service speaks.
#[allow(clippy::result_large_err)]
fn check(text: &str, context_id: &str) -> Result<(), Status> {
    if text.trim().is_empty() {
        return Err(Status::invalid_argument("text is empty: say what you want"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Status::invalid_argument(format!(
            "text has {} bytes; at most {MAX_TEXT_BYTES} are taken",
            text.len()
        )));
    }
    if context_id.len() > MAX_CONTEXT_BYTES {
        return Err(Status::invalid_argument(format!(
            "context_id has {} bytes; at most {MAX_CONTEXT_BYTES} are taken",
            context_id.len()
        )));
    }
    Ok(())
}

/// A call at work.
struct Call {
    shared: Arc<Shared>,
    turn: Turn,
    origin: Origin,
    /// The caller's trace context.
    above: TraceContext,
    text: String,
    context_id: String,
}

impl Call {
    /// Spans of the turn, under the caller's.
    fn spans(&self, run: RunId) -> Spans {
        let settings = &self.shared.settings;
        let at = (Some(self.above), self.origin.trace());
        let sink = settings.spans.clone();
        Spans::new(run, CORTEX, conduct::identity(settings), "", at, sink)
            .correlation_id(&self.origin.trace().trace_id())
    }

    /// Runs the turn, if the quotas of its caller leave anything of the day, and has it count for them.
    async fn run(self, frames: mpsc::Sender<Result<Wire, Status>>, gone: CancellationToken) {
        let client = self.origin.client().clone();
        let principal = self.origin.on_behalf_of().to_owned();
        let left = match &*principal {
            "" => (None, None),
            principal => match charge(&client, principal, Spent::default()).await {
                Ok(left) => left,
                Err(error) => {
                    let _ = frames.send(Err(refused(&error))).await;
                    return;
                }
            },
        };
        let budget = Budget {
            tokens: left.0,
            cost_micros: left.1,
            ..Budget::default()
        };
        let spent = self.drive(budget, frames, gone).await;
        if !principal.is_empty()
            && spent != Spent::default()
            && let Err(error) = charge(&client, &principal, spent).await
        {
            tracing::warn!(principal, %error, "what a chat turn used is not counted");
        }
    }

    /// Drives the turn to its end, and says what it used. When the caller is gone, the turn is cancelled.
    async fn drive(
        self,
        budget: Budget,
        frames: mpsc::Sender<Result<Wire, Status>>,
        gone: CancellationToken,
    ) -> Spent {
        let (view, projector) = frame_feed::open();
        let id = Uuid::now_v7().to_string();
        let run = RunId::new(&*id);
        let spans = self.spans(run.clone());
        let input = conduct::input(self.text, Vec::new(), &self.shared.settings);
        let world = ChatWorld::new(self.shared, self.origin, id.clone(), self.turn, view);
        let world = world.told(spans);
        let (commands, commanded) = watch::channel(Command::Go);
        let thread = self.context_id.clone();
        let world = Arc::new(world);
        let told = Arc::clone(&world);
        let driven = drive(run, (json!(input), thread, budget), world, commanded);

        let shown = async {
            let mut sink = CallSink(frames.clone());
            if !projector.run(&mut sink, id, self.context_id).await {
                let late = Status::aborted("the frames were not read in time");
                // A caller that still does not read finds the stream ended.
                let _ = timeout(SINK_DEADLINE, frames.send(Err(late))).await;
                return false;
            }
            true
        };
        let watched = async {
            let stays = tokio::select! {
                all = shown => all,
                () = frames.closed() => false,
            };
            if !stays {
                tracing::debug!("the caller of a chat is gone");
                gone.cancel();
                commands.send_replace(Command::Cancel("the caller is gone".to_owned()));
            }
        };
        let ((), driven) = tokio::join!(watched, driven);
        if let Err(error) = driven {
            tracing::warn!(%error, "a chat turn broke off");
        }
        told.spent()
    }
}

/// The status of a turn that does not begin.
fn refused(error: &HubError) -> Status {
    let HubError::OverQuota {
        reason,
        retry_after,
    } = error
    else {
        return Status::unavailable(error.to_string());
    };
    let mut details = ErrorDetails::new();
    if let Some(after) = retry_after {
        details.set_retry_info(Some(*after));
    }
    details.add_quota_failure_violation("the caller", reason);
    Status::with_error_details(Code::ResourceExhausted, reason, details)
}

/// Its journal is in memory, as the caller is gone with this process.
async fn drive(
    run: RunId,
    (input, thread, budget): (Value, String, Budget),
    world: Arc<ChatWorld>,
    commands: watch::Receiver<Command>,
) -> Result<(), DriveError> {
    let driver = Driver::new(Arc::new(MemoryJournal::default()), CORTEX);
    let first = RunStarted {
        strategy: ChatTurn.name().to_owned(),
        input,
        thread,
        origin: Value::Null,
        budget,
        deadline_ms: None,
        at_ms: world.now_ms(),
    };
    let hand = driver.open(run, CORTEX, Some(first)).await?;
    hand.drive(&ChatTurn, world, commands).await.map(drop)
}

/// Frames on the stream of the call.
struct CallSink(mpsc::Sender<Result<Wire, Status>>);

#[async_trait]
impl FrameSink for CallSink {
    async fn show(&mut self, _: &Frame, wire: Wire) -> bool {
        self.0.send(Ok(wire)).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_access::{Namespace, Policy};

    use super::*;

    #[test]
    fn conversations_belong_to_their_principals() {
        let named = |name: &str| {
            let principal = name.parse().expect("a name");
            Policy::default().caller(&principal, &Namespace::default(), &["user".to_owned()], &[])
        };
        assert_eq!(user(&named("alice")), "alice");
        assert_ne!(user(&named("alice")), user(&named("bob")));
        assert_eq!(user(&Caller::anonymous()), "");
    }
}
