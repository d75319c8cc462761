//! Traces of a child, and the invariants that hold for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    sync::Mutex,
};

use agenthub_runs::{
    Journal, RunEvent, RunOutcome, StepKey,
    journal::{JournalError, SqliteJournal},
};
use serde_json::Value;

use super::{child::example_run, examples::is_final};

pub(super) const JOURNAL: &str = "runs.db";
const TRACE: &str = "trace.jsonl";

/// Appends lines that survive the process.
#[derive(Debug)]
pub(super) struct Pen {
    file: Mutex<File>,
}

impl Pen {
    pub(super) fn new(folder: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(folder.join(TRACE));
        Self {
            file: Mutex::new(file.expect("the folder is there")),
        }
    }

    pub(super) fn write(&self, line: &Value) {
        let mut file = self.file.lock().expect("nobody panics here");
        // Each line is one write, atomic beside other writers.
        file.write_all(format!("{line}\n").as_bytes())
            .expect("there is room");
    }
}

/// Trace of one child, or of two in one folder.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Number of journal writes.
    pub(super) writes: u64,
    /// Requests of each attempt, each time it was dispatched.
    begun: BTreeMap<String, Vec<String>>,
    told: Vec<Value>,
    events: Vec<RunEvent>,
}

impl Trace {
    pub(super) fn read(folder: &Path) -> Self {
        let mut trace = Self::default();
        let text = fs::read_to_string(folder.join(TRACE)).unwrap_or_default();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("whole lines");
            if let Some(key) = line["begins"].as_str() {
                let sent = trace.begun.entry(key.to_owned()).or_default();
                sent.push(line.to_string());
            } else if line["told"].is_object() {
                trace.told.push(line);
            } else if line["wrote"].is_u64() {
                trace.writes += 1;
            }
        }
        trace.events = read_journal(folder);
        trace
    }

    /// The attempts that began and those that ended, according to the journal.
    fn attempts(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let key = |step: &_, attempt: &u32| {
            let key = StepKey {
                run: example_run(),
                step: Clone::clone(step),
                attempt: *attempt,
            };
            key.to_string()
        };
        let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for event in &self.events {
            match event {
                RunEvent::StepBegun { step, attempt, .. } => {
                    begun.insert(key(step, attempt));
                }
                RunEvent::StepEnded { step, attempt, .. } => {
                    ended.insert(key(step, attempt));
                }
                _ => {}
            }
        }
        (begun, ended)
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.events.iter().filter_map(|event| match event {
            RunEvent::Noted { step, value, .. } => Some(format!("{step} {value}")),
            _ => None,
        });
        notes.collect()
    }

    /// Progress of each step between its beginning and its end.
    fn progress(&self) -> BTreeMap<String, Vec<Value>> {
        let mut out = BTreeSet::new();
        let mut progress: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in &self.events {
            match event {
                RunEvent::StepBegun { step, .. } => {
                    out.insert(step.to_string());
                }
                RunEvent::StepEnded { step, .. } => {
                    out.remove(step.as_str());
                }
                RunEvent::Progressed { step, value, .. } => {
                    assert!(out.contains(step.as_str()), "{step} is not out: {value}");
                    let shown = progress.entry(step.to_string()).or_default();
                    shown.push(value.clone());
                }
                _ => {}
            }
        }
        progress
    }

    /// Checks that a step shows all pieces in its last process, after the durable ones of the process before.
    fn check_progress(&self, whole: &Self, place: &str) {
        let (mine, all) = (self.progress(), whole.progress());
        assert!(mine.keys().eq(all.keys()), "{place}: the same steps show");
        for (step, all) in all {
            let early = mine[&step].strip_suffix(&*all);
            let early = early.unwrap_or_else(|| panic!("{place}: {step} shows {:?}", mine[&step]));
            assert!(all.starts_with(early), "{place}: {step} showed {early:?}");
        }
    }

    fn outcome(&self) -> Option<(&RunOutcome, u64)> {
        match self.events.last()? {
            RunEvent::Ended { outcome, spent, .. } => Some((outcome, spent.calls)),
            _ => None,
        }
    }

    /// Compares a crash and restart with a run without a crash, and with the state at the crash. Returns the number of
    /// redispatched steps.
    pub(super) fn check(&self, whole: &Self, before: &Self, place: &str) -> u64 {
        assert!(whole.outcome().is_some(), "{place}: the run ends");
        assert_eq!(self.outcome(), whole.outcome(), "{place}: the outcome");
        let told: BTreeSet<String> = self.told.iter().map(Value::to_string).collect();
        assert_eq!(told.len(), 1, "{place}: who waits is told one thing");
        assert!(
            self.told.len() <= 2,
            "{place}: and not more than once again"
        );

        let (begun, ended) = before.attempts();
        let early: Vec<_> = before
            .begun
            .keys()
            .filter(|k| !begun.contains(*k))
            .collect();
        assert!(
            early.is_empty(),
            "{place}: {early:?} before they were durable"
        );
        let mut again = 0;
        for (key, sent) in &self.begun {
            let first = before.begun.get(key).map_or(0, Vec::len);
            let later = sent.len() - first;
            let most = usize::from(!ended.contains(key));
            assert!(later <= most, "{place}: {key} goes out {later} times more");
            assert!(first <= 1, "{place}: {key} once in one process");
            assert!(
                sent.iter().all(|s| s == &sent[0]),
                "{place}: {key} is sent again byte for byte: {sent:#?}"
            );
            again += u64::from(first == 1 && later == 1);
        }
        let keys = |trace: &Self| trace.begun.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(self), keys(whole), "{place}: the same attempts");
        let finals = |trace: &Self| {
            let ended = trace.events.iter().filter(
                |event| matches!(event, RunEvent::StepEnded { result, .. } if is_final(result)),
            );
            ended.count()
        };
        assert_eq!(finals(self), finals(whole), "{place}: each step ends once");
        assert_eq!(self.notes(), whole.notes(), "{place}: the same notes, once");
        self.check_progress(whole, place);
        again
    }
}

fn read_journal(folder: &Path) -> Vec<RunEvent> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let journal = SqliteJournal::open(folder.join(JOURNAL)).expect("it opens after a crash");
    match runtime.block_on(journal.read(&example_run(), 0, usize::MAX)) {
        Ok(entries) => entries.into_iter().map(|e| e.event).collect(),
        Err(JournalError::NotFound(_)) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}
