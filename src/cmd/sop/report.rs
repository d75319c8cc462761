//! `agenthub sop report`

use std::{
    env,
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
};

use agenthub_sdk::model::LanguageModel;
use agenthub_sop::compliance::{self, FindError, Journals, NoProcedure, Recorded};
use anyhow::{Context, bail};
use serde_json::json;

use crate::{
    cli::sop::Report,
    journal,
    listing::compliance as listing,
    model, output,
    run::width,
    settings::{OFFLINE, Settings},
};

/// The form of what is printed as JSON.
const VERSION: u32 = 1;

/// The width of a line for who is no terminal.
const WIDTH: usize = 100;

/// Says whether a run kept to its SOP. The exit code is 1 where a MUST or MUST NOT is broken.
pub(super) async fn run(args: Report, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Some(data) = settings.data() else {
        bail!("with --ephemeral no run is kept: name the data folder of the run with --data DIR");
    };
    let shown = data.display();
    let journals = journal::all(data)
        .await
        .with_context(|| format!("cannot read the runs in {shown}"))?;
    let journals = Journals::new(journals);
    let found = journals.find(&args.run).await.map_err(|error| match error {
        FindError::Empty => anyhow::anyhow!(
            "there are no runs in the data folder {shown}: `agenthub sop ask` makes one, and --data DIR names another folder"
        ),
        FindError::NoSop => anyhow::anyhow!(
            "no run in the data folder {shown} was led by an SOP: `agenthub sop ask` makes one, and --data DIR names another folder"
        ),
        FindError::NotFound { .. } => anyhow::anyhow!(
            "{error} (in the data folder {shown}; --data DIR names another)"
        ),
        other => anyhow::Error::new(other),
    })?;
    let (runs, absent) = match args.all {
        true => journals.with_asked(found).await?,
        false => (vec![found], Vec::new()),
    };
    let judge = judge(settings).await?;
    let mut reports = Vec::new();
    for Recorded { run, events } in &runs {
        let report = compliance::report(run, events, judge.as_deref()).await;
        reports.push(report.map_err(|error| match error {
            NoProcedure::NoSop => {
                anyhow::anyhow!("run {run} was not led by an SOP, so it has no rules to be checked")
            }
            other => anyhow::anyhow!("run {run}: {other}"),
        })?);
    }
    if args.json {
        let all = json!({ "version": VERSION, "reports": reports, "absent": absent });
        output::line(all.to_string())?;
    } else {
        let look = look();
        let texts = reports.iter().map(|report| listing::report(report, look));
        let texts: Vec<String> = texts.chain(listing::absent(&absent)).collect();
        output::line(texts.join("\n\n"))?;
    }
    let is_broken = reports.iter().any(compliance::Report::is_broken);
    Ok(ExitCode::from(u8::from(is_broken)))
}

/// The model that judges; none where there is only the stand-in, which cannot.
async fn judge(settings: &Settings) -> anyhow::Result<Option<Arc<dyn LanguageModel>>> {
    let model = model::model(&settings.model).await?;
    Ok(Some(model).filter(|model| model.name() != OFFLINE))
}

fn look() -> listing::Look {
    let is_terminal = io::stdout().is_terminal();
    listing::Look {
        width: if is_terminal { width() } else { WIDTH },
        is_coloured: is_terminal && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
