//! One request to Cortex, from the words to the answer.

use std::time::Duration;

use agenthub_cortex::{CHAT_REQUEST, CORTEX};
use agenthub_proto::{a2a::Part, cortex::Approval};
use agenthub_sdk::{Client, Delegation, Error, TraceContext};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    elsewhere::Asked,
    overheard::Overheard,
    session::Session,
    turn_view::{End, Show, View, said},
};

/// The longest turn.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Time for which the end of a cancelled turn is waited for.
const CANCELLED: Duration = Duration::from_secs(3);

/// Deadline of a look at what Cortex knows to wait.
const LOOK: Duration = Duration::from_secs(2);

/// Words of the user, and the files that go with them.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) words: String,
    pub(super) files: Vec<Part>,
}

/// Asks, or answers what was asked, and shows what happens until the end. Cancelling `cancel` cancels the task; dropping the future leaves it running.
pub(super) async fn run<F: Future<Output = ()>>(
    session: Session,
    Said { words, files }: Said,
    cancel: CancellationToken,
    mut show: impl FnMut(Show) -> F,
) -> End {
    let client = &session.client;
    let waiting = session.take_waiting();
    let is_answer = waiting.is_some();
    let mut task_id = waiting.clone().unwrap_or_else(new_task);
    let trace = TraceContext::start();
    tracing::info!(
        task_id,
        context_id = session.context,
        trace_id = trace.trace_id(),
        "asking"
    );
    let delegation = |task_id: &str| {
        Delegation::to(CORTEX)
            .capability(CHAT_REQUEST)
            .context_id(&*session.context)
            .task_id(task_id)
            .trace(trace)
            .text(&*words)
            .content(files.clone())
            .timeout(LIMIT)
    };
    let delegate = async {
        match client.delegate(delegation(&task_id)).await {
            // It did not wait that long.
            Err(Error::Conflict(_)) if is_answer => {
                task_id = new_task();
                client.delegate(delegation(&task_id)).await
            }
            delegated => delegated,
        }
    };
    let delegated = tokio::select! {
        delegated = delegate => delegated,
        () = cancel.cancelled() => {
            // It may have arrived all the same.
            call_off(client, &task_id).await;
            return End::Cancelled;
        }
    };
    let mut pending = match delegated {
        Ok(pending) => pending,
        Err(error) => {
            // The question still waits, for what is said next.
            if waiting.is_some_and(|asked| asked == task_id) {
                session.waits(task_id);
            }
            return End::Failed(said(&error));
        }
    };
    let mut updates = pending.updates();
    let mut view = View::default();
    let mut overheard = Overheard::new(client.clone());
    let mut asked: Vec<Asked> = Vec::new();
    let mut give_up: Option<Instant> = None;
    loop {
        tokio::select! {
            update = updates.next() => match update {
                Some(update) => {
                    for it in view.apply(&update) {
                        if let Show::Asks(approval) = &it
                            && !is_news(&session, approval, &mut asked).await
                        {
                            continue;
                        }
                        show(it).await;
                    }
                    overheard.listen(view.at_work());
                }
                None => break,
            },
            piece = overheard.next() => for it in view.overhear(&piece) {
                show(it).await;
            },
            () = cancel.cancelled(), if give_up.is_none() => {
                give_up = Some(Instant::now() + CANCELLED);
                call_off(client, &task_id).await;
            }
            () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                return End::Cancelled;
            }
        }
    }
    session.elsewhere.forget(&asked);
    // The updates end with the outcome, so it is there.
    let outcome = pending.outcome().await;
    if outcome.as_ref().is_ok_and(|o| o.state.is_interrupted()) {
        session.waits(task_id);
    }
    let (shows, end) = view.end(outcome, give_up.is_some());
    for it in shows {
        show(it).await;
    }
    end
}

/// Remembers an approval that an agent asks for. False if Cortex knows it, and so tells of it itself, or if it was told before.
async fn is_news(session: &Session, approval: &Asked, asked: &mut Vec<Asked>) -> bool {
    let known = async {
        let waiting = session.line().ok()?.pending().await.ok()?;
        let is_it = |a: &Approval| a.run_id == approval.run && a.id == approval.id;
        Some(waiting.iter().any(is_it))
    };
    let is_known = timeout(LOOK, known).await.ok().flatten();
    if is_known == Some(true) || !session.elsewhere.add(approval) {
        return false;
    }
    asked.push(approval.clone());
    true
}

fn new_task() -> String {
    Uuid::now_v7().to_string()
}

async fn call_off(client: &Client, task_id: &str) {
    let call = client.cancel_task(task_id, "cancelled by the user");
    match timeout(CANCELLED, call).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::info!(task_id, %error, "the hub did not cancel the task"),
        Err(_) => tracing::info!(task_id, "the hub did not answer to a cancellation"),
    }
}

#[cfg(test)]
mod tests {
    use agenthub_broker::{ExtraServices, Server, Settings};

    use super::*;

    #[tokio::test]
    async fn an_answer_that_does_not_arrive_can_be_given_again() {
        let address = "127.0.0.1:0".parse().expect("an address");
        let hub = Server::start(Settings::default(), address, ExtraServices::default()).await;
        let hub = hub.expect("a free port");
        let url = format!("http://{}", hub.address());
        let session = Session::connect(&url, None).await.expect("a hub");
        session.waits("asked".to_owned());
        session.client.close().await;
        let said = Said {
            words: "blue".to_owned(),
            files: Vec::new(),
        };
        let cancel = CancellationToken::new();
        let end = run(session.clone(), said, cancel, |_| std::future::ready(())).await;
        assert!(matches!(end, End::Failed(_)), "{end:?}");
        assert_eq!(session.take_waiting().as_deref(), Some("asked"));
    }
}
