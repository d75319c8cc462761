//! Talking with Cortex through the hub, on a terminal ([`interactive`]) or line by line ([`piped`]).
//!
//! A [turn](turn) is one request. What its updates show is decided in `view`, what a line means in `command`; both are pure.
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
