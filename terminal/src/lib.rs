//! The command line as people use it: flags that commands share, and agents, tasks, mailboxes and runs as they are read and watched.
//!
//! [`commands`] are those that ask a hub, [`complete`] offers its ids to shells. [`listing`] puts what a hub knows into words and tables, [`run`] shows
//! runs of Cortex while they work, [`output`] prints, [`message`] reads what people say, [`diff`] says where two runs part. What a program
//! does with the terminal besides is in [`stop`] (signals), [`connect`] (finding the hub) [`calls`] (how this program is called again) and [`usage`]
//! (what was wrong in how it was called). [`file_agent`] tells agents of files from others of the same name.

pub mod calls;
pub mod commands;
pub mod complete;
pub mod connect;
pub mod diff;
pub mod faults;
pub mod file_agent;
pub mod flags;
pub mod ids;
mod listen;
pub mod listing;
pub mod message;
pub mod output;
pub mod partial;
pub mod run;
pub mod stop;
pub mod usage;

pub use listen::{Invalid, Listen};
