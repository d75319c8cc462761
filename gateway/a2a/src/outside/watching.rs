//! One agent elsewhere on the hub: there while it answers for its card, away while it does not.

use std::{
    future::pending,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use agenthub_outbound::Connector;
use agenthub_sdk::{Agent, Error as HubError, RunningAgent};
use http::Uri;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{list::Entry, proxy::Proxy, tasks::Tasks};
use crate::{
    client::{
        Auth, CardUrl, Failure, Fetched, Options, Remote, Signed, auth::Readable, fetch_as, verify,
    },
    convert::card_to_hub,
    v1::AgentCard,
};

/// Interval at which the card of an agent that answers is looked at.
const REFRESH: Duration = Duration::from_secs(30);

/// Pause before a second look at one that did not answer: it is away if that fails, too. The same between looks for a message that was under
/// way as its task was cancelled.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Pauses between looks at an agent that is away: the first, and the longest.
const AWAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// An agent elsewhere cannot be on the hub.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Outside(#[from] Failure),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// An agent elsewhere as it is seen.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) name: String,
    pub(super) interface: String,
    /// Verdict on its card's signatures.
    pub(super) signature: String,
    pub(super) is_away: bool,
    pub(super) why_away: String,
}

/// An agent elsewhere, and its place on the hub.
pub(super) struct Outside {
    pub(super) entry: Entry,
    connector: Connector,
    hub_url: String,
    /// Secrets that it may be shown, wherever the data folder is now.
    secrets: Readable,
    tasks: Arc<Mutex<Tasks>>,
    view: Arc<Mutex<View>>,
    /// The handler, once a card was read.
    proxy: Arc<OnceLock<Arc<Proxy>>>,
    known: Option<FetchedCard>,
    running: Option<RunningAgent>,
}

/// A card, and the agent behind it.
struct FetchedCard {
    card: AgentCard,
    etag: String,
    proxy: Arc<Proxy>,
}

impl Outside {
    pub(super) fn new(
        entry: Entry,
        connector: Connector,
        hub_url: String,
        secrets: Readable,
        tasks: Arc<Mutex<Tasks>>,
    ) -> Self {
        let view = View {
            is_away: true,
            ..View::default()
        };
        Self {
            entry,
            connector,
            hub_url,
            secrets,
            tasks,
            view: Arc::new(Mutex::new(view)),
            proxy: Arc::default(),
            known: None,
            running: None,
        }
    }

    pub(super) fn view(&self) -> Arc<Mutex<View>> {
        Arc::clone(&self.view)
    }

    /// The handler, once a card was read.
    pub(super) fn proxy(&self) -> Arc<OnceLock<Arc<Proxy>>> {
        Arc::clone(&self.proxy)
    }

    /// Keeps it up to date until it is to stop, and leaves the hub then.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut failures = 0_u32;
        let mut looks = 0_usize;
        loop {
            let looked = tokio::select! {
                looked = self.look() => looked,
                () = stop.cancelled() => break,
            };
            if let Some(known) = &self.known {
                known.proxy.looked();
            }
            if let (Ok(()), Some(known), Some(running)) = (&looked, &self.known, &self.running) {
                let hub = running.client();
                tokio::select! {
                    () = known.proxy.settle_abandoned(hub, looks) => {}
                    () = stop.cancelled() => break,
                }
                looks = looks.wrapping_add(1);
            }
            let pause = match looked {
                Ok(()) => {
                    failures = 0;
                    match &self.known {
                        Some(known) if known.proxy.looks_for_a_message().await => SECOND_LOOK,
                        _ => REFRESH,
                    }
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.missed(&error, failures).await
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = doubted(self.known.as_ref()), if failures == 0 => {}
                reason = closed(self.running.as_ref()) => {
                    tracing::warn!(agent = self.entry.id, reason, "the hub has no place for an agent elsewhere any more");
                    self.leave().await;
                    // Whoever has taken the id would be thrown out at once, and come back as fast.
                    tokio::select! {
                        () = sleep(AWAY.0) => {}
                        () = stop.cancelled() => break,
                    }
                }
                () = stop.cancelled() => break,
            }
        }
        self.leave().await;
    }

    /// Looks at the card, and takes its place on the hub as the card says.
    ///
    /// # Errors
    ///
    /// The agent does not answer, its card is wrong, or the hub does not take it.
    async fn look(&mut self) -> Result<(), Trouble> {
        self.read_card().await?;
        self.join().await
    }

