//! `agenthub audit`

use std::{env, process::ExitCode, thread::sleep, time::Duration};

use agenthub_access::audit::{
    AuditSettings, Entry, Head, KnownHead, Line, Source, VerifyError, append, verify,
};
use agenthub_terminal::{output, usage::WrongUsage};
use anyhow::Context as _;
use serde_json::json;

use crate::{
    cli::{Audit, AuditTail},
    settings::Settings,
};

/// Interval of looking for further lines.
const POLL: Duration = Duration::from_millis(250);

/// Exit code where the audit is unbroken as far as it goes, and nothing shows whether lines are gone from its end.
const END_UNKNOWN: u8 = 3;

/// Shows or verifies the audit in a hub's folder. Needs no hub.
pub(super) fn run(args: &Audit, settings: &Settings) -> anyhow::Result<ExitCode> {
    let audit = settings.audit().ok_or_else(|| {
        WrongUsage(
            "a hub with --ephemeral has no audit: name a folder with `folder` in [audit]"
                .to_owned(),
        )
    })?;
    match args {
        Audit::Tail(args) => tail(args, &audit).map(|()| ExitCode::SUCCESS),
        Audit::Verify { head, json, .. } => verified(&audit, *head, json.json),
    }
}

/// Records in the audit what is about to be done. The name of who does it is that of the system's user, as the environment has it.
pub(super) fn record(settings: &Settings, action: &str, resource: String) -> anyhow::Result<()> {
    let Some(audit) = settings.audit() else {
        return Ok(());
    };
    let user = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| env::var(name).ok());
    let entry = Entry {
        principal: format!("os/{}", user.as_deref().unwrap_or("unknown")),
        namespace: String::new(),
        source: Source::Command,
        action: action.to_owned(),
        resource,
        allowed: true,
        rule: "whoever may write in the data folder".to_owned(),
    };
    append(audit, entry).context("nothing was done, as the audit cannot record it")
}

fn verified(
    audit: &AuditSettings,
    known_head: Option<KnownHead>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let report = match verify(&audit.folder, known_head) {
        Err(error @ VerifyError::None(_)) => return Err(WrongUsage(error.to_string()).into()),
        found => found?,
    };
    let (last, head) = report.head.map_or((0, String::new()), |(line, digest)| {
        (line, digest.to_string())
    });
    let is_known =
        report.known_head.is_some() || report.checked_head.is_some() && report.head_begun.is_none();
    let code = match is_known {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(END_UNKNOWN),
    };
    if as_json {
        let shown = json!({
            "first": report.first,
            "last": last,
            "head": head,
            "files": report.files,
            "cutOff": report.cut_off,
            "unfinished": report.is_unfinished,
            "kept": report.checked_head,
            "headBegun": report.head_begun,
            "knownHead": report.known_head,
        });
        output::line(shown.to_string())?;
        return Ok(code);
    }
    let mut words = format!(
        "the audit in {} is unbroken: lines {} to {last} in {} files",
        audit.folder.display(),
        report.first,
        report.files
    );
    if report.first > 1 {
        words += ", older ones were removed because of their age";
    }
    for line in &report.cut_off {
        words += &format!("; line {line} was cut off by a crash");
    }
    if report.is_unfinished {
        words += "; the last line has no end: a crash cut it off, or somebody";
    }
    match report.known_head {
        Some(line) => {
            words += &format!(
                "; the head that was kept elsewhere is line {line}, and nothing up to it has changed"
            )
        }
        None => {
            words += &match (report.checked_head, report.head_begun) {
                (Some(_), None) => {
                    "; none is gone from its end, as the head beside it says".to_owned()
                }
                (Some(_), Some(line)) => format!(
                    "; none is gone from its end since line {line}, as the head beside it says: before that line there was no head, so whether others are gone from there is not known"
                ),
                (None, _) => {
                    "; whether lines are gone from its end is not known: no head stands beside it"
                        .to_owned()
                }
            };
            words += ". Whether somebody wrote all of it anew, only a hash that is kept elsewhere can show";
        }
    }
    output::line(words)?;
    output::aside(format!(
        "Keep this elsewhere, for `audit verify --head`: {last}:{head}"
    ));
    Ok(code)
}

fn tail(args: &AuditTail, audit: &AuditSettings) -> anyhow::Result<()> {
    if !audit.folder.is_dir() {
        let none = VerifyError::None(audit.folder.display().to_string());
        return Err(WrongUsage(none.to_string()).into());
    }
    let is_wanted = |line: &Line| {
        let is_of = args
            .principal
            .as_ref()
            .is_none_or(|name| *name == line.entry.principal);
        is_of && !(args.denied && line.entry.allowed)
    };
    let (mut tail, last) =
        agenthub_access::audit::Tail::begin(&audit.folder, args.lines.into(), is_wanted)?;
    last.iter()
        .try_for_each(|line| show(line, args.json.json))?;
    if !args.follow {
        if let Some(head) = Head::read(&audit.folder)?.filter(|_| !args.json.json) {
            output::aside(format!(
                "Keep this elsewhere, for `audit verify --head`: {head}"
            ));
        }
        return Ok(());
    }
    loop {
        let lines = tail.next()?;
        if lines.is_empty() {
            sleep(POLL);
        }
        let mut wanted = lines.iter().filter(|line| is_wanted(line));
        wanted.try_for_each(|line| show(line, args.json.json))?;
    }
}

fn show(line: &Line, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return Ok(output::line(serde_json::to_string(line)?)?);
    }
    let entry = &line.entry;
    let outcome = match entry.allowed {
        true => "allowed",
        false => "DENIED",
    };
    let source = match entry.source {
        Source::Grpc => "grpc",
        Source::Http => "http",
        Source::InProcess => "in process",
        Source::Command => "command",
        Source::Hub => "hub",
    };
    let who = match entry.principal.as_str() {
        "" => "(unknown)",
        name => name,
    };
    let times = match line.count {
        1 => String::new(),
        count => format!(" ×{count}"),
    };
    let text = format!(
        "{} {outcome}{times} {who} ({source}) {} {}: {}",
        line.time, entry.action, entry.resource, entry.rule
    );
    Ok(output::line(output::plain(&text))?)
}
