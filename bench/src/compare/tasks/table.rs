//! The table of all systems with the same work.

use comfy_table::{CellAlignment, Table, presets};

use super::{rig::TaskLoad, round::TaskRound, system::TaskSystem};
use crate::compare::{
    figures::{middle, plain},
    measure::Measured,
    scene::Stage,
};

/// Requests in flight.
const IN_FLIGHT: [usize; 3] = [1, 64, 256];

/// Agents of a chain, and its requests in flight.
const CHAIN: usize = 3;
const CHAIN_IN_FLIGHT: usize = 64;

/// Rows of the table, in order.
fn loads() -> impl Iterator<Item = TaskLoad> {
    let one_hop = IN_FLIGHT.into_iter().flat_map(|in_flight| {
        TaskSystem::ALL.into_iter().map(move |system| TaskLoad {
            system,
            hops: 1,
            in_flight,
        })
    });
    let chains = TaskSystem::ALL.into_iter().map(|system| TaskLoad {
        system,
        hops: CHAIN,
        in_flight: CHAIN_IN_FLIGHT,
    });
    // The service of Restate answers by itself.
    one_hop.chain(chains.filter(|load| load.system != TaskSystem::Restate))
}

/// All rounds of all loads.
#[derive(Debug, Default)]
pub(in crate::compare) struct TaskTable(Vec<(TaskLoad, Measured)>);

impl TaskTable {
    /// Adds a round: its measurements for rows, and those of the remaining loads, which are made here unless `--quick`
    /// is set. Failures are printed and left out.
    pub(in crate::compare) async fn add(&mut self, mut round: TaskRound, stage: &Stage) {
        let is_left = |load: &TaskLoad| !stage.is_quick() && !round.knows(*load);
        let rest: Vec<TaskLoad> = loads().filter(is_left).collect();
        for load in rest {
            if let Err(error) = round.measured(load, stage).await {
                eprintln!("tasks, {}: {error:#}", load.system.name());
            }
        }
        self.0.extend(round.all());
    }

    /// Medians, in Markdown.
    pub(in crate::compare) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header([
            "system",
            "agents",
            "in flight",
            "tasks/s",
            "p50, ms",
            "p99, ms",
            "server CPU, µs each",
            "clients' CPU, µs each",
            "memory, MiB",
        ]);
        for load in loads() {
            let its: Vec<&Measured> = self.of(load).collect();
            if its.is_empty() {
                continue;
            }
            let median =
                |figure: fn(&Measured) -> f64| plain(middle(its.iter().map(|m| figure(m))));
            table.add_row([
                load.system.name().to_owned(),
                load.hops.to_string(),
                load.in_flight.to_string(),
                median(|m| m.deliveries_per_s),
                median(|m| m.percentile_ms(50)),
                median(|m| m.percentile_ms(99)),
                median(|m| m.cpu_us),
                median(|m| m.client_cpu_us),
                median(|m| m.memory as f64 / f64::from(1 << 20)),
            ]);
        }
        for column in 1..=8 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }

    fn of(&self, load: TaskLoad) -> impl Iterator<Item = &Measured> {
        let its = self.0.iter().filter(move |(known, _)| *known == load);
        its.map(|(_, measured)| measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_medians_of_its_own_load() {
        let mut table = TaskTable::default();
        let [first, second] = [0, 1].map(|at| loads().nth(at).expect("there are many"));
        for (load, deliveries_per_s) in [
            (first, 100.0),
            (first, 300.0),
            (second, 900.0),
            (first, 200.0),
        ] {
            let measured = Measured {
                deliveries_per_s,
                ..Measured::default()
            };
            table.0.push((load, measured));
        }
        let shown = table.table();
        let line = shown.lines().nth(2).expect("a line after the head");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(
            cells[1..5],
            [first.system.name(), "1", "1", "200"],
            "{shown}"
        );
        assert_eq!(
            shown.lines().count(),
            4,
            "what was not measured has no line"
        );
    }
}
