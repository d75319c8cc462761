//! Runs of workflows in a database, for executors on several machines.

use std::{collections::BTreeMap, sync::Arc};

use agenthub_cortex::Others;
use agenthub_sdk::runs::Journal;
use tonic::async_trait;

use crate::settings::Database;

/// Name of the journal among those of files. No agent's file has it, as their names begin otherwise.
const NAME: &str = "-database";

/// Opens the journal in a database.
///
/// # Errors
///
/// The database cannot be reached.
#[cfg(feature = "postgres")]
pub(super) async fn open(database: &Database) -> anyhow::Result<Arc<dyn Journal>> {
    use agenthub_sdk::runs::journal::PostgresJournal;
    use anyhow::Context;

    let opened = PostgresJournal::open(&database.0).await;
    let journal = opened.context("cannot keep the runs of workflows in PostgreSQL")?;
    Ok(Arc::new(journal))
}

/// Opens nothing: this program knows no database.
///
/// # Errors
///
/// In any case.
#[cfg(not(feature = "postgres"))]
pub(super) async fn open(_: &Database) -> anyhow::Result<Arc<dyn Journal>> {
    anyhow::bail!(
        "`journal` names a database, and this program was built without PostgreSQL: build it with `--features postgres`"
    )
}

/// The journals of a folder, if there is one, and that of a database.
#[derive(Debug)]
pub(super) struct WithDatabase {
    pub(super) folder: Option<Arc<dyn Others>>,
    pub(super) database: Arc<dyn Journal>,
}

#[async_trait]
impl Others for WithDatabase {
    async fn journals(&self) -> BTreeMap<String, Arc<dyn Journal>> {
        let mut journals = match &self.folder {
            Some(folder) => folder.journals().await,
            None => BTreeMap::new(),
        };
        journals.insert(NAME.to_owned(), Arc::clone(&self.database));
        journals
    }
}
