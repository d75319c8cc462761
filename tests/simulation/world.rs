//! A simulated world: hosts, their processes, and the faults.

use std::{
    cell::Cell,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use agenthub_broker::{Hub, RetainedLog, Server, Settings, Storage};
use tokio::sync::Semaphore;
use tonic::service::Routes;
use turmoil::{Builder, Sim, net::TcpListener};

use crate::{
    auditor,
    faults::{self, Change},
    ledger::{Ledger, Observation},
    network::{self, HUB, PORT},
    os, requesters, rules, workers,
};

/// The agents, and the hosts of their instances. One of them is a short-lived visitor.
pub(crate) const AGENTS: [(&str, &[&str]); 3] = [
    ("alpha", &["alpha-a", "alpha-b"]),
    ("beta", &["beta-a"]),
    ("visitor", &[VISITOR]),
];
/// Ids of the called agents.
const AGENT_IDS: &[&str] = &["alpha", "beta"];
const VISITOR: &str = "visitor-a";
const WORKERS: &[&str] = &["alpha-a", "alpha-b", "beta-a"];
const REQUESTERS: &[&str] = &["ann", "bob", "cleo"];

/// Simulated time per step.
const TICK: Duration = Duration::from_millis(20);

/// Maximum duration of a world.
const END: Duration = Duration::from_secs(60);

/// Time until the hub's log is durable: longer than a step, as hosts crash between two steps.
const SYNC: Duration = Duration::from_millis(45);

/// Short times for the hub, so that a world includes many timeouts.
fn settings(log: &RetainedLog) -> Settings {
    Settings {
        storage: Storage::Retained(log.clone()),
        presence_lease: Duration::from_secs(3),
        heartbeat_interval: Duration::from_secs(1),
        ack_deadline: Duration::from_secs(6),
        connect_stall: Duration::from_secs(3),
        late_artifacts: Duration::from_secs(1),
        // Unlimited: nothing here is poison.
        max_attempts: 1_000,
        ..Settings::default()
    }
}

/// Runs the world of a seed on this thread, which has [entered](os::enter) it.
pub(crate) fn run(seed: u64) -> (Ledger, Vec<String>) {
    let ledger = Ledger::default();
    let mut sim = Builder::new()
        .rng_seed(seed)
        .tick_duration(TICK)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(50))
        .simulation_duration(END)
        .tcp_capacity(4096)
        .enable_random_order()
        .build();
    populate(&mut sim, &ledger);

    let mut schedule = faults::schedule(seed, HUB, WORKERS, REQUESTERS, VISITOR)
        .into_iter()
        .peekable();
    loop {
        os::advance_to(sim.elapsed());
        ledger.advance_to(sim.elapsed());
        while let Some((_, change)) = schedule.next_if(|(at, _)| *at <= sim.elapsed()) {
            apply(&mut sim, &change, &ledger);
        }
        match sim.step() {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) => {
                ledger.note(Observation::Wrong(format!(
                    "the world has not come to its end: {error}"
                )));
                break;
            }
        }
    }
    let wrong = rules::broken(&ledger.book());
    (ledger, wrong)
}

fn populate(sim: &mut Sim<'_>, ledger: &Ledger) {
    let log = RetainedLog::new(SYNC);
    let starts = Rc::new(Cell::new(0));
    let book = ledger.clone();
    sim.host(HUB, move || {
        book.note(Observation::HubStarted(starts.get()));
        starts.set(starts.get() + 1);
        hub(settings(&log))
    });
    for (agent, hosts) in AGENTS {
        for host in hosts {
            let ledger = ledger.clone();
            sim.host(*host, move || workers::run(agent, host, ledger.clone()));
        }
    }
    let done = Arc::new(Semaphore::new(0));
    for name in REQUESTERS {
        let (done, requesting) = (
            done.clone(),
            requesters::run(name, AGENT_IDS, ledger.clone()),
        );
        sim.client(*name, async move {
            requesting.await?;
            done.add_permits(1);
            Ok(())
        });
    }
    let is_settled = |report: &_, ledger: &Ledger| rules::report(report, &ledger.book()).is_empty();
    let auditing = auditor::run(done, REQUESTERS.len() as u32, is_settled, ledger.clone());
    sim.client("auditor", auditing);
}

async fn hub(settings: Settings) -> turmoil::Result {
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
    let listener = TcpListener::bind(address).await?;
    let hub = Hub::start(settings)?;
    let incoming = network::accept(listener);
    let mut server = Server::over(hub, address, incoming, Routes::default()).await;
    server.failed().await;
    Ok(())
}

fn apply(sim: &mut Sim<'_>, change: &Change, ledger: &Ledger) {
    match *change {
        Change::Crash(host) if sim.is_host_running(host) => {
            sim.crash(host);
            ledger.crashed(host);
        }
        Change::Start(host) if !sim.is_host_running(host) => sim.bounce(host),
        Change::Crash(_) | Change::Start(_) => return,
        Change::Part(a, b) => sim.partition(a, b),
        Change::Mute(from, to) => sim.partition_oneway(from, to),
        Change::Hold(a, b) => sim.hold(a, b),
        Change::Mend(a, b) => sim.release(a, b),
        Change::Lose(a, b, percent) => sim.set_link_fail_rate(a, b, f64::from(percent) / 100.0),
        Change::Slow(a, b, millis) => {
            sim.set_link_max_message_latency(a, b, Duration::from_millis(millis))
        }
    }
    ledger.note(Observation::Fault(change.to_string()));
}
