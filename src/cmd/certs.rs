//! `agenthub certs`

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use agenthub_terminal::{calls, output};
use anyhow::{Context as _, bail};

use crate::{
    certs::{Ca, Pair, file_name},
    cli::{Certs, DevCerts},
};

/// The client whose certificate is made if none is named.
const CLIENT: &str = "client";

/// Makes certificates.
pub(super) fn run(args: &Certs) -> anyhow::Result<()> {
    let Certs::Dev(args) = args;
    let made = dev(args)?;
    let folder = args.folder.display();
    for name in &made {
        output::line(format!(
            "{folder}/{name}.pem and its key, {folder}/{name}.key"
        ))?;
    }
    let program = calls::program();
    let client = match args.client.first() {
        Some(client) => file_name(client),
        None => CLIENT.to_owned(),
    };
    let host = args.host.first().map_or("localhost", String::as_str);
    output::line(format!(
        "
A hub with TLS, for clients that show a certificate of this CA (what they may do is in agenthub.toml, such as
[access.principals.{client}] with roles = [\"admin\"]):
  {program} up --grpc 0.0.0.0:50051 --http 0.0.0.0:8080 --tls-cert {folder}/server.pem --tls-key {folder}/server.key --client-ca {folder}/ca.pem --require-client-cert

Calls of it, from a machine that has ca.pem, {client}.pem and {client}.key:
  {program} context add dev --hub https://{host}:50051 --ca {folder}/ca.pem --cert {folder}/{client}.pem --key {folder}/{client}.key --use
  {program} agents list

A certificate of a further client:
  {program} certs dev {folder} --client NAME

Whoever has ca.key can be any client: keep it to yourself, and use a CA of your own for anything but trying."
    ))?;
    Ok(())
}

/// Makes the files; returns their names, without what follows the dot.
fn dev(args: &DevCerts) -> anyhow::Result<Vec<String>> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let is_there = |name: &str| place(folder, name, "pem").exists();
    let is_first = !is_there("ca");
    let clients = match args.client.is_empty() && (is_first || args.force) {
        true => vec![CLIENT.to_owned()],
        false => args.client.clone(),
    };
    let is_server = is_first || !args.host.is_empty() || args.force || !is_there("server");
    let server = is_server.then(|| "server".to_owned());
    let mut made: Vec<String> = server.into_iter().collect();
    made.extend(clients.iter().map(|client| file_name(client)));
    if made.is_empty() {
        bail!(
            "{} has a CA and a server certificate already: name a client with --client, or replace the certificates with --force",
            folder.display()
        );
    }
    if let Some(name) = made.iter().find(|name| is_there(name) && !args.force) {
        bail!(
            "{} is there already: replace it with --force, or choose another name or folder",
            place(folder, name, "pem").display()
        );
    }
    let ca = match is_first {
        true => {
            let (ca, pair) = Ca::make()?;
            write(folder, "ca", &pair)?;
            made.insert(0, "ca".to_owned());
            ca
        }
        false => {
            let key = place(folder, "ca", "key");
            let key = fs::read_to_string(&key).with_context(|| {
                let folder = folder.display();
                format!(
                    "{folder} has a CA without its key {}: choose another folder",
                    key.display()
                )
            })?;
            Ca::of_key(&key)?
        }
    };
    if is_server {
        write(folder, "server", &ca.server(&args.host)?)?;
    }
    for client in &clients {
        write(folder, &file_name(client), &ca.client(client)?)?;
    }
    Ok(made)
}

fn place(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{name}.{ending}"))
}

/// Writes both files, the key for its owner alone.
fn write(folder: &Path, name: &str, pair: &Pair) -> anyhow::Result<()> {
    for (ending, text) in [("key", &pair.key), ("pem", &pair.cert)] {
        let file = place(folder, name, ending);
        replace(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Replaces a file as a whole: a hub that uses it may read it meanwhile.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_extension("new");
    // It may be left over from a call that was killed, readable by others.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = agenthub_proto::private::append(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&beside, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn args(folder: &Path, host: &[&str], client: &[&str], force: bool) -> DevCerts {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        DevCerts {
            folder: folder.to_owned(),
            host: owned(host),
            client: owned(client),
            force,
        }
    }

    #[test]
    fn what_is_there_is_replaced_on_purpose_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("certs");
        let make = |host: &[&str], client: &[&str], force| {
            dev(&args(&folder, host, client, force)).map_err(|error| error.to_string())
        };
        let read = |name: &str| fs::read(folder.join(name)).expect("it was made");
        assert_eq!(
            make(&[], &[], false).expect("new"),
            ["ca", "server", "client"]
        );
        let (ca, server, client) = (read("ca.pem"), read("server.pem"), read("client.pem"));

        let refused = make(&[], &[], false).expect_err("all is there");
        assert!(refused.contains("--force"), "{refused}");
        for (host, client) in [(&["h"][..], &[][..]), (&[], &["client"])] {
            let refused = make(host, client, false).expect_err("it is there");
            assert!(refused.contains("--force"), "{refused}");
        }
        assert_eq!(
            (read("server.pem"), read("client.pem")),
            (server.clone(), client.clone())
        );

        assert_eq!(make(&[], &["writer"], false).expect("new"), ["writer"]);
        assert_eq!(make(&[], &[], true).expect("forced"), ["server", "client"]);
        assert_ne!((read("server.pem"), read("client.pem")), (server, client));
        assert_eq!(read("ca.pem"), ca, "clients trust it");
        for key in ["ca.key", "server.key", "client.key", "writer.key"] {
            let mode = fs::metadata(folder.join(key))
                .expect("a key")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{key}");
        }
    }
}
