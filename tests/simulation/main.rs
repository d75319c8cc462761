//! Hub and SDK in a simulated network with lost and delayed messages, broken links, and crashes of hubs and agents, all
//! derived from a seed.
//!
//! `AGENTHUB_SEEDS=2000 cargo test --test simulation` runs more worlds than usual; `AGENTHUB_SEED=7 cargo test --test
//! simulation` runs the world of one seed.
#![cfg(target_os = "linux")]

mod auditor;
mod faults;
mod ledger;
mod network;
mod os;
mod processes;
mod requesters;
mod rules;
mod workers;
mod world;

use std::env;

use processes::{WorldOutput, run, run_all};

/// Default number of worlds.
const SEEDS: u64 = 200;

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {value}")),
    )
}

fn show(unsound: &[WorldOutput]) {
    for WorldOutput { seed, output, .. } in unsound {
        eprintln!(
            "{output}\nThat was seed {seed}. Again: AGENTHUB_SEED={seed} cargo test --test simulation\n"
        );
    }
}

/// In every world, the promises of hub and SDK hold: promises 1 to 5 and 7 of `docs/PROMISES.md`.
#[test]
fn the_promises_hold_in_every_world() {
    let unsound = match number("AGENTHUB_SEED") {
        Some(seed) => {
            let log = env::var("RUST_LOG").unwrap_or_else(|_| "agenthub=debug".to_owned());
            Vec::from_iter(Some(run(seed, &log)).filter(|shown| !shown.is_sound))
        }
        None => run_all(0..number("AGENTHUB_SEEDS").unwrap_or(SEEDS)),
    };
    show(&unsound);
    let seeds: Vec<u64> = unsound.iter().map(|shown| shown.seed).collect();
    assert!(seeds.is_empty(), "these seeds break a promise: {seeds:?}");
}

/// Every sent byte and every log line is the same again.
#[test]
fn a_seed_says_all_that_happens_in_its_world() {
    let seed = number("AGENTHUB_SEED").unwrap_or(0);
    let [first, second] = [(); 2].map(|()| run(seed, "debug,turmoil=trace"));
    let mut lines = first.output.lines().zip(second.output.lines());
    let difference = lines.find(|(a, b)| !a.starts_with("test result") && a != b);
    assert_eq!(difference, None, "with seed {seed}");
    let counts = [&first, &second].map(|shown| shown.output.lines().count());
    assert_eq!(counts[0], counts[1], "with seed {seed}");
    assert!(first.output.contains("TCP SYN"), "what is sent is shown");
}
