//! Ports for programs that tests start, here and in the tests of `sdk/`.

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    ops::Range,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Ports for servers of tests: below those that the system gives to connections and to listeners that want any, so that neither gets one
/// between its being found free and its being served, or while its server is killed and starts again.
const PORTS: Range<u16> = 10_000..32_000;

/// Locks of the ports that this program has given to its tests, and the next one that it looks at.
struct Given {
    locks: Vec<File>,
    next: u16,
}

/// A loopback address that is free, and that no other test gets while this program runs.
pub(crate) fn free_address() -> String {
    static GIVEN: Mutex<Given> = Mutex::new(Given {
        locks: Vec::new(),
        next: PORTS.start,
    });
    let folder = env::temp_dir().join("agenthub-test-ports");
    fs::create_dir_all(&folder).expect("a folder for locks");
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    while given.next < PORTS.end {
        let port = given.next;
        given.next += 1;
        let address = format!("127.0.0.1:{port}");
        if let Some(lock) = locked(&folder, port)
            && TcpListener::bind(&address).is_ok()
        {
            given.locks.push(lock);
            return address;
        }
    }
    panic!("no port is free")
}

/// The lock of a port, unless another program has it. It goes with the program that has it.
fn locked(folder: &Path, port: u16) -> Option<File> {
    let path = folder.join(port.to_string());
    let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.try_lock().ok().map(|()| file)
}
