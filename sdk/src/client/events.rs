//! Subscriptions that come back by themselves.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use agenthub_proto::{
    BEGINS_AFTER,
    agenthub::{AgentEvent, SubscribeToAgentEventsRequest, SubscribeToTasksRequest},
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::Stream;
use tonic::{Code, Response, Status, Streaming};

use super::{Calls, Client};
use crate::{Connection, Error, connection::backoff};

/// A stream that held for this long was a subscription, and its break begins the count of failures anew.
const HELD: Duration = Duration::from_secs(5);

/// Events as they come. After a break or a restart of the hub it subscribes again, after the [position](Self::position) that it has, so that
/// nothing is missed and nothing comes twice.
///
/// Where the hub cannot go on from there, because its log was deleted or no longer reaches back that far, the next item is
/// [`Error::Missed`]; the events after it are those from then on. Events without a place in the log (of `Durability::Memory`, and who is
/// present) are not repeated; a subscription to agents begins again with those that are there.
///
/// It tries for [`PATIENCE`](Self::PATIENCE), or as long as [`patience`](Self::patience) says, and holds at most one event in memory.
/// Errors other than `Missed` are its end.
pub struct EventStream {
    client: Client,
    request: Subscription,
    patience: Duration,
    position: String,
    state: State,
    /// Time of the break, and the number of failures since then.
    away_since: Option<Instant>,
    failures: u32,
    /// The reason why there are events that it has not seen.
    gap: Option<String>,
}

/// A subscription that can be asked for again.
#[derive(Clone, Debug)]
pub(super) enum Subscription {
    Tasks(SubscribeToTasksRequest),
    Agents(SubscribeToAgentEventsRequest),
}

enum State {
    Open {
        events: Box<Streaming<AgentEvent>>,
        since: Instant,
    },
    Opening(BoxFuture<'static, Result<Opened, SubscribeError>>),
    Over,
}

/// A subscription that the hub has taken.
struct Opened {
    events: Box<Streaming<AgentEvent>>,
    /// After which position its events come; empty if the hub does not say.
    begins_after: String,
}

/// The reason why there is no subscription.
enum SubscribeError {
    /// The hub has no events after the position.
    Gap(String),
    Failed(Error),
}

impl Subscription {
    fn after(self, position: &str) -> Self {
        let after = position.to_owned();
        match self {
            Self::Tasks(request) => Self::Tasks(SubscribeToTasksRequest { after, ..request }),
            Self::Agents(request) => {
                Self::Agents(SubscribeToAgentEventsRequest { after, ..request })
            }
        }
    }

    fn position(&self) -> &str {
        match self {
            Self::Tasks(request) => &request.after,
            Self::Agents(request) => &request.after,
        }
    }

    async fn open(self, calls: Calls) -> Result<Opened, SubscribeError> {
        let has_position = !self.position().is_empty();
        let mut hub = calls.hub();
        let answer = timeout(Client::CALL_DEADLINE, async {
            match self {
                Self::Tasks(request) => hub.subscribe_to_tasks(request).await,
                Self::Agents(request) => hub.subscribe_to_agent_events(request).await,
            }
        });
        match answer.await {
            Ok(Ok(response)) => Ok(Opened::of(response)),
            Ok(Err(status)) if has_position && status.code() == Code::OutOfRange => {
                Err(SubscribeError::Gap(status.message().to_owned()))
            }
            Ok(Err(status)) => Err(SubscribeError::Failed(Error::from_status(&status))),
            Err(_) => Err(SubscribeError::Failed(Error::Timeout(
                Client::CALL_DEADLINE,
            ))),
        }
    }
}

impl Opened {
    fn of(response: Response<Streaming<AgentEvent>>) -> Self {
        let begins_after = response.metadata().get(BEGINS_AFTER);
        let begins_after = begins_after.and_then(|position| position.to_str().ok());
        Self {
            begins_after: begins_after.unwrap_or_default().to_owned(),
            events: Box::new(response.into_inner()),
        }
    }
}

impl EventStream {
    /// Time for which it tries to come back if nothing else is said: 5 min.
    pub const PATIENCE: Duration = Duration::from_secs(300);

    /// Subscribes. That the hub has nothing after the request's own position is an error here.
    pub(super) async fn open(client: Client, request: Subscription) -> Result<Self, Error> {
        let position = request.position().to_owned();
        let opened = match request.clone().open(client.calls().clone()).await {
            Ok(opened) => opened,
            Err(SubscribeError::Gap(why)) => return Err(Error::Invalid(why)),
            Err(SubscribeError::Failed(error)) => return Err(error),
        };
        let mut stream = Self {
            client,
            request,
            patience: Self::PATIENCE,
            position,
            state: State::Over,
            away_since: None,
            failures: 0,
            gap: None,
        };
        stream.opened(opened);
        Ok(stream)
    }

    /// Time for which the hub may be away before the stream is over; [`PATIENCE`](Self::PATIENCE) if not given. With zero it does not come back.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The position of the last event, or else that after which the first one comes: a subscription after it misses nothing and repeats
    /// nothing. Empty before the first event of a hub that does not say it.
    pub fn position(&self) -> &str {
        &self.position
    }

    /// The next event; `None` once the stream is over. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`Error::Missed`], after which it goes on; else why it is over.
    pub async fn next(&mut self) -> Option<Result<AgentEvent, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn opened(&mut self, opened: Opened) {
        if !opened.begins_after.is_empty() {
            self.position = opened.begins_after;
        }
        self.state = State::Open {
            events: opened.events,
            since: Instant::now(),
        };
    }

