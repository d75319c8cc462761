//! The tool with which an agent reads the files of its skill.

use std::{fs::File, io::Read, path::Path, sync::Arc};

use agenthub_sdk::{Failure, Tool, ToolContext};
use serde_json::{Value, json};

use crate::Definition;

/// The longest text that is given of a file, in bytes.
const MAX_TEXT: u64 = 64 * 1024;

/// The tool; none where there are no files.
pub(super) fn tool(definition: &Arc<Definition>) -> Option<Tool> {
    if definition.files.is_empty() {
        return None;
    }
    let paths: Vec<String> = definition
        .files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "enum": paths, "description": "The file"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let definition = Arc::clone(definition);
    let read = move |_: ToolContext, input: Value| {
        let definition = Arc::clone(&definition);
        async move {
            let reading = tokio::task::spawn_blocking(move || {
                let path = input["path"].as_str().unwrap_or_default();
                read(&definition, path)
            });
            match reading.await {
                Ok(text) => text.map_err(Failure::failed),
                Err(_) => Err(Failure::failed("the file could not be read")),
            }
        }
    };
    Some(Tool::new(
        "read_file",
        "Reads a file that belongs to your instructions",
        schema,
        read,
    ))
}

/// The text of a file of the skill's folder.
fn read(definition: &Definition, path: &str) -> Result<String, String> {
    let path = Path::new(path);
    if !definition.files.iter().any(|file| file == path) {
        return Err(format!(
            "{} is none of the files of these instructions",
            path.display()
        ));
    }
    let problem = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let folder = definition.path.parent().unwrap_or(Path::new(""));
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let folder = folder.canonicalize().map_err(problem)?;
    let file = folder.join(path).canonicalize().map_err(problem)?;
    if !file.starts_with(&folder) {
        return Err(format!(
            "{} leads out of the folder of these instructions",
            path.display()
        ));
    }
    if !file.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    let mut bytes = Vec::new();
    File::open(&file)
        .and_then(|file| file.take(MAX_TEXT + 1).read_to_end(&mut bytes))
        .map_err(problem)?;
    let is_cut = bytes.len() as u64 > MAX_TEXT;
    bytes.truncate(MAX_TEXT as usize);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The cut may have gone through a character.
        Err(error) if is_cut && error.utf8_error().valid_up_to() + 4 > MAX_TEXT as usize => {
            String::from_utf8_lossy(error.as_bytes())
                .trim_end_matches('\u{fffd}')
                .to_owned()
        }
        Err(_) => return Err(format!("{} is no text", path.display())),
    };
    Ok(match is_cut {
        true => format!("{text}\n[the rest of the file is left out]"),
        false => text,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;
    use crate::{Format, Kind};

    fn skill(folder: &Path, files: &[&str]) -> Definition {
        Definition {
            name: "a".to_owned(),
            description: String::new(),
            version: None,
            kind: Kind::Agent,
            tools: Vec::new(),
            schema: json!({}),
            body: String::new(),
            rules: Vec::new(),
            path: folder.join("SKILL.md"),
            format: Format::Skill,
            model: None,
            temperature: None,
            turns: None,
            error_mode: None,
            files: files.iter().map(PathBuf::from).collect(),
            digest: String::new(),
        }
    }

    #[test]
    fn only_listed_texts_within_the_folder_are_read_and_long_ones_are_cut() {
        let outside = tempfile::NamedTempFile::new().expect("a temporary file");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path();
        fs::write(at.join("a.md"), "hello").expect("a file");
        fs::write(at.join("b.md"), "not listed").expect("a file");
        fs::write(at.join("c.bin"), [0xff, 0xfe, 0x00]).expect("a file");
        fs::write(at.join("d.md"), "ä".repeat(MAX_TEXT as usize)).expect("a file");
        fs::write(at.join("e.md"), format!("x{}", "ä".repeat(40_000))).expect("a file");
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.path(), at.join("f.md")).expect("a link");
        let skill = skill(at, &["a.md", "c.bin", "d.md", "e.md", "f.md", "gone.md"]);
        let read = |path| read(&skill, path);
        assert_eq!(read("a.md").as_deref(), Ok("hello"));
        for (path, part) in [
            ("b.md", "none of the files"),
            ("../a.md", "none of the files"),
            ("c.bin", "no text"),
            ("gone.md", "cannot be read"),
            #[cfg(unix)]
            ("f.md", "leads out"),
        ] {
            let error = read(path).expect_err(path);
            assert!(error.contains(part), "{path}: {error}");
        }
        for path in ["d.md", "e.md"] {
            let text = read(path).expect("it is text");
            assert!(text.ends_with("left out]"), "{path}");
            assert!(text.len() < MAX_TEXT as usize + 100, "{path}");
            assert!(!text.contains('\u{fffd}'), "{path}");
        }
        assert!(tool(&Arc::new(skill.clone())).is_some());
        let bare = Definition {
            files: Vec::new(),
            ..skill.clone()
        };
        assert!(tool(&Arc::new(bare)).is_none());
    }
}
