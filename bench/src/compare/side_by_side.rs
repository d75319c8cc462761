//! All systems under the same loads: a fan-out at full speed, and a steady load.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::{
    figures::{middle, plain},
    measure::{Load, Pace},
    programs::Programs,
    system::System,
    tried,
    wire::Client,
};

const SUBSCRIBERS: usize = 10;
const TEXT_BYTES: usize = 256;

/// Messages in flight to each subscriber.
const WINDOW: u64 = 256;

/// Publishes per second of the steady load.
const STEADY: u32 = 500;

/// Results of a system in one round.
#[derive(Clone, Copy, Debug)]
struct Figures {
    deliveries_per_s: f64,
    cpu_us: f64,
    memory_mib: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// All rounds of all systems.
#[derive(Debug, Default)]
pub(super) struct SideBySide(Vec<(System, Figures)>);

/// Measures one round of one system.
async fn measure(system: System, programs: &Programs, length: Duration) -> anyhow::Result<Figures> {
    let load = |pace| Load {
        system,
        client: Client::Real,
        subscribers: SUBSCRIBERS,
        text_bytes: TEXT_BYTES,
        pace,
    };
    let fast = tried(load(Pace::Delivered(WINDOW)), programs, length).await?;
    let steady = tried(load(Pace::Rate(STEADY)), programs, length).await?;
    Ok(Figures {
        deliveries_per_s: fast.deliveries_per_s,
        cpu_us: fast.cpu_us,
        memory_mib: fast.memory as f64 / f64::from(1 << 20),
        p50_ms: steady.percentile_ms(50),
        p99_ms: steady.percentile_ms(99),
    })
}

impl SideBySide {
    /// Measures one round of all available systems. Failures are printed, and left out.
    pub(super) async fn measure(&mut self, programs: &Programs, length: Duration) {
        for system in System::ALL.into_iter().filter(|s| s.is_here(programs)) {
            match measure(system, programs, length).await {
                Ok(figures) => self.0.push((system, figures)),
                Err(error) => eprintln!("{}: {error:#}", system.name()),
            }
        }
    }

    /// Medians as a Markdown table.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        let deliveries = format!("deliveries/s, 1→{SUBSCRIBERS}, {TEXT_BYTES} B");
        let p50 = format!("p50 at {STEADY}/s, ms");
        table.set_header([
            "system",
            "client",
            &deliveries,
            "server CPU, µs each",
            "memory, MiB",
            &p50,
            "p99, ms",
        ]);
        for system in System::ALL {
            let its: Vec<&Figures> = self
                .0
                .iter()
                .filter(|(s, _)| *s == system)
                .map(|(_, f)| f)
                .collect();
            if its.is_empty() {
                continue;
            }
            let median = |figure: fn(&Figures) -> f64| plain(middle(its.iter().map(|f| figure(f))));
            table.add_row([
                system.name().to_owned(),
                Client::Real.name(system).to_owned(),
                median(|f| f.deliveries_per_s),
                median(|f| f.cpu_us),
                median(|f| f.memory_mib),
                median(|f| f.p50_ms),
                median(|f| f.p99_ms),
            ]);
        }
        for column in 2..=6 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}
