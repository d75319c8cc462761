//! Talking with Cortex through the hub, on a terminal ([`interactive()`]) or line by line ([`piped()`]).
//!
//! A [`turn`] is one request. What its updates show is decided in `turn_view`, what a line means in `command`; both are pure.
//! On a terminal the `editor` has the screen while the user writes, and the `screen` while a turn is watched.

mod ahead;
mod attached;
mod command;
mod editor;
mod elsewhere;
mod interactive;
mod keys;
mod notice;
mod overheard;
mod piped;
mod presence;
mod screen;
mod session;
mod turn;
mod turn_view;

pub(crate) use editor::Folder;
pub(crate) use interactive::interactive;
pub(crate) use piped::piped;
pub(crate) use session::Session;

use std::{
    env,
    io::{self, IsTerminal},
};

/// Terminals on which no line can be edited.
const UNABLE: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Devices of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// A terminal on which lines can be edited.
    Able,
    /// A terminal that can no more than print, by its `TERM`.
    Unable,
    /// Pipes, files or nothing.
    Absent,
}

impl Terminal {
    /// The terminal of this process.
    pub(crate) fn find() -> Self {
        let is_there = io::stdin().is_terminal() && io::stdout().is_terminal();
        Self::of(is_there, env::var("TERM").ok().as_deref())
    }

    fn of(is_there: bool, name: Option<&str>) -> Self {
        match (is_there, name) {
            (false, _) => Self::Absent,
            (true, None | Some("")) => Self::Unable,
            (true, Some(name)) if UNABLE.contains(&name) => Self::Unable,
            (true, Some(_)) => Self::Able,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_cannot_edit_is_none_to_chat_on() {
        for (is_there, name, expected) in [
            (true, Some("xterm-256color"), Terminal::Able),
            (true, Some("dumb"), Terminal::Unable),
            (true, Some(""), Terminal::Unable),
            (true, None, Terminal::Unable),
            (false, Some("xterm"), Terminal::Absent),
        ] {
            assert_eq!(Terminal::of(is_there, name), expected, "{name:?}");
        }
    }
}
