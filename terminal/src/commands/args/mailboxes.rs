//! Arguments of `agenthub mailboxes`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::Query;
use crate::{complete, flags::Hub};

/// `agenthub mailboxes`
#[derive(Debug, Subcommand)]
pub enum Mailboxes {
    /// Lists the durable mailboxes, and the mail that waits for agents without one
    List {
        /// Only those of this agent
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Shows what waits in a mailbox, which stays there
    Show {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox; without it all of the agent's
        name: Option<String>,
        /// Number of events to show of each
        #[arg(long, value_name = "N", default_value_t = 10)]
        first: u32,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Moves a mailbox: what came after a position is delivered again, what waits before it is skipped
    Seek {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox
        name: String,
        /// The position.
        #[command(flatten)]
        to: SeekTo,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Skips all that waits in a mailbox; tasks that it was work on fail
    Purge {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox; without it the mail that waits for the agent's first subscription
        name: Option<String>,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Lists mail that was given up, delivers it again or drops it
    #[command(args_conflicts_with_subcommands = true)]
    DeadLetters {
        /// The action on one of them; lists them if not given.
        #[command(subcommand)]
        action: Option<LetterAction>,
        /// Only those of this agent
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
}

/// Target position of a mailbox.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SeekTo {
    /// The position of an event
    #[arg(long, value_name = "POSITION")]
    pub after: Option<String>,
    /// The end: all that waits is skipped
    #[arg(long)]
    pub latest: bool,
}

/// Action on a dead letter.
#[derive(Debug, Subcommand)]
pub enum LetterAction {
    /// Delivers it again; if its task has ended, as another task
    Retry {
        /// Its id
        id: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
    /// Forgets it
    Drop {
        /// Its id
        id: String,
        /// The hub, and the form of the answer.
        #[command(flatten)]
        query: Query,
    },
}

impl Mailboxes {
    /// The hub's address.
    pub fn hub(&self) -> &Hub {
        match self {
            Self::List { query, .. }
            | Self::Show { query, .. }
            | Self::Seek { query, .. }
            | Self::Purge { query, .. }
            | Self::DeadLetters {
                action: Some(LetterAction::Retry { query, .. } | LetterAction::Drop { query, .. }),
                ..
            }
            | Self::DeadLetters { query, .. } => &query.hub,
        }
    }
}
