//! A simulated disk in memory, with the system's page cache. A power cut may lose any part of unsynced writes.

use std::{
    collections::BTreeMap,
    io,
    sync::{Condvar, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use rusqlite::ffi;

use super::PATIENCE;

/// Unit of atomic writes, in bytes. Even of a sector only a part may be written.
const SECTOR: usize = 512;

/// An SQLite result code.
pub(super) type Code = i32;

/// A file, independent of its name.
pub(super) type Inode = u64;

/// The disk, see the module.
#[derive(Debug, Default)]
pub(super) struct Disk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    names: BTreeMap<String, Inode>,
    /// Durable names.
    safe_names: BTreeMap<String, Inode>,
    files: BTreeMap<Inode, File>,
    steps: u64,
    /// Step of the power cut.
    cut_at: Option<u64>,
    /// True after the power cut.
    is_off: bool,
    /// Syncs until one fails.
    syncs_left: Option<u64>,
    /// Syncs since a failed one.
    syncs_since_failure: Option<u64>,
    /// Maximum bytes of all files together.
    room: Option<u64>,
    /// Error at that limit, instead of a full disk.
    no_room: Option<Code>,
    is_held: bool,
    is_waited_at: bool,
}

#[derive(Debug, Default)]
struct File {
    /// Content as programs see it.
    seen: Vec<u8>,
    safe: Vec<u8>,
    /// Changes that lead from `safe` to `seen`.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl Disk {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it has this")
    }

    /// Cuts the power after this many steps.
    pub(super) fn cut_in(&self, steps: u64) {
        let mut state = self.state();
        state.cut_at = Some(state.steps + steps);
    }

    pub(super) fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// Restarts the machine; `rng` decides which unsynced changes survive.
    pub(super) fn power_on(&self, rng: &mut fastrand::Rng) {
        let mut state = self.state();
        let all: Vec<String> = state
            .names
            .keys()
            .chain(state.safe_names.keys())
            .cloned()
            .collect();
        let mut names = BTreeMap::new();
        for name in all {
            let which = if rng.bool() {
                &state.names
            } else {
                &state.safe_names
            };
            if let Some(inode) = which.get(&name) {
                names.insert(name, *inode);
            }
        }
        for file in state.files.values_mut() {
            file.lose(rng);
        }
        state.names = names.clone();
        state.safe_names = names;
        state.again();
    }

    /// Restarts a killed process; the page cache survives.
    pub(super) fn restart(&self) {
        self.state().again();
    }

    /// Makes a sync fail after this many.
    pub(super) fn fail_sync_after(&self, syncs: u64) {
        self.state().syncs_left = Some(syncs);
    }

    /// Syncs after a failed one; `None` if none has failed.
    pub(super) fn syncs_since_failure(&self) -> Option<u64> {
        self.state().syncs_since_failure
    }

    /// Limits the free space; `None` removes the limit.
    pub(super) fn leave_room(&self, more: Option<u64>) {
        let mut state = self.state();
        let used = state.used();
        state.room = more.map(|more| used + more);
    }

    /// Syncs the write-ahead log, as the log itself does.
    pub(super) fn sync_wal(&self) -> io::Result<()> {
        let mut state = self.state();
        let wal = state.inode("-wal");
        let synced = state.sync(wal, false);
        synced.map_err(|code| io::Error::other(format!("code {code}")))
    }

    /// Syncs the names of all files.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.state();
        let step = state.step();
        step.map_err(|code| io::Error::other(format!("code {code}")))?;
        state.safe_names = state.names.clone();
        Ok(())
    }

    /// Reports a full disk as an exceeded quota.
    pub(super) fn has_quota(&self) {
        self.state().no_room = Some(ffi::SQLITE_IOERR_WRITE);
    }

    /// Blocks writes until [`release`](Self::release).
    pub(super) fn hold(&self) {
        self.state().is_held = true;
    }

    /// Waits until a write is blocked, or the power is off.
    pub(super) fn wait_held(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.state();
        while !state.is_waited_at && !state.is_off {
            assert!(Instant::now() < until, "nothing is written");
            // A power cut wakes nobody.
            (state, _) = self
                .changed
                .wait_timeout(state, Duration::from_millis(5))
                .expect("no code panics while it has this");
        }
    }

    pub(super) fn release(&self) {
        let mut state = self.state();
        state.is_held = false;
        state.is_waited_at = false;
        self.changed.notify_all();
    }

    /// Changes the content of the file with this suffix; creates none.
    pub(super) fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let inode = state.inode(name);
        let file = state.files.get_mut(&inode).expect("it has a name");
        change(&mut file.seen);
        file.safe = file.seen.clone();
        file.unsynced.clear();
    }

    pub(super) fn write(&self, inode: Inode, at: usize, bytes: &[u8]) -> Result<(), Code> {
        let mut state = self.state();
        while state.is_held {
            state.is_waited_at = true;
            self.changed.notify_all();
            state = self
                .changed
                .wait(state)
                .expect("no code panics while it has this");
        }
        state.step()?;
        let used = state.used();
        let room = state.room;
        let file = state.file(inode)?;
        let grows = (at + bytes.len()).saturating_sub(file.seen.len()) as u64;
        if grows > 0 && room.is_some_and(|room| used + grows > room) {
            return Err(state.no_room.unwrap_or(ffi::SQLITE_FULL));
        }
        file.do_it(Change::Write {
            at,
            bytes: bytes.to_owned(),
        });
        Ok(())
    }
}

