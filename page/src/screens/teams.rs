//! Teams in Markdown and workflows: the files that this process works with, with what is wrong in them, and reports on runs.
//!
//! Files are read when the page is opened.

use std::collections::BTreeSet;

use agenthub_access::Action;
use agenthub_proto::agenthub::AgentState;
use agenthub_sop::compliance::{
    By, FindError, Finding, Journals, Recorded, Report, Verdict, report,
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};

use crate::{
    Pages,
    backend::Backend,
    elements::{Cell, Row, agent, id_link, state, table},
    files::{File, Files, Folder},
    place::Place,
    shell::{self, Section},
    trouble::Trouble,
};

/// The folders, and a form that leads to a report.
pub(super) async fn show(
    State(pages): State<Pages>,
    backend: Backend,
) -> Result<Response, Trouble> {
    is_for(&backend)?;
    let files = pages.files();
    let (teams, workflows) = files.read().await;
    let here = here(&backend, teams.iter().chain(&workflows)).await;
    let content = html! {
        h1 { "Teams and workflows" }
        h2 { "Teams in Markdown" }
        p { "A page of Markdown that says how somebody works is an agent; a folder of such pages is a team. Saving a page replaces that agent." }
        (folders(&teams, &here, "agenthub sop up", &team_commands()))
        h2 { "Workflows" }
        p { "A workflow is a file of steps: which agent does what, in which order, and where a person is asked. Each file is an agent that carries it out." }
        (folders(&workflows, &here, "agenthub up --workflows", &workflow_commands()))
        @if !teams.is_empty() {
            h2 { "Report on the rules" }
            p { "For each MUST and SHOULD of the page that led a run: whether it was kept, and what shows it." }
            form.filter method="get" action="/ui/teams/report" {
                label { span { "Run of a team" } input name="run" value="latest" required; small { "Its id, the beginning of it, or latest." } }
                button { "Report" }
            }
        }
    };
    let viewer = Some(backend.viewer());
    Ok(shell::page(Section::Teams, "Teams", &content, viewer).into_response())
}

/// Checks that the viewer may see files of this machine, and runs of others.
fn is_for(backend: &Backend) -> Result<(), Trouble> {
    match backend.viewer().may(&Action::Operate) {
        true => Ok(()),
        false => Err(Trouble::new(
            StatusCode::FORBIDDEN,
            "Files and reports are shown to who may operate the hub.",
        )),
    }
}

/// The way to a first team.
fn team_commands() -> Markup {
    html! {
        p.nothing { "This hub has no team yet. These commands make a page to begin with in the folder sops, and have it checked:" }
        pre { code { "mkdir sops && cd sops && agenthub sop new researcher && cd ..\nagenthub sop check sops\nagenthub sop up sops" } }
        p.nothing { "The last one makes the team agents of this hub while it runs. " code { "agenthub up" } " shows the folder ./sops of where it was started here." }
    }
}

/// The way to a first workflow.
fn workflow_commands() -> Markup {
    html! {
        p.nothing { "This hub has no folder of workflows. Save this as workflows/hello.yaml:" }
        pre { code { "name: hello\nsteps:\n  greet:\n    agent: agent_echo\n    text: Good morning" } }
        p.nothing { "Then start the hub with it: " code { "agenthub up --workflows workflows" } ". To see one at work now: " a href="/ui/start" { "start the example" } "." }
    }
}

/// The agents of these folders that are at the hub.
async fn here(backend: &Backend, folders: impl Iterator<Item = &Folder>) -> BTreeSet<String> {
    let mut here = BTreeSet::new();
    for file in folders
        .flat_map(|folder| &folder.files)
        .filter(|file| !file.name.is_empty())
    {
        let entry = backend.hub().agent(&file.name).await;
        if entry.is_ok_and(|entry| entry.state() == AgentState::Online) {
            here.insert(file.name.clone());
        }
    }
    here
}

/// Folders with their files. `command` has those of a folder at work.
fn folders(folders: &[Folder], here: &BTreeSet<String>, command: &str, none: &Markup) -> Markup {
    html! {
        @if folders.is_empty() { (none) }
        @for folder in folders {
            h3 { code { (folder.path) } }
            @for fault in &folder.faults { pre.data { (fault) } }
            @let rows: Vec<Row> = folder.files.iter().map(|file| row(file, here)).collect();
            (table(&["File", "Agent", "Does", "State"], &rows, "The folder is there, and has no files yet."))
            @if folder.files.iter().any(|file| !file.name.is_empty() && !here.contains(&file.name)) {
                p.about { "Those that are not at work become agents of this hub with " code { (command) " " (folder.path) } }
            }
            @for file in folder.files.iter().filter(|file| !file.faults.is_empty()) {
                section aria-label={ "Faults of " (file.path) } {
                    h4 { code { (file.path) } }
                    @for fault in &file.faults { pre.data { (fault) } }
                }
            }
        }
    }
}

fn row(file: &File, here: &BTreeSet<String>) -> Row {
    let is_here = here.contains(&file.name);
    let name = html! { @if is_here { (agent(&file.name)) } @else { (file.name) } };
    let standing = html! {
        @match (file.faults.len(), file.name.is_empty()) {
            (0, _) if is_here => (state("here")),
            (0, _) => (state("not at work")),
            (1, true) => { (state("failed")) " 1 fault" },
            (count, true) => { (state("failed")) " " (count) " faults" },
            (count, false) => { (state("completed, with warnings")) " " (count) },
        }
    };
    Row::new([
        Cell::new(html! { code { (file.path) } }),
        Cell::new(name),
        Cell::new(&file.what),
        Cell::new(standing),
    ])
}

