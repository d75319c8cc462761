use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::Format;

fn definition(name: &str, file: &str, kind: Kind, body: &str) -> Arc<Definition> {
    Arc::new(Definition {
        name: name.to_owned(),
        description: "d".to_owned(),
        version: None,
        kind,
        tools: Vec::new(),
        schema: json!({}),
        body: body.to_owned(),
        rules: Vec::new(),
        path: PathBuf::from(file),
        format: Format::Sop,
        model: None,
        temperature: None,
        turns: None,
        error_mode: None,
        files: Vec::new(),
        digest: body.to_owned(),
    })
}

fn agent(name: &str, body: &str) -> Arc<Definition> {
    definition(name, &format!("{name}.md"), Kind::Agent, body)
}

fn lead(name: &str, body: &str) -> Arc<Definition> {
    definition(name, &format!("{name}.md"), Kind::Orchestrator, body)
}

/// What is done when these are at work, and these files are found; `!FILE` cannot be used.
fn check(
    at_work: &[Arc<Definition>],
    found: &[Arc<Definition>],
    broken: &[&str],
    expect: (&[&str], &[&str], &[&str]),
) -> Option<String> {
    let at_work: BTreeMap<_, _> = at_work
        .iter()
        .map(|d| (d.name.clone(), d.clone()))
        .collect();
    let (orchestrators, agents): (Vec<_>, Vec<_>) = found
        .iter()
        .cloned()
        .partition(|d| d.kind == Kind::Orchestrator);
    let leads = match orchestrators.as_slice() {
        [one] => Ok(one.clone()),
        others => Err(Fault::error(
            Path::new("."),
            format!("{} orchestrators", others.len()),
        )),
    };
    let found = Discovered {
        agents: agents.into_iter().map(|d| (d.name.clone(), d)).collect(),
        orchestrators,
        faults: broken
            .iter()
            .map(|file| Fault::error(Path::new(file), "no"))
            .collect(),
    };
    let changes = changes(&at_work, &found, leads, false);
    let names = |d: &[Arc<Definition>]| d.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
    let got = (
        changes.stop.clone(),
        names(&changes.replace),
        names(&changes.start),
    );
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(got, (owned(expect.0), owned(expect.1), owned(expect.2)));
    changes.fault.map(|fault| fault.message)
}

/// spec: SOP-6.2
#[test]
fn what_has_not_changed_is_left_alone() {
    let all = [agent("a", "1"), agent("b", "1"), lead("l", "1")];
    assert_eq!(check(&all, &all, &[], (&[], &[], &[])), None);
    let edited = [agent("a", "2"), agent("b", "1"), lead("l", "1")];
    assert_eq!(check(&all, &edited, &[], (&[], &["a"], &[])), None);
}

/// spec: SOP-6.3
#[test]
fn all_are_replaced_if_that_is_wanted() {
    let all = [agent("a", "1"), lead("l", "1")];
    let at_work: BTreeMap<_, _> = all.iter().map(|d| (d.name.clone(), d.clone())).collect();
    let found = Discovered {
        agents: BTreeMap::from([("a".to_owned(), agent("a", "1"))]),
        ..Discovered::default()
    };
    let changes = changes(&at_work, &found, Ok(lead("l", "1")), true);
    assert_eq!(changes.replace.len(), 2);
}

#[test]
fn files_that_come_go_and_are_renamed() {
    let team = [agent("a", "1"), lead("l", "1")];
    let more = [agent("a", "1"), agent("b", "1"), lead("l", "1")];
    check(&team, &more, &[], (&[], &[], &["b"]));
    check(&more, &team, &[], (&["b"], &[], &[]));
    let renamed = [
        definition("c", "a.md", Kind::Agent, "1"),
        definition("m", "l.md", Kind::Orchestrator, "1"),
    ];
    check(&team, &renamed, &[], (&["a", "l"], &[], &["c", "m"]));
}

/// spec: SOP-4.4
#[test]
fn whose_file_cannot_be_used_stays_as_it_is() {
    let team = [agent("a", "1"), lead("l", "1")];
    check(&team, &[lead("l", "1")], &["a.md"], (&[], &[], &[]));
    assert_eq!(
        check(&team, &[agent("a", "1")], &["l.md"], (&[], &[], &[])),
        None,
        "the one that leads goes on leading"
    );
    check(&[], &team, &["b.md"], (&[], &[], &["a", "l"]));
}

/// spec: SOP-7.5, SOP-7.6
#[test]
fn the_one_who_leads_stays_while_there_are_two_and_goes_with_its_file() {
    let team = [agent("a", "1"), lead("l", "1")];
    let two = [agent("a", "1"), lead("l", "2"), lead("m", "1")];
    let fault = check(&team, &two, &[], (&[], &[], &[]));
    assert_eq!(fault.as_deref(), Some("2 orchestrators"));
    let none = [agent("a", "1")];
    let fault = check(&team, &none, &[], (&["l"], &[], &[]));
    assert_eq!(fault.as_deref(), Some("0 orchestrators"));
    let demoted = [agent("a", "1"), agent("l", "1")];
    check(&team, &demoted, &[], (&[], &["l"], &[]));
}
