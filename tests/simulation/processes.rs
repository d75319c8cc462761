//! Worlds in separate processes: isolated from each other, so that the seed alone determines a world.

use std::{
    env,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{os, world};

/// Environment variable with the seed for a process that runs a world.
const WORLD: &str = "AGENTHUB_WORLD";

/// Output of the process that ran a seed's world.
#[derive(Debug)]
pub(crate) struct WorldOutput {
    pub(crate) seed: u64,
    pub(crate) is_sound: bool,
    pub(crate) output: String,
}

/// Runs the world of a seed, with log output filtered by `log`.
pub(crate) fn run(seed: u64, log: &str) -> WorldOutput {
    let program = env::current_exe().expect("this program has a file");
    let output = Command::new(program)
        .args(["--exact", "processes::a_world", "--ignored", "--nocapture"])
        .env(WORLD, seed.to_string())
        .env("RUST_LOG", log)
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("this program can be started");
    let text = [output.stdout, output.stderr].concat();
    WorldOutput {
        seed,
        is_sound: output.status.success(),
        output: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// Runs the worlds of many seeds, as many at a time as there are processors, and returns the failed ones.
pub(crate) fn run_all(seeds: std::ops::Range<u64>) -> Vec<WorldOutput> {
    let next = AtomicU64::new(seeds.start);
    let unsound = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let shown = run(seed, "off");
            if !shown.is_sound {
                unsound.lock().expect("nobody panics with it").push(shown);
            }
        }
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(work);
        }
    });
    let mut unsound = unsound.into_inner().expect("nobody panics with it");
    unsound.sort_by_key(|shown| shown.seed);
    unsound
}

static PANICKED: AtomicBool = AtomicBool::new(false);

/// Not a test of its own: the other tests call it, in one process per world.
#[test]
#[ignore = "the other tests start it"]
fn a_world() {
    let seed = env::var(WORLD).expect("the other tests start this one");
    let seed = seed.parse().expect("a seed is a number");
    os::give_up_later();
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICKED.store(true, Ordering::Relaxed);
        show(panic);
    }));
    // A thread without cached random state.
    let world = thread::spawn(move || {
        os::enter(seed);
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_ansi(false)
            .init();
        world::run(seed)
    });
    let (ledger, mut wrong) = world.join().expect("the world comes to its end");
    if PANICKED.load(Ordering::Relaxed) {
        wrong.push("something panicked".to_owned());
    }
    println!("{}", ledger.book());
    wrong.iter().for_each(|wrong| println!("WRONG: {wrong}"));
    assert!(wrong.is_empty(), "{} things are wrong", wrong.len());
}
