//! Space that nothing is in any more, given back to the file system.

use rusqlite::Connection;

/// Pages of 4 KiB: fewer than these wait for what is written next.
pub(super) const MANY: u64 = 256;

/// The pages that are moved at one time.
const PORTION: u64 = 1024;

/// The pages that nothing is in.
pub(super) fn free_pages(sql: &Connection) -> Result<u64, rusqlite::Error> {
    let pages: i64 = sql.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(u64::try_from(pages).unwrap_or(0))
}

/// Moves a portion of them behind the end of the file, and returns how many more can be.
pub(super) fn give_back(sql: &Connection) -> Result<u64, rusqlite::Error> {
    let before = free_pages(sql)?;
    // Each step moves a page.
    let mut moving = sql.prepare(&format!("PRAGMA incremental_vacuum({PORTION})"))?;
    let mut moved = moving.query([])?;
    while moved.next()?.is_some() {}
    let left = free_pages(sql)?;
    // A file that was never prepared for it keeps what it has.
    Ok(if left < before { left } else { 0 })
}

/// Ends the file there, and the write-ahead log, as far as nobody reads what was before.
pub(super) fn shorten(sql: &Connection) -> Result<(), rusqlite::Error> {
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Prepares a file for giving space back that was made before files were. That writes all of it anew; where it cannot be done the file
/// is used as it is.
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