impl State {
    /// Opens the file with this name; creates it if `create`.
    pub(super) fn open(&mut self, name: Option<&str>, create: bool) -> Result<Inode, Code> {
        if let Some(inode) = name.and_then(|n| self.names.get(n)) {
            return Ok(*inode);
        }
        if !create {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        self.step()?;
        let inode = self.files.keys().last().map_or(1, |last| last + 1);
        self.files.insert(inode, File::default());
        if let Some(name) = name {
            self.names.insert(name.to_owned(), inode);
        }
        Ok(inode)
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn delete(&mut self, name: &str, is_synced: bool) -> Result<(), Code> {
        self.step()?;
        self.names
            .remove(name)
            .ok_or(ffi::SQLITE_IOERR_DELETE_NOENT)?;
        if is_synced {
            self.safe_names = self.names.clone();
        }
        Ok(())
    }

    /// Returns the number of bytes read.
    pub(super) fn read(&self, inode: Inode, at: usize, into: &mut [u8]) -> Result<usize, Code> {
        if self.is_off {
            return Err(ffi::SQLITE_IOERR_READ);
        }
        let file = self.files.get(&inode).ok_or(ffi::SQLITE_IOERR_READ)?;
        let found = file.seen.get(at..).unwrap_or_default();
        let n = found.len().min(into.len());
        into[..n].copy_from_slice(&found[..n]);
        Ok(n)
    }

    pub(super) fn size(&self, inode: Inode) -> usize {
        self.files.get(&inode).map_or(0, |f| f.seen.len())
    }

    pub(super) fn truncate(&mut self, inode: Inode, size: usize) -> Result<(), Code> {
        self.step()?;
        self.file(inode)?.do_it(Change::Truncate(size));
        Ok(())
    }

    pub(super) fn sync(&mut self, inode: Inode, with_names: bool) -> Result<(), Code> {
        self.step()?;
        if let Some(since) = &mut self.syncs_since_failure {
            *since += 1;
        }
        if self.syncs_left == Some(0) {
            self.syncs_left = None;
            self.syncs_since_failure = Some(0);
            // Like Linux: the pages stay in the cache and count as written.
            self.file(inode)?.unsynced.clear();
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        if let Some(left) = &mut self.syncs_left {
            *left -= 1;
        }
        let file = self.file(inode)?;
        for change in std::mem::take(&mut file.unsynced) {
            change.apply(&mut file.safe, 0);
        }
        if with_names {
            self.safe_names = self.names.clone();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Code> {
        self.steps += 1;
        self.is_off |= self.cut_at.is_some_and(|at| self.steps >= at);
        match self.is_off {
            true => Err(ffi::SQLITE_IOERR),
            false => Ok(()),
        }
    }

    fn again(&mut self) {
        self.is_off = false;
        self.cut_at = None;
        self.syncs_since_failure = None;
    }

    fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|inode| self.files.get(inode))
            .map(|f| f.seen.len() as u64)
            .sum()
    }

    fn inode(&self, name: &str) -> Inode {
        let found = self.names.iter().find(|(n, _)| n.ends_with(name));
        *found.unwrap_or_else(|| panic!("no {name}")).1
    }

    fn file(&mut self, inode: Inode) -> Result<&mut File, Code> {
        self.files.get_mut(&inode).ok_or(ffi::SQLITE_IOERR)
    }
}

impl File {
    fn do_it(&mut self, change: Change) {
        change.clone().apply(&mut self.seen, 0);
        self.unsynced.push(change);
    }

    /// Keeps none, all, the first part or random parts of the unsynced changes.
    fn lose(&mut self, rng: &mut fastrand::Rng) {
        let unsynced = std::mem::take(&mut self.unsynced);
        let parts: Vec<Change> = unsynced.iter().flat_map(Change::parts).collect();
        let (upto, chance) = match rng.u8(..4) {
            0 => (0, 0.0),
            1 => (parts.len(), 1.0),
            2 => (rng.usize(..=parts.len()), 1.0),
            _ => (parts.len(), rng.f64()),
        };
        let filler = if rng.bool() { 0 } else { rng.u8(..) };
        for part in parts.into_iter().take(upto) {
            if rng.f64() < chance {
                part.torn(rng).apply(&mut self.safe, filler);
            }
        }
        self.seen = self.safe.clone();
    }
}

impl Change {
    fn apply(self, to: &mut Vec<u8>, filler: u8) {
        match self {
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                if to.len() < end {
                    to.resize(end, filler);
                }
                to[at..end].copy_from_slice(&bytes);
            }
            Self::Truncate(size) => to.resize(size, 0),
        }
    }

    /// Splits a change into sectors.
    fn parts(&self) -> Vec<Self> {
        let Self::Write { at, bytes } = self else {
            return vec![self.clone()];
        };
        let mut parts = Vec::new();
        let mut from = 0;
        while from < bytes.len() {
            let to = bytes.len().min(from + SECTOR - (at + from) % SECTOR);
            parts.push(Self::Write {
                at: at + from,
                bytes: bytes[from..to].to_owned(),
            });
            from = to;
        }
        parts
    }

    /// Sometimes truncates a sector.
    fn torn(self, rng: &mut fastrand::Rng) -> Self {
        match self {
            Self::Write { at, mut bytes } if rng.u8(..16) == 0 => {
                bytes.truncate(rng.usize(..=bytes.len()));
                Self::Write { at, bytes }
            }
            other => other,
        }
    }
}
