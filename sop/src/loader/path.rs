//! Files by path: their text, and the names that paths give to agents.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use super::load::format;
use crate::{Fault, Format, Place};

/// The largest file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, Fault> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => leads_nowhere(path),
        io::ErrorKind::NotFound => Fault::error(path, "there is no such file")
            .helped("look at the spelling, and at the folder that you are in"),
        io::ErrorKind::PermissionDenied => {
            Fault::error(path, format!("the file cannot be read: {error}"))
                .helped("allow yourself to read it")
        }
        _ => Fault::error(path, format!("the file cannot be read: {error}")),
    };
    let is_markdown = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    let metadata = path.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Fault::error(path, "this is a folder, and no file").helped("name a file in it"));
    }
    if !metadata.is_file() || !is_markdown {
        return Err(Fault::error(path, "this is no Markdown file")
            .helped("the name of an SOP ends in `.md`, such as `researcher.md`"));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Fault::error(
            path,
            format!("the file has more than {} KiB", MAX_BYTES / 1024),
        )
        .helped(
            "a model has to read all of it; move what is rarely needed into files of their own",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let place = Place {
            line: number(before.matches('\n').count() + 1),
            column: number(before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1),
            length: 1,
        };
        Fault::error(path, "the file is no UTF-8 from here on")
            .placed(place, &String::from_utf8_lossy(error.as_bytes()).into())
            .helped("save it with the encoding UTF-8")
    })
}

/// A link to a file that is not there.
fn leads_nowhere(path: &Path) -> Fault {
    let to = fs::read_link(path).unwrap_or_default();
    Fault::error(path, "the link leads nowhere").helped(format!(
        "it leads to {}, which is not there: make it anew, or remove it",
        to.display()
    ))
}

/// The name that the path gives an agent: that of the file without its ending, or of the skill's folder.
pub(super) fn stem(path: &Path) -> String {
    let whole = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    match format(path) {
        Format::Skill => {
            let folder = path.parent().unwrap_or(Path::new(""));
            match folder.file_name() {
                Some(name) => whole(Some(name)),
                None => whole(folder.canonicalize().unwrap_or_default().file_name()),
            }
        }
        Format::AgentSop => {
            let name = whole(path.file_stem());
            name[..name.len() - ".sop".len()].to_owned()
        }
        Format::Sop => whole(path.file_stem()),
    }
}
