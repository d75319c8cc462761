use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::*;
use crate::audit::{
    line::Entry,
    trail::{AuditSettings, Trail},
};

struct Written {
    folder: tempfile::TempDir,
    settings: AuditSettings,
}

impl Written {
    /// An audit of so many lines, in files of 4 KiB.
    fn of(count: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = AuditSettings {
            bytes: 64 * 4096,
            ..AuditSettings::in_folder(folder.path())
        };
        let written = Self { folder, settings };
        written.add(count);
        written
    }

    /// Appends lines, one by one, as another process.
    fn add(&self, count: u64) {
        let mut trail = Trail::new(self.settings.clone());
        for at in 0..count {
            let entry = Entry::of_audit("call", format!("r{at}"), "a rule");
            let appended = trail.append(&[(entry, 1)], SystemTime::now());
            appended.expect("it is written");
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = TrailFile::all(&self.settings.folder).expect("files");
        files.into_iter().map(|file| file.path).collect()
    }

    fn verify(&self) -> Result<Report, String> {
        self.verify_with(None)
    }

    fn verify_with(&self, known_head: Option<KnownHead>) -> Result<Report, String> {
        verify(&self.folder.path().join("audit"), known_head).map_err(|error| error.to_string())
    }

    /// Changes the lines of a file, and checks what is said of it.
    fn tampered(&self, file: usize, change: impl FnOnce(&mut Vec<String>), said: &str) {
        let path = &self.files()[file];
        let before = fs::read_to_string(path).expect("text");
        let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(path, lines.join("\n") + "\n").expect("it is written");
        let error = self.verify().expect_err(said);
        assert!(error.contains(said), "{error}");
        fs::write(path, before).expect("it is written");
        self.verify().expect("it is as before");
    }
}

#[test]
fn lines_of_several_files_and_processes_are_one_chain() {
    let written = Written::of(40);
    written.add(3);
    let report = written.verify().expect("unbroken");
    assert!(report.files > 2, "{report:?}");
    assert_eq!(report.head.map(|(line, _)| line), Some(43));
    assert_eq!((report.first, report.cut_off.len()), (1, 0));
    #[cfg(unix)]
    for file in written.files() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(file)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "only the owner reads it");
    }
}

/// Issue 25: edit, delete, insert, reorder, a file that is gone.
#[test]
fn each_kind_of_tampering_is_found_and_named() {
    let written = Written::of(40);
    written.tampered(
        0,
        |lines| lines[2] = lines[2].replace("r2", "r9"),
        "jsonl:4: it does not follow the line before",
    );
    written.tampered(
        0,
        |lines| drop(lines.remove(2)),
        "jsonl:3: the line says that it is number 4",
    );
    written.tampered(
        0,
        |lines| lines.insert(2, lines[1].clone()),
        "jsonl:3: the line says that it is number 2",
    );
    written.tampered(
        0,
        |lines| lines.swap(2, 3),
        "jsonl:3: the line says that it is number 4",
    );
    written.tampered(
        0,
        |lines| lines[2] = "x".to_owned(),
        "jsonl:3: that is no line of an audit",
    );
    written.tampered(0, |lines| drop(lines.pop()), "a file before");
    // An edit whose hash is entered into the next line is found in the line after that.
    let forge = |lines: &mut Vec<String>| {
        let before = Digest::of(lines[2].as_bytes()).to_string();
        lines[2] = lines[2].replace("r2", "r9");
        let after = Digest::of(lines[2].as_bytes()).to_string();
        lines[3] = lines[3].replace(&before, &after);
    };
    written.tampered(0, forge, "jsonl:5: it does not follow the line before");
    let files = written.files();
    let aside = files[1].with_extension("aside");
    fs::rename(&files[1], &aside).expect("it is renamed");
    let error = written.verify().expect_err("a file is gone");
    assert!(error.contains("are missing: a file before"), "{error}");
    fs::rename(&aside, &files[1]).expect("it is renamed");
    fs::remove_file(&files[0]).expect("it is removed");
    let error = written.verify().expect_err("the first file is gone");
    assert!(
        error.contains("no line says that they were removed"),
        "{error}"
    );
}

