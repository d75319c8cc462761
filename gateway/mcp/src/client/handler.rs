//! Notifications of a server: progress, and that its tools are others.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
        ProtocolVersion,
    },
    service::NotificationContext,
};
use tokio::sync::watch;

use super::text;

/// The longest text of a progress that is shown, in bytes.
const MAX_PROGRESS: usize = 300;

/// Our introduction to a server, and the handling of its notifications. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Handler(Arc<Heard>);

#[derive(Debug)]
struct Heard {
    server: String,
    /// Number of changes of the list of tools.
    changes: AtomicU64,
    progress: Mutex<HashMap<ProgressToken, watch::Sender<String>>>,
}

/// The progress of one call. Dropping it ends the watching.
#[derive(Debug)]
pub(super) struct Watched {
    heard: Arc<Heard>,
    token: ProgressToken,
    latest: watch::Receiver<String>,
}

impl Handler {
    pub(super) fn new(server: &str) -> Self {
        Self(Arc::new(Heard {
            server: server.to_owned(),
            changes: AtomicU64::new(0),
            progress: Mutex::default(),
        }))
    }

    pub(super) fn server(&self) -> &str {
        &self.0.server
    }

    /// Number of changes of the list of tools.
    pub(super) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Watches the progress of a request.
    pub(super) fn watch(&self, token: ProgressToken) -> Watched {
        let (sender, latest) = watch::channel(String::new());
        self.0.watched().insert(token.clone(), sender);
        Watched {
            heard: Arc::clone(&self.0),
            token,
            latest,
        }
    }
}

impl Heard {
    fn watched(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<String>>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// The next progress; what came too fast to be taken is left out. Cancel-safe.
    pub(super) async fn next(&mut self) -> String {
        match self.latest.changed().await {
            Ok(()) => self.latest.borrow_and_update().clone(),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.heard.watched().remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("agenthub", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let told = told(&progress);
        if let Some(watcher) = self.0.watched().get(&progress.progress_token) {
            watcher.send_replace(told);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
        let server = self.0.server.as_str();
        tracing::info!(
            server,
            "the MCP server has other tools: agents that begin from here on get them"
        );
    }
}

/// A progress in words.
fn told(progress: &ProgressNotificationParam) -> String {
    let message = progress.message.as_deref().map(str::trim);
    let message = message
        .filter(|m| !m.is_empty())
        .map(|m| text::line(m, MAX_PROGRESS));
    let done = match progress.total {
        Some(total) if total > 0.0 => format!("{} of {total}", progress.progress),
        _ => progress.progress.to_string(),
    };
    match message {
        Some(message) => format!("{message} ({done})"),
        None => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    #[test]
    fn progress_is_told_in_words_and_bounded() {
        let of = |done, total: Option<f64>, message: Option<&str>| {
            let token = ProgressToken(NumberOrString::Number(1));
            let mut progress = ProgressNotificationParam::new(token, done);
            progress.total = total;
            progress.message = message.map(str::to_owned);
            told(&progress)
        };
        assert_eq!(of(3.0, Some(10.0), None), "3 of 10");
        assert_eq!(of(0.5, None, Some(" ")), "0.5");
        assert_eq!(of(1.0, Some(2.0), Some("reading\na")), "reading a (1 of 2)");
        assert!(of(1.0, None, Some(&"x".repeat(9_000))).len() < 400);
    }
}
