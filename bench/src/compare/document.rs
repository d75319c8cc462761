//! The page with the results of a full run, and its chart. Hand-written parts of the page are kept.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::{chart, machine::Busy, machine::Machine, report::FanOut};

const PAGE: &str = "benchmarks.md";
const CHART: &str = "benchmarks.svg";

/// Markers around the hand-written part.
const KEPT: &str =
    "<!-- kept: what stands from here on is written by people, and kept by every run -->";
const END: &str = "<!-- /kept -->";

/// Initial hand-written part.
const NOTHING_KEPT: &str = "\n## What limits it\n\n";

/// Folder of the page.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// Content of the page.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) date: String,
    pub(super) machine: Machine,
    pub(super) versions: Vec<(&'static str, String)>,
    /// Description of the method, in paragraphs.
    pub(super) method: Vec<String>,
    pub(super) rows: String,
    pub(super) side_by_side: String,
    pub(super) ceilings: String,
    pub(super) tasks: String,
    pub(super) fan_outs: Vec<FanOut>,
    /// Load of the machine, by round.
    pub(super) busy: Vec<Busy>,
}

impl Folder {
    /// The given folder, or the documentation of the workspace around the current folder.
    ///
    /// # Errors
    ///
    /// It does not exist, or has a page that no run wrote.
    pub(super) fn find(named: Option<&Path>) -> anyhow::Result<Self> {
        let folder = match named {
            Some(folder) => folder.to_owned(),
            None => documentation(&env::current_dir()?)
                .context("the current folder is in no workspace with a folder `docs`: name a folder for the report with --output")?,
        };
        if !folder.is_dir() {
            bail!("there is no folder {} for the report", folder.display());
        }
        let folder = Self(std::path::absolute(folder)?);
        folder.kept()?;
        Ok(folder)
    }

    /// Writes the page and the chart.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub(super) fn write(&self, contents: &Contents) -> anyhow::Result<PathBuf> {
        let page = page(contents, &self.kept()?);
        let chart = chart::svg(&contents.fan_outs)?;
        fs::write(self.0.join(CHART), chart).context("writing the chart")?;
        let path = self.0.join(PAGE);
        fs::write(&path, page).context("writing the report")?;
        Ok(path)
    }

    /// The hand-written part.
    fn kept(&self) -> anyhow::Result<String> {
        let path = self.0.join(PAGE);
        if !path.exists() {
            return Ok(NOTHING_KEPT.to_owned());
        }
        let page = fs::read_to_string(&path).context("reading the last report")?;
        let kept = kept(&page).with_context(|| {
            format!(
                "{} has no part between `{KEPT}` and `{END}`: move it away, or add them around what is to stay",
                path.display()
            )
        })?;
        Ok(kept.to_owned())
    }
}

/// `docs` of the workspace around a folder.
fn documentation(folder: &Path) -> Option<PathBuf> {
    let is_workspace = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.contains("[workspace]"))
    };
    let docs = folder.ancestors().find(is_workspace)?.join("docs");
    docs.is_dir().then_some(docs)
}

fn kept(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(KEPT)?;
    let (kept, _) = rest.split_once(END)?;
    Some(kept)
}

