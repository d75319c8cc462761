//! All rows.

use super::{
    super::{
        measure::{Load, Pace},
        scene::Scene,
        system::System,
        tasks,
        wire::Client,
    },
    Against, Figure, Goal, Row, SYNCED, Source, WINDOW, window,
};

fn load(system: System, subscribers: usize, text_bytes: usize, pace: Pace) -> Load {
    Load {
        system,
        client: Client::Real,
        subscribers,
        text_bytes,
        pace,
    }
}

/// All rows, in the order of the report.
pub(in crate::compare) fn rows() -> Vec<Row> {
    let goals = [(256, [1.2, 2.0, 3.0, 3.0]), (4096, [1.0, 1.0, 1.5, 1.5])];
    let mut rows = Vec::new();
    for (text_bytes, goals) in goals {
        for (subscribers, goal) in [1, 10, 100, 1000].into_iter().zip(goals) {
            let pace = window(subscribers, text_bytes);
            rows.push(Row {
                name: format!("deliveries/s, {text_bytes} B, memory, 1→{subscribers}"),
                source: Source::Load {
                    hub: load(System::HubMemory, subscribers, text_bytes, pace),
                    against: Against::Load(load(System::NatsCore, subscribers, text_bytes, pace)),
                    figure: Figure::DeliveriesPerS,
                },
                goal: Goal::AtLeast(goal),
            });
        }
    }
    for subscribers in [1, 10, 100] {
        let pace = window(subscribers, 256);
        rows.push(Row {
            name: format!("deliveries/s, 256 B, memory, TLS, 1→{subscribers}"),
            source: Source::Load {
                hub: load(System::HubTls, subscribers, 256, pace),
                against: Against::Load(load(System::NatsTls, subscribers, 256, pace)),
                figure: Figure::DeliveriesPerS,
            },
            goal: Goal::AtLeast(1.0),
        });
    }
    let pace = window(100, 256);
    rows.push(Row {
        name: "server CPU per delivery, 256 B, 1→100".to_owned(),
        source: Source::Load {
            hub: load(System::HubMemory, 100, 256, pace),
            against: Against::Load(load(System::Floor, 100, 256, pace)),
            figure: Figure::CpuUs,
        },
        goal: Goal::AtMost(1.5),
    });
    rows.push(Row {
        name: "streamed publishes/s, 256 B, memory".to_owned(),
        source: Source::Load {
            hub: load(System::HubMemory, 0, 256, Pace::Acknowledged(WINDOW)),
            against: Against::Number(250_000.0),
            figure: Figure::AcknowledgedPerS,
        },
        goal: Goal::AtLeast(1.0),
    });
    rows.push(Row {
        name: "synced publishes/s, 256 B, 256 in flight".to_owned(),
        source: Source::Load {
            hub: load(System::HubSynced, 0, 256, SYNCED),
            against: Against::Load(load(System::JetStream, 0, 256, SYNCED)),
            figure: Figure::AcknowledgedPerS,
        },
        goal: Goal::AtLeast(1.0),
    });
    rows.push(Row {
        name: "deliveries/s, 256 B, synced, 1→100".to_owned(),
        source: Source::Load {
            hub: load(System::HubSynced, 100, 256, SYNCED),
            against: Against::Load(load(System::JetStream, 100, 256, SYNCED)),
            figure: Figure::DeliveriesPerS,
        },
        goal: Goal::AtLeast(3.0),
    });
    rows.push(Row {
        name: "publish to delivery, p50 at 1,000/s, memory".to_owned(),
        source: Source::Load {
            hub: load(System::HubMemory, 1, 256, Pace::Rate(1000)),
            against: Against::Number(0.2),
            figure: Figure::P50Ms,
        },
        goal: Goal::AtMost(1.0),
    });
    rows.extend(tasks::rows());
    rows.extend(scenes());
    rows.extend(a2a());
    rows.extend(workflows());
    rows.extend(over_kafka());
    rows
}

/// Rows of the scenes, in their order.
fn scenes() -> impl Iterator<Item = Row> {
    let enough = Goal::AtLeast(1.0);
    let within = Goal::AtMost(1.0);
    let flat = Goal::AtMost(1.3);
    let rows = [
        (
            Scene::Synced,
            0,
            "publish to delivery, p50 at 1,000/s, synced, ÷ the disk's sync + 0.3 ms",
            within,
        ),
        (
            Scene::OlderPublishes,
            0,
            "unary publishes/s of a Go client, 64 in flight",
            enough,
        ),
        (
            Scene::OlderStreams,
            0,
            "deliveries/s to server streams of a Go client, 1→100",
            enough,
        ),
        (
            Scene::OneStuck,
            0,
            "p99 of 1,000 subscribers, one of them stuck, ÷ none",
            Goal::AtMost(1.2),
        ),
        (
            Scene::AllStuck,
            0,
            "more memory with 1,000 stuck subscribers, MiB",
            within,
        ),
        (
            Scene::Neighbours,
            0,
            "p99 of a namespace beside another at its limits, ÷ beside a silent one",
            Goal::AtMost(1.2),
        ),
        (
            Scene::Arrivals,
            0,
            "10,000 agents connect at once: welcomed",
            enough,
        ),
        (
            Scene::Arrivals,
            1,
            "10,000 agents connect at once: p99 to the welcome, s",
            within,
        ),
        (
            Scene::Arrivals,
            2,
            "10,000 agents connect at once: memory, MiB",
            within,
        ),
        (
            Scene::SecureArrivals,
            0,
            "10,000 agents connect at once with certificates: welcomed",
            enough,
        ),
        (
            Scene::SecureArrivals,
            1,
            "10,000 agents connect at once with certificates: the last welcome, s",
            within,
        ),
        (
            Scene::Topics,
            0,
            "server CPU per delivery, 10,000 topics ÷ 10",
            flat,
        ),
        (
            Scene::Agents,
            0,
            "server CPU per delivery, 100,000 registered agents ÷ 10",
            flat,
        ),
        (
            Scene::EndedTasks,
            0,
            "tasks/s, synced, 64 in flight, at the beginning ÷ after 1 M that ended",
            Goal::AtMost(1.2),
        ),
        (
            Scene::EndedTasks,
            1,
            "tasks of 100 B each way: log each, KiB",
            within,
        ),
        (
            Scene::EndedTasks,
            2,
            "tasks that ended: memory each, KiB, of the first 19,000",
            within,
        ),
        (
            Scene::EndedTasks,
            3,
            "tasks that ended: memory each, KiB, of 1 M",
            within,
        ),
        (Scene::Up, 0, "`agenthub up` is ready, ms", within),
        (Scene::Up, 1, "`agenthub up` idle: memory, MiB", within),
        (Scene::Binary, 0, "size of the `dist` binary, MiB", within),
    ];
    rows.into_iter().map(Row::of_scene)
}

