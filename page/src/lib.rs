//! The hub as people see it in a browser.
//!
//! Each screen is a file in `screens/`: it asks the hub or Cortex (`backend.rs`) and draws what they say. A screen is one URL, which gives the whole
//! page to a browser that opens it, and to the page itself, which asks for `text/event-stream`, what is on it whenever that changes (`live.rs`). So
//! every state has a link, and a page that lost its stream is whole again with the first event.
//!
//! Pages act with the rights of whoever looks at them (`viewer.rs`): each call of theirs is made in that one's name. Who is not known logs in
//! (`login/`).
//!
//! Nothing is fetched from elsewhere: style and scripts are in `assets/`, and no script stands within a page (`headers.rs`).

mod assets;
mod backend;
mod clients;
mod elements;
mod feed;
mod files;
mod form_key;
mod headers;
mod health;
mod hub;
mod live;
mod login;
mod mail;
mod markdown;
mod numbers;
mod parts;
mod place;
mod plan;
mod preview;
mod screens;
mod shell;
mod skill_form;
mod sparkline;
mod titles;
mod trends;
mod trouble;
mod viewer;
mod waiting;
mod watch;
mod words;
mod written;

use std::sync::{Arc, OnceLock};

use agenthub_metrics::Snapshot;
use agenthub_proto::{browser::Hosts, grpc::InProcess};
use axum::{Router, middleware};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use self::{
    backend::Services, mail::MailReaders, titles::Titles, trouble::Trouble, waiting::Waiting,
    watch::Watch,
};
pub use self::{
    files::{Files, Journals, Model},
    login::Login,
};

/// The most pages that are kept up to date at a time. Others show what was so when they were opened.
const MAX_LIVE: usize = 1_000;

/// The pages of a hub. A server can have their [router](Self::router) before there is a hub to ask: until they are [opened](Self::open), they say
/// so. Clones are the same.
#[derive(Clone, Debug)]
pub struct Pages(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    services: OnceLock<Services>,
    files: Files,
    watch: Watch,
    closing: CancellationToken,
    live: Arc<Semaphore>,
}

impl Default for Pages {
    fn default() -> Self {
        Self::with(Files::default())
    }
}

impl Pages {
    /// Pages that show these files besides what the hub knows.
    pub fn with(files: Files) -> Self {
        Self(Arc::new(Inner {
            services: OnceLock::new(),
            files,
            watch: Watch::default(),
            closing: CancellationToken::new(),
            live: Arc::new(Semaphore::new(MAX_LIVE)),
        }))
    }

    /// Has them ask these services of the hub in this process, and of its Cortex if there is one, in the name of whoever looks at them.
    pub fn open(&self, hub: InProcess, cortex: Option<InProcess>) {
        let watch = self.0.watch.clone();
        // An error says that they are open already.
        let _ = self.0.services.set(Services {
            hub,
            cortex,
            watch,
            has_stand_in: self
                .0
                .files
                .model
                .as_ref()
                .is_some_and(|model| model.advice.is_some()),
            waiting: Waiting::default(),
            titles: Titles::default(),
            readers: MailReaders::default(),
            closing: self.0.closing.clone(),
        });
    }

    /// Shows the health of the hub and its last hour by these metrics, until the pages are [closed](Self::close).
    pub fn watch(&self, collect: impl Fn(&mut Snapshot) + Send + 'static) {
        self.0.watch.start(collect, self.0.closing.clone());
    }

    /// Ends the streams, so that their pages come back where they find a hub.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// The routes: `/`, and all others below `/ui`. `hosts` are the names under which the server is called.
    pub fn router(&self, hosts: Hosts, login: Login) -> Router {
        screens::router()
            .merge(assets::router())
            .with_state(self.clone())
            .merge(login.router())
            .layer(middleware::from_fn_with_state(hosts, headers::guarded))
    }

    /// Room for a page that is kept up to date, for as long as it is held.
    fn room(&self) -> Result<OwnedSemaphorePermit, Trouble> {
        let room = Arc::clone(&self.0.live).try_acquire_owned();
        room.map_err(|_| Trouble::crowded())
    }

    fn files(&self) -> &Files {
        &self.0.files
    }

    fn services(&self) -> Result<&Services, Trouble> {
        self.0.services.get().ok_or_else(Trouble::starting)
    }
}
