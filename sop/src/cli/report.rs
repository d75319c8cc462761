//! `agenthub sop report`

use std::{
    collections::BTreeMap,
    env,
    io::{self, IsTerminal},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use agenthub_sdk::{
    model::{LanguageModel, STAND_IN},
    runs::Journal,
};
use agenthub_terminal::{output, partial::Extent, run::width};
use anyhow::{Context, anyhow, bail};
use serde_json::json;

use super::{
    args::Report,
    compliance as listing,
    program::{Program, Settings},
};
use crate::compliance::{self, FindError, Journals, NoProcedure, Recorded};

/// The form of what is printed as JSON.
const VERSION: u32 = 1;

/// The width of a line for who is no terminal.
const WIDTH: usize = 100;

/// Says whether a run kept to its SOP. The exit code is 1 where a MUST or MUST NOT is broken, and 3 where of one nobody could tell.
pub(super) async fn run(
    args: Report,
    settings: &Settings,
    program: &dyn Program,
) -> anyhow::Result<ExitCode> {
    let Some(data) = &settings.data else {
        bail!("with --ephemeral no run is kept: name the data folder of the run with --data DIR");
    };
    let journals = program.journals(data).await;
    let found = find(&args.run, args.all, data, journals).await?;
    let judge = judge(program).await?;
    let reports = found.reports(judge.as_deref()).await?;
    if args.json {
        let all = json!({ "version": VERSION, "reports": reports, "absent": found.absent });
        output::line(all.to_string())?;
    } else {
        let look = look();
        let texts = reports.iter().map(|report| listing::report(report, look));
        let texts: Vec<String> = texts.chain(listing::absent(&found.absent)).collect();
        // Its colours are its own: what agents have written in it is plain.
        output::styled(texts.join("\n\n"))?;
    }
    let is_broken = reports.iter().any(compliance::Report::is_broken);
    let is_open = reports.iter().any(compliance::Report::is_open);
    let extent = match (is_broken, is_open) {
        (true, _) => Extent::Nothing,
        (false, true) => Extent::Part,
        (false, false) => Extent::Whole,
    };
    Ok(extent.code())
}

/// The runs to report on.
#[derive(Debug)]
struct Selection {
    /// The one that was named comes first.
    runs: Vec<Recorded>,
    /// Agents that were asked, and whose runs are not here.
    absent: Vec<String>,
}

/// Looks a run up in a data folder, with the runs that it led to if `all` are wanted.
async fn find(
    wanted: &str,
    all: bool,
    data: &Path,
    journals: io::Result<BTreeMap<String, Arc<dyn Journal>>>,
) -> anyhow::Result<Selection> {
    if wanted.trim().is_empty() {
        bail!("no run is named: `agenthub sop ask` prints its id, and `latest` is the latest");
    }
    let shown = data.display();
    let journals = journals.with_context(|| format!("cannot read the runs in {shown}"))?;
    let journals = Journals::new(journals);
    let another = "`agenthub sop ask` makes one, and --data DIR names another folder";
    let found = journals.find(wanted).await.map_err(|error| match error {
        FindError::Empty => anyhow!("there are no runs in the data folder {shown}: {another}"),
        FindError::NoSop => {
            anyhow!("no run in the data folder {shown} was led by an SOP: {another}")
        }
        FindError::NotFound { .. } => {
            anyhow!("{error} (in the data folder {shown}; --data DIR names another)")
        }
        FindError::Ambiguous { .. } => anyhow!("{error}: give more of the id"),
        FindError::Journal(error) => anyhow!("cannot read the runs in {shown}: {error}"),
    })?;
    let (runs, absent) = match all {
        true => journals.with_asked(found).await?,
        false => (vec![found], Vec::new()),
    };
    Ok(Selection { runs, absent })
}

impl Selection {
    /// A report on each.
    async fn reports(
        &self,
        judge: Option<&dyn LanguageModel>,
    ) -> anyhow::Result<Vec<compliance::Report>> {
        let mut reports = Vec::new();
        for Recorded { run, events } in &self.runs {
            let report = compliance::report(run, events, judge).await;
            reports.push(report.map_err(|error| match error {
                NoProcedure::NoSop => {
                    anyhow!("run {run} was not led by an SOP, so it has no rules to be checked")
                }
                NoProcedure::Unreadable(_) => anyhow!("run {run}: {error}"),
            })?);
        }
        Ok(reports)
    }
}

/// The model that judges; none where there is only the stand-in, which cannot.
async fn judge(program: &dyn Program) -> anyhow::Result<Option<Arc<dyn LanguageModel>>> {
    let model = program.model(None).await?;
    Ok(Some(model).filter(|model| model.name() != STAND_IN))
}

fn look() -> listing::Look {
    let is_terminal = io::stdout().is_terminal();
    listing::Look {
        width: if is_terminal { width() } else { WIDTH },
        is_coloured: is_terminal && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agenthub_sdk::runs::{
        Budget, RunEvent, RunId, RunOutcome, Spent,
        event::RunStarted,
        journal::{Claim, MemoryJournal},
    };
    use serde_json::Value;

    use super::*;

    type Journals = BTreeMap<String, Arc<dyn Journal>>;

    /// The journals of a data folder in which an agent has had this run.
    async fn kept(run: &str, about: Value, answer: &str) -> Journals {
        let journal = MemoryJournal::default();
        let first = RunEvent::Started(RunStarted {
            strategy: "tool_loop".into(),
            input: json!({ "about": about }),
            thread: String::new(),
            origin: Value::Null,
            budget: Budget::default(),
            deadline_ms: None,
            at_ms: 1,
        });
        let claim = Claim {
            driver: "d",
            lease: Duration::from_secs(1),
        };
        let run = RunId::new(run);
        let opened = journal
            .open(&run, "editor", claim, std::slice::from_ref(&first))
            .await;
        let epoch = opened.expect("it is new").epoch;
        let ended = RunEvent::Ended {
            outcome: RunOutcome::completed(answer),
            spent: Spent::default(),
            at_ms: 2,
        };
        let written = journal.append(&run, epoch, 1, &[ended]).await;
        written.expect("it is ours");
        let journal: Arc<dyn Journal> = Arc::new(journal);
        [("editor".to_owned(), journal)].into()
    }

    fn brief() -> Value {
        json!({ "sop": { "name": "editor", "file": "sops/editor.md", "digest": "", "rules": [
            { "id": "R1", "level": "must", "text": "The answer MUST be at most 2 words.", "section": "", "line": 3 },
        ] } })
    }

    #[tokio::test]
    async fn a_run_of_the_folder_is_reported_on() {
        for (answer, is_broken) in [("One two", false), ("One two three", true)] {
            let kept = kept("0a1b2c", brief(), answer).await;
            for wanted in ["0a1b2c", "0a", "latest"] {
                let found = find(wanted, true, Path::new("d"), Ok(kept.clone())).await;
                let found = found.expect(wanted);
                let reports = found.reports(None).await.expect("it has rules");
                assert_eq!(reports.len(), 1);
                assert_eq!(reports[0].is_broken(), is_broken, "{answer}");
            }
        }
    }

    #[tokio::test]
    async fn what_cannot_be_reported_on_says_why() {
        let kept = kept("0a1b2c", Value::Null, "x").await;
        let refused = async |wanted: &str, journals: &Journals| {
            let found = find(wanted, false, Path::new("d"), Ok(journals.clone()));
            let error = match found.await {
                Ok(found) => found.reports(None).await.map(|_| ()),
                Err(error) => Err(error),
            };
            error.expect_err("it cannot be").to_string()
        };
        assert_eq!(
            refused("0a", &kept).await,
            "run 0a1b2c was not led by an SOP, so it has no rules to be checked"
        );
        let none = refused("ff", &kept).await;
        assert!(
            none.starts_with("there is no run ff; the latest are: 0a1b2c (in"),
            "{none}"
        );
        let nameless = refused(" ", &kept).await;
        assert!(nameless.starts_with("no run is named"), "{nameless}");
        let none = refused("latest", &kept).await;
        assert!(
            none.contains("was led by an SOP: `agenthub sop ask`"),
            "{none}"
        );
        assert!(none.contains("data folder d"), "{none}");
        let none = refused("latest", &Journals::new()).await;
        assert!(
            none.starts_with("there are no runs in the data folder"),
            "{none}"
        );
    }
}
