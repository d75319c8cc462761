//! Folders of SOPs.

use std::path::Path;

use agenthub_sop::{DEFAULT_DIR, Discovered, Fault, Format, Kind, discover};
use tempfile::TempDir;

use crate::common::{folder, told, with};

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does it.\n---\nDo it.\n")
}

fn orchestrator(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Leads.\ntype: orchestrator\n---\nLead.\n")
}

fn found(folder: &TempDir) -> Discovered {
    discover(folder.path()).expect("the folder is there")
}

fn names(found: &Discovered) -> Vec<&str> {
    found.agents.keys().map(String::as_str).collect()
}

/// What is told, without the folder's own path.
fn in_dir(faults: &[Fault], folder: &TempDir) -> String {
    told(faults).replace(&*folder.path().to_string_lossy(), "DIR")
}

/// spec: SOP-4.1, SOP-4.2, SOP-4.3
#[test]
fn a_folder_gives_its_agents_by_name_and_its_orchestrators_apart() {
    let folder = folder(&[
        ("b.md", &agent("b")),
        ("a.MD", &agent("a")),
        ("lead.md", &orchestrator("lead")),
        (
            "notes.sop.md",
            "# N\n\n## Overview\n\nTakes notes.\n\n## Steps\n\nWrite.\n",
        ),
        ("forms/SKILL.md", &agent("forms")),
        ("forms/more.md", &agent("more")),
        ("deep/deeper/SKILL.md", &agent("deeper")),
        (".hidden.md", &agent("hidden")),
        ("node_modules/SKILL.md", &agent("modules")),
        ("c.txt", &agent("c")),
    ]);
    let found = found(&folder);
    assert_eq!(in_dir(&found.faults, &folder), "");
    assert_eq!(names(&found), ["a", "b", "forms", "notes"]);
    assert_eq!(found.agents["forms"].format, Format::Skill);
    assert_eq!(found.agents["notes"].format, Format::AgentSop);
    let lead = found
        .orchestrator(folder.path(), false)
        .expect("there is one");
    assert_eq!(
        (lead.name.as_str(), lead.kind),
        ("lead", Kind::Orchestrator)
    );
}

/// spec: SOP-4.4
#[test]
fn a_file_that_is_wrong_keeps_no_other_from_being_used() {
    let folder = folder(&[
        ("a.md", "---\nname: [\n---\n"),
        ("b.md", &agent("b")),
        ("c.md", &with("type: x\ncolour: red\n")),
        ("d.md", "no front matter\n"),
        ("README.md", "# About\n"),
    ]);
    let found = found(&folder);
    assert_eq!(names(&found), ["b"]);
    insta::assert_snapshot!(in_dir(&found.faults, &folder));
}

/// spec: SOP-4.5
#[test]
fn a_folder_that_is_not_there_is_an_error_with_its_path() {
    let folder = folder(&[("a.md", "x")]);
    for (name, why) in [
        ("none", "there is no such folder"),
        ("a.md", "this is no folder"),
    ] {
        let dir = folder.path().join(name);
        let fault = discover(&dir).expect_err(name);
        assert_eq!(fault.to_string(), format!("{}: {why}", dir.display()));
        assert!(fault.is_error() && fault.help.is_some());
    }
}

/// spec: SOP-4.6
#[test]
fn an_empty_folder_is_a_warning() {
    let folder = folder(&[("notes.txt", "x")]);
    let found = found(&folder);
    assert!(found.agents.is_empty() && found.orchestrators.is_empty());
    assert_eq!(
        in_dir(&found.faults, &folder),
        "warning: DIR: the folder holds no SOPs"
    );
}

/// spec: SOP-4.1
#[test]
fn files_that_look_like_sops_and_are_not_looked_for_are_warnings() {
    let folder = folder(&[
        ("a.md", &agent("a")),
        ("b.markdown", &agent("b")),
        ("README.markdown", "# About\n"),
        ("sub/c.md", &agent("c")),
        ("sub/d.md", &agent("d")),
        ("docs/plain.md", "# About\n"),
        ("forms/SKILL.md", &agent("forms")),
        ("forms/more.md", &agent("more")),
        ("forms/references/deep.md", &agent("deep")),
    ]);
    let told = found(&folder);
    assert_eq!(names(&told), ["a", "forms"]);
    assert_eq!(
        in_dir(&told.faults, &folder),
        "warning: DIR/b.markdown: this file is not read\n\
         warning: DIR/sub: the files of this folder are not read"
    );
    let help = told.faults[1].help.clone().expect("it says what to do");
    assert!(help.contains("c.md") && help.contains("SKILL.md"), "{help}");
    // The folder of a skill has folders of its own.
    let skill = discover(&folder.path().join("forms")).expect("the folder is there");
    let skill = in_dir(&skill.faults, &folder);
    assert!(!skill.contains("references"), "{skill}");
}

