//! Compared figures, their references and goals.

mod table;

use super::{
    measure::{Load, Measured, Pace},
    report::Sample,
    scene::Scene,
    tasks::{TaskAgainst, TaskLoad},
};

pub(super) use table::rows;

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

/// Window of a fan-out: with many subscribers or long messages, fewer fill it.
pub(super) fn window(subscribers: usize, text_bytes: usize) -> Pace {
    let by_count = if subscribers >= 1000 { 8 } else { 1 };
    let by_size = if text_bytes > 1024 { 8 } else { 1 };
    Pace::Delivered((WINDOW / by_count / by_size).max(FEWEST))
}
