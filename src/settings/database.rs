//! The database that has the runs of workflows in place of a file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a database is reached, such as `host=… user=… dbname=…`. It may hold a password, and shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Database(pub(crate) String);

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Database(…)")
    }
}
