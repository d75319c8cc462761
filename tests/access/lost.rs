//! Identities that are lost: a hub that knew who calls lets nobody in without them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Guarded, WHO_AM_I, call};
use crate::harness::{System, eventually, free_address};
use tonic::Code;

fn tokens(system: &System) -> PathBuf {
    system.folder().join(".agenthub/access/tokens.json")
}

/// Puts a text in the place of a file at once, so that nobody reads a part of it.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("beside");
    fs::write(&beside, text).expect("it is written");
    fs::rename(&beside, file).expect("it is renamed");
}

/// Issue 25: a file of tokens that is gone, emptied or half written beside a running hub changes nothing, and is told in its log.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_hub_keeps_its_identities_when_their_file_is_lost() {
    let guarded = Guarded::start("broker");
    let (token, _) = guarded.issue(&["ann", "--role", "user"]);
    let channel = guarded.channel().await;
    let file = tokens(&guarded.system);
    let text = fs::read_to_string(&file).expect("it is there");
    for (broken, said) in [
        (None, "tokens.json is gone"),
        (Some(""), "it ends too early"),
        (Some(&text[..text.len() / 2]), "it ends too early"),
    ] {
        // A case before may have been told in the same words.
        let times_said = || guarded.up.said().matches(said).count();
        let before = times_said();
        match broken {
            None => fs::remove_file(&file).expect("it is there"),
            Some(part) => replace(&file, part),
        }
        tokio::task::block_in_place(|| {
            eventually(said, || (times_said() > before).then_some(()));
        });
        let code = call(&channel, WHO_AM_I, Some(&token)).await;
        assert_eq!(code, Code::Ok, "{said}");
        let code = call(&channel, WHO_AM_I, None).await;
        assert_eq!(code, Code::Unauthenticated, "{said}");
        replace(&file, &text);
    }
}

/// Issue 25: a hub that has lost its identities does not start, and says what to do.
#[test]
fn a_hub_without_the_identities_that_it_had_does_not_start() {
    let system = System::bare(free_address());
    let serve = [
        "broker",
        "--json",
        "--grpc",
        system.grpc(),
        "--http",
        "127.0.0.1:0",
    ];
    let issue = ["tokens", "issue", "ann", "--role", "user", "--json"];
    system.json(&issue);
    let file = tokens(&system);
    let text = fs::read_to_string(&file).expect("it is there");
    for (broken, said) in [
        (None, "though tokens were issued: put a copy of it back"),
        (Some(""), "it ends too early"),
        (Some("{\"tokens\": []}"), "remove "),
    ] {
        match broken {
            None => fs::remove_file(&file).expect("it is there"),
            Some(part) => fs::write(&file, part).expect("it is written"),
        }
        let refused = system.run(&serve, "");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(said), "{refused:?}");
        fs::write(&file, &text).expect("it is written");
    }
    fs::remove_dir_all(file.parent().expect("a folder")).expect("it is there");
    let refused = system.run(&serve, "");
    assert_eq!(refused.code, Some(1), "without the folder: {refused:?}");
    assert!(
        refused.stderr.contains("put a copy of it back"),
        "{refused:?}"
    );
    // What it says to do helps.
    system.json(&issue);
    let hub = system.start(&serve);
    hub.line("the banner");
}
