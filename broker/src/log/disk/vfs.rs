//! A simulated disk as an SQLite VFS, with the locks and the shared memory of the write-ahead log.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::ffi;

use super::simulated::{Code, Disk, Inode, State};

/// A disk registered with SQLite under a name, until dropped. All connections have to be closed then.
pub(super) struct Mounted {
    vfs: *mut ffi::sqlite3_vfs,
    layer: *mut Layer,
    name: CString,
}

struct Layer {
    disk: Arc<Disk>,
    locks: Mutex<Locks>,
}

/// Locks of connections, identified by the addresses of their files.
#[derive(Default)]
struct Locks {
    files: BTreeMap<(Inode, usize), c_int>,
    /// File, slot, connection; true if exclusive.
    shared: BTreeMap<(Inode, c_int, usize), bool>,
    memory: BTreeMap<Inode, Vec<Box<[u64]>>>,
}

/// State of an open file, allocated by SQLite.
#[repr(C)]
struct Open {
    base: ffi::sqlite3_file,
    layer: *const Layer,
    inode: Inode,
    /// The next sync includes the names, as in SQLite's own VFS.
    syncs_names: bool,
}

impl Mounted {
    pub(super) fn new(disk: Arc<Disk>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("disk-{number}")).expect("no zeros");
        let layer = Box::into_raw(Box::new(Layer {
            disk,
            locks: Mutex::default(),
        }));
        // SAFETY: SQLite's default VFS always exists, and the functions copied from it do not access the structure that
        // contains them.
        let mut vfs = unsafe { *ffi::sqlite3_vfs_find(ptr::null()) };
        vfs.szOsFile = c_int::try_from(size_of::<Open>()).expect("it is small");
        vfs.pNext = ptr::null_mut();
        vfs.zName = name.as_ptr();
        vfs.pAppData = layer.cast();
        vfs.xOpen = Some(open);
        vfs.xDelete = Some(delete);
        vfs.xAccess = Some(access);
        vfs.xFullPathname = Some(full_pathname);
        let vfs = Box::into_raw(Box::new(vfs));
        // SAFETY: the structure is complete, and lives until it is unregistered.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        assert_eq!(code, ffi::SQLITE_OK);
        Self { vfs, layer, name }
    }

    pub(super) fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // SAFETY: all connections are closed, so there are no other references.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.vfs);
            drop(Box::from_raw(self.vfs));
            drop(Box::from_raw(self.layer));
        }
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

fn code(done: Result<(), Code>) -> c_int {
    done.err().unwrap_or(ffi::SQLITE_OK)
}

/// SAFETY: `vfs` is one of a [`Mounted`].
unsafe fn layer<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Layer {
    unsafe { &*(*vfs).pAppData.cast::<Layer>() }
}

/// SAFETY: `file` was opened by [`open`], and its disk is mounted.
unsafe fn file<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut Open, &'a Layer) {
    unsafe {
        let open = &mut *file.cast::<Open>();
        let layer = &*open.layer;
        (open, layer)
    }
}

/// SAFETY: `text` is null or ends with a zero.
unsafe fn text(text: *const c_char) -> Option<String> {
    let given = !text.is_null();
    given.then(|| {
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    })
}

fn number(n: impl TryInto<usize>) -> usize {
    n.try_into().unwrap_or_default()
}

fn with<T>(layer: &Layer, f: impl FnOnce(&mut State) -> T) -> T {
    f(&mut layer.disk.state())
}

