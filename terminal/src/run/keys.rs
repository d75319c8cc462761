//! Single keys of a terminal on which something else is shown.

use std::{io, os::fd::AsFd};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::StreamExt;
use rustix::{
    process::getpgrp,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};

/// The keyboard, key by key, without the keys being shown; Ctrl-C stays a signal. Dropping it gives the terminal back as it was.
pub(super) struct Keys {
    events: EventStream,
    before: Termios,
}

impl Keys {
    /// Takes the keyboard over; `None` where there is none, or where it belongs to another job of the shell.
    pub(super) fn open() -> Option<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok()?;
        // Where the terminal controls no job, it stops none either.
        if tcgetpgrp(stdin.as_fd()).is_ok_and(|foreground| foreground != getpgrp()) {
            return None;
        }
        let mut keys = before.clone();
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &keys).ok()?;
        Some(Self {
            events: EventStream::new(),
            before,
        })
    }

    /// The next key that is a character or Enter (`'\n'`). Waits for ever when the terminal is gone. Cancel-safe.
    pub(super) async fn next(&mut self) -> char {
        loop {
            match self.events.next().await {
                Some(Ok(Event::Key(event))) => {
                    if let Some(key) = meaning(&event) {
                        return key;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => std::future::pending().await,
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}

fn meaning(event: &KeyEvent) -> Option<char> {
    let is_plain = (event.modifiers - KeyModifiers::SHIFT).is_empty();
    match event.code {
        _ if event.kind == KeyEventKind::Release => None,
        KeyCode::Enter => Some('\n'),
        // What Enter is where it comes as a line feed.
        KeyCode::Char('j') if event.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Char(c) if is_plain => Some(c.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let key = |code, modifiers| meaning(&KeyEvent::new(code, modifiers));
        for (code, modifiers, expected) in [
            (KeyCode::Char('y'), KeyModifiers::NONE, Some('y')),
            (KeyCode::Char('Y'), KeyModifiers::SHIFT, Some('y')),
            (KeyCode::Char('y'), KeyModifiers::ALT, None),
            (KeyCode::Char('j'), KeyModifiers::CONTROL, Some('\n')),
            (KeyCode::Enter, KeyModifiers::NONE, Some('\n')),
            (KeyCode::Up, KeyModifiers::NONE, None),
        ] {
            assert_eq!(key(code, modifiers), expected, "{code:?}");
        }
    }
}
