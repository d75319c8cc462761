//! A folder of workflows as agents of a hub, kept as its files change.
//!
//! `folder.rs` reads the files, `changes.rs` decides which agents are started, replaced and stopped, `keeper.rs` does it.

mod changes;
mod folder;
mod keeper;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use agenthub_documents::Fault;
use agenthub_sdk::{AgentBuilder, Client, Error};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::{folder::ById, keeper::Keeper};

/// Gives the agent with this id a place where its runs are kept. It is called again whenever the file changes.
pub type Lasting = Arc<
    dyn Fn(String, AgentBuilder) -> BoxFuture<'static, anyhow::Result<AgentBuilder>> + Send + Sync,
>;

/// Parts of a folder that is served.
#[derive(Clone)]
pub struct Origin {
    /// The folder.
    pub dir: PathBuf,
    /// Keeps runs.
    pub lasting: Lasting,
    /// Is told what happens, in order; it is quick.
    pub tell: Arc<dyn Fn(&News) + Send + Sync>,
}

/// The files of a folder of workflows, each with the agent that it would be, and all that is wrong with them. The name of a file that cannot be read is
/// empty.
///
/// # Errors
///
/// There is no such folder, it cannot be read, or it holds more than 1,000 such files.
pub fn checked_folder(dir: &Path) -> Result<(BTreeMap<PathBuf, String>, Vec<Fault>), Fault> {
    let found = folder::read(dir, &ById::new())?;
    let broken = found.broken.into_keys().map(|path| (path, String::new()));
    let read = found
        .workflows
        .into_values()
        .map(|served| (served.path.clone(), served.id.clone()));
    Ok((broken.chain(read).collect(), found.faults))
}

/// An agent of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
}

/// Events of a folder that is served.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum News {
    /// An agent has come.
    Started(Member),
    /// An agent has changed with its file; the runs that it has begun, it ends as it began them.
    Replaced(Member),
    /// An agent has gone, as its file has, or names it otherwise.
    Stopped(Member),
    /// Something is wrong with a file. Said once, until something changes.
    Wrong {
        /// The fault.
        fault: Fault,
        /// Ids of the agents that work on as they were.
        kept: Vec<String>,
    },
    /// The hub has sent an agent away.
    Lost {
        /// The agent.
        member: Member,
        /// The reason.
        reason: String,
    },
}

impl News {
    /// The event in one line; none for a fault alone, which is told as such.
    pub fn line(&self) -> Option<String> {
        let file = |path: &Path| path.display().to_string();
        Some(match self {
            News::Started(member) => format!("{} is here ({})", member.id, file(&member.path)),
            News::Replaced(member) => format!(
                "{} works by the new {} from here on; the runs that it has begun end as they began",
                member.id,
                file(&member.path)
            ),
            News::Stopped(member) => format!(
                "{} has gone, as {} has, or names it otherwise",
                member.id,
                file(&member.path)
            ),
            News::Wrong { kept, .. } => match kept.as_slice() {
                [] => return None,
                [one] => format!("{one} goes on as it was, since this is wrong with its file:"),
                several => {
                    let several = several.join(", ");
                    format!(
                        "{several} go on as they were, since this is wrong with a file of theirs:"
                    )
                }
            },
            News::Lost { member, reason } => {
                format!(
                    "the hub has sent {} away: {reason}; it is tried again",
                    member.id
                )
            }
        })
    }
}

/// The reason why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder cannot be read. Told as news, too.
    #[error("{0}")]
    Folder(Fault),
    /// The hub cannot be reached.
    #[error(transparent)]
    Hub(#[from] Error),
}

/// Workflows of a folder at work as agents. [`stop`](Self::stop) it; dropping it ends the agents without waiting for anything.
#[derive(Debug)]
pub struct Serving {
    members: Vec<Member>,
    stop: CancellationToken,
    keeping: JoinSet<()>,
}

impl Serving {
    /// Starts an agent of each workflow on the hub at this address, and keeps them as their files change. A file with faults is told of, and
    /// left out.
    ///
    /// # Errors
    ///
    /// [`ServeError`].
    pub async fn start(hub: &str, origin: Origin) -> Result<Self, ServeError> {
        let client = Client::builder(hub).connect().await?;
        let stop = CancellationToken::new();
        let mut keeper = Keeper::new(hub, origin, client, stop.clone());
        if let Err(fault) = keeper.round().await {
            keeper.end().await;
            return Err(ServeError::Folder(fault));
        }
        let members = keeper.members();
        let mut keeping = JoinSet::new();
        keeping.spawn(keeper.run());
        Ok(Self {
            members,
            stop,
            keeping,
        })
    }

    /// The agents that were started at the beginning, by id.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Stops the agents. Their runs go on where another process with the same journals serves the folder.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.keeping.join_next().await.is_some() {}
    }
}
