//! Links in memory to a hub in this process: its own parts need neither its certificate's names nor certificates of their own.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
};

/// Bytes that a link takes before they are read, in each direction.
const BUFFER: usize = 256 * 1024;

/// Request extension of calls over a link in memory: they come from a part of this process that belongs to the namespace of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisProcess(pub Arc<str>);

type Links = mpsc::Sender<DuplexStream>;

static OFFERS: Mutex<BTreeMap<String, Links>> = Mutex::new(BTreeMap::new());

/// An offer, until it is dropped.
#[derive(Debug)]
pub struct Offer {
    authority: String,
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut offers = OFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        offers.remove(&self.authority);
    }
}

/// Has clients of this process reach `authority`, as `host:port`, over links in memory, each of which is sent to `links`.
pub fn offer(authority: String, links: Links) -> Offer {
    let mut offers = OFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    offers.insert(authority.clone(), links);
    Offer { authority }
}

/// A link, if that authority is in this process.
///
/// # Errors
///
/// It takes no more links.
pub(super) async fn link(authority: &str) -> io::Result<Option<DuplexStream>> {
    let links = {
        let offers = OFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        offers.get(authority).cloned()
    };
    let Some(links) = links else {
        return Ok(None);
    };
    let (ours, theirs) = duplex(BUFFER);
    match links.send(theirs).await {
        Ok(()) => Ok(Some(ours)),
        Err(_) => Err(io::ErrorKind::ConnectionRefused.into()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_link_lasts_as_long_as_its_offer() {
        let (links, mut taken) = mpsc::channel(1);
        let authority = "in-process.example:1";
        let offered = offer(authority.to_owned(), links);
        let mut ours = link(authority).await.expect("it is open").expect("a link");
        let mut theirs = taken.recv().await.expect("it was sent");
        ours.write_all(b"hi").await.expect("it is open");
        drop(ours);
        let mut heard = String::new();
        theirs.read_to_string(&mut heard).await.expect("it is open");
        assert_eq!(heard, "hi");

        drop(taken);
        assert!(link(authority).await.is_err());
        drop(offered);
        assert!(matches!(link(authority).await, Ok(None)));
    }
}
