//! `agenthub context`

use std::path::{Path, PathBuf};

use agenthub_proto::socket::{HubAddress, without_login};
use agenthub_terminal::output;
use anyhow::{Context as _, bail};
use serde_json::json;

use crate::{
    cli::{AddContext, ContextCommand, Global},
    contexts::{Context, Contexts},
    settings::ClientFiles,
};

/// Shows and changes contexts. Their files are those of the flags.
pub(crate) fn run(command: &ContextCommand, flags: &Global) -> anyhow::Result<()> {
    let file = Contexts::file().context("no place for contexts: set HOME or XDG_CONFIG_HOME")?;
    let mut contexts = Contexts::read(&file)?;
    match command {
        ContextCommand::Add(args) => {
            add(&mut contexts, args, flags)?;
            contexts.write(&file)?;
            let used = match contexts.current.as_deref() == Some(&args.name) {
                true => ", and is used where nothing else names a hub",
                false => "",
            };
            output::line(format!(
                "context {} is in {}{used}",
                args.name,
                file.display()
            ))?;
        }
        ContextCommand::Use { name } => {
            let hub = contexts.get(name)?.hub.clone();
            contexts.current = Some(name.clone());
            contexts.write(&file)?;
            output::line(format!(
                "commands call {hub} where nothing else names a hub"
            ))?;
        }
        ContextCommand::List(form) => list(&contexts, form.json)?,
        ContextCommand::Remove { name } => {
            contexts.get(name)?;
            contexts.contexts.remove(name);
            contexts.current.take_if(|current| current == name);
            contexts.write(&file)?;
            output::line(format!("context {name} is removed"))?;
        }
    }
    Ok(())
}

fn add(contexts: &mut Contexts, args: &AddContext, flags: &Global) -> anyhow::Result<()> {
    let files = flags.client();
    if let Err(reason) = HubAddress::parse(&args.hub) {
        bail!(
            "{} is no address of a hub: {reason}",
            without_login(&args.hub)
        );
    }
    if contexts.contexts.contains_key(&args.name) && !args.force {
        bail!(
            "there is a context {} already: replace it with --force",
            args.name
        );
    }
    let context = Context {
        hub: args.hub.clone(),
        ca: found("--ca", files.ca.as_deref())?,
        cert: found("--cert", files.cert.as_deref())?,
        key: found("--key", files.key.as_deref())?,
        token_file: found("--token-file", flags.token_file.as_deref())?,
    };
    // They are right now, though they may change.
    ClientFiles {
        ca: context.ca.clone(),
        cert: context.cert.clone(),
        key: context.key.clone(),
    }
    .tls()
    .config()?;
    contexts.contexts.insert(args.name.clone(), context);
    if args.use_it {
        contexts.current = Some(args.name.clone());
    }
    Ok(())
}

/// The file by a name that holds in every folder.
fn found(flag: &str, file: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    let found = file.map(|file| {
        let path = std::path::absolute(file).ok().filter(|path| path.is_file());
        path.with_context(|| format!("{flag}: there is no file {}", file.display()))
    });
    found.transpose()
}

fn list(contexts: &Contexts, as_json: bool) -> anyhow::Result<()> {
    for (name, context) in &contexts.contexts {
        let is_current = contexts.current.as_deref() == Some(name);
        let text = match as_json {
            true => {
                let mut value = json!({ "name": name, "current": is_current });
                let fields = serde_json::to_value(context)?;
                if let (Some(value), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
                    value.extend(fields.clone());
                }
                value.to_string()
            }
            false => {
                let mark = if is_current { "*" } else { " " };
                output::plain(&format!("{mark} {name}  {}", context.hub)).into_owned()
            }
        };
        output::line(text)?;
    }
    if contexts.contexts.is_empty() && !as_json {
        output::aside("there are no contexts: `agenthub context add NAME --hub URL` adds one");
    }
    Ok(())
}
