//! Pages, asked for as a browser does: whole, and as a stream of what is on them.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, bail};
use futures_util::StreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;

/// Deadline of an answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// A browser.
pub(super) struct Browser {
    http: SocketAddr,
    client: reqwest::Client,
}

/// A page that is kept up to date until it is dropped.
pub(super) struct Open {
    events: Arc<AtomicU64>,
    reading: AbortOnDropHandle<()>,
    path: String,
}

impl Open {
    /// Checks that it was drawn, and is still kept up to date.
    ///
    /// # Errors
    ///
    /// It was not, or its stream has ended.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let path = &self.path;
        if self.reading.is_finished() {
            bail!("the stream of {path} has ended");
        }
        // A page of events shows none unless there are some.
        if self.events.load(Ordering::Relaxed) == 0 {
            bail!("the stream of {path} told nothing");
        }
        Ok(())
    }
}

impl Browser {
    pub(super) fn new(http: SocketAddr) -> Self {
        Self {
            http,
            client: reqwest::Client::new(),
        }
    }

    /// Time until the first byte of an answer, its connection included.
    pub(super) async fn first_byte(&self, path: &str) -> anyhow::Result<Duration> {
        let http = self.http;
        let began = Instant::now();
        let first = async {
            let mut stream = TcpStream::connect(http).await?;
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            stream.read_u8().await
        };
        timeout(DEADLINE, first).await.context("no answer")??;
        Ok(began.elapsed())
    }

    /// A page, and the time until all of it was there.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<(Duration, String)> {
        let began = Instant::now();
        let answer = self
            .client
            .get(self.url(path))
            .timeout(DEADLINE)
            .send()
            .await?;
        let page = answer.error_for_status()?.text().await?;
        Ok((began.elapsed(), page))
    }

    /// Opens a page and keeps it open.
    pub(super) async fn open(&self, path: &str) -> anyhow::Result<Open> {
        let request = self.client.get(self.url(path));
        let answer = request.header("accept", "text/event-stream").send();
        let answer = timeout(DEADLINE, answer).await.context("no answer")??;
        let mut pieces = answer.error_for_status()?.bytes_stream();
        let events = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&events);
        let reading = tokio::spawn(async move {
            while let Some(Ok(_)) = pieces.next().await {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Ok(Open {
            events,
            reading: AbortOnDropHandle::new(reading),
            path: path.to_owned(),
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }
}

/// Address of the next page of a listing, if there is one.
pub(super) fn next_page(page: &str) -> Option<String> {
    let (before, _) = page.split_once("\">Next page<")?;
    let (_, address) = before.rsplit_once("href=\"")?;
    Some(address.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_by_its_link() {
        let page = "<a href=\"/ui/agents/a\">a</a><p><a href=\"/ui/agents?q=x&amp;page=y\">Next page</a></p>";
        assert_eq!(next_page(page).as_deref(), Some("/ui/agents?q=x&page=y"));
        assert_eq!(next_page("<p>nothing</p>"), None);
    }
}
