//! One task: what was asked, what came of it, and what belongs to the same request.

use agenthub_proto::{
    a2a::{Role, Task, TaskState},
    cortex::{Run, RunMoment},
};
use agenthub_sdk::{Agent, proto::json};
use agenthub_terminal::listing::state::task as task_state;
use axum::response::Redirect;
use maud::{Markup, html};

use super::{
    run::{asked, lines, state_words},
    tasks::{asker, listed, words},
    waits::{Absence, Absences, Waits},
    waterfall::Request,
};
use crate::{
    backend::Backend,
    elements::{agent, data, id_link, lapse, line, segment, short, state, time},
    live::Screen,
    parts::{Source, artifact, message},
    place::Place,
    trouble::Trouble,
};

/// Characters of a heading.
const HEADING: usize = 100;

/// The most tasks of one request that are shown.
const RELATED: usize = 100;

pub(super) async fn draw(backend: Backend, place: Place) -> Result<Screen, Trouble> {
    let task = backend.hub().task(place.path("task"), 0).await?;
    let request = Request::of(&backend, &task).await?;
    let run = run_of(&backend, &task).await;
    let moment = match &run {
        // A run that was not begun yet has none.
        Some(run) => backend.moment(&run.id, 0).await.unwrap_or_default(),
        None => RunMoment::default(),
    };
    let title = format!("{} · task {}", line(&words(&task), 40), short(&task.id));
    let can_cancel = backend.viewer().may_cancel(&task);
    let absences = match task.state().is_terminal() {
        true => Absences::default(),
        false => Absences::among(&backend, [task.assignee().to_owned()]).await,
    };
    let absence = absences.get(task.assignee());
    let shown = drawn(&task, absence, &request, run.as_ref(), &moment, can_cancel);
    Ok(Screen::new(title, shown))
}

/// The run that its agent made of a task, if the agent keeps runs: its id follows from the task.
async fn run_of(backend: &Backend, task: &Task) -> Option<Run> {
    let first = task.history.first()?;
    let run = Agent::run_of(task.assignee(), &task.id, &first.message_id);
    backend.run(run.as_str()).await.ok()
}

fn drawn(
    task: &Task,
    absence: Option<&Absence>,
    request: &Request,
    run: Option<&Run>,
    moment: &RunMoment,
    can_cancel: bool,
) -> Markup {
    let status = task.status.clone().unwrap_or_default();
    let is_over = status.state().is_terminal();
    html! {
        h1 { (line(&words(task), HEADING)) " " (state(&task_state(task))) }
        @if let Some(absence) = absence { p.notice.warn { (agent(task.assignee())) " " (absence.words()) } }
        @for approval in run.iter().flat_map(|run| &run.approvals) { (asked(approval)) }
        (answer(task, run))
        @if !is_over && can_cancel {
            form method="post" action={ "/ui/tasks/" (segment(&task.id)) "/cancel" } { button.bad { "Cancel" } }
        }
        (facts(task, request, run))
        (happened(task, request, run, moment))
        (request.drawn(&task.id))
        (messages(task))
        @if !request.others.is_empty() {
            h2 { "Other tasks of the same conversation" }
            (listed(&request.others[..request.others.len().min(RELATED)], &Waits::default(), ""))
        }
        @if let Some(metadata) = &task.metadata {
            details id="metadata" { summary { "Metadata" } (data(&json::from_struct(metadata))) }
        }
    }
}

/// Outcome, or what its agent says now; of a failure the reason, and where to look.
fn answer(task: &Task, run: Option<&Run>) -> Markup {
    let status = task.status.clone().unwrap_or_default();
    let (is_over, is_bad) = (status.state().is_terminal(), is_bad(task));
    let said = status.update.as_ref().map(|update| {
        message(
            update,
            &agent(task.assignee()),
            Source::Status { task: &task.id },
        )
    });
    html! {
        @if is_bad {
            section.failure aria-label="Why it failed" {
                h2 { "Why it failed" }
                @match said {
                    Some(said) => div.notice.bad { (said) },
                    None => p.notice.bad { "Nobody said why." },
                }
                @if let Some(run) = run {
                    p { a href={ "/ui/runs/" (segment(&run.id)) } { "Its run" } " shows at which step, what went into it, and lets it be done again." }
                }
            }
        } @else if let Some(said) = said {
            h2 { (if is_over { "Answer" } else { "What it says now" }) }
            (said)
        }
        @if !task.artifacts.is_empty() {
            h2 { "Artifacts" }
            @for made in &task.artifacts { (artifact(made, &task.id)) }
        }
    }
}

