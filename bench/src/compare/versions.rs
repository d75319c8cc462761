//! Compared versions.

use std::{path::Path, process::Command};

use super::{scene::Stage, tasks::RestateProgram};

/// The compiler, and the versions of the built-in clients.
pub(super) const RUST: &str = env!("BENCH_RUST");
const ASYNC_NATS: &str = env!("BENCH_ASYNC_NATS");
const TONIC: &str = env!("BENCH_TONIC");

/// Versions by name.
pub(super) async fn versions(stage: &Stage) -> Vec<(&'static str, String)> {
    let Stage { programs, .. } = stage;
    let restate = stage.restate().await.map(RestateProgram::server);
    let of = |program: Option<&Path>| program.map_or_else(|| "not installed".to_owned(), said);
    vec![
        ("AgentHub", of(Some(&programs.hub))),
        ("NATS server", of(programs.nats.as_deref())),
        ("Redis server", of(programs.redis.as_deref())),
        ("Restate server", of(restate)),
        ("async-nats", ASYNC_NATS.to_owned()),
        ("tonic", TONIC.to_owned()),
        ("Rust", RUST.to_owned()),
    ]
}

fn said(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let said = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    number(&said.unwrap_or_default())
        .unwrap_or("unknown")
        .to_owned()
}

/// The word that is a version: `v2.15.2`, `v=7.0.15` and `0.1.0` are.
fn number(said: &str) -> Option<&str> {
    let words = said
        .split_whitespace()
        .map(|word| word.trim_start_matches(['v', '=']));
    let mut versions =
        words.filter(|w| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.'));
    versions.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_says_its_version_in_its_own_way() {
        assert_eq!(number("nats-server: v2.15.2\n"), Some("2.15.2"));
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
        assert_eq!(number(redis), Some("7.0.15"));
        assert_eq!(number("agenthub 0.1.0"), Some("0.1.0"));
        assert_eq!(number("no such option"), None);
    }
}
