//! `cargo api` compares the SDK's public API with `sdk/public_api.txt`; `cargo api --write` writes that file anew.
//!
//! rustdoc describes a crate in JSON, a format of its own for each of its versions and only with `RUSTC_BOOTSTRAP`. That variable
//! would have every dependency compiled again, so cargo doesn't see it: this program takes the place of rustdoc, and sets it there.

use std::{
    env, fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, bail};
use similar::{ChangeTag, TextDiff};

/// The crate, by the name that rustdoc is told.
const CRATE: &str = "agenthub_sdk";
/// Is set where this program runs in the place of rustdoc.
const AS_RUSTDOC: &str = "AGENTHUB_API_AS_RUSTDOC";
const JSON: &str = "-Zunstable-options --output-format=json";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match env::var_os(AS_RUSTDOC) {
        Some(_) => as_rustdoc(&arguments),
        None => compare(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Describes the one crate; of others nothing is wanted.
fn as_rustdoc(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let is_other = |name: &String| name != CRATE;
    let name = arguments.iter().skip_while(|a| *a != "--crate-name").nth(1);
    if name.is_some_and(is_other) {
        return Ok(ExitCode::SUCCESS);
    }
    let error = Command::new("rustdoc")
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .exec();
    Err(error).context("cannot run rustdoc")
}

fn compare(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let write = match arguments {
        [] => false,
        [only] if only == "--write" => true,
        _ => bail!("there is one argument, --write, which writes the snapshot anew"),
    };
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("../public_api.txt");
    let now = listed(&described()?)?;
    if write {
        fs::write(&snapshot, now).context("cannot write sdk/public_api.txt")?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = fs::read_to_string(&snapshot).context("cannot read sdk/public_api.txt")?;
    let changes = changes(&before, &now);
    if changes.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "the SDK's public API is not as sdk/public_api.txt has it:\n{changes}\
         If that is meant, run `cargo api --write`; what is gone or different breaks agents, and belongs in the changelog."
    );
    Ok(ExitCode::FAILURE)
}

/// Has cargo describe the crate with the features that it has in the whole workspace. Returns where the description is.
fn described() -> anyhow::Result<PathBuf> {
    let this = env::current_exe().context("where this program is")?;
    let target = this.ancestors().nth(2).context("it is in target/debug")?;
    let json = target.join("doc").join(CRATE).with_extension("json");
    // The arguments of `cargo docs`, so that no dependency is compiled again.
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "doc",
            "--quiet",
            "--workspace",
            "--no-deps",
            "--locked",
            "--lib",
        ])
        .args(["--example", "shout", "--features", "agenthub-runs/postgres"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("RUSTDOC", &this)
        .env("RUSTDOCFLAGS", JSON)
        .env(AS_RUSTDOC, "1")
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the SDK cannot be described");
    }
    Ok(json)
}

/// The API, one item a line.
fn listed(json: &Path) -> anyhow::Result<String> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .context("does `public-api` in sdk/public_api/Cargo.toml read what this Rust writes?")?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// The lines that only one of both has, marked with `-` or `+`.
fn changes(before: &str, now: &str) -> String {
    let diff = TextDiff::from_lines(before, now);
    let changed = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{sign}{change}"))
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn what_is_gone_and_what_is_new_is_told_apart() {
        assert_eq!(changes("a\nb\n", "a\nb\n"), "");
        assert_eq!(changes("a\nb\n", "b\nc\n"), "-a\n+c\n");
    }
}