fn is_bad(task: &Task) -> bool {
    let state = task.status.clone().unwrap_or_default().state();
    matches!(state, TaskState::Failed | TaskState::Rejected)
}

fn facts(task: &Task, request: &Request, run: Option<&Run>) -> Markup {
    let status = task.status.clone().unwrap_or_default();
    let is_over = status.state().is_terminal();
    let parent = task.metadata_str("parent_task_id");
    let begun = request
        .begun(&task.id)
        .or(run.and_then(|run| run.created_at));
    html! {
        dl.facts {
            dt { "Asked by" } dd { (asker(task)) }
            dt { "Done by" } dd { (agent(task.assignee())) }
            @if !task.task_type().is_empty() { dt { "Kind" } dd { (crate::words::task_kind(task.task_type())) } }
            @if begun.is_some() { dt { "Began" } dd { (time(begun.as_ref())) } }
            @if is_over && begun.is_some() { dt { "Took" } dd { (lapse(begun.as_ref(), status.timestamp.as_ref())) } }
            dt { (if is_over { "Ended" } else { "Changed" }) } dd { (time(status.timestamp.as_ref())) }
            @if let Some(run) = run {
                dt { "Run" }
                dd { a href={ "/ui/runs/" (segment(&run.id)) } { "step by step" } " " (state(&state_words(run))) }
            }
            @if !task.on_behalf_of().is_empty() { dt { "On behalf of" } dd { (behalf(task)) } }
            @if !parent.is_empty() { dt { "Part of" } dd { (id_link("/ui/tasks/", parent)) } }
            @if !task.context_id.is_empty() { dt { "Conversation" } dd { a href={ "/ui/tasks?context=" (segment(&task.context_id)) } { "its tasks" } } }
            dt { "Task" } dd { code { (task.id) } }
        }
    }
}

/// Timeline of a task: who asked, the steps of its agent if that keeps them, and how it stands.
fn happened(task: &Task, request: &Request, run: Option<&Run>, moment: &RunMoment) -> Markup {
    let status = task.status.clone().unwrap_or_default();
    let begun = request
        .begun(&task.id)
        .or(run.and_then(|run| run.created_at));
    html! {
        h2 { "What happened" }
        ol.timeline {
            @if begun.is_some() {
                li { (time(begun.as_ref())) " " span.what { (asker(task)) " asked " (agent(task.assignee())) } }
            }
            @if let Some(run) = run { (lines(run, moment)) }
            li {
                (time(status.timestamp.as_ref())) " "
                span.what { "The task is now: " (state(&task_state(task))) }
            }
        }
    }
}

/// The messages, oldest first; the one that is the answer is marked, as it is shown above.
fn messages(task: &Task) -> Markup {
    let update = task
        .status
        .as_ref()
        .and_then(|status| status.update.as_ref());
    let is_answer =
        |id: &str| update.is_some_and(|update| update.message_id == id && !id.is_empty());
    html! {
        h2 { "Messages" }
        @for said in &task.history {
            @let who = if said.role() == Role::User { asker(task) } else { agent(task.assignee()) };
            @if is_answer(&said.message_id) {
                p.about { (who) ": " (if is_bad(task) { "why it failed, above" } else { "the answer, above" }) }
            } @else {
                (message(said, &who, Source::Message { task: &task.id, message: &said.message_id }))
            }
        }
    }
}

/// On whose behalf a task was asked for, and through whom.
fn behalf(task: &Task) -> String {
    let chain = task.chain();
    match chain.is_empty() {
        true => task.on_behalf_of().to_owned(),
        false => format!("{}, through {}", task.on_behalf_of(), chain.join(", ")),
    }
}

/// Cancels a task.
pub(super) async fn cancel(backend: Backend, place: Place) -> Result<Redirect, Trouble> {
    let task = place.path("task");
    backend
        .hub()
        .cancel_task(task, "cancelled in the browser")
        .await?;
    Ok(Redirect::to(&format!("/ui/tasks/{}", segment(task))))
}

