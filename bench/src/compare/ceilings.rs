//! Ceilings: the servers' throughput with clients that do next to nothing: the same fan-outs, with clients that only
//! count.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::{
    figures::{middle, plain},
    measure::{Load, Measured},
    programs::Programs,
    rows::{SYNCED, window},
    system::System,
    tried,
    wire::Client,
};

/// Subscribers, bytes of a text, and whether publishes are stored.
type FanOut = (usize, usize, bool);

const FAN_OUTS: [FanOut; 6] = [
    (1, 256, false),
    (10, 256, false),
    (100, 256, false),
    (1000, 256, false),
    (100, 4096, false),
    (100, 256, true),
];

/// Loads of a fan-out, in the order of the columns; storing systems have no floor.
fn loads((subscribers, text_bytes, is_kept): FanOut) -> Vec<Load> {
    let (systems, pace) = match is_kept {
        false => (
            vec![System::HubMemory, System::NatsCore, System::Floor],
            window(subscribers, text_bytes),
        ),
        true => (vec![System::HubSynced, System::JetStream], SYNCED),
    };
    let load = |system| Load {
        system,
        client: Client::Counting,
        subscribers,
        text_bytes,
        pace,
    };
    systems.into_iter().map(load).collect()
}

/// All rounds of all fan-outs.
#[derive(Debug, Default)]
pub(super) struct Ceilings(Vec<(Load, Measured)>);

impl Ceilings {
    /// Measures one round. Failures are printed, and left out.
    pub(super) async fn measure(&mut self, programs: &Programs, length: Duration) {
        for load in FAN_OUTS.into_iter().flat_map(loads) {
            if !load.system.is_here(programs) {
                continue;
            }
            match tried(load, programs, length).await {
                Ok(measured) => self.0.push((load, measured)),
                Err(error) => eprintln!(
                    "{} through a client that counts: {error:#}",
                    load.system.name()
                ),
            }
        }
    }

    /// Medians as a Markdown table.
    pub(super) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "deliveries/s · server CPU, µs each",
            "AgentHub",
            "NATS",
            "raw TCP",
            "AgentHub ÷ NATS",
        ]);
        for fan_out in FAN_OUTS {
            let loads = loads(fan_out);
            let figures: Vec<(f64, f64)> = loads.iter().map(|load| self.middle(load)).collect();
            let cell = |at: usize| match figures.get(at) {
                Some((per_s, cpu_us)) if !per_s.is_nan() => {
                    format!("{} · {}", plain(*per_s), plain(*cpu_us))
                }
                _ => "–".to_owned(),
            };
            let (subscribers, text_bytes, is_kept) = fan_out;
            let kept = if is_kept { "synced" } else { "memory" };
            table.add_row([
                format!("{text_bytes} B, {kept}, 1→{subscribers}"),
                cell(0),
                cell(1),
                cell(2),
                plain(figures[0].0 / figures[1].0),
            ]);
        }
        for column in 1..=4 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }

    /// Median deliveries per second, and median CPU time of each.
    fn middle(&self, load: &Load) -> (f64, f64) {
        let its = || self.0.iter().filter(|(l, _)| l == load).map(|(_, m)| m);
        (
            middle(its().map(|m| m.deliveries_per_s)),
            middle(its().map(|m| m.cpu_us)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_medians_of_its_own_loads() {
        let mut ceilings = Ceilings::default();
        let [hub, nats, _] = loads(FAN_OUTS[2])[..] else {
            panic!("the floor is measured too");
        };
        for (load, deliveries_per_s, cpu_us) in [
            (hub, 6e6, 0.25),
            (hub, 4e6, 0.2),
            (hub, 5e6, 0.3),
            (nats, 2e6, 0.8),
        ] {
            let measured = Measured {
                deliveries_per_s,
                cpu_us,
                ..Measured::default()
            };
            ceilings.0.push((load, measured));
        }
        let table = ceilings.table();
        let line = table.lines().find(|l| l.contains("256 B, memory, 1→100 "));
        let cells: Vec<&str> = line
            .expect("it has a line")
            .split('|')
            .map(str::trim)
            .collect();
        assert_eq!(
            cells[2..6],
            ["5.00 M · 0.250", "2.00 M · 0.800", "–", "2.50"]
        );
    }
}
