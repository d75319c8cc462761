//! The keys of certificates.

use std::fs;

use super::planted::{Canary, middle, stay_home};
use crate::harness::{
    Process, System,
    certificates::{CLIENT_CA, SERVER, WRITER},
    free_address,
};

const TRACE: [&str; 2] = ["--log", "trace"];

/// Over connections that are taken and refused.
#[test]
fn keys_of_certificates_are_found_in_their_files_alone() {
    let system = System::bare(free_address());
    let (grpc, http) = (system.grpc().to_owned(), free_address());
    let policy = "[access.principals.writer]\nroles = ['admin']\n";
    fs::write(system.folder().join("agenthub.toml"), policy).expect("it is written");
    let made = system.make_certificates();
    let args = [&system.up_at(&http)[..], &TRACE, &SERVER, &CLIENT_CA].concat();
    let up = Process::start(system.folder(), "", &args);
    up.line("the banner");
    let url = format!("https://{grpc}");
    let mut said = format!("{made:?}");
    let list = &["agents", "list"][..];
    let publish = &["publish", "--to", "agent_echo", "--wait", "hi"];
    let foreign_key = [&WRITER[..5], &["certs/server.key"]].concat();
    for (args, tls, code) in [
        (list, &WRITER[..], 0),
        (publish, &WRITER, 0),
        // Without a certificate, with a key that is not its own, and with a key for a CA.
        (list, &WRITER[..2], 1),
        (list, &foreign_key, 1),
        (list, &["--ca", "certs/server.key"], 1),
    ] {
        let args = [args, tls, &TRACE].concat();
        let done = Process::start(system.folder(), &url, &args).finish("");
        assert_eq!(done.code, Some(code), "{args:?}: {done:?}");
        said += &format!("{done:?}");
    }
    said += &up.said();
    assert!(said.contains("TRACE"), "everything is logged");
    let key = |file: &str| {
        let text = fs::read_to_string(system.folder().join("certs").join(file)).expect("a key");
        middle(&text)
    };
    let canaries = [
        Canary::new(key("server.key"), &["server.key"]),
        Canary::new(key("writer.key"), &["writer.key"]),
    ];
    stay_home(&canaries, &said, system.folder());
}
