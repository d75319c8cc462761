//! Allocation counter per thread, for tests of memory bounds.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: usize, sign: isize) {
    // The counter is gone while a thread ends.
    let _ = BYTES.try_with(|count| count.set(count.get() + sign * bytes.cast_signed()));
}

// SAFETY: every call is forwarded to the system's allocator; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs an action and returns its net allocation on this thread, in bytes.
pub(crate) fn by<T>(act: impl FnOnce() -> T) -> (isize, T) {
    let before = BYTES.get();
    let result = act();
    (BYTES.get() - before, result)
}
