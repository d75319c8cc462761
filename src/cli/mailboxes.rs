//! `agenthub mailboxes`

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::{Hub, Json};
use crate::complete;

/// `agenthub mailboxes`
#[derive(Debug, Subcommand)]
pub(crate) enum Mailboxes {
    /// Lists the durable mailboxes, and the mail that waits for agents without one
    List {
        /// Only those of this agent
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Shows what waits in a mailbox, which stays there
    Show {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox; without it all of the agent's
        name: Option<String>,
        /// How many events to show of each
        #[arg(long, value_name = "N", default_value_t = 10)]
        first: u32,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Moves a mailbox: what came after a position is delivered again, what waits before it is skipped
    Seek {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox
        name: String,
        #[command(flatten)]
        to: SeekTo,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Skips all that waits in a mailbox; tasks that it was work on fail
    Purge {
        /// The agent
        #[arg(add = ArgValueCompleter::new(complete::agents))]
        agent: String,
        /// The mailbox; without it the mail that waits for the agent's first subscription
        name: Option<String>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Lists mail that was given up, delivers it again or drops it
    #[command(args_conflicts_with_subcommands = true)]
    DeadLetters {
        #[command(subcommand)]
        action: Option<LetterAction>,
        /// Only those of this agent
        #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::agents))]
        agent: Option<String>,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
}

/// Where a mailbox is moved.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SeekTo {
    /// The position of an event
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<String>,
    /// The end: all that waits is skipped
    #[arg(long)]
    pub(crate) latest: bool,
}

/// What becomes of a dead letter.
#[derive(Debug, Subcommand)]
pub(crate) enum LetterAction {
    /// Delivers it again; if its task has ended, as another task
    Retry {
        /// Its id
        id: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
    /// Forgets it
    Drop {
        /// Its id
        id: String,
        #[command(flatten)]
        hub: Hub,
        #[command(flatten)]
        json: Json,
    },
}

impl Mailboxes {
    /// Where the hub is.
    pub(super) fn hub(&self) -> &Hub {
        match self {
            Self::List { hub, .. }
            | Self::Show { hub, .. }
            | Self::Seek { hub, .. }
            | Self::Purge { hub, .. }
            | Self::DeadLetters {
                action: Some(LetterAction::Retry { hub, .. } | LetterAction::Drop { hub, .. }),
                ..
            }
            | Self::DeadLetters { hub, .. } => hub,
        }
    }
}
