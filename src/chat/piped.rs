//! The chat without a terminal: each line of stdin is a turn, and only answers go to stdout.

use std::{
    future::ready,
    io::{self, BufRead},
    process::ExitCode,
    thread,
    time::Duration,
};

use agenthub_proto::a2a::Part;
use agenthub_terminal::{listing, output, partial::Extent, stop::Signals};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    attached::Attached,
    command::{self, Command, HELP, Input},
    notice,
    presence::{Presence, Standing},
    session::Session,
    turn::{self, Said},
    turn_view::{End, Show},
};

/// Lines that wait for their turn; reading stops meanwhile.
const LINES: usize = 16;

/// Time for which nobody may be there to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest line about progress, in characters.
const ASIDE: usize = 200;

/// Answers one line after the other. The exit code is that of the worst answer.
pub(crate) async fn piped(mut session: Session, signals: &mut Signals) -> anyhow::Result<ExitCode> {
    let mut lines = lines();
    let mut asking = session.asking()?;
    let mut worst = Extent::Whole;
    let mut attached = Attached::default();
    // A file that is to go with what is said next could not be attached.
    let mut lacks_file = false;
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            asked = asking.next() => {
                output::aside(listing::runs::question(&asked));
                continue;
            }
            _ = signals.next() => return Ok(ExitCode::FAILURE),
        };
        let Some(line) = line else {
            break;
        };
        match command::parse(&line?) {
            Input::Nothing => {}
            Input::Say(_) if std::mem::take(&mut lacks_file) => {
                attached.detach();
                output::aside(
                    "error: this was not said, as a file that goes with it is not attached",
                );
                worst = Extent::Nothing;
            }
            Input::Say(words) => match answer(&session, words, attached.take(), signals).await? {
                End::Answered(extent) => worst = worst.max(extent),
                End::Failed(reason) => {
                    output::aside(format!("error: {}", output::plain(&reason)));
                    worst = Extent::Nothing;
                }
                End::Cancelled => {
                    output::aside("error: cancelled");
                    session.client.close().await;
                    return Ok(ExitCode::FAILURE);
                }
            },
            Input::Command(Command::Quit) => break,
            Input::Command(Command::Help) => output::line(HELP)?,
            Input::Command(Command::New) => session = session.anew().await?,
            Input::Command(command) => {
                let is_file = matches!(command, Command::Attach(_));
                let said = match command {
                    Command::Agents => notice::agents(&session).await,
                    Command::Tasks => notice::tasks(&session).await,
                    Command::Runs => notice::runs(&session).await,
                    Command::Attach(path) => attached.attach(path).await.map(|told| {
                        output::aside(told);
                        String::new()
                    }),
                    Command::Detach => {
                        lacks_file = false;
                        output::aside(attached.detach());
                        continue;
                    }
                    Command::Approvals => notice::approvals(&session).await,
                    Command::Answer { approved, id, why } => {
                        notice::answered(&session, approved, id, why).await
                    }
                    Command::Help | Command::New | Command::Quit => continue,
                };
                match said {
                    Ok(text) if text.is_empty() => {}
                    Ok(text) => output::line(text)?,
                    Err(error) => {
                        lacks_file |= is_file;
                        output::aside(format!("error: {}", output::plain(&format!("{error:#}"))));
                        worst = Extent::Nothing;
                    }
                }
            }
            Input::Unknown(name) => {
                output::aside(format!("error: {}", notice::unknown(name)));
                worst = Extent::Nothing;
            }
        }
    }
    session.client.close().await;
    Ok(worst.code())
}

async fn answer(
    session: &Session,
    words: &str,
    files: Vec<Part>,
    signals: &mut Signals,
) -> anyhow::Result<End> {
    let cancel = CancellationToken::new();
    let mut doing = String::new();
    let mut printed = Ok(());
    let said = Said {
        words: words.to_owned(),
        files,
    };
    let turn = turn::run(session.clone(), said, cancel.clone(), |show| {
        match show {
            Show::Doing(text) if text == doing => {}
            Show::Doing(text) => {
                output::aside(output::cut(&text, ASIDE));
                doing = text;
            }
            Show::Note(text) => output::aside(output::cut(&text, ASIDE)),
            Show::Asks(asked) => {
                output::aside(asked.question());
                output::aside(format!(
                    "  allow it: {}",
                    asked.command("approve", &session.hub)
                ));
                output::aside(format!(
                    "  refuse it: {}",
                    asked.command("refuse", &session.hub)
                ));
            }
            Show::Answer { text, .. } if printed.is_ok() => {
                printed = output::line(output::plain(&text));
            }
            Show::Answer { .. } | Show::Text(_) | Show::Writing(_) | Show::Void => {}
        }
        ready(())
    });
    let end = watched(turn, session, &cancel, signals).await;
    printed?;
    Ok(end)
}

/// Watches for what could keep the turn from ending.
async fn watched(
    turn: impl Future<Output = End>,
    session: &Session,
    cancel: &CancellationToken,
    signals: &mut Signals,
) -> End {
    tokio::pin!(turn);
    let mut presence = Presence::new(&session.client);
    let mut give_up: Option<(Instant, Standing)> = None;
    loop {
        let until = give_up.as_ref().map(|(at, _)| *at);
        tokio::select! {
            end = &mut turn => return end,
            standing = presence.next() => {
                output::aside(output::plain(&standing.line(&session.hub)));
                give_up = match standing {
                    Standing::Fine => None,
                    _ => Some((Instant::now() + PATIENCE, standing)),
                };
            }
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                cancel.cancel();
                turn.await;
                let standing = give_up.map_or(Standing::Fine, |(_, standing)| standing);
                let why = standing.reason(&session.hub);
                return End::Failed(format!("no answer for {} s: {why}", PATIENCE.as_secs()));
            }
            _ = signals.next() => {
                cancel.cancel();
                turn.await;
                return End::Cancelled;
            }
        }
    }
}

/// The lines of stdin, read by a thread that ends with them.
fn lines() -> mpsc::Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel(LINES);
    // A read of stdin cannot be broken off, so nobody waits for this thread.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next_line(&mut input).transpose() {
            let is_over = line.is_err();
            if sender.blocking_send(line).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

/// The next line without its end. What is no UTF-8 in it is replaced by U+FFFD.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(&line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf_8_costs_no_line() {
        let mut input: &[u8] = b"one\r\nt\xffo\n\nlast";
        let lines: Vec<String> =
            std::iter::from_fn(|| next_line(&mut input).expect("it is all there")).collect();
        assert_eq!(lines, ["one", "t\u{fffd}o", "", "last"]);
    }
}
