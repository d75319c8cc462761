//! How the program is linked.

use std::{env, process::Command};

/// The first glibc that reads packed relocations.
const PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_of_this_machine = env::var("HOST") == env::var("TARGET");
    let is_glibc = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu");
    // Some hundred thousand places of tables hold addresses. A list of them is read, and stays, when the program starts; packed, it is
    // a fiftieth.
    if is_of_this_machine && is_glibc && glibc() >= Some(PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let answer = String::from_utf8(answer.ok()?.stdout).ok()?;
    let (major, minor) = answer.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
