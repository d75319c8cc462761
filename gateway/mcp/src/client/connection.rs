//! A server that is there when it is needed.

use std::{
    future::{Future, pending},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agenthub_sdk::{Failure, ToolContext, runs::ToolOutput};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Error, Offer, ServerSettings,
    call::Failed,
    offer,
    session::{OPENING, Session},
};

/// Time for which a server that cannot be used is left alone at first; every further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest that a server is left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Time for a server to be ready before it is said that it is waited for.
const UNNOTICED: Duration = Duration::from_secs(3);

/// Deadline of [`Connection::close`].
const CLOSING: Duration = Duration::from_secs(8);

/// The shortest time between two updates that show the progress of a call.
const BETWEEN_UPDATES: Duration = Duration::from_millis(250);

/// A server, connected to at the first need. Cheap to clone; every clone is the same connection. It ends with [`close`](Self::close), or
/// in the background when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: ServerSettings,
    state: Mutex<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Debug)]
enum State {
    /// Not needed yet, or the last attempt failed.
    Idle(Failures),
    Opening(watch::Receiver<Opened>),
    Open(Arc<Session>, Failures),
    Closed,
}

/// Outcome of an attempt to open it, once that is known.
type Opened = Option<Result<Arc<Session>, Error>>;

/// Failures in a row, and the time of the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    last: Option<Instant>,
}

impl Failures {
    fn and_one(self) -> Self {
        Self {
            count: self.count.saturating_add(1),
            last: Some(Instant::now()),
        }
    }

    /// Time for which it is left alone after so many failures.
    fn pause(self) -> Duration {
        match self.count {
            0 => Duration::ZERO,
            n => LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.saturating_pow((n - 1).min(16))),
        }
    }

    async fn wait(self) {
        if let Some(last) = self.last {
            sleep_until(last + self.pause()).await;
        }
    }
}