/// Issue 25: an audit whose newest lines, file or files are gone is not unbroken.
#[test]
fn the_head_shows_that_the_newest_lines_are_gone_also_after_a_restart() {
    type Loses = fn(&[PathBuf]);
    let last = |files: &[PathBuf]| files.last().expect("files").clone();
    let cut: Loses = |files| {
        let text = fs::read_to_string(&files[files.len() - 1]).expect("text");
        let kept = text.lines().next().expect("a line");
        fs::write(&files[files.len() - 1], format!("{kept}\n")).expect("it is written");
    };
    let emptied: Loses = |files| fs::write(&files[files.len() - 1], "").expect("written");
    let deleted: Loses = |files| fs::remove_file(&files[files.len() - 1]).expect("removed");
    let all: Loses = |files| {
        files
            .iter()
            .for_each(|file| fs::remove_file(file).expect("gone"))
    };
    for lose in [cut, emptied, deleted, all] {
        let written = Written::of(40);
        let (_, digest) = written.verify().expect("unbroken").head.expect("lines");
        let kept = Head::read(&written.settings.folder)
            .expect("it reads")
            .expect("a head");
        assert_eq!((kept.line, kept.digest), (40, digest));
        assert!(last(&written.files()).exists());
        lose(&written.files());
        let said = "to 40 are missing: the head that is kept beside them";
        let error = written.verify().expect_err("lines are gone");
        assert!(error.contains(said), "{error}");
        // A writer that begins then does not hide it.
        written.add(3);
        let error = written.verify().expect_err("lines are gone");
        assert!(
            error.contains("are missing") && error.contains("to 40"),
            "{error}"
        );
    }
}

/// Issue 25: lines that were written anew do not follow the head, and writers do not make it follow them.
#[test]
fn a_head_that_is_no_line_stays_and_tells() {
    let (written, others) = (Written::of(5), Written::of(6));
    let text = fs::read(&others.files()[0]).expect("bytes");
    fs::write(&written.files()[0], text).expect("it is written");
    let said = "line 5 has another hash than the head";
    assert!(written.verify().expect_err("others").contains(said));
    written.add(2);
    assert!(written.verify().expect_err("others").contains(said));
    let head = written.settings.folder.join("head");
    fs::write(&head, "5:x\n").expect("it is written");
    let error = written.verify().expect_err("no head");
    assert!(error.contains("the file `head`"), "{error}");
    written.add(1);
    assert_eq!(fs::read(&head).expect("bytes"), b"5:x\n");
}

/// Issue 25: once whoever looks into it has taken a bad head away, writers that ran all the time keep one again.
#[test]
fn a_head_is_kept_again_beside_a_writer_once_a_bad_one_is_removed() {
    let written = Written::of(0);
    let head = written.settings.folder.join("head");
    let mut trail = Trail::new(written.settings.clone());
    let mut add = || {
        let entry = Entry::of_audit("call", String::new(), "");
        let added = trail.append(&[(entry, 1)], SystemTime::now());
        added.expect("it is written");
        fs::read_to_string(&head).ok()
    };
    let line_of = |head: Option<String>| {
        let head = head.expect("a head");
        head.split(':').next().and_then(|line| line.parse().ok())
    };
    assert_eq!(line_of(add()), Some(1));
    let mut last = 1;
    let cut = |path: &PathBuf| {
        let text = fs::read(path).expect("bytes");
        fs::write(path, &text[..text.len() - 30]).expect("it is written");
    };
    for is_cut in [false, true] {
        fs::write(&head, "1:x\n").expect("it is written");
        // Another process writes, so that the files are read again.
        written.add(1);
        assert_eq!(add().as_deref(), Some("1:x\n"));
        fs::remove_file(&head).expect("it is there");
        if is_cut {
            cut(&written.files()[0]);
        }
        // After a line that was cut off, one says so; another one says that no head was there.
        last += 4 + u64::from(is_cut);
        assert_eq!(line_of(add()), Some(last), "is cut: {is_cut}");
        let report = written.verify().expect("unbroken");
        assert_eq!(report.checked_head, Some(last), "is cut: {is_cut}");
        assert_eq!(report.head_begun, Some(last - 1), "is cut: {is_cut}");
    }
}

/// Issue 25: a head behind which there is no number is none.
#[test]
fn a_head_of_the_last_number_stops_no_writer() {
    let written = Written::of(2);
    let head = written.settings.folder.join("head");
    let text = format!("{}:{}\n", u64::MAX, Digest::ZERO);
    fs::write(&head, &text).expect("it is written");
    written.add(2);
    assert_eq!(fs::read_to_string(&head).expect("text"), text);
    let error = written.verify().expect_err("no head");
    assert!(error.contains("the file `head`"), "{error}");
}

/// Issue 25: a crash between the lines and the head is no tampering.
#[test]
fn a_crash_between_the_lines_and_the_head_is_no_tampering() {
    let written = Written::of(5);
    let head = written.settings.folder.join("head");
    let older = fs::read(&head).expect("bytes");
    written.add(2);
    fs::write(&head, older).expect("it is written");
    let report = written.verify().expect("no tampering");
    assert_eq!(
        (report.checked_head, report.head.map(|(line, _)| line)),
        (Some(5), Some(7))
    );
    // And in the middle of the next line.
    let path = &written.files()[0];
    let text = fs::read(path).expect("bytes");
    fs::write(path, &text[..text.len() - 30]).expect("it is written");
    assert_eq!(
        written.verify().expect("no tampering").checked_head,
        Some(5)
    );
    written.add(1);
    let report = written.verify().expect("no tampering");
    assert_eq!(
        (report.checked_head, &report.cut_off[..]),
        (Some(9), &[7][..])
    );
    // Before there ever was one, as an older hub has left it.
    fs::remove_file(&head).expect("it is there");
    assert_eq!(written.verify().expect("no tampering").checked_head, None);
    written.add(1);
    assert_eq!(
        written.verify().expect("no tampering").checked_head,
        Some(11)
    );
}

