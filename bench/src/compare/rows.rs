//! Compared figures, their references and goals.

use super::{
    measure::{Load, Measured, Pace},
    report::Sample,
    scene::Scene,
    system::System,
    tasks::{self, TaskAgainst, TaskLoad},
    wire::Client,
};

/// A row of the table: a figure, with a reference of the same round or a constant.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) goal: Goal,
}

/// Source of a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A load on the hub, and its reference.
    Load {
        hub: Load,
        against: Against,
        figure: Figure,
    },
    /// Tasks on the hub, and their reference.
    Tasks {
        load: TaskLoad,
        against: TaskAgainst,
        figure: Figure,
    },
    /// The ratio with this index of a scene.
    Scene(Scene, usize),
}

impl Source {
    /// True if one trial gives the ratios of both.
    pub(super) fn is_same_trial(self, other: Self) -> bool {
        match (self, other) {
            (Self::Scene(a, _), Self::Scene(b, _)) => a == b,
            _ => false,
        }
    }

    /// Index of the ratio within the trial.
    pub(super) fn index(self) -> usize {
        match self {
            Self::Load { .. } | Self::Tasks { .. } => 0,
            Self::Scene(_, index) => index,
        }
    }

    /// Number of rounds in which it is measured, the first ones.
    pub(super) fn rounds(self) -> u32 {
        match self {
            Self::Load { .. } | Self::Tasks { .. } => u32::MAX,
            Self::Scene(scene, _) => scene.rounds(),
        }
    }
}

impl Row {
    /// The row of a scene's ratio with this index.
    fn of_scene((scene, index, name, goal): (Scene, usize, &str, Goal)) -> Self {
        Self {
            name: name.to_owned(),
            source: Source::Scene(scene, index),
            goal,
        }
    }

    /// The system that is the reference, if any.
    pub(super) fn against_name(&self) -> Option<&'static str> {
        match self.source {
            Source::Load {
                against: Against::Load(load),
                ..
            } => Some(load.system.name()),
            Source::Tasks {
                against: TaskAgainst::Load(load),
                ..
            } => Some(load.system.name()),
            _ => None,
        }
    }
}

/// Reference of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Against {
    /// The same figure of another system.
    Load(Load),
    /// A constant.
    Number(f64),
}

/// Figure taken from a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    DeliveriesPerS,
    AcknowledgedPerS,
    CpuUs,
    P50Ms,
}

/// Goal for the ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    /// The figure with its CPU time.
    pub(super) fn sample(self, measured: &Measured) -> Sample {
        Sample {
            figure: self.of(measured),
            cpu_us: Some(measured.cpu_us),
        }
    }

    fn of(self, measured: &Measured) -> f64 {
        match self {
            Self::DeliveriesPerS => measured.deliveries_per_s,
            Self::AcknowledgedPerS => measured.acknowledged_per_s,
            Self::CpuUs => measured.cpu_us,
            Self::P50Ms => measured.percentile_ms(50),
        }
    }
}

impl Goal {
    /// True if a ratio reaches the goal.
    pub(super) fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(goal) => ratio >= goal,
            Self::AtMost(goal) => ratio <= goal,
        }
    }

    /// Description.
    pub(super) fn described(self) -> String {
        match self {
            Self::AtLeast(goal) => format!("≥ {goal}"),
            Self::AtMost(goal) => format!("≤ {goal}"),
        }
    }

    /// The number.
    pub(super) fn number(self) -> f64 {
        match self {
            Self::AtLeast(goal) | Self::AtMost(goal) => goal,
        }
    }
}

/// Messages in flight to each subscriber of a saturated system.
pub(super) const WINDOW: u64 = 1024;

/// The minimum, for long messages or very many subscribers.
pub(super) const FEWEST: u64 = 32;

/// Unanswered synced publishes.
pub(super) const SYNCED: Pace = Pace::Acknowledged(256);

fn load(system: System, subscribers: usize, text_bytes: usize, pace: Pace) -> Load {
    Load {
        system,
        client: Client::Real,
        subscribers,
        text_bytes,
        pace,
    }
}

/// Window of a fan-out: with many subscribers or long messages, fewer fill it.
pub(super) fn window(subscribers: usize, text_bytes: usize) -> Pace {
    let by_count = if subscribers >= 1000 { 8 } else { 1 };
    let by_size = if text_bytes > 1024 { 8 } else { 1 };
    Pace::Delivered((WINDOW / by_count / by_size).max(FEWEST))
}

/// All rows.
pub(super) fn rows() -> Vec<Row> {
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
        assert_eq!(scenes.len(), 18);
    }
}