impl Connection {
    /// A connection that is opened when it is needed.
    pub fn new(settings: ServerSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            state: Mutex::new(State::Idle(Failures::default())),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// Deadline of one call.
    pub fn timeout(&self) -> Duration {
        self.0.settings.timeout
    }

    /// The server's offer. Opens the connection if need be, for which a server has 20 s, and asks again only when the server has
    /// said that it has other tools. Cancel-safe.
    ///
    /// # Errors
    ///
    /// It cannot be used, or does not list its tools in time.
    pub async fn tools(&self) -> Result<Offer, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let session = self.session().await?;
            let is_new = session.listed().is_none();
            let limit = self.timeout();
            let server = || self.name().to_owned();
            match timeout(limit, session.list()).await {
                Ok(Ok(listed)) => {
                    let offer = offer::offer(self, listed.to_vec());
                    if is_new {
                        say(self.name(), &offer);
                    }
                    return Ok(offer);
                }
                // To list them twice does no harm.
                Ok(Err(Failed::NotSent | Failed::Broken(Error::Lost { .. }))) if attempts == 1 => {}
                Ok(Err(Failed::NotSent)) => return Err(ended(server())),
                Ok(Err(Failed::Broken(error))) => return Err(error),
                Err(_) => {
                    return Err(Error::TimedOut {
                        server: server(),
                        limit,
                    });
                }
            }
        }
    }

    /// Calls a tool by its name at the server, within the time of the settings; what the server says of its progress does not prolong
    /// it. When `cancelled` or the time is over, and when this is dropped, the call is called off at the server. It is sent once: what a
    /// server did before it broke off is not asked for again.
    ///
    /// # Errors
    ///
    /// All of [`Error`]. A tool that fails is an output.
    pub async fn call(
        &self,
        tool: &str,
        input: Value,
        cancelled: impl Future<Output = ()>,
        progress: impl Fn(String),
    ) -> Result<ToolOutput, Error> {
        self.call_known_by(None, tool, input, cancelled, progress)
            .await
    }

    /// Calls a tool, and says by which key the server knows the same call.
    async fn call_known_by(
        &self,
        key: Option<&str>,
        tool: &str,
        input: Value,
        cancelled: impl Future<Output = ()>,
        progress: impl Fn(String),
    ) -> Result<ToolOutput, Error> {
        let limit = self.timeout();
        tokio::select! {
            biased;
            () = cancelled => Err(Error::Cancelled),
            called = self.sent(tool, input, key, &progress) => called,
            () = sleep(limit) => Err(Error::TimedOut { server: self.name().to_owned(), limit }),
        }
    }

    async fn sent(
        &self,
        tool: &str,
        input: Value,
        key: Option<&str>,
        progress: &impl Fn(String),
    ) -> Result<ToolOutput, Error> {
        for _ in 0..2 {
            let session = self.session().await?;
            match session.call(tool, input.clone(), key, progress).await {
                Ok(output) => return Ok(output),
                // The session was over already: there is another one.
                Err(Failed::NotSent) => {}
                Err(Failed::Broken(error)) => return Err(error),
            }
        }
        Err(ended(self.name().to_owned()))
    }

    /// Calls a tool for an agent: ends with its task, and shows its progress there. `changes` says that it
    /// may destroy something: if it does not answer in time, it is told that this may have happened.
    pub(super) async fn call_for(
        &self,
        context: &ToolContext,
        tool: &str,
        input: Value,
        changes: bool,
    ) -> Result<ToolOutput, Failure> {
        let (latest, mut shown) = watch::channel(String::new());
        let show = async {
            while shown.changed().await.is_ok() {
                let text = shown.borrow_and_update().clone();
                if let Err(error) = context.progress(text).await {
                    tracing::debug!(%error, "a progress is not shown");
                }
                sleep(BETWEEN_UPDATES).await;
            }
            pending().await
        };
        let progress = |text| {
            latest.send_replace(text);
        };
        let key = context.idempotency_key();
        let called = tokio::select! {
            called = self.call_known_by(Some(&key), tool, input, context.cancelled(), progress) => called,
            called = show => called,
        };
        called.map_err(|error| match error {
            Error::Cancelled => Failure::cancelled(error.to_string()),
            Error::TimedOut { .. } if changes => Failure::failed(format!(
                "{error}; what was asked for may have been done or not"
            )),
            error => Failure::failed(error.to_string()),
        })
    }

    /// Ends it for every clone, with the program that was started for it: calls on their way come back with an error, later ones with
    /// [`Error::Closed`]. Takes at most 8 s.
    pub async fn close(&self) {
        *self.state() = State::Closed;
        self.0.stop.cancel();
        self.0.tasks.close();
        if timeout(CLOSING, self.0.tasks.wait()).await.is_err() {
            tracing::warn!(server = self.name(), "the MCP server did not end in time");
        }
    }

    /// The session, opened again where it is over. Cancel-safe: the opening goes on.
    async fn session(&self) -> Result<Arc<Session>, Error> {
        let mut opening = match self.opening()? {
            Ok(session) => return Ok(session),
            Err(opening) => opening,
        };
        match opening.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(opened)) => opened.clone(),
            _ => Err(ended(self.name().to_owned())),
        }
    }

    /// The session that is open, or the attempt to open one.
    fn opening(&self) -> Result<Result<Arc<Session>, watch::Receiver<Opened>>, Error> {
        let mut state = self.state();
        let failures = match &*state {
            State::Closed => {
                let server = self.name().to_owned();
                return Err(Error::Closed { server });
            }
            State::Opening(opening) if opening.has_changed().is_ok() => {
                return Ok(Err(opening.clone()));
            }
            State::Open(session, _) if !session.is_over() => return Ok(Ok(Arc::clone(session))),
            State::Open(session, _) if session.has_answered() => Failures::default(),
            State::Open(_, failures) => failures.and_one(),
            State::Idle(failures) => *failures,
            State::Opening(_) => Failures::default().and_one(),
        };
        let (sender, opening) = watch::channel(None);
        *state = State::Opening(opening.clone());
        let this = self.clone();
        self.0.tasks.spawn(async move {
            let opened = this.open(failures).await;
            sender.send_replace(Some(opened));
        });
        Ok(Err(opening))
    }

    async fn open(&self, failures: Failures) -> Result<Arc<Session>, Error> {
        let Inner {
            settings,
            stop,
            tasks,
            ..
        } = &*self.0;
        let server = settings.name.clone();
        let opening = async {
            failures.wait().await;
            // Twice, since a server may want another handshake.
            let limit = OPENING * 2;
            let opened = noticed(Session::open(settings, tasks, stop), || {
                let most = OPENING.as_secs();
                tracing::warn!(
                    server,
                    "waiting for the MCP server, which is not ready yet: it has {most} s"
                );
            });
            let opened = timeout(limit, opened).await;
            opened.unwrap_or_else(|_| Err(super::why::late(limit)))
        };
        let opened = tokio::select! {
            () = stop.cancelled() => return Err(Error::Closed { server }),
            opened = opening => opened,
        };
        let (next, opened) = match opened {
            Ok(session) => {
                let session = Arc::new(session);
                (State::Open(Arc::clone(&session), failures), Ok(session))
            }
            Err(why) => {
                tracing::warn!(server, "the MCP server cannot be used: {why}");
                let error = Error::Unavailable { server, why };
                (State::Idle(failures.and_one()), Err(error))
            }
        };
        let mut state = self.state();
        if !matches!(*state, State::Closed) {
            *state = next;
        }
        opened
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn ended(server: String) -> Error {
    let why = "the connection ended as soon as it was there".to_owned();
    Error::Unavailable { server, why }
}

/// Waits for a server, and says so once where it takes long.
async fn noticed<T>(opening: impl Future<Output = T>, say: impl FnOnce()) -> T {
    tokio::pin!(opening);
    if let Ok(opened) = timeout(UNNOTICED, &mut opening).await {
        return opened;
    }
    say();
    opening.await
}

/// Says in the log what was left out or changed of what a server offers.
fn say(server: &str, offer: &Offer) {
    for left_out in &offer.left_out {
        let (tool, why) = (&left_out.name, &left_out.why);
        tracing::warn!(server, tool, "a tool of the MCP server is left out: {why}");
    }
    for tool in &offer.tools {
        if let Some(changed) = tool.changed {
            tracing::info!(
                server,
                tool = tool.name,
                "a tool of the MCP server was adapted: {changed}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_long_is_told_once() {
        for (seconds, expected) in [(2, 0), (4, 1), (19, 1)] {
            let mut told = 0;
            noticed(sleep(Duration::from_secs(seconds)), || told += 1).await;
            assert_eq!(told, expected, "after {seconds} s");
        }
    }

    #[test]
    fn one_that_fails_is_left_alone_for_longer_each_time_up_to_a_bound() {
        let pause = |count| Failures { count, last: None }.pause().as_millis();
        assert_eq!([0, 1, 2, 3, 4].map(pause), [0, 250, 500, 1_000, 2_000]);
        assert_eq!([6, 7, u32::MAX].map(pause), [8_000; 3]);
        assert_eq!(Failures::default().and_one().count, 1);
    }
}
