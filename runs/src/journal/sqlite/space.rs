//! Incremental vacuum: returns free pages to the file system.

use rusqlite::Connection;

/// Minimum free pages (of 4 KiB) to return; fewer are kept for later writes.
pub(super) const MANY: u64 = 256;

/// Pages moved per step.
const PORTION: u64 = 1024;

/// Number of free pages.
pub(super) fn free_pages(sql: &Connection) -> Result<u64, rusqlite::Error> {
    let pages: i64 = sql.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(u64::try_from(pages).unwrap_or(0))
}

/// Truncates a batch of free pages, and returns how many are left.
pub(super) fn give_back(sql: &Connection) -> Result<u64, rusqlite::Error> {
    let before = free_pages(sql)?;
    // Each step of the statement moves one page.
    let mut moving = sql.prepare(&format!("PRAGMA incremental_vacuum({PORTION})"))?;
    let mut moved = moving.query([])?;
    while moved.next()?.is_some() {}
    let left = free_pages(sql)?;
    // A file without incremental vacuum keeps its free pages.
    Ok(if left < before { left } else { 0 })
}

/// Truncates the file and the write-ahead log, as far as no reader needs the older pages.
pub(super) fn shorten(sql: &Connection) -> Result<(), rusqlite::Error> {
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Enables incremental vacuum in a file of a release that lacked it. Rewrites the whole file; if that fails the file is
/// used as it is.
pub(super) fn prepare(sql: &Connection) {
    let prepared = sql
        .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
        .and_then(|mode: i64| match mode {
            0 => sql.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM"),
            _ => Ok(()),
        });
    if let Err(error) = prepared {
        tracing::warn!(%error, "the journal of runs gives no space back: it could not be written anew");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_is_given_back_at_one_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let sql = Connection::open(folder.path().join("runs.db")).expect("it opens");
        prepare(&sql);
        let pages = 3 * PORTION;
        sql.execute_batch(&format!(
            "CREATE TABLE t (x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {pages})
             INSERT INTO t SELECT zeroblob(4096) FROM n;
             DELETE FROM t;"
        ))
        .expect("it is written");
        let before = free_pages(&sql).expect("it tells");
        assert!(before > 2 * PORTION, "{before}");
        let left = give_back(&sql).expect("it moves them");
        assert_eq!(left, before - PORTION);
    }
}