#[cfg(test)]
mod tests {
    use agenthub_proto::{
        a2a::{Message, Part, TaskStatus},
        wkt::Timestamp,
    };
    use serde_json::json;

    use super::*;
    use agenthub_proto::cortex::StepAttempt;

    fn task(state: TaskState) -> Task {
        let said = Message {
            message_id: "m2".into(),
            ..Message::new(Role::Agent, "the step `b` has failed: <b>")
        };
        Task {
            id: "5d2f5a5e-0000".into(),
            metadata: Some(json::to_struct(
                &json!({"requester": "page", "assignee": "writer"}),
            )),
            history: vec![Message::new(Role::User, "write <i>this</i>"), said.clone()],
            status: Some(TaskStatus {
                state: state.into(),
                update: Some(said),
                timestamp: Some(Timestamp {
                    seconds: 5,
                    nanos: 0,
                }),
            }),
            ..Task::default()
        }
    }

    /// Issue 26, tasks: words come first, and much data does not stand in their way.
    #[test]
    fn data_of_an_answer_are_folded_behind_its_words() {
        let mut task = task(TaskState::Completed);
        let status = task.status.as_mut().expect("it has one");
        let update = status.update.as_mut().expect("it has one");
        update.content = vec![Part::data(&json!({"large": 1})), Part::text("words")];
        let shown = drawn(
            &task,
            None,
            &Request::default(),
            None,
            &RunMoment::default(),
            true,
        )
        .into_string();
        let words = shown.find("words").expect("they are shown");
        let data = shown.find("<details><summary>Data").expect("it is folded");
        assert!(
            words < data && data < shown.find("large").expect("it is there"),
            "{shown}"
        );
    }

    /// Issue 26, *Done when*: a task is called by what was asked, says why it failed before all else, and leads to its run.
    #[test]
    fn a_failed_task_says_why_first_and_leads_to_its_run() {
        let run = Run {
            id: "r/1".into(),
            state: "failed".into(),
            created_at: Some(Timestamp {
                seconds: 2,
                nanos: 0,
            }),
            ..Run::default()
        };
        let step = StepAttempt {
            step: "ask-writer".into(),
            attempt: 1,
            kind: "agent".into(),
            agent: "writer".into(),
            state: "completed".into(),
            begun_at: run.created_at,
            ended_at: Some(Timestamp {
                seconds: 3,
                nanos: 0,
            }),
            ..StepAttempt::default()
        };
        let shown = drawn(
            &task(TaskState::Failed),
            None,
            &Request::default(),
            Some(&run),
            &RunMoment {
                steps: vec![step],
                ..RunMoment::default()
            },
            true,
        )
        .into_string();
        let place = |text: &str| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("{text}: {shown}"))
        };
        assert!(place("<h1>write &lt;i&gt;this&lt;/i&gt;") < place("Why it failed"));
        assert!(place("the step `b` has failed: &lt;b&gt;") < place("href=\"/ui/runs/r%2F1\""));
        assert!(place("href=\"/ui/runs/r%2F1\"") < place("<dl"));
        assert!(
            shown.contains("<dt>Took</dt>") && shown.contains("3.0 s"),
            "{shown}"
        );
        // Issue 26, tasks: one task as a timeline.
        let happened = place("What happened");
        for line in ["is done with <b>work for writer</b>", "The task is now:"] {
            assert!(happened < place(line));
        }
        assert_eq!(
            shown.matches("the step `b` has failed").count(),
            1,
            "it is said once"
        );
        let done = drawn(
            &task(TaskState::Completed),
            None,
            &Request::default(),
            None,
            &RunMoment::default(),
            true,
        )
        .into_string();
        assert!(done.contains("<h2>Answer</h2>") && !done.contains("Why it failed"));
    }

    /// Issue 25: pages show no way to what their viewer may not do.
    #[test]
    fn cancelling_is_offered_to_whom_may_cancel_a_task_that_is_open() {
        let offered = |state: TaskState, can_cancel: bool| {
            let shown = drawn(
                &task(state),
                None,
                &Request::default(),
                None,
                &RunMoment::default(),
                can_cancel,
            );
            shown.into_string().contains("/cancel\"")
        };
        assert!(offered(TaskState::Working, true));
        assert!(!offered(TaskState::Working, false));
        assert!(!offered(TaskState::Completed, true));
    }
}
