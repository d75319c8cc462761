//! The Go client, built from bench/go. Its messages are generated from this program's descriptors by the usual Go
//! generator, so that no generated code has to be stored.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use agenthub_sdk::proto::FILE_DESCRIPTOR_SET;
use anyhow::{Context as _, bail};
use prost::Message as _;
use prost_types::{
    FileDescriptorSet,
    compiler::{CodeGeneratorRequest, CodeGeneratorResponse},
};
use tokio::{io::AsyncWriteExt as _, process::Command};

use super::super::Stage;

/// The module's files in the repository.
const FILES: [(&str, &str); 3] = [
    ("go.mod", include_str!("../../../../go/go.mod")),
    ("go.sum", include_str!("../../../../go/go.sum")),
    ("main.go", include_str!("../../../../go/main.go")),
];

/// Name of the module.
const MODULE: &str = "agenthub-bench";

/// Prefix of packages that are not part of the hub's API.
const NOT_OURS: &str = "google/";

/// Builds the client. `None` without Go.
pub(super) async fn client(stage: &Stage) -> anyhow::Result<Option<PathBuf>> {
    let Some(go) = &stage.programs.go else {
        eprintln!("Go is not installed here: the rows of its client are left out");
        return Ok(None);
    };
    let folder = stage.folder.path().join("go");
    fs::create_dir(&folder)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    eprintln!("building the Go client, which takes a minute where that was never done");
    let answer = run(go, &["tool", "protoc-gen-go"], &folder, request()?).await?;
    let answer = CodeGeneratorResponse::decode(&*answer)?;
    if let Some(error) = &answer.error {
        bail!("no messages for Go: {error}");
    }
    for file in &answer.file {
        let path = folder.join(file.name());
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, file.content())?;
    }
    let program = folder.join("client");
    let build = [OsStr::new("build"), OsStr::new("-o"), program.as_os_str()];
    run(go, &build, &folder, Vec::new()).await?;
    Ok(Some(program))
}

/// The generator's request: a package for each package of the hub, in the folder `wire`.
fn request() -> anyhow::Result<Vec<u8>> {
    let descriptors = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    let ours = descriptors.file.iter();
    let ours = ours.filter(|file| !file.name().starts_with(NOT_OURS));
    let mut parameter = format!("module={MODULE}");
    let mut file_to_generate = Vec::new();
    for file in ours {
        let (name, package) = (file.name(), file.package());
        parameter += &format!(",M{name}={MODULE}/wire/{package}");
        file_to_generate.push(name.to_owned());
    }
    let request = CodeGeneratorRequest {
        file_to_generate,
        parameter: Some(parameter),
        proto_file: descriptors.file,
        ..CodeGeneratorRequest::default()
    };
    Ok(request.encode_to_vec())
}

/// Runs Go in the folder, with this input. Returns its output.
async fn run(
    go: &Path,
    arguments: &[impl AsRef<OsStr>],
    folder: &Path,
    input: Vec<u8>,
) -> anyhow::Result<Vec<u8>> {
    let mut running = Command::new(go)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("starting {}", go.display()))?;
    let mut stdin = running.stdin.take().context("its input is a pipe")?;
    let writing = async move { stdin.write_all(&input).await };
    let (written, output) = tokio::join!(writing, running.wait_with_output());
    let output = output?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ends with {}: {}",
            go.display(),
            output.status,
            said.trim()
        );
    }
    written.context("what it was to read")?;
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_made_of_every_file_of_the_hub_and_of_no_other() {
        let request = CodeGeneratorRequest::decode(&*request().expect("descriptors"));
        let request = request.expect("a request");
        let files = &request.file_to_generate;
        assert!(files.iter().any(|file| file == "proto/eventbus.proto"));
        assert!(
            files.iter().all(|file| file.starts_with("proto/")),
            "{files:?}"
        );
        let parameter = request.parameter();
        assert!(parameter.contains("Mproto/a2a_core.proto=agenthub-bench/wire/a2a"));
        // A generator gets the imported files, too.
        let struct_of = "google/protobuf/struct.proto";
        assert!(
            request
                .proto_file
                .iter()
                .any(|file| file.name() == struct_of)
        );
    }
}
