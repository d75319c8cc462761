//! Cost of rights: of letting a call in, and of deciding about one message of a connection that is known.

use std::{hint::black_box, time::Instant};

use agenthub_access::{
    Action, Credential, Identities, Namespace, NewToken, Policy, Sources, TokenStore, decide,
};
use anyhow::Context as _;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};

/// Agents that a role names one by one.
const NAMED: usize = 100;

/// The goal of a decision, in nanoseconds.
const GOAL: f64 = 1_000.0;

/// Settings of `agenthub-bench rights`.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Decisions of each measurement, of which there are five
    #[arg(long, default_value_t = 1_000_000)]
    times: u32,
}

/// Measures. Returns whether a decision takes less than a microsecond.
///
/// # Errors
///
/// There is no folder for a token.
pub(crate) fn run(settings: &Settings) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir().context("a folder")?;
    let store = TokenStore::in_folder(folder.path());
    let names: Vec<String> = (0..NAMED).map(|n| format!("\"send:agent{n}\"")).collect();
    let policy = format!("[roles.names]\nallow = [{}]\n", names.join(", "));
    let policy = Policy::of_toml(&policy).context("a policy")?;
    let issue = |name: &str, role: &str| {
        let issued = store.issue(NewToken {
            principal: name.parse()?,
            namespace: Namespace::default(),
            roles: vec![role.to_owned()],
            allow: Vec::new(),
            lasts: None,
        })?;
        anyhow::Ok(format!("Bearer {}", issued.token.secret()))
    };
    let (agent, names) = (issue("worker", "agent")?, issue("named", "names")?);
    let open = Identities::none();
    let known = Identities::open(Sources {
        tokens: Some(store.path().to_owned()),
        policy: Some(policy),
        ..Sources::default()
    })?;
    let times = settings.times;
    let none = open.authenticate(Credential::None)?.caller;
    let mut rows = Vec::new();
    let mut decides = |what: &str, identities: &Identities, header: &str, to: &str| {
        let credential = match header {
            "" => Credential::None,
            header => Credential::Authorization(header),
        };
        let caller = identities.authenticate(credential)?.caller;
        let action = Action::Send { to };
        decide(&caller, &action).map_err(anyhow::Error::msg)?;
        let nanos = fastest(times, || {
            decide(black_box(&caller), black_box(&action)).is_ok()
        });
        rows.push((format!("a message: {what}"), nanos, true));
        anyhow::Ok(())
    };
    decides("no identities", &open, "", "agent7")?;
    decides("a role of the hub", &known, &agent, "agent7")?;
    decides("the last of 100 agents by name", &known, &names, "agent99")?;
    for (what, identities, header) in [
        ("no identities", &open, ""),
        ("a token", &known, agent.as_str()),
    ] {
        let credential = match header {
            "" => Credential::None,
            header => Credential::Authorization(header),
        };
        let nanos = fastest(times / 10, || {
            identities.authenticate(black_box(credential)).is_ok()
        });
        rows.push((format!("a call is let in: {what}"), nanos, false));
    }
    let nanos = fastest(times, || known.meter(black_box(&none)).is_unlimited());
    rows.push(("quotas of a call: none are set".to_owned(), nanos, false));
    println!("{}", table(&rows));
    Ok(rows
        .iter()
        .all(|(_, nanos, is_message)| !is_message || *nanos < GOAL))
}

/// Nanoseconds of one of these, in the fastest of five rounds.
fn fastest(times: u32, mut act: impl FnMut() -> bool) -> f64 {
    let rounds = (0..5).map(|_| {
        let began = Instant::now();
        for _ in 0..times {
            black_box(act());
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(times.max(1))
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn table(rows: &[(String, f64, bool)]) -> String {
    let first = rows.first().map_or(1.0, |(_, nanos, _)| *nanos);
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["WHAT", "NS", "× THE FIRST", ""]);
    for (what, nanos, is_message) in rows {
        let reached = match (is_message, *nanos < GOAL) {
            (false, _) => "",
            (true, true) => "below 1 µs",
            (true, false) => "MISSED: 1 µs",
        };
        table.add_row([
            what.clone(),
            format!("{nanos:.1}"),
            format!("{:.1}", nanos / first),
            reached.to_owned(),
        ]);
    }
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_measured_beside_those_without_identities() {
        let settings = Settings { times: 10 };
        run(&settings).expect("the callers may do what is decided about");
        let shown = table(&[("a".to_owned(), 2.0, true), ("b".to_owned(), 5_000.0, true)]);
        assert!(
            shown.contains("2500.0") && shown.contains("MISSED"),
            "{shown}"
        );
    }
}
