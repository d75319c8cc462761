//! `agenthub workflow serve`

use std::{process::ExitCode, sync::Arc};

use agenthub_sdk::Client;
use agenthub_terminal::{connect::until_there, faults::show, output, stop::Signals};
use serde_json::json;

use super::args::Serve;
use crate::serving::{Lasting, News, Origin, ServeError, Serving};

/// Serves the workflows of a folder until it is told to stop. `hub` is the address of the settings.
///
/// # Errors
///
/// The hub cannot be reached, in one line; faults of the folder are printed here, and end with exit code 1.
pub async fn serve(args: &Serve, hub: &str, lasting: Lasting) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::new()?;
    let origin = Origin {
        dir: args.dir.clone(),
        lasting,
        tell: Arc::new(tell),
    };
    let starting = async {
        until_there(|| Client::builder(hub).connect())
            .await?
            .close()
            .await;
        anyhow::Ok(Serving::start(hub, origin).await)
    };
    let started = tokio::select! {
        started = starting => started?,
        _ = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    let serving = match started {
        Ok(serving) => serving,
        // The fault was shown.
        Err(ServeError::Folder(_)) => return Ok(ExitCode::FAILURE),
        Err(ServeError::Hub(error)) => return Err(error.into()),
    };
    let ids: Vec<&str> = serving.members().iter().map(|m| &*m.id).collect();
    let said = match args.json {
        true => output::line(json!({ "hub": hub, "dir": args.dir, "agents": ids }).to_string()),
        false => output::line(output::plain(&banner(args, hub, &ids))),
    };
    if said.is_ok() {
        signals.next().await;
    }
    signals.leave(serving.stop()).await?;
    said?;
    Ok(ExitCode::SUCCESS)
}

fn banner(args: &Serve, hub: &str, ids: &[&str]) -> String {
    let agents = match ids {
        [] => "no workflows yet".to_owned(),
        ids => format!("agents {}", ids.join(", ")),
    };
    let dir = args.dir.display();
    format!(
        "Workflows of {dir} are on {hub}: {agents}\nWhen a file in {dir} changes, its agent does. Ctrl-C stops."
    )
}

fn tell(news: &News) {
    if let Some(line) = line(news) {
        output::aside(output::plain(&line));
    }
    if let News::Wrong { fault, .. } = news {
        show(fault);
    }
}

fn line(news: &News) -> Option<String> {
    let file = |path: &std::path::Path| path.display().to_string();
    Some(match news {
        News::Started(member) => format!("{} is here ({})", member.id, file(&member.path)),
        News::Replaced(member) => format!(
            "{} works by the new {} from here on; the runs that it has begun end as they began",
            member.id,
            file(&member.path)
        ),
        News::Stopped(member) => format!(
            "{} has gone, as {} has, or names it otherwise",
            member.id,
            file(&member.path)
        ),
        News::Wrong { kept, .. } => match kept.as_slice() {
            [] => return None,
            [one] => format!("{one} goes on as it was, since this is wrong with its file:"),
            several => {
                let several = several.join(", ");
                format!("{several} go on as they were, since this is wrong with a file of theirs:")
            }
        },
        News::Lost { member, reason } => {
            format!(
                "the hub has sent {} away: {reason}; it is tried again",
                member.id
            )
        }
    })
}