    /// Takes a break. `Err` is the end.
    fn broke(&mut self, error: Error) -> Result<(), Error> {
        if let State::Open { since, .. } = &self.state
            && since.elapsed() >= HELD
        {
            self.came_back();
        }
        self.state = State::Over;
        let away_since = *self.away_since.get_or_insert_with(Instant::now);
        if !error.is_retryable() || away_since.elapsed() >= self.patience {
            return Err(error);
        }
        tracing::debug!(%error, "a subscription is asked for again");
        self.failures = self.failures.saturating_add(1);
        if self.position.is_empty() {
            let why = || "the hub did not say where its events stand in the log".to_owned();
            self.gap.get_or_insert_with(why);
        }
        self.reopen(backoff::delay(self.failures, fastrand::f64()));
        Ok(())
    }

    fn reopen(&mut self, pause: Duration) {
        let request = self.request.clone().after(&self.position);
        self.state = State::Opening(again(self.client.clone(), request, pause).boxed());
    }

    fn came_back(&mut self) {
        self.away_since = None;
        self.failures = 0;
    }

    /// Takes in a try to subscribe again; an item, if there is one to give.
    fn tried(&mut self, result: Result<Opened, SubscribeError>) -> Option<Error> {
        match result {
            Ok(opened) => {
                self.opened(opened);
                self.gap.take().map(Error::Missed)
            }
            Err(SubscribeError::Gap(why)) => {
                self.position.clear();
                self.gap = Some(why);
                self.reopen(Duration::ZERO);
                None
            }
            Err(SubscribeError::Failed(error)) => self.broke(error).err(),
        }
    }
}

/// Subscribes after a pause. A client that is closed does not come back.
async fn again(
    client: Client,
    request: Subscription,
    pause: Duration,
) -> Result<Opened, SubscribeError> {
    let mut connection = client.connection();
    let closed = connection.wait_for(|c| matches!(c, Connection::Closed { .. }));
    tokio::select! {
        biased;
        _ = closed => return Err(SubscribeError::Failed(Error::Closed("the client was closed".to_owned()))),
        () = sleep(pause) => {}
    }
    request.open(client.calls().clone()).await
}

impl Stream for EventStream {
    type Item = Result<AgentEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let item = match &mut self.state {
                State::Over => return Poll::Ready(None),
                State::Opening(opening) => {
                    let result = ready!(opening.poll_unpin(cx));
                    self.tried(result).map(Err)
                }
                State::Open { events, .. } => {
                    match ready!(Pin::new(&mut **events).poll_next(cx)) {
                        Some(Ok(event)) => {
                            self.came_back();
                            // Events in no log have no position.
                            if !event.position.is_empty() {
                                event.position.clone_into(&mut self.position);
                            }
                            Some(Ok(event))
                        }
                        Some(Err(status)) => self.broke(Error::from_status(&status)).err().map(Err),
                        None => {
                            let ended = Status::unavailable("the hub ended the stream");
                            self.broke(Error::from_status(&ended)).err().map(Err)
                        }
                    }
                }
            };
            if let Some(item) = item {
                return Poll::Ready(Some(item));
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("request", &self.request)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use agenthub_broker::{Server, Settings};
    use tonic::service::Routes;

    use super::*;

    fn unavailable() -> Error {
        Error::from_status(&Status::unavailable("it is away"))
    }

    fn gap(why: &str) -> Result<Opened, SubscribeError> {
        Err(SubscribeError::Gap(why.to_owned()))
    }

    async fn stream() -> (Server, EventStream) {
        let address = "127.0.0.1:0".parse().expect("an address");
        let hub = Server::start(Settings::default(), address, Routes::default()).await;
        let hub = hub.expect("a free port");
        let url = format!("http://{}", hub.address());
        let client = Client::builder(url).agent_id("watcher").connect().await;
        let request = SubscribeToTasksRequest {
            agent_id: "watcher".to_owned(),
            observe: true,
            ..SubscribeToTasksRequest::default()
        };
        let client = client.expect("the hub is there");
        let events = client.task_events(request).await.expect("a stream");
        (hub, events)
    }

    /// Lets it subscribe again, and says what it gives before events.
    async fn back(events: &mut EventStream) -> Option<Error> {
        let State::Opening(opening) = std::mem::replace(&mut events.state, State::Over) else {
            panic!("it does not come back: {events:?}");
        };
        let result = timeout(Duration::from_secs(20), opening).await;
        events.tried(result.expect("the hub answers"))
    }

    /// A break between the answer that there is a gap and the next subscription changes neither the gap nor its reason.
    #[tokio::test]
    async fn a_gap_is_told_once_however_often_the_stream_breaks_before_it_is_back() {
        let (_hub, mut events) = stream().await;
        events.position = "gone".to_owned();
        events.broke(unavailable()).expect("it is asked for again");
        assert_eq!(events.tried(gap("the log is another")), None);
        assert_eq!(events.position(), "", "it begins anew");
        for _ in 0..2 {
            assert_eq!(
                events.tried(Err(SubscribeError::Failed(unavailable()))),
                None
            );
        }
        let missed = Error::Missed("the log is another".to_owned());
        assert_eq!(back(&mut events).await, Some(missed));
        assert_ne!(events.position(), "", "it stands where the hub is");

        events.broke(unavailable()).expect("it is asked for again");
        assert_eq!(back(&mut events).await, None, "it is no gap any more");
        assert!(matches!(events.state, State::Open { .. }));
    }

    #[tokio::test]
    async fn a_hub_that_says_no_position_leaves_a_gap_at_the_next_break() {
        let (_hub, mut events) = stream().await;
        events.position.clear();
        events.broke(unavailable()).expect("it is asked for again");
        let missed = back(&mut events).await;
        assert!(matches!(missed, Some(Error::Missed(_))), "{missed:?}");
    }
}
