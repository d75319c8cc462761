//! Binding of the hub's addresses. A killed hub keeps its address until the system has cleaned up its process.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpSocket},
    time::{Instant, sleep},
};

use crate::{log::is_in_use, settings::Storage};

/// Time for which binding is retried while no other hub uses the data folder.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for which a killed process may keep the data folder locked: a longer lock means that its owner lives.
const DYING: Duration = Duration::from_secs(1);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Length of the accept queue, if the system permits: a whole fleet may connect at once, and a peer that finds the queue full tries
/// again a second later.
pub(crate) const BACKLOG: u32 = 8192;

/// Binds an address exclusively, without listening yet.
pub(crate) fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(address)?;
    Ok(socket)
}

/// Binds an address exclusively and listens, with an accept queue for thousands.
///
/// # Errors
///
/// It is taken or not local.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    socket(address)?.listen(BACKLOG)
}

/// Binds an address for a hub with this storage. Retries an address in use: for 5 s if no other hub uses the data
/// folder, and for 1 s otherwise. Does not retry without a folder.
///
/// # Errors
///
/// The last error of `bind`.
pub async fn bind<T, F>(storage: &Storage, mut bind: impl FnMut() -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let start = Instant::now();
    loop {
        let bound = bind().await;
        let is_taken = matches!(&bound, Err(e) if e.kind() == io::ErrorKind::AddrInUse);
        let Storage::Folder(folder) = storage else {
            return bound;
        };
        let waited = start.elapsed();
        if !is_taken || waited >= PATIENCE || (waited >= DYING && is_in_use(folder)) {
            return bound;
        }
        sleep(PAUSE).await;
    }
}

/// Runs an action that needs the data folder. Retries for 1 s while the folder is in use.
pub(crate) async fn in_folder<T, E>(
    mut open: impl FnMut() -> Result<T, E>,
    is_locked: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let start = Instant::now();
    loop {
        match open() {
            Err(error) if is_locked(&error) && start.elapsed() < DYING => sleep(PAUSE).await,
            opened => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, fs::File, future::ready};

    use futures_util::future::try_join_all;
    use tokio::{net::TcpStream, time::timeout};

    use super::*;

    fn loopback() -> SocketAddr {
        "127.0.0.1:0".parse().expect("an address")
    }

    #[tokio::test]
    async fn an_address_that_is_taken_turns_peers_away_until_the_hub_listens() {
        let socket = socket(loopback()).expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let early = TcpStream::connect(address).await.map(|_| ());
        let refused = early.map_err(|e| e.kind());
        assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));
        let listener = socket.listen(BACKLOG).expect("nobody else listens");
        let (accepted, connected) = tokio::join!(listener.accept(), TcpStream::connect(address));
        assert!(accepted.is_ok() && connected.is_ok());
    }

    /// The system completes as many connections as the queue takes, before any is accepted.
    #[tokio::test]
    async fn a_crowd_connects_at_once() {
        const CROWD: usize = 300;
        let listener = listen(loopback()).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let connecting = (0..CROWD).map(|_| TcpStream::connect(address));
        let connected = timeout(Duration::from_secs(10), try_join_all(connecting)).await;
        let connected = connected.expect("nobody tries in vain");
        assert_eq!(connected.expect("it listens").len(), CROWD);
    }

    /// Time until an address is bound or given up that stays in use for this long.
    async fn taken(storage: &Storage, is_free_after: Duration) -> (Duration, bool) {
        let start = Instant::now();
        let bound = bind(storage, || match start.elapsed() < is_free_after {
            true => ready(Err(io::Error::from(io::ErrorKind::AddrInUse))),
            false => ready(Ok(())),
        });
        let is_bound = bound.await.is_ok();
        (start.elapsed(), is_bound)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn an_address_is_waited_for_while_nobody_has_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let storage = Storage::Folder(folder.path().to_owned());
        let soon = Duration::from_secs(3);
        assert_eq!(taken(&storage, soon).await, (soon, true));
        assert_eq!(taken(&storage, LONG).await, (PATIENCE, false));
        assert_eq!(taken(&Storage::Memory, LONG).await, (Duration::ZERO, false));

        let lock = File::create(folder.path().join("hub.lock")).expect("a file");
        lock.try_lock().expect("nobody has it");
        assert_eq!(taken(&storage, LONG).await, (DYING, false));
        assert_eq!(taken(&storage, PAUSE).await, (PAUSE, true));
    }

    #[tokio::test(start_paused = true)]
    async fn another_error_is_told_at_once() {
        let storage = Storage::Folder("/nowhere".into());
        let tries = Cell::new(0);
        let refused: io::Result<()> = bind(&storage, || {
            tries.set(tries.get() + 1);
            ready(Err(io::ErrorKind::AddrNotAvailable.into()))
        })
        .await;
        assert!(refused.is_err());
        assert_eq!(tries.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_is_waited_for_as_long_as_a_process_dies() {
        let start = Instant::now();
        let opened = |until: Duration| {
            in_folder(
                move || match start.elapsed() < until {
                    true => Err(true),
                    false => Ok(()),
                },
                |is_locked| *is_locked,
            )
        };
        assert_eq!(opened(DYING / 2).await, Ok(()));
        assert_eq!(opened(LONG).await, Err(true));
        assert_eq!(in_folder(|| Err::<(), _>(false), |l| *l).await, Err(false));
    }
}
