//! Damaged, truncated and outdated logs.

use super::*;

fn damage(folder: &Path, sql: &str) {
    let database = rusqlite::Connection::open(folder.join(FILE)).expect("the database");
    database.execute_batch(sql).expect("it can be changed");
}

#[tokio::test]
async fn a_damaged_snapshot_is_named_unless_the_log_is_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let last = busy(&mut log);
    safe(&log, last).await;
    keep(&log.upkeep(), &Settings::default(), None, &|| false).expect("it is kept");
    drop(log);
    damage(
        folder.path(),
        "UPDATE parts SET payload = zeroblob(length(payload)) WHERE number = 2",
    );
    let (log, state) = open(folder.path()).expect("the log is complete");
    assert_eq!(mail(&state), (vec![Some(Position(5))], 1));
    keep(&log.upkeep(), &short_lived(), None, &|| false).expect("another snapshot is taken");
    drop(log);
    maintenance::verify(folder.path()).expect("sound again");

    damage(folder.path(), "DELETE FROM parts WHERE number = 2");
    for result in [
        open(folder.path()).map(drop),
        maintenance::verify(folder.path()).map(drop),
    ] {
        assert!(
            matches!(result, Err(OpenError::Snapshot { .. })),
            "{result:?}"
        );
    }
}

#[tokio::test]
async fn records_are_exported_as_json_up_to_the_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    busy(&mut log);
    drop(log);
    let export = |after, until| {
        let mut found = Vec::new();
        let result = maintenance::export(folder.path(), after, until, |record| {
            found.push(record);
            Ok(())
        });
        (found, result)
    };
    let (all, result) = export(0, None);
    result.expect("it is read");
    let kinds: Vec<&str> = all.iter().filter_map(|r| r["kind"].as_str()).collect();
    assert_eq!(kinds[..3], ["registered", "subscribed", "published"]);
    assert_eq!(all[2]["event"]["message"]["taskId"], "t0");
    assert_eq!(all[13]["positions"].as_array().map(Vec::len), Some(9));
    let (some, _) = export(3, Some(5));
    assert_eq!(some, all[3..5]);

    damage(
        folder.path(),
        "UPDATE events SET principal = 'x' WHERE position = 8",
    );
    let (before, result) = export(0, None);
    assert_eq!(before, all[..7]);
    assert!(matches!(
        result,
        Err(maintenance::Error::Open(OpenError::Damaged {
            position: 8,
            ..
        }))
    ));
    assert_eq!(export(0, Some(7)).0, all[..7]);
}

/// Flipped bits in the file are detected, wherever they are, or change nothing that is read.
#[tokio::test]
async fn flipped_bits_in_the_file_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, _) = compacted(folder.path()).await;
    drop(log);
    let file = folder.path().join(FILE);
    let sound = std::fs::read(&file).expect("the file");
    let export = || {
        let mut found = Vec::new();
        let each = |record| {
            found.push(record);
            Ok(())
        };
        let result = maintenance::export(folder.path(), 0, None, each);
        result.map(|()| found)
    };
    let before = export().expect("it is sound");
    let mut named = 0;
    for at in (100..sound.len()).step_by(37) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&file, &damaged).expect("written");
        match maintenance::verify(folder.path()) {
            Err(_) => named += 1,
            Ok(_) => assert_eq!(export().ok().as_ref(), Some(&before), "byte {at}"),
        }
    }
    assert!(named > 0);
}

/// Damaged free pages would break the hub when it uses them: they are reported, and a copy does not contain them.
#[tokio::test]
async fn damage_of_what_is_free_is_named_and_is_not_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    busy(&mut log);
    let positions = (10..210).map(|n| append(&mut log, work(&format!("t{n}"), "worker")));
    let positions = positions.collect();
    let (agent, name) = ("worker".into(), "work".into());
    let handled = Entry::Acknowledged {
        agent,
        name,
        positions,
    };
    let last = append(&mut log, handled);
    safe(&log, last).await;
    keep(&log.upkeep(), &short_lived(), None, &|| false).expect("it is kept");
    damage_free_pages(folder.path(), log);
    let named = maintenance::verify(folder.path()).expect_err("it is damaged");
    assert!(matches!(&named, OpenError::Pages { .. }), "{named}");
    let said = named.to_string();
    assert!(said.to_lowercase().contains("freelist"), "{said}");
    assert!(said.contains("log backup"), "{said}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join(FILE);
    let copied = maintenance::backup(folder.path(), &copy).expect("it is copied");
    assert_eq!(maintenance::verify(elsewhere.path()).ok(), Some(copied));
}

/// Overwrites the first page of the free list.
fn damage_free_pages(folder: &Path, log: SqliteLog) {
    drop(log);
    let file = folder.join(FILE);
    let mut bytes = std::fs::read(&file).expect("the file");
    let at = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four"));
    let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let (trunk, free) = (at(32) as usize, at(36));
    assert!(free > 1, "there are free pages");
    let from = (trunk - 1) * size;
    bytes[from..from + 64].fill(0xee);
    std::fs::write(&file, bytes).expect("written");
}

/// An older copy beside the high-water mark: the error names the remedy, and the remedy works.
#[tokio::test]
async fn an_older_copy_is_refused_until_its_operator_wants_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    append(&mut log, work("before", "worker"));
    drop(log);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join(FILE);
    maintenance::backup(folder.path(), &copy).expect("it is copied");
    let (mut log, _) = open(folder.path()).expect("it opens");
    append(&mut log, work("after", "worker"));
    drop(log);

    std::fs::copy(&copy, folder.path().join(FILE)).expect("restored");
    let refused = open(folder.path())
        .map(|_| ())
        .expect_err("a record is missing");
    let said = refused.to_string();
    let OpenError::Lost {
        last: 1,
        acknowledged: 2,
        marker,
        torn: None,
        ..
    } = refused
    else {
        panic!("{said}");
    };
    assert!(said.contains("older copy"), "{said}");
    assert!(
        said.contains(&format!("remove {}", marker.display())),
        "{said}"
    );
    assert!(maintenance::verify(folder.path()).is_err());
    std::fs::remove_file(marker).expect("as it was said");
    let (_log, state) = open(folder.path()).expect("it opens");
    assert_eq!(state.tasks.len(), 1);
}

/// An unfinished write of a killed hub is reported without damage; if it was acknowledged, it is damage.
#[tokio::test]
async fn an_unfinished_end_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut log, _) = open(folder.path()).expect("it opens");
    let last = append(&mut log, work("t", "worker"));
    safe(&log, last).await;
    let crashed = tempfile::tempdir().expect("a folder");
    let wal = format!("{FILE}-wal");
    for name in [FILE, &wal] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).expect("copied");
    }
    let sound = maintenance::verify(crashed.path()).expect("it is sound");
    assert_eq!((sound.last, sound.torn), (1, None));
    let wal = crashed.path().join(&wal);
    let whole = std::fs::read(&wal).expect("it is there");
    std::fs::write(&wal, &whole[..whole.len() - 1]).expect("cut");
    let cut = maintenance::verify(crashed.path()).expect("it is sound");
    let torn = cut.torn.expect("it is named");
    assert_eq!(
        (cut.last, torn.offset + torn.bytes),
        (0, whole.len() as u64 - 1)
    );

    std::fs::copy(
        folder.path().join("acknowledged"),
        crashed.path().join("acknowledged"),
    )
    .expect("copied");
    let lost = maintenance::verify(crashed.path()).expect_err("it was acknowledged");
    let said = lost.to_string();
    assert!(
        said.contains(&format!("damaged from byte {} on", torn.offset)),
        "{said}"
    );
}
