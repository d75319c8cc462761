//! What the user types while a turn is watched.

use std::io;

use crossterm::{
    event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    terminal,
};
use futures_util::StreamExt;

/// What a key means here.
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
    events: EventStream,
}

impl Keys {
    /// Takes the terminal's keyboard over.
    pub(super) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        Ok(Self {
            events: EventStream::new(),
        })
    }

    /// The next key that means something. Cancel-safe.
    pub(super) async fn next(&mut self) -> Key {
        loop {
            match self.events.next().await {
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
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = terminal::disable_raw_mode();
    }
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