/// Issue 25: who takes the head and the newest lines away has the audit say that there was none.
#[test]
fn a_head_that_is_begun_again_vouches_for_nothing_before_it() {
    let written = Written::of(5);
    assert_eq!(written.verify().expect("unbroken").head_begun, None);
    let path = &written.files()[0];
    let text = fs::read_to_string(path).expect("text");
    let first: Vec<&str> = text.split_inclusive('\n').take(3).collect();
    fs::write(path, first.concat()).expect("it is written");
    fs::remove_file(written.settings.folder.join("head")).expect("it is there");
    written.add(1);
    let report = written.verify().expect("a chain");
    assert_eq!((report.head_begun, report.checked_head), (Some(4), Some(5)));
}

/// Issue 25: neither chain nor head show that all was written anew; a hash that was kept elsewhere can.
#[test]
fn a_known_head_shows_that_newest_lines_are_gone_or_all_were_written_again() {
    let written = Written::of(5);
    let head = written.verify().expect("unbroken").head.expect("lines");
    let known_head = KnownHead {
        line: None,
        digest: head.1,
    };
    written.add(2);
    let report = written.verify_with(Some(known_head)).expect("it is there");
    assert_eq!(report.known_head, Some(5));
    let path = &written.files()[0];
    let text = fs::read_to_string(path).expect("text");
    let kept: Vec<&str> = text.lines().take(4).collect();
    fs::write(path, kept.join("\n") + "\n").expect("it is written");
    fs::remove_file(written.settings.folder.join("head")).expect("it is there");
    written.verify().expect("the chain cannot show it");
    let error = written
        .verify_with(Some(known_head))
        .expect_err("line 5 is gone");
    assert!(error.contains("no line has the hash"), "{error}");
    let again = Written::of(6);
    let known_head = format!("5:{}", head.1).parse().expect("a head");
    let error = again.verify_with(Some(known_head)).expect_err("others");
    assert!(error.contains("line 5 has another hash"), "{error}");
}

/// Issue 25: a crash in the middle of writing is told apart from tampering.
#[test]
fn a_line_that_a_crash_cut_off_is_no_tampering_and_stays_to_be_seen() {
    let written = Written::of(4);
    let head = written.settings.folder.join("head");
    let before = fs::read(&head).expect("bytes");
    written.add(1);
    let path = &written.files()[0];
    // The head names no line that is not on the disk.
    fs::write(&head, before).expect("it is written");
    let text = fs::read(path).expect("bytes");
    fs::write(path, &text[..text.len() - 30]).expect("it is written");
    let report = written.verify().expect("no tampering");
    assert!(report.is_unfinished);
    written.add(2);
    let report = written.verify().expect("no tampering");
    assert!(!report.is_unfinished);
    assert_eq!(report.cut_off, [5]);
    assert_eq!(report.head.map(|(line, _)| line), Some(8));
    // The same in the middle of older lines is tampering.
    written.tampered(0, |lines| lines[1].truncate(20), "jsonl:2: that is no line");
}

#[test]
fn lines_that_are_gone_while_a_writer_runs_leave_a_gap() {
    let written = Written::of(0);
    let mut trail = Trail::new(written.settings.clone());
    let mut add = || {
        let entry = Entry::of_audit("call", String::new(), "");
        let added = trail.append(&[(entry, 1)], SystemTime::now());
        added.expect("it is written");
    };
    add();
    add();
    fs::remove_file(&written.files()[0]).expect("it is removed");
    add();
    let error = written.verify().expect_err("two lines are gone");
    assert!(error.contains("lines 1 to 2 are missing"), "{error}");
}

#[test]
fn old_files_are_removed_and_a_line_says_so() {
    let mut written = Written::of(60);
    let before = written.files().len();
    written.settings.bytes = 3 * 4096;
    written.add(20);
    let report = written.verify().expect("that is no tampering");
    assert!(report.first > 1 && report.files < before, "{report:?}");
    // Everything is too old.
    written.settings.age = Duration::ZERO;
    std::thread::sleep(Duration::from_millis(20));
    written.add(20);
    let later = written.verify().expect("that is no tampering");
    assert!(later.first > report.first, "{later:?}");
    assert!(later.files <= 2, "{later:?}");
}

#[test]
fn no_audit_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = verify(folder.path(), None).expect_err("none").to_string();
    assert!(error.contains("there is no audit in"), "{error}");
}
