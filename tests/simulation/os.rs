//! Clock and randomness of a simulated world, in place of the system's.
//!
//! The simulator has its own clock and random generator, but the shipped code and its libraries also use the system's:
//! for time stamps and deadlines, for ids, for the iteration order of hash maps. This file redefines the functions of
//! the C library that all of them call. On a thread without a simulation they behave as the library's.

#![allow(unsafe_code)]

use std::{
    cell::Cell,
    ffi::{c_int, c_uint, c_void},
    time::Duration,
};

use libc::{clockid_t, size_t, ssize_t, timespec};

/// Start of simulated worlds, in seconds since 1970.
const BEGINNING: u64 = 1_800_000_000;

/// Advance of the clock on every read, so that no two reads are equal.
const LOOK: Duration = Duration::from_micros(1);

#[derive(Clone, Copy)]
struct World {
    random: u64,
    now: Duration,
}

thread_local! {
    static WORLD: Cell<Option<World>> = const { Cell::new(None) };
}

/// Puts this thread into its own world, permanently.
pub(crate) fn enter(seed: u64) {
    WORLD.set(Some(World {
        random: seed,
        now: Duration::from_secs(BEGINNING),
    }));
    fastrand::seed(seed);
}

/// Ends this process after ten minutes, in case its world hangs. A world takes a second or two of a processor, of which others may leave it little.
pub(crate) fn give_up_later() {
    // SAFETY: it has no preconditions, and nothing else here uses the alarm.
    unsafe { libc::alarm(600) };
}

/// Sets the clock to this time after the start. It never goes back.
pub(crate) fn advance_to(elapsed: Duration) {
    if let Some(world) = WORLD.get() {
        let now = world.now.max(Duration::from_secs(BEGINNING) + elapsed);
        WORLD.set(Some(World { now, ..world }));
    }
}

/// The next random number of this thread's world, by the SplitMix64 generator.
fn random() -> Option<u64> {
    let world = WORLD.try_with(Cell::get).ok()??;
    let random = world.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    WORLD.set(Some(World { random, ..world }));
    let z = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Some(z ^ (z >> 31))
}

fn look_at_clock() -> Option<Duration> {
    let world = WORLD.try_with(Cell::get).ok()??;
    let now = world.now + LOOK;
    WORLD.set(Some(World { now, ..world }));
    Some(now)
}

/// See `getrandom(2)`.
///
/// # Safety
///
/// As of the C library's function: `buffer` is good for writing `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    let mut written = 0;
    while written < length {
        let Some(random) = random() else {
            // SAFETY: the arguments are the caller's.
            return unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as ssize_t };
        };
        let bytes = random.to_ne_bytes();
        let count = bytes.len().min(length - written);
        // SAFETY: these bytes are within the caller's buffer.
        unsafe {
            buffer
                .cast::<u8>()
                .add(written)
                .copy_from_nonoverlapping(bytes.as_ptr(), count);
        }
        written += count;
    }
    written.cast_signed()
}

/// See `clock_gettime(2)`.
///
/// # Safety
///
/// As of the C library's function: `time` is good for writing.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(now) = look_at_clock() else {
        // SAFETY: the arguments are the caller's.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int };
    };
    let now = timespec {
        tv_sec: now.as_secs().cast_signed(),
        tv_nsec: now.subsec_nanos().into(),
    };
    // SAFETY: as the caller promises.
    unsafe { time.write(now) };
    0
}