/// Rows of A2A calls and streams.
fn a2a() -> Vec<Row> {
    const BINDINGS: [&str; 3] = ["gRPC", "JSON-RPC", "HTTP+JSON"];
    let mut rows = Vec::new();
    let mut add = |scene, index, name: String, goal| {
        rows.push(Row::of_scene((scene, index, &name, goal)));
    };
    for (system, kept) in [
        (System::HubMemory, "memory"),
        (
            System::HubSynced,
            "synced, ÷ its goal + two syncs of the disk",
        ),
    ] {
        for (n, binding) in BINDINGS.iter().enumerate() {
            for (m, percentile) in ["p50", "p99"].iter().enumerate() {
                let name =
                    format!("A2A call over {binding} at 100/s: ms added to {percentile}, {kept}");
                add(Scene::A2aAdded(system), 2 * n + m, name, Goal::AtMost(1.0));
            }
        }
    }
    for (system, kept) in [(System::HubMemory, "memory"), (System::HubSynced, "synced")] {
        for (n, binding) in BINDINGS.iter().enumerate() {
            let name = format!("A2A calls/s over {binding}, {kept}, 64 in flight");
            add(Scene::A2aCalls(system), n, name, Goal::AtLeast(1.0));
        }
    }
    let streams = [
        "memory each, KiB",
        "p99 to the first event, s",
        "p99 from the answers to the last event, s",
    ];
    for (n, figure) in streams.iter().enumerate() {
        let name = format!("1,000 A2A streams at once: {figure}");
        add(Scene::A2aStreams, n, name, Goal::AtMost(1.0));
    }
    rows
}

/// Rows of workflows.
fn workflows() -> impl Iterator<Item = Row> {
    let (steps, beside) = (Scene::WorkflowSteps, Scene::WorkflowsBesideRestate);
    let rows = [
        (
            steps,
            0,
            "workflow of 20 steps, one at a time, synced: p50 of a step, ms",
            Goal::AtMost(1.0),
        ),
        (
            steps,
            1,
            "steps of workflows/s, synced, 100 runs at once",
            Goal::AtLeast(1.0),
        ),
        (
            steps,
            2,
            "workflow of three steps: server CPU of a run, µs, 1,000 at once ÷ one",
            Goal::AtMost(1.3),
        ),
        (
            beside,
            0,
            "workflows of three steps/s, synced, one at a time, beside Restate",
            Goal::AtLeast(3.0),
        ),
        (
            beside,
            1,
            "workflows of three steps/s, synced, 64 at once, beside Restate",
            Goal::AtLeast(3.0),
        ),
    ];
    rows.into_iter().map(Row::of_scene)
}

/// Rows of steps over Kafka.
fn over_kafka() -> Vec<Row> {
    let mut names = Vec::new();
    for calls in ["one call at a time", "100 answers at once"] {
        let what = format!("Kafka bridge, {calls}: response to published result");
        names.push((format!("{what}, p50, ms"), Goal::AtMost(1.0)));
        names.push((format!("{what}, p99, ms"), Goal::AtMost(1.0)));
        names.push((format!("{what}, share within 100 ms"), Goal::AtLeast(1.0)));
    }
    let calls = "Kafka bridge: short calls/s";
    names.push((calls.to_owned(), Goal::AtLeast(1.0)));
    let bridge = names.iter().enumerate();
    let bridge =
        bridge.map(|(n, (name, goal))| Row::of_scene((Scene::KafkaBridge, n, name, *goal)));
    let step = "workflow of 20 steps over Kafka, one at a time: p50 of a step, ms";
    let step = Row::of_scene((Scene::KafkaSteps, 0, step, Goal::AtMost(1.0)));
    bridge.chain([step]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scene_gives_is_beside_each_other_and_in_its_order() {
        let rows = rows();
        let trials = rows.chunk_by(|a, b| a.source.is_same_trial(b.source));
        let mut scenes = Vec::new();
        for trial in trials {
            let indices: Vec<usize> = trial.iter().map(|row| row.source.index()).collect();
            assert_eq!(indices, Vec::from_iter(0..trial.len()), "{trial:?}");
            if let Source::Scene(scene, _) = trial[0].source {
                assert!(!scenes.contains(&scene), "{scene:?} is played twice");
                scenes.push(scene);
            }
        }
        assert_eq!(scenes.len(), 22);
    }
}