fn locks<T>(layer: &Layer, f: impl FnOnce(&mut Locks) -> T) -> T {
    f(&mut layer
        .locks
        .lock()
        .expect("no code panics while it has this"))
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    into: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    unsafe {
        (*into).pMethods = ptr::null();
        let layer = layer(vfs);
        let name = text(name);
        let create = flags & ffi::SQLITE_OPEN_CREATE != 0 || name.is_none();
        let inode = match with(layer, |s| s.open(name.as_deref(), create)) {
            Ok(inode) => inode,
            Err(code) => return code,
        };
        let journal = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
        into.cast::<Open>().write(Open {
            base: ffi::sqlite3_file { pMethods: &METHODS },
            layer,
            inode,
            syncs_names: create && flags & journal != 0,
        });
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    let (layer, name) = unsafe { (layer(vfs), text(name).unwrap_or_default()) };
    code(with(layer, |s| s.delete(&name, sync != 0)))
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    unsafe {
        let name = text(name).unwrap_or_default();
        *out = with(layer(vfs), |s| s.exists(&name)).into();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    unsafe {
        let length = CStr::from_ptr(name).count_bytes() + 1;
        if length > number(size) {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(name, out, length);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(f: *mut ffi::sqlite3_file) -> c_int {
    let (open, layer) = unsafe { file(f) };
    locks(layer, |l| {
        l.files.remove(&(open.inode, f.addr()));
        l.shared.retain(|(_, _, who), _| *who != f.addr());
    });
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    f: *mut ffi::sqlite3_file,
    into: *mut c_void,
    n: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (open, layer) = unsafe { file(f) };
    let into = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), number(n)) };
    match with(layer, |s| s.read(open.inode, number(at), into)) {
        Ok(n) if n == into.len() => ffi::SQLITE_OK,
        Ok(n) => {
            into[n..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn write(
    f: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    n: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let (open, layer) = unsafe { file(f) };
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), number(n)) };
    code(layer.disk.write(open.inode, number(at), bytes))
}

unsafe extern "C" fn truncate(f: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let (open, layer) = unsafe { file(f) };
    code(with(layer, |s| s.truncate(open.inode, number(size))))
}

unsafe extern "C" fn sync(f: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    let (open, layer) = unsafe { file(f) };
    let done = with(layer, |s| s.sync(open.inode, open.syncs_names));
    open.syncs_names &= done.is_err();
    code(done)
}

unsafe extern "C" fn file_size(f: *mut ffi::sqlite3_file, out: *mut ffi::sqlite3_int64) -> c_int {
    unsafe {
        let (open, layer) = file(f);
        let size = with(layer, |s| s.size(open.inode));
        *out = i64::try_from(size).unwrap_or(i64::MAX);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(f: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let (open, layer) = unsafe { file(f) };
    locks(layer, |l| {
        let others = l
            .files
            .iter()
            .filter(|((i, who), _)| *i == open.inode && *who != f.addr());
        let highest = others.map(|(_, level)| *level).max().unwrap_or_default();
        let is_free = match level {
            ffi::SQLITE_LOCK_SHARED => highest < ffi::SQLITE_LOCK_PENDING,
            ffi::SQLITE_LOCK_RESERVED => highest < ffi::SQLITE_LOCK_RESERVED,
            _ => highest < ffi::SQLITE_LOCK_SHARED,
        };
        if !is_free {
            return ffi::SQLITE_BUSY;
        }
        let mine = l.files.entry((open.inode, f.addr())).or_default();
        *mine = level.max(*mine);
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn unlock(f: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let (open, layer) = unsafe { file(f) };
    locks(layer, |l| l.files.insert((open.inode, f.addr()), level));
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(f: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    unsafe {
        let (open, layer) = file(f);
        let is_reserved = |l: &mut Locks| {
            let mut held = l.files.iter().filter(|((i, _), _)| *i == open.inode);
            held.any(|(_, level)| *level >= ffi::SQLITE_LOCK_RESERVED)
        };
        *out = locks(layer, is_reserved).into();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _f: *mut ffi::sqlite3_file,
    _op: c_int,
    _arg: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_f: *mut ffi::sqlite3_file) -> c_int {
    4096
}

/// The characteristics that SQLite assumes of real disks.
unsafe extern "C" fn device_characteristics(_f: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    f: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let (open, layer) = unsafe { file(f) };
    locks(layer, |l| {
        let regions = l.memory.entry(open.inode).or_default();
        while extend != 0 && regions.len() <= number(region) {
            regions.push(vec![0; number(size) / size_of::<u64>()].into());
        }
        let found = regions.get_mut(number(region));
        let found = found.map_or(ptr::null_mut(), |r| r.as_mut_ptr().cast());
        // SAFETY: SQLite passes a valid pointer for the result.
        unsafe { *out = found };
    });
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(
    f: *mut ffi::sqlite3_file,
    offset: c_int,
    n: c_int,
    flags: c_int,
) -> c_int {
    let (open, layer) = unsafe { file(f) };
    let slots = offset..offset + n;
    let is_exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    locks(layer, |l| {
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            for slot in slots {
                l.shared.remove(&(open.inode, slot, f.addr()));
            }
            return ffi::SQLITE_OK;
        }
        let is_taken = l.shared.iter().any(|((inode, slot, who), exclusive)| {
            *inode == open.inode
                && slots.contains(slot)
                && *who != f.addr()
                && (is_exclusive || *exclusive)
        });
        if is_taken {
            return ffi::SQLITE_BUSY;
        }
        for slot in slots {
            l.shared.insert((open.inode, slot, f.addr()), is_exclusive);
        }
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn shm_barrier(_f: *mut ffi::sqlite3_file) {
    std::sync::atomic::fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(f: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    let (open, layer) = unsafe { file(f) };
    locks(layer, |l| {
        l.shared.retain(|(_, _, who), _| *who != f.addr());
        // The shared memory of a process is gone with its last open database.
        let is_used = l
            .files
            .keys()
            .any(|(i, who)| *i == open.inode && *who != f.addr());
        if delete != 0 || !is_used {
            l.memory.remove(&open.inode);
        }
    });
    ffi::SQLITE_OK
}
