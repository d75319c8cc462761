//! `agenthub log`

use std::path::Path;

use agenthub_broker::{
    Settings as HubSettings,
    maintenance::{self, FILE, Torn},
};
use agenthub_terminal::output;
use anyhow::Context;
use serde_json::json;

use crate::{cli::Log, settings::Settings};

/// Looks at a hub's log, or makes it shorter. Needs no hub.
pub(super) fn run(args: &Log, settings: &Settings) -> anyhow::Result<()> {
    let folder = settings
        .data()
        .context("a hub with --ephemeral has no log")?;
    match args {
        Log::Verify { json, .. } => verify(folder, json.json),
        Log::Export { after, until, .. } => {
            maintenance::export(folder, *after, *until, |record| {
                output::line(record.to_string())
            })?;
            Ok(())
        }
        Log::Compact { all, json, .. } => compact(folder, settings.hub_settings(), *all, json.json),
        Log::Backup { file, json, .. } => backup(folder, file, json.json),
    }
}

fn verify(folder: &Path, as_json: bool) -> anyhow::Result<()> {
    let found = maintenance::verify(folder)?;
    output::line(match as_json {
        true => report(&found).to_string(),
        false => format!(
            "the log in {} is sound: {}",
            folder.display(),
            words(&found)
        ),
    })?;
    Ok(())
}

fn compact(folder: &Path, mut keep: HubSettings, all: bool, as_json: bool) -> anyhow::Result<()> {
    if all {
        keep.log_disk_bytes = 0;
    }
    let done = maintenance::compact(folder, &keep)?;
    let (before, after) = done.bytes;
    output::line(match as_json {
        true => json!({"snapshot": done.snapshot, "removed": done.removed, "bytesBefore": before, "bytesAfter": after})
            .to_string(),
        false => format!(
            "{} records went, all up to {} are in the snapshot; {before} bytes before, {after} after",
            done.removed, done.snapshot
        ),
    })?;
    Ok(())
}

fn backup(folder: &Path, file: &Path, as_json: bool) -> anyhow::Result<()> {
    let copied = maintenance::backup(folder, file)?;
    output::line(match as_json {
        true => report(&copied).to_string(),
        false => format!(
            "{} holds the log: {}. To use it, put it into an empty folder as {}, and name that with --data",
            file.display(),
            words(&copied),
            FILE
        ),
    })?;
    Ok(())
}

fn report(report: &maintenance::Report) -> serde_json::Value {
    json!({
        "first": report.first,
        "last": report.last,
        "kept": report.kept,
        "snapshot": report.snapshot,
        "bytes": report.bytes,
        "torn": report.torn.map(|t| json!({"offset": t.offset, "bytes": t.bytes})),
    })
}

fn words(report: &maintenance::Report) -> String {
    let mut words = match report.last < report.first {
        true => "no records".to_owned(),
        false => format!("records {} to {}", report.first, report.last),
    };
    if report.kept > 0 {
        words += &format!(", {} older ones that mailboxes need", report.kept);
    }
    if let Some(snapshot) = report.snapshot {
        words += &format!(", a snapshot at {snapshot}");
    }
    if let Some(Torn { offset, bytes }) = report.torn {
        words += &format!(
            ". {FILE}-wal was never finished, or is damaged, from byte {offset} on ({bytes} bytes): nothing of that was acknowledged, and the hub drops it when it starts"
        );
    }
    words
}
