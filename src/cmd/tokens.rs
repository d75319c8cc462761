//! `agenthub tokens`

use std::{
    io::Write as _,
    time::{Duration, SystemTime},
};

use agenthub_access::{Namespace, NewToken, Policy, TokenRecord};
use agenthub_proto::private;
use agenthub_terminal::{calls, output, usage::WrongUsage};
use anyhow::Context as _;
use serde_json::{Value, json};

use super::audit;
use crate::{
    cli::{Issue, Tokens},
    settings::Settings,
};

/// Issues, shows or revokes tokens in the hub's folder. A hub that runs notices it.
pub(super) fn run(args: Tokens, settings: &Settings) -> anyhow::Result<()> {
    match args {
        Tokens::Issue(args) => issue(args, settings),
        Tokens::List { json, .. } => list(json.json, settings),
        Tokens::Revoke { id, .. } => {
            audit::record(settings, "tokens revoke", format!("token={id}"))?;
            let revoked = settings.token_store()?.revoke(&id)?;
            output::line(format!(
                "the token {id} of {} is revoked",
                revoked.principal
            ))?;
            Ok(())
        }
    }
}

fn issue(args: Issue, settings: &Settings) -> anyhow::Result<()> {
    let policy = settings.policy()?;
    let namespace = namespace(&args, &policy, settings)?;
    let said = policy.principals.get(&args.principal);
    let is_known = said.is_some_and(|said| said.namespace == namespace);
    if args.roles.is_empty() && args.allow.is_empty() && !is_known {
        let why = format!(
            "{} would have no right: give --role worker, agent, user, operator or admin, or --allow RIGHT",
            args.principal
        );
        return Err(WrongUsage(why).into());
    }
    if let Err(error) = policy.check_roles("--role", &args.roles) {
        return Err(WrongUsage(error.to_string()).into());
    }
    if let Some((right, why)) = args.allow.iter().find_map(|p| Some((p, p.fault()?))) {
        let why = format!("--allow: `{right}` can match no id: it {why}");
        return Err(WrongUsage(why).into());
    }
    let store = settings.token_store()?;
    let is_first = store.read()?.is_none_or(|tokens| tokens.is_empty());
    let allow: Vec<String> = args.allow.iter().map(ToString::to_string).collect();
    let what = format!(
        "principal={} roles={} allow={}",
        args.principal,
        args.roles.join(","),
        allow.join(",")
    );
    if let Some(file) = args.out.as_ref().filter(|file| file.exists()) {
        let why = format!("{} is there already: name another file", file.display());
        return Err(WrongUsage(why).into());
    }
    // Before the token is issued, which would be lost if it could not be written.
    let out = args.out.as_ref().map(|path| {
        let file = private::append(path);
        file.with_context(|| format!("cannot write {}", path.display()))
    });
    let out = out.transpose()?;
    audit::record(settings, "tokens issue", what)?;
    let issued = store.issue(NewToken {
        principal: args.principal,
        namespace,
        roles: args.roles,
        allow: args.allow,
        lasts: args.expires.0,
    })?;
    if let Some(mut file) = out {
        writeln!(file, "{}", issued.token.secret())?;
        file.sync_all()?;
    }
    if args.json.json {
        let mut shown = shown(&issued.record);
        if args.out.is_none() {
            shown["token"] = json!(issued.token.secret());
        }
        return Ok(output::line(shown.to_string())?);
    }
    // The token alone on stdout, for programs that take it from there.
    if args.out.is_none() {
        output::line(issued.token.secret())?;
    }
    output::aside(format!(
        "token {} of {}, {}; it is not shown again. Use it with --token-file FILE, or AGENTHUB_TOKEN.",
        issued.record.id,
        issued.record.principal,
        match issued.record.expires {
            Some(expires) => format!("valid until {}", time(expires)),
            None => "valid until it is revoked".to_owned(),
        }
    ));
    if is_first {
        output::aside(format!(
            "From now on every call to the hub with this data folder needs a token; this command always makes another one: {} tokens issue",
            calls::program()
        ));
    }
    Ok(())
}

/// The namespace of the bearer: the one that is named, else that of the policy.
///
/// # Errors
///
/// It is not there, or the policy says another one.
fn namespace(args: &Issue, policy: &Policy, settings: &Settings) -> anyhow::Result<Namespace> {
    let said = policy.principals.get(&args.principal);
    let said = said.map(|said| &said.namespace);
    let namespace = match (&args.namespace, said) {
        (Some(named), Some(said)) if named != said => {
            let why = format!(
                "{} belongs to the namespace {said}, as the policy says, not to {named}",
                args.principal
            );
            return Err(WrongUsage(why).into());
        }
        (Some(namespace), _) | (None, Some(namespace)) => namespace.clone(),
        (None, None) => Namespace::default(),
    };
    let added = settings.namespace_store().map(|store| store.read());
    let is_there = namespace.is_default()
        || settings.namespaces().contains(&namespace)
        || added
            .transpose()?
            .is_some_and(|added| added.contains(&namespace));
    match is_there {
        true => Ok(namespace),
        false => {
            let program = calls::program();
            let why = format!(
                "there is no namespace {namespace}: {program} namespaces add {namespace} makes it"
            );
            Err(WrongUsage(why).into())
        }
    }
}

fn list(as_json: bool, settings: &Settings) -> anyhow::Result<()> {
    let tokens = settings.token_store()?.read_issued()?;
    if !tokens.is_empty() {
        audit::record(settings, "tokens list", String::new())?;
    }
    if as_json {
        for token in &tokens {
            output::line(shown(token).to_string())?;
        }
        return Ok(());
    }
    if tokens.is_empty() {
        output::aside("no token was issued: nobody needs one, unless the settings have [access]");
        return Ok(());
    }
    let rows = tokens.iter().map(|token| {
        let allow: Vec<String> = token.allow.iter().map(ToString::to_string).collect();
        [
            token.id.clone(),
            token.principal.to_string(),
            token.namespace.to_string(),
            [&token.roles[..], &allow].concat().join(", "),
            token.standing().to_owned(),
            token.expires.map_or_else(|| "never".to_owned(), time),
        ]
    });
    let head = ["ID", "PRINCIPAL", "NAMESPACE", "RIGHTS", "STATE", "EXPIRES"];
    output::line(output::table(head, rows))?;
    Ok(())
}

/// A token as JSON, without its hash.
fn shown(token: &TokenRecord) -> Value {
    json!({
        "id": token.id,
        "principal": token.principal,
        "namespace": token.namespace,
        "roles": token.roles,
        "allow": token.allow,
        "state": token.standing(),
        "issued": time(token.issued),
        "expires": token.expires.map(time),
    })
}

/// Seconds since 1970 as RFC 3339 has them.
fn time(seconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let time = time.unwrap_or(SystemTime::UNIX_EPOCH);
    agenthub_proto::event::timestamp(time).to_string()
}
