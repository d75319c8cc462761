//! `agenthub namespaces`

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use agenthub_access::{MAX_NAMESPACES, Namespace, NamespaceStore, NamespacesError};
use agenthub_terminal::{calls, output, usage::WrongUsage};
use anyhow::{Context, bail};
use serde_json::json;

use super::audit;
use crate::{
    cli::{Namespaces, RemoveNamespace},
    settings::Settings,
    spaces::{Standing, Standings},
};

/// Time for a hub to close a namespace.
const CLOSING: Duration = Duration::from_secs(30);

/// Pause before it is looked again whether it has.
const PAUSE: Duration = Duration::from_millis(100);

/// Adds, shows or removes namespaces in the hub's folder. A hub that runs notices it.
pub(super) fn run(args: Namespaces, settings: &Settings) -> anyhow::Result<()> {
    let Some(store) = settings.namespace_store() else {
        let why = "a hub with --ephemeral has the namespaces of its settings alone: name them with `namespaces` in [access]";
        return Err(WrongUsage(why.to_owned()).into());
    };
    match args {
        Namespaces::Add { name, .. } => add(&name, &store, settings),
        Namespaces::List { json, .. } => list(json.json, &store, settings),
        Namespaces::Remove(args) => remove(&args, &store, settings),
    }
}

fn add(name: &Namespace, store: &NamespaceStore, settings: &Settings) -> anyhow::Result<()> {
    let named = settings.namespaces();
    if name.is_default() || named.contains(name) {
        return Err(NamespacesError::There(name.clone()).into());
    }
    if store.read()?.union(&named).count() >= MAX_NAMESPACES {
        return Err(NamespacesError::TooMany.into());
    }
    audit::record(settings, "namespaces add", format!("namespace={name}"))?;
    store.add(name)?;
    output::line(format!("the namespace {name} is there"))?;
    if let Some(folder) = left(name, settings)? {
        output::aside(format!(
            "What an earlier namespace of this name left in {} is in it.",
            folder.display()
        ));
    }
    output::aside(format!(
        "Who belongs to it has a token of it: {} tokens issue NAME --role user --namespace {name}",
        calls::program()
    ));
    Ok(())
}

fn list(as_json: bool, store: &NamespaceStore, settings: &Settings) -> anyhow::Result<()> {
    let named = settings.namespaces();
    let added = store.read()?;
    let from = |name: &Namespace| match (name.is_default(), named.contains(name)) {
        (true, _) => "always there",
        (false, true) => "settings",
        (false, false) => "added",
    };
    let default = Namespace::default();
    let all = std::iter::once(&default).chain(named.union(&added));
    let served = is_served(settings);
    let standings = settings.standings_file().filter(|_| served);
    let standings = standings.map(|file| Standings::read(&file));
    let standing = |name: &Namespace| match (standings.as_ref(), name.is_default()) {
        (None, _) => ("no hub", String::new()),
        (Some(_), true) => ("open", String::new()),
        (Some(all), false) => match all.get(name) {
            Some(Standing::Open) => ("open", String::new()),
            Some(Standing::Failed { reason }) => ("cannot be opened", reason.clone()),
            Some(Standing::Opening) | None => ("opening", String::new()),
        },
    };
    if as_json {
        for name in all {
            let (state, reason) = standing(name);
            let mut line = json!({"namespace": name, "from": from(name), "state": state});
            if !reason.is_empty() {
                line["reason"] = reason.into();
            }
            output::line(line.to_string())?;
        }
        return Ok(());
    }
    let mut reasons = Vec::new();
    let rows = all.map(|name| {
        let (state, reason) = standing(name);
        if !reason.is_empty() {
            reasons.push(format!("{name} cannot be opened: {reason}"));
        }
        [name.to_string(), from(name).to_owned(), state.to_owned()]
    });
    let rows: Vec<_> = rows.collect();
    output::line(output::table(["NAMESPACE", "FROM", "STATE"], rows))?;
    for reason in reasons {
        output::line(reason)?;
    }
    Ok(())
}

/// True if a hub has the folder.
fn is_served(settings: &Settings) -> bool {
    let lock = settings
        .data()
        .map(|data| File::open(data.join("hub.lock")));
    let Some(Ok(lock)) = lock else {
        return false;
    };
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

fn remove(
    args: &RemoveNamespace,
    store: &NamespaceStore,
    settings: &Settings,
) -> anyhow::Result<()> {
    let name = &args.name;
    if name.is_default() {
        return Err(WrongUsage("the namespace default is always there".to_owned()).into());
    }
    if settings.namespaces().contains(name) {
        let why = format!("the settings name the namespace {name}: take it out of [access] there");
        return Err(WrongUsage(why).into());
    }
    let left = left(name, settings)?;
    if let (Some(folder), false, false) = (&left, args.with_everything, args.keep) {
        let why = format!(
            "the namespace {name} is not empty: --with-everything removes the agents, tasks, mail and runs in {} for good, --keep leaves its files there",
            folder.display()
        );
        return Err(WrongUsage(why).into());
    }
    audit::record(settings, "namespaces remove", format!("namespace={name}"))?;
    match store.remove(name) {
        Ok(()) => {}
        // Only what it left.
        Err(NamespacesError::Unknown(_)) if args.with_everything && left.is_some() => {}
        Err(error) => return Err(error.into()),
    }
    let revoked = settings.token_store()?.revoke_all(name)?;
    // A hub that was about to open it may have made the folder meanwhile.
    if let (Some(folder), true) = (self::left(name, settings)?, args.with_everything) {
        until_closed(name, &folder)?;
        delete(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    output::line(format!(
        "the namespace {name} is removed; tokens that are revoked with it: {revoked}"
    ))?;
    Ok(())
}

/// The folder of a namespace, if there is anything in it.
fn left(name: &Namespace, settings: &Settings) -> io::Result<Option<PathBuf>> {
    let Some(folder) = settings.folder_of(name) else {
        return Ok(None);
    };
    match fs::read_dir(&folder) {
        Ok(mut entries) => Ok(entries.next().map(|_| folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until no hub has the folder.
///
/// # Errors
///
/// It still has.
fn until_closed(name: &Namespace, folder: &Path) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let lock = match File::open(folder.join("hub.lock")) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if start.elapsed() < CLOSING => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => bail!(
                "the namespace {name} is removed, but a process still has its files in {}: stop it, and give this command again",
                folder.display()
            ),
        }
    }
}

/// Removes a folder: at once for those who look for it by its name.
fn delete(folder: &Path) -> io::Result<()> {
    let mut aside = folder.as_os_str().to_owned();
    aside.push(".removed");
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(folder, &aside)?;
    fs::remove_dir_all(&aside)
}
