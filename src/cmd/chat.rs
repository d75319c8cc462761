//! `agenthub chat`

use std::process::ExitCode;

use agenthub_terminal::{calls, output, stop::Signals};

use super::CLIENT_LEVEL;
use crate::{
    chat::{self, Folder, Session, Terminal},
    cli::Chat,
    logging::{self, Target},
    settings::Settings,
};

/// Talks with Cortex, on a terminal or line by line.
pub(super) async fn run(args: Chat, settings: &Settings) -> anyhow::Result<ExitCode> {
    let is_terminal = Terminal::find() == Terminal::Able;
    let log = match is_terminal {
        true => logging::beside_chat(settings.data(), "chat.log"),
        false => Target::Stderr,
    };
    logging::start(settings.log.as_deref(), CLIENT_LEVEL, &log)?;
    let mut signals = Signals::new()?;
    let session = tokio::select! {
        session = Session::open(&settings.hub, args.context) => session?,
        _ = signals.next() => return Ok(ExitCode::FAILURE),
    };
    if !is_terminal {
        return chat::piped(session, &mut signals).await;
    }
    output::line(format!(
        "Connected to {}. Say something to Cortex, or /help.",
        settings.hub
    ))?;
    let folder = Folder::new(settings.data());
    if let Some(context) = chat::interactive(session, folder, &mut signals).await? {
        let (program, hub) = (calls::program(), calls::hub_flag(&settings.hub));
        output::line(format!(
            "To go on with this conversation: {program} chat --context {context}{hub}"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
