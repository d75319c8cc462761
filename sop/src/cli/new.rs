//! `agenthub sop new`

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::ExitCode,
};

use agenthub_terminal::{calls, output};
use anyhow::{Context, anyhow, bail};

use super::args::{DEFAULT_DIR, New};
use crate::{Discovered, Kind, discover, starter};

/// Writes the beginnings of an agent.
pub(super) fn run(args: &New) -> anyhow::Result<ExitCode> {
    let kind = match args.orchestrator {
        true => Kind::Orchestrator,
        false => Kind::Agent,
    };
    let name = args.name.trim();
    if let Some(c) = name
        .chars()
        .find(|c| r#"/\:*?"<>|"#.contains(*c) || c.is_control())
    {
        bail!(
            "the file is called as the agent is, and no file can have {c:?} in its name: choose another name"
        );
    }
    if name.starts_with('.') {
        bail!("a file whose name begins with a dot is hidden: choose another name");
    }
    ending(name)?;
    let text = starter(name, kind).map_err(|why| anyhow!(why))?;
    let dir = &args.dir;
    let is_new = !dir.exists();
    let found = match is_new {
        true => Discovered::default(),
        false => discover(dir).map_err(|fault| anyhow!("{fault}"))?,
    };
    free(name, kind, &found)?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    let path = dir.join(format!("{name}.md"));
    let created = File::create_new(&path);
    match created.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => bail!(
            "{} is there already, and stays as it is: choose another name, or edit that file",
            path.display()
        ),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write {}", path.display()));
        }
    }
    let is_read = discover(dir).is_ok_and(|found| {
        let mut all = found.agents.values().chain(&found.orchestrators);
        all.any(|definition| definition.name == name)
    });
    if !is_read {
        // It was made a moment ago, by this call.
        let _ = fs::remove_file(&path);
        bail!(
            "files called {name}.md are for people to read, and are no agents: choose another name"
        );
    }
    output::line(format!("{}", path.display()))?;
    let made = match is_new {
        true => format!(", in the new folder {}", dir.display()),
        false => String::new(),
    };
    output::aside(format!("{} is written{made}. Next:", path.display()));
    for step in next(&path, dir, kind, &found) {
        output::aside(format!("  {step}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a name with which the file would be of another format, or have two endings.
fn ending(name: &str) -> anyhow::Result<()> {
    let lower = name.to_ascii_lowercase();
    for ending in [".sop.md", ".sop", ".md", ".markdown"] {
        if lower.ends_with(ending) {
            let plain = &name[..name.len() - ending.len()];
            bail!(
                "a name has no ending, and the file gets its own: leave {ending} out, as in {plain}"
            );
        }
    }
    if lower == "skill" {
        bail!("SKILL.md is a skill, which has the name of its folder: choose another name");
    }
    Ok(())
}

/// Refuses a name that another file of the folder has.
fn free(name: &str, kind: Kind, found: &Discovered) -> anyhow::Result<()> {
    let mut all = found.agents.values().chain(&found.orchestrators);
    if let Some(other) = all.find(|other| other.name == name) {
        bail!(
            "{} is an agent called {name} already: choose another name, or edit that file",
            other.path.display()
        );
    }
    match (kind, found.orchestrators.first()) {
        (Kind::Orchestrator, Some(other)) => bail!(
            "the folder has an orchestrator already, {}, and only one may lead: edit that file, or name another folder with --dir DIR",
            other.path.display()
        ),
        _ => Ok(()),
    }
}

/// Next steps.
fn next(path: &Path, dir: &Path, kind: Kind, found: &Discovered) -> Vec<String> {
    let program = calls::program();
    let (folder, flag) = match dir == Path::new(DEFAULT_DIR) {
        true => (String::new(), String::new()),
        false => (
            format!(" {}", dir.display()),
            format!(" --dir {}", dir.display()),
        ),
    };
    let mut steps = vec![format!(
        "edit {}: say what it is for, and how it works",
        path.display()
    )];
    match kind {
        Kind::Agent if found.orchestrators.is_empty() => steps.push(format!(
            "{program} sop new lead --orchestrator{flag}   begins the one who leads the agents of the folder"
        )),
        Kind::Orchestrator if found.agents.is_empty() => steps.push(format!(
            "{program} sop new researcher{flag}   begins an agent for it to lead"
        )),
        _ => {}
    }
    steps.push(format!(
        "{program} sop check{folder}   says what is wrong, if anything"
    ));
    steps.push(format!("{program} sop ask{folder} \"…\"   asks the team"));
    steps
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn names_that_give_a_file_another_format_are_refused() {
        for name in ["x.sop", "x.md", "X.SOP.md", "x.markdown", "Skill", "ü.Sop"] {
            assert!(ending(name).is_err(), "{name}");
        }
        for name in ["x", "sop", "md", "x.sops", "skills", "v1.5"] {
            assert!(ending(name).is_ok(), "{name}");
        }
    }
}
