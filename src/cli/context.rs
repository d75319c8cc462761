//! `agenthub context`

use agenthub_terminal::flags::Json;
use clap::{Args, Subcommand};

/// `agenthub context`
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Adds a hub by a name, with the files of --ca, --cert, --key and --token-file
    Add(AddContext),
    /// Calls this hub from now on, where nothing else names one
    Use {
        /// The context
        name: String,
    },
    /// Lists the contexts
    List(Json),
    /// Removes a context; its files stay
    Remove {
        /// The context
        name: String,
    },
}

/// `agenthub context add`
#[derive(Debug, Args)]
pub(crate) struct AddContext {
    /// Its name: letters, digits, - and _
    #[arg(value_parser = name)]
    pub(crate) name: String,
    /// The hub's address, such as `https://hub.example:50051`
    #[arg(long, value_name = "URL")]
    pub(crate) hub: String,
    /// Uses it from now on
    #[arg(long = "use")]
    pub(crate) use_it: bool,
    /// Replaces the context if there is one of this name
    #[arg(long)]
    pub(crate) force: bool,
}

fn name(text: &str) -> Result<String, String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !text.is_empty() && text.chars().all(is_good) {
        true => Ok(text.to_owned()),
        false => Err("a name has letters, digits, - and _".to_owned()),
    }
}
