//! Files that go with what the user says next, within the bounds that a request has.

use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
};

use agenthub_proto::{
    a2a::{FilePart, Part, file_part, part},
    files::{MAX_FILE_BYTES, MAX_FILES, bounds},
};
use agenthub_terminal::output::plain;
use anyhow::{Context, bail, ensure};
use tokio::task::spawn_blocking;

/// Media types of files, by what is in them.
const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

/// The files.
#[derive(Clone, Debug, Default)]
pub(super) struct Attached(Vec<File>);

#[derive(Clone, Debug, PartialEq)]
struct File {
    name: String,
    content: Vec<u8>,
}

impl Attached {
    /// Reads a file, to go with what is said next, and says what goes then. Without a path it says so alone.
    ///
    /// # Errors
    ///
    /// It is no file that can be read, or more than a request takes.
    pub(super) async fn attach(&mut self, path: &str) -> anyhow::Result<String> {
        if path.is_empty() {
            return Ok(self.told());
        }
        let path = path_of(path, env::var_os("HOME").map(PathBuf::from));
        let room = MAX_FILE_BYTES - self.bytes();
        let reading = path.clone();
        let content = spawn_blocking(move || read(&reading, room)).await?;
        let content = content.with_context(|| format!("{} is not attached", path.display()))?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        self.put(File {
            name: name.to_string_lossy().into_owned(),
            content,
        })?;
        Ok(self.told())
    }

    fn put(&mut self, file: File) -> anyhow::Result<()> {
        ensure!(self.0.len() < MAX_FILES, "{}", beyond());
        ensure!(
            self.bytes() + file.content.len() <= MAX_FILE_BYTES,
            "{}",
            beyond()
        );
        self.0.push(file);
        Ok(())
    }

    /// Leaves all files out, and says so.
    pub(super) fn detach(&mut self) -> String {
        match std::mem::take(&mut self.0).len() {
            0 => "no file is attached".to_owned(),
            1 => "the file is left out".to_owned(),
            n => format!("{n} files are left out"),
        }
    }

    /// Takes the files, as parts of a message.
    pub(super) fn take(&mut self) -> Vec<Part> {
        let files = std::mem::take(&mut self.0);
        files.into_iter().map(File::into_part).collect()
    }

    /// Has files go with what is said next, as what they went with failed, and says so; not if there are none, or others by now.
    pub(super) fn put_back(&mut self, files: Self) -> Option<String> {
        if files.0.is_empty() || !self.0.is_empty() {
            return None;
        }
        *self = files;
        Some(self.told())
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|file| file.content.len()).sum()
    }

    fn told(&self) -> String {
        if self.0.is_empty() {
            return format!("no file is attached: /attach PATH adds one. {}", bounds());
        }
        let named = self.0.iter().map(|file| {
            let (name, bytes) = (plain(&file.name), file.content.len());
            format!("{name} ({bytes} bytes)")
        });
        let named: Vec<String> = named.collect();
        format!(
            "goes with what you say next: {}; /detach leaves them out",
            named.join(", ")
        )
    }
}

impl File {
    fn into_part(self) -> Part {
        let is_text = !self.content.contains(&0) && std::str::from_utf8(&self.content).is_ok();
        let file = FilePart {
            mime_type: if is_text { TEXT } else { BYTES }.to_owned(),
            name: self.name,
            file: Some(file_part::File::FileWithBytes(self.content)),
        };
        Part {
            part: Some(part::Part::File(file)),
            ..Part::default()
        }
    }
}

fn beyond() -> String {
    format!(
        "{} Send what is attached, or /detach and attach fewer or smaller ones.",
        bounds()
    )
}

/// The path that somebody wrote, or dropped on the terminal: within quotation marks, or with `~` for the home folder.
fn path_of(written: &str, home: Option<PathBuf>) -> PathBuf {
    let quoted = ['"', '\''].into_iter().find_map(|mark| {
        let inner = written.strip_prefix(mark)?.strip_suffix(mark)?;
        Some(PathBuf::from(inner))
    });
    match (quoted, written.strip_prefix("~/").zip(home)) {
        (Some(quoted), _) => quoted,
        (None, Some((rest, home))) => home.join(rest),
        (None, None) => PathBuf::from(written),
    }
}

