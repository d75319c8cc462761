//! Graceful shutdown.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::harness::{System, eventually, free_address};

/// Within ten seconds, although a subscription is open.
#[test]
fn everything_ends_on_sigterm_while_somebody_listens() {
    let (system, up) = System::up();
    let watch = system.start(&["agents", "watch", "--json"]);
    watch.line_with("cortex");
    let tasks = system.start(&["tasks", "watch", "--json"]);
    // The first turns may be over before there is a stream.
    eventually("it watches", || {
        system.chat("echo hello\n");
        tasks.printed()
    });

    let start = Instant::now();
    up.signal(Signal::SIGTERM);
    let up = up.wait();
    assert_eq!(up.code, Some(0), "{up:?}");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "it took {:?}",
        start.elapsed()
    );
}

#[test]
fn what_is_alone_ends_on_sigterm_too() {
    let (system, broker) = System::broker();
    let echo = system.start_echo("agent_echo");
    let cortex = system.start_cortex();
    for process in [cortex, echo, broker] {
        process.signal(Signal::SIGTERM);
        let ended = process.wait();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

/// An agent that has lost its hub still ends on a signal.
#[test]
fn an_agent_without_a_hub_ends_on_sigterm() {
    let system = System::bare(free_address());
    let echo = system.start(&["agent", "echo"]);
    eventually("the agent looks for its hub", || {
        echo.said().contains("no hub").then_some(())
    });
    echo.signal(Signal::SIGTERM);
    assert_eq!(echo.wait().code, Some(0));
}
