//! The rows of tasks and their goals.

use super::{rig::TaskLoad, round::TaskAgainst, system::TaskSystem};
use crate::compare::rows::{Figure, Goal, Row, Source};

/// Maximum p50 of a single task, relative to a request over NATS core.
const NATS_P50: f64 = 1.5;

/// Maximum CPU time of the hub per task, in microseconds.
const TASK_CPU_US: f64 = 30.0;

/// Tasks of one agent, beside requests over NATS core, and beside Restate.
pub(in crate::compare) fn rows() -> Vec<Row> {
    let load = |system, in_flight| TaskLoad {
        system,
        hops: 1,
        in_flight,
    };
    let row = |name: &str, load, against, figure, goal| Row {
        name: name.to_owned(),
        source: Source::Tasks {
            load,
            against,
            figure,
        },
        goal,
    };
    let [memory, synced, nats, restate] = [
        TaskSystem::HubMemory,
        TaskSystem::HubSynced,
        TaskSystem::NatsCore,
        TaskSystem::Restate,
    ];
    let mut rows = vec![
        row(
            "tasks one at a time, memory: p50, ms",
            load(memory, 1),
            TaskAgainst::Load(load(nats, 1)),
            Figure::P50Ms,
            Goal::AtMost(NATS_P50),
        ),
        row(
            "tasks one at a time, synced: p50, ms, ÷ 1.5 × NATS core's + two syncs of the disk",
            load(synced, 1),
            TaskAgainst::LoadAndSyncs {
                load: load(nats, 1),
                times: NATS_P50,
                syncs: 2.0,
            },
            Figure::P50Ms,
            Goal::AtMost(1.0),
        ),
    ];
    for in_flight in [64, 256] {
        for (system, kept, goal) in [(synced, "synced", 1.0), (memory, "memory", 1.3)] {
            rows.push(row(
                &format!("tasks/s, {kept}, {in_flight} in flight"),
                load(system, in_flight),
                TaskAgainst::Load(load(nats, in_flight)),
                Figure::DeliveriesPerS,
                Goal::AtLeast(goal),
            ));
            rows.push(row(
                &format!("tasks, {kept}, {in_flight} in flight: server CPU each, µs"),
                load(system, in_flight),
                TaskAgainst::Number(TASK_CPU_US),
                Figure::CpuUs,
                Goal::AtMost(1.0),
            ));
        }
    }
    rows.extend([1, 64, 256].map(|in_flight| {
        row(
            &format!("tasks/s, synced, {in_flight} in flight, beside Restate"),
            load(synced, in_flight),
            TaskAgainst::Load(load(restate, in_flight)),
            Figure::DeliveriesPerS,
            Goal::AtLeast(10.0),
        )
    }));
    rows
}