/// The content of a file that is no larger than the room.
fn read(path: &Path, room: usize) -> anyhow::Result<Vec<u8>> {
    let about = path.metadata()?;
    if !about.is_file() {
        bail!("it is no file");
    }
    let mut content = Vec::new();
    // It may grow while it is read.
    let most = room as u64 + 1;
    std::fs::File::open(path)?
        .take(most)
        .read_to_end(&mut content)?;
    ensure!(content.len() <= room, "{}", beyond());
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: usize) -> File {
        File {
            name: name.to_owned(),
            content: vec![b'x'; bytes],
        }
    }

    /// Issue 26, chat: as many files of the same size go along as on the page.
    #[test]
    fn files_are_taken_within_the_bounds_of_a_request() {
        let mut attached = Attached::default();
        for n in 0..MAX_FILES {
            attached
                .put(file(&n.to_string(), 1))
                .expect("there is room");
        }
        let many = attached
            .put(file("more", 1))
            .expect_err("it is one too many");
        assert!(
            many.to_string().contains("At most 8 files, 640 KiB"),
            "{many}"
        );
        let mut attached = Attached::default();
        attached
            .put(file("a", MAX_FILE_BYTES - 1))
            .expect("it fits");
        assert!(attached.put(file("b", 2)).is_err());
        attached.put(file("b", 1)).expect("it fits");
        assert_eq!((attached.take().len(), attached.take().len()), (2, 0));
    }

    #[test]
    fn files_of_what_failed_go_with_what_is_said_next_unless_others_do() {
        let mut attached = Attached::default();
        attached.put(file("plan", 1)).expect("there is room");
        let went = attached.clone();
        attached.take();
        let told = attached.put_back(went.clone()).expect("they are back");
        assert!(told.contains("plan (1 bytes)"), "{told}");
        assert_eq!(attached.put_back(went), None);
        assert_eq!(attached.take().len(), 1);
        assert_eq!(attached.put_back(Attached::default()), None);
    }

    #[tokio::test]
    async fn a_file_is_read_and_goes_with_its_name_and_its_kind() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(at("a note.txt"), "hi").expect("the folder is ours");
        std::fs::write(at("raw"), [0, 1]).expect("the folder is ours");
        std::fs::write(at("large"), vec![0; MAX_FILE_BYTES + 1]).expect("the folder is ours");
        let mut attached = Attached::default();
        let told = attached
            .attach(&at("a note.txt"))
            .await
            .expect("it is read");
        assert!(told.contains("a note.txt (2 bytes)"), "{told}");
        let quoted = format!("\"{}\"", at("raw"));
        attached.attach(&quoted).await.expect("it is read");
        for (path, why) in [
            (at("none"), "No such file"),
            (dir.path().display().to_string(), "it is no file"),
            (at("large"), "640 KiB"),
        ] {
            let refused = attached.attach(&path).await.expect_err("it is refused");
            let refused = format!("{refused:#}");
            assert!(
                refused.contains(&path) && refused.contains(why),
                "{refused}"
            );
        }
        let parts = attached.take();
        let files: Vec<(&str, &str)> = parts
            .iter()
            .filter_map(Part::as_file)
            .map(|file| (&*file.name, &*file.mime_type))
            .collect();
        assert_eq!(files, [("a note.txt", TEXT), ("raw", BYTES)]);
        assert_eq!(attached.detach(), "no file is attached");
        assert!(
            attached
                .attach("")
                .await
                .expect("it is told")
                .contains("At most 8")
        );
    }

    #[test]
    fn a_path_may_be_quoted_or_begin_in_the_home_folder() {
        let home = Some(PathBuf::from("/home/ann"));
        for (written, path) in [
            ("a.txt", "a.txt"),
            ("~/a b.txt", "/home/ann/a b.txt"),
            ("'/tmp/a b'", "/tmp/a b"),
            ("\"~/x\"", "~/x"),
            ("it's", "it's"),
        ] {
            assert_eq!(path_of(written, home.clone()), PathBuf::from(path));
        }
    }
}