/// The report on one run: each rule, whether it was kept, and what shows it. No model judges here.
pub(super) async fn compliance(
    State(pages): State<Pages>,
    backend: Backend,
    place: Place,
) -> Result<Response, Trouble> {
    is_for(&backend)?;
    let found = find(pages.files(), place.query("run")).await?;
    let report = report(&found.run, &found.events, None).await;
    let report = report.map_err(|why| {
        Trouble::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("Run {}: {why}", found.run),
        )
    })?;
    let title = format!("Report on {}", report.procedure.name);
    Ok(shell::page(
        Section::Teams,
        &title,
        &drawn(&report),
        Some(backend.viewer()),
    )
    .into_response())
}

async fn find(files: &Files, wanted: &str) -> Result<Recorded, Trouble> {
    let Some(journals) = &files.journals else {
        return Err(Trouble::new(
            StatusCode::NOT_FOUND,
            "This process keeps no journals of agents.",
        ));
    };
    let journals = Journals::new(journals().await);
    journals.find(wanted).await.map_err(|error| {
        let status = match error {
            FindError::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
            FindError::Ambiguous { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::NOT_FOUND,
        };
        Trouble::new(status, error.to_string())
    })
}

fn rule(rule: &Finding) -> Row {
    let by = match rule.by {
        By::Code => " by code",
        By::Model => " by a model",
        By::Nobody => "",
    };
    let evidence = html! {
        (rule.evidence)
        @if let Some(quotation) = &rule.quotation {
            blockquote { (quotation) @if let Some(source) = &rule.source { " (" (source) ")" } }
        }
    };
    Row::new([
        Cell::new(rule.line),
        Cell::new(level(&format!("{:?}", rule.level))),
        Cell::words(&rule.text),
        Cell::new(html! { (verdict(rule.verdict)) (by) }),
        Cell::new(evidence),
    ])
}

fn drawn(report: &Report) -> Markup {
    let rows: Vec<Row> = report.rules.iter().map(rule).collect();
    html! {
        h1 { "Report on " (report.procedure.name) " " (state(&report.state)) }
        dl {
            dt { "Run" } dd { (id_link("/ui/runs/", &report.run)) }
            dt { "File" } dd { code { (report.procedure.file) } }
            dt { "Kept" } dd { (report.counts.kept) }
            dt { "Broken" } dd { (report.counts.broken) }
            dt { "Not concerned" } dd { (report.counts.not_applicable) }
            dt { "Not checked" } dd { (report.counts.not_checked) }
        }
        (table(&["Line", "Level", "Rule", "Verdict", "Evidence"], &rows, "Its procedure has no rules."))
        p.nothing { "What code cannot check, a model judges for `agenthub sop report`." }
    }
}

/// A level as in RFC 2119: `MustNot` is MUST NOT.
fn level(name: &str) -> String {
    name.char_indices().fold(String::new(), |words, (at, c)| {
        match c.is_uppercase() && at > 0 {
            true => words + " " + &c.to_string(),
            false => words + &c.to_uppercase().to_string(),
        }
    })
}

fn verdict(verdict: Verdict) -> Markup {
    match verdict {
        Verdict::Kept => html! { span.state.good { "kept" } },
        Verdict::Broken => html! { span.state.bad { "broken" } },
        Verdict::NotApplicable => html! { span.state.idle { "not concerned" } },
        Verdict::NotChecked => html! { span.state.warn { "not checked" } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, faults: &[&str]) -> File {
        File {
            path: format!("sops/{name}.sop.md"),
            name: name.to_owned(),
            what: "Does it".to_owned(),
            faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
        }
    }

    #[test]
    fn files_stand_with_their_faults_and_say_whether_they_are_at_work() {
        let folder = Folder {
            path: "sops".into(),
            files: vec![
                file("editor", &[]),
                file("critic", &[]),
                file("", &["line 2: <b>"]),
            ],
            faults: Vec::new(),
        };
        let here = BTreeSet::from(["editor".to_owned()]);
        let shown = folders(&[folder], &here, "agenthub sop up", &html! {}).into_string();
        assert!(
            shown.contains("href=\"/ui/agents/editor\"") && !shown.contains("/ui/agents/critic"),
            "{shown}"
        );
        assert!(
            shown.contains("not at work") && shown.contains("<code>agenthub sop up sops</code>"),
            "{shown}"
        );
        assert!(
            shown.contains("1 fault<") && shown.contains("line 2: &lt;b&gt;"),
            "{shown}"
        );
    }

    #[test]
    fn an_empty_screen_says_how_to_make_a_team_and_a_workflow() {
        let shown = folders(&[], &BTreeSet::new(), "", &team_commands()).into_string();
        assert!(shown.contains("agenthub sop new researcher"), "{shown}");
        assert!(
            workflow_commands()
                .into_string()
                .contains("agent: agent_echo")
        );
    }

    #[test]
    fn levels_are_as_in_the_file() {
        assert_eq!(level("MustNot"), "MUST NOT");
        assert_eq!(level("Should"), "SHOULD");
    }
}
