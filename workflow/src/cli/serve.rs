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
    if let Some(line) = news.line() {
        output::aside(output::plain(&line));
    }
    if let News::Wrong { fault, .. } = news {
        show(fault);
    }
}
