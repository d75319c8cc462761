//! Records the versions of the compiler and of the clients for the comparison.

use std::{env, error::Error, fs, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    let lock = format!("{}/../Cargo.lock", env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo:rerun-if-changed={lock}");
    let locked = fs::read_to_string(lock)?;
    for (variable, package) in [("BENCH_ASYNC_NATS", "async-nats"), ("BENCH_TONIC", "tonic")] {
        let version = version(&locked, package).unwrap_or("unknown");
        println!("cargo:rustc-env={variable}={version}");
    }
    let compiler = Command::new(env::var("RUSTC")?).arg("--version").output()?;
    let said = String::from_utf8(compiler.stdout)?;
    let version = said.split(' ').nth(1).unwrap_or("unknown");
    println!("cargo:rustc-env=BENCH_RUST={version}");
    Ok(())
}

/// A package's first version in the lock file.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"\nversion = \"");
    lock.split_once(&name)?.1.split('"').next()
}