/// spec: SOP-4.3
#[test]
fn two_files_for_one_agent_are_an_error_that_names_both() {
    let folder = folder(&[
        ("a.md", &agent("a")),
        ("a/SKILL.md", &agent("a")),
        ("b c.md", &agent("b c")),
        ("b-c.md", &agent("b-c")),
        ("lead.md", &orchestrator("lead")),
        ("Lead.sop.md", "# L\n\n## Overview\n\nx\n\n## Steps\n\ny\n"),
    ]);
    let found = found(&folder);
    insta::assert_snapshot!(in_dir(&found.faults, &folder));
    assert_eq!(found.agents.len() + found.orchestrators.len(), 3);
}

/// spec: SOP-7.1, SOP-7.3
#[test]
fn the_orchestrator_names_no_agents() {
    let folder = folder(&[("lead.md", &orchestrator("lead"))]);
    let lead = found(&folder).orchestrator(folder.path(), false);
    let lead = lead.expect("there is one");
    assert_eq!((lead.body.as_str(), lead.tools.len()), ("Lead.", 0));
}

/// Settled conflict 4.
///
/// spec: SOP-7.5
#[test]
fn a_folder_without_orchestrator_is_an_error_unless_the_built_in_one_is_wanted() {
    let folder = folder(&[("a.md", &agent("a"))]);
    let none = found(&folder);
    let fault = none
        .orchestrator(folder.path(), false)
        .expect_err("there is none");
    assert_eq!(
        in_dir(std::slice::from_ref(&fault), &folder),
        "error: DIR: no orchestrator was found in this folder"
    );
    let help = fault.help.expect("it says what to do");
    assert!(help.contains("default_orchestrator = true"), "{help}");
    let built_in = none
        .orchestrator(folder.path(), true)
        .expect("it is built in");
    assert_eq!(built_in.kind, Kind::Orchestrator);
    assert_eq!(built_in.name, "orchestrator");
    assert!(!built_in.rules.is_empty());
}

/// The file that cannot be used may be that of the one who leads.
///
/// spec: SOP-7.5
#[test]
fn a_folder_is_not_said_to_have_no_orchestrator_where_a_file_cannot_be_used() {
    let broken = orchestrator("lead").replace("description", "descripton");
    let folder = folder(&[("a.md", &agent("a")), ("lead.md", &broken)]);
    let fault = found(&folder).orchestrator(folder.path(), false);
    let fault = fault.expect_err("nobody leads");
    let message = "no orchestrator was found among the files that can be used";
    assert_eq!(fault.message, message);
}

/// spec: SOP-7.5
#[test]
fn the_built_in_orchestrator_takes_nobodys_name() {
    let folder = folder(&[("orchestrator.md", &agent("orchestrator"))]);
    let built_in = found(&folder).orchestrator(folder.path(), true);
    assert_eq!(built_in.expect("it is built in").name, "orchestrator-2");
}

/// spec: SOP-7.6
#[test]
fn several_orchestrators_are_an_error_that_names_them() {
    let folder = folder(&[("a.md", &orchestrator("a")), ("b.md", &orchestrator("b"))]);
    for default in [false, true] {
        let fault = found(&folder).orchestrator(folder.path(), default);
        let fault = fault.expect_err("there are two");
        let help = fault.help.clone().expect("it says what to do");
        assert!(help.contains("a.md") && help.contains("b.md"), "{help}");
        assert_eq!(
            in_dir(&[fault], &folder),
            "error: DIR: only one orchestrator is allowed in a folder; this one has 2"
        );
    }
}

/// spec: SOP-7.7
#[test]
fn the_folder_is_sops_where_none_is_named() {
    assert_eq!(Path::new(DEFAULT_DIR), Path::new("./sops"));
}