fn page(contents: &Contents, kept: &str) -> String {
    let Machine {
        cpu,
        cores,
        memory,
        kernel,
    } = &contents.machine;
    let versions: String = contents
        .versions
        .iter()
        .map(|(name, version)| format!("| {name} | {version} |\n"))
        .collect();
    let busy: String = (1..)
        .zip(&contents.busy)
        .map(|(round, busy)| {
            let [pressure, idle, stolen] = [busy.pressure, busy.idle, busy.stolen]
                .map(|part| format!("{:.0} %", part * 100.0));
            format!("| {round} | {pressure} | {idle} | {stolen} |\n")
        })
        .collect();
    format!(
        "# Benchmarks

This page and its chart are what `agenthub-bench compare` found on {date}: `cargo build --release && cargo run --release -p agenthub-bench -- compare`.
A new run writes them anew, and keeps what stands under “What limits it”. It takes twenty minutes. Rows for which there is no `nats-server`, `redis-server`,
Go or Node are left out. `--quick` takes one, `--only` some rows; `--help` has more.

![Deliveries per second and server CPU per delivery of every fan-out]({CHART})

## What is to be reached

A ratio is the hub's figure divided by what it is held against, both of one round; the table has the medians of all rounds, and the range of the
ratio. The server's CPU time is what one delivery costs, or one acknowledgement where nothing is delivered.

{rows}

{KEPT}{kept}{END}

## Side by side

{side_by_side}

## Tasks

A task is handed over by one program and done by another, and has come to an end when the first has its outcome. With several agents, each but the
last hands it on to the next.

{tasks}

## What the servers can do

Here those who speak with the servers only find where a message ends: over bare HTTP/2 frames with the hub, over TCP with the others.

{ceilings}

## How it was measured

{method}

| | |
|---|---|
| CPU | {cpu} |
| cores | {cores} |
| memory | {memory} MiB |
| kernel | {kernel} |
{versions}
How busy the machine was, with the measurements and whatever else ran:

| round | `cpu some avg10` at its end | idle | stolen |
|---|---|---|---|
{busy}",
        date = contents.date,
        rows = contents.rows,
        side_by_side = contents.side_by_side,
        ceilings = contents.ceilings,
        tasks = contents.tasks,
        method = contents.method.join("\n\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(rows: &str) -> Contents {
        Contents {
            date: "2026-11-22".to_owned(),
            machine: Machine {
                cpu: "Some CPU".to_owned(),
                cores: 2,
                memory: 1024,
                kernel: "Linux 6".to_owned(),
            },
            versions: vec![("tonic", "0.14.9".to_owned())],
            method: vec!["One.".to_owned(), "Two.".to_owned()],
            rows: rows.to_owned(),
            side_by_side: "| side |".to_owned(),
            ceilings: "| ceiling |".to_owned(),
            tasks: "| tasks |".to_owned(),
            fan_outs: Vec::new(),
            busy: vec![Busy {
                pressure: 0.5,
                idle: 0.25,
                stolen: 0.0,
            }],
        }
    }

    #[test]
    fn what_people_wrote_outlives_a_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let named = Folder::find(Some(folder.path())).expect("it is there");
        let path = named.write(&contents("| first |")).expect("written");
        let first = fs::read_to_string(&path).expect("a page");
        assert!(first.contains("| first |") && first.contains("\n| tasks |\n"));
        assert!(first.contains("| tonic | 0.14.9 |"));
        assert!(first.contains("| 1 | 50 % | 25 % | 0 % |"));
        let edited = first.replace("## What limits it\n", "## What limits it\n\nThe disk.\n");
        assert_ne!(edited, first);
        fs::write(&path, edited).expect("edited");
        named.write(&contents("| second |")).expect("written");
        let second = fs::read_to_string(&path).expect("a page");
        assert!(
            second.contains("## What limits it\n\nThe disk.\n"),
            "{second}"
        );
        assert!(second.contains("| second |") && !second.contains("| first |"));
        assert!(folder.path().join(CHART).is_file());
    }

    #[test]
    fn a_page_that_no_run_wrote_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(PAGE), "by hand").expect("written");
        let error = Folder::find(Some(folder.path())).expect_err("it would be lost");
        assert!(error.to_string().contains("move it away"), "{error}");
        let missing = folder.path().join("missing");
        let error = Folder::find(Some(&missing)).expect_err("it is not there");
        assert!(error.to_string().contains("there is no folder"), "{error}");
    }

    #[test]
    fn the_documentation_is_beside_the_manifest_of_the_workspace() {
        let root = tempfile::tempdir().expect("a folder");
        let crate_folder = root.path().join("bench");
        fs::create_dir(&crate_folder).expect("made");
        fs::write(crate_folder.join("Cargo.toml"), "[package]").expect("written");
        fs::write(root.path().join("Cargo.toml"), "[workspace]").expect("written");
        assert_eq!(documentation(&crate_folder), None, "there are no docs");
        let docs = root.path().join("docs");
        fs::create_dir(&docs).expect("made");
        assert_eq!(documentation(&crate_folder), Some(docs));
    }
}
