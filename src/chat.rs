//! Talking with Cortex through the hub, on a terminal ([`interactive()`]) or line by line ([`piped()`]).
//!
//! A [`turn`] is one request. What its updates show is decided in `view`, what a line means in `command`; both are pure.
//! On a terminal the `editor` has the screen while the user writes, and the `screen` while a turn is watched.

mod command;
mod editor;
mod interactive;
mod keys;
mod notice;
mod piped;
mod presence;
mod screen;
mod session;
mod turn;
mod view;

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

/// Whether there is a terminal to chat on.
pub(crate) fn has_terminal() -> bool {
    let is_able = env::var("TERM").is_ok_and(|name| !UNABLE.contains(&name.as_str()));
    is_able && io::stdin().is_terminal() && io::stdout().is_terminal()
}
