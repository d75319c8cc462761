//! Keys that the user types while a turn is watched.

use std::{io, time::Duration};

use crossterm::{
    event::{self, Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    terminal,
};
use futures_util::StreamExt;
use tokio::task::spawn_blocking;

/// The keys that are taken in at the end; more stay with the terminal.
const REST: usize = 16 * 1024;

/// Time for the thread behind the keys to let go of the terminal at the end.
const LET_GO: Duration = Duration::from_millis(20);

/// Meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character for the next line.
    Char(char),
    /// The last character is taken back.
    Backspace,
    /// The next line is taken back.
    Clear,
    /// Enter.
    Enter,
    /// Ctrl-C.
    Interrupt,
    /// The terminal is gone.
    Gone,
}

/// The keyboard, key by key. Dropping it gives the terminal back.
pub(super) struct Keys {
    events: Option<EventStream>,
}

impl Keys {
    /// Takes the terminal's keyboard over.
    pub(super) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        Ok(Self {
            events: Some(EventStream::new()),
        })
    }

    /// The next key that means something. Cancel-safe.
    pub(super) async fn next(&mut self) -> Key {
        let Some(events) = &mut self.events else {
            return Key::Gone;
        };
        loop {
            match events.next().await {
                Some(Ok(Event::Key(event))) => {
                    if let Some(key) = meaning(&event) {
                        return key;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Key::Gone,
            }
        }
    }

    /// Gives the terminal back. Returns the keys that were pressed and not asked for, which nobody else would see.
    pub(super) async fn close(mut self) -> Vec<Key> {
        self.events = None;
        spawn_blocking(rest).await.unwrap_or_default()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = terminal::disable_raw_mode();
    }
}

fn rest() -> Vec<Key> {
    let mut keys = Vec::new();
    let mut patience = LET_GO;
    while keys.len() < REST && event::poll(patience).unwrap_or(false) {
        match event::read() {
            Ok(Event::Key(event)) => keys.extend(meaning(&event)),
            Ok(_) => {}
            Err(_) => break,
        }
        patience = Duration::ZERO;
    }
    keys
}

fn meaning(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let with_control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Char('c') if with_control => Some(Key::Interrupt),
        KeyCode::Char('u') if with_control => Some(Key::Clear),
        // What Enter is in raw mode when it comes as a line feed.
        KeyCode::Char('j') if with_control => Some(Key::Enter),
        KeyCode::Char('h') if with_control => Some(Key::Backspace),
        KeyCode::Char(_) if with_control || event.modifiers.contains(KeyModifiers::ALT) => None,
        KeyCode::Char(c) => Some(Key::Char(c)),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Enter => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let key = |code, modifiers| meaning(&KeyEvent::new(code, modifiers));
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        let cases = [
            (key(KeyCode::Char('ä'), none), Some(Key::Char('ä'))),
            (
                key(KeyCode::Char('A'), KeyModifiers::SHIFT),
                Some(Key::Char('A')),
            ),
            (key(KeyCode::Char('c'), control), Some(Key::Interrupt)),
            (key(KeyCode::Char('u'), control), Some(Key::Clear)),
            (key(KeyCode::Char('d'), control), None),
            (key(KeyCode::Char('x'), KeyModifiers::ALT), None),
            (key(KeyCode::Enter, none), Some(Key::Enter)),
            (key(KeyCode::Backspace, none), Some(Key::Backspace)),
            (key(KeyCode::Up, none), None),
        ];
        for (got, expected) in cases {
            assert_eq!(got, expected);
        }
    }
}
