//! For the macros and the other crates of this workspace. No part of the public API: it may change in any release.

pub use serde;