    /// Fetches the card if it has changed.
    ///
    /// # Errors
    ///
    /// The agent does not answer, its card is wrong, or the hub does not take what it says instead.
    pub(super) async fn read_card(&mut self) -> Result<(), Trouble> {
        let url = CardUrl::of(&self.entry.url)?;
        let etag = self.known.as_ref().map_or("", |known| known.etag.as_str());
        let auth = self.auth()?;
        match fetch_as(&self.connector, &url, etag, auth.as_ref()).await? {
            Fetched::Unchanged => Ok(()),
            Fetched::Card {
                card,
                document,
                url,
                etag,
            } => {
                if let Some(known) = self.known.as_mut().filter(|known| known.card == *card) {
                    known.etag = etag;
                    return Ok(());
                }
                let signed = verify(&self.connector, &document, &url).await;
                if signed == Signed::Wrong {
                    return Err(Failure::Card(format!("its card's signature is {signed}")).into());
                }
                self.learn(*card, &url, etag, auth).await?;
                self.see(|view| view.signature = signed.to_string());
                Ok(())
            }
        }
    }

    /// Takes its place on the hub, as the card says that was read.
    ///
    /// # Errors
    ///
    /// The hub does not take it.
    pub(super) async fn join(&mut self) -> Result<(), Trouble> {
        if self.running.is_none()
            && let Some(known) = &self.known
        {
            let agent = agent(&self.entry.id, known)?;
            self.see(|view| view.why_away.clear());
            self.running = Some(agent.start(&self.hub_url).await?);
            self.see(|view| view.is_away = false);
            tracing::info!(agent = self.entry.id, "an agent elsewhere is here");
        }
        Ok(())
    }

    /// The credentials, as this process may read them.
    fn auth(&self) -> Result<Option<Auth>, Failure> {
        let auth = self.entry.auth.clone();
        let auth = auth.map(|auth| auth.confined(&self.secrets));
        auth.transpose()
    }

    async fn learn(
        &mut self,
        card: AgentCard,
        url: &Uri,
        etag: String,
        auth: Option<Auth>,
    ) -> Result<(), Trouble> {
        let options = Options {
            auth,
            ..Options::default()
        };
        let remote = Remote::new(&self.connector, card.clone(), url, options)?;
        remote.check().await.map_err(|failure| match failure {
            Failure::Outbound(error) if !error.is_retryable() => Failure::Card(format!(
                "its {} cannot be called: {error}",
                remote.interface().binding.name()
            )),
            failure => failure,
        })?;
        let interface = remote.interface();
        let shown = format!(
            "{} {} at {}",
            interface.binding.name(),
            interface.version.name(),
            interface.url
        );
        self.see(|view| {
            card.name.clone_into(&mut view.name);
            view.interface = shown;
        });
        let proxy = match &self.known {
            Some(known) => {
                known.proxy.replace(remote);
                Arc::clone(&known.proxy)
            }
            None => {
                let new = || Arc::new(Proxy::new(&self.entry.id, remote, Arc::clone(&self.tasks)));
                Arc::clone(self.proxy.get_or_init(new))
            }
        };
        let known = FetchedCard { card, etag, proxy };
        if let Some(running) = &self.running {
            running.replace(agent(&self.entry.id, &known)?).await?;
        }
        self.known = Some(known);
        Ok(())
    }

    /// Takes a failed look for what it is; gives the pause before the next one.
    async fn missed(&mut self, error: &Trouble, failures: u32) -> Duration {
        if self.running.is_some() && failures < 2 {
            tracing::debug!(agent = self.entry.id, %error, "an agent elsewhere did not answer");
            return SECOND_LOOK;
        }
        if failures <= 2 {
            tracing::warn!(agent = self.entry.id, %error, "an agent elsewhere is away");
        }
        self.see(|view| view.why_away = error.to_string());
        self.leave().await;
        let doubled = AWAY.0 * 2_u32.saturating_pow(failures.saturating_sub(2).min(8));
        doubled.min(AWAY.1)
    }

    /// Is away from here on; what was handed on is taken up when it is back.
    async fn leave(&mut self) {
        self.see(|view| view.is_away = true);
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    fn see(&self, change: impl FnOnce(&mut View)) {
        change(&mut self.view.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The agent of the hub that hands on what it is asked.
fn agent(id: &str, known: &FetchedCard) -> Result<Agent, HubError> {
    let mut card = card_to_hub(known.card.clone());
    id.clone_into(&mut card.name);
    let skills: Vec<String> = card.skills.iter().map(|skill| skill.id.clone()).collect();
    let proxy = Arc::clone(&known.proxy);
    Agent::worker(card)
        .topics(skills)
        .on_any(move |task| Arc::clone(&proxy).work(task))
        // What is at work is taken up again by whoever comes after it.
        .drain_timeout(Duration::ZERO)
        .build()
}

async fn doubted(known: Option<&FetchedCard>) {
    match known {
        Some(known) => known.proxy.doubt.notified().await,
        None => pending().await,
    }
}

async fn closed(running: Option<&RunningAgent>) -> String {
    match running {
        Some(running) => running.closed().await,
        None => pending().await,
    }
}
